#include "runtime/loops/channel_stretches.h"

#include <algorithm>

#include "runtime/kernel/parallel_for.h"
#include "runtime/kernel/shape_math.h"
#include "runtime/loops/float_parts.h"

namespace amp {

ChannelStretches::ChannelStretches(const Loops& loops, const Tensor& x)
    : loops_(loops),
      channels_(static_cast<size_t>(x.dim(1))),
      num_elements_(static_cast<size_t>(x.num_elements())),
      pixels_(static_cast<size_t>(ElementsBetween(x.dims(), 2, x.rank()))),
      has_all_channels_(x.layout() == Layout::kChannelsLast || pixels_ == 1) {
  longest_ = has_all_channels_ ? std::max<size_t>(kPartSize / channels_, 1) * channels_ : std::min(pixels_, kPartSize);
}

void ChannelStretches::ForEach(absl::FunctionRef<void(const Stretch&)> visit) const {
  const size_t row = has_all_channels_ ? num_elements_ : pixels_;
  for (size_t start = 0, channel = 0; start < num_elements_; start += row, channel = (channel + 1) % channels_) {
    for (size_t first = 0; first < row; first += longest_) {
      visit({start + first, std::min(longest_, row - first), has_all_channels_ ? 0 : channel});
    }
  }
}

void ChannelStretches::ForEachTogether(absl::FunctionRef<void(const Stretch&, float* buffer)> visit) const {
  const size_t row = has_all_channels_ ? num_elements_ : pixels_, of_row = (row + longest_ - 1) / longest_;
  ParallelFor(num_elements_ / row * of_row, longest_, [&](const Share& share) {
    std::vector<float> buffer(longest_);
    for (size_t i = share.first; i < share.end; ++i) {
      const size_t which = i / of_row, first = i % of_row * longest_;
      visit({which * row + first, std::min(longest_, row - first), has_all_channels_ ? 0 : which % channels_},
            buffer.data());
    }
  });
}

std::vector<float> ChannelStretches::Repeat(absl::Span<const double> of_channels) const {
  std::vector<float> repeated(num_repeated());
  for (size_t i = 0; i < repeated.size(); ++i) repeated[i] = static_cast<float>(of_channels[i % channels_]);
  return repeated;
}

std::vector<double> ChannelStretches::Fold(absl::Span<const double> sums) const {
  std::vector<double> of_channels(channels_, 0.0);
  for (size_t i = 0; i < sums.size(); ++i) of_channels[i % channels_] += sums[i];
  return of_channels;
}

void ChannelStretches::Transform(const Stretch& stretch, const float* x, float* y, const Affines& affines) const {
  const size_t at = stretch.at;
  if (has_all_channels_) {
    loops_.rows.transform_each(x, y, stretch.count, affines.centre.data(), affines.factor.data(), affines.shift.data());
  } else {
    loops_.rows.transform(x, y, stretch.count, {affines.centre[at], affines.factor[at], affines.shift[at]});
  }
}

void ChannelStretches::AddTo(const Stretch& stretch, const float* x, std::vector<double>& sums) const {
  if (has_all_channels_) {
    loops_.rows.add_to(x, sums.data(), stretch.count);
  } else {
    sums[stretch.at] += loops_.rows.sum(x, stretch.count);
  }
}

ChannelMoments MomentsOfChannels(const Loops& loops, const Tensor& x) {
  const ChannelStretches stretches(loops, x);
  const FloatSource in(loops, x);
  std::vector<float> buffer(stretches.longest());
  const auto count = static_cast<double>(stretches.elements_of_channel());
  std::vector<double> sums(stretches.num_repeated(), 0.0), squares = sums;
  stretches.ForEach(
      [&](const ChannelStretches::Stretch& s) { stretches.AddTo(s, in.Read(s.first, s.count, buffer.data()), sums); });
  ChannelMoments moments{.mean = stretches.Fold(sums), .variance = {}};
  for (double& mean : moments.mean) mean /= count;

  // Around a number near the mean, which says how far off it is.
  const std::vector<double> ones(moments.mean.size(), 1.0), zeros(moments.mean.size(), 0.0);
  const ChannelStretches::Affines centred = {stretches.Repeat(moments.mean), stretches.Repeat(ones),
                                             stretches.Repeat(zeros)};
  std::fill(sums.begin(), sums.end(), 0.0);
  stretches.ForEach([&](const ChannelStretches::Stretch& s) {
    stretches.Transform(s, in.Read(s.first, s.count, buffer.data()), buffer.data(), centred);
    stretches.AddTo(s, buffer.data(), sums);
    loops.unary.square(buffer.data(), buffer.data(), s.count, {});
    stretches.AddTo(s, buffer.data(), squares);
  });
  const std::vector<double> off = stretches.Fold(sums);
  moments.variance = stretches.Fold(squares);
  for (size_t c = 0; c < off.size(); ++c) {
    const double mean_off = off[c] / count;
    moments.mean[c] = static_cast<double>(static_cast<float>(moments.mean[c])) + mean_off;
    moments.variance[c] = moments.variance[c] / count - mean_off * mean_off;
  }
  return moments;
}

}  // namespace amp
