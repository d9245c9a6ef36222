#include "runtime/cpu/attention_blocks.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "ir/base/status.h"
#include "runtime/cpu/make_primitive.h"
#include "runtime/cpu/prepared.h"
#include "runtime/cpu/score_rows.h"
#include "runtime/kernel/parallel_for.h"
#include "runtime/loops/best_loops.h"
#include "runtime/onednn/open_library.h"

namespace amp {
namespace {

constexpr int64_t kMostScores = int64_t{1} << 16;  // scores held at a time
// The library packs the keys anew for every block of rows. With many keys, a block has at least kLeastRows rows, unless
// that makes more than kMostOfAll scores.
constexpr int64_t kLeastRows = 128;
constexpr int64_t kMostOfAll = int64_t{1} << 20;     // scores
constexpr int64_t kMostGathered = int64_t{1} << 14;  // scores of several heads that are gathered together
// In heads with fewer multiplications, one call of the library per head costs more than gathering several heads.
constexpr int64_t kSmallProduct = int64_t{1} << 15;

// Whether the matrices of successive heads do not interleave in memory, so that the library can multiply them in one
// call.
bool LieApart(const HeadStrides& strides, int64_t rows, int64_t columns) {
  return strides[kHeadAxis] > (rows - 1) * strides[kRowAxis] + (columns - 1) * strides[kColumnAxis];
}

bool LieApart(const AttentionProblem& p) {
  return LieApart(p.q.strides, p.queries, p.size) && LieApart(p.k.strides, p.keys, p.size) &&
         LieApart(p.v.strides, p.keys, p.value_size) && LieApart(p.y, p.queries, p.value_size);
}

// How the problem is cut into blocks, and in which types and layouts the library computes.
struct BlockPlan {
  int64_t heads = 1, rows = 1;  // in a block
  HeadAccess of_operands = HeadAccess::kWhereTheyLie, of_result = HeadAccess::kWhereTheyLie;
  DType compute = DType::kFloat32, result = DType::kFloat32;

  // Returns the number of blocks of rows that one group of heads is cut into.
  int64_t RowBlocks(const AttentionProblem& p) const { return (p.queries + rows - 1) / rows; }
  HeadBlock Queries(const AttentionProblem& p) const { return {heads, rows, p.size}; }
  HeadBlock Keys(const AttentionProblem& p) const { return {heads, p.keys, p.size}; }
  HeadBlock Values(const AttentionProblem& p) const { return {heads, p.keys, p.value_size}; }
  HeadBlock Results(const AttentionProblem& p) const { return {heads, rows, p.value_size}; }
};

void SetAccess(const AttentionProblem& p, BlockPlan& plan) {
  const bool is_small = p.heads > 1 && p.heads_per_key == 1 && p.queries * p.keys <= kMostScores &&
                        p.queries * p.keys * std::max(p.size, p.value_size) <= kSmallProduct;
  const bool gathers_all = is_small && !LieApart(p);
  const auto access = [&](bool gathers) { return gathers ? HeadAccess::kGathered : HeadAccess::kWhereTheyLie; };
  plan.of_operands = access(gathers_all || p.q.tensor.dtype() != plan.compute);
  plan.of_result = access(gathers_all || plan.of_operands == HeadAccess::kGathered);
}

void SetSize(const AttentionProblem& p, BlockPlan& plan) {
  plan.rows = p.queries;
  const int64_t scores = p.queries * p.keys;
  if (scores > kMostScores) {
    const int64_t most = std::max({kMostScores / p.keys, std::min(kLeastRows, kMostOfAll / p.keys), int64_t{1}});
    const int64_t count = (p.queries + most - 1) / most;
    plan.rows = (p.queries + count - 1) / count;
    return;
  }
  const bool gathers = plan.of_operands == HeadAccess::kGathered;
  if (p.heads_per_key != 1 || (!gathers && !LieApart(p))) return;
  const int64_t most = std::clamp<int64_t>((gathers ? kMostGathered : kMostScores) / scores, 1, p.heads);
  for (plan.heads = most; p.heads % plan.heads != 0;) --plan.heads;
}

BlockPlan PlanBlocks(const AttentionProblem& p, DType compute, DType stored) {
  BlockPlan plan{.compute = compute, .result = compute == stored ? stored : DType::kFloat32};
  SetAccess(p, plan);
  SetSize(p, plan);
  return plan;
}

// The two products for blocks of one size.
struct PreparedBlock : PreparedOperation {  // `primitive`: queries times keys
  std::unique_ptr<onednn::Primitive> with_values;

