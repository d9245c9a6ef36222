#include "passes/guard/guard_range.h"

#include "absl/strings/str_format.h"

namespace amp {
namespace {

void GuardReaders(const GuardedGraph& graph, ValueId value, const std::string& why, VetoList& vetoes) {
  for (const Use& use : graph.model().value(value).uses) {
    if (use.IsGraphOutput() || !graph.IsAllowed(use.node)) continue;
    vetoes.AddInput(use.node, use.port, why);
  }
}

}  // namespace

void GuardRange(const GuardedGraph& graph, VetoList& vetoes) {
  const double largest = LargestFinite(graph.vertices().low());
  for (const NodeId id : graph.order()) {
    const auto& outputs = graph.node(id).outputs;
    for (size_t port = 0; port < outputs.size(); ++port) {
      const double reached = LargestMagnitude(graph.ranges().Of(outputs[port]));
      if (reached <= largest) continue;
      const std::string why = absl::StrFormat("range: %s reaches %g, beyond %s's largest %g", graph.Label(id), reached,
                                              std::string(graph.LowName()), largest);
      vetoes.AddOutput(id, port, why);
      GuardReaders(graph, outputs[port], why, vetoes);
    }
  }
}

}  // namespace amp
