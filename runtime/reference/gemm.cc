#include "runtime/reference/gemm.h"

#include <cmath>

#include "runtime/forms/product.h"
#include "runtime/kernel/shape_math.h"
#include "runtime/reference/accumulator.h"
#include "runtime/reference/matrix_product.h"

namespace amp {
namespace {

struct Factors {
  double alpha, beta;
};

// Zero for what is no int64, so that hostile factors do no harm.
uint64_t CutToInteger(double x) { return std::fabs(x) < 0x1p63 ? static_cast<uint64_t>(static_cast<int64_t>(x)) : 0; }

// factor * x, for an accumulator that stands for signed integers or floats.
double Scaled(double factor, double x) { return factor * x; }
uint64_t Scaled(double factor, uint64_t x) {
  return factor == 1 ? x : CutToInteger(factor * static_cast<double>(static_cast<int64_t>(x)));
}

template <typename T>
void ScaleAndAdd(Factors factors, const Tensor* c, Tensor& y) {
  const auto out = y.mutable_elements<T>();
  for (T& element : out) element = Scaled(factors.alpha, element);
  if (c == nullptr || y.num_elements() == 0) return;
  const auto in = c->elements<T>();
  size_t place = 0;
  for (StridedWalk walk(y.dims(), {BroadcastStrides(c->dims(), y.dims())}); !walk.AtEnd(); walk.Next()) {
    out[place++] += Scaled(factors.beta, in[walk[0]]);
  }
}

absl::StatusOr<Tensor> Operand(const KernelContext& context, size_t port, bool is_transposed) {
  const Tensor& x = context.Input(port);
  if (x.rank() != 2) return ModelError("expected a matrix, found ", context.InputDatum(port).TypeText());
  AMP_ASSIGN_OR_RETURN(Tensor wide, ToAccumulator(x));
  return is_transposed ? TransposeMatrices(wide) : wide;
}

}  // namespace

absl::StatusOr<Tensor> ComputeGemm(const KernelContext& context) {
  const MatrixProduct form = ReadMatrixProduct(context.node());
  AMP_ASSIGN_OR_RETURN(const Tensor a, Operand(context, 0, form.transposes_a));
  AMP_ASSIGN_OR_RETURN(const Tensor b, Operand(context, 1, form.transposes_b));
  AMP_ASSIGN_OR_RETURN(Tensor y, MultiplyMatrices(a, b));
  Tensor c;
  if (context.HasInput(2)) {
    AMP_ASSIGN_OR_RETURN(c, ToAccumulator(context.Input(2)));
    const absl::StatusOr<Dims> dims = BroadcastDims(c.dims(), y.dims());
    if (c.dtype() != y.dtype() || !dims.ok() || *dims != y.dims()) {
      return ModelError("expected C that broadcasts to ", y.TypeText(), ", found ", c.TypeText());
    }
  }
  const Factors factors = {form.alpha, form.beta};
  const Tensor* const addend = context.HasInput(2) ? &c : nullptr;
  y.dtype() == DType::kFloat64 ? ScaleAndAdd<double>(factors, addend, y) : ScaleAndAdd<uint64_t>(factors, addend, y);
  return y;
}

}  // namespace amp
