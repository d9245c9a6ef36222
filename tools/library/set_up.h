// From the caller's options to what the passes take: the low type, the target, lists, signatures, settings. No model is
// looked at yet.
#ifndef AMP_TOOLS_LIBRARY_SET_UP_H_
#define AMP_TOOLS_LIBRARY_SET_UP_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "ir/schema/op_signatures.h"
#include "passes/classify/op_lists.h"
#include "passes/sequence/rewrite_model.h"
#include "tools/library/rewrite_options.h"

namespace amp {

// Options with what the policy, the target and this machine decide filled in.
struct Choices {
  RewriteOptions options;
  RewriteOptions stated;           // before anything was filled in
  std::vector<std::string> flags;  // those of `stated`
  DType low = DType::kFloat16;
  TargetSupport target;
  std::string compatibility;
};

// Everything that the options alone decide.
struct Setup {
  Choices choices;
  std::shared_ptr<const OpSignatures> signatures;
  OpLists lists;
  RewriteSettings settings;
};

// Looks at the machine only if it is asked about. Errors name the flag or the list file.
absl::StatusOr<Setup> SetUp(const RewriteOptions& options);

}  // namespace amp

#endif  // AMP_TOOLS_LIBRARY_SET_UP_H_
