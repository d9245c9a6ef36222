// ai.amp.MatrixWeightGradient and ai.amp.ConvWeightGradient on a device: gradients in float32, from operands that may
// be stored in 16 bits. Only the library computes matrix products; without it, the processor does. Convolutions that
// the library does not take are computed by a kernel of this project.
#include <algorithm>
#include <string>
#include <utility>

#include "ir/base/check.h"
#include "ir/base/status.h"
#include "runtime/device/families.h"
#include "runtime/device/image_axes.h"
#include "runtime/device/raw/elementwise.h"
#include "runtime/device/raw/library_operations.h"
#include "runtime/device/raw/product.h"
#include "runtime/device/raw/window_gradient.h"
#include "runtime/device/storage.h"
#include "runtime/forms/convolution.h"
#include "runtime/forms/product.h"
#include "runtime/kernel/move_elements.h"

namespace amp {
namespace {

Refusal WhyNotOperands(const KernelContext& context) {
  const Tensor &a = context.Input(0), &b = context.Input(1);
  if (!IsDeviceFloat(a.dtype())) return kNoDeviceFloat;
  if (a.dtype() != b.dtype()) return "operands of different types";
  return GetDType(context.node(), "to") == DType::kFloat32 ? nullptr : "another type than float32";
}

// ---- matrices -------------------------------------------------------------------------------------------------------

// The sizes of the product a [m, k] b [k, n], after transposition.
struct MatrixShape {
  bool transposes_a, transposes_b;
  int64_t m, n, k, k_of_b;
};

MatrixShape ShapeOfMatrices(const KernelContext& context) {
  const Tensor &a = context.Input(0), &b = context.Input(1);
  const MatrixProduct form = ReadMatrixProduct(context.node());
  return {.transposes_a = form.transposes_a,
          .transposes_b = form.transposes_b,
          .m = a.dim(form.transposes_a ? 1 : 0),
          .n = b.dim(form.transposes_b ? 0 : 1),
          .k = a.dim(form.transposes_a ? 0 : 1),
          .k_of_b = b.dim(form.transposes_b ? 1 : 0)};
}

Refusal WhyNotMatrices(const KernelContext& context) {
  if (const Refusal refusal = WhyNotOperands(context)) return refusal;
  if (context.Input(0).rank() != 2 || context.Input(1).rank() != 2) return "no matrices";
  const MatrixShape shape = ShapeOfMatrices(context);
  return shape.k == shape.k_of_b ? nullptr : "shapes that are not multiplied";
}

absl::Status MatrixWeightGradient(KernelContext& context) {
  const Tensor &a = context.Input(0), &b = context.Input(1);
  const MatrixShape shape = ShapeOfMatrices(context);
  AMP_ASSIGN_OR_RETURN(Tensor * dw, context.MakeOutput(0, DType::kFloat32, {shape.m, shape.n}));
  if (shape.k == 0 || dw->num_elements() == 0) {
    context.Report("zero", DType::kFloat32);
    if (dw->num_elements() > 0) FillWithZero(*dw);
    return absl::OkStatus();
  }
  const device::ProductArguments product = {.a = a.data(),
                                            .b = b.data(),
                                            .bias = nullptr,
                                            .y = dw->mutable_data(),
                                            .storage = StorageOf(a.dtype()),
                                            .y_storage = device::Storage::kFloat32,
                                            .m = shape.m,
                                            .n = shape.n,
                                            .k = shape.k,
                                            .batch = 1,
                                            .a_step = 0,
                                            .b_step = 0,
                                            .transposes_a = shape.transposes_a,
                                            .transposes_b = shape.transposes_b,
                                            .activation = device::ProductActivation::kNone,
                                            .allows_tf32 = context.resources().allows_tf32,
                                            .alpha = ReadMatrixProduct(context.node()).alpha};
  std::string text;
  AMP_RETURN_IF_ERROR(context.resources().device->Multiply(product, text));
  context.ReportOwn(std::move(text), DType::kFloat32);
  return absl::OkStatus();
}

// ---- convolutions ---------------------------------------------------------------------------------------------------

constexpr size_t kX = 0, kG = 1;

struct WeightsShape {
  Window window;
  int64_t groups = 1;
  Dims dw;  // [filters, channels of a group, ...]
};

absl::StatusOr<WeightsShape> ShapeOfWeights(const KernelContext& context) {
  const Tensor &x = context.Input(kX), &g = context.Input(kG);
  WeightsShape shape;
  AMP_ASSIGN_OR_RETURN(shape.window, SlideWindowForWeights(context.node(), x, g));
  AMP_ASSIGN_OR_RETURN(shape.groups, ReadGroup(context.node(), x.dim(1)));
  if (g.dim(1) % shape.groups != 0) return ModelError("groups that do not fit");
  shape.dw = {g.dim(1), x.dim(1) / shape.groups};
  for (const WindowAxis& axis : shape.window) shape.dw.push_back(axis.kernel);
  return shape;
}

Refusal WhyNotWindows(const KernelContext& context) {
  if (const Refusal refusal = WhyNotOperands(context)) return refusal;
  const size_t rank = context.Input(kX).rank();
  if (rank < 3 || rank > 2 + device::kMaxPoolAxes) return "no images of 1 to 3 axes";
  const absl::StatusOr<WeightsShape> shape = ShapeOfWeights(context);
  if (!shape.ok()) return "a window that does not fit";
  return std::all_of(shape->window.begin(), shape->window.end(), FitsDeviceAxis) ? nullptr
                                                                                 : "windows that are too large";
}

// Adjusts the padding at the ends: the library expects exactly as many windows as fit the padded image.
bool FitEnds(Window& window) {
  for (WindowAxis& axis : window) {
    const int64_t needed = (axis.output - 1) * axis.stride + axis.Extent() - axis.pad_begin - axis.input;
    if (axis.pad_end - needed < axis.stride) continue;
    if (needed < 0) return false;
    axis.pad_end = needed;
  }
  return true;
}

Refusal WhyNotLibrary(const KernelContext& context) {
  if (const Refusal refusal = WhyNotWindows(context)) return refusal;
  if (context.Input(kX).num_elements() == 0 || context.Input(kG).num_elements() == 0) return "no elements";
  return FitEnds(ShapeOfWeights(context)->window) ? nullptr : "windows that leave out much of the image";
}

// Widens 16-bit operands to float32, as the library gives float32 results only for float32 operands. Widened values are
// exact in TF32, so the products are those of the 16-bit values, accumulated in float32.
absl::StatusOr<Tensor> Widened(const KernelContext& context, size_t port) {
  const Tensor& x = context.Input(port);
  if (x.dtype() == DType::kFloat32) return x;
  AMP_ASSIGN_OR_RETURN(Tensor wide, context.MakeScratch(DType::kFloat32, x.dims()));
  context.resources().device->Start(device::ConvertArguments{.x = x.data(),
                                                             .y = wide.mutable_data(),
                                                             .count = CountOf(x),
                                                             .from = StorageOf(x.dtype()),
                                                             .to = device::Storage::kFloat32});
  return wide;
}

absl::Status ConvWeightGradientByLibrary(KernelContext& context) {
  const Tensor &x = context.Input(kX), &g = context.Input(kG);
  AMP_ASSIGN_OR_RETURN(WeightsShape shape, ShapeOfWeights(context));
  AMP_CHECK(FitEnds(shape.window));
  AMP_ASSIGN_OR_RETURN(Tensor * dw, context.MakeOutput(0, DType::kFloat32, shape.dw));
  AMP_ASSIGN_OR_RETURN(const Tensor wide_x, Widened(context, kX));
  AMP_ASSIGN_OR_RETURN(const Tensor wide_g, Widened(context, kG));
  const bool is_widened = x.dtype() != DType::kFloat32;
  device::LibraryConvolution convolution = {.x = wide_x.data(),
                                            .w = wide_g.data(),
                                            .bias = nullptr,
                                            .y = dw->mutable_data(),
                                            .storage = device::Storage::kFloat32,
                                            .stored_as = device::Storage::kFloat32,
                                            .is_transposed = false,
                                            .allows_tf32 = is_widened || context.resources().allows_tf32,
                                            .batch = x.dim(0),
                                            .channels = x.dim(1),
                                            .filters = g.dim(1),
                                            .groups = shape.groups,
                                            .num_axes = static_cast<int32_t>(shape.window.size()),
                                            .axes = {},
                                            .num_steps = 0,
                                            .steps = {},
                                            .gives_weights = true};
  SetDeviceAxes(shape.window, convolution.axes);
  std::string text;
  AMP_RETURN_IF_ERROR(context.resources().device->Convolve(convolution, text));
  context.ReportOwn(std::move(text), DType::kFloat32);
  return absl::OkStatus();
}

absl::Status ConvWeightGradient(KernelContext& context) {
  context.Report("direct convolution", DType::kFloat32);
  const Tensor &x = context.Input(kX), &g = context.Input(kG);
  AMP_ASSIGN_OR_RETURN(const WeightsShape shape, ShapeOfWeights(context));
  AMP_ASSIGN_OR_RETURN(Tensor * dw, context.MakeOutput(0, DType::kFloat32, shape.dw));
  if (dw->num_elements() == 0) return absl::OkStatus();
  if (x.num_elements() == 0 || g.num_elements() == 0) {
    FillWithZero(*dw);
    return absl::OkStatus();
  }
  device::ConvolveForWeightsArguments convolve = {.x = x.data(),
                                                  .g = g.data(),
                                                  .dw = static_cast<float*>(dw->mutable_data()),
                                                  .x_storage = StorageOf(x.dtype()),
                                                  .g_storage = StorageOf(g.dtype()),
                                                  .count = CountOf(*dw),
                                                  .batch = static_cast<uint32_t>(x.dim(0)),
                                                  .channels = static_cast<uint32_t>(x.dim(1)),
                                                  .filters = static_cast<uint32_t>(g.dim(1)),
                                                  .group_channels = static_cast<uint32_t>(x.dim(1) / shape.groups),
                                                  .group_filters = static_cast<uint32_t>(g.dim(1) / shape.groups),
                                                  .axes = {}};
  SetDeviceAxes(shape.window, convolve.axes);
  Accelerator& device = *context.resources().device;
  device.Start(convolve);
  const bool is_depthwise = shape.groups > 1 && shape.groups == x.dim(1);
  if (!is_depthwise) device.NoteDirectConvolution(x.dtype());
  return absl::OkStatus();
}

constexpr KernelRow kRows[] = {
    DeviceRow("MatrixWeightGradient", MatrixWeightGradient, WhyNotMatrices, {}, "ai.amp"),
    DeviceRow("ConvWeightGradient", ConvWeightGradientByLibrary, WhyNotLibrary, {}, "ai.amp"),
    DeviceRow("ConvWeightGradient", ConvWeightGradient, WhyNotWindows, {}, "ai.amp"),
};

}  // namespace

absl::Span<const KernelRow> WeightGradientDeviceKernels() { return kRows; }

}  // namespace amp
