// GridSample, linear and cubic, in float32. The elements that a point is made of are found once for all channels.
#include <algorithm>
#include <vector>

#include "ir/base/status.h"
#include "runtime/forms/grid_sample.h"
#include "runtime/kernel/parallel_for.h"
#include "runtime/loops/best_loops.h"
#include "runtime/loops/families.h"
#include "runtime/loops/float_parts.h"
#include "runtime/loops/weighted_rows.h"

namespace amp {
namespace {

Refusal WhyNot(const KernelContext& context) {
  if (!IsLoopFloat(context.Input(0).dtype()) || !IsLoopFloat(context.Input(1).dtype())) return kNoLoopFloat;
  const absl::StatusOr<GridSampleForm> form = ReadGridSample(context);
  if (!form.ok()) return "what does not fit";
  if (form->num_points == 0) return "no elements";
  return form->interpolation == Interpolation::kNearest ? "nearest elements, which are only moved" : nullptr;
}

// Points [first, first + count) of one sample, whose numbers in the grid begin at `at`.
FloatWeights WeightsOf(const GridSampleForm& form, const FloatSource& grid, size_t at, size_t count) {
  std::vector<float> buffer(count * form.image.size());
  const float* const points = grid.Read(at, buffer.size(), buffer.data());
  return FloatWeights(ElementsOfPoints(form, std::vector<double>(points, points + buffer.size())));
}

absl::Status GridSample(KernelContext& context) {
  const Loops& loops = BestLoops();
  context.Report(loops.name, DType::kFloat32);
  AMP_ASSIGN_OR_RETURN(const GridSampleForm form, ReadGridSample(context));
  AMP_ASSIGN_OR_RETURN(const Tensor x, Widened(context, context.Input(0)));
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutput(0, context.Input(0).dtype(), form.dims));
  const FloatSource grid(loops, context.Input(1));
  const FloatSink out(loops, *y);
  const float* const images = x.elements<float>().data();
  const size_t at_once = PointsAtOnce(form), blocks = (form.num_points + at_once - 1) / at_once;
  ParallelFor(form.batch * blocks, at_once * form.channels, [&](const Share& share) {
    std::vector<float> buffer(at_once);
    for (size_t block = share.first; block < share.end; ++block) {
      const size_t sample = block / blocks, first = block % blocks * at_once;
      const size_t count = std::min(at_once, form.num_points - first);
      const FloatWeights weights = WeightsOf(form, grid, (sample * form.num_points + first) * form.image.size(), count);
      for (size_t c = sample * form.channels; c < (sample + 1) * form.channels; ++c) {
        const size_t to = c * form.num_points + first;
        weights.OfRow(images + c * form.image_size, out.Begin(to, buffer.data()));
        out.End(to, count, buffer.data());
      }
    }
  });
  return absl::OkStatus();
}

constexpr KernelRow kRows[] = {{.op_type = "GridSample", .function = GridSample, .refusal = WhyNot, .family = "loops"}};

}  // namespace

absl::Span<const KernelRow> GridSampleLoopKernels() { return kRows; }

}  // namespace amp
