// ConvTranspose with few output channels, as in inverse transforms of sound and the last layers of image decoders. One
// matrix product computes the taps of all windows, which are then added up where windows overlap.
//
//   x[windows, channels] W[channels, outputs * taps] = parts[windows, outputs * taps]
//   y[output, window * stride + tap] += parts[window, output, tap]
//
// The library's own convolutions compute 16 outputs at a time, however few there are. An inverse transform of 200
// frames with 512 taps took 0.47 ms instead of 16 ms (one thread, AVX-512).
#include <algorithm>
#include <vector>

#include "ir/base/status.h"
#include "runtime/cpu/families.h"
#include "runtime/cpu/library_epilogue.h"
#include "runtime/cpu/make_primitive.h"
#include "runtime/cpu/prepared.h"
#include "runtime/forms/convolution.h"
#include "runtime/kernel/parallel_for.h"
#include "runtime/kernel/shape_math.h"

namespace amp {
namespace {

constexpr size_t kX = 0, kW = 1, kBias = 2;
constexpr int64_t kMostParts = int64_t{1} << 22;  // elements of `parts`, in float32

struct PreparedOverlap : PreparedOperation {
  Window window;  // over the result: `input` is the result's length, `output` the number of windows
};

// Whether a product per output and the sums cost less than the 16 outputs that the library computes. The sums of an
// output cost as much as some multiplications.
bool IsWorthIt(int64_t channels, int64_t outputs) {
  constexpr int64_t kAtATime = 16, kOfSum = 400;  // kOfSum was measured with 2 to 1024 taps
  return outputs * (channels + kOfSum) < kAtATime * channels;
}

Refusal WhyNotOverlapAdd(const KernelContext& context) {
  if (const Refusal refusal = WhyNotForLibrary(context)) return refusal;
  const Tensor &x = context.Input(kX), &w = context.Input(kW);
  if (x.rank() < 3 || x.rank() > 5 || w.rank() != x.rank()) return "not of one to three spatial axes";
  if (!context.IsConstantInput(kW)) return "weights that are computed";
  if (context.HasInput(kBias) && context.Input(kBias).dtype() != x.dtype()) return "a bias of another type";
  const absl::StatusOr<int64_t> group = ReadGroup(context.node(), x.dim(1));
  if (!group.ok() || *group != 1 || w.dim(0) != x.dim(1)) return "groups";
  if (!IsWorthIt(w.dim(0), w.dim(1))) return "many channels to give, or few to read";
  const int64_t parts = x.num_elements() / x.dim(1) * (w.num_elements() / w.dim(0));
  return parts <= kMostParts ? nullptr : "many places and taps";
}

PreparedOperations::Made Prepare(const KernelContext& context, DType compute) {
  const Tensor &x = context.Input(kX), &w = context.Input(kW);
  AMP_RETURN_IF_ERROR(CheckConvolution(context.node(), x, w));
  auto prepared = std::make_shared<PreparedOverlap>();
  AMP_ASSIGN_OR_RETURN(prepared->window, SlideWindowOverOutput(context.node(), x, w));
  prepared->y_dims = {x.dim(0), w.dim(1)};
  for (const WindowAxis& axis : prepared->window) prepared->y_dims.push_back(axis.input);
  if (ElementCount(prepared->y_dims) == 0) return Refusal("no elements");
  if (context.HasInput(kBias) && context.Input(kBias).dims() != Dims{w.dim(1)}) {
    return Refusal("another bias");
  }
  const int64_t places = x.num_elements() / x.dim(1), channels = x.dim(1), parts = w.num_elements() / channels;
  AMP_ASSIGN_OR_RETURN(prepared->primitive, MakeMatMul({.a = RowMajorOperand(compute, {places, channels}),
                                                        .b = RowMajorOperand(compute, {channels, parts}),
                                                        .y = RowMajorOperand(DType::kFloat32, {places, parts}),
                                                        .bias = {},
                                                        .packs_b = true,
                                                        .post_ops = {}}));
  AMP_ASSIGN_OR_RETURN(prepared->weights, PackedConstant(context, kW, *prepared->primitive, compute, compute, [&] {
                         return Converted(context.Input(kW), compute, nullptr);
                       }));
  return prepared;
}

// One output channel of one image.
struct Plane {
  const float* parts;  // of the image's first window and this output
  int64_t step;        // elements between successive windows
  float* y;
};

// The taps of a window that lie inside the result along an axis, and where its first tap would lie.
struct Reach {
  int64_t first_tap, end_tap, first_place;
};
Reach ReachOf(const WindowAxis& axis, int64_t place) {
  const int64_t start = place * axis.stride - axis.pad_begin;
  const int64_t below = std::max<int64_t>(-start, 0);
  const int64_t first = (below + axis.dilation - 1) / axis.dilation;
  const int64_t end = start >= axis.input ? 0 : (axis.input - start + axis.dilation - 1) / axis.dilation;
  return {first, std::min(end, axis.kernel), start};
}

// Adds the taps of one window to the result, axis by axis.
void AddPlace(const Window& window, size_t axis, absl::Span<const int64_t> place, const float* parts, float* y) {
  const WindowAxis& at = window[axis];
  const Reach reach = ReachOf(at, place[axis]);
  if (axis + 1 == window.size()) {
    for (int64_t tap = reach.first_tap; tap < reach.end_tap; ++tap) {
      y[reach.first_place + tap * at.dilation] += parts[tap];
    }
    return;
  }
  int64_t taps = 1, elements = 1;
  for (size_t inner = axis + 1; inner < window.size(); ++inner) {
    taps *= window[inner].kernel;
    elements *= window[inner].input;
  }
  for (int64_t tap = reach.first_tap; tap < reach.end_tap; ++tap) {
    AddPlace(window, axis + 1, place, parts + tap * taps, y + (reach.first_place + tap * at.dilation) * elements);
  }
}

void AddAll(const Window& window, const Plane& plane) {
  Dims places;
  for (const WindowAxis& axis : window) places.push_back(axis.output);
  const float* parts = plane.parts;
  for (StridedWalk walk(places, {}); !walk.AtEnd(); walk.Next(), parts += plane.step) {
    AddPlace(window, 0, walk.index(), parts, plane.y);
  }
}

void OverlapAdd(const PreparedOverlap& prepared, absl::Span<const float> parts, absl::Span<const float> bias,
                absl::Span<float> y) {
  const auto images = static_cast<size_t>(prepared.y_dims[0]), outputs = static_cast<size_t>(prepared.y_dims[1]);
  const size_t plane = y.size() / (images * outputs), taps = NumTaps(prepared.window);
  ParallelFor(images * outputs, parts.size() / (images * outputs), [&](const Share& share) {
    for (size_t i = share.first; i < share.end; ++i) {
      const size_t image = i / outputs, output = i % outputs;
      float* const to = y.data() + i * plane;
      std::fill_n(to, plane, bias.empty() ? 0.0f : bias[output]);
      AddAll(prepared.window, {.parts = parts.data() + image * (parts.size() / images) + output * taps,
                               .step = static_cast<int64_t>(outputs * taps),
                               .y = to});
    }
  });
}

absl::Status ConvTransposeByOverlap(KernelContext& context) {
  const DType stored = context.Input(kX).dtype(), compute = ComputeTypeFor(context, stored);
  constexpr int64_t kOverlap = 1;  // keeps this entry apart from those of the library's convolution for equal shapes
  std::vector<int64_t> key = {kOverlap};
  AppendShapes(context, key);
  AMP_ASSIGN_OR_RETURN(const auto prepared,
                       context.State<PreparedOperations>().Get(key, [&] { return Prepare(context, compute); }));
  const auto& overlap = static_cast<const PreparedOverlap&>(*prepared);
  AMP_ASSIGN_OR_RETURN(const Tensor x, InLibraryLayout(context, kX, Layout::kChannelsLast));
  AMP_ASSIGN_OR_RETURN(const Tensor rows, Converted(x, compute, context.memory()));
  Tensor bias;
  if (context.HasInput(kBias)) {
    AMP_ASSIGN_OR_RETURN(bias, Converted(context.Input(kBias), DType::kFloat32, context.memory()));
  }
  const Tensor& w = context.Input(kW);
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutput(0, stored, overlap.y_dims));
  AMP_ASSIGN_OR_RETURN(
      Tensor parts, context.MakeScratch(DType::kFloat32, {x.num_elements() / x.dim(1), w.num_elements() / w.dim(0)}));
  AMP_ASSIGN_OR_RETURN(Tensor scratch,
                       context.MakeScratch(DType::kUint8, {static_cast<int64_t>(overlap.primitive->scratch_bytes())}));
  onednn::Primitive::Arguments arguments;
  arguments.a = rows.bytes().data();
  arguments.b = overlap.weights.bytes().data();
  arguments.y = parts.mutable_bytes().data();
  arguments.scratch = scratch.mutable_bytes().data();
  if (!overlap.primitive->Run(arguments)) return absl::InternalError("oneDNN failed");
  context.Report(overlap.primitive->implementation(), compute);
  const auto of_bias = context.HasInput(kBias) ? bias.elements<float>() : absl::Span<const float>();
  if (stored == DType::kFloat32) {
    OverlapAdd(overlap, parts.elements<float>(), of_bias, y->mutable_elements<float>());
    return absl::OkStatus();
  }
  AMP_ASSIGN_OR_RETURN(Tensor wide, context.MakeScratch(DType::kFloat32, overlap.y_dims));
  OverlapAdd(overlap, parts.elements<float>(), of_bias, wide.mutable_elements<float>());
  ConvertInto(wide, *y);
  return absl::OkStatus();
}

constexpr KernelRow kRows[] = {
    {.op_type = "ConvTranspose",
     .function = ConvTransposeByOverlap,
     .refusal = WhyNotOverlapAdd,
     .family = "onednn",
     .takes_channels_last = true},
};

}  // namespace

absl::Span<const KernelRow> LibraryOverlapAddKernels() { return kRows; }

}  // namespace amp
