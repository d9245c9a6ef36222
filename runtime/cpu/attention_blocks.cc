#include "runtime/cpu/attention_blocks.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "ir/base/status.h"
#include "runtime/cpu/prepared.h"
#include "runtime/kernel/shape_math.h"
#include "runtime/loops/best_loops.h"
#include "runtime/loops/float_parts.h"
#include "runtime/onednn/open_library.h"

namespace amp {
namespace {

constexpr int64_t kMostScores = int64_t{1} << 16;  // at a time, or for many keys, which the library packs anew for
constexpr int64_t kLeastRows = 128;                // every block, of so many rows,
constexpr int64_t kMostOfAll = int64_t{1} << 20;   // up to so many

enum Axis { kBatch, kHead, kRow, kColumn };

// So many heads and rows at a time.
struct BlockSize {
  int64_t heads = 1, rows = 1;
};

// Whether matrices of several heads lie one behind the other, so that the library multiplies them in one call.
bool LieApart(const HeadStrides& strides, int64_t rows, int64_t columns) {
  return strides[kHead] > (rows - 1) * strides[kRow] + (columns - 1) * strides[kColumn];
}

bool LieApart(const AttentionProblem& p) {
  return p.heads_per_key == 1 && LieApart(p.q.strides, p.queries, p.size) && LieApart(p.k.strides, p.keys, p.size) &&
         LieApart(p.v.strides, p.keys, p.value_size) && LieApart(p.y, p.queries, p.value_size);
}

BlockSize SizeOfBlocks(const AttentionProblem& p) {
  BlockSize block{.heads = 1, .rows = p.queries};
  const int64_t scores = p.queries * p.keys;
  if (scores > kMostScores) {
    const int64_t most = std::max({kMostScores / p.keys, std::min(kLeastRows, kMostOfAll / p.keys), int64_t{1}});
    const int64_t count = (p.queries + most - 1) / most;
    block.rows = (p.queries + count - 1) / count;
    return block;
  }
  if (!LieApart(p)) return block;
  const int64_t most = std::min(p.heads, kMostScores / scores);
  for (block.heads = most; p.heads % block.heads != 0;) --block.heads;
  return block;
}

// The two products, for blocks of one size.
struct PreparedBlock : PreparedOperation {  // `primitive`: of queries and keys
  std::unique_ptr<onednn::Primitive> with_values;
};

onednn::Operand MatrixOf(DType dtype, const BlockSize& block, std::array<int64_t, 2> dims,
                         std::array<int64_t, 3> strides) {
  if (block.heads == 1) return {dtype, {dims[0], dims[1]}, {strides[1], strides[2]}};
  return {dtype, {block.heads, dims[0], dims[1]}, {strides[0], strides[1], strides[2]}};
}

absl::StatusOr<std::unique_ptr<onednn::Primitive>> MakeProduct(const onednn::MatMulSpec& spec) {
  std::string why_not;
  std::unique_ptr<onednn::Primitive> product = onednn::OpenLibrary().library->MakeMatMul(spec, &why_not);
  if (product == nullptr) return absl::UnimplementedError(why_not);
  if (absl::StartsWith(product->implementation(), "ref")) {
    return absl::UnimplementedError("strides that the library multiplies slowly");
  }
  return product;
}

PreparedOperations::Made Prepare(const AttentionProblem& p, const BlockSize& block, DType compute, DType result) {
  auto prepared = std::make_shared<PreparedBlock>();
  const std::array<int64_t, 3> of_scores = {block.rows * p.keys, p.keys, 1};
  const auto inner = [](const HeadStrides& s) { return std::array<int64_t, 3>{s[kHead], s[kRow], s[kColumn]}; };
  onednn::MatMulSpec with_keys = {
      .a = MatrixOf(compute, block, {block.rows, p.size}, inner(p.q.strides)),
      .b = MatrixOf(compute, block, {p.size, p.keys}, {p.k.strides[kHead], p.k.strides[kColumn], p.k.strides[kRow]}),
      .y = MatrixOf(DType::kFloat32, block, {block.rows, p.keys}, of_scores),
      .bias = {},
      .post_ops = {}};
  if (p.scale != 1) {
    with_keys.post_ops.push_back({.kind = EpilogueKind::kLinear, .alpha = p.scale, .operand = {}});
  }
  AMP_ASSIGN_OR_RETURN(prepared->primitive, MakeProduct(with_keys));
  AMP_ASSIGN_OR_RETURN(prepared->with_values,
                       MakeProduct({.a = MatrixOf(compute, block, {block.rows, p.keys}, of_scores),
                                    .b = MatrixOf(compute, block, {p.keys, p.value_size}, inner(p.v.strides)),
                                    .y = MatrixOf(result, block, {block.rows, p.value_size}, inner(p.y)),
                                    .bias = {},
                                    .post_ops = {}}));
  return prepared;
}

std::vector<int64_t> KeyOf(const AttentionProblem& p, const BlockSize& block, DType compute) {
  std::vector<int64_t> key = {block.heads, block.rows, p.keys, p.size, p.value_size, static_cast<int64_t>(compute)};
  for (const HeadStrides* strides : {&p.q.strides, &p.k.strides, &p.v.strides, &p.y}) {
    key.insert(key.end(), strides->begin(), strides->end());
  }
  return key;
}

// ---- rows of scores -------------------------------------------------------------------------------------------------

class ScoreRows {
 public:
  explicit ScoreRows(const AttentionProblem& p)
      : p_(p), loops_(BestLoops()), keys_(static_cast<size_t>(p.keys)), buffer_(p.masks.empty() ? 0 : keys_) {
    for (const ScoreMask& mask : p.masks) {
      auto& source = sources_.emplace_back();
      if (mask.kind == ScoreMask::Kind::kAdded) source.emplace(loops_, mask.operand.tensor);
    }
  }

