#include "ir/graph/verify.h"

#include <atomic>

namespace amp {
namespace {

#ifdef AMP_DEBUG_BUILD
std::atomic<bool> is_on = true;
#else
std::atomic<bool> is_on = false;
#endif

}  // namespace

void VerifyModels() { is_on = true; }

void Verify(const Model& model) {
  if (is_on) model.CheckConsistency();
}

}  // namespace amp
