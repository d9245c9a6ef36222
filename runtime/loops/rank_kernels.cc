// The functions of domain ai.amp that make one step of the steps of several ranks. In a run of one they give what they
// are given, as their bodies do (passes/train/mean_over_ranks.h).
//
//   started = StartMeanOverRanks (gradient)      sent off; the gradient itself, meanwhile
//   mean = MeanOverRanks (started)               what all ranks have
#include <algorithm>

#include "ir/base/status.h"
#include "runtime/loops/families.h"
#include "runtime/parallel/means_over_ranks.h"

namespace amp {
namespace {

constexpr absl::string_view kDomain = "ai.amp";

absl::Status CheckFloats(const KernelContext& context) {
  if (context.Input(0).dtype() == DType::kFloat32) return absl::OkStatus();
  return ModelError("expected float32, found ", context.InputDatum(0).TypeText());
}

// The two calls know each other by the value between them.
int64_t KeyOf(ValueId started) { return static_cast<int64_t>(started.index()); }

absl::Status StartMeanOverRanks(KernelContext& context) {
  AMP_RETURN_IF_ERROR(CheckFloats(context));
  if (MeansOverRanks* const means = context.resources().means; means != nullptr) {
    means->Start(KeyOf(context.node().Output(0)), context.Input(0).elements<float>());
  }
  context.SetOutput(0, context.InputDatum(0));
  return absl::OkStatus();
}

absl::Status MeanOverRanks(KernelContext& context) {
  AMP_RETURN_IF_ERROR(CheckFloats(context));
  MeansOverRanks* const means = context.resources().means;
  if (means == nullptr) {
    context.SetOutput(0, context.InputDatum(0));
    return absl::OkStatus();
  }
  AMP_ASSIGN_OR_RETURN(Tensor * mean, context.MakeOutputLike(0, 0));
  return means->Take(KeyOf(context.node().Input(0)), mean->mutable_elements<float>());
}

absl::Status TrueOnAllRanks(KernelContext& context) {
  const Tensor& own = context.Input(0);
  if (own.dtype() != DType::kBool || own.num_elements() != 1) {
    return ModelError("expected bool[], found ", context.InputDatum(0).TypeText());
  }
  MeansOverRanks* const means = context.resources().means;
  if (means == nullptr) {
    context.SetOutput(0, context.InputDatum(0));
    return absl::OkStatus();
  }
  AMP_ASSIGN_OR_RETURN(const auto flags, means->ranks().Gather(own.bytes()));
  AMP_ASSIGN_OR_RETURN(Tensor * all, context.MakeOutput(0, DType::kBool, own.dims()));
  all->mutable_elements<bool>()[0] = std::all_of(
      flags.begin(), flags.end(), [](const auto& flag) { return flag.size() == 1 && flag[0] != std::byte{0}; });
  return absl::OkStatus();
}

constexpr KernelRow kRows[] = {
    {.op_type = "StartMeanOverRanks",
     .function = StartMeanOverRanks,
     .domain = kDomain,
     .family = "loops",
     .joins_ranks = true},
    {.op_type = "MeanOverRanks", .function = MeanOverRanks, .domain = kDomain, .family = "loops", .joins_ranks = true},
    {.op_type = "TrueOnAllRanks",
     .function = TrueOnAllRanks,
     .domain = kDomain,
     .family = "loops",
     .joins_ranks = true},
};

}  // namespace

absl::Span<const KernelRow> RankKernels() { return kRows; }

}  // namespace amp
