// BatchNormalization in training mode on a device: it normalises by the statistics of the present batch, and moves the
// running statistics towards them.
#include "ir/base/status.h"
#include "runtime/device/channel_moments.h"
#include "runtime/device/families.h"
#include "runtime/device/raw/rows.h"
#include "runtime/device/storage.h"
#include "runtime/forms/norm.h"
#include "runtime/kernel/shape_math.h"

namespace amp {
namespace {

constexpr int kVersionWithTrainingMode = 14;
constexpr size_t kScale = 1, kBias = 2, kMean = 3, kVariance = 4;  // inputs

Refusal WhyNot(const KernelContext& context) {
  const Tensor& x = context.Input(0);
  if (context.version() < kVersionWithTrainingMode || !ReadBatchNorm(context).trains) {
    return "statistics that are given";
  }
  if (!IsDeviceFloat(x.dtype())) return kNoDeviceFloat;
  if (x.rank() < 2 || x.num_elements() == 0) return "no channels";
  for (const size_t port : {kScale, kBias, kMean, kVariance}) {
    const Tensor& operand = context.Input(port);
    if (!IsDeviceFloat(operand.dtype())) return kNoDeviceFloat;
    if (operand.num_elements() != x.dim(1)) return "another number of operands than channels";
  }
  return {};
}

// Returns the running statistic that is read from input `from` and written to output `port`.
absl::StatusOr<device::RunningStatistic> MakeRunning(KernelContext& context, size_t port, size_t from) {
  if (!context.HasOutput(port)) return device::RunningStatistic{};
  const Tensor& memory = context.Input(from);
  AMP_ASSIGN_OR_RETURN(Tensor * next, context.MakeOutput(port, memory.dtype(), memory.dims()));
  return device::RunningStatistic{
      .memory = memory.data(), .next = next->mutable_data(), .storage = StorageOf(memory.dtype())};
}

absl::Status BatchNormalization(KernelContext& context) {
  context.Report("normalize by the batch", DType::kFloat32);
  const Tensor& x = context.Input(0);
  RunningMoments running = {.momentum = ReadBatchNorm(context).momentum};
  AMP_ASSIGN_OR_RETURN(running.mean, MakeRunning(context, 1, kMean));
  AMP_ASSIGN_OR_RETURN(running.variance, MakeRunning(context, 2, kVariance));
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutput(0, x.dtype(), x.dims()));
  const int64_t pixels = ElementsBetween(x.dims(), 2, x.rank());
  AMP_ASSIGN_OR_RETURN(const ChannelMoments moments,
                       StartMoments(context, x, CutChannels(x.dim(0), x.dim(1), pixels), running));
  context.resources().device->Start(
      device::NormalizeChannelsArguments{.x = x.data(),
                                         .scale = context.Input(kScale).data(),
                                         .bias = context.Input(kBias).data(),
                                         .mean = moments.mean.data(),
                                         .variance = moments.variance.data(),
                                         .y = y->mutable_data(),
                                         .storage = StorageOf(x.dtype()),
                                         .scale_storage = StorageOf(context.Input(kScale).dtype()),
                                         .bias_storage = StorageOf(context.Input(kBias).dtype()),
                                         .mean_storage = device::Storage::kFloat32,
                                         .variance_storage = device::Storage::kFloat32,
                                         .count = CountOf(x),
                                         .channels = static_cast<uint32_t>(x.dim(1)),
                                         .pixels = static_cast<uint32_t>(pixels),
                                         .epsilon = ReadBatchNorm(context).epsilon});
  return absl::OkStatus();
}

constexpr KernelRow kRows[] = {DeviceRow("BatchNormalization", BatchNormalization, WhyNot)};

}  // namespace

absl::Span<const KernelRow> BatchNormDeviceKernels() { return kRows; }

}  // namespace amp
