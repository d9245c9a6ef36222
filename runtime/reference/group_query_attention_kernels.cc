// com.microsoft's GroupQueryAttention, as genai's builder writes it: several heads of q share one of k and v, keys and
// values of earlier steps are in buffers, rotary embedding may be inside. runtime/forms/group_query.h has the rules.
//
//   present [B, Nkv, max(P, total), E] = T(b) - S rows of the past, the S new ones, zeros
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/forms/group_query.h"
#include "runtime/kernel/no_kernel_error.h"
#include "runtime/kernel/shape_math.h"
#include "runtime/reference/accumulator.h"
#include "runtime/reference/attention.h"
#include "runtime/reference/attention_families.h"
#include "runtime/reference/attention_heads.h"
#include "runtime/reference/rotary.h"

namespace amp {
namespace {

using Step = GroupQueryStep;
using Ports = GroupQueryPorts;

struct Operands {
  Tensor q, k, v;  // [B, N, S, E], [B, Nkv, S, E] twice, of this step alone
};

absl::StatusOr<Operands> ReadOperands(const KernelContext& context, const GroupQueryForm& form) {
  const int64_t heads = form.heads, kv_heads = form.key_heads;
  AMP_ASSIGN_OR_RETURN(Tensor q, ToFloat64(context.Input(Ports::kQuery)));
  if (q.rank() != 3) return ModelError("expected a query [B, S, H], found ", context.Input(Ports::kQuery).TypeText());
  Tensor k, v;
  if (context.HasInput(Ports::kKey)) {
    AMP_ASSIGN_OR_RETURN(k, ToFloat64(context.Input(Ports::kKey)));
    AMP_ASSIGN_OR_RETURN(v, ToFloat64(context.Input(Ports::kValue)));
  } else {
    const int64_t size = q.dim(2) / (heads + 2 * kv_heads);
    if (size * (heads + 2 * kv_heads) != q.dim(2)) {
      return ModelError("expected heads of one width in a packed query, found ",
                        context.Input(Ports::kQuery).TypeText());
    }
    AMP_ASSIGN_OR_RETURN(k, Columns(q, heads * size, kv_heads * size));
    AMP_ASSIGN_OR_RETURN(v, Columns(q, (heads + kv_heads) * size, kv_heads * size));
    AMP_ASSIGN_OR_RETURN(q, Columns(q, 0, heads * size));
  }
  if (k.rank() != 3 || v.rank() != 3 || k.dim(1) != q.dim(1)) {
    return NoKernelError(absl::StrCat("expected key and value [B, S, H] as long as the query, found ", k.TypeText(),
                                      " and ", v.TypeText(), ": no kernel for it"));
  }
  Operands operands;
  AMP_ASSIGN_OR_RETURN(operands.q, SplitHeads(q, heads, "num_heads"));
  AMP_ASSIGN_OR_RETURN(operands.k, SplitHeads(k, kv_heads, "kv_num_heads"));
  AMP_ASSIGN_OR_RETURN(operands.v, SplitHeads(v, kv_heads, "kv_num_heads"));
  AMP_RETURN_IF_ERROR(CheckAttention(operands.q, operands.k, operands.v));
  return operands;
}

absl::Status RotateOperands(const KernelContext& context, const GroupQueryForm& form, const Step& step,
                            Operands& operands) {
  if (!form.is_rotated) return absl::OkStatus();
  Rotation rotation;
  rotation.pairs = form.turns_neighbours ? RotaryPairs::kNeighbours : RotaryPairs::kHalves;
  AMP_RETURN_IF_ERROR(ReadRotaryCaches(context, Ports::kCosines, Ports::kSines, rotation));
  if (rotation.cosines.rank() != 2) {
    return ModelError("expected caches of rank 2, found ", context.Input(Ports::kCosines).TypeText());
  }
  AMP_ASSIGN_OR_RETURN(const std::vector<int64_t> positions, ReadGroupQueryPositions(context, step));
  AMP_RETURN_IF_ERROR(SetRotaryPositions(positions, rotation));
  AMP_ASSIGN_OR_RETURN(operands.q, Rotate(operands.q, rotation));
  AMP_ASSIGN_OR_RETURN(operands.k, Rotate(operands.k, rotation));
  return absl::OkStatus();
}

// Rows of the past at `port`, those of x behind them, zeros.
absl::StatusOr<Tensor> Present(const KernelContext& context, size_t port, const Tensor& x, const Step& step) {
  Dims dims = x.dims();
  Tensor past;
  int64_t past_rows = 0;
  if (context.HasInput(port)) {
    AMP_ASSIGN_OR_RETURN(past, ToFloat64(context.Input(port)));
    past_rows = past.rank() == 4 ? past.dim(2) : 0;
    if (past.dims() != Dims{dims[0], dims[1], past_rows, dims[3]}) {
      return ModelError("expected a past as ", x.TypeText(), " but for axis 2, found ", past.TypeText());
    }
  }
  dims[2] = std::max(past_rows, step.total);
  AMP_ASSIGN_OR_RETURN(Tensor present, FilledFloat64(dims, 0));
  const auto copy = [&](const Tensor& from, int64_t image, int64_t rows, int64_t to_row) {
    const auto width = dims[3];
    const auto source = Doubles(from).subspan(static_cast<size_t>(image * from.dim(2) * width));
    const auto target =
        present.mutable_elements<double>().subspan(static_cast<size_t>((image * dims[2] + to_row) * width));
    std::copy_n(source.begin(), rows * width, target.begin());
  };
  for (int64_t image = 0; image < dims[0] * dims[1]; ++image) {
    const int64_t kept = step.Past(image / dims[1]);
    if (kept > 0) copy(past, image, kept, 0);
    copy(x, image, step.queries, kept);
  }
  return present;
}

// A softmax of a row with one more score, which gets no key.
void SoftmaxRowWithSink(absl::Span<double> row, double sink) {
  const double largest = std::max(sink, *std::max_element(row.begin(), row.end()));
  double sum = std::exp(sink - largest);
  for (double& x : row) sum += x = std::exp(x - largest);
  for (double& x : row) x /= sum;
}

// The rule that turns scores into probabilities.
struct Rule {
  GroupQueryForm form;
  std::vector<double> sinks = {};  // of every head; empty: 0
  Tensor bias = {};                // [B or 1, N or 1, S, total]; of rank 0: none

