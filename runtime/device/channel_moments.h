// Means and variances of the channels of a tensor on a device, by parts of channels that are joined.
//
//   const device::ChannelParts parts = CutChannels(batch, channels, pixels);
//   AMP_ASSIGN_OR_RETURN(const ChannelMoments moments, StartMoments(context, x, parts));
#ifndef AMP_RUNTIME_DEVICE_CHANNEL_MOMENTS_H_
#define AMP_RUNTIME_DEVICE_CHANNEL_MOMENTS_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "runtime/device/raw/norm_gradient.h"
#include "runtime/kernel/kernel.h"

namespace amp {

// Of [batch, channels, pixels]: few channels are cut, so that there is work for all of a device. REQUIRES: none is 0.
device::ChannelParts CutChannels(int64_t batch, int64_t channels, int64_t pixels);

// Float32, by channel, for as long as the kernel runs.
struct ChannelMoments {
  Tensor mean, variance;

  const float* means() const { return static_cast<const float*>(mean.data()); }
  const float* variances() const { return static_cast<const float*>(variance.data()); }
};

// What moves towards the moments.
struct RunningMoments {
  device::RunningStatistic mean = {}, variance = {};
  float momentum = 0;
};

// Of x as [batch, channels, pixels].
absl::StatusOr<ChannelMoments> StartMoments(const KernelContext& context, const Tensor& x,
                                            const device::ChannelParts& parts, const RunningMoments& running = {});

}  // namespace amp

#endif  // AMP_RUNTIME_DEVICE_CHANNEL_MOMENTS_H_
