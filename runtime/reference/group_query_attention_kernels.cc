// com.microsoft's GroupQueryAttention, as genai's builder writes it: several heads of q share one of k and v, keys and
// values of earlier steps are in buffers, and rotary embedding may be inside.
//
//   past [B, Nkv, P, E]; seqlens_k[b] + 1 = T(b) tokens so far, S of them new; total_sequence_length = the largest T
//   present [B, Nkv, max(P, total), E] = T(b) - S rows of the past, the S new ones, zeros
//
// A first prompt (S = total) ignores the past. Query s attends to the first T(b) - S + s + 1 keys, or the last
// local_window_size of those, as far as T(b) goes. Soft capping comes before the attention bias. Not covered, and
// refused: caches of 8 bits, window-sized caches, norms of q and k, keys that are all in the past.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/kernel/no_kernel_error.h"
#include "runtime/kernel/shape_math.h"
#include "runtime/reference/accumulator.h"
#include "runtime/reference/attention.h"
#include "runtime/reference/attention_families.h"
#include "runtime/reference/attention_heads.h"
#include "runtime/reference/rotary.h"

namespace amp {
namespace {

enum Port : size_t {
  kQuery,
  kKey,
  kValue,
  kPastKey,
  kPastValue,
  kLengths,
  kTotal,
  kCosines,
  kSines,
  kPositions,
  kBias,
  kSink,
  kFirstNotCovered,
};

struct Operands {
  Tensor q, k, v;  // [B, N, S, E], [B, Nkv, S, E] twice, of this step alone
};

// A step by the lengths. REQUIRES of all functions: a sample of the batch.
struct Step {
  int64_t queries = 0, total = 0;
  bool is_first = false;
  std::vector<int64_t> lengths;  // T(b)

