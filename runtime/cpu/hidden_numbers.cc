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

enum class Look { kAtNone, kAtUnknown, kAtAll };  // inputs that are no constants

absl::StatusOr<float> MagnitudeOfConstant(KernelContext& context, size_t port) {
  if (DroppableConstant* const constant = context.Droppable(port)) {
    return constant->LargestMagnitude([&] { return LargestMagnitude(context.Input(port)); });
  }
  auto& constants = context.State<ConstantMagnitudes>();
  const absl::MutexLock lock(&constants.mutex);
  constants.by_port.resize(context.num_inputs());
  std::optional<float>& known = constants.by_port[port];
  if (!known.has_value()) known = LargestMagnitude(context.Input(port));
  return *known;
}

absl::StatusOr<float> Magnitude(KernelContext& context, size_t port, Look look) {
  if (!context.HasInput(port)) return 0;
  if (context.IsConstantInput(port)) return MagnitudeOfConstant(context, port);
  const float known = context.Input(port).magnitude_bound();
  const bool looks = look == Look::kAtAll || (look == Look::kAtUnknown && !std::isfinite(known));
  return looks ? LargestMagnitude(context.Input(port)) : known;
}

// A step of its own reads and writes each element of the result, and takes some time to start.
bool IsLongToLook(const KernelContext& context, const std::vector<EpilogueStep>& steps, const Dims& result) {
  constexpr int64_t kCostOfStart = 10'000, kCostOfElement = 3;
  if (context.IsConstantInput(1)) return false;
  const auto num_steps = static_cast<int64_t>(steps.size());
  const int64_t elements = ElementsBetween(result, 0, result.size());
  return context.Input(1).num_elements() > num_steps * (kCostOfStart + kCostOfElement * elements);
}

constexpr double kMost = std::numeric_limits<float>::max();

// The bound of a step's result, of the bound of what it reads: none of what may be NaN.
double BoundBehind(const EpilogueStep& step, double bound, double operand) {
  constexpr double kNone = std::numeric_limits<double>::infinity();
  if (!(bound < kMost)) return kNone;
  const double alpha = step.alpha, beta = step.beta;
  switch (step.kind) {  // NaN among the numbers of a step makes the bound NaN
    case EpilogueKind::kRelu:
      return std::abs(alpha) <= 1 ? bound : bound * std::abs(alpha);
    case EpilogueKind::kClip:
      return alpha <= beta ? std::max({bound, alpha, -beta}) : kNone;
    case EpilogueKind::kSigmoid:
    case EpilogueKind::kTanh:
    case EpilogueKind::kHardSigmoid:
      return 1;
    case EpilogueKind::kGeluErf:  // on the way, x * (1 + erf)
      return 2 * bound;
    case EpilogueKind::kGeluTanh:
    case EpilogueKind::kSwish:
    case EpilogueKind::kHardSwish:
      return bound;
    case EpilogueKind::kElu:
      return std::abs(alpha) <= bound ? bound : std::abs(alpha);
    case EpilogueKind::kLinear:
      return bound * std::abs(alpha) + std::abs(beta);
    case EpilogueKind::kAdd:
      return bound + operand;
    case EpilogueKind::kMul:
      return bound * operand;
  }
  return kNone;
}

struct Bounds {
  double of_result = 0;
  bool may_hide = false;  // what is ahead of a step that would hide it may be NaN, an infinity or an overflow
};

// Every comparison is false for NaN.
absl::StatusOr<Bounds> FindBounds(KernelContext& context, const ProductSums& sums, Look look) {
  AMP_ASSIGN_OR_RETURN(const float of_a, Magnitude(context, 0, look));
  AMP_ASSIGN_OR_RETURN(const float of_b, Magnitude(context, 1, look));
  double bound = static_cast<double>(of_a) * of_b * static_cast<double>(sums.most_terms);
  if (context.node().Input(2) != kNone) {
    AMP_ASSIGN_OR_RETURN(const float of_bias, Magnitude(context, 2, look));
    bound += of_bias;
  }
  bool may_hide = false;
  for (const EpilogueStep& step : sums.steps) {
    may_hide = may_hide || (Hides(step) && !(bound < kMost));
    float operand = 0;
    if (ReadsOperand(step)) {
      AMP_ASSIGN_OR_RETURN(operand, Magnitude(context, step.input, look));
    }
    bound = BoundBehind(step, bound, operand);
  }
  return Bounds{bound, may_hide};
}

}  // namespace

absl::Status LookAtConstant(KernelContext& context, size_t port) { return MagnitudeOfConstant(context, port).status(); }

absl::StatusOr<double> BoundOfResult(KernelContext& context, const ProductSums& sums) {
  const bool hides = absl::c_any_of(sums.steps, Hides);
  if (!hides) {
    // Constants are not looked at in vain.
    AMP_ASSIGN_OR_RETURN(const float known, Magnitude(context, 0, Look::kAtNone));
    if (!std::isfinite(known)) return Tensor::kUnbounded;
    AMP_ASSIGN_OR_RETURN(const Bounds bounds, FindBounds(context, sums, Look::kAtNone));
    return bounds.of_result;
  }
  if (IsLongToLook(context, sums.steps, sums.result)) {
    return Refusal("weights that change, and take longer to look at than the result");
  }
  AMP_ASSIGN_OR_RETURN(Bounds bounds, FindBounds(context, sums, Look::kAtUnknown));
  if (bounds.may_hide) {
    AMP_ASSIGN_OR_RETURN(bounds, FindBounds(context, sums, Look::kAtAll));
  }
  if (bounds.may_hide) return Refusal("NaN, an infinity or an overflow ahead of a step that would hide it");
  return bounds.of_result;
}

}  // namespace amp
