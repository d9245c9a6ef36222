// com.microsoft's attention, as ONNX Runtime's tools fuse it: Attention has the projections of all heads in one matrix,
// MultiHeadAttention comes behind them. Without keys and values of earlier steps, packed operands and rotations.
//
// Where ONNX Runtime's words leave it open, this follows its CPU provider: what a mask bars gets mask_filter_value added
// to its score, so that a row that bars everything is not NaN.
#include <functional>
#include <limits>
#include <utility>
#include <vector>

#include "runtime/kernel/shape_math.h"
#include "runtime/reference/accumulator.h"
#include "runtime/reference/attention.h"
#include "runtime/reference/families.h"
#include "runtime/reference/matrix_product.h"
#include "runtime/reference/quantized.h"

namespace amp {
namespace {

// [B, S, heads E] as [B, heads, S, E].
absl::StatusOr<Tensor> SplitHeads(const KernelContext& context, const Tensor& x) {
  const int64_t heads = GetInt(context.node(), "num_heads", 0);
  if (x.rank() != 3 || heads < 1 || x.dim(2) % heads != 0) {
    return ModelError("expected [B, S, H] with H a multiple of num_heads, found ", DimsText(x.dims()), " and ", heads);
  }
  AMP_ASSIGN_OR_RETURN(const Tensor split, Reshape(x, {x.dim(0), x.dim(1), heads, x.dim(2) / heads}));
  return PermuteAxes(split, {0, 2, 1, 3});
}

// What SplitHeads has made, together again.
absl::StatusOr<Tensor> JoinHeads(const Tensor& x) {
  AMP_ASSIGN_OR_RETURN(const Tensor rows, PermuteAxes(x, {0, 2, 1, 3}));
  return Reshape(rows, {x.dim(0), x.dim(2), x.dim(1) * x.dim(3)});
}

// Elements [first, first + count) of the last axis.
absl::StatusOr<Tensor> Columns(const Tensor& x, int64_t first, int64_t count) {
  Dims dims = x.dims();
  dims.back() = count;
  AMP_ASSIGN_OR_RETURN(Tensor part, FilledFloat64(dims, 0));
  StridedWalk walk(dims, {RowStrides(x.dims()), RowStrides(dims)});
  for (walk.Start(0, first); !walk.AtEnd(); walk.Next()) {
    part.mutable_elements<double>()[walk[1]] = Doubles(x)[walk[0]];
  }
  return part;
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

// The mask at `port` as what is added to scores [B, N, S, T]: lengths [B], or truth values [B, T] or [B, S, T].
absl::StatusOr<Tensor> AddedByMask(const KernelContext& context, size_t port, const Tensor& scores) {
  const double barred = GetFloat(context.node(), "mask_filter_value", -10000.0f);
  const int64_t batch = scores.dim(0), queries = scores.dim(2), keys = scores.dim(3);
  AMP_ASSIGN_OR_RETURN(const Tensor mask, ToFloat64(context.Input(port)));
  if (mask.dims() == Dims{batch}) {
    AMP_ASSIGN_OR_RETURN(Tensor added, FilledFloat64({batch, 1, 1, keys}, 0));
    const auto out = added.mutable_elements<double>();
    for (size_t i = 0; i < out.size(); ++i) {
      const size_t row = i / static_cast<size_t>(keys), key = i % static_cast<size_t>(keys);
      if (static_cast<double>(key) >= Doubles(mask)[row]) out[i] = barred;
    }
    return added;
  }
  if (mask.dims() != Dims{batch, keys} && mask.dims() != Dims{batch, queries, keys}) {
    return ModelError("expected a mask [", batch, "], [", batch, ",", keys, "] or [", batch, ",", queries, ",", keys,
                      "], found ", context.Input(port).TypeText());
  }
  AMP_ASSIGN_OR_RETURN(Tensor added, FilledFloat64({batch, 1, mask.rank() == 2 ? 1 : queries, keys}, 0));
  const auto out = added.mutable_elements<double>();
  for (size_t i = 0; i < out.size(); ++i) out[i] = Doubles(mask)[i] > 0 ? 0 : barred;
  return added;
}

// Bars keys behind the query. Of other numbers of keys than queries ONNX Runtime leaves some queries without a mask.
absl::Status MaskFuture(Tensor& scores) {
  if (scores.dim(2) != scores.dim(3)) {
    return ModelError("unidirectional: expected as many keys as queries, found ", scores.dim(3), " and ", scores.dim(2),
                      ": no kernel for it");
  }
  const auto queries = static_cast<size_t>(scores.dim(2)), keys = static_cast<size_t>(scores.dim(3));
  const auto all = scores.mutable_elements<double>();
  for (size_t i = 0; i < all.size(); ++i) {
    if (i % keys > i / keys % queries) all[i] = -std::numeric_limits<double>::infinity();
  }
  return absl::OkStatus();
}

// All but the output have heads. Inputs `mask_port` and the one of the attention bias, 5 of both operators, may be absent.
absl::Status Attend(KernelContext& context, const Tensor& q, const Tensor& k, const Tensor& v, size_t mask_port) {
  constexpr size_t kAttentionBias = 5;
  AMP_RETURN_IF_ERROR(CheckAttention(q, k, v));
  for (size_t port = 1; port < context.num_outputs(); ++port) {
    if (context.HasOutput(port)) return ModelError("expected one output, found another: no kernel for it");
  }
  const float stated = GetFloat(context.node(), "scale", 0);
  AMP_ASSIGN_OR_RETURN(Tensor scores,
                       AttentionScores(q, k, AttentionScale(stated == 0 ? std::nullopt : std::optional(stated), q)));
  if (context.HasInput(mask_port)) {
    AMP_ASSIGN_OR_RETURN(const Tensor added, AddedByMask(context, mask_port, scores));
    AMP_RETURN_IF_ERROR(AddTo(scores, added));
  }
  if (context.HasInput(kAttentionBias)) {
    AMP_ASSIGN_OR_RETURN(const Tensor bias, ToFloat64(context.Input(kAttentionBias)));
    AMP_RETURN_IF_ERROR(AddTo(scores, bias));
  }
  if (GetInt(context.node(), "unidirectional", 0) != 0) AMP_RETURN_IF_ERROR(MaskFuture(scores));
  const auto all = scores.mutable_elements<double>();
  const auto keys = static_cast<size_t>(scores.dim(3));
  for (size_t row = 0; row < all.size(); row += keys) SoftmaxRow(all.subspan(row, keys));
  AMP_ASSIGN_OR_RETURN(const Tensor mixed, MixValues(scores, v));
  AMP_ASSIGN_OR_RETURN(const Tensor joined, JoinHeads(mixed));
  AMP_ASSIGN_OR_RETURN(Tensor y, FromAccumulator(joined, context.Input(0).dtype()));
  context.SetOutput(0, std::move(y));
  return absl::OkStatus();
}

absl::Status CheckNothingFrom(const KernelContext& context, size_t port) {
  for (; port < context.num_inputs(); ++port) {
    if (context.HasInput(port)) return ModelError("input ", port, ": expected none, found one: no kernel for it");
  }
  return absl::OkStatus();
}

// The widths of q, k and v, which are columns beside each other.
absl::StatusOr<std::vector<int64_t>> Widths(const KernelContext& context, int64_t columns) {
  const std::vector<int64_t> widths =
      GetInts(context.node(), "qkv_hidden_sizes").value_or(std::vector<int64_t>(3, columns / 3));
  const bool fits = widths.size() == 3 && widths[0] >= 0 && widths[1] >= 0 && widths[0] <= columns &&
                    widths[1] <= columns - widths[0] && widths[2] == columns - widths[0] - widths[1];
  if (fits) return widths;
  return ModelError("expected widths of q, k and v that make ", columns, ", found ", DimsText(widths));
}

// Inputs: x, weights of q, k and v beside each other, their bias, a mask, past (not covered), attention bias.
absl::Status Attention(KernelContext& context) {
  constexpr size_t kPast = 4, kPastLength = 6;
  if (context.HasInput(kPast)) return ModelError("past: expected none, found one: no kernel for it");
  AMP_RETURN_IF_ERROR(CheckNothingFrom(context, kPastLength));
  if (GetInt(context.node(), "do_rotary", 0) != 0) return ModelError("do_rotary: expected 0: no kernel for it");
  AMP_ASSIGN_OR_RETURN(const Tensor x, ToFloat64(context.Input(0)));
  AMP_ASSIGN_OR_RETURN(const Tensor weights, ToFloat64(context.Input(1)));
  AMP_ASSIGN_OR_RETURN(Tensor all, MultiplyMatrices(x, weights));
  if (all.rank() != 3) return ModelError("expected an input [B, S, D], found ", context.Input(0).TypeText());
  if (context.HasInput(2)) {
    AMP_ASSIGN_OR_RETURN(const Tensor bias, ToFloat64(context.Input(2)));
    AMP_RETURN_IF_ERROR(AddTo(all, bias));
  }
  AMP_ASSIGN_OR_RETURN(const std::vector<int64_t> widths, Widths(context, all.dim(2)));
  std::vector<Tensor> parts;
  int64_t first = 0;
  for (const int64_t width : widths) {
    AMP_ASSIGN_OR_RETURN(const Tensor part, Columns(all, first, width));
    AMP_ASSIGN_OR_RETURN(parts.emplace_back(), SplitHeads(context, part));
    first += width;
  }
  return Attend(context, parts[0], parts[1], parts[2], 3);
}

// Inputs: q, k and v [B, S, H], their bias one behind the other, a mask of keys, attention bias; more is not covered.
absl::Status MultiHeadAttention(KernelContext& context) {
  constexpr size_t kBias = 3, kMask = 4, kPast = 6;
  AMP_RETURN_IF_ERROR(CheckNothingFrom(context, kPast));
  std::vector<Tensor> parts;
  int64_t first = 0;
  for (size_t port = 0; port < kBias; ++port) {
    if (!context.HasInput(port)) return ModelError("expected key and value, found packed operands: no kernel for them");
    AMP_ASSIGN_OR_RETURN(Tensor part, ToFloat64(context.Input(port)));
    if (context.HasInput(kBias) && part.rank() == 3) {
      AMP_ASSIGN_OR_RETURN(const Tensor bias, ToFloat64(context.Input(kBias)));
      const int64_t width = part.dim(2);
      if (bias.rank() != 1 || width > bias.dim(0) - first) {
        return ModelError("expected a bias as wide as query, key and value, found ", context.Input(kBias).TypeText());
      }
      AMP_ASSIGN_OR_RETURN(const Tensor own, Columns(bias, first, width));
      AMP_RETURN_IF_ERROR(AddTo(part, own));
      first += width;
    }
    AMP_ASSIGN_OR_RETURN(parts.emplace_back(), SplitHeads(context, part));
  }
  if (context.HasInput(kBias) && context.Input(kBias).dims() != Dims{first}) {
    return ModelError("expected a bias as wide as query, key and value, found ", context.Input(kBias).TypeText());
  }
  return Attend(context, parts[0], parts[1], parts[2], kMask);
}

constexpr KernelRow kRows[] = {
    {"Attention", Attention, "com.microsoft"},
    {"MultiHeadAttention", MultiHeadAttention, "com.microsoft"},
};

}  // namespace

absl::Span<const KernelRow> FusedAttentionKernels() { return kRows; }

}  // namespace amp
