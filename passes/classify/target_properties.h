// The properties of a target that a condition of a list row may name besides attributes and facts of the node.
//
//   accumulate=float32     where reductions add up
//   device=cuda            cpu, cuda, xpu, tpu
//   rnn=bfloat16           has such kernels
//   softmax=float32        inside fused attention
//   stats=float32          where normalisation takes its statistics
#ifndef AMP_PASSES_CLASSIFY_TARGET_PROPERTIES_H_
#define AMP_PASSES_CLASSIFY_TARGET_PROPERTIES_H_

#include <cstdint>
#include <optional>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "ir/base/target_promises.h"

namespace amp {

enum class TargetProperty : uint8_t { kAccumulate, kDevice, kRnn, kSoftmax, kStats };

// The names above, sorted: those of the enumerators in order.
absl::Span<const absl::string_view> TargetPropertyNames();
std::optional<TargetProperty> FindTargetProperty(absl::string_view name);

// The value that the target promises, as conditions write it; nothing where it promises none.
std::optional<absl::string_view> PromisedValue(const TargetPromises& promises, TargetProperty property);

}  // namespace amp

#endif  // AMP_PASSES_CLASSIFY_TARGET_PROPERTIES_H_
