// BatchNormalization as it trains: by the statistics of the batch at hand; the running ones move towards these.
#include <algorithm>
#include <cmath>
#include <vector>

#include "ir/base/status.h"
#include "runtime/forms/norm.h"
#include "runtime/loops/best_loops.h"
#include "runtime/loops/channel_stretches.h"
#include "runtime/loops/families.h"
#include "runtime/loops/float_parts.h"

namespace amp {
namespace {

constexpr int kVersionWithTrainingMode = 14;
constexpr size_t kScale = 1, kBias = 2, kMean = 3, kVariance = 4;  // inputs

Refusal WhyNot(const KernelContext& context) {
  const Tensor& x = context.Input(0);
  if (context.version() < kVersionWithTrainingMode || !ReadBatchNorm(context).trains) {
    return "statistics that are given";
  }
  if (!IsLoopFloat(x.dtype())) return kNoLoopFloat;
  if (x.rank() < 2 || x.num_elements() == 0) return "no channels";
  for (const size_t port : {kScale, kBias, kMean, kVariance}) {
    const Tensor& operand = context.Input(port);
    if (!IsLoopFloat(operand.dtype())) return kNoLoopFloat;
    if (operand.num_elements() != x.dim(1)) return "another number of operands than channels";
  }
  return {};
}

// Output `port`: what input `from` remembers, moved towards `current`.
absl::Status WriteRunning(KernelContext& context, size_t port, size_t from, const std::vector<double>& current) {
  if (!context.HasOutput(port)) return absl::OkStatus();
  const Loops& loops = BestLoops();
  const double momentum = static_cast<double>(ReadBatchNorm(context).momentum);
  std::vector<float> moved = ReadAll(loops, context.Input(from));
  for (size_t c = 0; c < moved.size(); ++c) {
    moved[c] = static_cast<float>(static_cast<double>(moved[c]) * momentum + current[c] * (1 - momentum));
  }
  const Tensor& earlier = context.Input(from);
  AMP_ASSIGN_OR_RETURN(Tensor * next, context.MakeOutput(port, earlier.dtype(), earlier.dims()));
  const FloatSink out(loops, *next);
  ForEachPart(moved.size(), [&](size_t first, size_t count) {
    float buffer[kPartSize];
    std::copy_n(moved.data() + first, count, out.Begin(first, buffer));
    out.End(first, count, buffer);
  });
  return absl::OkStatus();
}

ChannelStretches::Affines Normalizing(const KernelContext& context, const ChannelStretches& stretches,
                                      const ChannelMoments& moments) {
  const std::vector<float> scale = ReadAll(BestLoops(), context.Input(kScale)),
                           bias = ReadAll(BestLoops(), context.Input(kBias));
  const double epsilon = static_cast<double>(ReadBatchNorm(context).epsilon);
  std::vector<double> factor(scale.size()), shift(scale.size());
  for (size_t c = 0; c < scale.size(); ++c) {
    const double off = static_cast<double>(static_cast<float>(moments.mean[c])) - moments.mean[c];  // of loops' centre
    factor[c] = static_cast<double>(scale[c]) / std::sqrt(moments.variance[c] + epsilon);
    shift[c] = static_cast<double>(bias[c]) + off * factor[c];
  }
  return {stretches.Repeat(moments.mean), stretches.Repeat(factor), stretches.Repeat(shift)};
}

absl::Status BatchNormalization(KernelContext& context) {
  const Loops& loops = BestLoops();
  context.Report(loops.name, DType::kFloat32);
  const ChannelMoments moments = MomentsOfChannels(loops, context.Input(0));
  AMP_RETURN_IF_ERROR(WriteRunning(context, 1, kMean, moments.mean));
  AMP_RETURN_IF_ERROR(WriteRunning(context, 2, kVariance, moments.variance));
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutputLike(0, 0));
  const Tensor& x = context.Input(0);
  const ChannelStretches stretches(loops, x);
  const ChannelStretches::Affines affines = Normalizing(context, stretches, moments);
  const FloatSource in(loops, x);
  const FloatSink out(loops, *y);
  stretches.ForEachTogether([&](const ChannelStretches::Stretch& s, float* buffer) {
    stretches.Transform(s, in.Read(s.first, s.count, buffer), out.Begin(s.first, buffer), affines);
    out.End(s.first, s.count, buffer);
  });
  return absl::OkStatus();
}

constexpr KernelRow kRows[] = {{.op_type = "BatchNormalization",
                                .function = BatchNormalization,
                                .refusal = WhyNot,
                                .family = "loops",
                                .takes_channels_last = true}};

}  // namespace

absl::Span<const KernelRow> BatchNormLoopKernels() { return kRows; }

}  // namespace amp
