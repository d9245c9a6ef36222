#include "runtime/device/channel_moments.h"

#include <algorithm>

#include "ir/base/status.h"
#include "runtime/device/storage.h"

namespace amp {

device::ChannelParts CutChannels(int64_t batch, int64_t channels, int64_t pixels) {
  constexpr int64_t kTeams = 1024, kLeastElements = 1024;  // teams in all; elements of a part
  const int64_t elements = batch * pixels;
  const int64_t most = std::max<int64_t>(elements / kLeastElements, 1);
  const int64_t wanted = std::clamp<int64_t>(kTeams / channels, 1, most);
  const int64_t part_size = (elements + wanted - 1) / wanted;
  return {.channels = static_cast<uint32_t>(channels),
          .pixels = static_cast<uint32_t>(pixels),
          .elements = static_cast<uint32_t>(elements),
          .parts = static_cast<uint32_t>((elements + part_size - 1) / part_size),
          .part_size = static_cast<uint32_t>(part_size)};
}

absl::StatusOr<ChannelMoments> StartMoments(const KernelContext& context, const Tensor& x,
                                            const device::ChannelParts& parts, const RunningMoments& running) {
  ChannelMoments moments;
  AMP_ASSIGN_OR_RETURN(moments.mean, context.MakeScratch(DType::kFloat32, {parts.channels}));
  AMP_ASSIGN_OR_RETURN(moments.variance, context.MakeScratch(DType::kFloat32, {parts.channels}));
  AMP_ASSIGN_OR_RETURN(Tensor means, context.MakeScratch(DType::kFloat32, {parts.channels, parts.parts}));
  AMP_ASSIGN_OR_RETURN(Tensor squares, context.MakeScratch(DType::kFloat32, {parts.channels, parts.parts}));
  Accelerator& device = *context.resources().device;
  device.Start(device::PartMomentsArguments{.x = x.data(),
                                            .storage = StorageOf(x.dtype()),
                                            .parts = parts,
                                            .means = static_cast<float*>(means.mutable_data()),
                                            .squares = static_cast<float*>(squares.mutable_data())});
  device.Start(device::JoinMomentsArguments{.means = static_cast<const float*>(means.data()),
                                            .squares = static_cast<const float*>(squares.data()),
                                            .parts = parts,
                                            .mean = static_cast<float*>(moments.mean.mutable_data()),
                                            .variance = static_cast<float*>(moments.variance.mutable_data()),
                                            .running_mean = running.mean,
                                            .running_variance = running.variance,
                                            .momentum = running.momentum});
  return moments;
}

}  // namespace amp
