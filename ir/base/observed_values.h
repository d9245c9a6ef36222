// Observations of a model's float values in runs on a user's own data: how large they get, and what narrowing would do
// to them. Static rules cannot tell that, for example of activations that grow to 1e6 between two convolutions, or of
// spectra of 16-bit sound.
#ifndef AMP_IR_BASE_OBSERVED_VALUES_H_
#define AMP_IR_BASE_OBSERVED_VALUES_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>

#include "ir/base/convert.h"
#include "ir/base/dtype.h"
#include "ir/base/exponent_counts.h"

namespace amp {

// The effect of one low type on a value; the worst one over several runs.
struct ObservedNarrowing {
  int64_t overflow = 0, underflow = 0;  // elements that would become infinite, or zero
  double relative_error = 0;            // relative L2, of the elements that stay finite

  bool operator==(const ObservedNarrowing&) const = default;
};

// The elements that come nearest to where readers may be singular, over several runs. A distance is infinite where no
// element has one: all of them lie there exactly, or there are none.
struct ObservedEnds {
  static constexpr double kNone = std::numeric_limits<double>::infinity();
  double lowest = kNone, highest = -kNone;            // of the finite elements
  double from_zero = kNone;                           // the smallest distance that is not 0: the least magnitude
  double below_one = kNone, above_minus_one = kNone;  // the least of elements below 1, and above -1

  bool operator==(const ObservedEnds&) const = default;

  void Add(double element) {
    if (!std::isfinite(element)) return;
    lowest = std::min(lowest, element);
    highest = std::max(highest, element);
    if (element != 0) from_zero = std::min(from_zero, std::abs(element));
    if (element < 1) below_one = std::min(below_one, 1 - element);
    if (element > -1) above_minus_one = std::min(above_minus_one, element + 1);
  }
};

struct ObservedValue {
  int64_t elements = 0;  // that were looked at, over all runs
  double largest = 0;    // finite magnitude
  ObservedNarrowing float16, bfloat16;
  std::optional<ObservedEnds> ends;  // nothing: read from a file that an older version wrote
  ExponentCounts exponents;          // empty unless a report draws them

  // REQUIRES: `low` is kFloat16 or kBfloat16.
  const ObservedNarrowing& In(DType low) const { return low == DType::kFloat16 ? float16 : bfloat16; }
  bool operator==(const ObservedValue&) const = default;

  // Adds a tensor of the value: statistics of one and the same stretch of numbers for either type.
  void Add(const NarrowingStats& to_float16, const NarrowingStats& to_bfloat16) {
    elements += to_float16.count;
    largest = std::max(largest, static_cast<double>(to_float16.largest));
    AddTo(float16, to_float16);
    AddTo(bfloat16, to_bfloat16);
  }

 private:
  static void AddTo(ObservedNarrowing& narrowing, const NarrowingStats& stats) {
    narrowing.overflow += stats.overflow;
    narrowing.underflow += stats.underflow;
    narrowing.relative_error = std::max(narrowing.relative_error, stats.RelativeError());
  }
};

// By the names of values, those in bodies included; sorted, so that they are told in one order.
using ObservedValues = std::map<std::string, ObservedValue, std::less<>>;

}  // namespace amp

#endif  // AMP_IR_BASE_OBSERVED_VALUES_H_
