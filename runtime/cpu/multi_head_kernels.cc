// MultiHeadAttention and Attention of com.microsoft. Operands that need a bias, or stand behind those of earlier steps,
// are moved once; the others are read where they lie. The reference kernel shows scores.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "ir/base/status.h"
#include "runtime/cpu/attention_blocks.h"
#include "runtime/cpu/batched_product.h"
#include "runtime/cpu/families.h"
#include "runtime/cpu/few_queries.h"
#include "runtime/cpu/head_rows.h"
#include "runtime/forms/multi_head.h"
#include "runtime/kernel/shape_math.h"
#include "runtime/loops/best_loops.h"
#include "runtime/onednn/open_library.h"

namespace amp {
namespace {

constexpr size_t kAttentionBias = 5;  // an input of both

// One of q, k and v: the rows of this step, and those of earlier ones ahead of them.
struct Part {
  HeadView now = {}, past = {};  // `past` has a tensor if there are earlier steps
  HeadSizes sizes;               // of this step
  int64_t past_rows = 0;
  const float* bias = nullptr;  // [heads * columns]; null: none
};

struct Parts {
  Part q, k, v;

  Dims Scores() const { return {q.sizes.batch, q.sizes.heads, q.sizes.rows, k.past_rows + k.sizes.rows}; }
};

EditRow BiasOf(const Part& part) {
  if (part.bias == nullptr) return {};
  return [bias = part.bias, columns = part.sizes.columns](const HeadPlace& at, float* row) {
    const auto size = static_cast<size_t>(columns);
    BestLoops().binary.add.of_both(row, bias + static_cast<size_t>(at.head) * size, row, size);
  };
}

// The rows in one tensor [batch, heads, rows, columns], which output `port` is; or where they lie.
absl::StatusOr<HeadView> Joined(KernelContext& context, const Part& part, std::optional<size_t> port) {
  if (!port.has_value() && part.bias == nullptr && part.past_rows == 0 && part.now.first == 0) return part.now;
  const Dims dims = {part.sizes.batch, part.sizes.heads, part.past_rows + part.sizes.rows, part.sizes.columns};
  const DType dtype = part.now.tensor.dtype();
  HeadView joined;
  if (port.has_value()) {
    AMP_ASSIGN_OR_RETURN(const Tensor* output, context.MakeOutput(*port, dtype, dims));
    joined = ViewOfHeads(*output);
  } else {
    AMP_ASSIGN_OR_RETURN(const Tensor scratch, context.MakeScratch(dtype, dims));
    joined = ViewOfHeads(scratch);
  }
  if (part.past_rows > 0) {
    HeadSizes sizes = part.sizes;
    sizes.rows = part.past_rows;
    MoveRows(part.past, joined, sizes, [](int64_t) { return 0; }, {});
  }
  MoveRows(
      part.now, joined, part.sizes, [&](int64_t) { return part.past_rows; }, BiasOf(part));
  return joined;
}

Refusal WhyNotParts(const KernelContext& context, const Parts& parts) {
  const auto& [q, k, v] = parts;
  const bool fits = q.sizes.batch == k.sizes.batch && k.sizes.batch == v.sizes.batch &&
                    q.sizes.heads == k.sizes.heads && k.sizes.heads == v.sizes.heads && k.sizes.rows == v.sizes.rows &&
                    q.sizes.columns == k.sizes.columns && k.past_rows == v.past_rows;
  if (!fits) return "shapes that do not fit";
  if (!context.HasInput(kAttentionBias)) return {};
  const Tensor& bias = context.Input(kAttentionBias);
  const Dims scores = parts.Scores();
  const absl::StatusOr<Dims> dims = BroadcastDims(bias.dims(), scores);
  const bool is_addend = bias.rank() > 0 && bias.rank() <= scores.size() && bias.dims().back() == scores.back() &&
                         dims.ok() && *dims == scores;
  return is_addend ? nullptr : "a bias that does not fit";
}

HeadStrides StridesTo(const Tensor& tensor, const Dims& result) {
  const Dims strides = BroadcastStrides(tensor.dims(), result);
  return {strides[0], strides[1], strides[2], strides[3]};
}

// Describes the problem, with q, k and v as they are given. Errors: a refusal of the way; memory.
absl::StatusOr<AttentionProblem> Describe(const KernelContext& context, const Parts& parts, size_t mask_port,
                                          const AttentionWay& way) {
  const auto& [q, k, v] = parts;
  const MultiHeadForm form = ReadMultiHead(context.node());
  const Dims scores = parts.Scores();
  const int64_t width = q.sizes.heads * v.sizes.columns;
  AttentionProblem problem{.batch = scores[0],
                           .heads = scores[1],
                           .queries = scores[2],
                           .keys = scores[3],
                           .size = q.sizes.columns,
                           .value_size = v.sizes.columns,
                           .q = {q.now.tensor, q.now.strides},
                           .k = {k.now.tensor, k.now.strides},
                           .v = {v.now.tensor, v.now.strides},
                           .y = {q.sizes.rows * width, v.sizes.columns, width, 1}};
  problem.scale = form.scale.value_or(static_cast<float>(1 / std::sqrt(static_cast<double>(problem.size))));
  if (context.HasInput(kAttentionBias)) {
    const Tensor& bias = context.Input(kAttentionBias);
    problem.masks.push_back({.operand = {bias, StridesTo(bias, scores)}});
  }
  if (const Refusal refusal = way.why_not(problem)) return absl::Status(refusal);
  const absl::StatusOr<Tensor> mask = MakeMultiHeadMask(context, form, mask_port, scores, k.past_rows);
  if (!mask.ok()) return absl::IsResourceExhausted(mask.status()) ? mask.status() : Refused("a mask that does not fit");
  if (mask->dtype() != DType::kUndefined) {
    problem.masks.insert(problem.masks.begin(), ScoreMask{.operand = {*mask, StridesTo(*mask, scores)}});
  }
  return problem;
}

absl::Status Attend(KernelContext& context, AttentionProblem problem, const HeadView& q, const HeadView& k,
                    const HeadView& v, const AttentionWay& way) {
  problem.q = {q.tensor, q.strides};
  problem.k = {k.tensor, k.strides};
  problem.v = {v.tensor, v.strides};
  const Dims dims = {problem.batch, problem.queries, problem.heads * problem.value_size};
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutput(0, q.tensor.dtype(), dims));
  return way.attend(context, problem, *y);
}

bool HaveType(const KernelContext& context, DType dtype, std::initializer_list<size_t> ports) {
  return IsLoopFloat(dtype) && std::all_of(ports.begin(), ports.end(), [&](size_t port) {
           return !context.HasInput(port) || context.Input(port).dtype() == dtype;
         });
}

bool HasInputFrom(const KernelContext& context, size_t port) {
  for (; port < context.num_inputs(); ++port) {
    if (context.HasInput(port)) return true;
  }
  return false;
}

// ---- MultiHeadAttention ---------------------------------------------------------------------------------------------

struct MultiHeadPorts {
  enum : size_t { kQuery, kKey, kValue, kBias, kMask, kPastKey = 6, kPastValue, kFirstNotCovered };
  enum : size_t { kPresentKey = 1, kPresentValue, kScores };  // outputs
};

// Returns nothing if the shape is wrong; the reference kernel reports that.
std::optional<Part> PartOf(const KernelContext& context, size_t port, int64_t heads) {
  const Tensor& x = context.Input(port);
  if (x.rank() == 4 && port != MultiHeadPorts::kQuery) {
    if (x.dim(1) != heads) return std::nullopt;
    return Part{.now = ViewOfHeads(x), .sizes = {x.dim(0), heads, x.dim(2), x.dim(3)}};
  }
  if (x.rank() != 3 || heads < 1 || x.dim(2) % heads != 0) return std::nullopt;
  const int64_t columns = x.dim(2) / heads;
  return Part{.now = ViewOfColumns(x, 0, x.dim(2), columns), .sizes = {x.dim(0), heads, x.dim(1), columns}};
}

bool AddPast(const KernelContext& context, size_t port, Part& part) {
  if (!context.HasInput(port)) return true;
  const Tensor& past = context.Input(port);
  if (past.rank() != 4 || past.dims() != Dims{part.sizes.batch, part.sizes.heads, past.dim(2), part.sizes.columns}) {
    return false;
  }
  part.past = ViewOfHeads(past);
  part.past_rows = past.dim(2);
  return true;
}

std::optional<Parts> MultiHeadParts(const KernelContext& context) {
  using Ports = MultiHeadPorts;
  const int64_t heads = ReadMultiHead(context.node()).heads;
  const std::optional<Part> q = PartOf(context, Ports::kQuery, heads), k = PartOf(context, Ports::kKey, heads),
                            v = PartOf(context, Ports::kValue, heads);
  if (!q.has_value() || !k.has_value() || !v.has_value()) return std::nullopt;
  Parts parts{.q = *q, .k = *k, .v = *v};
  const bool fits = AddPast(context, Ports::kPastKey, parts.k) && AddPast(context, Ports::kPastValue, parts.v);
  return fits ? std::optional(std::move(parts)) : std::nullopt;
}

int64_t WidthOf(const Part& part) { return part.sizes.heads * part.sizes.columns; }

Refusal WhyNotMultiHead(const KernelContext& context) {
  using Ports = MultiHeadPorts;
  if (context.HasOutput(Ports::kScores)) return "it shows its scores";
  if (!context.HasInput(Ports::kKey) || !context.HasInput(Ports::kValue)) return "packed operands";
  if (HasInputFrom(context, Ports::kFirstNotCovered)) return "buffers that past and present share";
  if (context.HasInput(Ports::kPastKey) != context.HasInput(Ports::kPastValue)) return "half of a past";
  const DType dtype = context.Input(Ports::kQuery).dtype();
  if (!HaveType(context, dtype, {Ports::kKey, Ports::kValue, Ports::kBias, Ports::kPastKey, Ports::kPastValue})) {
    return "not all of one type of float32, float16 or bfloat16";
  }
  const std::optional<Parts> parts = MultiHeadParts(context);
  if (!parts.has_value()) return "shapes that do not fit";
  const int64_t width = WidthOf(parts->q) + WidthOf(parts->k) + WidthOf(parts->v);
  if (context.HasInput(Ports::kBias) && context.Input(Ports::kBias).dims() != Dims{width}) {
    return "a bias that does not fit";
  }
  return WhyNotParts(context, *parts);
}

std::optional<size_t> OutputPort(const KernelContext& context, size_t port) {
  return context.HasOutput(port) ? std::optional(port) : std::nullopt;
}

template <const AttentionWay& way>
absl::Status MultiHeadAttention(KernelContext& context) {
  using Ports = MultiHeadPorts;
  Parts parts = *MultiHeadParts(context);
  auto& [q, k, v] = parts;
  AMP_ASSIGN_OR_RETURN(AttentionProblem problem, Describe(context, parts, Ports::kMask, way));
  std::vector<float> bias;
  if (context.HasInput(Ports::kBias)) {
    bias = ReadAll(BestLoops(), context.Input(Ports::kBias));
    const float* next = bias.data();
    for (Part* const part : {&q, &k, &v}) {
      if (part->now.tensor.rank() == 3) part->bias = next;
      next += WidthOf(*part);
    }
  }
  AMP_ASSIGN_OR_RETURN(const HeadView queries, Joined(context, q, std::nullopt));
  AMP_ASSIGN_OR_RETURN(const HeadView keys, Joined(context, k, OutputPort(context, Ports::kPresentKey)));
  AMP_ASSIGN_OR_RETURN(const HeadView values, Joined(context, v, OutputPort(context, Ports::kPresentValue)));
  return Attend(context, std::move(problem), queries, keys, values, way);
}

// ---- Attention ------------------------------------------------------------------------------------------------------

struct AttentionPorts {
  enum : size_t { kInput, kWeights, kBias, kMask, kPast, kFirstNotCovered = 6 };
  enum : size_t { kPresent = 1 };  // an output
};

// Keys, and values behind them, in one tensor.
absl::Status SetPresent(KernelContext& context, const Tensor& keys, const Tensor& values) {
  Dims dims = keys.dims();
  dims.insert(dims.begin(), 2);
  AMP_ASSIGN_OR_RETURN(Tensor * present, context.MakeOutput(AttentionPorts::kPresent, keys.dtype(), dims));
  std::byte* const to = present->mutable_bytes().data();
  std::memcpy(to, keys.bytes().data(), keys.size_bytes());
  std::memcpy(to + keys.size_bytes(), values.bytes().data(), values.size_bytes());
  return absl::OkStatus();
}

// q, k and v as columns of their projections, [batch, rows, widths].
Parts PartsOf(const KernelContext& context, const Tensor& projections, const std::vector<int64_t>& widths) {
  const Tensor &x = context.Input(AttentionPorts::kInput), &past = context.Input(AttentionPorts::kPast);
  const int64_t heads = ReadMultiHead(context.node()).heads, all = widths[0] + widths[1] + widths[2];
  Parts parts;
  int64_t first = 0;
  auto width = widths.begin();
  for (Part* const part : {&parts.q, &parts.k, &parts.v}) {
    part->now = ViewOfColumns(projections, first, all, *width / heads);
    part->sizes = {x.dim(0), heads, x.dim(1), *width / heads};
    first += *width++;
  }
  if (!context.HasInput(AttentionPorts::kPast)) return parts;
  parts.k.past = ViewOfHeads(past);
  parts.v.past = ViewOfHeads(past, static_cast<size_t>(past.num_elements() / 2));
  parts.k.past_rows = parts.v.past_rows = past.dim(3);
  return parts;
}

Refusal WhyNotAttentionNode(const KernelContext& context) {
  using Ports = AttentionPorts;
  if (onednn::OpenLibrary().library == nullptr) return "oneDNN is not there";
  if (HasInputFrom(context, Ports::kFirstNotCovered)) return "buffers that past and present share";
  for (const char* attribute : {"do_rotary", "past_present_share_buffer"}) {
    if (GetInt(context.node(), attribute, 0) != 0) return "rotations, or buffers that past and present share";
  }
  const Tensor &x = context.Input(Ports::kInput), &weights = context.Input(Ports::kWeights);
  if (!HaveType(context, x.dtype(), {Ports::kWeights, Ports::kBias, Ports::kPast})) {
    return "not all of one type of float32, float16 or bfloat16";
  }
  if (x.rank() != 3 || weights.rank() != 2 || x.dim(2) != weights.dim(0) || x.num_elements() == 0 ||
      weights.num_elements() == 0) {
    return "shapes that do not fit, or no elements";
  }
  if (context.HasInput(Ports::kBias) && context.Input(Ports::kBias).dims() != Dims{weights.dim(1)}) {
    return "a bias that does not fit";
  }
  const int64_t heads = ReadMultiHead(context.node()).heads;
  const absl::StatusOr<std::vector<int64_t>> widths = ReadMultiHeadWidths(context.node(), weights.dim(1));
  if (!widths.ok() || heads < 1) return "widths that do not fit";
  for (const int64_t width : *widths) {
    if (width % heads != 0) return "widths that do not fit";
  }
  const bool has_caches = context.HasInput(Ports::kPast) || context.HasOutput(Ports::kPresent);
  if (has_caches && (*widths)[1] != (*widths)[2]) return "keys and values of two widths in one cache";
  if (context.HasInput(Ports::kPast)) {
    const Tensor& past = context.Input(Ports::kPast);
    const bool fits = past.rank() == 5 && past.dims() == Dims{2, x.dim(0), heads, past.dim(3), (*widths)[1] / heads};
    if (!fits) return "a past that does not fit";
  }
  return WhyNotParts(context, PartsOf(context, x, *widths));
}

template <const AttentionWay& way>
absl::Status Attention(KernelContext& context) {
  using Ports = AttentionPorts;
  const Tensor &x = context.Input(Ports::kInput), &weights = context.Input(Ports::kWeights);
  AMP_ASSIGN_OR_RETURN(const std::vector<int64_t> widths, ReadMultiHeadWidths(context.node(), weights.dim(1)));
  AMP_ASSIGN_OR_RETURN(AttentionProblem problem, Describe(context, PartsOf(context, x, widths), Ports::kMask, way));
  const ContractionSizes sizes = {.batch = 1, .m = x.dim(0) * x.dim(1), .k = weights.dim(0), .n = weights.dim(1)};
  AMP_ASSIGN_OR_RETURN(const Tensor projections, BatchedProduct(context, x, weights, sizes, false));
  Parts parts = PartsOf(context, projections.Reshaped({x.dim(0), x.dim(1), weights.dim(1)}), widths);
  std::vector<float> bias;
  if (context.HasInput(Ports::kBias)) {
    bias = ReadAll(BestLoops(), context.Input(Ports::kBias));
    for (Part* const part : {&parts.q, &parts.k, &parts.v}) part->bias = bias.data() + part->now.first;
  }
  AMP_ASSIGN_OR_RETURN(const HeadView queries, Joined(context, parts.q, std::nullopt));
  AMP_ASSIGN_OR_RETURN(const HeadView keys, Joined(context, parts.k, std::nullopt));
  AMP_ASSIGN_OR_RETURN(const HeadView values, Joined(context, parts.v, std::nullopt));
  if (context.HasOutput(Ports::kPresent)) AMP_RETURN_IF_ERROR(SetPresent(context, keys.tensor, values.tensor));
  return Attend(context, std::move(problem), queries, keys, values, way);
}

constexpr KernelRow RowOf(absl::string_view op_type, KernelFunction function, RefusalFunction refusal,
                          absl::string_view family) {
  return {.op_type = op_type, .function = function, .domain = "com.microsoft", .refusal = refusal, .family = family};
}

constexpr KernelRow kRows[] = {
    RowOf("MultiHeadAttention", MultiHeadAttention<kByFewQueries>, WhyNotMultiHead, "few-rows"),
    RowOf("MultiHeadAttention", MultiHeadAttention<kInBlocks>, WhyNotMultiHead, "onednn"),
    RowOf("Attention", Attention<kByFewQueries>, WhyNotAttentionNode, "few-rows"),
    RowOf("Attention", Attention<kInBlocks>, WhyNotAttentionNode, "onednn"),
};

}  // namespace

absl::Span<const KernelRow> LibraryMultiHeadKernels() { return kRows; }

}  // namespace amp
