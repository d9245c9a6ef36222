// Einsum of two operands as a batch of matrix products, by a device's library.
//
//   "bhid,bhjd->bhij"     products of batch b h: each a times the transpose of b
#include <string>
#include <utility>
#include <vector>

#include "ir/base/status.h"
#include "runtime/device/families.h"
#include "runtime/device/raw/product.h"
#include "runtime/device/storage.h"
#include "runtime/kernel/contraction.h"

namespace amp {
namespace {

Refusal WhyNotEinsum(const KernelContext& context) {
  if (context.num_inputs() != 2) return "not of two operands";
  const Tensor &a = context.Input(0), &b = context.Input(1);
  if (!IsDeviceFloat(a.dtype())) return kNoDeviceFloat;
  if (a.dtype() != b.dtype()) return "operands of different types";
  if (a.num_elements() == 0 || b.num_elements() == 0) return "no elements";
  if (a.rank() > device::kMaxAxes || b.rank() > device::kMaxAxes) return kTooManyAxes;
  const std::vector<Contraction> products = ReadEquation(context.node());
  if (products.size() != 1) return "no product of matrices";
  if (products[0].y.size() > device::kMaxAxes) return kTooManyAxes;
  return DoSizesAgree(products, context) ? nullptr : "sizes that differ";
}

absl::Status Multiply(KernelContext& context, const Tensor& left, const Tensor& right, const Contraction& form,
                      Tensor& product) {
  const ContractionSizes sizes = SizesOf(form, context.Input(0), context.Input(1));
  std::string text;
  AMP_RETURN_IF_ERROR(context.resources().device->Multiply({.a = left.data(),
                                                            .b = right.data(),
                                                            .bias = nullptr,
                                                            .y = product.mutable_data(),
                                                            .storage = StorageOf(left.dtype()),
                                                            .y_storage = StorageOf(left.dtype()),
                                                            .m = sizes.m,
                                                            .n = sizes.n,
                                                            .k = sizes.k,
                                                            .batch = sizes.batch,
                                                            .a_step = sizes.m * sizes.k,
                                                            .b_step = sizes.k * sizes.n,
                                                            .transposes_a = false,
                                                            .transposes_b = form.TransposesB(),
                                                            .activation = device::ProductActivation::kNone,
                                                            .allows_tf32 = context.resources().allows_tf32,
                                                            .alpha = 1},
                                                           text));
  context.ReportOwn(std::move(text), DType::kFloat32);
  return absl::OkStatus();
}

absl::Status Einsum(KernelContext& context) {
  const Contraction form = ReadEquation(context.node())[0];
  const Tensor &a = context.Input(0), &b = context.Input(1);
  AMP_ASSIGN_OR_RETURN(const Tensor left, Ordered(context, a, form.a, form.OrderOfA()));
  AMP_ASSIGN_OR_RETURN(const Tensor right, Ordered(context, b, form.b, form.OrderOfB()));
  const std::string labels = form.batch + form.rows + form.columns;
  Dims dims = DimsOf(form, labels, a, b);
  AMP_ASSIGN_OR_RETURN(Tensor product, Tensor::Create(a.dtype(), std::move(dims), context.memory()));
  AMP_RETURN_IF_ERROR(Multiply(context, left, right, form, product));
  AMP_ASSIGN_OR_RETURN(Tensor y, Ordered(context, product, labels, form.y));
  context.SetOutput(0, std::move(y));
  return absl::OkStatus();
}

constexpr KernelRow kRows[] = {DeviceRow("Einsum", Einsum, WhyNotEinsum)};

}  // namespace

absl::Span<const KernelRow> EinsumDeviceKernels() { return kRows; }

}  // namespace amp
