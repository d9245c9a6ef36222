#include "passes/guard/guard_masks.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ir/base/status.h"

namespace amp {
namespace {

constexpr int kMostSteps = 8;

// Whether a caller gives the value, which nodes may only have moved.
bool IsGiven(const GuardedGraph& graph, ValueId value) {
  if (value == kNone) return false;
  const Value& origin = graph.model().value(graph.Origin(value));
  return origin.is_graph_input && origin.graph == kMainGraph && !origin.IsInitializer();
}

// Returns the input that a sum adds to something that is computed; kNone where it is no such sum.
ValueId MaskOf(const GuardedGraph& graph, const Node& sum) {
  ValueId mask = kNone;
  bool has_scores = false;
  for (const ValueId in : sum.PresentInputs()) {
    if (!graph.IsVariable(in)) continue;
    if (IsGiven(graph, in)) mask = in;
    has_scores = has_scores || !IsGiven(graph, in);
  }
  return has_scores ? mask : ValueId(kNone);
}

}  // namespace

void GuardMasks(const GuardedGraph& graph, VetoList& vetoes) {
  for (const NodeId softmax : graph.order()) {
    if (!graph.roles(softmax).Has(Role::kSoftmax)) continue;
    std::vector<NodeId> path = {softmax};
    for (int i = 0; i < kMostSteps; ++i) {
      const NodeId id = graph.Producer(graph.node(path.back()).Input(0));
      if (id == kNone) break;
      path.push_back(id);
      const bool is_sum = graph.roles(id).Has(Role::kAdds);
      const ValueId mask = is_sum ? MaskOf(graph, graph.node(id)) : ValueId(kNone);
      if (mask != kNone) {
        const std::string name(Escaped(graph.model().value(graph.Origin(mask)).name));
        for (const NodeId node : path) {
          vetoes.AddNode(node, absl::StrCat("masks: input '", name,
                                            "' is added to what a softmax reads, and may hide by "
                                            "numbers that are infinite in ",
                                            graph.LowName(), "; --calibration tells whether it does"));
        }
        break;
      }
      if (!is_sum && !graph.PassesOn(id)) break;
    }
  }
}

}  // namespace amp
