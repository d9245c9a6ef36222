#include "runtime/observe_values.h"

#include <cmath>
#include <string>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "ir/base/convert.h"
#include "ir/base/status.h"
#include "ir/graph/graph.h"

namespace amp {

absl::StatusOr<ObservedRun> ObserveValues(const Session& session, const NamedDatums& inputs, ObservedValues& observed,
                                          const ObserveOptions& options) {
  ObservedRun run;
  absl::flat_hash_set<std::string> with_nan;
  const ValueObserver observe = [&](ValueId value, const Datum& datum) {
    const Tensor* tensor = datum.tensor();
    if (tensor == nullptr || tensor->dtype() != DType::kFloat32) return;
    const std::string& name = session.model().value(value).name;
    const auto elements = tensor->elements<float>();
    if (absl::c_any_of(elements, [](float element) { return std::isfinite(element); })) ++run.with_finite;
    const bool has_nan = absl::c_any_of(elements, [](float element) { return std::isnan(element); });
    if (has_nan && with_nan.insert(name).second) run.of_nan.push_back(name);
    NarrowingStats float16, bfloat16;
    SurveyNarrowing(elements, DType::kFloat16, float16);
    SurveyNarrowing(elements, DType::kBfloat16, bfloat16);
    ObservedValue& known = observed[name];
    known.Add(float16, bfloat16);
    if (!known.ends.has_value()) known.ends.emplace();
    for (const float element : elements) known.ends->Add(element);
    if (options.counts_exponents) known.exponents.Add(elements);
  };
  AMP_RETURN_IF_ERROR(session.Run(inputs, {.observer = &observe, .may_go_on = options.may_go_on}).status());
  return run;
}

}  // namespace amp
