// Attention of ai.onnx on a device if no library computes it as a whole: batched matrix products, and between them the
// kernel that turns scores into probabilities (runtime/device/raw/attention.h).
//
//   scores = q k' * scale (float32)   p = softmax (cap (scores) + mask)   y = p v
//
// The query heads that share a key head are multiplied as one matrix with more rows.
#include <cmath>
#include <optional>
#include <utility>

#include "ir/base/status.h"
#include "runtime/device/families.h"
#include "runtime/device/raw/attention.h"
#include "runtime/device/raw/product.h"
#include "runtime/device/storage.h"
#include "runtime/forms/attention.h"
#include "runtime/kernel/move_elements.h"
#include "runtime/kernel/shape_math.h"

namespace amp {
namespace {

constexpr size_t kMask = 3, kPastKey = 4, kPastValue = 5, kNumValidKeys = 6;  // inputs
constexpr size_t kPresentKey = 1, kPresentValue = 2, kScores = 3;             // outputs

// Returns the dims as [batch, heads, rows, columns], for a tensor of rank 4 or of shape [batch, rows, heads * columns].
std::optional<Dims> HeadDims(const Tensor& x, int64_t heads) {
  if (x.rank() == 4) return x.dims();
  if (x.rank() != 3 || heads < 1 || x.dim(2) % heads != 0) return std::nullopt;
  return Dims{x.dim(0), heads, x.dim(1), x.dim(2) / heads};
}

struct Shapes {
  Dims q, k, v;  // k, v: without the past
  int64_t past = 0;

