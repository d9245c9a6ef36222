// How much work a run of a model on made-up inputs is, roughly, without running it.
#ifndef AMP_TOOLS_LIBRARY_VERIFY_COST_H_
#define AMP_TOOLS_LIBRARY_VERIFY_COST_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "ir/graph/graph.h"
#include "runtime/kernel/tensor.h"

namespace amp {

struct RunCost {
  double flops = 0;  // a multiplication and an addition are two
  double bytes = 0;  // of all values that nodes give, in float32
  double nodes = 0;

  // Estimates the time to plan and run a model once on so many processors, with every value rounded where it is
  // produced.
  double Seconds(int processors) const;
};

// Adds up the nodes of all graphs, those of a body once, those of a function for each call. Dimensions that are unknown
// have the size that `sizes` gives their name, or else that of made-up inputs: 1 for the first axis of a value, 16 for
// the others. Values of unknown rank count nothing.
RunCost EstimateRun(const Model& model, const std::map<std::string, int64_t>& sizes);

// Estimates the work of a node on these inputs; null where one is absent.
double FlopsOfNode(const Node& node, absl::Span<const Datum* const> inputs);

// The work that one processor does in a second: by oneDNN, and by the reference.
inline constexpr double kFlopsPerSecond = 2e10, kReferenceFlopsPerSecond = 1e8;

}  // namespace amp

#endif  // AMP_TOOLS_LIBRARY_VERIFY_COST_H_
