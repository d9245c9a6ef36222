// Conv and ConvTranspose by the library of a device, with what nodes behind them do to the result.
//
//   c = Conv (x, W, bias)   s = Add (c, residual)   y = Relu (s)      one operation of the library
//
// The library chooses an engine once for each shape; what it has none for is left to the kernel of our own, and where
// nodes were to be computed together, to one after another.
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ir/base/status.h"
#include "runtime/device/convolution_shape.h"
#include "runtime/device/families.h"
#include "runtime/device/image_axes.h"
#include "runtime/device/raw/elementwise.h"
#include "runtime/device/raw/library_operations.h"
#include "runtime/device/storage.h"

namespace amp {
namespace {

using device::LibraryConvolution;
using device::ResultStep;
using device::UnaryFunction;

constexpr size_t kWeights = 1, kBias = 2;

DType StoredType(const KernelContext& context) {
  const DType stored = context.epilogue().stores_as;
  return stored == DType::kUndefined ? context.Input(0).dtype() : stored;
}

// One number, one for each channel, or one for each element of y; nothing for other operands.
std::optional<ResultStep::Operand> OperandOf(const Tensor& operand, const Dims& y) {
  if (operand.dims() == y) return ResultStep::Operand::kWhole;
  if (operand.rank() > y.size()) return std::nullopt;
  if (operand.num_elements() == 1) return ResultStep::Operand::kOne;
  Dims dims(y.size() - operand.rank(), 1);
  dims.insert(dims.end(), operand.dims().begin(), operand.dims().end());
  const bool is_along_channels = operand.num_elements() == y[1] && dims[1] == y[1];
  return is_along_channels ? std::optional(ResultStep::Operand::kChannels) : std::nullopt;
}

ResultStep Function(UnaryFunction function, float a = 0, float b = 0) { return {.function = function, .a = a, .b = b}; }

// Nothing for an operand that does not fit, and for functions that no library offers.
std::optional<ResultStep> StepOf(const KernelContext& context, const EpilogueStep& step, const Dims& y) {
  switch (step.kind) {
    case EpilogueKind::kRelu:
      return step.alpha == 0 ? Function(UnaryFunction::kRelu) : Function(UnaryFunction::kLeakyRelu, step.alpha);
    case EpilogueKind::kClip:
      return Function(UnaryFunction::kClip, step.alpha, step.beta);
    case EpilogueKind::kSigmoid:
      return Function(UnaryFunction::kSigmoid);
    case EpilogueKind::kTanh:
      return Function(UnaryFunction::kTanh);
    case EpilogueKind::kGeluErf:
      return Function(UnaryFunction::kGelu);
    case EpilogueKind::kGeluTanh:
      return Function(UnaryFunction::kGeluTanh);
    case EpilogueKind::kSwish:
      return Function(UnaryFunction::kSwish, step.alpha);
    case EpilogueKind::kElu:
      return Function(UnaryFunction::kElu, step.alpha);
    case EpilogueKind::kHardSwish:
    case EpilogueKind::kHardSigmoid:
    case EpilogueKind::kLinear:
      return std::nullopt;
    case EpilogueKind::kAdd:
    case EpilogueKind::kMul:
      break;
  }
  const Tensor& operand = context.Input(step.input);
  const std::optional<ResultStep::Operand> kind = OperandOf(operand, y);
  if (!kind.has_value() || operand.dtype() != context.Input(0).dtype()) return std::nullopt;
  const bool adds = step.kind == EpilogueKind::kAdd;
  return ResultStep{.operand = *kind,
                    .combine = adds ? device::BinaryFunction::kAdd : device::BinaryFunction::kMultiply,
                    .elements = operand.data()};
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

template <ConvolutionKind kKind>
absl::Status Convolve(KernelContext& context) {
  const Tensor& x = context.Input(0);
  AMP_ASSIGN_OR_RETURN(const ConvolutionShape shape, ShapeOfConvolution(context, kKind));
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutput(0, StoredType(context), shape.y));
  if (y->num_elements() == 0) return absl::OkStatus();
  LibraryConvolution convolution = {.x = x.data(),
                                    .w = context.Input(kWeights).data(),
                                    .bias = context.HasInput(kBias) ? context.Input(kBias).data() : nullptr,
                                    .y = y->mutable_data(),
                                    .storage = StorageOf(x.dtype()),
                                    .stored_as = StorageOf(y->dtype()),
                                    .is_transposed = kKind == ConvolutionKind::kTransposed,
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
  for (const EpilogueStep& step : context.epilogue().steps) {
    convolution.steps[convolution.num_steps++] = *StepOf(context, step, shape.y);
  }
  ConvolutionText& state = context.State<ConvolutionText>();
  const absl::MutexLock lock(&state.mutex);
  AMP_RETURN_IF_ERROR(ConvolveWithBias(*context.resources().device, convolution, *y, state.text));
  context.Report(state.text, DType::kFloat32);
  return absl::OkStatus();
}

template <ConvolutionKind kKind>
constexpr KernelRow Row(absl::string_view op_type) {
  KernelRow row = DeviceRow(op_type, Convolve<kKind>, WhyNot<kKind>);
  row.takes_epilogue = true;
  return row;
}
constexpr KernelRow kRows[] = {Row<ConvolutionKind::kPlain>("Conv"),
                               Row<ConvolutionKind::kTransposed>("ConvTranspose")};

}  // namespace

absl::Span<const KernelRow> LibraryConvolutionDeviceKernels() { return kRows; }

}  // namespace amp
