// Computes means and variances of a tensor's channels on a device, in parts of channels that are then combined.
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

// Cuts [batch, channels, pixels] into parts. Few channels are cut into many parts, to keep the whole device busy.
// REQUIRES: no dimension is 0.
device::ChannelParts CutChannels(int64_t batch, int64_t channels, int64_t pixels);

// Moments by channel in float32, in scratch memory that lives as long as the kernel runs.
struct ChannelMoments {
  Tensor mean, variance;

  const float* means() const { return static_cast<const float*>(mean.data()); }
  const float* variances() const { return static_cast<const float*>(variance.data()); }
};

// Running statistics that move towards the moments.
struct RunningMoments {
  device::RunningStatistic mean = {}, variance = {};
  float momentum = 0;
};

// Computes the moments of x, read as [batch, channels, pixels].
absl::StatusOr<ChannelMoments> StartMoments(const KernelContext& context, const Tensor& x,
                                            const device::ChannelParts& parts, const RunningMoments& running = {});

}  // namespace amp

#endif  // AMP_RUNTIME_DEVICE_CHANNEL_MOMENTS_H_
