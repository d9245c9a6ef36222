// Operators that a model writes out as many small nodes, and that one kernel computes.
//
//   h = Cast (x16)   d = h - ReduceMean (h) ... y = d / Sqrt (v + eps) * scale   y16 = Cast (y)      LayerNorm (x16, scale)
//
//   t = Transpose (k)   s = MatMul (q, t) * 0.125   p = Softmax (s + m)   y = MatMul (p, v)              Attention (q, k, v, m)
//
//   h = Cast (x16)   y = ReduceSum (h)                                                                   ReduceSum (x16)
//
// What is recognised is ir/patterns'. Casts around a norm and transpositions around attention join where nobody else
// reads what they give.
#ifndef AMP_RUNTIME_PLAN_FIND_UNITS_H_
#define AMP_RUNTIME_PLAN_FIND_UNITS_H_

#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "ir/graph/graph.h"
#include "ir/patterns/pattern.h"
#include "runtime/kernel/attention_unit.h"
#include "runtime/plan/fusion.h"

namespace amp {

// A kernel for attention, and whether it may take a unit whose inputs have these types.
struct AttentionRule {
  const KernelRow& row;
  bool (*may_take)(const AttentionUnit& unit, absl::Span<const DType> types);
};

// Scaled products of queries and keys, their softmax, and the product of that with values. Appends as FindNorms does.
void FindAttention(const Model& model, const AttentionRule& rule, FusedNodes& taken, std::vector<Fusion>& fusions);

// The row for a kind of pattern; null where there is none.
using FindPatternRow = const KernelRow* (*)(PatternKind kind);

// Layer norms, RMS norms, instance norms, group norms, softmax and its logarithm. Appends fusions of nodes that are in
// none yet. REQUIRES: types are inferred.
void FindNorms(const Model& model, FindPatternRow find_row, FusedNodes& taken, std::vector<Fusion>& fusions);

// The row of a reduction that may read a narrower type than its node does; null for other operators.
using FindOperatorRow = const KernelRow* (*)(absl::string_view domain, absl::string_view op_type);

// Reductions with the cast ahead of them, whose result is never made. Appends as FindNorms does.
void FindReductions(const Model& model, FindOperatorRow find_row, FusedNodes& taken, std::vector<Fusion>& fusions);

}  // namespace amp

#endif  // AMP_RUNTIME_PLAN_FIND_UNITS_H_
