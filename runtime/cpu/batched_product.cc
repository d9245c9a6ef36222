#include "runtime/cpu/batched_product.h"

#include <memory>

#include "ir/base/status.h"
#include "runtime/cpu/make_primitive.h"
#include "runtime/cpu/prepared.h"

namespace amp {
namespace {

PreparedOperations::Made Prepare(const ContractionSizes& sizes, bool transposes_b, DType compute, DType result) {
  auto operation = std::make_shared<PreparedOperation>();
  onednn::MatMulSpec spec{.a = RowMajorOperand(compute, {sizes.batch, sizes.m, sizes.k}),
                          .b = RowMajorOperand(compute, {sizes.batch, sizes.k, sizes.n}),
                          .y = RowMajorOperand(result, {sizes.batch, sizes.m, sizes.n}),
                          .bias = {},
                          .post_ops = {}};
  if (transposes_b) spec.b.strides = {sizes.k * sizes.n, 1, sizes.k};
  AMP_ASSIGN_OR_RETURN(operation->primitive, MakeMatMul(spec));
  return operation;
}

}  // namespace

absl::StatusOr<Tensor> BatchedProduct(KernelContext& context, const Tensor& a, const Tensor& b,
                                      const ContractionSizes& sizes, bool transposes_b) {
  const DType compute = ComputeTypeFor(context, a.dtype());
  const DType computed_as = compute == a.dtype() ? compute : DType::kFloat32;
  AMP_ASSIGN_OR_RETURN(const auto operation, context.State<PreparedOperations>().Get(
                                                 {sizes.batch, sizes.m, sizes.k, sizes.n, transposes_b ? 1 : 0},
                                                 [&] { return Prepare(sizes, transposes_b, compute, computed_as); }));
  AMP_ASSIGN_OR_RETURN(const Tensor left, Converted(a, compute, context.memory()));
  AMP_ASSIGN_OR_RETURN(const Tensor right, Converted(b, compute, context.memory()));
  AMP_ASSIGN_OR_RETURN(Tensor product, context.MakeScratch(computed_as, {sizes.batch, sizes.m, sizes.n}));
  AMP_ASSIGN_OR_RETURN(
      Tensor scratch,
      context.MakeScratch(DType::kUint8, {static_cast<int64_t>(operation->primitive->scratch_bytes())}));
  onednn::Primitive::Arguments arguments;
  arguments.a = left.bytes().data();
  arguments.b = right.bytes().data();
  arguments.y = product.mutable_bytes().data();
  arguments.scratch = scratch.mutable_bytes().data();
  if (!operation->primitive->Run(arguments)) return absl::InternalError("oneDNN failed");
  context.Report(operation->primitive->implementation(), compute);
  return Converted(product, a.dtype(), context.memory());
}

}  // namespace amp
