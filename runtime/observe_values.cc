#include "runtime/observe_values.h"

#include <cmath>

#include "absl/algorithm/container.h"
#include "ir/base/convert.h"
#include "ir/base/status.h"
#include "ir/graph/graph.h"

namespace amp {

absl::StatusOr<int64_t> ObserveValues(const Session& session, const NamedDatums& inputs, ObservedValues& observed) {
  int64_t finite = 0;
  const ValueObserver observe = [&](ValueId value, const Datum& datum) {
    const Tensor* tensor = datum.tensor();
    if (tensor == nullptr || tensor->dtype() != DType::kFloat32) return;
    const auto is_finite = [](float element) { return std::isfinite(element); };
    if (absl::c_any_of(tensor->elements<float>(), is_finite)) ++finite;
    NarrowingStats float16, bfloat16;
    SurveyNarrowing(tensor->elements<float>(), DType::kFloat16, float16);
    SurveyNarrowing(tensor->elements<float>(), DType::kBfloat16, bfloat16);
    observed[session.model().value(value).name].Add(float16, bfloat16);
  };
  AMP_RETURN_IF_ERROR(session.Run(inputs, {.observer = &observe}).status());
  return finite;
}

}  // namespace amp
