#include "runtime/cpu/score_rows.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/loops/best_loops.h"

namespace amp {

Refusal WhyNotAttention(const AttentionProblem& p) {
  const DType dtype = p.q.tensor.dtype();
  if (!IsLoopFloat(dtype) || p.k.tensor.dtype() != dtype || p.v.tensor.dtype() != dtype) {
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
  return {};
}

ScoreRows::ScoreRows(const AttentionProblem& p)
    : p_(p), loops_(BestLoops()), keys_(static_cast<size_t>(p.keys)), buffer_(p.masks.empty() ? 0 : keys_) {
  for (const ScoreMask& mask : p.masks) {
    auto& source = sources_.emplace_back();
    if (mask.kind == ScoreMask::Kind::kAdded) source.emplace(loops_, mask.operand.tensor);
  }
}

void ScoreRows::Normalize(const HeadPlace& at, float* row) {
  if (p_.soft_cap > 0) Cap(row);
  for (size_t i = 0; i < p_.masks.size(); ++i) Mask(i, at, row);
  size_t seen = keys_;
  if (p_.past >= 0) seen = static_cast<size_t>(std::min(p_.keys, at.row + p_.past + 1));
  std::fill(row + seen, row + keys_, 0.0f);
  float largest = loops_.rows.max(row, seen);
  if (p_.zeroes_barred && largest == -std::numeric_limits<float>::infinity()) {
    std::fill_n(row, seen, 0.0f);
    return;
  }
  const float sink = p_.sinks.empty() ? 0 : p_.sinks[static_cast<size_t>(at.head)];
  if (p_.has_sink && sink > largest) largest = sink;
  double sum = loops_.rows.powers(row, row, seen, largest);
  if (p_.has_sink) sum += std::exp(static_cast<double>(sink) - static_cast<double>(largest));
  if (p_.zeroes_nans && std::isnan(sum)) {
    std::fill_n(row, seen, 0.0f);
    return;
  }
  loops_.unary.multiply(row, row, seen, {.a = static_cast<float>(1 / sum)});
}

void ScoreRows::Cap(float* row) const {
  loops_.unary.multiply(row, row, keys_, {.a = 1 / p_.soft_cap});
  loops_.unary.tanh(row, row, keys_, {});
  loops_.unary.multiply(row, row, keys_, {.a = p_.soft_cap});
}

void ScoreRows::Mask(size_t which, const HeadPlace& at, float* row) {
  const ScoreMask& mask = p_.masks[which];
  const HeadStrides& strides = mask.operand.strides;
  const auto first =
      static_cast<size_t>(at.batch * strides[kBatchAxis] + at.head * strides[kHeadAxis] + at.row * strides[kRowAxis]);
  const size_t step = strides[kColumnAxis] == 0 ? 0 : 1;
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

}  // namespace amp
