// Matrix products by a device's library: MatMul, Gemm, com.microsoft::FusedMatMul.
#include <optional>
#include <string>
#include <utility>

#include "ir/base/status.h"
#include "runtime/device/families.h"
#include "runtime/device/product_epilogue.h"
#include "runtime/device/raw/product.h"
#include "runtime/device/storage.h"
#include "runtime/forms/product.h"
#include "runtime/kernel/product_shape.h"
#include "runtime/kernel/shape_math.h"

namespace amp {
namespace {

using Way = ProductShape::Way;
constexpr size_t kC = 2;

std::optional<ProductShape> ShapeOf(const KernelContext& context) {
  const MatrixProduct form = ReadMatrixProduct(context.node());
  return ShapeOfProduct(context.Input(0).dims(), context.Input(1).dims(), form.transposes_a, form.transposes_b);
}

Refusal WhyNotProduct(const KernelContext& context) {
  const Tensor &a = context.Input(0), &b = context.Input(1);
  if (!IsDeviceFloat(a.dtype())) return kNoDeviceFloat;
  if (a.dtype() != b.dtype()) return "operands of different types";
  return ShapeOf(context).has_value() ? nullptr : "shapes that the library does not multiply";
}

Refusal WhyNotFusedMatMul(const KernelContext& context) {
  if (ReadMatrixProduct(context.node()).moves_batch) return "moves the batch";
  return WhyNotProduct(context);
}

// Whether Gemm has an input C and a beta other than 0.
bool AddsC(const KernelContext& context) { return context.HasInput(kC) && ReadMatrixProduct(context.node()).beta != 0; }

Refusal WhyNotGemm(const KernelContext& context) {
  if (context.Input(0).rank() != 2 || context.Input(1).rank() != 2) return "no matrices";
  if (const Refusal refusal = WhyNotProduct(context)) return refusal;
  if (!AddsC(context)) return {};
  if (ReadMatrixProduct(context.node()).beta != 1) return "beta is neither 1 nor 0";
  const Tensor& c = context.Input(kC);
  const bool is_row = c.rank() >= 1 && c.rank() <= 2 && c.dim(c.rank() - 1) == ShapeOf(context)->n &&
                      c.num_elements() == ShapeOf(context)->n;
  if (!is_row) return "C is not one row";
  return c.dtype() == context.Input(0).dtype() ? nullptr : "C has another type";
}

// Returns the port of the node's own bias, if it adds one.
std::optional<size_t> OwnBias(const KernelContext& context) {
  const bool is_gemm = context.node().op_type() == "Gemm";
  return is_gemm && AddsC(context) ? std::optional(kC) : std::nullopt;
}

// Computes the product. If it has an epilogue, only the library is tried: if that has no algorithm for both, the nodes
// run one by one.
absl::Status Multiply(const KernelContext& context, const device::ProductArguments& product, std::string& text) {
  Accelerator& device = *context.resources().device;
  return context.epilogue().steps.empty() ? device.Multiply(product, text) : device.MultiplyByLibrary(product, text);
}

// Computes each product of a batch by itself, for operands that are broadcast in a way that no constant step describes.
absl::Status MultiplyEach(const KernelContext& context, const ProductShape& shape, device::ProductArguments product,
                          std::string& text) {
  const auto batch_of = [](const Dims& dims) { return Dims(dims.begin(), dims.end() - 2); };
  const Dims batch = batch_of(shape.y);
  const auto steps = [&](const Dims& dims) {
    Dims strides = BroadcastStrides(batch_of(dims), batch);
    for (int64_t& stride : strides) stride *= dims[dims.size() - 2] * dims.back();
    return strides;
  };
  const size_t bytes = product.storage == device::Storage::kFloat32 ? sizeof(float) : sizeof(uint16_t),
               result_bytes = static_cast<size_t>(product.m * product.n) * bytes;
  const auto *const a = static_cast<const std::byte*>(product.a), *const b = static_cast<const std::byte*>(product.b);
  auto* y = static_cast<std::byte*>(product.y);
  const auto* addend = static_cast<const std::byte*>(product.addend);
  for (StridedWalk walk(batch, {steps(shape.a), steps(shape.b)}); !walk.AtEnd(); walk.Next(), y += result_bytes) {
    product.a = a + walk[0] * bytes;
    product.b = b + walk[1] * bytes;
    product.y = y;
    product.addend = addend;
    AMP_RETURN_IF_ERROR(Multiply(context, product, text));
    if (addend != nullptr) addend += result_bytes;
  }
  return absl::OkStatus();
}

absl::Status Product(KernelContext& context) {
  const std::optional<ProductShape> shape = ShapeOf(context);
  const MatrixProduct form = ReadMatrixProduct(context.node());
  const std::optional<size_t> own_bias = OwnBias(context);
  const ProductEpilogue epilogue = FitProductEpilogue(context, shape->y_final, shape->n, own_bias.has_value());
  const std::optional<size_t> bias = own_bias.has_value() ? own_bias : epilogue.bias_port;
  if (const Refusal refusal = WhyNotChain(context, epilogue, shape->y_final)) return refusal;
  const DType dtype = context.Input(0).dtype(), stores_as = context.epilogue().stores_as;
  AMP_ASSIGN_OR_RETURN(Tensor * y,
                       context.MakeOutput(0, stores_as == DType::kUndefined ? dtype : stores_as, shape->y_final));
  Tensor result = *y;
  if (y->dtype() != dtype) {
    AMP_ASSIGN_OR_RETURN(result, context.MakeScratch(dtype, shape->y_final));
  }
  device::ProductArguments product = {
      .a = context.Input(0).data(),
      .b = context.Input(1).data(),
      .bias = bias.has_value() ? context.Input(*bias).data() : nullptr,
      .addend = epilogue.addend_port.has_value() ? context.Input(*epilogue.addend_port).data() : nullptr,
      .y = result.mutable_data(),
      .storage = StorageOf(dtype),
      .y_storage = StorageOf(dtype),
      .m = shape->m,
      .n = shape->n,
      .k = shape->k,
      .batch = 1,
      .a_step = 0,
      .b_step = 0,
      .transposes_a = shape->transposes_a,
      .transposes_b = shape->transposes_b,
      .activation = epilogue.activation,
      .allows_tf32 = context.resources().allows_tf32,
      .alpha = form.alpha};
  std::string text;
  const Way way = shape->FirstWay(Way::kFolded);
  if (way == Way::kAsIs) {
    AMP_RETURN_IF_ERROR(MultiplyEach(context, *shape, product, text));
  } else {
    const Dims a = shape->ViewOfA(way), b = shape->ViewOfB(way), view = shape->ViewOfY(way);
    product.m = view[view.size() - 2];
    if (way == Way::kOneBatch) {
      product.batch = view[0];
      product.a_step = a[0] == 1 ? 0 : a[1] * a[2];
      product.b_step = b[0] == 1 ? 0 : b[1] * b[2];
    }
    AMP_RETURN_IF_ERROR(Multiply(context, product, text));
  }
  context.ReportOwn(std::move(text), DType::kFloat32);
  return NeedsChain(context, epilogue) ? FinishProduct(context, epilogue, result, *y) : absl::OkStatus();
}

constexpr KernelRow ProductRow(absl::string_view op_type, RefusalFunction refusal, absl::string_view domain = "") {
  KernelRow row = DeviceRow(op_type, Product, refusal, {}, domain);
  row.takes_epilogue = true;
  return row;
}

constexpr KernelRow kRows[] = {
    ProductRow("MatMul", WhyNotProduct),
    ProductRow("Gemm", WhyNotGemm),
    ProductRow("FusedMatMul", WhyNotFusedMatMul, "com.microsoft"),
};

}  // namespace

absl::Span<const KernelRow> ProductDeviceKernels() { return kRows; }

}  // namespace amp
