#include "passes/guard/guard_observed.h"

#include <string>

#include "absl/strings/str_format.h"
#include "ir/base/percent.h"
#include "ir/base/status.h"
#include "ir/patterns/saturating_constant.h"

namespace amp {
namespace {

constexpr double kHeadroom = 2;

// Why the value stays float32; empty when it need not.
std::string Judge(const std::string& name, const ObservedValue& value, DType low, double max_error) {
  const std::string type(DTypeName(low));
  const double largest = LargestFinite(low);
  const ObservedNarrowing& narrowing = value.In(low);
  if (value.largest > largest || narrowing.overflow > 0) {
    return absl::StrFormat("observed: '%s' reached %.4g, beyond %s's largest %.6g", Escaped(name), value.largest, type,
                           largest);
  }
  if (value.largest * kHeadroom > largest) {
    return absl::StrFormat("observed: '%s' reached %.4g, within a factor of %g of %s's largest %.6g", Escaped(name),
                           value.largest, kHeadroom, type, largest);
  }
  if (narrowing.relative_error > max_error) {
    return absl::StrFormat("observed: '%s', at most %.4g, would lose %s%% of itself in %s", Escaped(name),
                           value.largest, PercentText(narrowing.relative_error, 2), type);
  }
  return "";
}

}  // namespace

void GuardObserved(const GuardedGraph& graph, const ObservedValues& observed, double max_error, VetoList& vetoes) {
  const Model& model = graph.model();
  for (const ValueId id : model.AllValues()) {
    const Value& value = model.value(id);
    const auto it = observed.find(value.name);
    if (it == observed.end() || !graph.IsVariable(id) || IsFilledForSoftmax(model, id)) continue;
    const std::string why = Judge(value.name, it->second, graph.vertices().low(), max_error);
    if (why.empty()) continue;
    if (value.producer != kNone) vetoes.AddOutput(value.producer, value.producer_port, why);
    for (const Use& use : value.uses) {
      if (!use.IsGraphOutput() && graph.ReadsElements(use)) vetoes.AddInput(use.node, use.port, why);
    }
  }
}

}  // namespace amp
