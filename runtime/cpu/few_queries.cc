#include "runtime/cpu/few_queries.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "runtime/kernel/parallel_for.h"
#include "runtime/loops/best_loops.h"
#include "runtime/loops/few_rows.h"

namespace amp {
namespace {

// Queries that read the same keys.
int64_t RowsOf(const AttentionProblem& p) { return p.queries * p.heads_per_key; }

// Whether rows, or columns, of a head are contiguous.
bool IsContiguous(const HeadStrides& strides, int64_t rows, int64_t columns) {
  return strides[kColumnAxis] == 1 || columns == 1 || strides[kRowAxis] == 1 || rows == 1;
}
bool HasContiguousRows(const HeadStrides& strides, int64_t columns) {
  return strides[kColumnAxis] == 1 || columns == 1;
}

// A head [rows, columns] as the matrix of a product: its rows, or with `turned` its columns, are what sums run along.
StoredMatrix MatrixOf(const HeadOperand& operand, size_t first, int64_t columns, bool turned) {
  const bool has_rows = HasContiguousRows(operand.strides, columns);
  const DType dtype = operand.tensor.dtype();
  return {.dtype = dtype,
          .is_transposed = has_rows == turned,
          .elements = operand.tensor.bytes().data() + first * ElementBytes(dtype),
          .step = static_cast<size_t>(operand.strides[has_rows ? kRowAxis : kColumnAxis])};
}

size_t PlaceOf(const HeadStrides& strides, int64_t batch, int64_t head, int64_t row = 0) {
  return static_cast<size_t>(batch * strides[kBatchAxis] + head * strides[kHeadAxis] + row * strides[kRowAxis]);
}

// One thread's part of the heads of keys.
class HeadRun {
 public:
  HeadRun(const AttentionProblem& p, Tensor& y)
      : p_(p),
        loops_(BestLoops()),
        q_(loops_, p.q.tensor),
        y_(loops_, y),
        score_rows_(p),
        rows_(static_cast<size_t>(RowsOf(p))),
        size_(static_cast<size_t>(p.size)),
        keys_(static_cast<size_t>(p.keys)),
        value_size_(static_cast<size_t>(p.value_size)),
        queries_(rows_ * FewRowsStep(size_)),
        scores_(rows_ * FewRowsStep(keys_)),
        results_(rows_ * FewRowsStep(value_size_)) {}

  void Run(int64_t batch, int64_t key_head) {
    for (size_t row = 0; row < rows_; ++row) ReadQuery(PlaceOfRow(batch, key_head, row), row);
    const FewRowsProduct with_keys = {.x = queries_.data(),
                                      .x_step = FewRowsStep(size_),
                                      .b = MatrixOf(p_.k, PlaceOf(p_.k.strides, batch, key_head), p_.size, true),
                                      .y = scores_.data(),
                                      .y_step = FewRowsStep(keys_),
                                      .rows = rows_,
                                      .depth = size_,
                                      .columns = keys_};
    with_keys.Run();
    for (size_t row = 0; row < rows_; ++row) Normalize(PlaceOfRow(batch, key_head, row), row);
    const FewRowsProduct with_values = {
        .x = scores_.data(),
        .x_step = FewRowsStep(keys_),
        .b = MatrixOf(p_.v, PlaceOf(p_.v.strides, batch, key_head), p_.value_size, false),
        .y = results_.data(),
        .y_step = FewRowsStep(value_size_),
        .rows = rows_,
        .depth = keys_,
        .columns = value_size_};
    with_values.Run();
    for (size_t row = 0; row < rows_; ++row) WriteResult(PlaceOfRow(batch, key_head, row), row);
  }

 private:
  HeadPlace PlaceOfRow(int64_t batch, int64_t key_head, size_t row) const {
    const auto at = static_cast<int64_t>(row);
    return {.batch = batch, .head = key_head * p_.heads_per_key + at / p_.queries, .row = at % p_.queries};
  }

  void ReadQuery(const HeadPlace& at, size_t row) {
    float* const to = queries_.data() + row * FewRowsStep(size_);
    const size_t first = PlaceOf(p_.q.strides, at.batch, at.head, at.row);
    if (HasContiguousRows(p_.q.strides, p_.size)) {
      const float* const found = q_.Read(first, size_, to);
      if (found != to) std::memcpy(to, found, size_ * sizeof(float));
      return;
    }
    const auto step = static_cast<size_t>(p_.q.strides[kColumnAxis]);
    for (size_t i = 0; i < size_; ++i) {
      float element;
      to[i] = *q_.Read(first + i * step, 1, &element);
    }
  }

  void Normalize(const HeadPlace& at, size_t row) {
    float* const scores = scores_.data() + row * FewRowsStep(keys_);
    if (p_.scale != 1) loops_.unary.multiply(scores, scores, keys_, {.a = p_.scale});
    score_rows_.Normalize(at, scores);
    std::fill(scores + keys_, scores + FewRowsStep(keys_), 0.0F);
  }

  void WriteResult(const HeadPlace& at, size_t row) {
    float* const result = results_.data() + row * FewRowsStep(value_size_);
    const size_t first = PlaceOf(p_.y, at.batch, at.head, at.row);
    float* const to = y_.Begin(first, result);
    if (to != result) std::memcpy(to, result, value_size_ * sizeof(float));
    y_.End(first, value_size_, result);
  }

  const AttentionProblem& p_;
  const Loops& loops_;
  const FloatSource q_;
  const FloatSink y_;
  ScoreRows score_rows_;
  const size_t rows_, size_, keys_, value_size_;
  std::vector<float> queries_, scores_, results_;  // rows with room behind them
};

}  // namespace

Refusal WhyNotFewQueries(const AttentionProblem& p) {
  constexpr int64_t kMostQueries = 8, kMostOfFloat32 = 4;  // the latter where each head has keys of its own
  const bool is_wide = p.heads_per_key == 1 && p.k.tensor.dtype() == DType::kFloat32;
  const int64_t most = is_wide ? kMostOfFloat32 : kMostQueries;
  if (p.queries > most || p.heads_per_key > most || RowsOf(p) > most) return "many queries";
  if (const Refusal refusal = WhyNotAttention(p)) return refusal;
  if (!IsContiguous(p.k.strides, p.keys, p.size) || !IsContiguous(p.v.strides, p.keys, p.value_size)) {
    return "keys or values that are not contiguous";
  }
  return HasContiguousRows(p.y, p.value_size) ? nullptr : "a result that is not contiguous";
}

absl::Status AttendFewQueries(KernelContext& context, const AttentionProblem& p, Tensor& y) {
  const int64_t key_heads = p.heads / p.heads_per_key;
  const auto cost = static_cast<size_t>(RowsOf(p) * p.keys * (p.size + p.value_size));
  ParallelFor(static_cast<size_t>(p.batch * key_heads), cost, [&](const Share& share) {
    HeadRun run(p, y);
    for (auto i = static_cast<int64_t>(share.first); i < static_cast<int64_t>(share.end); ++i) {
      run.Run(i / key_heads, i % key_heads);
    }
  });
  context.Report(BestLoops().name, DType::kFloat32);
  return absl::OkStatus();
}

}  // namespace amp
