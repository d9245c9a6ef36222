// com.microsoft's attention, as ONNX Runtime's tools fuse it: Attention has the projections of all heads in one matrix,
// MultiHeadAttention comes behind them. Without packed operands, rotations, and buffers that past and present share.
// runtime/forms/multi_head.h has the rules of masks.
#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/forms/multi_head.h"
#include "runtime/kernel/no_kernel_error.h"
#include "runtime/kernel/shape_math.h"
#include "runtime/reference/accumulator.h"
#include "runtime/reference/attention.h"
#include "runtime/reference/attention_heads.h"
#include "runtime/reference/families.h"
#include "runtime/reference/matrix_product.h"
#include "runtime/reference/quantized.h"

namespace amp {
namespace {

// With heads: q [B, N, S, E], k [B, N, T, E], v [B, N, T, Ev], of which the first `past` keys are of earlier steps.
struct Operands {
  Tensor q, k, v;
  int64_t past = 0;
};

absl::StatusOr<Tensor> SplitHeads(const KernelContext& context, const Tensor& x) {
  return SplitHeads(x, ReadMultiHead(context.node()).heads, "num_heads");
}

// x + y, of the shape that x has.
absl::Status AddTo(Tensor& x, const Tensor& y) {
  AMP_ASSIGN_OR_RETURN(Tensor sum, MapPairs(x, y, std::plus<double>()));
  if (sum.dims() != x.dims()) {
    return ModelError("expected what broadcasts to ", DimsText(x.dims()), ", found ", DimsText(y.dims()));
  }
  x = std::move(sum);
  return absl::OkStatus();
}

// Inputs `mask_port` and the one of the attention bias, 5 of both operators, may be absent.
absl::StatusOr<Tensor> MaskedScores(const KernelContext& context, const Operands& operands, size_t mask_port) {
  constexpr size_t kAttentionBias = 5;
  const MultiHeadForm form = ReadMultiHead(context.node());
  AMP_ASSIGN_OR_RETURN(Tensor scores, AttentionScores(operands.q, operands.k, AttentionScale(form.scale, operands.q)));
  AMP_ASSIGN_OR_RETURN(const Tensor mask, MakeMultiHeadMask(context, form, mask_port, scores.dims(), operands.past));
  if (mask.dtype() != DType::kUndefined) {
    AMP_ASSIGN_OR_RETURN(const Tensor added, ToFloat64(mask));
    AMP_RETURN_IF_ERROR(AddTo(scores, added));
  }
  if (context.HasInput(kAttentionBias)) {
    AMP_ASSIGN_OR_RETURN(const Tensor bias, ToFloat64(context.Input(kAttentionBias)));
    AMP_RETURN_IF_ERROR(AddTo(scores, bias));
  }
  return scores;
}

// Gives output 0, and the scores as output `scores_port` if the node has that.
absl::Status Attend(KernelContext& context, const Operands& operands, size_t mask_port, size_t scores_port) {
  AMP_RETURN_IF_ERROR(CheckAttention(operands.q, operands.k, operands.v));
  AMP_ASSIGN_OR_RETURN(Tensor scores, MaskedScores(context, operands, mask_port));
  const DType type = context.Input(0).dtype();
  AMP_RETURN_IF_ERROR(SetRounded(context, scores_port, scores, type));
  const auto all = scores.mutable_elements<double>();
  const auto keys = static_cast<size_t>(scores.dim(3));
  for (size_t row = 0; row < all.size(); row += keys) SoftmaxRow(all.subspan(row, keys));
  AMP_ASSIGN_OR_RETURN(const Tensor mixed, MixValues(scores, operands.v));
  AMP_ASSIGN_OR_RETURN(const Tensor joined, JoinHeads(mixed));
  return SetRounded(context, 0, joined, type);
}

absl::Status CheckNothingFrom(const KernelContext& context, size_t port) {
  for (; port < context.num_inputs(); ++port) {
    if (context.HasInput(port))
      return NoKernelError(absl::StrCat("input ", port, ": expected none, found one: no kernel for it"));
  }
  return absl::OkStatus();
}

// ---- Attention
// --------------------------------------------------------------------------------------------------------

// Inputs 0 to 2 are x, weights of q, k and v beside each other, and their bias.
absl::StatusOr<Operands> Project(const KernelContext& context) {
  AMP_ASSIGN_OR_RETURN(const Tensor x, ToFloat64(context.Input(0)));
  AMP_ASSIGN_OR_RETURN(const Tensor weights, ToFloat64(context.Input(1)));
  AMP_ASSIGN_OR_RETURN(Tensor all, MultiplyMatrices(x, weights));
  if (all.rank() != 3) return ModelError("expected an input [B, S, D], found ", context.Input(0).TypeText());
  if (context.HasInput(2)) {
    AMP_ASSIGN_OR_RETURN(const Tensor bias, ToFloat64(context.Input(2)));
    AMP_RETURN_IF_ERROR(AddTo(all, bias));
  }
  AMP_ASSIGN_OR_RETURN(const std::vector<int64_t> widths, ReadMultiHeadWidths(context.node(), all.dim(2)));
  Operands operands;
  int64_t first = 0, port = 0;
  for (Tensor* part : {&operands.q, &operands.k, &operands.v}) {
    AMP_ASSIGN_OR_RETURN(const Tensor columns, Columns(all, first, widths[static_cast<size_t>(port)]));
    AMP_ASSIGN_OR_RETURN(*part, SplitHeads(context, columns));
    first += widths[static_cast<size_t>(port++)];
  }
  return operands;
}

// Half `half` of a past [2, B, N, P, E]: keys, then values.
absl::StatusOr<Tensor> HalfOfPast(const Tensor& past, size_t half) {
  Dims dims(past.dims().begin() + 1, past.dims().end());
  AMP_ASSIGN_OR_RETURN(Tensor part, FilledFloat64(dims, 0));
  const auto out = part.mutable_elements<double>();
  std::copy_n(Doubles(past).begin() + static_cast<std::ptrdiff_t>(half * out.size()), out.size(), out.begin());
  return part;
}

absl::Status AppendToPasts(const KernelContext& context, size_t port, Operands& operands) {
  if (!context.HasInput(port)) return absl::OkStatus();
  AMP_ASSIGN_OR_RETURN(const Tensor past, ToFloat64(context.Input(port)));
  if (past.rank() != 5 || past.dim(0) != 2) {
    return ModelError("past: expected [2, B, N, P, E], found ", context.Input(port).TypeText());
  }
  operands.past = past.dim(3);
  AMP_ASSIGN_OR_RETURN(const Tensor keys, HalfOfPast(past, 0));
  AMP_ASSIGN_OR_RETURN(const Tensor values, HalfOfPast(past, 1));
  AMP_ASSIGN_OR_RETURN(operands.k, AppendToPast(keys, operands.k));
  AMP_ASSIGN_OR_RETURN(operands.v, AppendToPast(values, operands.v));
  return absl::OkStatus();
}

// Keys and values on top of each other.
absl::Status SetPresent(KernelContext& context, size_t port, const Operands& operands) {
  if (!context.HasOutput(port)) return absl::OkStatus();
  if (operands.k.dims() != operands.v.dims()) {
    return ModelError("present: expected keys and values of one width, found ", operands.k.TypeText(), " and ",
                      operands.v.TypeText());
  }
  Dims dims = operands.k.dims();
  dims.insert(dims.begin(), 2);
  AMP_ASSIGN_OR_RETURN(Tensor present, FilledFloat64(dims, 0));
  auto next = present.mutable_elements<double>().begin();
  for (const Tensor* part : {&operands.k, &operands.v}) {
    next = std::copy(Doubles(*part).begin(), Doubles(*part).end(), next);
  }
  return SetRounded(context, port, present, context.Input(0).dtype());
}

// Inputs behind the projection: a mask, past, attention bias; a length of the past, where it shares a buffer, is not
// covered.
absl::Status Attention(KernelContext& context) {
  constexpr size_t kMask = 3, kPast = 4, kPastLength = 6, kPresent = 1, kNoScores = 2;
  AMP_RETURN_IF_ERROR(CheckNothingFrom(context, kPastLength));
  for (const char* attribute : {"do_rotary", "past_present_share_buffer"}) {
    if (GetInt(context.node(), attribute, 0) != 0)
      return NoKernelError(absl::StrCat(attribute, ": expected 0: no kernel for it"));
  }
  AMP_ASSIGN_OR_RETURN(Operands operands, Project(context));
  AMP_RETURN_IF_ERROR(AppendToPasts(context, kPast, operands));
  AMP_RETURN_IF_ERROR(SetPresent(context, kPresent, operands));
  return Attend(context, operands, kMask, kNoScores);
}

// ---- MultiHeadAttention
// -----------------------------------------------------------------------------------------------

// Returns input `port` of query, key and value, with its part of the bias, which begins at `first`. A key or value of
// rank 4 has heads already, and no bias.
absl::StatusOr<Tensor> Operand(const KernelContext& context, size_t port, size_t bias_port, int64_t& first) {
  if (!context.HasInput(port))
    return NoKernelError(absl::StrCat("expected key and value, found packed operands: no kernel for them"));
  AMP_ASSIGN_OR_RETURN(Tensor part, ToFloat64(context.Input(port)));
  if (part.rank() != 3 && (part.rank() != 4 || port == 0)) {
    return NoKernelError(absl::StrCat("expected query, key and value [B, S, H], found ", context.Input(port).TypeText(),
                                      ": no kernel for it"));
  }
  const int64_t width = part.rank() == 3 ? part.dim(2) : part.dim(1) * part.dim(3);
  if (context.HasInput(bias_port)) {
    AMP_ASSIGN_OR_RETURN(const Tensor bias, ToFloat64(context.Input(bias_port)));
    if (bias.rank() != 1 || width > bias.dim(0) - first) {
      return ModelError("expected a bias as wide as query, key and value, found ", context.Input(bias_port).TypeText());
    }
    AMP_ASSIGN_OR_RETURN(const Tensor own, Columns(bias, first, width));
    if (part.rank() == 3) AMP_RETURN_IF_ERROR(AddTo(part, own));
  }
  first += width;
  return SplitHeads(context, part);
}

absl::Status AppendToPasts(const KernelContext& context, size_t keys_port, size_t values_port, Operands& operands) {
  if (context.HasInput(keys_port) != context.HasInput(values_port)) {
    return ModelError("expected both past_key and past_value, found one");
  }
  if (!context.HasInput(keys_port)) return absl::OkStatus();
  AMP_ASSIGN_OR_RETURN(const Tensor keys, ToFloat64(context.Input(keys_port)));
  AMP_ASSIGN_OR_RETURN(const Tensor values, ToFloat64(context.Input(values_port)));
  AMP_ASSIGN_OR_RETURN(operands.k, AppendToPast(keys, operands.k));
  AMP_ASSIGN_OR_RETURN(operands.v, AppendToPast(values, operands.v));
  operands.past = keys.dim(2);
  return absl::OkStatus();
}

// Inputs: q, k and v [B, S, H], their bias one behind the other, a mask of keys, attention bias, keys and values of
// earlier steps; lengths of buffers and beams are not covered.
absl::Status MultiHeadAttention(KernelContext& context) {
  constexpr size_t kBias = 3, kMask = 4, kPastKey = 6, kPastValue = 7, kPastLength = 8;
  constexpr size_t kPresentKey = 1, kPresentValue = 2, kScores = 3;
  AMP_RETURN_IF_ERROR(CheckNothingFrom(context, kPastLength));
  Operands operands;
  int64_t first = 0;
  size_t port = 0;
  for (Tensor* part : {&operands.q, &operands.k, &operands.v}) {
    AMP_ASSIGN_OR_RETURN(*part, Operand(context, port++, kBias, first));
  }
  if (context.HasInput(kBias) && context.Input(kBias).dims() != Dims{first}) {
    return ModelError("expected a bias as wide as query, key and value, found ", context.Input(kBias).TypeText());
  }
  AMP_RETURN_IF_ERROR(AppendToPasts(context, kPastKey, kPastValue, operands));
  AMP_RETURN_IF_ERROR(SetRounded(context, kPresentKey, operands.k, context.Input(0).dtype()));
  AMP_RETURN_IF_ERROR(SetRounded(context, kPresentValue, operands.v, context.Input(0).dtype()));
  return Attend(context, operands, kMask, kScores);
}

constexpr KernelRow kRows[] = {
    {"Attention", Attention, "com.microsoft"},
    {"MultiHeadAttention", MultiHeadAttention, "com.microsoft"},
};

}  // namespace

absl::Span<const KernelRow> FusedAttentionKernels() { return kRows; }

}  // namespace amp
