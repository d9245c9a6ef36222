// Parts of a value's last axis: what Slice, Split and Gather take of it.
#ifndef AMP_IR_PATTERNS_AXIS_PART_H_
#define AMP_IR_PATTERNS_AXIS_PART_H_

#include <cstdint>
#include <optional>

#include "ir/patterns/pattern_search.h"

namespace amp {

inline constexpr int64_t kToTheEnd = INT64_MAX;

// Elements from `start` to before `end` in steps.
struct Stretch {
  ValueId of = kNone;
  int64_t start = 0, end = kToTheEnd, step = 1;
};
// The node that gives `value` joins where it gives one.
std::optional<Stretch> TakeStretch(ValueId value, PatternSearch& search);

// One of the two that make up every pair of elements of the last axis.
enum class Side { kFirst, kSecond };
struct Part {
  ValueId x = kNone;
  RotaryForm::Pairs pairs = RotaryForm::Pairs::kHalves;
  Side side = Side::kFirst;
};
// The nodes that give `value` join where it is one.
std::optional<Part> TakePart(ValueId value, PatternSearch& search);

// Whether `axis` is the last one of `value`, which may get `added` dimensions more first.
bool IsLastAxis(const Model& model, int64_t axis, ValueId value, int added = 0);
// The one axis of a Squeeze or Unsqueeze, an attribute or an input.
std::optional<int64_t> OnlyAxis(const PatternSearch& search, const Node& node);

}  // namespace amp

#endif  // AMP_IR_PATTERNS_AXIS_PART_H_
