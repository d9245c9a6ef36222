// Attention of ai.onnx, and RotaryEmbedding.
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

#include "runtime/kernel/shape_math.h"
#include "runtime/reference/accumulator.h"
#include "runtime/reference/attention.h"
#include "runtime/reference/families.h"
#include "runtime/reference/matrix_product.h"

namespace amp {
namespace {

// [B, L, H * E] as [B, H, L, E]; a tensor of rank 4 is that already.
absl::StatusOr<Tensor> SplitHeads(const KernelContext& context, const Tensor& x, absl::string_view heads_attribute) {
  if (x.rank() == 4) return x;
  const int64_t heads = GetInt(context.node(), heads_attribute, 0);
  if (x.rank() != 3 || heads < 1 || heads > std::max<int64_t>(1, x.dim(2)) || x.dim(2) % heads != 0) {
    return ModelError("expected [B, L, ", heads_attribute, " * E] or rank 4, found ", x.TypeText(), " and ",
                      heads_attribute, " ", heads);
  }
  return PermuteAxes(x.Reshaped({x.dim(0), x.dim(1), heads, x.dim(2) / heads}), {0, 2, 1, 3});
}

absl::StatusOr<Tensor> JoinHeads(const Tensor& x) {
  AMP_ASSIGN_OR_RETURN(const Tensor y, PermuteAxes(x, {0, 2, 1, 3}));
  int64_t width = 0;
  if (__builtin_mul_overflow(x.dim(1), x.dim(3), &width)) return LimitError("expected fewer heads");
  return Reshape(y, {x.dim(0), x.dim(2), width});
}

// The keys or values of earlier steps, if any, and those of this one after them.
absl::StatusOr<Tensor> AppendToPast(const KernelContext& context, size_t past_port, const Tensor& x) {
  if (!context.HasInput(past_port)) return x;
  AMP_ASSIGN_OR_RETURN(const Tensor past, ToFloat64(context.Input(past_port)));
  if (past.rank() != 4 || past.dim(0) != x.dim(0) || past.dim(1) != x.dim(1) || past.dim(3) != x.dim(3)) {
    return ModelError("expected a past as ", x.TypeText(), " but for axis 2, found ", past.TypeText());
  }
  Dims dims = x.dims();
  if (__builtin_add_overflow(dims[2], past.dim(2), &dims[2])) return LimitError("expected a shorter past");
  AMP_ASSIGN_OR_RETURN(Tensor all, Tensor::Create(DType::kFloat64, dims));
  const auto images = static_cast<size_t>(all.num_elements() == 0 ? 0 : dims[0] * dims[1]);
  auto next = all.mutable_elements<double>().begin();
  for (size_t i = 0; i < images; ++i) {
    for (const Tensor* part : {&past, &x}) {
      const size_t size = Doubles(*part).size() / images;
      const auto elements = Doubles(*part).subspan(i * size, size);
      next = std::copy(elements.begin(), elements.end(), next);
    }
  }
  return all;
}

struct Operands {
  Tensor q, k, v;  // as runtime/reference/attention.h has them, the past included
  int64_t past = 0;
};

absl::StatusOr<Operands> ReadOperands(const KernelContext& context) {
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
  AMP_ASSIGN_OR_RETURN(operands.q, SplitHeads(context, q, "q_num_heads"));
  AMP_ASSIGN_OR_RETURN(operands.k, SplitHeads(context, k, "kv_num_heads"));
  AMP_ASSIGN_OR_RETURN(operands.v, SplitHeads(context, v, "kv_num_heads"));
  AMP_ASSIGN_OR_RETURN(operands.k, AppendToPast(context, 4, operands.k));
  AMP_ASSIGN_OR_RETURN(operands.v, AppendToPast(context, 5, operands.v));
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

absl::StatusOr<KeyRule> ReadKeyRule(const KernelContext& context, const Operands& operands) {
  const Node& node = context.node();
  KeyRule rule;
  rule.queries = operands.q.dim(2);
  rule.past = operands.past;
  rule.causal = GetInt(node, "is_causal", 0) != 0;
  rule.left = GetInt(node, "left_window_size", -1);
  rule.right = GetInt(node, "right_window_size", -1);
  if (rule.left < -1 || rule.right < -1) return ModelError("expected window sizes of at least -1");
  rule.right = std::min(rule.right, kMaxElements);
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

// What output 3 shows.
enum class Shown { kProducts = 0, kCapped = 1, kBiased = 2, kProbabilities = 3 };

// Makes probabilities of scores, row by row; `shown` gets what the node asks for.
void AttendRows(const KeyRule& rule, const Mask& mask, double softcap, Shown what, Tensor& scores, Tensor& shown) {
  const auto out = scores.mutable_elements<double>();
  const auto show = shown.mutable_elements<double>();
  const Dims& dims = scores.dims();
  const auto keys = static_cast<size_t>(dims[3]);
  if (keys == 0) return;
  Dims index;
  for (StridedWalk walk({dims[0], dims[1], dims[2]}, {{dims[1] * dims[2], dims[2], 1}}); !walk.AtEnd(); walk.Next()) {
    const auto row = out.subspan(walk[0] * keys, keys);
    const auto shown_row = show.subspan(walk[0] * keys, keys);
    const auto show_if = [&](Shown now) {
      if (what == now) std::copy(row.begin(), row.end(), shown_row.begin());
    };
    show_if(Shown::kProducts);
    if (softcap > 0) {
      for (double& score : row) score = softcap * std::tanh(score / softcap);
    }
    show_if(Shown::kCapped);
    bool barred = true;
    for (size_t key = 0; key < keys; ++key) {
      index = walk.index();
      index.push_back(static_cast<int64_t>(key));
      const double bias = rule.Allows(index[0], index[2], index[3]) ? mask.At(index) : -INFINITY;
      barred = barred && bias == -INFINITY;
      row[key] += bias;
    }
    show_if(Shown::kBiased);
    barred = barred || std::all_of(row.begin(), row.end(), [](double score) { return score == -INFINITY; });
    if (barred) std::fill(row.begin(), row.end(), 0);
    if (!barred) SoftmaxRow(row);
    show_if(Shown::kProbabilities);
  }
}

absl::Status SetRounded(KernelContext& context, size_t port, const Tensor& x, DType dtype) {
  if (!context.HasOutput(port)) return absl::OkStatus();
  AMP_ASSIGN_OR_RETURN(Tensor y, FromAccumulator(x, dtype));
  context.SetOutput(port, std::move(y));
  return absl::OkStatus();
}

absl::Status Attention(KernelContext& context) {
  const Node& node = context.node();
  AMP_ASSIGN_OR_RETURN(const Operands operands, ReadOperands(context));
  AMP_ASSIGN_OR_RETURN(const KeyRule rule, ReadKeyRule(context, operands));
  const int64_t mode = GetInt(node, "qk_matmul_output_mode", 0);
  if (mode < 0 || mode > 3) return ModelError("qk_matmul_output_mode: expected 0 to 3, found ", mode);
  const double scale = AttentionScale(GetFloat(node, "scale"), operands.q);
  AMP_ASSIGN_OR_RETURN(Tensor scores, AttentionScores(operands.q, operands.k, scale));
  AMP_ASSIGN_OR_RETURN(const Mask mask, ReadMask(context, scores.dims()));
  AMP_ASSIGN_OR_RETURN(Tensor shown, FilledFloat64(scores.dims(), 0));
  AttendRows(rule, mask, GetFloat(node, "softcap", 0), static_cast<Shown>(mode), scores, shown);
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

// Where the angles of a token are in the caches: rows of [.., half] by position, or by batch and place in the sequence.
absl::StatusOr<std::vector<size_t>> AngleRows(const KernelContext& context, const Tensor& x, int64_t half) {
  const Tensor& cache = context.Input(1);
  const int64_t batch = x.dim(0), length = x.dim(2), tokens = x.num_elements() == 0 ? 0 : batch * length;
  if (context.Input(2).dims() != cache.dims() || cache.rank() == 0 || cache.dims().back() != half) {
    return ModelError("expected both caches [.., ", half, "], found ", cache.TypeText(), " and ",
                      context.InputDatum(2).TypeText());
  }
  std::vector<size_t> rows;
  if (!context.HasInput(3)) {
    if (cache.dims() != Dims{batch, length, half}) {
      return ModelError("expected caches ", DimsText({batch, length, half}), ", found ", cache.TypeText());
    }
    for (int64_t i = 0; i < tokens; ++i) rows.push_back(static_cast<size_t>(i));
    return rows;
  }
  AMP_ASSIGN_OR_RETURN(const std::vector<int64_t> positions, context.InputInts(3));
  if (cache.rank() != 2 || context.Input(3).dims() != Dims{batch, length}) {
    return ModelError("expected caches of rank 2 and position_ids ", DimsText({batch, length}), ", found ",
                      cache.TypeText(), " and ", context.Input(3).TypeText());
  }
  for (const int64_t position : positions) {
    if (position < 0 || position >= cache.dim(0)) {
      return ModelError("position_ids: expected numbers in [0, ", cache.dim(0), "), found ", position);
    }
    rows.push_back(static_cast<size_t>(position));
  }
  return rows;
}

absl::Status RotaryEmbedding(KernelContext& context) {
  const Node& node = context.node();
  AMP_ASSIGN_OR_RETURN(const Tensor wide, ToFloat64(context.Input(0)));
  AMP_ASSIGN_OR_RETURN(const Tensor x, SplitHeads(context, wide, "num_heads"));  // [B, H, L, E]
  const int64_t rotary = GetInt(node, "rotary_embedding_dim", 0);
  const int64_t rotated = rotary == 0 ? x.dim(3) : rotary;
  if (rotated < 0 || rotated > x.dim(3) || rotated % 2 != 0) {
    return ModelError("expected an even number up to ", x.dim(3), " of elements to rotate, found ", rotated);
  }
  const auto half = static_cast<size_t>(rotated / 2), size = static_cast<size_t>(x.dim(3));
  AMP_ASSIGN_OR_RETURN(const std::vector<size_t> rows, AngleRows(context, x, rotated / 2));
  AMP_ASSIGN_OR_RETURN(const Tensor cosines, ToFloat64(context.Input(1)));
  AMP_ASSIGN_OR_RETURN(const Tensor sines, ToFloat64(context.Input(2)));
  AMP_ASSIGN_OR_RETURN(Tensor result, Tensor::Create(DType::kFloat64, x.dims()));
  const auto out = result.mutable_elements<double>();
  std::copy(Doubles(x).begin(), Doubles(x).end(), out.begin());
  const bool interleaved = GetInt(node, "interleaved", 0) != 0;
  const size_t tokens = x.num_elements() == 0 ? 0 : out.size() / size;
  const auto heads = static_cast<size_t>(x.dim(1)), length = static_cast<size_t>(x.dim(2));
  for (size_t token = 0; token < tokens; ++token) {
    const size_t row = rows[token / (heads * length) * length + token % length];
    for (size_t i = 0; i < half; ++i) {
      const size_t first = token * size + (interleaved ? 2 * i : i), second = first + (interleaved ? 1 : half);
      const double cosine = Doubles(cosines)[row * half + i], sine = Doubles(sines)[row * half + i];
      const double real = out[first], imaginary = out[second];
      out[first] = cosine * real - sine * imaginary;
      out[second] = sine * real + cosine * imaginary;
    }
  }
  if (context.Input(0).rank() == 3) {
    AMP_ASSIGN_OR_RETURN(result, JoinHeads(result));
  }
  return SetRounded(context, 0, result, context.Input(0).dtype());
}

constexpr KernelRow kRows[] = {
    {"Attention", Attention},
    {"RotaryEmbedding", RotaryEmbedding},
};

}  // namespace

absl::Span<const KernelRow> AttentionKernels() { return kRows; }

}  // namespace amp
