#include "runtime/reference/float_cells.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "ir/base/status.h"
#include "runtime/kernel/cells.h"
#include "runtime/kernel/doubles.h"
#include "runtime/kernel/shape_math.h"

namespace amp {

absl::StatusOr<std::vector<double>> ReadFloats(const KernelContext& context, size_t port) {
  const Tensor& tensor = context.Input(port);
  if (!VisitFloats(tensor.dtype(), [](auto) {})) return context.TypeError(tensor.dtype());
  return ReadDoubles(tensor);
}

absl::StatusOr<std::vector<double>> ReadFloats(const KernelContext& context, size_t port, size_t count) {
  AMP_ASSIGN_OR_RETURN(std::vector<double> values, ReadFloats(context, port));
  if (values.size() != count) {
    return ModelError("input ", port, ": expected ", count, " elements, found ", context.Input(port).TypeText());
  }
  return values;
}

absl::Status WriteOutput(KernelContext& context, size_t port, DType dtype, const Dims& dims,
                         absl::Span<const double> values) {
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutput(port, dtype, dims));
  return WriteDoubles(values, *y);
}

void TransformCells(absl::Span<const int64_t> dims, absl::Span<const size_t> axes, absl::Span<double> values,
                    absl::FunctionRef<void(size_t cell, absl::Span<double> elements)> transform) {
  if (values.empty()) return;
  const Cells cells = CellsAlong(dims, axes);
  std::vector<double> elements(cells.offsets.size());
  for (size_t cell = 0; cell < cells.starts.size(); ++cell) {
    double* const first = values.data() + cells.starts[cell];
    for (size_t i = 0; i < elements.size(); ++i) elements[i] = first[cells.offsets[i]];
    transform(cell, absl::MakeSpan(elements));
    for (size_t i = 0; i < elements.size(); ++i) first[cells.offsets[i]] = elements[i];
  }
}

Moments MomentsOf(absl::Span<const double> elements) {
  const auto count = static_cast<double>(elements.size());
  const double mean = std::accumulate(elements.begin(), elements.end(), 0.0) / count;
  double squares = 0;
  for (const double x : elements) squares += (x - mean) * (x - mean);
  return {.mean = mean, .variance = squares / count};
}

Moments Normalize(absl::Span<double> elements, double epsilon) {
  const Moments moments = MomentsOf(elements);
  const double deviation = std::sqrt(moments.variance + epsilon);
  for (double& x : elements) x = (x - moments.mean) / deviation;
  return moments;
}

double SumOfExponentials(absl::Span<double> elements) {
  const double largest = *std::max_element(elements.begin(), elements.end());
  double sum = 0;
  for (double& x : elements) sum += std::exp(x -= largest);
  return sum;
}

void ToLogSoftmax(absl::Span<double> elements) {
  const double log_sum = std::log(SumOfExponentials(elements));
  for (double& x : elements) x -= log_sum;
}

absl::StatusOr<Dims> ChannelDims(absl::Span<const int64_t> dims) {
  if (dims.size() < 2) return ModelError("expected a shape [N, C, ...], found ", DimsText(dims));
  const bool empty = std::find(dims.begin(), dims.end(), 0) != dims.end();
  return Dims{dims[0], dims[1], empty ? 0 : ElementsBetween(dims, 2, dims.size())};
}

}  // namespace amp