  size_t scratch_bytes() const { return std::max(primitive->scratch_bytes(), with_values->scratch_bytes()); }
};

onednn::Operand MatrixOf(DType dtype, int64_t heads, std::array<int64_t, 2> dims, std::array<int64_t, 3> strides) {
  if (heads == 1) return {dtype, {dims[0], dims[1]}, {strides[1], strides[2]}};
  return {dtype, {heads, dims[0], dims[1]}, {strides[0], strides[1], strides[2]}};
}

MadePrimitive MakeProduct(const onednn::MatMulSpec& spec) {
  AMP_ASSIGN_OR_RETURN(std::unique_ptr<onednn::Primitive> product, MakeMatMul(spec));
  if (absl::StartsWith(product->implementation(), "ref")) {
    return Refusal("strides that the library multiplies slowly");
  }
  return product;
}

// Prepares both products for blocks of `rows` rows.
PreparedOperations::Made Prepare(const AttentionProblem& p, const BlockPlan& plan, int64_t rows) {
  auto prepared = std::make_shared<PreparedBlock>();
  const std::array<int64_t, 3> of_scores = {rows * p.keys, p.keys, 1};
  const std::array<int64_t, 3> k = StridesOfBlock(p.k.strides, plan.Keys(p), plan.of_operands);
  onednn::MatMulSpec with_keys = {.a = MatrixOf(plan.compute, plan.heads, {rows, p.size},
                                                StridesOfBlock(p.q.strides, plan.Queries(p), plan.of_operands)),
                                  .b = MatrixOf(plan.compute, plan.heads, {p.size, p.keys}, {k[0], k[2], k[1]}),
                                  .y = MatrixOf(DType::kFloat32, plan.heads, {rows, p.keys}, of_scores),
                                  .has_one_thread = true};
  if (p.scale != 1) {
    with_keys.post_ops.push_back({.kind = EpilogueKind::kLinear, .alpha = p.scale, .operand = {}});
  }
  AMP_ASSIGN_OR_RETURN(prepared->primitive, MakeProduct(with_keys));
  AMP_ASSIGN_OR_RETURN(prepared->with_values,
                       MakeProduct({.a = MatrixOf(plan.compute, plan.heads, {rows, p.keys}, of_scores),
                                    .b = MatrixOf(plan.compute, plan.heads, {p.keys, p.value_size},
                                                  StridesOfBlock(p.v.strides, plan.Values(p), plan.of_operands)),
                                    .y = MatrixOf(plan.result, plan.heads, {rows, p.value_size},
                                                  StridesOfBlock(p.y, plan.Results(p), plan.of_result)),
                                    .has_one_thread = true}));
  return prepared;
}

std::vector<int64_t> KeyOf(const AttentionProblem& p, const BlockPlan& plan, int64_t rows) {
  std::vector<int64_t> key = {plan.heads, plan.rows, rows, p.keys, p.size, p.value_size};
  key.insert(key.end(), {static_cast<int64_t>(plan.compute), static_cast<int64_t>(plan.of_operands),
                         static_cast<int64_t>(plan.of_result)});
  for (const HeadStrides* strides : {&p.q.strides, &p.k.strides, &p.v.strides, &p.y}) {
    key.insert(key.end(), strides->begin(), strides->end());
  }
  return key;
}

// ---- blocks ---------------------------------------------------------------------------------------------------------

// The buffers of one of the threads that share the blocks.
struct Workplace {
  HeadReader q, k, v;
  HeadWriter y;
  Tensor scores, narrow_scores;  // narrow_scores: in 16 bits, if the library computes in them
  Tensor scratch;                // for the library
  ScoreRows rows;
};

class BlockRun {
 public:
  BlockRun(KernelContext& context, const AttentionProblem& problem, const BlockPlan& plan, Tensor& y)
      : context_(context), p_(problem), plan_(plan), y_(y) {}

