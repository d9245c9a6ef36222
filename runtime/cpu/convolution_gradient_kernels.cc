// ai.amp.ConvWeightGradient by oneDNN: the gradient in float32, from channels-last operands that may be stored in 16
// bits.
//
// Operands that must be converted are converted in parts of several images: as many as fit a cache, or more if the
// weights are large. The gradients of all parts are added up.
#include <algorithm>
#include <utility>

#include "ir/base/status.h"
#include "runtime/cpu/families.h"
#include "runtime/cpu/library_epilogue.h"
#include "runtime/cpu/library_window.h"
#include "runtime/cpu/make_primitive.h"
#include "runtime/cpu/parts.h"
#include "runtime/cpu/prepared.h"
#include "runtime/forms/convolution.h"
#include "runtime/kernel/shape_math.h"
#include "runtime/loops/best_loops.h"

namespace amp {
namespace {

constexpr size_t kX = 0, kG = 1;  // inputs

// The prepared operation for x [N, C, ...] and g [N, M, ...]. Its y_dims are the dims of the weights.
struct PreparedWeightGradient : PreparedOperation {
  Parts parts;
  std::unique_ptr<onednn::Primitive> last;  // for the last part, if it is smaller
};

Refusal WhyNotWeightGradient(const KernelContext& context) {
  if (const Refusal refusal = WhyNotForLibrary(context)) return refusal;
  if (GetDType(context.node(), "to") != DType::kFloat32) return "another type than float32";
  const size_t rank = context.Input(kX).rank();
  return rank < 3 || rank > 5 ? "not of one to three spatial axes" : nullptr;
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

int64_t ElementsOfImage(const Dims& dims) { return ElementsBetween(dims, 1, dims.size()); }

Parts PartsOf(const KernelContext& context, const Dims& w_dims, DType compute) {
  const Dims &x = context.Input(kX).dims(), &g = context.Input(kG).dims();
  if (context.Input(kX).dtype() == compute) return {x[0], x[0]};
  const int64_t image = std::max(ElementsOfImage(x), ElementsOfImage(g));
  const int64_t both = ElementsOfImage(x) + ElementsOfImage(g);
  const Parts parts = CutAxis(x[0], {.of_index = both, .of_all = both * x[0]}, 1);
  const int64_t least = std::min(4 * ElementsBetween(w_dims, 0, w_dims.size()) / image + 1, x[0]);
  return {parts.total, std::max(parts.size, least)};
}

MadePrimitive MakePrimitive(const KernelContext& context, const Window& window, const Dims& w_dims, DType compute,
                            int64_t images) {
  const int64_t groups = context.Input(kX).dim(1) / w_dims[1];
  const SpatialView view = ViewOf(window);
  const auto operand = [&](size_t port) {
    Dims dims = context.Input(port).dims();
    dims[0] = images;
    return ChannelsLast(compute, dims, view);
  };
  return MakeConvolutionWeights({.x = operand(kX),
                                 .w = GroupedWeights(DType::kFloat32, w_dims, groups, view),
                                 .y = operand(kG),
                                 .strides = Numbers(window, &WindowAxis::stride, 1),
                                 .dilations = Numbers(window, &WindowAxis::dilation, 1),
                                 .pads_begin = Numbers(window, &WindowAxis::pad_begin, 0),
                                 .pads_end = Numbers(window, &WindowAxis::pad_end, 0)});
}

PreparedOperations::Made Prepare(const KernelContext& context, DType compute) {
  const Tensor &x = context.Input(kX), &g = context.Input(kG);
  AMP_ASSIGN_OR_RETURN(Window window, SlideWindowForWeights(context.node(), x, g));
  AMP_ASSIGN_OR_RETURN(const int64_t group, ReadGroup(context.node(), x.dim(1)));
  if (g.dim(1) % group != 0) return Refusal("channels");
  if (!FitEnds(window)) return Refusal("windows that leave out much of the image");
  auto gradient = std::make_shared<PreparedWeightGradient>();
  gradient->y_dims = {g.dim(1), x.dim(1) / group};
  for (const WindowAxis& axis : window) gradient->y_dims.push_back(axis.kernel);
  const Parts parts = gradient->parts = PartsOf(context, gradient->y_dims, compute);
  AMP_ASSIGN_OR_RETURN(gradient->primitive, MakePrimitive(context, window, gradient->y_dims, compute, parts.size));
  if (parts.last() != parts.size) {
    AMP_ASSIGN_OR_RETURN(gradient->last, MakePrimitive(context, window, gradient->y_dims, compute, parts.last()));
  }
  return gradient;
}

// Reads the images of an operand in the type that the library computes in.
class ImageReader {
 public:
  static absl::StatusOr<ImageReader> Create(const KernelContext& context, size_t port, DType compute, int64_t at_once) {
    ImageReader reader;
    AMP_ASSIGN_OR_RETURN(reader.images_, InLibraryLayout(context, port, Layout::kChannelsLast));
    reader.size_ = ElementsOfImage(reader.images_.dims());
    if (reader.images_.dtype() == compute) return reader;
    AMP_ASSIGN_OR_RETURN(reader.converted_, context.MakeScratch(compute, {at_once * reader.size_}));
    return reader;
  }

  const void* Read(int64_t first, int64_t count) {
    const DType stored = images_.dtype();
    const auto offset = static_cast<size_t>(first * size_) * ElementBytes(stored);
    const std::byte* const from = images_.bytes().data() + offset;
    if (converted_.dtype() == DType::kUndefined) return from;
    void* const to = converted_.mutable_bytes().data();
    ConvertElements(from, stored, to, converted_.dtype(), static_cast<size_t>(count * size_));
    return to;
  }

 private:
  Tensor images_, converted_;
  int64_t size_ = 0;
};

absl::Status AddUpParts(KernelContext& context, const PreparedWeightGradient& gradient, DType compute) {
  const Parts& parts = gradient.parts;
  AMP_ASSIGN_OR_RETURN(ImageReader x, ImageReader::Create(context, kX, compute, parts.size));
  AMP_ASSIGN_OR_RETURN(ImageReader g, ImageReader::Create(context, kG, compute, parts.size));
  AMP_ASSIGN_OR_RETURN(Tensor * sum, context.MakeOutput(0, DType::kFloat32, gradient.y_dims));
  Tensor of_part;
  if (parts.count() > 1) {
    AMP_ASSIGN_OR_RETURN(of_part, context.MakeScratch(DType::kFloat32, gradient.y_dims));
  }
  const size_t of_last = gradient.last == nullptr ? 0 : gradient.last->scratch_bytes();
  const size_t scratch_bytes = std::max(gradient.primitive->scratch_bytes(), of_last);
  AMP_ASSIGN_OR_RETURN(Tensor scratch, context.MakeScratch(DType::kUint8, {static_cast<int64_t>(scratch_bytes)}));
  for (int64_t first = 0; first < parts.total; first += parts.size) {
    const int64_t count = std::min(parts.size, parts.total - first);
    const onednn::Primitive& primitive = count == parts.size ? *gradient.primitive : *gradient.last;
    Tensor& result = first == 0 ? *sum : of_part;
    if (!primitive.Run({.a = x.Read(first, count),
                        .b = g.Read(first, count),
                        .y = result.mutable_bytes().data(),
                        .scratch = scratch.mutable_bytes().data()})) {
      return absl::InternalError(absl::StrCat("oneDNN failed (", primitive.implementation(), ")"));
    }
    if (first == 0) continue;
    float* const sums = sum->mutable_elements<float>().data();
    const auto size = static_cast<size_t>(sum->num_elements());
    BestLoops().binary.add.of_both(sums, of_part.elements<float>().data(), sums, size);
  }
  return absl::OkStatus();
}

absl::Status ConvWeightGradient(KernelContext& context) {
  const DType compute = ComputeTypeFor(context, context.Input(kX).dtype());
  std::vector<int64_t> key;
  AppendShapes(context, key);
  AMP_ASSIGN_OR_RETURN(const auto prepared,
                       context.State<PreparedOperations>().Get(key, [&] { return Prepare(context, compute); }));
  const auto& gradient = static_cast<const PreparedWeightGradient&>(*prepared);
  AMP_RETURN_IF_ERROR(AddUpParts(context, gradient, compute));
  context.Report(gradient.primitive->implementation(), compute);
  return absl::OkStatus();
}

constexpr KernelRow kRows[] = {
    {.op_type = "ConvWeightGradient",
     .function = ConvWeightGradient,
     .domain = "ai.amp",
     .refusal = WhyNotWeightGradient,
     .family = "onednn",
     .takes_channels_last = true},
};

}  // namespace

absl::Span<const KernelRow> LibraryConvolutionGradientKernels() { return kRows; }

}  // namespace amp
