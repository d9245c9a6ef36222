// Attention of ai.onnx. Other kernels compute nodes that output their scores, state numbers of valid
// keys, or have a window.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>

#include "ir/base/status.h"
#include "runtime/cpu/attention_blocks.h"
#include "runtime/cpu/families.h"
#include "runtime/cpu/few_queries.h"
#include "runtime/cpu/prepared.h"
#include "runtime/forms/attention.h"
#include "runtime/kernel/shape_math.h"

namespace amp {
namespace {

constexpr size_t kMask = 3, kPastKey = 4, kPastValue = 5, kNumValidKeys = 6;  // inputs
constexpr size_t kPresentKey = 1, kPresentValue = 2, kScores = 3;             // outputs

// The sizes and strides of [batch, heads, rows, columns], for a tensor of rank 4 or of shape [batch, rows, heads *
// columns].
struct Heads {
  int64_t batch = 0, heads = 0, rows = 0, columns = 0;
  HeadStrides strides = {};
};

std::optional<Heads> HeadsOf(const Tensor& x, int64_t heads) {
  const Dims strides = RowStrides(x.dims());
  if (x.rank() == 4) {
    return Heads{x.dim(0), x.dim(1), x.dim(2), x.dim(3), {strides[0], strides[1], strides[2], strides[3]}};
  }
  if (x.rank() != 3 || heads < 1 || x.dim(2) % heads != 0) return std::nullopt;
  const int64_t columns = x.dim(2) / heads;
  return Heads{x.dim(0), heads, x.dim(1), columns, {strides[0], columns, strides[1], 1}};
}

struct Operands {
  Heads q, k, v;
};

// Returns nothing if the shapes are wrong; the reference kernel reports that.
std::optional<Operands> OperandsOf(const KernelContext& context, const AttentionForm& form) {
  const std::optional<Heads> q = HeadsOf(context.Input(0), form.query_heads),
                             k = HeadsOf(context.Input(1), form.key_heads),
                             v = HeadsOf(context.Input(2), form.key_heads);
  if (!q.has_value() || !k.has_value() || !v.has_value()) return std::nullopt;
  const bool has_one_rank =
      context.Input(0).rank() == context.Input(1).rank() && context.Input(0).rank() == context.Input(2).rank();
  const bool fits = has_one_rank && q->batch == k->batch && q->batch == v->batch && k->heads == v->heads &&
                    k->rows == v->rows && q->columns == k->columns && k->heads > 0 && q->heads % k->heads == 0;
  return fits ? std::optional(Operands{*q, *k, *v}) : std::nullopt;
}

bool FitsPast(const KernelContext& context, size_t port, const Heads& now) {
  const Tensor& past = context.Input(port);
  return past.rank() == 4 && past.dim(0) == now.batch && past.dim(1) == now.heads && past.dim(3) == now.columns &&
         past.dtype() == context.Input(port == kPastKey ? 1 : 2).dtype();
}

int64_t NumPastKeys(const KernelContext& context) {
  return context.HasInput(kPastKey) ? context.Input(kPastKey).dim(2) : 0;
}

bool FitsMask(const KernelContext& context, const Dims& scores) {
  if (!context.HasInput(kMask)) return true;
  const Tensor& mask = context.Input(kMask);
  const absl::StatusOr<Dims> dims = BroadcastDims(mask.dims(), scores);
  return mask.rank() > 0 && mask.dims().back() == scores.back() && dims.ok() && *dims == scores;
}

Refusal WhyNot(const KernelContext& context) {
  if (context.HasOutput(kScores)) return "it shows its scores";
  if (context.HasInput(kNumValidKeys)) return "numbers of valid keys";
  const absl::StatusOr<AttentionForm> form = ReadAttention(context.node());
  if (!form.ok()) return "attributes that do not fit";
  if (form->HasWindow()) return "a window";
  const std::optional<Operands> operands = OperandsOf(context, *form);
  if (!operands.has_value()) return "shapes that do not fit";
  if (context.HasInput(kPastKey) != context.HasInput(kPastValue)) return "half of a past";
  if (context.HasInput(kPastKey)) {
    const bool fits = FitsPast(context, kPastKey, operands->k) && FitsPast(context, kPastValue, operands->v) &&
                      context.Input(kPastKey).dim(2) == context.Input(kPastValue).dim(2);
    if (!fits) return "a past that does not fit";
  }
  const int64_t keys = operands->k.rows + NumPastKeys(context);
  if (!FitsMask(context, {operands->q.batch, operands->q.heads, operands->q.rows, keys})) {
    return "a mask that does not fit";
  }
  return {};
}

// Returns the past and the current keys or values joined along the rows, as a tensor of rank 4. The joined tensor is
// the output `present_key` or `present_value` if the node has it.
absl::StatusOr<HeadOperand> Joined(KernelContext& context, size_t port, const Heads& now) {
  const bool is_key = port == 1;
  const size_t past_port = is_key ? kPastKey : kPastValue, output = is_key ? kPresentKey : kPresentValue;
  const Tensor& x = context.Input(port);
  if (!context.HasInput(past_port) && !context.HasOutput(output)) return HeadOperand{x, now.strides};
  const int64_t num_past = NumPastKeys(context);
  const Dims dims = {now.batch, now.heads, num_past + now.rows, now.columns};
  AMP_ASSIGN_OR_RETURN(Tensor joined, Tensor::Create(x.dtype(), dims, context.memory()));
  const size_t element = ElementBytes(x.dtype()), row = static_cast<size_t>(now.columns) * element;
  const std::byte* past = num_past == 0 ? nullptr : context.Input(past_port).bytes().data();
  std::byte* to = joined.mutable_bytes().data();
  for (int64_t head = 0; head < now.batch * now.heads; ++head) {
    const int64_t first = head / now.heads * now.strides[0] + head % now.heads * now.strides[1];
    if (past != nullptr) {
      std::memcpy(to, past, static_cast<size_t>(num_past) * row);
      past += static_cast<size_t>(num_past) * row;
      to += static_cast<size_t>(num_past) * row;
    }
    for (int64_t i = 0; i < now.rows; ++i, to += row) {
      std::memcpy(to, x.bytes().data() + static_cast<size_t>(first + i * now.strides[2]) * element, row);
    }
  }
  if (context.HasOutput(output)) context.SetOutput(output, joined);
  const Dims strides = RowStrides(dims);
  return HeadOperand{std::move(joined), {strides[0], strides[1], strides[2], strides[3]}};
}

void AddMask(const KernelContext& context, AttentionProblem& problem) {
  if (!context.HasInput(kMask)) return;
  const Tensor& tensor = context.Input(kMask);
  ScoreMask& mask = problem.masks.emplace_back();
  if (tensor.dtype() == DType::kBool) {
    mask.kind = ScoreMask::Kind::kKeepsWhereTrue;
    mask.fill = -std::numeric_limits<float>::infinity();
  }
  mask.operand.tensor = tensor;
  const Dims strides = BroadcastStrides(tensor.dims(), {problem.batch, problem.heads, problem.queries, problem.keys});
  std::copy(strides.begin(), strides.end(), mask.operand.strides.begin());
}

template <const AttentionWay& way>
absl::Status Attention(KernelContext& context) {
  AMP_ASSIGN_OR_RETURN(const AttentionForm form, ReadAttention(context.node()));
  const Operands operands = *OperandsOf(context, form);
  const Heads &q = operands.q, &v = operands.v;
  const float usual_scale = static_cast<float>(1 / std::sqrt(static_cast<double>(q.columns)));
  AttentionProblem problem{.batch = q.batch,
                           .heads = q.heads,
                           .queries = q.rows,
                           .keys = v.rows + NumPastKeys(context),
                           .size = q.columns,
                           .value_size = v.columns,
                           .heads_per_key = q.heads / v.heads,
                           .q = {context.Input(0), q.strides},
                           .k = {context.Input(1), operands.k.strides},
                           .v = {context.Input(2), operands.v.strides},
                           .scale = form.scale.value_or(usual_scale),
                           .soft_cap = form.soft_cap,
                           .past = form.is_causal ? NumPastKeys(context) : -1,
                           .zeroes_barred = true};
  AddMask(context, problem);
  const bool is_split = context.Input(0).rank() == 4;
  const Dims dims = is_split ? Dims{q.batch, q.heads, q.rows, v.columns} : Dims{q.batch, q.rows, q.heads * v.columns};
  const Dims strides = RowStrides(dims);
  problem.y =
      is_split ? HeadStrides{strides[0], strides[1], strides[2], 1} : HeadStrides{strides[0], v.columns, strides[1], 1};
  if (const Refusal refusal = way.why_not(problem)) return refusal;
  AMP_ASSIGN_OR_RETURN(problem.k, Joined(context, 1, operands.k));
  AMP_ASSIGN_OR_RETURN(problem.v, Joined(context, 2, operands.v));
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutput(0, context.Input(0).dtype(), dims));
  return way.attend(context, problem, *y);
}

constexpr KernelRow kRows[] = {
    {.op_type = "Attention", .function = Attention<kByFewQueries>, .refusal = WhyNot, .family = "few-rows"},
    {.op_type = "Attention", .function = Attention<kInBlocks>, .refusal = WhyNot, .family = "onednn"},
};

}  // namespace

absl::Span<const KernelRow> LibraryAttentionKernels() { return kRows; }

}  // namespace amp