  absl::Status Run() {
    AMP_ASSIGN_OR_RETURN(products_, Products(plan_.rows));
    const int64_t last = p_.queries % plan_.rows;
    last_products_ = products_;
    if (last != 0) {
      AMP_ASSIGN_OR_RETURN(last_products_, Products(last));
    }
    const auto blocks = static_cast<size_t>(p_.batch * p_.heads / plan_.heads * plan_.RowBlocks(p_));
    const auto scores_of_each = static_cast<size_t>(plan_.heads * plan_.rows * p_.keys);
    std::vector<Workplace> places;
    for (size_t i = 0; i < NumShares(blocks, scores_of_each); ++i) {
      AMP_ASSIGN_OR_RETURN(Workplace place, MakeWorkplace());
      places.push_back(std::move(place));
    }
    std::vector<absl::Status> status(places.size());
    ParallelFor(blocks, scores_of_each,
                [&](const Share& share) { status[share.index] = RunShare(share, places[share.index]); });
    for (const absl::Status& of_share : status) AMP_RETURN_IF_ERROR(of_share);
    context_.Report(Block(*products_).primitive->implementation(), plan_.compute);
    return absl::OkStatus();
  }

 private:
  static const PreparedBlock& Block(const PreparedOperation& operation) {
    return static_cast<const PreparedBlock&>(operation);
  }
  PreparedOperations::Made Products(int64_t rows) {
    return context_.State<PreparedOperations>().Get(KeyOf(p_, plan_, rows), [&] { return Prepare(p_, plan_, rows); });
  }

  absl::StatusOr<Workplace> MakeWorkplace() const {
    Workplace place{
        .q = {}, .k = {}, .v = {}, .y = {}, .scores = {}, .narrow_scores = {}, .scratch = {}, .rows = ScoreRows(p_)};
    const HeadAccess access = plan_.of_operands;
    AMP_ASSIGN_OR_RETURN(place.q, HeadReader::Create(context_, p_.q, plan_.Queries(p_), plan_.compute, access));
    AMP_ASSIGN_OR_RETURN(place.k, HeadReader::Create(context_, p_.k, plan_.Keys(p_), plan_.compute, access));
    AMP_ASSIGN_OR_RETURN(place.v, HeadReader::Create(context_, p_.v, plan_.Values(p_), plan_.compute, access));
    AMP_ASSIGN_OR_RETURN(place.y,
                         HeadWriter::Create(context_, y_, p_.y, plan_.Results(p_), plan_.result, plan_.of_result));
    const int64_t count = plan_.heads * plan_.rows * p_.keys;
    AMP_ASSIGN_OR_RETURN(place.scores, context_.MakeScratch(DType::kFloat32, {count}));
    const auto bytes = std::max(Block(*products_).scratch_bytes(), Block(*last_products_).scratch_bytes());
    AMP_ASSIGN_OR_RETURN(place.scratch, context_.MakeScratch(DType::kUint8, {static_cast<int64_t>(bytes)}));
    if (plan_.compute == DType::kFloat32) return place;
    AMP_ASSIGN_OR_RETURN(place.narrow_scores, context_.MakeScratch(plan_.compute, {count}));
    return place;
  }

