// Conv and ConvTranspose by a device's library, together with fused nodes behind them, and FusedConv.
//
//   c = Conv (x, W, bias)   s = Add (c, residual)   y = Relu (s)      one operation of the library
//
// The library chooses an engine once for each shape. If it has none, a kernel of this project computes the convolution,
// and fused nodes run one by one. FusedConv's activation and Z are then a chain behind the convolution.
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
#include "runtime/device/raw/move.h"
#include "runtime/device/storage.h"
#include "runtime/kernel/layout.h"
#include "runtime/kernel/shape_math.h"
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

// Returns nothing for an operand that does not fit, and for functions that no library offers.
std::optional<ResultStep> StepOf(const KernelContext& context, const EpilogueStep& step, const Dims& y) {
  const bool is_known = step.kind != EpilogueKind::kHardSwish && step.kind != EpilogueKind::kHardSigmoid &&
                        step.kind != EpilogueKind::kLinear;
  return is_known ? ResultStepOf(context, step, y) : std::nullopt;
}

template <ConvolutionKind kKind>
Refusal WhyNot(const KernelContext& context) {
  if (const Refusal refusal = WhyNotConvolution(context, kKind)) return refusal;
  const ConvolutionShape shape = *ShapeOfConvolution(context, kKind);
  if (shape.IsDepthwise()) return "depthwise, which has a kernel of its own";
  if (!IsDeviceFloat(StoredType(context))) return kNoDeviceFloat;
  const std::vector<EpilogueStep>& steps = context.epilogue().steps;
  if (steps.size() > device::kMaxResultSteps) return "too much behind it";
  for (const EpilogueStep& step : steps) {
    if (!StepOf(context, step, shape.y).has_value()) return "something behind it that the library does not do";
  }
  return {};
}

// Computes y[image, filter, pixel] += bias[filter].
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
  const bool is_last = convolution.channels_last;
  const int64_t filters = convolution.filters,
                dims[] = {convolution.batch, is_last ? plane : filters, is_last ? filters : plane},
                of_y[] = {filters * plane, dims[2], 1}, of_bias[] = {0, is_last ? 0 : 1, is_last ? 1 : 0};
  for (size_t axis = 0; axis < std::size(dims); ++axis) {
    add.operands.shape.dims[axis] = static_cast<uint32_t>(dims[axis]);
    add.operands.shape.strides[0][axis] = of_y[axis];
    add.operands.shape.strides[1][axis] = of_bias[axis];
  }
  device.Start(add);
}

// If the library has no engine that adds the bias, the bias is added afterwards, to the rounded result.
absl::Status ConvolveWithBias(Accelerator& device, LibraryConvolution convolution, Tensor& y, std::string& text) {
  absl::Status status = device.Convolve(convolution, text);
  const bool is_bare = convolution.num_steps == 0 && convolution.stored_as == convolution.storage;
  if (!IsRefusal(status) || convolution.bias == nullptr || !is_bare) return status;
  const void* const bias = std::exchange(convolution.bias, nullptr);
  std::string of_bare;
  const absl::Status bare = device.Convolve(convolution, of_bare);
  if (IsRefusal(bare)) return status;
  AMP_RETURN_IF_ERROR(bare);
  text = of_bare + ", bias behind it";
  AddBias(device, convolution, bias, y);
  return absl::OkStatus();
}

