// Linked into every program of the tests: the models that it edits are verified after each stage.
#include "ir/graph/verify.h"

namespace {
[[maybe_unused]] const bool kVerifies = [] {
  amp::VerifyModels();
  return true;
}();
}  // namespace
