// Softmax, its logarithm, and division by a norm.
#include <algorithm>
#include <cmath>

#include "ir/base/status.h"
#include "runtime/forms/norm.h"
#include "runtime/forms/softmax.h"
#include "runtime/kernel/shape_math.h"
#include "runtime/loops/best_loops.h"
#include "runtime/loops/families.h"
#include "runtime/loops/float_parts.h"
#include "runtime/loops/float_rows.h"
#include "runtime/loops/normalize.h"

namespace amp {
namespace {

using Rows = void (*)(const Loops& loops, const float* in, float* out, size_t size);
using Columns = void (*)(const Loops& loops, float* columns, size_t size, size_t width);

void ToSoftmax(const Loops& loops, const float* in, float* out, size_t size) {
  const double sum = loops.rows.powers(in, out, size, loops.rows.max(in, size));
  loops.unary.multiply(out, out, size, {.a = static_cast<float>(1 / sum)});
}

void ToLogSoftmax(const Loops& loops, const float* in, float* out, size_t size) {
  const float largest = loops.rows.max(in, size);
  const double sum = loops.rows.sum_of_powers(in, size, largest);
  loops.rows.transform(in, out, size, {.centre = largest, .factor = 1, .shift = static_cast<float>(-std::log(sum))});
}

// ---- of columns -----------------------------------------------------------------------------------------------------

// The largest of each column is subtracted, and `sums` become those of the exponentials, which `powers` keeps.
void SumPowers(const Loops& loops, float* columns, size_t size, size_t width, float* powers, double* sums) {
  float largest[kMaxColumns];
  std::copy_n(columns, width, largest);
  for (size_t i = 1; i < size; ++i) loops.binary.max.of_both(largest, columns + i * width, largest, width);
  std::fill_n(sums, width, 0.0);
  for (size_t i = 0; i < size; ++i) {
    float* const row = columns + i * width;
    float buffer[kMaxColumns];
    loops.binary.subtract.of_both(row, largest, row, width);
    float* const power = powers == nullptr ? buffer : powers + i * width;
    loops.unary.exp(row, power, width, {});
    loops.rows.add_to(power, sums, width);
  }
}

void ToSoftmaxColumns(const Loops& loops, float* columns, size_t size, size_t width) {
  double sums[kMaxColumns];
  float factors[kMaxColumns];
  SumPowers(loops, columns, size, width, columns, sums);
  for (size_t c = 0; c < width; ++c) factors[c] = static_cast<float>(1 / sums[c]);
  for (size_t i = 0; i < size; ++i) {
    loops.binary.multiply.of_both(columns + i * width, factors, columns + i * width, width);
  }
}

void ToLogSoftmaxColumns(const Loops& loops, float* columns, size_t size, size_t width) {
  double sums[kMaxColumns];
  float logs[kMaxColumns];
  SumPowers(loops, columns, size, width, nullptr, sums);
  for (size_t c = 0; c < width; ++c) logs[c] = static_cast<float>(std::log(sums[c]));
  for (size_t i = 0; i < size; ++i) {
    loops.binary.subtract.of_both(columns + i * width, logs, columns + i * width, width);
  }
}

// ---- norms ----------------------------------------------------------------------------------------------------------

// Zeros stay zeros.
void Divide(const Loops& loops, const float* in, float* out, size_t size, double norm) {
  if (norm == 0) {
    std::fill_n(out, size, 0.0f);
    return;
  }
  const auto divisor = static_cast<float>(norm);
  loops.binary.divide.of_one_b(in, &divisor, out, size);
}

void ToUnitL1(const Loops& loops, const float* in, float* out, size_t size) {
  Divide(loops, in, out, size, loops.rows.sum_of_magnitudes(in, size));
}

// The squares may leave float32's range, as any program's in float32.
void ToUnitL2(const Loops& loops, const float* in, float* out, size_t size) {
  Divide(loops, in, out, size, std::sqrt(loops.rows.sum_of_squares(in, size)));
}

constexpr char kOtherAxis[] = "an axis that the input does not have";

Refusal WhyNotSoftmax(const KernelContext& context) {
  if (!IsLoopFloat(context.Input(0).dtype())) return kNoLoopFloat;
  return ReadSoftmax(context).ok() ? nullptr : kOtherAxis;
}

template <Rows kOf, Columns kOfColumns>
absl::Status MapAlong(KernelContext& context, const AxisView& view) {
  const Loops& loops = BestLoops();
  return MapRowsAndColumns(
      context, view, [&loops](const float* in, float* out, size_t size) { kOf(loops, in, out, size); },
      [&loops](float* columns, size_t size, size_t width) { kOfColumns(loops, columns, size, width); });
}

template <Rows kOf, Columns kOfColumns>
absl::Status SoftmaxLike(KernelContext& context) {
  AMP_ASSIGN_OR_RETURN(const SoftmaxForm form, ReadSoftmax(context));
  return MapAlong<kOf, kOfColumns>(context, form.View(context.Input(0).dims()));
}

Refusal WhyNotNorm(const KernelContext& context) {
  if (!IsLoopFloat(context.Input(0).dtype())) return kNoLoopFloat;
  return ReadLpNorm(context).ok() ? nullptr : "another norm, or an axis that the input does not have";
}

absl::Status LpNormalization(KernelContext& context) {
  AMP_ASSIGN_OR_RETURN(const LpNormForm form, ReadLpNorm(context));
  const Rows of = form.p == 1 ? ToUnitL1 : ToUnitL2;
  const Loops& loops = BestLoops();
  return MapRows(context, AxisView(context.Input(0).dims(), form.axis),
                 [&](const float* in, float* out, size_t size) { of(loops, in, out, size); });
}

constexpr KernelRow kRows[] = {
    {.op_type = "Softmax",
     .function = SoftmaxLike<ToSoftmax, ToSoftmaxColumns>,
     .refusal = WhyNotSoftmax,
     .family = "loops"},
    {.op_type = "LogSoftmax",
     .function = SoftmaxLike<ToLogSoftmax, ToLogSoftmaxColumns>,
     .refusal = WhyNotSoftmax,
     .family = "loops"},
    {.op_type = "LpNormalization", .function = LpNormalization, .refusal = WhyNotNorm, .family = "loops"},
};

}  // namespace

absl::Status SoftmaxAlong(KernelContext& context, const AxisView& view) {
  return MapAlong<ToSoftmax, ToSoftmaxColumns>(context, view);
}

absl::Status LogSoftmaxAlong(KernelContext& context, const AxisView& view) {
  return MapAlong<ToLogSoftmax, ToLogSoftmaxColumns>(context, view);
}

absl::Span<const KernelRow> SoftmaxLoopKernels() { return kRows; }

}  // namespace amp
