// Norms in training: statistics of channels, and gradients that compute the statistics again.
//
//   n = (x - mean) / deviation     dx = (s - mean (s) - n mean (s n)) / deviation, s = scale * g     dscale = sum (g n)
//
// Channels are few and long: each is cut into parts, a team of threads computes each part, and the results of parts are
// combined in order. Rows of the last axes are many: a team computes each; dscale, down their columns, is summed in
// parts of rows.
#ifndef AMP_RUNTIME_DEVICE_RAW_NORM_GRADIENT_H_
#define AMP_RUNTIME_DEVICE_RAW_NORM_GRADIENT_H_

#include <cmath>
#include <cstdint>

#include "runtime/device/raw/columns.h"
#include "runtime/device/raw/element.h"
#include "runtime/device/raw/kernels.h"

namespace amp::device {

// ---- statistics of channels -----------------------------------------------------------------------------------------

// The elements of channels in [batch, channels, pixels]: each channel has batch * pixels elements, in parts of
// `part_size`; the last part may be smaller.
struct ChannelParts {
  uint32_t channels, pixels, elements;
  uint32_t parts, part_size;

  AMP_BOTH int64_t PlaceOf(uint32_t channel, uint32_t element) const {
    return (static_cast<int64_t>(element / pixels) * channels + channel) * pixels + element % pixels;
  }
  AMP_BOTH uint32_t SizeOf(uint32_t part) const {
    const uint32_t rest = elements - part * part_size;
    return rest < part_size ? rest : part_size;
  }
};

// Computes, as [channels, parts] each, the mean of a part and the sum of its squared deviations from that mean.
struct PartMomentsArguments {
  static constexpr Kernel kKernel = Kernel::kPartMoments;
  const void* x;
  Storage storage;
  ChannelParts parts;
  float *means, *squares;
};

struct PartMomentsBody {
  PartMomentsArguments moments;

  template <typename Team>
  AMP_BOTH void operator()(uint32_t row, Team& team) const {
    const uint32_t channel = row / moments.parts.parts, part = row % moments.parts.parts;
    const uint32_t first = part * moments.parts.part_size, size = moments.parts.SizeOf(part);
    const auto at = [=, this](uint32_t i) {
      return LoadFloat(moments.x, moments.storage, moments.parts.PlaceOf(channel, first + i));
    };
    const float mean = team.Sum(size, at) / static_cast<float>(size);
    const float squares = team.Sum(size, [=](uint32_t i) {
      const float rest = at(i) - mean;
      return rest * rest;
    });
    if (!team.IsFirst()) return;
    moments.means[row] = mean;
    moments.squares[row] = squares;
  }
};

template <typename Runner>
int Start(Runner& runner, const PartMomentsArguments& moments) {
  return runner.ForRows(moments.parts.channels * moments.parts.parts, PartMomentsBody{moments});
}

// A running statistic and its next value: memory * momentum + now * (1 - momentum).
struct RunningStatistic {
  const void* memory;
  void* next;  // null: nobody reads it
  Storage storage;
};

struct JoinMomentsArguments {
  static constexpr Kernel kKernel = Kernel::kJoinMoments;
  const float *means, *squares;  // of parts
  ChannelParts parts;
  float *mean, *variance;  // of channels
  RunningStatistic running_mean, running_variance;
  float momentum;
};

struct JoinMomentsBody {
  JoinMomentsArguments join;

  AMP_BOTH void Remember(const RunningStatistic& running, uint32_t channel, float now) const {
    if (running.next == nullptr) return;
    const float memory = LoadFloat(running.memory, running.storage, channel);
    StoreFloat(running.next, running.storage, channel, memory * join.momentum + now * (1 - join.momentum));
  }

  AMP_BOTH void operator()(uint32_t channel) const {
    float count = 0, mean = 0, squares = 0;
    for (uint32_t part = 0; part < join.parts.parts; ++part) {
      const int64_t at = static_cast<int64_t>(channel) * join.parts.parts + part;
      const auto size = static_cast<float>(join.parts.SizeOf(part));
      const float share = size / (count + size), difference = join.means[at] - mean;
      mean += difference * share;
      squares += join.squares[at] + difference * difference * count * share;
      count += size;
    }
    const float variance = squares / count;
    join.mean[channel] = mean;
    join.variance[channel] = variance;
    Remember(join.running_mean, channel, mean);
    Remember(join.running_variance, channel, variance);
  }
};

template <typename Runner>
int Start(Runner& runner, const JoinMomentsArguments& join) {
  return runner.ForEach(join.parts.channels, JoinMomentsBody{join});
}

// ---- gradients by statistics of channels ----------------------------------------------------------------------------

// Computes, as [channels, parts] each, the sums of g and of g * (x - mean).
struct PartSumsArguments {
  static constexpr Kernel kKernel = Kernel::kPartSums;
  NormOperands of;
  ChannelParts parts;
  const float* mean;  // of channels
  float *sums, *products;
};

struct PartSumsBody {
  PartSumsArguments sum;

