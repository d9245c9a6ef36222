// Conv and ConvTranspose by the library of a device, with what nodes behind them do to the result, and FusedConv.
//
//   c = Conv (x, W, bias)   s = Add (c, residual)   y = Relu (s)      one operation of the library
//
// The library chooses an engine once for each shape; what it has none for is left to the kernel of our own, and where
// nodes were to be computed together, to one after another. What FusedConv states is then a chain behind the
// convolution.
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ir/base/status.h"
#include "runtime/device/convolution_shape.h"
#include "runtime/device/epilogue_steps.h"
#include "runtime/device/families.h"
#include "runtime/device/image_axes.h"
#include "runtime/device/raw/elementwise.h"
#include "runtime/device/raw/library_operations.h"
#include "runtime/device/storage.h"
#include "runtime/kernel/stated_epilogue.h"

namespace amp {
namespace {

using device::LibraryConvolution;
using device::ResultStep;

constexpr size_t kWeights = 1, kBias = 2;

DType StoredType(const KernelContext& context) {
  const DType stored = context.epilogue().stores_as;
  return stored == DType::kUndefined ? context.Input(0).dtype() : stored;
}

// Nothing for an operand that does not fit, and for functions that no library offers.
std::optional<ResultStep> StepOf(const KernelContext& context, const EpilogueStep& step, const Dims& y) {
  const bool is_known = step.kind != EpilogueKind::kHardSwish && step.kind != EpilogueKind::kHardSigmoid &&
                        step.kind != EpilogueKind::kLinear;
  return is_known ? ResultStepOf(context, step, y) : std::nullopt;
}

template <ConvolutionKind kKind>
const char* WhyNot(const KernelContext& context) {
  if (const char* const reason = WhyNotConvolution(context, kKind)) return reason;
  const ConvolutionShape shape = *ShapeOfConvolution(context, kKind);
  if (shape.IsDepthwise()) return "depthwise, which has a kernel of its own";
  if (!IsDeviceFloat(StoredType(context))) return kNoDeviceFloat;
  const std::vector<EpilogueStep>& steps = context.epilogue().steps;
  if (steps.size() > device::kMaxResultSteps) return "too much behind it";
  for (const EpilogueStep& step : steps) {
    if (!StepOf(context, step, shape.y).has_value()) return "something behind it that the library does not do";
  }
  return nullptr;
}

// y[image, filter, pixel] += bias[filter]
void AddBias(Accelerator& device, const LibraryConvolution& convolution, const void* bias, Tensor& y) {
  const int64_t plane = y.num_elements() / (convolution.batch * convolution.filters);
  device::ZipArguments add = {.operands = {.a = y.data(),
                                           .b = bias,
                                           .y = y.mutable_data(),
                                           .count = CountOf(y),
                                           .storage = StorageOf(y.dtype()),
                                           .shape = {.rank = 3},
                                           .is_flat = false},
                              .function = device::BinaryFunction::kAdd};
  const int64_t dims[] = {convolution.batch, convolution.filters, plane},
                of_y[] = {convolution.filters * plane, plane, 1}, of_bias[] = {0, 1, 0};
  for (size_t axis = 0; axis < std::size(dims); ++axis) {
    add.operands.shape.dims[axis] = static_cast<uint32_t>(dims[axis]);
    add.operands.shape.strides[0][axis] = of_y[axis];
    add.operands.shape.strides[1][axis] = of_bias[axis];
  }
  device.Start(add);
}

// Where the library has no engine that adds the bias, it is added behind, to what has been rounded.
absl::Status ConvolveWithBias(Accelerator& device, LibraryConvolution convolution, Tensor& y, std::string& text) {
  absl::Status status = device.Convolve(convolution, text);
  if (!absl::IsUnimplemented(status) || convolution.bias == nullptr || convolution.num_steps > 0) return status;
  const void* const bias = std::exchange(convolution.bias, nullptr);
  std::string of_bare;
  const absl::Status bare = device.Convolve(convolution, of_bare);
  if (absl::IsUnimplemented(bare)) return status;
  AMP_RETURN_IF_ERROR(bare);
  text = of_bare + ", bias behind it";
  AddBias(device, convolution, bias, y);
  return absl::OkStatus();
}

struct ConvolutionText : KernelState {
  absl::Mutex mutex;
  std::string text ABSL_GUARDED_BY(mutex);
};

LibraryConvolution ConvolutionOf(const KernelContext& context, ConvolutionKind kind, const ConvolutionShape& shape,
                                 Tensor& y) {
  const Tensor& x = context.Input(0);
  LibraryConvolution convolution = {.x = x.data(),
                                    .w = context.Input(kWeights).data(),
                                    .bias = context.HasInput(kBias) ? context.Input(kBias).data() : nullptr,
                                    .y = y.mutable_data(),
                                    .storage = StorageOf(x.dtype()),
                                    .stored_as = StorageOf(y.dtype()),
                                    .is_transposed = kind == ConvolutionKind::kTransposed,
                                    .allows_tf32 = context.resources().allows_tf32,
                                    .batch = x.dim(0),
                                    .channels = shape.channels,
                                    .filters = shape.filters,
                                    .groups = shape.groups,
                                    .num_axes = static_cast<int32_t>(shape.window.size()),
                                    .axes = {},
                                    .num_steps = 0,
                                    .steps = {}};
  SetDeviceAxes(shape.window, convolution.axes);
  return convolution;
}

template <ConvolutionKind kKind>
absl::Status Convolve(KernelContext& context) {
  AMP_ASSIGN_OR_RETURN(const ConvolutionShape shape, ShapeOfConvolution(context, kKind));
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutput(0, StoredType(context), shape.y));
  if (y->num_elements() == 0) return absl::OkStatus();
  LibraryConvolution convolution = ConvolutionOf(context, kKind, shape, *y);
  for (const EpilogueStep& step : context.epilogue().steps) {
    convolution.steps[convolution.num_steps++] = *StepOf(context, step, shape.y);
  }
  ConvolutionText& state = context.State<ConvolutionText>();
  const absl::MutexLock lock(&state.mutex);
  AMP_RETURN_IF_ERROR(ConvolveWithBias(*context.resources().device, convolution, *y, state.text));
  context.Report(state.text, DType::kFloat32);
  return absl::OkStatus();
}

// ---- FusedConv ------------------------------------------------------------------------------------------------------

const char* WhyNotFused(const KernelContext& context) {
  if (const char* const reason = WhyNotConvolution(context, ConvolutionKind::kPlain)) return reason;
  const ConvolutionShape shape = *ShapeOfConvolution(context, ConvolutionKind::kPlain);
  if (shape.IsDepthwise()) return "depthwise, which has a kernel of its own";
  return WhyNotStated(context, shape.y);
}

// The convolution alone, then a chain with the steps.
absl::Status ConvolveThenChain(const KernelContext& context, LibraryConvolution convolution, Tensor& y,
                               std::string& text) {
  Accelerator& device = *context.resources().device;
  convolution.num_steps = 0;
  AMP_RETURN_IF_ERROR(ConvolveWithBias(device, convolution, y, text));
  text += ", a chain behind it";
  ChainProgram program;
  AddSteps(context, StepsOf(context), program.AddOperand(y), program);
  return program.Start(device, y);
}

absl::Status ConvolveFused(KernelContext& context) {
  AMP_ASSIGN_OR_RETURN(const ConvolutionShape shape, ShapeOfConvolution(context, ConvolutionKind::kPlain));
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutput(0, context.Input(0).dtype(), shape.y));
  if (y->num_elements() == 0) return absl::OkStatus();
  LibraryConvolution convolution = ConvolutionOf(context, ConvolutionKind::kPlain, shape, *y);
  bool fits = true;
  for (const EpilogueStep& each : StepsOf(context)) {
    const std::optional<ResultStep> step = StepOf(context, each, shape.y);
    fits = fits && step.has_value();
    if (fits) convolution.steps[convolution.num_steps++] = *step;
  }
  ConvolutionText& state = context.State<ConvolutionText>();
  const absl::MutexLock lock(&state.mutex);
  absl::Status status = fits ? context.resources().device->Convolve(convolution, state.text)
                             : absl::UnimplementedError("an activation that the library does not have");
  if (absl::IsUnimplemented(status)) status = ConvolveThenChain(context, convolution, *y, state.text);
  AMP_RETURN_IF_ERROR(status);
  context.Report(state.text, DType::kFloat32);
  return absl::OkStatus();
}

template <ConvolutionKind kKind>
constexpr KernelRow Row(absl::string_view op_type) {
  KernelRow row = DeviceRow(op_type, Convolve<kKind>, WhyNot<kKind>);
  row.takes_epilogue = true;
  return row;
}
constexpr KernelRow kRows[] = {Row<ConvolutionKind::kPlain>("Conv"), Row<ConvolutionKind::kTransposed>("ConvTranspose"),
                               DeviceRow("FusedConv", ConvolveFused, WhyNotFused, {}, "com.microsoft")};

}  // namespace

absl::Span<const KernelRow> LibraryConvolutionDeviceKernels() { return kRows; }

}  // namespace amp
