// LinearAttention and CausalConvWithState, which carry a state from step to step, and ai.onnx.preview's FlexAttention,
// whose bodies change scores and probabilities.
#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "runtime/kernel/shape_math.h"
#include "runtime/reference/accumulator.h"
#include "runtime/reference/attention.h"
#include "runtime/reference/families.h"
#include "runtime/reference/fused_activation.h"

namespace amp {
namespace {

// ---- LinearAttention: for each token and head of k and v, with a state [dk, dv] that starts with the past one,
//        state *= exp(decay);  v -= state' k, v *= beta (rules with "delta");  state += k v';  y = scale * state' q

struct LinearOperands {
  Tensor q, k, v, decay, beta;  // [B, T, ..] float64; the latter two without elements where the rule has none
  size_t batches, tokens, q_heads, heads, dk, dv;
  bool gated, delta;
  double scale;
};

absl::StatusOr<Tensor> ReadTokens(const KernelContext& context, size_t port, absl::Span<const size_t> widths,
                                  const Tensor* like) {
  const Tensor& x = context.Input(port);
  const bool fits = x.rank() == 3 && (like == nullptr || (x.dim(0) == like->dim(0) && x.dim(1) == like->dim(1)));
  const bool known = fits && (widths.empty() ||
                              std::find(widths.begin(), widths.end(), static_cast<size_t>(x.dim(2))) != widths.end());
  if (!known)
    return ModelError("input ", port, ": expected [B, T, heads * size], found ", context.InputDatum(port).TypeText());
  return ToFloat64(x);
}

absl::Status ReadRule(const KernelContext& context, LinearOperands& operands) {
  const std::string rule = GetString(context.node(), "update_rule", "gated_delta");
  operands.gated = rule == "gated" || rule == "gated_delta";
  operands.delta = rule == "delta" || rule == "gated_delta";
  if (!operands.gated && !operands.delta && rule != "linear") {
    return ModelError("update_rule: expected linear, gated, delta or gated_delta, found '", Escaped(rule), "'");
  }
  if (operands.gated != context.HasInput(4) || operands.delta != context.HasInput(5)) {
    return ModelError("expected decay with rules that are gated, beta with delta ones, found otherwise with ", rule);
  }
  return absl::OkStatus();
}

absl::Status ReadHeads(const KernelContext& context, LinearOperands& operands) {
  const int64_t q_heads = GetInt(context.node(), "q_num_heads", 0), heads = GetInt(context.node(), "kv_num_heads", 0);
  const int64_t q_width = operands.q.dim(2), k_width = operands.k.dim(2), v_width = operands.v.dim(2);
  if (heads < 1 || q_heads < 1 || q_heads % heads != 0 || q_width % q_heads != 0 || v_width % heads != 0 ||
      k_width % heads != 0 || q_width / q_heads != k_width / heads) {
    return ModelError("expected q_num_heads, a multiple of kv_num_heads, and heads of one size, found ", q_heads,
                      " and ", heads, " with ", operands.q.TypeText(), ", ", operands.k.TypeText(), " and ",
                      operands.v.TypeText());
  }
  operands.q_heads = static_cast<size_t>(q_heads);
  operands.heads = static_cast<size_t>(heads);
  operands.dk = static_cast<size_t>(k_width / heads);
  operands.dv = static_cast<size_t>(v_width / heads);
  operands.batches = static_cast<size_t>(operands.q.dim(0));
  operands.tokens = static_cast<size_t>(operands.q.dim(1));
  return absl::OkStatus();
}

absl::StatusOr<LinearOperands> ReadLinear(const KernelContext& context) {
  LinearOperands operands = {};
  AMP_RETURN_IF_ERROR(ReadRule(context, operands));
  AMP_ASSIGN_OR_RETURN(operands.q, ReadTokens(context, 0, {}, nullptr));
  AMP_ASSIGN_OR_RETURN(operands.k, ReadTokens(context, 1, {}, &operands.q));
  AMP_ASSIGN_OR_RETURN(operands.v, ReadTokens(context, 2, {}, &operands.q));
  AMP_RETURN_IF_ERROR(ReadHeads(context, operands));
  if (operands.gated) {
    AMP_ASSIGN_OR_RETURN(operands.decay,
                         ReadTokens(context, 4, {operands.heads, operands.heads * operands.dk}, &operands.q));
  }
  if (operands.delta) {
    AMP_ASSIGN_OR_RETURN(operands.beta, ReadTokens(context, 5, {operands.heads, 1}, &operands.q));
  }
  const double scale = GetFloat(context.node(), "scale", 0);
  operands.scale = scale == 0 ? 1 / std::sqrt(static_cast<double>(operands.dk)) : scale;
  return operands;
}

// The numbers of one token in a tensor [B, T, width].
absl::Span<const double> TokenOf(const Tensor& x, size_t token) {
  const auto width = static_cast<size_t>(x.dim(2));
  return Doubles(x).subspan(token * width, width);
}

void DecayState(const LinearOperands& operands, size_t token, size_t head, absl::Span<double> state) {
  const auto decay = TokenOf(operands.decay, token);
  const bool per_head = decay.size() == operands.heads;
  for (size_t i = 0; i < state.size(); ++i) {
    state[i] *= std::exp(decay[per_head ? head : head * operands.dk + i / operands.dv]);
  }
}

// state' x, [dv].
std::vector<double> ReadState(absl::Span<const double> state, absl::Span<const double> x, size_t dv) {
  std::vector<double> result(dv, 0);
  for (size_t i = 0; i < state.size(); ++i) result[i % dv] += state[i] * x[i / dv];
  return result;
}

// One token of one head: updates the state.
void UpdateState(const LinearOperands& operands, size_t token, size_t head, absl::Span<double> state) {
  const size_t dk = operands.dk, dv = operands.dv;
  if (operands.gated) DecayState(operands, token, head, state);
  const auto k = TokenOf(operands.k, token).subspan(head * dk, dk);
  const auto given = TokenOf(operands.v, token).subspan(head * dv, dv);
  std::vector<double> v(given.begin(), given.end());
  if (operands.delta) {
    const auto beta = TokenOf(operands.beta, token);
    const std::vector<double> known = ReadState(state, k, dv);
    for (size_t i = 0; i < dv; ++i) v[i] = beta[beta.size() == 1 ? 0 : head] * (v[i] - known[i]);
  }
  for (size_t i = 0; i < state.size(); ++i) state[i] += k[i / dv] * v[i % dv];
}

absl::Status LinearAttention(KernelContext& context) {
  AMP_ASSIGN_OR_RETURN(const LinearOperands operands, ReadLinear(context));
  const size_t dk = operands.dk, dv = operands.dv, group = operands.q_heads / operands.heads;
  AMP_ASSIGN_OR_RETURN(Tensor states, FilledFloat64({operands.q.dim(0), static_cast<int64_t>(operands.heads),
                                                     static_cast<int64_t>(dk), static_cast<int64_t>(dv)},
                                                    0));
  if (context.HasInput(3)) {
    AMP_ASSIGN_OR_RETURN(const Tensor past, ToFloat64(context.Input(3)));
    if (past.dims() != states.dims()) {
      return ModelError("expected past_state ", DimsText(states.dims()), ", found ", past.TypeText());
    }
    std::copy(Doubles(past).begin(), Doubles(past).end(), states.mutable_elements<double>().begin());
  }
  const Dims dims = {operands.q.dim(0), operands.q.dim(1), static_cast<int64_t>(operands.q_heads * dv)};
  AMP_ASSIGN_OR_RETURN(Tensor y, FilledFloat64(dims, 0));
  const size_t tokens = dk == 0 || dv == 0 ? 0 : operands.batches * operands.tokens;
  for (size_t token = 0; token < tokens; ++token) {
    for (size_t head = 0; head < operands.heads; ++head) {
      const size_t number = token / operands.tokens * operands.heads + head;
      const auto state = states.mutable_elements<double>().subspan(number * dk * dv, dk * dv);
      UpdateState(operands, token, head, state);
      for (size_t q_head = head * group; q_head < (head + 1) * group; ++q_head) {
        const auto read = ReadState(state, TokenOf(operands.q, token).subspan(q_head * dk, dk), dv);
        std::transform(read.begin(), read.end(),
                       y.mutable_elements<double>().subspan((token * operands.q_heads + q_head) * dv, dv).begin(),
                       [&](double element) { return operands.scale * element; });
      }
    }
  }
  AMP_ASSIGN_OR_RETURN(Tensor rounded, FromAccumulator(y, context.Input(0).dtype()));
  AMP_ASSIGN_OR_RETURN(Tensor state, FromAccumulator(states, context.Input(context.HasInput(3) ? 3 : 0).dtype()));
  context.SetOutput(0, std::move(rounded));
  context.SetOutput(1, std::move(state));
  return absl::OkStatus();
}

// ---- CausalConvWithState

// [B, C, k - 1 + L]: the past state, or zeros, and the input.
absl::StatusOr<Tensor> PrependState(const KernelContext& context, const Tensor& x, int64_t state_size) {
  Dims dims = x.dims();
  if (__builtin_add_overflow(dims[2], state_size, &dims[2])) return LimitError("expected a shorter kernel");
  AMP_ASSIGN_OR_RETURN(Tensor all, FilledFloat64(dims, 0));
  Tensor past;
  if (context.HasInput(3)) {
    AMP_ASSIGN_OR_RETURN(past, ToFloat64(context.Input(3)));
    if (past.dims() != Dims{x.dim(0), x.dim(1), state_size}) {
      return ModelError("expected past_state ", DimsText({x.dim(0), x.dim(1), state_size}), ", found ",
                        past.TypeText());
    }
  }
  const auto state = static_cast<size_t>(state_size), length = static_cast<size_t>(x.dim(2));
  const size_t rows = all.num_elements() == 0 ? 0 : static_cast<size_t>(x.dim(0) * x.dim(1));
  for (size_t row = 0; row < rows; ++row) {
    const auto out = all.mutable_elements<double>().subspan(row * (state + length), state + length);
    if (past.num_elements() > 0)
      std::copy_n(Doubles(past).begin() + static_cast<std::ptrdiff_t>(row * state), state, out.begin());
    std::copy_n(Doubles(x).begin() + static_cast<std::ptrdiff_t>(row * length), length,
                out.begin() + static_cast<std::ptrdiff_t>(state));
  }
  return all;
}

absl::StatusOr<bool> AppliesSilu(const Node& node) {
  const std::string name = GetString(node, "activation", "none");
  if (name == "none" || name == "silu" || name == "swish") return name != "none";
  return ModelError("activation: expected none, silu or swish, found '", Escaped(name), "'");
}

absl::Status CausalConvWithState(KernelContext& context) {
  AMP_ASSIGN_OR_RETURN(const bool silu, AppliesSilu(context.node()));
  AMP_ASSIGN_OR_RETURN(const Tensor x, ToFloat64(context.Input(0)));
  AMP_ASSIGN_OR_RETURN(const Tensor w, ToFloat64(context.Input(1)));
  if (x.rank() != 3 || w.rank() != 3 || w.dim(0) != x.dim(1) || w.dim(1) != 1 || w.dim(2) < 1) {
    return ModelError("expected X [B, C, L] and W [C, 1, k], found ", x.TypeText(), " and ", w.TypeText());
  }
  Tensor bias;
  if (context.HasInput(2)) {
    AMP_ASSIGN_OR_RETURN(bias, ToFloat64(context.Input(2)));
    if (bias.dims() != Dims{x.dim(1)}) return ModelError("expected a bias [", x.dim(1), "], found ", bias.TypeText());
  }
  AMP_ASSIGN_OR_RETURN(const Tensor all, PrependState(context, x, w.dim(2) - 1));
  AMP_ASSIGN_OR_RETURN(Tensor y, FilledFloat64(x.dims(), 0));
  AMP_ASSIGN_OR_RETURN(Tensor state, FilledFloat64({x.dim(0), x.dim(1), w.dim(2) - 1}, 0));
  const auto kernel = static_cast<size_t>(w.dim(2)), length = static_cast<size_t>(x.dim(2));
  const auto channels = static_cast<size_t>(x.dim(1));
  const size_t rows = all.num_elements() == 0 ? 0 : static_cast<size_t>(x.dim(0)) * channels;
  for (size_t row = 0; row < rows; ++row) {
    const auto in = Doubles(all).subspan(row * (kernel - 1 + length), kernel - 1 + length);
    const auto filter = Doubles(w).subspan(row % channels * kernel, kernel);
    for (size_t i = 0; i < length; ++i) {
      double sum = bias.num_elements() > 0 ? Doubles(bias)[row % channels] : 0;
      for (size_t tap = 0; tap < kernel; ++tap) sum += filter[tap] * in[i + tap];
      y.mutable_elements<double>()[row * length + i] = silu ? sum * SigmoidOf(sum) : sum;
    }
    std::copy(in.end() - static_cast<std::ptrdiff_t>(kernel - 1), in.end(),
              state.mutable_elements<double>().subspan(row * (kernel - 1), kernel - 1).begin());
  }
  AMP_ASSIGN_OR_RETURN(Tensor rounded, FromAccumulator(y, context.Input(0).dtype()));
  AMP_ASSIGN_OR_RETURN(Tensor present, FromAccumulator(state, context.Input(0).dtype()));
  context.SetOutput(0, std::move(rounded));
  context.SetOutput(1, std::move(present));
  return absl::OkStatus();
}

// ---- FlexAttention

// Returns the result of the body in `attribute` for `x`, which it sees as `type`; `x` itself if there is no such body.
absl::StatusOr<Tensor> Modify(KernelContext& context, absl::string_view attribute, DType type, const Tensor& x) {
  const GraphId body = context.Body(attribute);
  AMP_ASSIGN_OR_RETURN(Tensor seen, FromAccumulator(x, type));
  if (body == kNone) return ToFloat64(seen);
  if (context.bodies().NumInputs(body) != 1) return ModelError(attribute, ": expected a body with one input");
  const Dims dims = seen.dims();
  std::vector<Datum> inputs;
  inputs.push_back(std::move(seen));
  AMP_ASSIGN_OR_RETURN(const std::vector<Datum> outputs, context.bodies().Run(body, std::move(inputs)));
  const Tensor* const result = outputs.size() == 1 ? outputs[0].tensor() : nullptr;
  if (result == nullptr || result->dtype() != type || result->dims() != dims) {
    return ModelError(attribute, ": expected a body with one output ", DTypeName(type), DimsText(dims));
  }
  return ToFloat64(*result);
}

// The element type that the bodies see.
absl::StatusOr<DType> ScoreType(const KernelContext& context) {
  if (!GetInt(context.node(), "softmax_precision").has_value()) {
    return context.Input(0).dtype() == DType::kFloat64 ? DType::kFloat64 : DType::kFloat32;
  }
  const std::optional<DType> type = GetDType(context.node(), "softmax_precision");
  if (type.has_value() && VisitFloats(*type, []<typename T>(TypeTag<T>) {})) return *type;
  return ModelError("softmax_precision: expected float, float16, double or bfloat16, found ",
                    GetInt(context.node(), "softmax_precision", 0));
}

absl::Status FlexAttention(KernelContext& context) {
  AMP_ASSIGN_OR_RETURN(const Tensor q, ToFloat64(context.Input(0)));
  AMP_ASSIGN_OR_RETURN(const Tensor k, ToFloat64(context.Input(1)));
  AMP_ASSIGN_OR_RETURN(const Tensor v, ToFloat64(context.Input(2)));
  AMP_RETURN_IF_ERROR(CheckAttention(q, k, v));
  AMP_ASSIGN_OR_RETURN(const DType type, ScoreType(context));
  AMP_ASSIGN_OR_RETURN(const Tensor products,
                       AttentionScores(q, k, AttentionScale(GetFloat(context.node(), "scale"), q)));
  AMP_ASSIGN_OR_RETURN(const Tensor scores, Modify(context, "score_mod", type, products));
  AMP_ASSIGN_OR_RETURN(Tensor probabilities, FilledFloat64(scores.dims(), 0));
  const auto out = probabilities.mutable_elements<double>();
  std::copy(Doubles(scores).begin(), Doubles(scores).end(), out.begin());
  const auto keys = static_cast<size_t>(k.dim(2));
  for (size_t i = 0; i < out.size(); i += keys) SoftmaxRow(out.subspan(i, keys));
  AMP_ASSIGN_OR_RETURN(const Tensor modified, Modify(context, "prob_mod", type, probabilities));
  AMP_ASSIGN_OR_RETURN(const Tensor mixed, MixValues(modified, v));
  AMP_ASSIGN_OR_RETURN(Tensor y, FromAccumulator(mixed, context.Input(0).dtype()));
  context.SetOutput(0, std::move(y));
  return absl::OkStatus();
}

constexpr KernelRow kRows[] = {
    {"LinearAttention", LinearAttention},
    {"CausalConvWithState", CausalConvWithState},
    {"FlexAttention", FlexAttention, "ai.onnx.preview"},
};

}  // namespace

absl::Span<const KernelRow> LinearAttentionKernels() { return kRows; }

}  // namespace amp
