// Softmax, its logarithm, and division by a norm, along axes.
#include <cmath>
#include <vector>

#include "runtime/forms/norm.h"
#include "runtime/forms/softmax.h"
#include "runtime/kernel/cells.h"
#include "runtime/kernel/shape_math.h"
#include "runtime/reference/families.h"
#include "runtime/reference/float_cells.h"

namespace amp {
namespace {

absl::Status MapCells(KernelContext& context, absl::Span<const size_t> axes, void (*of)(absl::Span<double>)) {
  const Tensor& x = context.Input(0);
  AMP_ASSIGN_OR_RETURN(std::vector<double> values, ReadFloats(context, 0));
  TransformCells(x.dims(), axes, absl::MakeSpan(values), [of](size_t, absl::Span<double> elements) { of(elements); });
  return WriteOutput(context, 0, x.dtype(), x.dims(), values);
}

void ToSoftmax(absl::Span<double> elements) {
  const double sum = SumOfExponentials(elements);
  for (double& x : elements) x = std::exp(x) / sum;
}

// Zeros stay zeros.
void DivideBy(double norm, absl::Span<double> elements) {
  for (double& x : elements) x = norm == 0 ? 0 : x / norm;
}

void ToUnitL1(absl::Span<double> elements) {
  double norm = 0;
  for (const double x : elements) norm += std::fabs(x);
  DivideBy(norm, elements);
}

void ToUnitL2(absl::Span<double> elements) {
  double squares = 0;
  for (const double x : elements) squares += x * x;
  DivideBy(std::sqrt(squares), elements);
}

template <void (*kOf)(absl::Span<double>)>
absl::Status SoftmaxLike(KernelContext& context) {
  AMP_ASSIGN_OR_RETURN(const SoftmaxForm form, ReadSoftmax(context));
  return MapCells(context, form.Axes(), kOf);
}

absl::Status LpNormalization(KernelContext& context) {
  AMP_ASSIGN_OR_RETURN(const LpNormForm form, ReadLpNorm(context));
  return MapCells(context, {form.axis}, form.p == 1 ? ToUnitL1 : ToUnitL2);
}

constexpr KernelRow kRows[] = {
    {"Softmax", SoftmaxLike<ToSoftmax>},
    {"LogSoftmax", SoftmaxLike<ToLogSoftmax>},
    {"LpNormalization", LpNormalization},
};

}  // namespace

absl::Span<const KernelRow> SoftmaxKernels() { return kRows; }

}  // namespace amp
