// Normalizations of [N, C, ...], by statistics that are given, of a channel of one sample, or of a group of channels.
#include <algorithm>
#include <cmath>
#include <vector>

#include "ir/base/status.h"
#include "runtime/forms/norm.h"
#include "runtime/kernel/shape_math.h"
#include "runtime/loops/best_loops.h"
#include "runtime/loops/families.h"
#include "runtime/loops/float_parts.h"
#include "runtime/loops/moments.h"
#include "runtime/loops/normalize.h"

namespace amp {
namespace {

// x [N, C, ...], and inputs [1, last], where they are there, with as many elements as channels, of float32, float16 or
// bfloat16.
Refusal WhyNotChannels(const KernelContext& context, size_t last) {
  const Tensor& x = context.Input(0);
  if (!IsLoopFloat(x.dtype())) return kNoLoopFloat;
  if (x.rank() < 2 || x.num_elements() == 0) return "no channels";
  for (size_t port = 1; port <= last; ++port) {
    if (!context.HasInput(port)) continue;
    const Tensor& operand = context.Input(port);
    if (!IsLoopFloat(operand.dtype())) return kNoLoopFloat;
    if (operand.num_elements() != x.dim(1)) return "another number of operands than channels";
  }
  return {};
}

// ---- by statistics that are given -----------------------------------------------------------------------------------

Refusal WhyNotBatch(const KernelContext& context) {
  const bool has_statistics =
      context.HasOutput(1) || context.HasOutput(2) || context.HasOutput(3) || context.HasOutput(4);
  const BatchNormForm form = ReadBatchNorm(context);
  if (form.trains || has_statistics) return "training";
  if (!form.is_per_channel) return "statistics for each place";
  return WhyNotChannels(context, 4);
}

// y = (x - centre) * factor + shift, with numbers for each channel.
struct ChannelAffine {
  std::vector<float> centre, factor, shift;
};

ChannelAffine ReadChannels(const KernelContext& context) {
  const Loops& loops = BestLoops();
  ChannelAffine affine = {.centre = ReadAll(loops, context.Input(3)),
                          .factor = ReadAll(loops, context.Input(1)),
                          .shift = ReadAll(loops, context.Input(2))};
  const std::vector<float> variance = ReadAll(loops, context.Input(4));
  const auto epsilon = static_cast<double>(ReadBatchNorm(context).epsilon);
  for (size_t i = 0; i < variance.size(); ++i) {
    const double deviation = std::sqrt(static_cast<double>(variance[i]) + epsilon);
    affine.factor[i] = static_cast<float>(static_cast<double>(affine.factor[i]) / deviation);
  }
  return affine;
}

absl::Status BatchNormalization(KernelContext& context) {
  const Loops& loops = BestLoops();
  context.Report(loops.name, DType::kFloat32);
  const ChannelAffine affine = ReadChannels(context);
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutputLike(0, 0));
  const Tensor& x = context.Input(0);
  const bool channels_last = x.layout() == Layout::kChannelsLast;
  const size_t channels = affine.centre.size();
  const auto pixels = static_cast<size_t>(ElementsBetween(x.dims(), 2, x.rank()));
  const size_t row = channels_last ? channels : pixels;
  const size_t rows = static_cast<size_t>(x.num_elements()) / row;
  const FloatSource in(loops, x);
  const FloatSink out(loops, *y);
  ParallelFor(rows, row, [&](const Share& share) {
    float buffer[kPartSize];
    for (size_t i = share.first; i < share.end; ++i) {
      const size_t c = i % channels;
      ForEachPart(row, [&](size_t first, size_t count) {
        const float* const from = in.Read(i * row + first, count, buffer);
        float* const to = out.Begin(i * row + first, buffer);
        if (channels_last) {
          loops.rows.transform_each(from, to, count, affine.centre.data() + first, affine.factor.data() + first,
                                    affine.shift.data() + first);
        } else {
          loops.rows.transform(from, to, count, {affine.centre[c], affine.factor[c], affine.shift[c]});
        }
        out.End(i * row + first, count, buffer);
      });
    }
  });
  return absl::OkStatus();
}

// ---- by groups of channels ------------------------------------------------------------------------------------------

Refusal WhyNotOperator(const KernelContext& context) {
  const GroupNormForm form = ReadGroupNorm(context);
  return form.has_scale_of_group ? "a scale for each group" : WhyNotGroups(context, form.groups);
}

// Normalizes one group and scales its channels.
struct GroupScales {
  absl::Span<const float> scale, bias;  // of its channels
  double epsilon;
};
void NormalizeGroup(const Loops& loops, absl::Span<const float> in, float* out, const GroupScales& scales) {
  const Affine common = Normalizing(MomentsOf(loops, in, Centre::kMean), scales.epsilon);
  const size_t pixels = in.size() / scales.scale.size();
  for (size_t c = 0; c < scales.scale.size(); ++c) {
    const float scale = scales.scale[c];
    loops.rows.transform(in.data() + c * pixels, out + c * pixels, pixels,
                         {common.centre, common.factor * scale, common.shift * scale + scales.bias[c]});
  }
}

absl::Status Normalization(KernelContext& context) {
  const GroupNormForm form = ReadGroupNorm(context);
  return NormalizeGroups(
      context,
      {.groups = form.groups, .epsilon = static_cast<double>(form.epsilon), .stored_as = context.Input(0).dtype()});
}

// ---- by channels of all samples -------------------------------------------------------------------------------------

Refusal WhyNotMeanVariance(const KernelContext& context) {
  const Tensor& x = context.Input(0);
  if (!IsLoopFloat(x.dtype())) return kNoLoopFloat;
  if (x.rank() < 3 || x.num_elements() == 0) return "no images";
  const absl::StatusOr<std::vector<size_t>> axes = ReadMomentAxes(context);
  const bool is_of_channels = axes.ok() && axes->size() == x.rank() - 1 && axes->front() == 0 && (*axes)[1] == 2;
  return is_of_channels ? nullptr : "other axes than all but the channels";
}

// Moments of planes that lie apart: around a number near the mean, which says how far off it is.
Affine NormalizingPlanes(const Loops& loops, absl::Span<const float* const> planes, size_t size) {
  const double count = static_cast<double>(size) * static_cast<double>(planes.size());
  double sum = 0, off = 0, squares = 0;
  for (const float* const plane : planes) sum += loops.rows.sum(plane, size);
  const auto near_mean = static_cast<float>(sum / count);
  for (const float* const plane : planes) {
    const Deviations deviations = loops.rows.deviations(plane, size, near_mean);
    off += deviations.sum / count;
    squares += deviations.squares / count;
  }
  const double factor = 1 / (std::sqrt(std::max(squares - off * off, 0.0)) + kLeastDeviation);
  return {.centre = near_mean, .factor = static_cast<float>(factor), .shift = static_cast<float>(-off * factor)};
}

absl::Status MeanVarianceNormalization(KernelContext& context) {
  const Loops& loops = BestLoops();
  context.Report(loops.name, DType::kFloat32);
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutputLike(0, 0));
  const Tensor& x = context.Input(0);
  const auto samples = static_cast<size_t>(x.dim(0)), channels = static_cast<size_t>(x.dim(1));
  const auto size = static_cast<size_t>(ElementsBetween(x.dims(), 2, x.rank()));
  const FloatSource in(loops, x);
  const FloatSink out(loops, *y);
  const size_t all = samples * size;
  const auto buffers = static_cast<int64_t>(NumShares(channels, all) * all);
  AMP_ASSIGN_OR_RETURN(Tensor scratch, context.MakeScratch(DType::kFloat32, {buffers}));
  ParallelFor(channels, all, [&](const Share& share) {
    float* const buffer = scratch.mutable_elements<float>().data() + share.index * all;
    std::vector<const float*> planes(samples);
    for (size_t c = share.first; c < share.end; ++c) {
      for (size_t n = 0; n < samples; ++n) planes[n] = in.Read((n * channels + c) * size, size, buffer + n * size);
      const Affine affine = NormalizingPlanes(loops, planes, size);
      for (size_t n = 0; n < samples; ++n) {
        const size_t first = (n * channels + c) * size;
        loops.rows.transform(planes[n], out.Begin(first, buffer + n * size), size, affine);
        out.End(first, size, buffer + n * size);
      }
    }
  });
  return absl::OkStatus();
}