  int64_t keys() const { return k[2] + past; }
  Dims scores() const { return {q[0], q[1], q[2], keys()}; }
};

// Returns nothing if the shapes are wrong; the processor's kernel reports that.
std::optional<Shapes> ShapesOf(const KernelContext& context, const AttentionForm& form) {
  const std::optional<Dims> q = HeadDims(context.Input(0), form.query_heads),
                            k = HeadDims(context.Input(1), form.key_heads),
                            v = HeadDims(context.Input(2), form.key_heads);
  const size_t rank = context.Input(0).rank();
  if (!q || !k || !v || context.Input(1).rank() != rank || context.Input(2).rank() != rank) return std::nullopt;
  const bool fits = (*q)[0] == (*k)[0] && (*q)[0] == (*v)[0] && (*k)[1] == (*v)[1] && (*k)[2] == (*v)[2] &&
                    (*q)[3] == (*k)[3] && (*k)[1] > 0 && (*q)[1] % (*k)[1] == 0;
  if (!fits) return std::nullopt;
  return Shapes{*q, *k, *v, context.HasInput(kPastKey) ? context.Input(kPastKey).dim(2) : 0};
}

bool FitsPast(const KernelContext& context, size_t port, const Dims& now) {
  const Tensor& past = context.Input(port);
  return past.rank() == 4 && past.dim(0) == now[0] && past.dim(1) == now[1] && past.dim(3) == now[3] &&
         past.dtype() == context.Input(0).dtype();
}

bool FitsMask(const Tensor& mask, Dims scores) {
  if (mask.rank() == 0 || (mask.dtype() != DType::kBool && !IsDeviceFloat(mask.dtype()))) return false;
  if (mask.dims().back() > scores[3]) return false;
  scores[3] = mask.dims().back();
  const absl::StatusOr<Dims> dims = BroadcastDims(mask.dims(), scores);
  return dims.ok() && *dims == scores;
}

Refusal WhyNot(const KernelContext& context) {
  const DType dtype = context.Input(0).dtype();
  if (!IsDeviceFloat(dtype)) return kNoDeviceFloat;
  if (context.Input(1).dtype() != dtype || context.Input(2).dtype() != dtype) return "operands of different types";
  if (context.HasOutput(kScores)) return "it shows its scores";
  if (context.HasInput(kNumValidKeys)) return "numbers of valid keys";
  const absl::StatusOr<AttentionForm> form = ReadAttention(context.node());
  if (!form.ok()) return "attributes that do not fit";
  if (context.HasInput(kPastKey) != context.HasInput(kPastValue)) return "half of a past";
  if (context.HasInput(kPastKey) && context.Input(kPastKey).rank() != 4) return "a past that does not fit";
  const std::optional<Shapes> shapes = ShapesOf(context, *form);
  if (!shapes.has_value()) return "shapes that do not fit";
  if (context.HasInput(kPastKey)) {
    const bool fits = FitsPast(context, kPastKey, shapes->k) && FitsPast(context, kPastValue, shapes->v) &&
                      context.Input(kPastKey).dim(2) == context.Input(kPastValue).dim(2);
    if (!fits) return "a past that does not fit";
  }
  for (const int64_t dim : {shapes->q[0], shapes->q[1], shapes->q[2], shapes->q[3], shapes->v[3], shapes->keys()}) {
    if (dim == 0) return "no elements";
  }
  const bool fits = !context.HasInput(kMask) || FitsMask(context.Input(kMask), shapes->scores());
  return fits ? nullptr : "a mask that does not fit";
}

// Returns x as a row-major tensor [batch, heads, rows, columns].
absl::StatusOr<Tensor> SplitHeads(const KernelContext& context, const Tensor& x, const Dims& dims) {
  if (x.rank() == 4) return x;
  AMP_ASSIGN_OR_RETURN(Tensor split, Tensor::Create(x.dtype(), dims, context.memory()));
  const int64_t columns = dims[3], row = dims[1] * columns;
  AMP_RETURN_IF_ERROR(CopyStrided(x, 0, {dims[2] * row, columns, row, 1}, split));
  return split;
}

// Returns input `port` appended to its past. The result is the output for it, if the node has that output.
absl::StatusOr<Tensor> Joined(KernelContext& context, size_t port, const Dims& dims) {
  const size_t past_port = port == 1 ? kPastKey : kPastValue, output = port == 1 ? kPresentKey : kPresentValue;
  AMP_ASSIGN_OR_RETURN(Tensor now, SplitHeads(context, context.Input(port), dims));
  if (context.HasInput(past_port)) {
    const Tensor& past = context.Input(past_port);
    const Dims joined_dims = {dims[0], dims[1], past.dim(2) + dims[2], dims[3]};
    AMP_ASSIGN_OR_RETURN(Tensor joined, Tensor::Create(now.dtype(), joined_dims, context.memory()));
    const auto heads = static_cast<size_t>(dims[0] * dims[1]), step = static_cast<size_t>(joined_dims[2] * dims[3]),
               of_past = static_cast<size_t>(past.dim(2) * dims[3]), of_now = step - of_past;
    if (of_past > 0) CopyBlocks(past, {0, of_past}, joined, {0, step}, of_past, heads);
    CopyBlocks(now, {0, of_now}, joined, {of_past, step}, of_now, heads);
    now = std::move(joined);
  }
  if (context.HasOutput(output)) context.SetOutput(output, now);
  return now;
}

device::AttendArguments AttendArgumentsOf(const KernelContext& context, const AttentionForm& form,
                                          const Shapes& shapes) {
  const Dims scores = shapes.scores();
  device::AttendArguments attend = {};
  attend.rows = static_cast<uint32_t>(scores[0] * scores[1] * scores[2]);
  attend.heads = static_cast<uint32_t>(scores[1]);
  attend.queries = static_cast<uint32_t>(scores[2]);
  attend.keys = static_cast<uint32_t>(scores[3]);
  attend.soft_cap = form.soft_cap;
  attend.is_causal = form.is_causal;
  attend.past = shapes.past;
  attend.left = form.left;
  attend.right = form.right;
  if (!context.HasInput(kMask)) return attend;
  const Tensor& mask = context.Input(kMask);
  Dims covered = scores;
  covered[3] = mask.dims().back();
  attend.mask = mask.data();
  attend.mask_storage = StorageOf(mask.dtype());
  attend.mask_keys = static_cast<uint32_t>(mask.dims().back());
  const Dims strides = BroadcastStrides(mask.dims(), covered);
  std::copy(strides.begin(), strides.end(), attend.mask_strides);
  return attend;
}

// Returns probabilities [batch, heads, queries, keys] of q's type.
absl::StatusOr<Tensor> Probabilities(KernelContext& context, const AttentionForm& form, const Shapes& shapes,
                                     const Tensor& q, const Tensor& k) {
  Accelerator& device = *context.resources().device;
  AMP_ASSIGN_OR_RETURN(Tensor scores, context.MakeScratch(DType::kFloat32, shapes.scores()));
  const int64_t rows = shapes.q[1] / shapes.k[1] * shapes.q[2], size = shapes.q[3];
  const auto usual_scale = static_cast<float>(1 / std::sqrt(static_cast<double>(size)));
  std::string text;
  AMP_RETURN_IF_ERROR(device.Multiply({.a = q.data(),
                                       .b = k.data(),
                                       .bias = nullptr,
                                       .y = scores.mutable_data(),
                                       .storage = StorageOf(q.dtype()),
                                       .y_storage = device::Storage::kFloat32,
                                       .m = rows,
                                       .n = shapes.keys(),
                                       .k = size,
                                       .batch = shapes.k[0] * shapes.k[1],
                                       .a_step = rows * size,
                                       .b_step = shapes.keys() * size,
                                       .transposes_a = false,
                                       .transposes_b = true,
                                       .activation = device::ProductActivation::kNone,
                                       .allows_tf32 = context.resources().allows_tf32,
                                       .alpha = form.scale.value_or(usual_scale)},
                                      text));
  Tensor probabilities = scores;
  if (q.dtype() != DType::kFloat32) {
    AMP_ASSIGN_OR_RETURN(probabilities, context.MakeScratch(q.dtype(), shapes.scores()));
  }
  device::AttendArguments attend = AttendArgumentsOf(context, form, shapes);
  attend.scores = static_cast<const float*>(scores.data());
  attend.probabilities = probabilities.mutable_data();
  attend.storage = StorageOf(q.dtype());
  device.Start(attend);
  return probabilities;
}

// Sets the output from y [batch, heads, queries, columns], in the shape that the inputs have.
absl::Status GiveResult(KernelContext& context, const Tensor& y) {
  if (context.Input(0).rank() == 4) {
    context.SetOutput(0, y);
    return absl::OkStatus();
  }
  const int64_t heads = y.dim(1), queries = y.dim(2), columns = y.dim(3);
  AMP_ASSIGN_OR_RETURN(Tensor joined, Tensor::Create(y.dtype(), {y.dim(0), queries, heads, columns}, context.memory()));
  AMP_RETURN_IF_ERROR(CopyStrided(y, 0, {heads * queries * columns, columns, queries * columns, 1}, joined));
  context.SetOutput(0, joined.Reshaped({y.dim(0), queries, heads * columns}));
  return absl::OkStatus();
}

absl::Status Attention(KernelContext& context) {
  context.Report("products and softmax", DType::kFloat32);
  AMP_ASSIGN_OR_RETURN(const AttentionForm form, ReadAttention(context.node()));
  const Shapes shapes = *ShapesOf(context, form);
  AMP_ASSIGN_OR_RETURN(const Tensor q, SplitHeads(context, context.Input(0), shapes.q));
  AMP_ASSIGN_OR_RETURN(const Tensor k, Joined(context, 1, shapes.k));
  AMP_ASSIGN_OR_RETURN(const Tensor v, Joined(context, 2, shapes.v));
  AMP_ASSIGN_OR_RETURN(const Tensor p, Probabilities(context, form, shapes, q, k));
  const int64_t rows = shapes.q[1] / shapes.k[1] * shapes.q[2], columns = shapes.v[3];
  AMP_ASSIGN_OR_RETURN(Tensor y,
                       Tensor::Create(q.dtype(), {shapes.q[0], shapes.q[1], shapes.q[2], columns}, context.memory()));
  std::string text;
  AMP_RETURN_IF_ERROR(context.resources().device->Multiply({.a = p.data(),
                                                            .b = v.data(),
                                                            .bias = nullptr,
                                                            .y = y.mutable_data(),
                                                            .storage = StorageOf(q.dtype()),
                                                            .y_storage = StorageOf(q.dtype()),
                                                            .m = rows,
                                                            .n = columns,
                                                            .k = shapes.keys(),
                                                            .batch = shapes.k[0] * shapes.k[1],
                                                            .a_step = rows * shapes.keys(),
                                                            .b_step = shapes.keys() * columns,
                                                            .transposes_a = false,
                                                            .transposes_b = false,
                                                            .activation = device::ProductActivation::kNone,
                                                            .allows_tf32 = context.resources().allows_tf32,
                                                            .alpha = 1},
                                                           text));
  return GiveResult(context, y);
}

constexpr KernelRow kRows[] = {DeviceRow("Attention", Attention, WhyNot)};

}  // namespace

absl::Span<const KernelRow> AttentionDeviceKernels() { return kRows; }

}  // namespace amp
