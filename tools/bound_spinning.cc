#include "tools/bound_spinning.h"

#include <cstdlib>

namespace amp {
namespace {

constexpr const char* kSpins = "4000";  // looks at what is waited for, a pause of the processor between two

}  // namespace

void BoundSpinning() {
  if (std::getenv("OMP_WAIT_POLICY") == nullptr) ::setenv("GOMP_SPINCOUNT", kSpins, 0);
}

}  // namespace amp