  static absl::Status Multiply(const onednn::Primitive& product, const void* a, const void* b, void* y,
                               Workplace& place) {
    onednn::Primitive::Arguments arguments;
    arguments.a = a;
    arguments.b = b;
    arguments.y = y;
    arguments.scratch = place.scratch.mutable_bytes().data();
    if (product.Run(arguments)) return absl::OkStatus();
    return absl::InternalError(absl::StrCat("oneDNN failed (", product.implementation(), ")"));
  }

  // Computes a share of the blocks. Blocks are numbered along the rows of one group of heads, then along the groups of
  // heads of all batches.
  absl::Status RunShare(const Share& share, Workplace& place) {
    const int64_t row_blocks = plan_.RowBlocks(p_);
    const void *k = nullptr, *v = nullptr;
    for (auto block = static_cast<int64_t>(share.first); block < static_cast<int64_t>(share.end); ++block) {
      const int64_t head = block / row_blocks * plan_.heads, row = block % row_blocks * plan_.rows;
      const HeadPlace at{.batch = head / p_.heads, .head = head % p_.heads, .row = row};
      if (k == nullptr || row == 0) {
        const HeadPlace of_keys{.batch = at.batch, .head = at.head / p_.heads_per_key, .row = 0};
        k = place.k.Read(of_keys, plan_.Keys(p_));
        v = place.v.Read(of_keys, plan_.Values(p_));
      }
      AMP_RETURN_IF_ERROR(RunRows(at, k, v, place));
    }
    return absl::OkStatus();
  }

  absl::Status RunRows(const HeadPlace& at, const void* k, const void* v, Workplace& place) {
    const int64_t rows = std::min(plan_.rows, p_.queries - at.row);
    const PreparedBlock& products = Block(rows == plan_.rows ? *products_ : *last_products_);
    float* const scores = place.scores.mutable_elements<float>().data();
    const void* const q = place.q.Read(at, {plan_.heads, rows, p_.size});
    AMP_RETURN_IF_ERROR(Multiply(*products.primitive, q, k, scores, place));
    NormalizeRows(at, rows, place);
    AMP_RETURN_IF_ERROR(Multiply(*products.with_values, ScoresToMultiply(rows, place), v, place.y.Begin(at), place));
    place.y.End(at, {plan_.heads, rows, p_.value_size});
    return absl::OkStatus();
  }

  void NormalizeRows(const HeadPlace& at, int64_t rows, Workplace& place) const {
    float* const scores = place.scores.mutable_elements<float>().data();
    for (int64_t i = 0; i < plan_.heads * rows; ++i) {
      place.rows.Normalize({at.batch, at.head + i / rows, at.row + i % rows}, scores + i * p_.keys);
    }
  }

  const void* ScoresToMultiply(int64_t rows, Workplace& place) const {
    if (plan_.compute == DType::kFloat32) return place.scores.bytes().data();
    ConvertLine(place.scores.bytes().data(), DType::kFloat32, place.narrow_scores.mutable_bytes().data(), plan_.compute,
                static_cast<size_t>(plan_.heads * rows * p_.keys));
    return place.narrow_scores.bytes().data();
  }

  KernelContext& context_;
  const AttentionProblem& p_;
  const BlockPlan& plan_;
  Tensor& y_;
  std::shared_ptr<PreparedOperation> products_, last_products_;
};

}  // namespace

Refusal WhyNotInBlocks(const AttentionProblem& p) {
  if (onednn::OpenLibrary().library == nullptr) return "oneDNN is not there";
  return WhyNotAttention(p);
}

absl::Status AttendInBlocks(KernelContext& context, const AttentionProblem& problem, Tensor& y) {
  const BlockPlan plan = PlanBlocks(problem, ComputeTypeFor(context, problem.q.tensor.dtype()), y.dtype());
  return BlockRun(context, problem, plan, y).Run();
}

}  // namespace amp