// Numbers for each channel; `otherwise` where there are none.
std::vector<float> ReadScales(const KernelContext& context, size_t port, float otherwise) {
  if (context.HasInput(port)) return ReadAll(BestLoops(), context.Input(port));
  return std::vector<float>(static_cast<size_t>(context.Input(0).dim(1)), otherwise);
}

constexpr KernelRow kRows[] = {
    {.op_type = "BatchNormalization",
     .function = BatchNormalization,
     .refusal = WhyNotBatch,
     .family = "loops",
     .takes_channels_last = true},
    {.op_type = "InstanceNormalization", .function = Normalization, .refusal = WhyNotOperator, .family = "loops"},
    {.op_type = "GroupNormalization", .function = Normalization, .refusal = WhyNotOperator, .family = "loops"},
    {.op_type = "MeanVarianceNormalization",
     .function = MeanVarianceNormalization,
     .refusal = WhyNotMeanVariance,
     .family = "loops"},
};

}  // namespace

Refusal WhyNotGroups(const KernelContext& context, int64_t groups) {
  const Tensor& x = context.Input(0);
  if (groups < 1 || x.rank() < 2 || x.dim(1) % groups != 0) return "groups that do not fit";
  return WhyNotChannels(context, 2);
}

absl::Status NormalizeGroups(KernelContext& context, const GroupNorm& norm) {
  const Loops& loops = BestLoops();
  context.Report(loops.name, DType::kFloat32);
  const auto channels = static_cast<size_t>(context.Input(0).dim(1));
  const auto groups = static_cast<size_t>(norm.groups);
  const size_t per_group = channels / groups;
  const std::vector<float> scale = ReadScales(context, 1, 1), bias = ReadScales(context, 2, 0);
  AMP_ASSIGN_OR_RETURN(Tensor * y, MakeNormOutput(context, norm.stored_as));
  const Tensor& x = context.Input(0);
  const size_t rows = static_cast<size_t>(x.dim(0)) * groups, size = static_cast<size_t>(x.num_elements()) / rows;
  const auto buffers = static_cast<int64_t>(NumShares(rows, size) * size);
  AMP_ASSIGN_OR_RETURN(Tensor scratch, context.MakeScratch(DType::kFloat32, {buffers}));
  const FloatSource in(loops, x);
  const FloatSink out(loops, *y);
  ParallelFor(rows, size, [&](const Share& share) {
    float* const buffer = scratch.mutable_elements<float>().data() + share.index * size;
    for (size_t row = share.first; row < share.end; ++row) {
      const size_t first = row % groups * per_group;
      NormalizeGroup(loops, {in.Read(row * size, size, buffer), size}, out.Begin(row * size, buffer),
                     {.scale = absl::MakeConstSpan(scale).subspan(first, per_group),
                      .bias = absl::MakeConstSpan(bias).subspan(first, per_group),
                      .epsilon = norm.epsilon});
      out.End(row * size, size, buffer);
    }
  });
  return absl::OkStatus();
}

absl::Span<const KernelRow> NormLoopKernels() { return kRows; }

}  // namespace amp
