// --verify auto|off|fix|FILE: whether a rewrite is checked before it is handed over, on which inputs, and what follows.
//
//   auto   on inputs that are made up, or the first calibration sample, if that is cheap; what differs is a warning
//   fix    the same, whatever it costs; the parts that mend what differs stay float32 (tools/library/search.h)
//   FILE   on this sample; what differs is an error
#ifndef AMP_TOOLS_LIBRARY_VERIFY_MODEL_H_
#define AMP_TOOLS_LIBRARY_VERIFY_MODEL_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "ir/graph/graph.h"
#include "tools/library/rewrite_options.h"
#include "tools/library/run_on_data.h"

namespace amp {

// Nodes whose type is settled beforehand, beside those that the options name.
struct SettledNodes {
  std::vector<std::string> deny, allow;
};
// The model rewritten with these nodes settled, to be run; the original where nothing is converted then.
struct SettledModel {
  LoadedFile file;
  bool is_converted = false;
  double saved_weight_bytes = 0;
};
using SettlingRewrite = std::function<absl::StatusOr<SettledModel>(const SettledNodes&)>;

// Nodes with which denied the model is within, and its error then.
struct MendingNodes {
  std::vector<std::string> nodes;
  double error = 0;
};

struct VerifyTask {
  const RewriteOptions& options;
  DType low = DType::kFloat16;
  ModelLoader load;
  const Model& rewritten;
  std::shared_ptr<ExternalData> external;
  SettlingRewrite rewrite;
  // Seeks nodes with which denied the models agree on this sample. Errors: kFailedPrecondition, there are none; those
  // of running the model.
  std::function<absl::StatusOr<MendingNodes>(const NamedDatums& sample, double tolerance)> find_mend;
  int64_t weight_bytes = 0;                    // of the original
  std::chrono::duration<double> rewrite_time;  // without runs on data
};

struct VerifyVerdict {
  std::string line = {};               // "verified: ..." or "not verified: why"; with auto in brief
  std::string warning = {};            // what differs, where that is no error; else ""
  std::vector<std::string> mend = {};  // with fix: the nodes to deny
};

// With auto, all that keeps the models from being run is the reason in the line: an operator without a kernel, inputs
// that cannot be made up (but where --dim sizes them), half of the memory that is left, or more time than the larger of
// 2 s and twice the time of the rewrite. How much time that is depends on the machine and its load. Errors:
// kFailedPrecondition, the models differ and that is an error; those of options.on_progress; else those of Verify, of
// reading samples and of making inputs up. REQUIRES: options.verify is not kOff.
absl::StatusOr<VerifyVerdict> VerifyModel(const VerifyTask& task);

}  // namespace amp

#endif  // AMP_TOOLS_LIBRARY_VERIFY_MODEL_H_