  // Makes probabilities of one row.
  void Normalize(std::array<int64_t, 3> at, float* row) {
    if (p_.soft_cap > 0) Cap(row);
    for (size_t i = 0; i < p_.masks.size(); ++i) Mask(i, at, row);
    size_t seen = keys_;
    if (p_.past >= 0) seen = static_cast<size_t>(std::min(p_.keys, at[2] + p_.past + 1));
    std::fill(row + seen, row + keys_, 0.0f);
    const float largest = loops_.rows.max(row, seen);
    if (p_.zeroes_barred && largest == -std::numeric_limits<float>::infinity()) {
      std::fill_n(row, seen, 0.0f);
      return;
    }
    const double sum = loops_.rows.powers(row, row, seen, largest);
    if (p_.zeroes_nans && std::isnan(sum)) {
      std::fill_n(row, seen, 0.0f);
      return;
    }
    loops_.unary.multiply(row, row, seen, {.a = static_cast<float>(1 / sum)});
  }

 private:
  void Cap(float* row) const {
    loops_.unary.multiply(row, row, keys_, {.a = 1 / p_.soft_cap});
    loops_.unary.tanh(row, row, keys_, {});
    loops_.unary.multiply(row, row, keys_, {.a = p_.soft_cap});
  }

  void Mask(size_t which, std::array<int64_t, 3> at, float* row) {
    const ScoreMask& mask = p_.masks[which];
    const HeadStrides& strides = mask.operand.strides;
    const auto first = static_cast<size_t>(at[0] * strides[kBatch] + at[1] * strides[kHead] + at[2] * strides[kRow]);
    const size_t step = strides[kColumn] == 0 ? 0 : 1;
    if (mask.kind == ScoreMask::Kind::kAdded) {
      const float* const added = sources_[which]->Read(first, step == 0 ? 1 : keys_, buffer_.data());
      (step == 0 ? loops_.binary.add.of_one_b : loops_.binary.add.of_both)(row, added, row, keys_);
      return;
    }
    const bool keeps_true = mask.kind == ScoreMask::Kind::kKeepsWhereTrue;
    const void *kept = row, *fill = &mask.fill;
    loops_.choose.of_4_bytes({.condition = mask.operand.tensor.elements<uint8_t>().data() + first,
                              .a = keeps_true ? kept : fill,
                              .b = keeps_true ? fill : kept,
                              .step_condition = step,
                              .step_a = keeps_true ? 1u : 0u,
                              .step_b = keeps_true ? 0u : 1u},
                             row, keys_);
  }

