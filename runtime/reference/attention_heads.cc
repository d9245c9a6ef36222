#include "runtime/reference/attention_heads.h"

#include <algorithm>
#include <utility>

#include "ir/base/status.h"
#include "runtime/kernel/shape_math.h"
#include "runtime/reference/accumulator.h"
#include "runtime/reference/matrix_product.h"

namespace amp {

absl::StatusOr<Tensor> SplitHeads(const Tensor& x, int64_t heads, absl::string_view name) {
  if (x.rank() == 4) return x;
  if (x.rank() != 3 || heads < 1 || heads > std::max<int64_t>(1, x.dim(2)) || x.dim(2) % heads != 0) {
    return ModelError("expected [B, L, ", name, " * E] or rank 4, found ", x.TypeText(), " and ", name, " ", heads);
  }
  return PermuteAxes(x.Reshaped({x.dim(0), x.dim(1), heads, x.dim(2) / heads}), {0, 2, 1, 3});
}

absl::StatusOr<Tensor> JoinHeads(const Tensor& x) {
  AMP_ASSIGN_OR_RETURN(const Tensor y, PermuteAxes(x, {0, 2, 1, 3}));
  int64_t width = 0;
  if (__builtin_mul_overflow(x.dim(1), x.dim(3), &width)) return LimitError("expected fewer heads");
  return Reshape(y, {x.dim(0), x.dim(2), width});
}

absl::StatusOr<Tensor> AppendToPast(const Tensor& past, const Tensor& x) {
  if (past.rank() != 4 || past.dim(0) != x.dim(0) || past.dim(1) != x.dim(1) || past.dim(3) != x.dim(3)) {
    return ModelError("expected a past as ", x.TypeText(), " but for axis 2, found ", past.TypeText());
  }
  Dims dims = x.dims();
  if (__builtin_add_overflow(dims[2], past.dim(2), &dims[2])) return LimitError("expected a shorter past");
  AMP_ASSIGN_OR_RETURN(Tensor all, Tensor::Create(DType::kFloat64, dims));
  const auto images = static_cast<size_t>(all.num_elements() == 0 ? 0 : dims[0] * dims[1]);
  auto next = all.mutable_elements<double>().begin();
  for (size_t i = 0; i < images; ++i) {
    for (const Tensor* part : {&past, &x}) {
      const size_t size = Doubles(*part).size() / images;
      const auto elements = Doubles(*part).subspan(i * size, size);
      next = std::copy(elements.begin(), elements.end(), next);
    }
  }
  return all;
}

absl::StatusOr<Tensor> Columns(const Tensor& x, int64_t first, int64_t count) {
  Dims dims = x.dims();
  dims.back() = count;
  AMP_ASSIGN_OR_RETURN(Tensor part, FilledFloat64(dims, 0));
  StridedWalk walk(dims, {RowStrides(x.dims()), RowStrides(dims)});
  for (walk.Start(0, first); !walk.AtEnd(); walk.Next()) {
    part.mutable_elements<double>()[walk[1]] = Doubles(x)[walk[0]];
  }
  return part;
}

absl::Status SetRounded(KernelContext& context, size_t port, const Tensor& x, DType dtype) {
  if (!context.HasOutput(port)) return absl::OkStatus();
  AMP_ASSIGN_OR_RETURN(Tensor y, FromAccumulator(x, dtype));
  context.SetOutput(port, std::move(y));
  return absl::OkStatus();
}

}  // namespace amp
