// Normalizations: a tensor of floats read as float64, worked on cell by cell in place, and rounded once at the end.
//
//   AMP_ASSIGN_OR_RETURN(std::vector<double> values, ReadFloats(context, 0));
//   TransformCells(x.dims(), axes, absl::MakeSpan(values), [](size_t cell, absl::Span<double> elements) { ... });
//   return WriteOutput(context, 0, x.dtype(), x.dims(), values);
#ifndef AMP_RUNTIME_REFERENCE_FLOAT_CELLS_H_
#define AMP_RUNTIME_REFERENCE_FLOAT_CELLS_H_

#include <cstddef>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/kernel/kernel.h"

namespace amp {

// Reads an input of float16, bfloat16, float32 or float64. Errors: another type.
absl::StatusOr<std::vector<double>> ReadFloats(const KernelContext& context, size_t port);
// Reads an input that must have `count` elements.
absl::StatusOr<std::vector<double>> ReadFloats(const KernelContext& context, size_t port, size_t count);

// Makes output `port` and rounds the values into it. Errors: those of Tensor::Create; a type that is no float.
absl::Status WriteOutput(KernelContext& context, size_t port, DType dtype, const Dims& dims,
                         absl::Span<const double> values);

// Gives `transform` every cell in turn with its number, and puts back what it makes of the elements. Nothing is done
// where there are no elements. REQUIRES: as for CellsAlong; as many values as the dims say.
void TransformCells(absl::Span<const int64_t> dims, absl::Span<const size_t> axes, absl::Span<double> values,
                    absl::FunctionRef<void(size_t cell, absl::Span<double> elements)> transform);

struct Moments {
  double mean, variance;  // of the population: divided by the number of elements
};
Moments MomentsOf(absl::Span<const double> elements);

// (x - mean) / sqrt(variance + epsilon) of every element; returns what they were normalized by.
Moments Normalize(absl::Span<double> elements, double epsilon);

// Subtracts the largest element, which changes no ratio and keeps exp() from overflowing; returns the sum of exp().
double SumOfExponentials(absl::Span<double> elements);
void ToLogSoftmax(absl::Span<double> elements);

// A shape as normalizations by channel see it: [N, C, the rest]. An empty shape's rest is 0. Errors: rank below 2.
absl::StatusOr<Dims> ChannelDims(absl::Span<const int64_t> dims);

}  // namespace amp

#endif  // AMP_RUNTIME_REFERENCE_FLOAT_CELLS_H_
