// --policy: compute type, variable type and what becomes of inputs and outputs, in one word.
//
//   mixed_float16   compute float16   weights float32, cast where they are used   inputs and outputs float32
//   float16         everything float16
//   float32         takes an earlier rewrite back
//
// The words are those of Keras. For an inference graph "variables are float32" means that the file keeps its float32
// weights: the rewrite can be taken back exactly, and the file does not shrink.
#ifndef AMP_TOOLS_LIBRARY_PRECISION_POLICY_H_
#define AMP_TOOLS_LIBRARY_PRECISION_POLICY_H_

#include <string>

#include "absl/status/status.h"
#include "tools/library/rewrite_options.h"

namespace amp {

// Fills dtype, weights and keep_io by options.policy; no effect without one. kInvalidArgument, naming both flags, where
// an option that is set says otherwise.
absl::Status ApplyPolicy(RewriteOptions& options);

// Whether the options ask for an earlier rewrite to be taken back.
bool TakesBack(const RewriteOptions& options);

// The types that a policy computes in and keeps variables in: "float16", "float32".
struct PolicyTypes {
  std::string compute, variables;
};
PolicyTypes TypesOf(RewriteOptions::Policy policy);

// "Compute dtype: float16\nVariable dtype: float32\n"; empty without a policy.
std::string PolicyDtypes(const RewriteOptions& options);

}  // namespace amp

#endif  // AMP_TOOLS_LIBRARY_PRECISION_POLICY_H_
