#include "runtime/forms/dropout.h"

#include "ir/base/status.h"
#include "runtime/kernel/tensor.h"

namespace amp {
namespace {

constexpr int kFirstWithoutIsTest = 7, kFirstWithBoolMask = 10, kFirstWithInputs = 12;
constexpr size_t kX = 0, kRatio = 1, kTrainingMode = 2;  // inputs

absl::StatusOr<bool> ReadTrainingMode(const KernelContext& context) {
  if (!context.HasInput(kTrainingMode)) return false;
  const Tensor& training = context.Input(kTrainingMode);
  if (training.dtype() != DType::kBool || training.num_elements() != 1) {
    return ModelError("expected a training_mode bool[], found ", training.TypeText());
  }
  return training.elements<bool>()[0];
}

absl::Status ReadRatio(const Tensor& ratio, double& value) {
  const auto read = [&]<typename T>(TypeTag<T>) { value = ToDouble(ratio.elements<T>()[0]); };
  const bool is_one = ratio.num_elements() == 1;
  if (is_one && (VisitNumbers(ratio.dtype(), read) || VisitTinyTypes(ratio.dtype(), read))) return absl::OkStatus();
  return ModelError("expected one number as ratio, found ", ratio.TypeText());
}

}  // namespace

absl::StatusOr<DropoutForm> ReadDropout(const KernelContext& context) {
  DropoutForm form;
  if (context.version() < kFirstWithInputs) {
    form.ratio = GetFloat(context.node(), "ratio", 0.5f);
    form.drops = context.version() < kFirstWithoutIsTest && GetInt(context.node(), "is_test", 0) == 0;
  } else {
    AMP_ASSIGN_OR_RETURN(form.drops, ReadTrainingMode(context));
    if (form.drops && context.HasInput(kRatio)) AMP_RETURN_IF_ERROR(ReadRatio(context.Input(kRatio), form.ratio));
  }
  if (form.drops && !(form.ratio >= 0 && form.ratio < 1)) {
    return ModelError("expected a ratio in [0, 1), found ", form.ratio);
  }
  if (form.ratio == 0) form.drops = false;
  return form;
}

DType ReadDropoutMaskType(const KernelContext& context) {
  return context.version() < kFirstWithBoolMask ? context.Input(kX).dtype() : DType::kBool;
}

}  // namespace amp