  const AttentionProblem& p_;
  const Loops& loops_;
  size_t keys_;
  std::vector<std::optional<FloatSource>> sources_;  // by mask
  std::vector<float> buffer_;
};

// ---- blocks ---------------------------------------------------------------------------------------------------------

// What the blocks of one run have in common.
struct BlockMemory {
  Tensor scores, narrow_scores;  // the second in 16 bits, where the library computes in them
  Tensor scratch;                // the library's
};

class BlockRun {
 public:
  BlockRun(KernelContext& context, const AttentionProblem& problem, DType compute, Tensor& y)
      : context_(context), p_(problem), compute_(compute), y_(y), rows_(problem) {}

  absl::Status Run() {
    const BlockSize block = SizeOfBlocks(p_);
    AMP_RETURN_IF_ERROR(MakeScores(block));
    for (int64_t row = 0; row < p_.queries; row += block.rows) {
      const BlockSize now{block.heads, std::min(block.rows, p_.queries - row)};
      AMP_ASSIGN_OR_RETURN(const auto prepared, context_.State<PreparedOperations>().Get(KeyOf(p_, now, compute_), [&] {
        return Prepare(p_, now, compute_, y_.dtype());
      }));
      const auto& products = static_cast<const PreparedBlock&>(*prepared);
      AMP_RETURN_IF_ERROR(MakeScratch(products));
      for (int64_t batch = 0; batch < p_.batch; ++batch) {
        for (int64_t head = 0; head < p_.heads; head += now.heads) {
          AMP_RETURN_IF_ERROR(RunBlock(products, now, {batch, head, row}));
        }
      }
      context_.Report(products.primitive->implementation(), compute_);
    }
    return absl::OkStatus();
  }

 private:
  absl::Status MakeScores(const BlockSize& block) {
    const int64_t count = block.heads * block.rows * p_.keys;
    AMP_ASSIGN_OR_RETURN(memory_.scores, context_.MakeScratch(DType::kFloat32, {count}));
    if (compute_ == DType::kFloat32) return absl::OkStatus();
    AMP_ASSIGN_OR_RETURN(memory_.narrow_scores, context_.MakeScratch(compute_, {count}));
    return absl::OkStatus();
  }

  absl::Status MakeScratch(const PreparedBlock& products) {
    const size_t bytes = std::max(products.primitive->scratch_bytes(), products.with_values->scratch_bytes());
    AMP_ASSIGN_OR_RETURN(memory_.scratch, context_.MakeScratch(DType::kUint8, {static_cast<int64_t>(bytes)}));
    return absl::OkStatus();
  }

  static const std::byte* At(const HeadOperand& operand, int64_t batch, int64_t head, int64_t row) {
    const HeadStrides& strides = operand.strides;
    const int64_t place = batch * strides[kBatch] + head * strides[kHead] + row * strides[kRow];
    return operand.tensor.bytes().data() + static_cast<size_t>(place) * ElementBytes(operand.tensor.dtype());
  }

  absl::Status Multiply(const onednn::Primitive& product, const void* a, const void* b, void* y) {
    onednn::Primitive::Arguments arguments;
    arguments.a = a;
    arguments.b = b;
    arguments.y = y;
    arguments.scratch = memory_.scratch.mutable_bytes().data();
    if (product.Run(arguments)) return absl::OkStatus();
    return absl::InternalError(absl::StrCat("oneDNN failed (", product.implementation(), ")"));
  }

