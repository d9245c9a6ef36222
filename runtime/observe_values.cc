#include "runtime/observe_values.h"

#include "ir/base/convert.h"
#include "ir/graph/graph.h"

namespace amp {

absl::Status ObserveValues(const Session& session, const NamedDatums& inputs, ObservedValues& observed) {
  const ValueObserver observe = [&](ValueId value, const Datum& datum) {
    const Tensor* tensor = datum.tensor();
    if (tensor == nullptr || tensor->dtype() != DType::kFloat32) return;
    NarrowingStats float16, bfloat16;
    SurveyNarrowing(tensor->elements<float>(), DType::kFloat16, float16);
    SurveyNarrowing(tensor->elements<float>(), DType::kBfloat16, bfloat16);
    observed[session.model().value(value).name].Add(float16, bfloat16);
  };
  return session.Run(inputs, {.observer = &observe}).status();
}

}  // namespace amp
