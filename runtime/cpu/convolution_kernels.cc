// Conv and ConvTranspose by oneDNN in the channels-last layout, which all its fast convolutions use.
#include <algorithm>
#include <utility>

#include "ir/base/status.h"
#include "ir/graph/attributes.h"
#include "runtime/cpu/families.h"
#include "runtime/cpu/hidden_numbers.h"
#include "runtime/cpu/library_epilogue.h"
#include "runtime/cpu/library_window.h"
#include "runtime/cpu/make_primitive.h"
#include "runtime/cpu/parts.h"
#include "runtime/cpu/prepared.h"
#include "runtime/forms/convolution.h"
#include "runtime/kernel/layout.h"
#include "runtime/kernel/shape_math.h"
#include "runtime/kernel/stated_epilogue.h"

namespace amp {
namespace {

struct PreparedConvolution : PartedOperation {
  bool adds_bias = false;  // in a pass after the library's, to a result in float32
  int64_t x_step = 0;
  PartWindow window;
};

struct Form {
  Window window;
  int64_t groups = 1;
  Dims x_dims, y_dims;
  bool is_transposed = false;
};

Refusal WhyNotConvolution(const KernelContext& context) {
  if (const Refusal refusal = WhyNotForLibrary(context)) return refusal;
  const size_t rank = context.Input(0).rank();
  if (rank < 3 || rank > 5 || context.Input(1).rank() != rank) return "not of one to three spatial axes";
  if (context.node().Input(2) == kNone) return {};
  return context.Input(2).dtype() == context.Input(0).dtype() ? nullptr : "a bias of another type";
}

Refusal WhyNotFusedConv(const KernelContext& context) {
  if (const Refusal refusal = WhyNotConvolution(context)) return refusal;
  if (context.HasInput(kFusedAddend) && context.Input(kFusedAddend).dtype() != context.Input(0).dtype())
    return "Z has another type";
  return StepOfActivation(context.node()).has_value() ? nullptr : "an activation that the library does not know";
}

absl::StatusOr<Form> ReadConvolution(const KernelContext& context) {
  const Tensor &x = context.Input(0), &w = context.Input(1);
  AMP_RETURN_IF_ERROR(CheckConvolution(context.node(), x, w));
  Form form;
  form.x_dims = x.dims();
  AMP_ASSIGN_OR_RETURN(form.groups, ReadGroup(context.node(), x.dim(1)));
  if (w.dim(1) != x.dim(1) / form.groups || w.dim(0) % form.groups != 0) return Refusal("channels");
  AMP_ASSIGN_OR_RETURN(form.window, SlideWindow(context.node(), SpatialDims(x), SpatialDims(w)));
  form.y_dims = OutputDims(form.window, x.dim(0), w.dim(0));
  return form;
}

absl::StatusOr<Form> ReadTransposed(const KernelContext& context) {
  const Tensor &x = context.Input(0), &w = context.Input(1);
  AMP_RETURN_IF_ERROR(CheckConvolution(context.node(), x, w));
  Form form{.window = {}, .x_dims = x.dims(), .y_dims = {}, .is_transposed = true};
  AMP_ASSIGN_OR_RETURN(form.groups, ReadGroup(context.node(), x.dim(1)));
  if (w.dim(0) != x.dim(1)) return Refusal("channels");
  AMP_ASSIGN_OR_RETURN(form.window, SlideWindowOverOutput(context.node(), x, w));
  form.y_dims = {x.dim(0), w.dim(1) * form.groups};
  for (const WindowAxis& axis : form.window) form.y_dims.push_back(axis.input);
  return form;
}

// Describes the weights as [groups, outputs, inputs, ...], with the strides of ONNX's layout.
onednn::Operand Weights(DType dtype, const Tensor& w, const Form& form) {
  onednn::Operand operand = GroupedWeights(dtype, w.dims(), form.groups, ViewOf(form.window));
  if (form.is_transposed) {  // ONNX has the inputs first
    std::swap(operand.dims[1], operand.dims[2]);
    std::swap(operand.strides[1], operand.strides[2]);
  }
  return operand;
}

// Fits operands of the epilogue to a part of the result: residuals of y's shape, of which a part reads its part, and
// operands with one number per channel or one in all.
FitOperand Fitter(const Form& form, const Form& part, DType compute, int64_t y_step) {
  return [&form, &part, compute, y_step](const Tensor& operand) -> std::optional<FittedOperand> {
    const SpatialView view = ViewOf(part.window);
    if (operand.dims() == form.y_dims) return FittedOperand{ChannelsLast(compute, part.y_dims, view), y_step};
    if (operand.rank() > form.y_dims.size()) return std::nullopt;
    Dims dims(form.y_dims.size() - operand.rank(), 1);
    dims.insert(dims.end(), operand.dims().begin(), operand.dims().end());
    const bool is_along_channels = operand.num_elements() == dims[1] && (dims[1] == 1 || dims[1] == form.y_dims[1]);
    if (!is_along_channels) return std::nullopt;
    return FittedOperand{RowMajorOperand(compute, Spatial(dims, 2, 1, view)), 0};
  };
}

// A transposed convolution slides its window over the result, which output_padding may have made larger.
int64_t PadEnd(const WindowAxis& axis, bool is_transposed) {
  if (!is_transposed) return axis.pad_end;
  return (axis.output - 1) * axis.stride + axis.Extent() - axis.pad_begin - axis.input;
}

Dims PadsEnd(const Form& form) {
  Dims pads;
  for (const WindowAxis& axis : form.window) pads.push_back(PadEnd(axis, form.is_transposed));
  return Spatial(std::move(pads), 0, 0, ViewOf(form.window));
}

// Whether a transposed convolution has a stride above 1. For these, oneDNN 3.2 adds the bias to partial sums, and
// applies post-ops to them, if channels times taps are many, such as 512 channels of 4 x 4.
bool IsStridedTransposed(const Form& form) {
  return form.is_transposed &&
         std::any_of(form.window.begin(), form.window.end(), [](const WindowAxis& axis) { return axis.stride > 1; });
}

// ---- parts: images, or bands of rows of one image

enum class Cut { kNone, kImages, kRows };

// Rows that two neighbouring bands read are converted twice, so bands have at least so many rows.
constexpr int64_t kLeastRows = 8;

Cut CutOf(const Form& form, bool converts) {
  if (!converts) return Cut::kNone;
  if (form.y_dims[0] > 1) return Cut::kImages;
  return form.is_transposed ? Cut::kNone : Cut::kRows;
}

// Returns the number of epilogue operands that have the result's shape.
int64_t NumResiduals(const KernelContext& context, const Form& form) {
  const std::vector<EpilogueStep> steps = StepsOf(context);
  return std::count_if(steps.begin(), steps.end(), [&](const EpilogueStep& step) {
    const bool reads = step.kind == EpilogueKind::kAdd || step.kind == EpilogueKind::kMul;
    return reads && context.Input(step.input).dims() == form.y_dims;
  });
}

Parts PartsOf(const Form& form, Cut cut, int64_t num_residuals) {
  if (cut == Cut::kNone) return {1, 1};
  const size_t axis = cut == Cut::kImages ? 0 : 2;
  const int64_t stride = cut == Cut::kRows ? form.window[0].stride : 1;
  const int64_t total = form.y_dims[axis], x = ElementsBetween(form.x_dims, 0, form.x_dims.size()),
                y = ElementsBetween(form.y_dims, 0, form.y_dims.size()) * (1 + num_residuals);
  const PartElements elements{.of_index = x / form.x_dims[axis] * stride + y / total, .of_all = x + y};
  return CutAxis(total, elements, cut == Cut::kRows ? kLeastRows : 1);
}

// Returns the form of a part with `size` images or rows. A band of rows is read together with the padding rows before
// and behind it, so that it has no padding of its own along that axis.
Form PartOf(Form form, Cut cut, const Parts& parts, int64_t size) {
  if (parts.count() == 1) return form;
  if (cut == Cut::kImages) {
    form.x_dims[0] = form.y_dims[0] = size;
  } else {
    WindowAxis& rows = form.window[0];
    rows.input = (size - 1) * rows.stride + rows.Extent();
    rows.output = size;
    rows.pad_begin = rows.pad_end = 0;
    form.x_dims[2] = rows.input;
    form.y_dims[2] = size;
  }
  return form;
}

void SetParts(const KernelContext& context, const Form& form, bool converts, PreparedConvolution& convolution) {
  const Cut cut = CutOf(form, converts);
  convolution.parts = PartsOf(form, cut, NumResiduals(context, form));
  const size_t axis = cut == Cut::kRows ? 2 : 0;
  const int64_t y_elements = ElementsBetween(form.y_dims, 0, form.y_dims.size());
  convolution.y_step = y_elements / convolution.parts.total;
  if (convolution.parts.count() == 1) return;
  convolution.x_step = ElementsBetween(form.x_dims, 0, form.x_dims.size()) / form.x_dims[axis];
  if (cut != Cut::kRows) return;
  const WindowAxis& rows = form.window[0];
  convolution.window = {.stride = rows.stride, .lead = rows.pad_begin, .extent = rows.Extent()};
}

absl::StatusOr<std::unique_ptr<onednn::Primitive>> MakePrimitive(const KernelContext& context, const Form& form,
                                                                 const Form& part, DType compute,
                                                                 PreparedConvolution& convolution) {
  const bool has_bias = context.node().Input(2) != kNone;
  const std::optional<size_t> channels = has_bias ? std::nullopt : std::optional<size_t>(1);
  const int64_t operand_step = convolution.parts.count() == 1 ? 0 : convolution.y_step;
  std::optional<LibraryEpilogue> epilogue =
      FitEpilogue(context, StepsOf(context), channels, Fitter(form, part, compute, operand_step));
  if (!epilogue.has_value()) return Refusal("an operand does not fit the result");
  if (has_bias) epilogue->bias_port = 2;
  const bool gives_bias = (has_bias && !convolution.adds_bias) || epilogue->bias.dtype != DType::kUndefined;
  if (gives_bias) epilogue->bias = {compute, {form.y_dims[1]}, {1}};
  convolution.epilogue = *std::move(epilogue);
  return MakeConvolution({.x = ChannelsLast(compute, part.x_dims, ViewOf(part.window)),
                          .w = Weights(compute, context.Input(1), part),
                          .y = ChannelsLast(convolution.computed_as, part.y_dims, ViewOf(part.window)),
                          .bias = convolution.epilogue.bias,
                          .strides = Numbers(part.window, &WindowAxis::stride, 1),
                          .dilations = Numbers(part.window, &WindowAxis::dilation, 1),
                          .pads_begin = Numbers(part.window, &WindowAxis::pad_begin, 0),
                          .pads_end = PadsEnd(part),
                          .is_transposed = part.is_transposed,
                          .post_ops = convolution.epilogue.post_ops});
}

// Returns the type in which packed weights are kept: their own of 16 bits, which each run widens, where the session
// frees what is packed.
DType KeptTypeOf(const KernelContext& context, DType compute) {
  const DType stored = context.Input(1).dtype();
  const bool is_widened = IsFloatOfLibrary(stored) && compute == DType::kFloat32;
  return is_widened && context.Droppable(1) != nullptr ? stored : compute;
}

PreparedOperations::Made Prepare(KernelContext& context, const Form& form, DType compute) {
  auto convolution = std::make_shared<PreparedConvolution>();
  convolution->y_dims = form.y_dims;
  const bool has_bias = context.node().Input(2) != kNone;
  if (has_bias && context.Input(2).dims() != Dims{form.y_dims[1]}) return Refusal("another bias");
  std::vector<EpilogueStep> steps = StepsOf(context);
  if (IsStridedTransposed(form) && !steps.empty()) return Refusal("post-ops are wrong");
  convolution->adds_bias = has_bias && IsStridedTransposed(form);
  const DType stored = convolution->stored_as = StoredType(context);
  convolution->computed_as = convolution->adds_bias ? DType::kFloat32 : ResultTypeOf(compute, stored);
  const bool converts = context.Input(0).dtype() != compute || convolution->computed_as != stored;
  SetParts(context, form, converts, *convolution);
  const auto make = [&](int64_t size) {
    const Form part = PartOf(form, CutOf(form, converts), convolution->parts, size);
    return MakePrimitive(context, form, part, compute, *convolution);
  };
  AMP_RETURN_IF_ERROR(PrepareParts(context, compute, KeptTypeOf(context, compute), make, *convolution));
  convolution->steps = std::move(steps);
  return convolution;
}

// Whether both layouts are the same in memory: there is one channel, or one pixel.
bool IsSameInBoth(const Dims& dims) { return dims[1] == 1 || ElementsBetween(dims, 2, dims.size()) == 1; }

template <absl::StatusOr<Form> (*read)(const KernelContext&)>
absl::Status Convolution(KernelContext& context) {
  const DType compute = ComputeTypeFor(context, context.Input(0).dtype());
  std::vector<int64_t> key;
  AppendShapes(context, key);
  AMP_ASSIGN_OR_RETURN(const auto prepared,
                       context.State<PreparedOperations>().Get(key, [&]() -> PreparedOperations::Made {
                         AMP_ASSIGN_OR_RETURN(const Form form, read(context));
                         if (ElementsBetween(form.y_dims, 0, form.y_dims.size()) == 0) {
                           return Refusal("no elements");
                         }
                         return Prepare(context, form, compute);
                       }));
  const auto& convolution = static_cast<const PreparedConvolution&>(*prepared);
  const Dims& w = context.Input(1).dims();
  const int64_t most_terms = context.Input(1).num_elements() / std::max<int64_t>(std::min(w[0], w[1]), 1);
  const ProductSums sums = {convolution.steps, most_terms, convolution.y_dims};
  AMP_ASSIGN_OR_RETURN(const double bound, BoundOfResult(context, sums));
  AMP_ASSIGN_OR_RETURN(const Tensor x, InLibraryLayout(context, 0, Layout::kChannelsLast));
  AMP_ASSIGN_OR_RETURN(const ConstantHold hold, HoldPlainWeights(context, convolution));
  RunWeights weights;
  AMP_RETURN_IF_ERROR(MakeWeights(context, convolution, compute, weights));
  Tensor bias_behind;
  if (convolution.adds_bias) {
    AMP_ASSIGN_OR_RETURN(bias_behind, Converted(context.Input(2), DType::kFloat32, context.memory()));
  }
  const Layout y_layout = IsSameInBoth(convolution.y_dims) ? Layout::kRowMajor : Layout::kChannelsLast;
  AMP_RETURN_IF_ERROR(
      RunInParts(context, {.operation = convolution,
                           .compute = compute,
                           .layout = Layout::kChannelsLast,
                           .y_layout = y_layout,
                           .a = {.tensor = &x, .step = convolution.x_step, .window = convolution.window},
                           .b = {},
                           .weights = weights.of_parts,
                           .weights_of_last = weights.of_last,
                           .bias_behind = convolution.adds_bias ? &bias_behind : nullptr}));
  context.SetMagnitudeBound(0, bound);
  return absl::OkStatus();
}

constexpr KernelRow kRows[] = {
    {.op_type = "Conv",
     .function = Convolution<ReadConvolution>,
     .refusal = WhyNotConvolution,
     .family = "onednn",
     .takes_channels_last = true,
     .takes_epilogue = true,
     .packs_weights = true},
    {.op_type = "FusedConv",
     .function = Convolution<ReadConvolution>,
     .domain = "com.microsoft",
     .refusal = WhyNotFusedConv,
     .family = "onednn",
     .takes_channels_last = true,
     .packs_weights = true},
    {.op_type = "ConvTranspose",
     .function = Convolution<ReadTransposed>,
     .refusal = WhyNotConvolution,
     .family = "onednn",
     .takes_channels_last = true,
     .takes_epilogue = true,
     .packs_weights = true},
};

}  // namespace

absl::Span<const KernelRow> LibraryConvolutionKernels() { return kRows; }

}  // namespace amp