  template <typename Team>
  AMP_BOTH void operator()(uint32_t row, Team& team) const {
    const uint32_t channel = row / sum.parts.parts, part = row % sum.parts.parts;
    const uint32_t first = part * sum.parts.part_size, size = sum.parts.SizeOf(part);
    const auto g = [=, this](uint32_t i) {
      return LoadFloat(sum.of.g, sum.of.g_storage, sum.parts.PlaceOf(channel, first + i));
    };
    const float mean = sum.mean[channel];
    const float of_g = team.Sum(size, g);
    const float of_product = team.Sum(size, [=, this](uint32_t i) {
      const int64_t place = sum.parts.PlaceOf(channel, first + i);
      return g(i) * (LoadFloat(sum.of.x, sum.of.x_storage, place) - mean);
    });
    if (!team.IsFirst()) return;
    sum.sums[row] = of_g;
    sum.products[row] = of_product;
  }
};

template <typename Runner>
int Start(Runner& runner, const PartSumsArguments& sum) {
  return runner.ForRows(sum.parts.channels * sum.parts.parts, PartSumsBody{sum});
}

// The coefficients of each channel in dx = of_g * (g - mean_g) + of_x * (x - mean).
struct ChannelCoefficients {
  float *mean_g, *of_g, *of_x;
};

// Combines the parts' sums to coefficients. Channel c uses element c % scales of the scale.
struct JoinSumsArguments {
  static constexpr Kernel kKernel = Kernel::kJoinSums;
  const float *sums, *products;  // of parts
  ChannelParts parts;
  const float* variance;  // of channels
  const void* scale;
  Storage scale_storage;
  uint32_t scales;
  float epsilon;
  ChannelCoefficients coefficients;
  float* normal_sums;  // sum (g n) of each channel
};

struct JoinSumsBody {
  JoinSumsArguments join;

  AMP_BOTH void operator()(uint32_t channel) const {
    float of_g = 0, of_product = 0;
    for (uint32_t part = 0; part < join.parts.parts; ++part) {
      const int64_t at = static_cast<int64_t>(channel) * join.parts.parts + part;
      of_g += join.sums[at];
      of_product += join.products[at];
    }
    const auto count = static_cast<float>(join.parts.elements);
    const float inverse = 1 / sqrtf(join.variance[channel] + join.epsilon), along = of_product * inverse;
    const float factor = LoadFloat(join.scale, join.scale_storage, channel % join.scales) * inverse;
    join.coefficients.mean_g[channel] = of_g / count;
    join.coefficients.of_g[channel] = factor;
    join.coefficients.of_x[channel] = -(factor * inverse * along / count);
    join.normal_sums[channel] = along;
  }
};

template <typename Runner>
int Start(Runner& runner, const JoinSumsArguments& join) {
  return runner.ForEach(join.parts.channels, JoinSumsBody{join});
}

struct ChannelGradientArguments {
  static constexpr Kernel kKernel = Kernel::kChannelGradient;
  NormOperands of;
  uint32_t count, channels, pixels;
  const float* mean;
  ChannelCoefficients coefficients;
  float* dx;
};

struct ChannelGradientBody {
  ChannelGradientArguments norm;
  AMP_BOTH void operator()(uint32_t i) const {
    const uint32_t channel = i / norm.pixels % norm.channels;
    const ChannelCoefficients& by = norm.coefficients;
    const float g = LoadFloat(norm.of.g, norm.of.g_storage, i) - by.mean_g[channel];
    const float x = LoadFloat(norm.of.x, norm.of.x_storage, i) - norm.mean[channel];
    norm.dx[i] = g * by.of_g[channel] + x * by.of_x[channel];
  }
};

template <typename Runner>
int Start(Runner& runner, const ChannelGradientArguments& norm) {
  return runner.ForEach(norm.count, ChannelGradientBody{norm});
}

// ---- gradients by statistics of rows --------------------------------------------------------------------------------

// Rows of `size` elements, with one scale for each element of a row.
struct RowGradientArguments {
  static constexpr Kernel kKernel = Kernel::kRowGradient;
  NormOperands of;
  uint32_t rows, size;
  bool is_centred;  // false: the mean is taken as zero
  float epsilon;
  float* dx;
  float *mean, *inverse_deviation;  // by row
};

struct RowGradientBody {
  RowGradientArguments norm;

  AMP_BOTH float X(uint32_t row, uint32_t i) const {
    return LoadFloat(norm.of.x, norm.of.x_storage, static_cast<int64_t>(row) * norm.size + i);
  }
  AMP_BOTH float Scaled(uint32_t row, uint32_t i) const {
    return LoadFloat(norm.of.g, norm.of.g_storage, static_cast<int64_t>(row) * norm.size + i) *
           LoadFloat(norm.of.scale, norm.of.scale_storage, i);
  }

  template <typename Team>
  AMP_BOTH void operator()(uint32_t row, Team& team) const {
    const uint32_t size = norm.size;
    const auto count = static_cast<float>(size);
    const float mean = norm.is_centred ? team.Sum(size, [=, this](uint32_t i) { return X(row, i); }) / count : 0;
    const float squares = team.Sum(size, [=, this](uint32_t i) {
      const float rest = X(row, i) - mean;
      return rest * rest;
    });
    const float inverse = 1 / sqrtf(squares / count + norm.epsilon);
    const float along =
        team.Sum(size, [=, this](uint32_t i) { return Scaled(row, i) * ((X(row, i) - mean) * inverse); }) / count;
    const float across = norm.is_centred ? team.Sum(size, [=, this](uint32_t i) { return Scaled(row, i); }) / count : 0;
    team.ForEach(size, [=, this](uint32_t i) {
      const float normal = (X(row, i) - mean) * inverse;
      norm.dx[static_cast<int64_t>(row) * size + i] = (Scaled(row, i) - normal * along - across) * inverse;
    });
    if (!team.IsFirst()) return;
    norm.mean[row] = mean;
    norm.inverse_deviation[row] = inverse;
  }
};

template <typename Runner>
int Start(Runner& runner, const RowGradientArguments& norm) {
  return runner.ForRows(norm.rows, RowGradientBody{norm}, norm.size);
}

}  // namespace amp::device

#endif  // AMP_RUNTIME_DEVICE_RAW_NORM_GRADIENT_H_
