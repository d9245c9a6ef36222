// GroupQueryAttention of com.microsoft. The new keys and values go straight to where `present` has them, turned on the
// way; where the caller gives the past away, the earlier ones stay where they are. The reference kernel shows scores.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "ir/base/status.h"
#include "runtime/cpu/attention_blocks.h"
#include "runtime/cpu/families.h"
#include "runtime/cpu/few_queries.h"
#include "runtime/cpu/head_rows.h"
#include "runtime/forms/group_query.h"
#include "runtime/kernel/parallel_for.h"
#include "runtime/kernel/shape_math.h"
#include "runtime/loops/best_loops.h"

namespace amp {
namespace {

using Ports = GroupQueryPorts;
constexpr size_t kPresentKey = 1, kPresentValue = 2, kScores = 3;  // outputs

// Heads of q, k and v, of this step alone: [batch, heads or key_heads, queries, size].
struct Operands {
  HeadView q = {}, k = {}, v = {};
  int64_t batch = 0, queries = 0, size = 0;
};

// Returns nothing if the shapes are wrong; the reference kernel reports that.
std::optional<Operands> OperandsOf(const KernelContext& context, const GroupQueryForm& form) {
  const Tensor& query = context.Input(Ports::kQuery);
  const bool is_packed = !context.HasInput(Ports::kKey);
  const int64_t heads = form.heads + (is_packed ? 2 * form.key_heads : 0);
  if (query.rank() != 3 || query.dim(2) % heads != 0) return std::nullopt;
  const int64_t size = query.dim(2) / heads, key_width = form.key_heads * size;
  Operands operands{.batch = query.dim(0), .queries = query.dim(1), .size = size};
  operands.q = ViewOfColumns(query, 0, query.dim(2), size);
  if (is_packed) {
    operands.k = ViewOfColumns(query, form.heads * size, query.dim(2), size);
    operands.v = ViewOfColumns(query, form.heads * size + key_width, query.dim(2), size);
    return operands;
  }
  const Tensor &key = context.Input(Ports::kKey), &value = context.Input(Ports::kValue);
  const Dims expected = {query.dim(0), query.dim(1), key_width};
  if (key.dims() != expected || value.dims() != expected) return std::nullopt;
  operands.k = ViewOfColumns(key, 0, key_width, size);
  operands.v = ViewOfColumns(value, 0, key_width, size);
  return operands;
}

bool FitsPast(const KernelContext& context, const Operands& operands, const GroupQueryForm& form) {
  for (const size_t port : {Ports::kPastKey, Ports::kPastValue}) {
    if (!context.HasInput(port)) continue;
    const Tensor& past = context.Input(port);
    if (past.rank() != 4 || past.dims() != Dims{operands.batch, form.key_heads, past.dim(2), operands.size} ||
        past.dim(2) != context.Input(Ports::kPastKey).dim(2)) {
      return false;
    }
  }
  return true;
}

bool FitsCaches(const KernelContext& context, const GroupQueryForm& form, int64_t size) {
  if (!form.is_rotated) return true;
  const Tensor &cosines = context.Input(Ports::kCosines), &sines = context.Input(Ports::kSines);
  return cosines.rank() == 2 && cosines.dims() == sines.dims() && cosines.dim(1) <= size / 2 &&
         IsLoopFloat(cosines.dtype()) && IsLoopFloat(sines.dtype());
}

bool FitsBias(const KernelContext& context, const GroupQueryForm& form, const GroupQueryStep& step) {
  if (!context.HasInput(Ports::kBias)) return true;
  const Tensor& bias = context.Input(Ports::kBias);
  const auto batch = static_cast<int64_t>(step.lengths.size());
  return bias.rank() == 4 && (bias.dim(0) == 1 || bias.dim(0) == batch) &&
         (bias.dim(1) == 1 || bias.dim(1) == form.heads) && bias.dim(2) == step.queries && bias.dim(3) >= step.total;
}

bool HaveOneType(const KernelContext& context) {
  const DType dtype = context.Input(Ports::kQuery).dtype();
  for (const size_t port : {Ports::kKey, Ports::kValue, Ports::kPastKey, Ports::kPastValue}) {
    if (context.HasInput(port) && context.Input(port).dtype() != dtype) return false;
  }
  return IsLoopFloat(dtype);
}

Refusal WhyNot(const KernelContext& context) {
  if (context.HasOutput(kScores)) return "it shows its scores";
  if (!HaveOneType(context)) return "not all of one type of float32, float16 or bfloat16";
  const absl::StatusOr<GroupQueryForm> form = ReadGroupQuery(context);
  if (!form.ok()) return "a form that no kernel covers";
  const std::optional<Operands> operands = OperandsOf(context, *form);
  if (!operands.has_value() || !FitsPast(context, *operands, *form)) return "shapes that do not fit";
  const absl::StatusOr<GroupQueryStep> step = ReadGroupQueryStep(context, operands->batch, operands->queries);
  if (!step.ok() || !FitsBias(context, *form, *step) || !FitsCaches(context, *form, operands->size)) {
    return "lengths, caches or a bias that do not fit";
  }
  if (operands->batch == 0 || operands->queries == 0 || operands->size == 0) return "no elements";
  const bool has_sinks = context.HasInput(Ports::kSink);
  if (has_sinks &&
      (context.Input(Ports::kSink).dims() != Dims{form->heads} || !IsLoopFloat(context.Input(Ports::kSink).dtype()))) {
    return "sinks that do not fit";
  }
  return {};
}

// ---- what goes into the problem -------------------------------------------------------------------------------------

// Turns pairs of elements by the angles of a token's position.
class Turner {
 public:
  Turner(const KernelContext& context, const GroupQueryForm& form, std::vector<int64_t> positions, int64_t queries)
      : cosines_(BestLoops(), context.Input(Ports::kCosines)),
        sines_(BestLoops(), context.Input(Ports::kSines)),
        half_(static_cast<size_t>(context.Input(Ports::kCosines).dim(1))),
        turns_neighbours_(form.turns_neighbours),
        positions_(std::move(positions)),
        queries_(queries) {}

