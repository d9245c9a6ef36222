// Normalizations of shapes [N, C, ...]: by the statistics of a channel over the batch, of a channel of one sample, of a
// group of its channels, of neighbouring channels, or of any axes.
#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "runtime/forms/norm.h"
#include "runtime/kernel/cells.h"
#include "runtime/kernel/shape_math.h"
#include "runtime/reference/families.h"
#include "runtime/reference/float_cells.h"

namespace amp {
namespace {

// [N, features, the rest]. A feature is a channel, or each place in it. A shape [N] has one.
absl::StatusOr<Dims> FeatureDims(const KernelContext& context) {
  const Tensor& x = context.Input(0);
  if (!ReadBatchNorm(context).is_per_channel) {
    if (x.rank() < 1) return ModelError("expected a shape [N, ...], found []");
    const int64_t features = x.num_elements() == 0 ? context.Input(1).num_elements() : x.num_elements() / x.dim(0);
    return Dims{x.dim(0), features, 1};
  }
  if (x.rank() == 1) return Dims{x.dim(0), 1, 1};
  return ChannelDims(x.dims());
}

struct Statistics {
  std::vector<double> mean, variance;  // of every feature
};

Statistics StatisticsOf(const Dims& dims, absl::Span<double> values) {
  const auto features = static_cast<size_t>(dims[1]);
  Statistics found{std::vector<double>(features, NAN), std::vector<double>(features, NAN)};
  TransformCells(dims, {0, 2}, values, [&](size_t feature, absl::Span<double> elements) {
    const Moments moments = MomentsOf(elements);
    found.mean[feature] = moments.mean;
    found.variance[feature] = moments.variance;
  });
  return found;
}

// Outputs 1 and 2: what is remembered of earlier batches, moved towards `current`; before opset 14, `current` as 3, 4.
absl::Status WriteRunningStatistics(KernelContext& context, const Statistics& earlier, const Statistics& current) {
  const double momentum = ReadBatchNorm(context).momentum;
  const auto moved = [momentum](std::vector<double> from, absl::Span<const double> to) {
    for (size_t i = 0; i < from.size(); ++i) from[i] = from[i] * momentum + to[i] * (1 - momentum);
    return from;
  };
  const Tensor& mean = context.Input(3);
  const Tensor& variance = context.Input(4);
  AMP_RETURN_IF_ERROR(WriteOutput(context, 1, mean.dtype(), mean.dims(), moved(earlier.mean, current.mean)));
  AMP_RETURN_IF_ERROR(
      WriteOutput(context, 2, variance.dtype(), variance.dims(), moved(earlier.variance, current.variance)));
  if (context.version() >= 14) return absl::OkStatus();
  AMP_RETURN_IF_ERROR(WriteOutput(context, 3, mean.dtype(), mean.dims(), current.mean));
  return WriteOutput(context, 4, variance.dtype(), variance.dims(), current.variance);
}

absl::Status BatchNormalization(KernelContext& context) {
  const Tensor& x = context.Input(0);
  AMP_ASSIGN_OR_RETURN(const Dims dims, FeatureDims(context));
  const auto features = static_cast<size_t>(dims[1]);
  AMP_ASSIGN_OR_RETURN(std::vector<double> values, ReadFloats(context, 0));
  AMP_ASSIGN_OR_RETURN(const std::vector<double> scale, ReadFloats(context, 1, features));
  AMP_ASSIGN_OR_RETURN(const std::vector<double> bias, ReadFloats(context, 2, features));
  Statistics statistics;
  AMP_ASSIGN_OR_RETURN(statistics.mean, ReadFloats(context, 3, features));
  AMP_ASSIGN_OR_RETURN(statistics.variance, ReadFloats(context, 4, features));
  const BatchNormForm form = ReadBatchNorm(context);
  if (form.trains) {
    const Statistics current = StatisticsOf(dims, absl::MakeSpan(values));
    AMP_RETURN_IF_ERROR(WriteRunningStatistics(context, statistics, current));
    statistics = current;
  }
  const double epsilon = form.epsilon;
  TransformCells(dims, {0, 2}, absl::MakeSpan(values), [&](size_t i, absl::Span<double> elements) {
    const double factor = scale[i] / std::sqrt(statistics.variance[i] + epsilon);
    for (double& element : elements) element = (element - statistics.mean[i]) * factor + bias[i];
  });
  return WriteOutput(context, 0, x.dtype(), x.dims(), values);
}

// A sample of C channels falls into groups, which are normalized, and into stretches that share a scale and a bias.
absl::Status NormalizeGroups(KernelContext& context, int64_t groups, int64_t scales) {
  const Tensor& x = context.Input(0);
  AMP_ASSIGN_OR_RETURN(std::vector<double> values, ReadFloats(context, 0));
  AMP_ASSIGN_OR_RETURN(const std::vector<double> scale, ReadFloats(context, 1, static_cast<size_t>(scales)));
  AMP_ASSIGN_OR_RETURN(const std::vector<double> bias, ReadFloats(context, 2, static_cast<size_t>(scales)));
  if (!values.empty()) {
    const int64_t sample = x.num_elements() / x.dim(0);
    const auto group_count = static_cast<size_t>(groups), per_scale = static_cast<size_t>(sample / scales);
    const double epsilon = ReadGroupNorm(context).epsilon;
    TransformCells({x.dim(0), groups, sample / groups}, {2}, absl::MakeSpan(values),
                   [&](size_t cell, absl::Span<double> elements) {
                     Normalize(elements, epsilon);
                     const size_t first = cell % group_count * elements.size();
                     for (size_t i = 0; i < elements.size(); ++i) {
                       const size_t at = (first + i) / per_scale;
                       elements[i] = elements[i] * scale[at] + bias[at];
                     }
                   });
  }
  return WriteOutput(context, 0, x.dtype(), x.dims(), values);
}

absl::Status InstanceNormalization(KernelContext& context) {
  AMP_ASSIGN_OR_RETURN(const Dims dims, ChannelDims(context.Input(0).dims()));
  return NormalizeGroups(context, dims[1], dims[1]);
}

absl::Status GroupNormalization(KernelContext& context) {
  AMP_ASSIGN_OR_RETURN(const Dims dims, ChannelDims(context.Input(0).dims()));
  const GroupNormForm form = ReadGroupNorm(context);
  if (form.groups < 1 || dims[1] % form.groups != 0) {
    return ModelError("num_groups: expected a divisor of ", dims[1], " channels, found ", form.groups);
  }
  return NormalizeGroups(context, form.groups, form.has_scale_of_group ? form.groups : dims[1]);
}

// Divides every element by a power of the squares in the channels next to it.
absl::Status LocalResponseNormalization(KernelContext& context) {
  const Tensor& x = context.Input(0);
  AMP_ASSIGN_OR_RETURN(const NeighbourNormForm form, ReadNeighbourNorm(context.node()));
  const int64_t size = form.size;
  const double bias = form.bias, beta = form.beta, alpha = form.alpha / static_cast<double>(size);
  AMP_ASSIGN_OR_RETURN(const Dims dims, ChannelDims(x.dims()));
  AMP_ASSIGN_OR_RETURN(std::vector<double> values, ReadFloats(context, 0));
  std::vector<double> squares(values.empty() ? 0 : static_cast<size_t>(dims[1]));
  TransformCells(dims, {1}, absl::MakeSpan(values), [&](size_t, absl::Span<double> channels) {
    const auto count = static_cast<int64_t>(channels.size());
    std::transform(channels.begin(), channels.end(), squares.begin(), [](double element) { return element * element; });
    for (int64_t c = 0; c < count; ++c) {
      const auto first = static_cast<size_t>(std::max(c - (size - 1) / 2, int64_t{0}));
      const auto last = static_cast<size_t>(std::min(c + size / 2, count - 1));
      double sum = 0;
      for (size_t i = first; i <= last; ++i) sum += squares[i];
      channels[static_cast<size_t>(c)] /= std::pow(bias + alpha * sum, beta);
    }
  });
  return WriteOutput(context, 0, x.dtype(), x.dims(), values);
}

absl::Status MeanVarianceNormalization(KernelContext& context) {
  const Tensor& x = context.Input(0);
  AMP_ASSIGN_OR_RETURN(const std::vector<size_t> axes, ReadMomentAxes(context));
  AMP_ASSIGN_OR_RETURN(std::vector<double> values, ReadFloats(context, 0));
  TransformCells(x.dims(), axes, absl::MakeSpan(values), [](size_t, absl::Span<double> elements) {
    const Moments moments = MomentsOf(elements);
    for (double& element : elements)
      element = (element - moments.mean) / (std::sqrt(moments.variance) + kLeastDeviation);
  });
  return WriteOutput(context, 0, x.dtype(), x.dims(), values);
}

constexpr KernelRow kRows[] = {
    {"BatchNormalization", BatchNormalization},
    {"InstanceNormalization", InstanceNormalization},
    {"GroupNormalization", GroupNormalization},
    {"LRN", LocalResponseNormalization},
    {"MeanVarianceNormalization", MeanVarianceNormalization},
};

}  // namespace

absl::Span<const KernelRow> NormKernels() { return kRows; }

}  // namespace amp
