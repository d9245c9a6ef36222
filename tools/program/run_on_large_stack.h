// Runs work on a stack that is large enough, whatever the machine allows the program's own (`ulimit -s`).
//
// Parsing, inference and inlining recurse as deep as the limits let models nest: up to 256 KiB at the default limits,
// 2 MiB at the largest.
#ifndef AMP_TOOLS_PROGRAM_RUN_ON_LARGE_STACK_H_
#define AMP_TOOLS_PROGRAM_RUN_ON_LARGE_STACK_H_

#include <cstddef>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"

namespace amp {

inline constexpr size_t kLargeStackBytes = size_t{8} << 20;

// Here, where the stack may grow to kLargeStackBytes; else on a thread that has as much, until which this one waits.
// `work` throws nothing. kResourceExhausted: there is no memory for such a thread, and `work` was not run.
absl::Status RunOnLargeStack(absl::FunctionRef<void()> work);

}  // namespace amp

#endif  // AMP_TOOLS_PROGRAM_RUN_ON_LARGE_STACK_H_
