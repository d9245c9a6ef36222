// How much each rounding of a model changes its outputs, by derivatives along directions that are drawn at random.
//
//   y: an output     p: a sign for each of its elements     g = d(p · y ÷ |y|) ÷ dv, by the rules of training
//
//   mean over p of: sum of (r · g)²      the squared relative error of y, where value v has independent roundings r
//   mean over p of: (sum of r · g)²      the same where weight v is rounded, whose r are no noise
//
// For values two directions are enough: a sum over many elements is a mean already. For a weight the square of one sum
// varies much. The sum of squares varies little, and is right if its r are independent after all: the mean of both is
// taken. A direction costs a run forward and one backward. What no rule of training goes through (GRU, If, Loop), and
// what is ahead of it, is left to gains (runtime/lock_step.h). The estimator: M. F. Hutchinson, Communications in
// Statistics 18, 1989.
#ifndef AMP_TOOLS_LIBRARY_OUTPUT_DERIVATIVES_H_
#define AMP_TOOLS_LIBRARY_OUTPUT_DERIVATIVES_H_

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "ir/base/limits.h"
#include "ir/file/model_file.h"
#include "runtime/lock_step.h"
#include "runtime/session.h"

namespace amp {

// Outputs whose errors are added up, as a model may have very many. By number; each output is in one group.
std::vector<std::vector<size_t>> GroupOutputs(size_t num_outputs);

struct DerivativeTask {
  const Session& session;                            // the model in float32, nothing fused: ids are those of its model
  std::function<absl::StatusOr<LoadedFile>()> load;  // gives the same model, if weights cannot be shared
  Limits limits;
  DType low = DType::kFloat16;
  const IdVector<NodeId, LowPorts>& low_ports;
  const NamedDatums& sample;
  const std::vector<Datum>& outputs;  // of that sample
  const NodeGate* may_go_on = nullptr;
};

struct FoundDerivatives {
  std::vector<Derivatives> of_groups;  // by group of outputs: the same roundings for all of them
  std::string why_not_all;             // the node or the reason because of which some are missing; "" where none are
};

// Nothing is known where the model cannot be differentiated, or where that takes more than half of the memory that is
// left. Errors: those of task.load and task.may_go_on.
absl::StatusOr<FoundDerivatives> FindDerivatives(const DerivativeTask& task);

}  // namespace amp

#endif  // AMP_TOOLS_LIBRARY_OUTPUT_DERIVATIVES_H_
