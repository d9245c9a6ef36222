#include "runtime/cpu/hidden_numbers.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>

#include "absl/algorithm/container.h"
#include "absl/base/casts.h"
#include "runtime/kernel/element.h"
#include "runtime/kernel/parallel_for.h"
#include "runtime/kernel/shape_math.h"
#include "runtime/loops/best_loops.h"

namespace amp {
namespace {

bool Hides(const EpilogueStep& step) {
  switch (step.kind) {
    case EpilogueKind::kRelu:
      return step.alpha == 0;  // the library multiplies otherwise
    case EpilogueKind::kClip:
    case EpilogueKind::kHardSigmoid:
    case EpilogueKind::kGeluErf:
    case EpilogueKind::kGeluTanh:
      return true;
    default:
      return false;
  }
}

bool ReadsOperand(const EpilogueStep& step) {
  return step.kind == EpilogueKind::kAdd || step.kind == EpilogueKind::kMul;
}

// ---- the largest magnitude of a tensor

// NaN counts as infinity.
float LargestOf(const Tensor& x, size_t first, size_t count) {
  const RowLoops& rows = BestLoops().rows;
  const float largest =
      x.dtype() == DType::kFloat32
          ? absl::bit_cast<float>(rows.largest_magnitude(x.elements<float>().data() + first, count))
          : WidenOne(rows.largest_magnitude_of_16_bits(x.elements<uint16_t>().data() + first, count), x.dtype());
  return std::isnan(largest) ? std::numeric_limits<float>::infinity() : largest;
}

float LargestMagnitude(const Tensor& x) {
  std::vector<float> of_shares(MostShares(), 0);
  ParallelFor(static_cast<size_t>(x.num_elements()), 1,
              [&](const Share& share) { of_shares[share.index] = LargestOf(x, share.first, share.end - share.first); });
  return *absl::c_max_element(of_shares);
}

// The largest magnitudes of a node's constants, as far as they are known.
struct ConstantMagnitudes : KernelState {
  absl::Mutex mutex;
  std::vector<std::optional<float>> by_port ABSL_GUARDED_BY(mutex);
};

float Magnitude(KernelContext& context, size_t port) {
  if (!context.HasInput(port)) return 0;
  if (!context.IsConstantInput(port)) return LargestMagnitude(context.Input(port));
  auto& constants = context.State<ConstantMagnitudes>();
  const absl::MutexLock lock(&constants.mutex);
  constants.by_port.resize(context.num_inputs());
  std::optional<float>& known = constants.by_port[port];
  if (!known.has_value()) known = LargestMagnitude(context.Input(port));
  return *known;
}

// A step of its own reads and writes each element of the result, and takes some time to start.
bool IsLongToLook(const KernelContext& context, const std::vector<EpilogueStep>& steps, const Dims& result) {
  constexpr int64_t kCostOfStart = 10'000, kCostOfElement = 3;
  if (context.IsConstantInput(1)) return false;
  const auto num_steps = static_cast<int64_t>(steps.size());
  const int64_t elements = ElementsBetween(result, 0, result.size());
  return context.Input(1).num_elements() > num_steps * (kCostOfStart + kCostOfElement * elements);
}

}  // namespace

bool HidesNumbers(const std::vector<EpilogueStep>& steps) { return absl::c_any_of(steps, Hides); }

absl::Status CheckNothingToHide(KernelContext& context, const std::vector<EpilogueStep>& steps, const Dims& result) {
  if (steps.empty()) return absl::OkStatus();
  if (IsLongToLook(context, steps, result))
    return Refusal("weights that change, and take longer to look at than the result");
  // A sum has no more products than operand 1 has elements. Every comparison is false for NaN.
  constexpr double kMost = std::numeric_limits<float>::max();
  const double products = static_cast<double>(context.Input(1).num_elements());
  double bound = static_cast<double>(Magnitude(context, 0)) * Magnitude(context, 1) * products;
  const bool has_own_bias = context.node().Input(2) != kNone;
  if (has_own_bias) bound += Magnitude(context, 2);
  for (const EpilogueStep& step : steps) {
    if (Hides(step) && !(bound < kMost)) {
      return Refusal("NaN, an infinity or an overflow ahead of a step that would hide it");
    }
    const double operand = ReadsOperand(step) ? Magnitude(context, step.input) : 0;
    if (step.kind == EpilogueKind::kAdd) bound += operand;
    if (step.kind == EpilogueKind::kMul) bound *= operand;
    if (step.kind == EpilogueKind::kLinear) bound = bound * std::abs(step.alpha) + std::abs(step.beta);
  }
  return absl::OkStatus();
}

}  // namespace amp