  void operator()(const HeadPlace& at, float* row) const {
    std::vector<float> buffer(2 * half_);
    const auto position = static_cast<size_t>(positions_[static_cast<size_t>(at.batch * queries_ + at.row)]);
    const float* const cosines = cosines_.Read(position * half_, half_, buffer.data());
    const float* const sines = sines_.Read(position * half_, half_, buffer.data() + half_);
    const size_t step = turns_neighbours_ ? 2 : 1, apart = turns_neighbours_ ? 1 : half_;
    for (size_t i = 0; i < half_; ++i) {
      float &real = row[i * step], &imaginary = row[i * step + apart];
      const float was_real = real, was_imaginary = imaginary;
      real = cosines[i] * was_real - sines[i] * was_imaginary;
      imaginary = sines[i] * was_real + cosines[i] * was_imaginary;
    }
  }

 private:
  FloatSource cosines_, sines_;
  size_t half_;
  bool turns_neighbours_;
  std::vector<int64_t> positions_;
  int64_t queries_;
};

// Null where nothing is turned. Errors: a refusal of positions that the caches do not have.
absl::StatusOr<EditRow> TurnerOf(const KernelContext& context, const GroupQueryForm& form, const GroupQueryStep& step) {
  if (!form.is_rotated) return EditRow();
  absl::StatusOr<std::vector<int64_t>> positions = ReadGroupQueryPositions(context, step);
  const int64_t count = context.Input(Ports::kCosines).dim(0);
  const auto is_there = [count](int64_t position) { return position >= 0 && position < count; };
  if (!positions.ok() || !std::all_of(positions->begin(), positions->end(), is_there)) {
    return Refused("positions that do not fit");
  }
  return EditRow(Turner(context, form, *std::move(positions), step.queries));
}

void FillWithZeros(HeadView& view, const HeadSizes& sizes, const std::function<int64_t(int64_t)>& from_row) {
  const size_t element = ElementBytes(view.tensor.dtype());
  std::byte* const elements = view.tensor.mutable_bytes().data();
  const auto most = static_cast<size_t>(sizes.rows * sizes.columns);
  ParallelFor(static_cast<size_t>(sizes.batch * sizes.heads), most, [&](const Share& share) {
    for (auto i = static_cast<int64_t>(share.first); i < static_cast<int64_t>(share.end); ++i) {
      const HeadPlace first = {.batch = i / sizes.heads, .head = i % sizes.heads, .row = from_row(i / sizes.heads)};
      std::memset(elements + view.Place(first) * element, 0,
                  static_cast<size_t>((sizes.rows - first.row) * sizes.columns) * element);
    }
  });
}

// Output `port`: rows of the past, those of `now` behind them, zeros.
absl::StatusOr<Tensor> Present(KernelContext& context, size_t port, size_t past_port, const HeadView& now,
                               const HeadSizes& sizes, const GroupQueryStep& step, const EditRow& edit) {
  const bool has_past = context.HasInput(past_port);
  const int64_t past_rows = has_past ? context.Input(past_port).dim(2) : 0;
  const Dims dims = {sizes.batch, sizes.heads, std::max(past_rows, step.total), sizes.columns};
  const bool has_its_dims = has_past && context.Input(past_port).dims() == dims;
  AMP_ASSIGN_OR_RETURN(Tensor * made, has_its_dims ? context.MakeOutputLike(port, past_port)
                                                   : context.MakeOutput(port, now.tensor.dtype(), dims));
  HeadView present = ViewOfHeads(*made);
  if (has_past && made->data() != context.Input(past_port).data()) {
    const HeadView past = ViewOfHeads(context.Input(past_port));
    for (int64_t sample = 0; sample < sizes.batch; ++sample) {
      HeadView from = past, to = present;
      from.first = past.Place({.batch = sample, .head = 0, .row = 0});
      to.first = present.Place({.batch = sample, .head = 0, .row = 0});
      const HeadSizes kept = {.batch = 1, .heads = sizes.heads, .rows = step.Past(sample), .columns = sizes.columns};
      MoveRows(from, to, kept, [](int64_t) { return 0; }, {});
    }
  }
  MoveRows(
      now, present, sizes, [&](int64_t sample) { return step.Past(sample); }, edit);
  FillWithZeros(present, {.batch = sizes.batch, .heads = sizes.heads, .rows = dims[2], .columns = sizes.columns},
                [&](int64_t sample) { return step.Past(sample) + step.queries; });
  return *made;
}

// Bars the keys that a query does not see, unless the rule of the problem's past says it all. What a bias has there
// does not count, not even NaN: so this mask comes last.
absl::Status AddSeenMask(const KernelContext& context, const GroupQueryForm& form, const GroupQueryStep& step,
                         AttentionProblem& problem) {
  const int64_t past = form.is_causal ? step.Past(0) : -1;
  bool says_all = true;
  for (int64_t sample = 0; sample < problem.batch && says_all; ++sample) {
    for (int64_t query = 0; query < problem.queries && says_all; ++query) {
      const auto [begin, end] = SeenBy(form, step, sample, query);
      says_all = begin == 0 && end == (past >= 0 ? std::min(problem.keys, past + query + 1) : problem.keys);
    }
  }
  if (says_all) {
    problem.past = past;
    return absl::OkStatus();
  }
  AMP_ASSIGN_OR_RETURN(Tensor seen,
                       context.MakeScratch(DType::kBool, {problem.batch, 1, problem.queries, problem.keys}));
  const auto elements = seen.mutable_elements<uint8_t>();
  std::fill(elements.begin(), elements.end(), uint8_t{0});
  for (int64_t row = 0; row < problem.batch * problem.queries; ++row) {
    const auto [begin, end] = SeenBy(form, step, row / problem.queries, row % problem.queries);
    std::fill_n(elements.begin() + row * problem.keys + begin, end - begin, uint8_t{1});
  }
  ScoreMask& mask = problem.masks.emplace_back();
  mask.kind = ScoreMask::Kind::kKeepsWhereTrue;
  mask.fill = -std::numeric_limits<float>::infinity();
  mask.operand = {std::move(seen), {problem.queries * problem.keys, 0, problem.keys, 1}};
  return absl::OkStatus();
}

void AddBias(const KernelContext& context, AttentionProblem& problem) {
  if (!context.HasInput(Ports::kBias)) return;
  const Tensor& bias = context.Input(Ports::kBias);
  const Dims strides = RowStrides(bias.dims());
  ScoreMask& mask = problem.masks.emplace_back();
  mask.operand = {bias, {bias.dim(0) == 1 ? 0 : strides[0], bias.dim(1) == 1 ? 0 : strides[1], strides[2], 1}};
}

HeadStrides StridesOf(const Dims& dims) {
  const Dims strides = RowStrides(dims);
  return {strides[0], strides[1], strides[2], strides[3]};
}

template <const AttentionWay& way>
absl::Status GroupQueryAttention(KernelContext& context) {
  AMP_ASSIGN_OR_RETURN(const GroupQueryForm form, ReadGroupQuery(context));
  const Operands operands = *OperandsOf(context, form);
  const auto& [q, k, v, batch, queries, size] = operands;
  AMP_ASSIGN_OR_RETURN(const GroupQueryStep step, ReadGroupQueryStep(context, batch, queries));
  const bool has_past = context.HasInput(Ports::kPastKey);
  const int64_t rows = std::max(has_past ? context.Input(Ports::kPastKey).dim(2) : 0, step.total);
  const HeadStrides of_keys = StridesOf({batch, form.key_heads, rows, size});
  const Dims dims = {batch, queries, form.heads * size};
  AttentionProblem problem{.batch = batch,
                           .heads = form.heads,
                           .queries = queries,
                           .keys = step.total,
                           .size = size,
                           .value_size = size,
                           .heads_per_key = form.heads / form.key_heads,
                           .q = {q.tensor, q.strides},
                           .k = {k.tensor, of_keys},
                           .v = {v.tensor, of_keys},
                           .y = {queries * dims[2], size, dims[2], 1},
                           .scale = form.scale.value_or(static_cast<float>(1 / std::sqrt(static_cast<double>(size)))),
                           .soft_cap = form.soft_cap,
                           .zeroes_barred = true,
                           .has_sink = form.has_sink};
  AddBias(context, problem);
  if (context.HasInput(Ports::kSink)) problem.sinks = ReadAll(BestLoops(), context.Input(Ports::kSink));
  if (const Refusal refusal = way.why_not(problem)) return refusal;
  AMP_RETURN_IF_ERROR(AddSeenMask(context, form, step, problem));
  AMP_ASSIGN_OR_RETURN(const EditRow turn, TurnerOf(context, form, step));
  if (turn) {
    AMP_ASSIGN_OR_RETURN(Tensor turned, context.MakeScratch(q.tensor.dtype(), {batch, form.heads, queries, size}));
    HeadView to = ViewOfHeads(turned);
    MoveRows(
        q, to, {.batch = batch, .heads = form.heads, .rows = queries, .columns = size}, [](int64_t) { return 0; },
        turn);
    problem.q = {to.tensor, to.strides};
  }
  const HeadSizes sizes = {.batch = batch, .heads = form.key_heads, .rows = queries, .columns = size};
  AMP_ASSIGN_OR_RETURN(problem.k.tensor, Present(context, kPresentKey, Ports::kPastKey, k, sizes, step, turn));
  AMP_ASSIGN_OR_RETURN(problem.v.tensor, Present(context, kPresentValue, Ports::kPastValue, v, sizes, step, {}));
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutput(0, q.tensor.dtype(), dims));
  return way.attend(context, problem, *y);
}

constexpr KernelRow kRows[] = {
    {.op_type = "GroupQueryAttention",
     .function = GroupQueryAttention<kByFewQueries>,
     .domain = "com.microsoft",
     .refusal = WhyNot,
     .family = "few-rows"},
    {.op_type = "GroupQueryAttention",
     .function = GroupQueryAttention<kInBlocks>,
     .domain = "com.microsoft",
     .refusal = WhyNot,
     .family = "onednn"},
};

}  // namespace

absl::Span<const KernelRow> LibraryGroupQueryKernels() { return kRows; }

}  // namespace amp