struct ConvolutionState : KernelState {
  absl::Mutex mutex;
  Tensor weights ABSL_GUARDED_BY(mutex);  // constant weights, channels-last
  const void* weights_of ABSL_GUARDED_BY(mutex) = nullptr;
  bool refuses_channels_last ABSL_GUARDED_BY(mutex) = false;
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

// ---- channels-last --------------------------------------------------------------------------------------------------
//
// Tensor Cores read adjacent channels of 16 bits. Engines for row-major images transpose their inputs and results
// around the product, every time. Here values stay channels-last from one convolution to the next.

// Whether channels-last suits the convolution: channels are a multiple of what is read together, or so few (a
// picture's) that engines pad them.
bool FitsChannelsLast(const Tensor& x, const ConvolutionShape& shape) {
  constexpr int64_t kReadTogether = 8, kMostFew = 4;
  const bool is_low = x.dtype() == DType::kFloat16 || x.dtype() == DType::kBfloat16;
  const bool fits_channels = shape.channels % kReadTogether == 0 || shape.channels <= kMostFew;
  return is_low && shape.window.size() == 2 && shape.groups == 1 && fits_channels && shape.filters % kReadTogether == 0;
}

// Pictures with three colours, and their weights, get a fourth channel of zeros, so that engines read a pixel at once.
constexpr int64_t kColours = 3;

// REQUIRES: kColours channels.
absl::StatusOr<Tensor> WithFourthChannel(const Tensor& colours, Accelerator& device, TensorMemory* memory) {
  AMP_ASSIGN_OR_RETURN(const Tensor x, InLayout(colours, Layout::kRowMajor, memory));
  Dims dims = x.dims();
  dims[1] = device::kJoinedPlanes;
  AMP_ASSIGN_OR_RETURN(Tensor result, Tensor::Create(x.dtype(), dims, memory));
  result.set_layout(Layout::kChannelsLast);
  const auto pixels = static_cast<uint32_t>(ElementsBetween(dims, 2, dims.size()));
  device.Start(device::JoinPlanesArguments{.from = x.data(),
                                           .to = result.mutable_data(),
                                           .count = static_cast<uint32_t>(dims[0]) * pixels,
                                           .element_bytes = ElementBytes(x.dtype()),
                                           .planes = kColours,
                                           .pixels = pixels});
  return result;
}

absl::StatusOr<Tensor> TurnedTo(Layout layout, const Tensor& x, const KernelContext& context, TensorMemory* memory) {
  const bool is_picture = layout == Layout::kChannelsLast && x.dim(1) == kColours;
  return is_picture ? WithFourthChannel(x, *context.resources().device, memory) : InLayout(x, layout, memory);
}

// Returns the weights in the layout. Constant weights are converted in the first run and kept.
absl::StatusOr<Tensor> WeightsIn(Layout layout, const KernelContext& context, ConvolutionState& state)
    ABSL_EXCLUSIVE_LOCKS_REQUIRED(state.mutex) {
  const Tensor& weights = context.Input(kWeights);
  // A conversion that is only recorded has not been done yet, and may never be.
  const bool may_keep = state.weights_of == weights.data() || !context.resources().device->IsRecording();
  if (weights.layout() == layout || !context.IsConstantInput(kWeights) || !may_keep) {
    return TurnedTo(layout, weights, context, context.memory());
  }
  if (state.weights_of != weights.data()) {
    AMP_ASSIGN_OR_RETURN(state.weights, TurnedTo(layout, weights, context, context.resources().device));
    state.weights_of = weights.data();
  }
  return state.weights;
}

// Error: a refusal if the library cannot compute the convolution in that layout.
absl::Status ConvolveIn(Layout layout, KernelContext& context, ConvolutionKind kind, const ConvolutionShape& shape,
                        ConvolutionState& state, std::string& text) ABSL_EXCLUSIVE_LOCKS_REQUIRED(state.mutex) {
  AMP_ASSIGN_OR_RETURN(const Tensor x, TurnedTo(layout, context.Input(0), context, context.memory()));
  AMP_ASSIGN_OR_RETURN(const Tensor w, WeightsIn(layout, context, state));
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutput(0, StoredType(context), shape.y));
  y->set_layout(layout);
  LibraryConvolution convolution = ConvolutionOf(context, kind, shape, *y);
  convolution.x = x.data();
  convolution.w = w.data();
  convolution.channels_last = layout == Layout::kChannelsLast;
  convolution.channels = x.dim(1);
  std::vector<Tensor> operands;
  for (const EpilogueStep& each : context.epilogue().steps) {
    ResultStep step = *StepOf(context, each, shape.y);
    if (step.operand == ResultStep::Operand::kWhole) {
      AMP_ASSIGN_OR_RETURN(operands.emplace_back(), InLayout(context.Input(each.input), layout, context.memory()));
      step.elements = operands.back().data();
    }
    convolution.steps[convolution.num_steps++] = step;
  }
  return ConvolveWithBias(*context.resources().device, convolution, *y, text);
}

template <ConvolutionKind kKind>
absl::Status Convolve(KernelContext& context) {
  AMP_ASSIGN_OR_RETURN(const ConvolutionShape shape, ShapeOfConvolution(context, kKind));
  if (ElementCount(shape.y) == 0) return context.MakeOutput(0, StoredType(context), shape.y).status();
  ConvolutionState& state = context.State<ConvolutionState>();
  const absl::MutexLock lock(&state.mutex);
  std::string text;
  absl::Status status = Refusal("");
  if (kKind == ConvolutionKind::kPlain && !state.refuses_channels_last && FitsChannelsLast(context.Input(0), shape)) {
    status = ConvolveIn(Layout::kChannelsLast, context, kKind, shape, state, text);
    state.refuses_channels_last = IsRefusal(status);
  }
  if (IsRefusal(status)) status = ConvolveIn(Layout::kRowMajor, context, kKind, shape, state, text);
  AMP_RETURN_IF_ERROR(status);
  context.ReportOwn(std::move(text), DType::kFloat32);
  return absl::OkStatus();
}

// ---- FusedConv ------------------------------------------------------------------------------------------------------

Refusal WhyNotFused(const KernelContext& context) {
  if (const Refusal refusal = WhyNotConvolution(context, ConvolutionKind::kPlain)) return refusal;
  const ConvolutionShape shape = *ShapeOfConvolution(context, ConvolutionKind::kPlain);
  if (shape.IsDepthwise()) return "depthwise, which has a kernel of its own";
  return WhyNotStated(context, shape.y);
}

// Computes the convolution alone, then the steps as a chain.
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
  std::string text;
  absl::Status status = fits ? context.resources().device->Convolve(convolution, text)
                             : Refusal("an activation that the library does not have");
  if (IsRefusal(status)) status = ConvolveThenChain(context, convolution, *y, text);
  AMP_RETURN_IF_ERROR(status);
  context.ReportOwn(std::move(text), DType::kFloat32);
  return absl::OkStatus();
}

template <ConvolutionKind kKind>
constexpr KernelRow Row(absl::string_view op_type) {
  KernelRow row = DeviceRow(op_type, Convolve<kKind>, WhyNot<kKind>);
  row.takes_epilogue = true;
  row.takes_channels_last = true;
  return row;
}
constexpr KernelRow kRows[] = {Row<ConvolutionKind::kPlain>("Conv"), Row<ConvolutionKind::kTransposed>("ConvTranspose"),
                               DeviceRow("FusedConv", ConvolveFused, WhyNotFused, {}, "com.microsoft")};

}  // namespace

absl::Span<const KernelRow> LibraryConvolutionDeviceKernels() { return kRows; }

}  // namespace amp
