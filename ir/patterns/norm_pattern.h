// LayerNorm, RMSNorm and InstanceNorm, written out.
//
//   d = x - ReduceMean(x)   v = ReduceMean(d * d)   y = d / Sqrt(v + eps) * scale + shift        LayerNorm
//   v = ReduceMean(Pow(x, 2))   y = x * Reciprocal(Sqrt(v + eps)) * scale                        RMSNorm
//   the first over the axes behind the channels, scale and shift of shape [C, 1, ...]            InstanceNorm
//   s = scale / Sqrt(v + eps)   y = x * s + (shift - ReduceMean(x) * s)                          LayerNorm
//
// The square is Mul or Pow, the difference may be made twice, the root is Sqrt or Pow by 0.5 that divides, or Pow by
// -0.5, Reciprocal or 1 / Sqrt that multiplies, with the scale or ahead of it; scale and shift may be absent, and stand
// on either side. Means and variances are those of mean_pattern.h.
// Not obvious: a scale or shift belongs to the norm only where its shape is that of what is normalised, dimension by
// dimension; others broadcast in ways that no norm does, and stay outside.
#ifndef AMP_IR_PATTERNS_NORM_PATTERN_H_
#define AMP_IR_PATTERNS_NORM_PATTERN_H_

#include <functional>
#include <optional>
#include <vector>

#include "ir/patterns/pattern.h"
#include "ir/patterns/pattern_search.h"

namespace amp {

// REQUIRES: types are inferred. `anchor`: the division by the root, the product with its inverse, or the sum of what is
// spread; any other node is none with a reason.
Recognised RecogniseNorm(const Model& model, NodeId anchor);

// The core of every norm: (x - mean) or x, divided by the root of the mean of its square.
struct Normalisation {
  ValueId x = kNone;
  std::vector<int64_t> axes;
  double epsilon = 0;
  bool is_centred = false;
  ValueId scale = kNone, shift = kNone;  // that are applied inside
};
// Its nodes join `search`. The reason is for one that is not found.
struct FoundNormalisation {
  std::optional<Normalisation> normalisation;
  Reason why = Reason::None();
};
FoundNormalisation FindNormalisation(NodeId anchor, PatternSearch& search);

// Scale and shift that are applied to what `inside.last` gives, one after the other, beside those inside, each for
// itself if `fits` says so of it. They join `search`.
struct ScaleAndShift {
  ValueId scale = kNone, shift = kNone;
  NodeId last = kNone;
};
enum class WithShift { kNo, kYes };
ScaleAndShift FindScaleAndShift(ScaleAndShift inside, WithShift with_shift, PatternSearch& search,
                                const std::function<bool(ValueId)>& fits);
// Whether the value is [C, 1, ...] with one dimension less than x, perhaps behind ones: one number per channel of x.
bool IsPerChannel(const Model& model, ValueId value, ValueId x);

}  // namespace amp

#endif  // AMP_IR_PATTERNS_NORM_PATTERN_H_
