// Attention of ai.onnx.
//
// A key takes part in a query's row unless the causal rule, the sliding window, the number of valid keys or a mask of
// truth values bars it; barred keys and masks of numbers make the bias that is added to the scores. A row in which all
// keys are barred is zeros.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "runtime/forms/attention.h"
#include "runtime/kernel/shape_math.h"
#include "runtime/reference/accumulator.h"
#include "runtime/reference/attention.h"
#include "runtime/reference/attention_heads.h"
#include "runtime/reference/families.h"
#include "runtime/reference/matrix_product.h"

namespace amp {
namespace {

// The keys or values of earlier steps, if any, and those of this one after them.
absl::StatusOr<Tensor> WithPast(const KernelContext& context, size_t past_port, const Tensor& x) {
  if (!context.HasInput(past_port)) return x;
  AMP_ASSIGN_OR_RETURN(const Tensor past, ToFloat64(context.Input(past_port)));
  return AppendToPast(past, x);
}

struct Operands {
  Tensor q, k, v;  // as runtime/reference/attention.h has them, the past included
  int64_t past = 0;
};

absl::StatusOr<Operands> ReadOperands(const KernelContext& context, const AttentionForm& form) {
  const size_t rank = context.Input(0).rank();
  if (context.Input(1).rank() != rank || context.Input(2).rank() != rank) {
    return ModelError("expected Q, K and V of one rank, found ", context.InputDatum(0).TypeText(), ", ",
                      context.InputDatum(1).TypeText(), " and ", context.InputDatum(2).TypeText());
  }
  if (context.HasInput(4) != context.HasInput(5)) return ModelError("expected both past_key and past_value, found one");
  Operands operands;
  AMP_ASSIGN_OR_RETURN(const Tensor q, ToFloat64(context.Input(0)));
  AMP_ASSIGN_OR_RETURN(const Tensor k, ToFloat64(context.Input(1)));
  AMP_ASSIGN_OR_RETURN(const Tensor v, ToFloat64(context.Input(2)));
  AMP_ASSIGN_OR_RETURN(operands.q, SplitHeads(q, form.query_heads, "q_num_heads"));
  AMP_ASSIGN_OR_RETURN(operands.k, SplitHeads(k, form.key_heads, "kv_num_heads"));
  AMP_ASSIGN_OR_RETURN(operands.v, SplitHeads(v, form.key_heads, "kv_num_heads"));
  AMP_ASSIGN_OR_RETURN(operands.k, WithPast(context, 4, operands.k));
  AMP_ASSIGN_OR_RETURN(operands.v, WithPast(context, 5, operands.v));
  AMP_RETURN_IF_ERROR(CheckAttention(operands.q, operands.k, operands.v));
  if (context.HasInput(4)) operands.past = context.Input(4).dim(2);
  return operands;
}

// Which keys a query may attend to, but for the mask.
struct KeyRule {
  int64_t queries = 0, past = 0;
  std::vector<int64_t> valid_keys;  // of each batch, if they are given
  bool causal = false;
  int64_t left = -1, right = -1;  // of the window; -1: no bound

  bool Allows(int64_t batch, int64_t query, int64_t key) const {
    int64_t position = query + past;
    if (!valid_keys.empty()) {
      const int64_t valid = valid_keys[static_cast<size_t>(batch)];
      if (key >= valid) return false;
      position = query + valid - queries;
    }
    return (!causal || key <= position) && (left < 0 || key >= position - left) &&
           (right < 0 || key <= position + right);
  }
};

absl::StatusOr<KeyRule> ReadKeyRule(const KernelContext& context, const AttentionForm& form, const Operands& operands) {
  KeyRule rule;
  rule.queries = operands.q.dim(2);
  rule.past = operands.past;
  rule.causal = form.is_causal;
  rule.left = form.left;
  rule.right = std::min(form.right, kMaxElements);
  if (!context.HasInput(6)) return rule;
  if (context.HasInput(4)) return ModelError("expected past_key or nonpad_kv_seqlen, found both");
  AMP_ASSIGN_OR_RETURN(rule.valid_keys, context.InputInts(6));
  if (static_cast<int64_t>(rule.valid_keys.size()) != operands.q.dim(0)) {
    return ModelError("nonpad_kv_seqlen: expected ", operands.q.dim(0), " numbers, found ", rule.valid_keys.size());
  }
  for (const int64_t valid : rule.valid_keys) {
    if (valid < 0 || valid > operands.k.dim(2)) {
      return ModelError("nonpad_kv_seqlen: expected numbers in [0, ", operands.k.dim(2), "], found ", valid);
    }
  }
  return rule;
}

// The mask as numbers to add, [B, Hq, L, S]; what lies beyond its last axis is -inf.
struct Mask {
  Tensor numbers;
  Dims strides;
  int64_t keys = 0;

