// The functions of domain ai.amp that combine the training steps of several ranks, between their devices.
// runtime/loops/rank_kernels.cc has those that go through the processor's memory.
//
//   started = StartMeanOverRanks (gradient)      starts the all-reduce
//   mean = MeanOverRanks (started)               waits for it
#include "ir/base/status.h"
#include "runtime/device/accelerator.h"
#include "runtime/device/families.h"

namespace amp {
namespace {

Refusal WhyNot(const KernelContext& context, DType dtype) {
  const Accelerator* const device = context.resources().device;
  if (device == nullptr || !device->HasRanks()) return "the device has no way to the others";
  return context.Input(0).dtype() == dtype ? nullptr : "another type";
}
Refusal WhyNotMean(const KernelContext& context) { return WhyNot(context, DType::kFloat32); }
Refusal WhyNotFlag(const KernelContext& context) { return WhyNot(context, DType::kBool); }

// Returns a copy of the input that this node may change.
absl::StatusOr<Tensor*> OwnCopy(KernelContext& context) {
  const Tensor& given = context.Input(0);
  AMP_ASSIGN_OR_RETURN(Tensor * own, context.MakeOutputLike(0, 0));
  if (own->data() != given.data()) context.resources().device->CopyWithin(given, *own);
  return own;
}

absl::Status StartMeanOverRanks(KernelContext& context) {
  AMP_ASSIGN_OR_RETURN(Tensor * own, OwnCopy(context));
  if (own->num_elements() > 0) context.resources().device->StartAllReduce(*own, device::AllReduce::kMean);
  return absl::OkStatus();
}

absl::Status MeanOverRanks(KernelContext& context) {
  context.resources().device->AwaitAllReduces();
  context.SetOutput(0, context.InputDatum(0));
  return absl::OkStatus();
}

absl::Status TrueOnAllRanks(KernelContext& context) {
  AMP_ASSIGN_OR_RETURN(Tensor * own, OwnCopy(context));
  if (own->num_elements() != 1) return ModelError("expected bool[], found ", context.InputDatum(0).TypeText());
  context.resources().device->StartAllReduce(*own, device::AllReduce::kLeast);
  context.resources().device->AwaitAllReduces();
  return absl::OkStatus();
}

constexpr KernelRow RowOf(absl::string_view name, KernelFunction function, RefusalFunction refusal) {
  return {.op_type = name,
          .function = function,
          .domain = "ai.amp",
          .refusal = refusal,
          .family = "device",
          .host_inputs = {},
          .runs_on_device = true,
          .joins_ranks = true};
}

constexpr KernelRow kRows[] = {RowOf("StartMeanOverRanks", StartMeanOverRanks, WhyNotMean),
                               RowOf("MeanOverRanks", MeanOverRanks, WhyNotMean),
                               RowOf("TrueOnAllRanks", TrueOnAllRanks, WhyNotFlag)};

}  // namespace

absl::Span<const KernelRow> RankDeviceKernels() { return kRows; }

}  // namespace amp