  double Bias(const Dims& index) const {  // sample, head, query, key
    if (bias.rank() == 0) return 0;
    int64_t place = 0;
    for (size_t axis = 0; axis < 4; ++axis) {
      place = place * bias.dim(axis) + (bias.dim(axis) == 1 && axis < 2 ? 0 : index[axis]);
    }
    return Doubles(bias)[static_cast<size_t>(place)];
  }
};

absl::StatusOr<Rule> ReadRule(const KernelContext& context, const GroupQueryForm& form, const Tensor& q,
                              const Step& step) {
  Rule rule{.form = form};
  AMP_ASSIGN_OR_RETURN(rule.bias, FilledFloat64({}, 0));
  if (context.HasInput(Ports::kSink)) {
    AMP_ASSIGN_OR_RETURN(const Tensor sinks, ToFloat64(context.Input(Ports::kSink)));
    if (sinks.dims() != Dims{q.dim(1)}) return ModelError("head_sink: expected [num_heads], found ", sinks.TypeText());
    rule.sinks.assign(Doubles(sinks).begin(), Doubles(sinks).end());
  }
  if (!context.HasInput(Ports::kBias)) return rule;
  AMP_ASSIGN_OR_RETURN(rule.bias, ToFloat64(context.Input(Ports::kBias)));
  const Dims& dims = rule.bias.dims();
  const bool fits = dims.size() == 4 && (dims[0] == 1 || dims[0] == q.dim(0)) &&
                    (dims[1] == 1 || dims[1] == q.dim(1)) && dims[2] == step.queries && dims[3] >= step.total;
  if (fits) return rule;
  return ModelError("attention_bias: expected [", q.dim(0), " or 1,", q.dim(1), " or 1,", step.queries, ",", step.total,
                    "], found ", context.Input(Ports::kBias).TypeText());
}

// Makes probabilities of the scores of one query; `shown` has the scores that went into the softmax.
void AttendRow(const Rule& rule, const Step& step, Dims index, absl::Span<double> row, absl::Span<double> shown) {
  const auto [begin, end] = SeenBy(rule.form, step, index[0], index[2]);
  std::fill(row.begin(), row.begin() + begin, 0.0);
  std::fill(row.begin() + end, row.end(), 0.0);
  for (index[3] = begin; index[3] < end; ++index[3]) {
    double& score = row[static_cast<size_t>(index[3])];
    if (const double cap = rule.form.soft_cap; cap > 0) score = cap * std::tanh(score / cap);
    score += rule.Bias(index);
  }
  std::copy(row.begin(), row.begin() + static_cast<std::ptrdiff_t>(shown.size()), shown.begin());
  const auto seen = row.subspan(static_cast<size_t>(begin), static_cast<size_t>(end - begin));
  if (seen.empty()) return;
  if (!rule.form.has_sink) return SoftmaxRow(seen);
  SoftmaxRowWithSink(seen, rule.sinks.empty() ? 0 : rule.sinks[static_cast<size_t>(index[1])]);
}

// The content of output 3: scores, or probabilities.
enum class Shown { kNothing = 0, kScores = 1, kProbabilities = 2 };

// In place; returns what output 3 shows, [B, N, S, total].
absl::StatusOr<Tensor> AttendRows(const Rule& rule, const Step& step, Shown what, Tensor& scores) {
  const Dims& dims = scores.dims();
  AMP_ASSIGN_OR_RETURN(Tensor shown, FilledFloat64({dims[0], dims[1], dims[2], step.total}, 0));
  const auto all = scores.mutable_elements<double>(), show = shown.mutable_elements<double>();
  const auto keys = static_cast<size_t>(dims[3]), total = static_cast<size_t>(step.total);
  for (size_t i = 0; keys > 0 && i < all.size() / keys; ++i) {
    const auto place = static_cast<int64_t>(i);
    const auto row = all.subspan(i * keys, keys), shown_row = show.subspan(i * total, total);
    AttendRow(rule, step, {place / dims[2] / dims[1], place / dims[2] % dims[1], place % dims[2], 0}, row, shown_row);
    if (what == Shown::kProbabilities) std::copy_n(row.begin(), total, shown_row.begin());
  }
  return shown;
}

absl::Status GroupQueryAttention(KernelContext& context) {
  constexpr size_t kPresentKey = 1, kPresentValue = 2, kShown = 3;
  AMP_ASSIGN_OR_RETURN(const GroupQueryForm form, ReadGroupQuery(context));
  AMP_ASSIGN_OR_RETURN(Operands operands, ReadOperands(context, form));
  AMP_ASSIGN_OR_RETURN(const Step step, ReadGroupQueryStep(context, operands.q.dim(0), operands.q.dim(2)));
  AMP_RETURN_IF_ERROR(RotateOperands(context, form, step, operands));
  AMP_ASSIGN_OR_RETURN(const Tensor k, Present(context, Ports::kPastKey, operands.k, step));
  AMP_ASSIGN_OR_RETURN(const Tensor v, Present(context, Ports::kPastValue, operands.v, step));
  const double scale = AttentionScale(form.scale, operands.q);
  AMP_ASSIGN_OR_RETURN(Tensor scores, AttentionScores(operands.q, k, scale));
  AMP_ASSIGN_OR_RETURN(const Rule rule, ReadRule(context, form, operands.q, step));
  const int64_t what = GetInt(context.node(), "qk_output", 0);
  if (what < 0 || what > 2) return ModelError("qk_output: expected 0, 1 or 2, found ", what);
  AMP_ASSIGN_OR_RETURN(const Tensor shown, AttendRows(rule, step, static_cast<Shown>(what), scores));
  AMP_ASSIGN_OR_RETURN(const Tensor mixed, MixValues(scores, v));
  AMP_ASSIGN_OR_RETURN(const Tensor joined, JoinHeads(mixed));
  const DType type = context.Input(Ports::kQuery).dtype();
  AMP_RETURN_IF_ERROR(SetRounded(context, 0, joined, type));
  AMP_RETURN_IF_ERROR(SetRounded(context, kPresentKey, k, type));
  AMP_RETURN_IF_ERROR(SetRounded(context, kPresentValue, v, type));
  return SetRounded(context, kShown, shown, type);
}

constexpr KernelRow kRows[] = {
    {"GroupQueryAttention", GroupQueryAttention, "com.microsoft"},
};

}  // namespace

absl::Span<const KernelRow> GroupQueryAttentionKernels() { return kRows; }

}  // namespace amp
