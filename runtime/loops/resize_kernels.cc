// Resize and Upsample, linear and cubic, in float32, one axis after another. Each output element is a sum of a few
// weighted ones, whose weights are known before an axis is resampled.
//
//   elements lie apart       y[i, :] = w0 x[e0, :] + w1 x[e1, :]     as many at a time as lie next to each other
//   along the last axis      y[i] = w0 x[e0] + w1 x[e1]              row by row
#include <algorithm>
#include <utility>
#include <vector>

#include "ir/base/status.h"
#include "runtime/forms/resampling.h"
#include "runtime/kernel/layout.h"
#include "runtime/kernel/parallel_for.h"
#include "runtime/kernel/shape_math.h"
#include "runtime/loops/best_loops.h"
#include "runtime/loops/families.h"
#include "runtime/loops/float_parts.h"
#include "runtime/loops/weighted_rows.h"

namespace amp {
namespace {

using Read = absl::StatusOr<Resampling> (*)(const KernelContext&);

template <Read kRead>
Refusal WhyNot(const KernelContext& context) {
  const Tensor& x = context.Input(0);
  if (!IsLoopFloat(x.dtype())) return kNoLoopFloat;
  if (x.num_elements() == 0) return "no elements";
  const absl::StatusOr<Resampling> resampling = kRead(context);
  if (!resampling.ok()) return "what does not fit";
  if (resampling->options.interpolation == Interpolation::kNearest) return "nearest elements, which are only moved";
  if (resampling->options.coordinates == Coordinates::kTfCropAndResize) return "values beyond the input";
  const Dims dims = resampling->OutputDims();
  return std::count(dims.begin(), dims.end(), 0) == 0 ? nullptr : "no elements";
}

// y[:] = the i-th weighted sum of `inner` elements each.
void ResampleBlock(const Loops& loops, const FloatWeights& weights, size_t i, size_t inner, const float* x, float* y) {
  const WeightedElements& sum = weights.sum;
  std::fill_n(y, inner, 0.0f);
  for (size_t k = sum.begin[i]; k < sum.begin[i + 1]; ++k) {
    loops.rows.add_scaled(x + static_cast<size_t>(sum.element[k]) * inner, weights.weight[k], y, inner);
  }
}

// [outer, in, inner] to [outer, out, inner].
void ResampleAxis(const Loops& loops, const FloatWeights& weights, const AxisView& view, size_t out, const float* x,
                  float* y) {
  const size_t row = view.size * view.inner;
  if (view.inner == 1) {
    return ParallelFor(view.outer, out, [&](const Share& share) {
      for (size_t outer = share.first; outer < share.end; ++outer) {
        weights.OfRow(x + outer * row, y + outer * out);
      }
    });
  }
  ParallelFor(view.outer * out, view.inner, [&](const Share& share) {
    for (size_t i = share.first; i < share.end; ++i) {
      ResampleBlock(loops, weights, i % out, view.inner, x + i / out * row, y + i * view.inner);
    }
  });
}

// The tensor between two axes.
struct Stage {
  Tensor elements;  // float32, row by row
  Dims dims;
};

absl::StatusOr<Stage> ResampleAll(const KernelContext& context, const Resampling& resampling, Stage stage) {
  const Loops& loops = BestLoops();
  for (const size_t at : resampling.BestOrder()) {
    const ResampledAxis& axis = resampling.axes[at];
    const std::vector<double> positions = SourcePositions(axis, resampling.options);
    if (IsIdentity(axis, positions)) continue;
    const FloatWeights weights(InterpolationWeights(axis, positions, resampling.options));
    const AxisView view(stage.dims, at);
    Stage next{.elements = {}, .dims = stage.dims};
    next.dims[at] = axis.out;
    AMP_ASSIGN_OR_RETURN(next.elements, context.MakeScratch(DType::kFloat32, next.dims));
    ResampleAxis(loops, weights, view, static_cast<size_t>(axis.out), stage.elements.elements<float>().data(),
                 next.elements.mutable_elements<float>().data());
    stage = std::move(next);
  }
  return stage;
}

template <Read kRead>
absl::Status Resize(KernelContext& context) {
  const Loops& loops = BestLoops();
  context.Report(loops.name, DType::kFloat32);
  AMP_ASSIGN_OR_RETURN(const Resampling stated, kRead(context));
  const Layout layout = context.Input(0).layout();
  const Tensor x = AsInMemory(context.Input(0));
  AMP_ASSIGN_OR_RETURN(const Tensor wide, Widened(context, x));
  AMP_ASSIGN_OR_RETURN(const Stage result, ResampleAll(context, stated.InMemory(layout), {wide, x.dims()}));
  if (x.dtype() == DType::kFloat32) {
    context.SetOutput(0, FromMemory(result.elements, layout));
    return absl::OkStatus();
  }
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutput(0, x.dtype(), stated.OutputDims()));
  y->set_layout(layout);
  const auto elements = result.elements.elements<float>();
  FloatSink(loops, *y).End(0, elements.size(), elements.data());
  return absl::OkStatus();
}

constexpr KernelRow kRows[] = {
    {.op_type = "Resize",
     .function = Resize<ReadResize>,
     .refusal = WhyNot<ReadResize>,
     .family = "loops",
     .takes_channels_last = true},
    {.op_type = "Upsample",
     .function = Resize<ReadUpsample>,
     .refusal = WhyNot<ReadUpsample>,
     .family = "loops",
     .takes_channels_last = true},
};

}  // namespace

absl::Span<const KernelRow> ResizeLoopKernels() { return kRows; }

}  // namespace amp