  // `at`: batch, first head and first row.
  absl::Status RunBlock(const PreparedBlock& products, const BlockSize& block, std::array<int64_t, 3> at) {
    const int64_t key_head = at[1] / p_.heads_per_key;
    float* const scores = memory_.scores.mutable_elements<float>().data();
    AMP_RETURN_IF_ERROR(
        Multiply(*products.primitive, At(p_.q, at[0], at[1], at[2]), At(p_.k, at[0], key_head, 0), scores));
    float* row = scores;
    for (int64_t head = 0; head < block.heads; ++head) {
      for (int64_t i = 0; i < block.rows; ++i, row += p_.keys) {
        rows_.Normalize({at[0], at[1] + head, at[2] + i}, row);
      }
    }
    const int64_t place = at[0] * p_.y[kBatch] + at[1] * p_.y[kHead] + at[2] * p_.y[kRow];
    return Multiply(*products.with_values, ScoresToMultiply(), At(p_.v, at[0], key_head, 0),
                    y_.mutable_bytes().data() + static_cast<size_t>(place) * ElementBytes(y_.dtype()));
  }

  const void* ScoresToMultiply() {
    if (compute_ == DType::kFloat32) return memory_.scores.bytes().data();
    ConvertInto(memory_.scores, memory_.narrow_scores);
    return memory_.narrow_scores.bytes().data();
  }

