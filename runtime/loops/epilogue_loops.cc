#include "runtime/loops/epilogue_loops.h"

#include <algorithm>

#include "runtime/kernel/shape_math.h"
#include "runtime/loops/best_loops.h"

namespace amp {
namespace {

bool ReadsOperand(const EpilogueStep& step) {
  return step.kind == EpilogueKind::kAdd || step.kind == EpilogueKind::kMul;
}

// Whether the operand broadcasts to the result and adds no axes to it.
bool Fits(absl::Span<const int64_t> operand, absl::Span<const int64_t> y) {
  if (operand.size() > y.size()) return false;
  const absl::Span<const int64_t> last = y.subspan(y.size() - operand.size());
  return std::equal(operand.begin(), operand.end(), last.begin(),
                    [](int64_t dim, int64_t of_y) { return dim == of_y || dim == 1; });
}

// Where each row of the result begins in the operand.
std::vector<size_t> PlacesOfRows(absl::Span<const int64_t> operand, const Dims& y) {
  const absl::Span<const int64_t> rows = absl::MakeConstSpan(y).first(y.size() - 1);
  Dims strides = BroadcastStrides(operand, y);
  strides.pop_back();
  std::vector<size_t> places;
  places.reserve(static_cast<size_t>(ElementsBetween(y, 0, y.size() - 1)));
  for (StridedWalk walk(rows, {std::move(strides)}); !walk.AtEnd(); walk.Next()) places.push_back(walk[0]);
  return places;
}

UnaryLoop LoopOf(const UnaryLoops& loops, const EpilogueStep& step) {
  switch (step.kind) {
    case EpilogueKind::kRelu:
      return step.alpha == 0 ? loops.relu : loops.leaky_relu;
    case EpilogueKind::kClip:
      return loops.clip;
    case EpilogueKind::kSigmoid:
      return loops.sigmoid;
    case EpilogueKind::kTanh:
      return loops.tanh;
    case EpilogueKind::kGeluErf:
      return loops.gelu;
    case EpilogueKind::kGeluTanh:
      return loops.gelu_tanh;
    case EpilogueKind::kSwish:
      return loops.swish;
    case EpilogueKind::kHardSwish:
      return loops.hard_swish;
    case EpilogueKind::kHardSigmoid:
      return loops.hard_sigmoid;
    case EpilogueKind::kElu:
      return loops.elu;
    case EpilogueKind::kLinear:
    case EpilogueKind::kAdd:
    case EpilogueKind::kMul:
      break;
  }
  return nullptr;
}

}  // namespace

Refusal EpilogueLoops::WhyNot(const KernelContext& context, absl::Span<const EpilogueStep> steps, const Dims& y) {
  for (const EpilogueStep& step : steps) {
    if (!ReadsOperand(step)) continue;
    const Tensor& operand = context.Input(step.input);
    if (!IsLoopFloat(operand.dtype())) return kNoLoopFloat;
    if (!Fits(operand.dims(), y)) return "an operand does not fit the result";
  }
  return {};
}

EpilogueLoops::EpilogueLoops(const KernelContext& context, absl::Span<const EpilogueStep> steps, const Dims& y) {
  const UnaryLoops& unary = BestLoops().unary;
  for (const EpilogueStep& step : steps) {
    if (step.kind == EpilogueKind::kLinear) {
      steps_.push_back({.map = unary.multiply, .parameters = {.a = step.alpha}});
      if (step.beta != 0) steps_.push_back({.map = unary.add, .parameters = {.a = step.beta}});
    } else {
      steps_.push_back(StepOf(context, step, y));
    }
  }
}

EpilogueLoops::Step EpilogueLoops::StepOf(const KernelContext& context, const EpilogueStep& step, const Dims& y) {
  const Loops& loops = BestLoops();
  if (!ReadsOperand(step)) {
    return {.map = LoopOf(loops.unary, step), .parameters = {.a = step.alpha, .b = step.beta}};
  }
  const Tensor& operand = context.Input(step.input);
  const bool is_repeated = operand.rank() == 0 || operand.dims().back() != y.back();
  const bool is_one_row = operand.num_elements() == (is_repeated ? 1 : y.back());
  return {.zip = step.kind == EpilogueKind::kAdd ? &loops.binary.add : &loops.binary.multiply,
          .operand = Operand{.elements = FloatSource(loops, operand),
                             .rows = is_one_row ? std::vector<size_t>() : PlacesOfRows(operand.dims(), y),
                             .is_repeated = is_repeated}};
}

void EpilogueLoops::Zip(const Step& step, size_t row, size_t column, float* y, size_t count) {
  const Operand& operand = *step.operand;
  const size_t first = operand.rows.empty() ? 0 : operand.rows[row];
  float buffer[kPartSize];
  if (operand.is_repeated) return step.zip->of_one_b(y, operand.elements.Read(first, 1, buffer), y, count);
  ForEachPart(count, [&](size_t part, size_t size) {
    const float* const b = operand.elements.Read(first + column + part, size, buffer);
    step.zip->of_both(y + part, b, y + part, size);
  });
}

void EpilogueLoops::Apply(size_t row, size_t column, float* y, size_t count) const {
  for (const Step& step : steps_) {
    if (step.zip != nullptr) {
      Zip(step, row, column, y, count);
    } else {
      step.map(y, y, count, step.parameters);
    }
  }
}

}  // namespace amp