  int64_t Past(int64_t sample) const { return is_first ? 0 : lengths[static_cast<size_t>(sample)] - queries; }
};

absl::Status CheckCovered(const KernelContext& context) {
  const Node& node = context.node();
  for (size_t port = kFirstNotCovered; port < context.num_inputs(); ++port) {
    if (context.HasInput(port))
      return NoKernelError(absl::StrCat("input ", port, ": expected none, found one: no kernel for it"));
  }
  if (GetInt(node, "sliding_window_cache", 0) != 0) {
    return NoKernelError(absl::StrCat("sliding_window_cache: expected 0: no kernel for it"));
  }
  if (context.HasInput(kKey) != context.HasInput(kValue) ||
      context.HasInput(kPastKey) != context.HasInput(kPastValue)) {
    return ModelError("expected key and value, and past_key and past_value, both or none, found one");
  }
  return absl::OkStatus();
}

absl::StatusOr<Operands> ReadOperands(const KernelContext& context) {
  const int64_t heads = GetInt(context.node(), "num_heads", 0), kv_heads = GetInt(context.node(), "kv_num_heads", 0);
  if (heads < 1 || kv_heads < 1 || heads % kv_heads != 0 || heads > kMaxElements) {
    return ModelError("expected num_heads a multiple of kv_num_heads, found ", heads, " and ", kv_heads);
  }
  AMP_ASSIGN_OR_RETURN(Tensor q, ToFloat64(context.Input(kQuery)));
  if (q.rank() != 3) return ModelError("expected a query [B, S, H], found ", context.Input(kQuery).TypeText());
  Tensor k, v;
  if (context.HasInput(kKey)) {
    AMP_ASSIGN_OR_RETURN(k, ToFloat64(context.Input(kKey)));
    AMP_ASSIGN_OR_RETURN(v, ToFloat64(context.Input(kValue)));
  } else {
    const int64_t size = q.dim(2) / (heads + 2 * kv_heads);
    if (size * (heads + 2 * kv_heads) != q.dim(2)) {
      return ModelError("expected heads of one width in a packed query, found ", context.Input(kQuery).TypeText());
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

absl::StatusOr<Step> ReadStep(const KernelContext& context, const Tensor& q) {
  Step step;
  step.queries = q.dim(2);
  AMP_ASSIGN_OR_RETURN(step.total, context.InputInt(kTotal));
  AMP_ASSIGN_OR_RETURN(step.lengths, context.InputInts(kLengths));
  if (step.total < step.queries) {
    return ModelError("total_sequence_length: expected at least ", step.queries, ", found ", step.total);
  }
  step.is_first = step.queries == step.total;
  if (static_cast<int64_t>(step.lengths.size()) != q.dim(0)) {
    return ModelError("seqlens_k: expected ", q.dim(0), " numbers, found ", step.lengths.size());
  }
  if (step.queries > 1 && !step.is_first && q.dim(0) != 1) {
    return ModelError("expected a batch of 1 where several tokens follow others, found ", q.dim(0));
  }
  const bool has_past = context.HasInput(kPastKey) && context.Input(kPastKey).rank() == 4;
  const int64_t past = has_past ? context.Input(kPastKey).dim(2) : 0;
  for (int64_t& length : step.lengths) {
    const int64_t found = length;
    length = found < step.total ? found + 1 : 0;
    const int64_t earlier = step.is_first ? 0 : length - step.queries;
    if (length < 1 || earlier < 0 || earlier > past) {
      return ModelError("seqlens_k: expected lengths that fit ", step.queries, " new tokens, a past of ", past, " and ",
                        step.total, " in all, found ", found);
    }
  }
  return step;
}

// Places of tokens, [B, S]. Of a first prompt the given ones say where the first token is.
absl::StatusOr<std::vector<int64_t>> Positions(const KernelContext& context, const Step& step) {
  const auto batch = static_cast<int64_t>(step.lengths.size());
  std::vector<int64_t> given, positions;
  if (context.HasInput(kPositions)) {
    AMP_ASSIGN_OR_RETURN(given, context.InputInts(kPositions));
    const bool fits = step.is_first ? !given.empty() : context.Input(kPositions).dims() == Dims{batch, step.queries};
    if (!fits) return ModelError("position_ids: expected [B, S], found ", context.Input(kPositions).TypeText());
    if (!step.is_first) return given;
  }
  for (int64_t sample = 0; sample < batch; ++sample) {
    for (int64_t place = 0; place < step.queries; ++place) {
      const int64_t first = given.empty() ? step.Past(sample) : given[0];
      positions.push_back(first + place);
    }
  }
  return positions;
}

absl::Status RotateOperands(const KernelContext& context, const Step& step, Operands& operands) {
  if (GetInt(context.node(), "do_rotary", 0) == 0) return absl::OkStatus();
  if (!context.HasInput(kCosines) || !context.HasInput(kSines)) {
    return ModelError("do_rotary: expected cos_cache and sin_cache, found none");
  }
  const bool neighbours = GetInt(context.node(), "rotary_interleaved", 0) != 0;
  Rotation rotation;
  rotation.pairs = neighbours ? RotaryPairs::kNeighbours : RotaryPairs::kHalves;
  AMP_RETURN_IF_ERROR(ReadRotaryCaches(context, kCosines, kSines, rotation));
  if (rotation.cosines.rank() != 2) {
    return ModelError("expected caches of rank 2, found ", context.Input(kCosines).TypeText());
  }
  AMP_ASSIGN_OR_RETURN(const std::vector<int64_t> positions, Positions(context, step));
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
  double softcap = 0;
  int64_t window = -1;
  bool is_causal = true, has_sink = false;
  std::vector<double> sinks;  // of every head; empty: 0
  Tensor bias;                // [B or 1, N or 1, S, total]; of rank 0: none

  double Bias(const Dims& index) const {  // sample, head, query, key
    if (bias.rank() == 0) return 0;
    int64_t place = 0;
    for (size_t axis = 0; axis < 4; ++axis) {
      place = place * bias.dim(axis) + (bias.dim(axis) == 1 && axis < 2 ? 0 : index[axis]);
    }
    return Doubles(bias)[static_cast<size_t>(place)];
  }
};

absl::StatusOr<Rule> ReadRule(const KernelContext& context, const Tensor& q, const Step& step) {
  const Node& node = context.node();
  Rule rule;
  rule.softcap = GetFloat(node, "softcap", 0);
  rule.window = GetInt(node, "local_window_size", -1);
  rule.is_causal = GetInt(node, "causal", 1) != 0;
  rule.has_sink = context.HasInput(kSink) || GetInt(node, "smooth_softmax", 0) != 0;
  AMP_ASSIGN_OR_RETURN(rule.bias, FilledFloat64({}, 0));
  if (context.HasInput(kSink)) {
    AMP_ASSIGN_OR_RETURN(const Tensor sinks, ToFloat64(context.Input(kSink)));
    if (sinks.dims() != Dims{q.dim(1)}) return ModelError("head_sink: expected [num_heads], found ", sinks.TypeText());
    rule.sinks.assign(Doubles(sinks).begin(), Doubles(sinks).end());
  }
  if (!context.HasInput(kBias)) return rule;
  AMP_ASSIGN_OR_RETURN(rule.bias, ToFloat64(context.Input(kBias)));
  const Dims& dims = rule.bias.dims();
  const bool fits = dims.size() == 4 && (dims[0] == 1 || dims[0] == q.dim(0)) &&
                    (dims[1] == 1 || dims[1] == q.dim(1)) && dims[2] == step.queries && dims[3] >= step.total;
  if (fits) return rule;
  return ModelError("attention_bias: expected [", q.dim(0), " or 1,", q.dim(1), " or 1,", step.queries, ",", step.total,
                    "], found ", context.Input(kBias).TypeText());
}

// Makes probabilities of the scores of one query; `shown` has the scores that went into the softmax.
void AttendRow(const Rule& rule, const Step& step, Dims index, absl::Span<double> row, absl::Span<double> shown) {
  const int64_t length = step.lengths[static_cast<size_t>(index[0])];
  const int64_t seen_by_rule = rule.is_causal ? step.Past(index[0]) + index[2] + 1 : length;
  const int64_t end = std::min(seen_by_rule, length);
  const int64_t begin = rule.window >= 0 ? std::clamp<int64_t>(seen_by_rule - rule.window, 0, end) : 0;
  std::fill(row.begin(), row.begin() + begin, 0.0);
  std::fill(row.begin() + end, row.end(), 0.0);
  for (index[3] = begin; index[3] < end; ++index[3]) {
    double& score = row[static_cast<size_t>(index[3])];
    if (rule.softcap > 0) score = rule.softcap * std::tanh(score / rule.softcap);
    score += rule.Bias(index);
  }
  std::copy(row.begin(), row.begin() + static_cast<std::ptrdiff_t>(shown.size()), shown.begin());
  const auto seen = row.subspan(static_cast<size_t>(begin), static_cast<size_t>(end - begin));
  if (seen.empty()) return;
  if (!rule.has_sink) return SoftmaxRow(seen);
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
  AMP_RETURN_IF_ERROR(CheckCovered(context));
  AMP_ASSIGN_OR_RETURN(Operands operands, ReadOperands(context));
  AMP_ASSIGN_OR_RETURN(const Step step, ReadStep(context, operands.q));
  AMP_RETURN_IF_ERROR(RotateOperands(context, step, operands));
  AMP_ASSIGN_OR_RETURN(const Tensor k, Present(context, kPastKey, operands.k, step));
  AMP_ASSIGN_OR_RETURN(const Tensor v, Present(context, kPastValue, operands.v, step));
  const float stated = GetFloat(context.node(), "scale", 0);
  const double scale = AttentionScale(stated == 0 ? std::nullopt : std::optional(stated), operands.q);
  AMP_ASSIGN_OR_RETURN(Tensor scores, AttentionScores(operands.q, k, scale));
  AMP_ASSIGN_OR_RETURN(const Rule rule, ReadRule(context, operands.q, step));
  const int64_t what = GetInt(context.node(), "qk_output", 0);
  if (what < 0 || what > 2) return ModelError("qk_output: expected 0, 1 or 2, found ", what);
  AMP_ASSIGN_OR_RETURN(const Tensor shown, AttendRows(rule, step, static_cast<Shown>(what), scores));
  AMP_ASSIGN_OR_RETURN(const Tensor mixed, MixValues(scores, v));
  AMP_ASSIGN_OR_RETURN(const Tensor joined, JoinHeads(mixed));
  const DType type = context.Input(kQuery).dtype();
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