  KernelContext& context_;
  const AttentionProblem& p_;
  DType compute_;
  Tensor& y_;
  ScoreRows rows_;
  BlockMemory memory_;
};

// ---- small heads ----------------------------------------------------------------------------------------------------

// Below so many multiplications a call of the library for every head costs more than moving the heads apart.
constexpr int64_t kSmallProduct = int64_t{1} << 15;

HeadStrides StridesOf(const Dims& dims) {
  const Dims strides = RowStrides(dims);
  return {strides[0], strides[1], strides[2], strides[3]};
}

// One element after the other of `columns` of them, a pair of places at a time.
template <typename T>
void CopyColumns(const std::byte* from, int64_t from_step, std::byte* to, int64_t to_step, int64_t columns) {
  const auto* const source = reinterpret_cast<const T*>(from);
  auto* const target = reinterpret_cast<T*>(to);
  for (int64_t i = 0; i < columns; ++i) target[i * to_step] = source[i * from_step];
}

// The same elements elsewhere. `dims`: [batch, heads, rows, columns].
void CopyHeads(const Tensor& from, const HeadStrides& from_strides, const Dims& dims, Tensor& to,
               const HeadStrides& to_strides) {
  const auto bytes = static_cast<int64_t>(ElementBytes(from.dtype()));
  const auto copy = bytes == sizeof(float) ? CopyColumns<uint32_t> : CopyColumns<uint16_t>;
  const bool is_whole = from_strides[kColumn] == 1 && to_strides[kColumn] == 1;
  for (int64_t head = 0; head < dims[kBatch] * dims[kHead]; ++head) {
    const int64_t batch = head / dims[kHead], within = head % dims[kHead];
    const std::byte* row = from.bytes().data() + (batch * from_strides[kBatch] + within * from_strides[kHead]) * bytes;
    std::byte* to_row = to.mutable_bytes().data() + (batch * to_strides[kBatch] + within * to_strides[kHead]) * bytes;
    for (int64_t i = 0; i < dims[kRow]; ++i) {
      if (is_whole) {
        std::memcpy(to_row, row, static_cast<size_t>(dims[kColumn] * bytes));
      } else {
        copy(row, from_strides[kColumn], to_row, to_strides[kColumn], dims[kColumn]);
      }
      row += from_strides[kRow] * bytes;
      to_row += to_strides[kRow] * bytes;
    }
  }
}

// Heads one behind the other, where calls for each would cost more.
absl::StatusOr<HeadOperand> MovedApart(KernelContext& context, const HeadOperand& operand, const Dims& dims) {
  HeadOperand moved;
  AMP_ASSIGN_OR_RETURN(moved.tensor, context.MakeScratch(operand.tensor.dtype(), dims));
  moved.strides = StridesOf(dims);
  CopyHeads(operand.tensor, operand.strides, dims, moved.tensor, moved.strides);
  return moved;
}

absl::Status RunMovedApart(KernelContext& context, const AttentionProblem& p, DType compute, Tensor& y) {
  AttentionProblem apart = p;
  AMP_ASSIGN_OR_RETURN(apart.q, MovedApart(context, p.q, {p.batch, p.heads, p.queries, p.size}));
  AMP_ASSIGN_OR_RETURN(apart.k, MovedApart(context, p.k, {p.batch, p.heads, p.keys, p.size}));
  AMP_ASSIGN_OR_RETURN(apart.v, MovedApart(context, p.v, {p.batch, p.heads, p.keys, p.value_size}));
  const Dims dims = {p.batch, p.heads, p.queries, p.value_size};
  AMP_ASSIGN_OR_RETURN(Tensor apart_y, context.MakeScratch(y.dtype(), dims));
  apart.y = StridesOf(dims);
  AMP_RETURN_IF_ERROR(BlockRun(context, apart, compute, apart_y).Run());
  CopyHeads(apart_y, apart.y, dims, y, p.y);
  return absl::OkStatus();
}

absl::Status RunBlocks(KernelContext& context, const AttentionProblem& p, DType compute, Tensor& y) {
  const bool is_small = p.heads > 1 && p.heads_per_key == 1 && p.queries * p.keys <= kMostScores &&
                        p.queries * p.keys * std::max(p.size, p.value_size) <= kSmallProduct;
  if (is_small && !LieApart(p)) return RunMovedApart(context, p, compute, y);
  return BlockRun(context, p, compute, y).Run();
}

}  // namespace

const char* WhyNotInBlocks(const KernelContext&, const AttentionProblem& p) {
  if (onednn::OpenLibrary().library == nullptr) return "oneDNN is not there";
  const DType dtype = p.q.tensor.dtype();
  if (!IsFloatOfLibrary(dtype) || p.k.tensor.dtype() != dtype || p.v.tensor.dtype() != dtype) {
    return "not three of float32, float16 or bfloat16";
  }
  for (const int64_t dim : {p.batch, p.heads, p.queries, p.keys, p.size, p.value_size}) {
    if (dim == 0) return "no elements";
  }
  for (const ScoreMask& mask : p.masks) {
    const DType of_mask = mask.operand.tensor.dtype();
    const bool fits = mask.kind == ScoreMask::Kind::kAdded ? IsLoopFloat(of_mask) : of_mask == DType::kBool;
    if (!fits) return "a mask of another type";
  }
  return nullptr;
}

absl::Status AttendInBlocks(KernelContext& context, const AttentionProblem& problem, Tensor& y) {
  const DType compute = ComputeTypeFor(context, problem.q.tensor.dtype());
  AttentionProblem converted = problem;
  for (HeadOperand* operand : {&converted.q, &converted.k, &converted.v}) {
    AMP_ASSIGN_OR_RETURN(operand->tensor, Converted(operand->tensor, compute, context.memory()));
  }
  if (compute == y.dtype()) return RunBlocks(context, converted, compute, y);
  AMP_ASSIGN_OR_RETURN(Tensor wide, context.MakeScratch(DType::kFloat32, y.dims()));
  AMP_RETURN_IF_ERROR(RunBlocks(context, converted, compute, wide));
  ConvertInto(wide, y);
  return absl::OkStatus();
}

}  // namespace amp
