#include "runtime/device/library_attention_kernels.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "ir/base/status.h"
#include "runtime/device/raw/library_operations.h"
#include "runtime/device/storage.h"
#include "runtime/kernel/fused_attention.h"

namespace amp {
namespace {

using device::LibraryAttention;

constexpr size_t kMask = 3;

Refusal WhyNotFused(const FusedAttention& fused, absl::Span<const DType> types) {
  const DType type = types[0];
  if (type != DType::kFloat16 && type != DType::kBfloat16) return "the library attends in 16 bits alone";
  if (fused.form.soft_cap != 0 || fused.zeroes_nans) return "capped scores, or NaN made zeros";
  if (fused.form.masks.size() > 1) return "several masks";
  if (fused.form.masks.empty()) return {};
  if (fused.form.masks[0].kind != AttentionForm::Mask::Kind::kAdded) return "a mask that is not added";
  return types[kMask] == type ? nullptr : "a mask of another type";
}

// Returns the mask's dims as [batch, heads, queries, keys]; nothing if it would broadcast the scores to a larger shape,
// or is broadcast along the keys.
std::optional<Dims> MaskDims(const Tensor& mask, const AttentionViews& views) {
  constexpr size_t kAxes = 4;
  if (mask.rank() > views.scores.size() || mask.rank() == 0) return std::nullopt;
  Dims dims(kAxes - mask.rank(), 1);
  dims.insert(dims.end(), mask.dims().begin(), mask.dims().end());
  const Dims scores = {views.q.dims[0], views.q.dims[1], views.q.dims[2], views.k.dims[2]};
  for (size_t i = 0; i < kAxes; ++i) {
    if (dims[i] != scores[i] && dims[i] != 1) return std::nullopt;
  }
  return dims[3] == scores[3] ? std::optional(dims) : std::nullopt;
}

// Returns the number of key heads. Keys broadcast to all heads are one head; the library cannot broadcast along the
// batch.
absl::StatusOr<int64_t> KeyHeads(const AttentionViews& views) {
  if (views.k.dims[0] != views.q.dims[0] || views.v.dims[0] != views.q.dims[0] || views.k.dims[1] != views.v.dims[1]) {
    return Refusal("keys or values that are repeated");
  }
  return views.k.dims[1];
}

// Returns the strides. Axes of length 1 have stride 0 here, and libraries need one above 0.
device::HeadSteps StepsOf(const HeadView& view) {
  device::HeadSteps steps = {};
  for (size_t axis = view.dims.size(); axis-- > 0;) {
    const int64_t step = view.strides[axis];
    steps.steps[axis] = step != 0 ? step : steps.steps[axis + 1] * view.dims[axis + 1];
  }
  return steps;
}

bool HasElementsInRows(const AttentionViews& views) {
  const auto in_rows = [](const HeadView& view) { return view.strides[3] == 1; };
  return in_rows(views.q) && in_rows(views.k) && in_rows(views.v) && in_rows(views.y);
}

absl::StatusOr<LibraryAttention> AttentionOf(const KernelContext& context, const FusedAttention& fused,
                                             const AttentionViews& views) {
  AMP_ASSIGN_OR_RETURN(const int64_t key_heads, KeyHeads(views));
  if (!HasElementsInRows(views)) return Refusal("rows whose elements are apart");
  LibraryAttention attention = {.q = context.Input(0).data(),
                                .k = context.Input(1).data(),
                                .v = context.Input(2).data(),
                                .mask = nullptr,
                                .y = nullptr,
                                .storage = StorageOf(context.Input(0).dtype()),
                                .batch = views.q.dims[0],
                                .heads = views.q.dims[1],
                                .key_heads = key_heads,
                                .queries = views.q.dims[2],
                                .keys = views.k.dims[2],
                                .size = views.q.dims[3],
                                .value_size = views.v.dims[3],
                                .q_steps = StepsOf(views.q),
                                .k_steps = StepsOf(views.k),
                                .v_steps = StepsOf(views.v),
                                .y_steps = StepsOf(views.y),
                                .mask_dims = {},
                                .scale = static_cast<float>(fused.form.scale)};
  if (fused.form.masks.empty()) return attention;
  const std::optional<Dims> mask_dims = MaskDims(context.Input(kMask), views);
  if (!mask_dims.has_value()) return Refusal("a mask of another shape");
  attention.mask = context.Input(kMask).data();
  std::copy(mask_dims->begin(), mask_dims->end(), attention.mask_dims);
  return attention;
}

absl::Status Attention(KernelContext& context) {
  const auto& fused = context.State<FusedAttention>();
  absl::InlinedVector<DType, kMask + 1> types;
  for (size_t port = 0; port < context.num_inputs(); ++port) types.push_back(context.Input(port).dtype());
  if (const Refusal refusal = WhyNotFused(fused, types)) return refusal;
  AMP_ASSIGN_OR_RETURN(const AttentionViews views, ViewsOfAttention(context, fused));
  AMP_ASSIGN_OR_RETURN(LibraryAttention attention, AttentionOf(context, fused, views));
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutput(0, context.Input(0).dtype(), views.stored));
  if (y->num_elements() == 0 || attention.keys == 0) return Refusal("nothing to attend to");
  attention.y = y->mutable_data();
  std::string text;
  AMP_RETURN_IF_ERROR(context.resources().device->Attend(attention, text));
  context.ReportOwn(std::move(text), DType::kFloat32);
  return absl::OkStatus();
}

constexpr KernelRow kRow = DeviceRow("Attention", Attention, nullptr);

}  // namespace

bool MayAttendOnDevice(const FusedAttention& fused, absl::Span<const DType> types) {
  return !WhyNotFused(fused, types);
}

const KernelRow& FusedAttentionDeviceRow() { return kRow; }

}  // namespace amp