  double At(absl::Span<const int64_t> index) const {
    if (index[3] >= keys) return -INFINITY;
    int64_t place = 0;
    for (size_t i = 0; i < 4; ++i) place += index[i] * strides[i];
    return Doubles(numbers)[static_cast<size_t>(place)];
  }
};

absl::StatusOr<Mask> ReadMask(const KernelContext& context, const Dims& scores) {
  if (!context.HasInput(3)) {
    AMP_ASSIGN_OR_RETURN(Tensor zero, FilledFloat64({}, 0));
    return Mask{std::move(zero), Dims(4, 0), scores[3]};
  }
  const Tensor& given = context.Input(3);
  Mask mask;
  AMP_ASSIGN_OR_RETURN(const Tensor wide, ToFloat64(given));
  AMP_ASSIGN_OR_RETURN(mask.numbers, Tensor::Create(DType::kFloat64, given.dims()));
  const bool truth = given.dtype() == DType::kBool;
  std::transform(Doubles(wide).begin(), Doubles(wide).end(), mask.numbers.mutable_elements<double>().begin(),
                 [truth](double x) { return !truth   ? x
                                            : x != 0 ? 0
                                                     : -INFINITY; });
  Dims covered = scores;
  if (given.rank() > 0) covered[3] = mask.keys = std::min(scores[3], given.dims().back());
  const absl::StatusOr<Dims> dims = BroadcastDims(given.dims(), covered);
  if (given.rank() == 0 || !dims.ok() || *dims != covered) {
    return ModelError("expected a mask that broadcasts to ", DimsText(scores), ", found ", given.TypeText());
  }
  mask.strides = BroadcastStrides(given.dims(), covered);
  return mask;
}

// Makes probabilities of scores, row by row; `shown` gets what the node asks for.
void AttendRows(const KeyRule& rule, const Mask& mask, double softcap, ShownScores what, Tensor& scores,
                Tensor& shown) {
  const auto out = scores.mutable_elements<double>();
  const auto show = shown.mutable_elements<double>();
  const Dims& dims = scores.dims();
  const auto keys = static_cast<size_t>(dims[3]);
  if (keys == 0) return;
  Dims index;
  for (StridedWalk walk({dims[0], dims[1], dims[2]}, {{dims[1] * dims[2], dims[2], 1}}); !walk.AtEnd(); walk.Next()) {
    const auto row = out.subspan(walk[0] * keys, keys);
    const auto shown_row = show.subspan(walk[0] * keys, keys);
    const auto show_if = [&](ShownScores now) {
      if (what == now) std::copy(row.begin(), row.end(), shown_row.begin());
    };
    show_if(ShownScores::kProducts);
    if (softcap > 0) {
      for (double& score : row) score = softcap * std::tanh(score / softcap);
    }
    show_if(ShownScores::kCapped);
    bool barred = true;
    for (size_t key = 0; key < keys; ++key) {
      index = walk.index();
      index.push_back(static_cast<int64_t>(key));
      const double bias = rule.Allows(index[0], index[2], index[3]) ? mask.At(index) : -INFINITY;
      barred = barred && bias == -INFINITY;
      row[key] += bias;
    }
    show_if(ShownScores::kBiased);
    barred = barred || std::all_of(row.begin(), row.end(), [](double score) { return score == -INFINITY; });
    if (barred) std::fill(row.begin(), row.end(), 0);
    if (!barred) SoftmaxRow(row);
    show_if(ShownScores::kProbabilities);
  }
}

absl::Status Attention(KernelContext& context) {
  AMP_ASSIGN_OR_RETURN(const AttentionForm form, ReadAttention(context.node()));
  AMP_ASSIGN_OR_RETURN(const Operands operands, ReadOperands(context, form));
  AMP_ASSIGN_OR_RETURN(const KeyRule rule, ReadKeyRule(context, form, operands));
  const double scale = AttentionScale(form.scale, operands.q);
  AMP_ASSIGN_OR_RETURN(Tensor scores, AttentionScores(operands.q, operands.k, scale));
  AMP_ASSIGN_OR_RETURN(const Mask mask, ReadMask(context, scores.dims()));
  AMP_ASSIGN_OR_RETURN(Tensor shown, FilledFloat64(scores.dims(), 0));
  AttendRows(rule, mask, form.soft_cap, form.shown, scores, shown);
  AMP_ASSIGN_OR_RETURN(Tensor y, MixValues(scores, operands.v));
  if (context.Input(0).rank() == 3) {
    AMP_ASSIGN_OR_RETURN(y, JoinHeads(y));
  }
  const DType type = context.Input(0).dtype();
  AMP_RETURN_IF_ERROR(SetRounded(context, 0, y, type));
  AMP_RETURN_IF_ERROR(SetRounded(context, 1, operands.k, type));
  AMP_RETURN_IF_ERROR(SetRounded(context, 2, operands.v, context.Input(2).dtype()));
  return SetRounded(context, 3, shown, type);
}

constexpr KernelRow kRows[] = {
    {"Attention", Attention},
};

}  // namespace

absl::Span<const KernelRow> AttentionKernels() { return kRows; }

}  // namespace amp
