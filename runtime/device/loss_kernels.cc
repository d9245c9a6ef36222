// Cross-entropies of training and their gradients on a device, as functions of domain ai.amp.
//
//   loss = ai.amp.SparseSoftmaxCrossEntropy (logits [..., C], labels [...])        the mean of -log_p[label]
//   d = ai.amp.SparseSoftmaxCrossEntropyGradient (logits, labels, g)               (p - one_hot) g / rows
//
// The functions without "Sparse" take targets [..., C] instead of labels. Labels are not checked in advance: a label
// that is no class makes the loss, or its row of the gradient, NaN.
#include "ir/base/status.h"
#include "runtime/device/families.h"
#include "runtime/device/raw/loss.h"
#include "runtime/device/raw/rows.h"
#include "runtime/device/split_rows.h"
#include "runtime/device/storage.h"
#include "runtime/kernel/move_elements.h"
#include "runtime/kernel/shape_math.h"

namespace amp {
namespace {

constexpr size_t kLogits = 0, kWanted = 1, kG = 2;

enum class Wanted { kLabels, kTargets };

template <Wanted kKind>
Refusal WhyNotLoss(const KernelContext& context) {
  const Tensor &logits = context.Input(kLogits), &wanted = context.Input(kWanted);
  if (!IsDeviceFloat(logits.dtype())) return kNoDeviceFloat;
  if (logits.rank() == 0 || logits.dims().back() == 0) return "no classes";
  Dims dims = logits.dims();
  if (kKind == Wanted::kLabels) dims.pop_back();
  if (wanted.dims() != dims) return "labels or targets of another shape";
  const device::Storage storage = StorageOf(wanted.dtype());
  if (kKind == Wanted::kTargets) return device::IsFloat(storage) ? nullptr : kNoDeviceFloat;
  const bool is_known = storage != device::Storage::kOther && storage != device::Storage::kBool;
  return is_known ? nullptr : "labels of a type that is not read there";
}

template <Wanted kKind>
Refusal WhyNotGradient(const KernelContext& context) {
  if (const Refusal refusal = WhyNotLoss<kKind>(context)) return refusal;
  const Tensor& g = context.Input(kG);
  return IsDeviceFloat(g.dtype()) && g.num_elements() == 1 ? nullptr : "a gradient of the loss that is no number";
}

device::Classification Read(const KernelContext& context, Wanted kind) {
  const Tensor &logits = context.Input(kLogits), &wanted = context.Input(kWanted);
  const int64_t classes = logits.dims().back();
  return {.logits = logits.data(),
          .wanted = wanted.data(),
          .logits_storage = StorageOf(logits.dtype()),
          .wanted_storage = StorageOf(wanted.dtype()),
          .rows = static_cast<uint32_t>(logits.num_elements() / classes),
          .classes = static_cast<uint32_t>(classes),
          .has_labels = kind == Wanted::kLabels};
}

template <Wanted kKind>
absl::Status CrossEntropy(KernelContext& context) {
  context.Report("cross-entropy", DType::kFloat32);
  const device::Classification of = Read(context, kKind);
  AMP_ASSIGN_OR_RETURN(Tensor * loss, context.MakeOutput(0, DType::kFloat32, {}));
  if (of.rows == 0) {
    FillWithZero(*loss);
    return absl::OkStatus();
  }
  AMP_ASSIGN_OR_RETURN(Tensor losses, context.MakeScratch(DType::kFloat32, {of.rows}));
  Accelerator& device = *context.resources().device;
  device.Start(device::CrossEntropyArguments{.of = of, .losses = static_cast<float*>(losses.mutable_data())});
  return StartRows(context, device::ReduceArguments{.x = losses.data(),
                                                    .y = loss->mutable_data(),
                                                    .storage = device::Storage::kFloat32,
                                                    .stored_as = device::Storage::kFloat32,
                                                    .reduction = device::Reduction::kSum,
                                                    .scale = 1 / static_cast<float>(of.rows),
                                                    .results = 1,
                                                    .count = of.rows,
                                                    .kept = {},
                                                    .reduced = ShapeOf<1>({{of.rows}, {{1}}})});
}

template <Wanted kKind>
absl::Status CrossEntropyGradient(KernelContext& context) {
  context.Report("cross-entropy", DType::kFloat32);
  const Tensor& g = context.Input(kG);
  AMP_ASSIGN_OR_RETURN(Tensor * gradient, context.MakeOutput(0, DType::kFloat32, context.Input(kLogits).dims()));
  context.resources().device->Start(
      device::CrossEntropyGradientArguments{.of = Read(context, kKind),
                                            .g = g.data(),
                                            .g_storage = StorageOf(g.dtype()),
                                            .gradient = static_cast<float*>(gradient->mutable_data())});
  return absl::OkStatus();
}

constexpr KernelRow RowOf(absl::string_view name, KernelFunction function, RefusalFunction refusal) {
  return DeviceRow(name, function, refusal, {}, "ai.amp");
}

constexpr KernelRow kRows[] = {
    RowOf("SparseSoftmaxCrossEntropy", CrossEntropy<Wanted::kLabels>, WhyNotLoss<Wanted::kLabels>),
    RowOf("SparseSoftmaxCrossEntropyGradient", CrossEntropyGradient<Wanted::kLabels>, WhyNotGradient<Wanted::kLabels>),
    RowOf("SoftmaxCrossEntropy", CrossEntropy<Wanted::kTargets>, WhyNotLoss<Wanted::kTargets>),
    RowOf("SoftmaxCrossEntropyGradient", CrossEntropyGradient<Wanted::kTargets>, WhyNotGradient<Wanted::kTargets>),
};

}  // namespace

absl::Span<const KernelRow> LossDeviceKernels() { return kRows; }

}  // namespace amp
