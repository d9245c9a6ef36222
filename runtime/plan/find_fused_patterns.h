// Finds fused patterns: operators that a model writes out as many small nodes, and that one kernel computes.
//
//   h = Cast (x16)   d = h - ReduceMean (h) ... y = d / Sqrt (v + eps) * scale   y16 = Cast (y)
//       becomes LayerNorm (x16, scale)
//
//   t = Transpose (k)   s = MatMul (q, t) * 0.125   p = Softmax (s + m)   y = MatMul (p, v)
//       becomes Attention (q, k, v, m)
//
//   h = Cast (x16)   y = ReduceSum (h)
//       becomes ReduceSum (x16)
//
// The patterns are recognised by ir/patterns. A fused pattern also takes in casts around a norm, and transpositions
// around attention, if nobody else reads their results.
#ifndef AMP_RUNTIME_PLAN_FIND_FUSED_PATTERNS_H_
#define AMP_RUNTIME_PLAN_FIND_FUSED_PATTERNS_H_

#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "ir/graph/graph.h"
#include "ir/patterns/pattern.h"
#include "runtime/kernel/fused_attention.h"
#include "runtime/plan/fusion.h"

namespace amp {

// The kernels for attention, best first, and a function that says whether they may take a fused pattern whose inputs
// have these types.
struct AttentionRule {
  std::vector<const KernelRow*> rows;
  bool (*may_take)(const FusedAttention& fused, absl::Span<const DType> types);
};

// Finds attention: scaled products of queries and keys, their softmax, and its product with values. Appends as
// FindNorms does.
void FindAttention(const Model& model, const AttentionRule& rule, FusedNodes& taken, std::vector<Fusion>& fusions);

// Returns the kernel row for a kind of pattern; null if there is none.
using FindPatternRow = const KernelRow* (*)(PatternKind kind);

// Finds layer norms, RMS norms, instance norms, group norms, softmax and log-softmax. Appends fusions of nodes that are
// in no fusion yet. REQUIRES: types are inferred.
void FindNorms(const Model& model, FindPatternRow find_row, FusedNodes& taken, std::vector<Fusion>& fusions);

// Returns the kernel row of a reduction that can read a narrower type than its node does; null for other operators.
using FindOperatorRow = const KernelRow* (*)(absl::string_view domain, absl::string_view op_type);

// Fuses a reduction with the cast of its input, so that the cast's result is never made. Appends as FindNorms does.
void FindReductions(const Model& model, FindOperatorRow find_row, FusedNodes& taken, std::vector<Fusion>& fusions);

}  // namespace amp

#endif  // AMP_RUNTIME_PLAN_FIND_FUSED_PATTERNS_H_
