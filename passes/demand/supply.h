// The facts that are known of a float value before there is any input.
//
//   Sigmoid(x)            from 0 to 1, which it reaches, and near both ends
//   1 - Sigmoid(x)        likewise; exact near 1, but rounded to 0 where float32 has 1e-5
//   x * B, B of size 30   about 190 for an x of size 1 and 40 terms
//   Cast(position)        whole numbers, up to 2^20 if nobody knows
//   grid + delta          a displacement of a constant as large as the grid
//
// A fact that is absent says nothing: values of which nothing is known are never kept float32.
#ifndef AMP_PASSES_DEMAND_SUPPLY_H_
#define AMP_PASSES_DEMAND_SUPPLY_H_

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "ir/base/interval.h"
#include "ir/base/observed_values.h"
#include "ir/graph/graph.h"

namespace amp {

// Why a value comes arbitrarily near a point, the surest first.
enum class Approach : uint8_t {
  kSaturates,  // an end of a function: Sigmoid, Exp
  kDecays,     // a state that a loop multiplies
  kSquares,    // zero, as squares of anything do
  kReaches,    // a bound that what lies beyond it is moved to
};

struct Supply {
  struct Point {
    double at = 0;
    Approach why = Approach::kSaturates;
  };
  // The constant that the value is a displacement of, its largest magnitude, and the size of what was added to it.
  struct Base {
    ValueId constant = kNone;
    double size = 0;
    std::optional<double> moved;
    std::optional<double> at;  // the constant itself, where it is one number
    bool is_grid = false;      // it counts, in whole numbers or halves: its parts are as large as others
  };

  Interval interval;
  bool reaches = false;  // the known ends of the interval are likely to be reached, not only never passed
  std::vector<Point> near;
  std::optional<double> size;  // typical magnitude for inputs of size 1
  bool is_size_sure = false;   // it stems from constants alone, or was observed
  bool is_observed = false;    // on a user's data
  bool is_whole = false;
  std::optional<double> count;  // how far whole numbers may go
  std::optional<Base> base;
  std::optional<double> peak;  // a number that every row attains: 0 for x - ReduceMax(x)
  ValueId maximum_of = kNone;  // the value whose rows' maximum it is
  bool is_constant = false;    // computed from constants alone
  bool is_stored = false;      // of those, one of the file: rounded once, with its loss known to other guards
  int64_t elements = 0;        // of a constant
  double scale = 0;            // of a constant: what a product by it multiplies by, a low estimate

  // The largest magnitude; infinite where an end is not known.
  double Bound() const { return std::max(std::abs(interval.low), std::abs(interval.high)); }
  bool IsBounded() const { return amp::IsBounded(interval); }
  bool IsNonNegative() const { return interval.low >= 0; }
  bool IsChoice() const { return is_whole && interval.low >= 0 && interval.high <= 1; }  // zeros and ones
  bool IsUniform() const { return is_constant && interval.low == interval.high; }
  // A magnitude that the value is known to have. `surely`: not one that stems from weights and inputs of size 1.
  std::optional<double> KnownSize(bool surely) const;
  const Point* FindNear(double at) const;
  void SetNear(double at, Approach why);  // the surer of two reasons stays
};

// The supply of a constant of the file. No elements: they are too many to be read.
Supply SupplyOfConstant(ValueId value, std::vector<double> elements);

// The facts that hold of whichever of two values it is.
Supply Join(const Supply& x, const Supply& y);

// The facts that stay where elements are chosen or scaled: all but those of constants and rows.
Supply OfElements(const Supply& x);

// With what data show: elements that are really there, those nearest to 0, 1 and -1, and the largest.
Supply Observed(const Supply& x, const ObservedValue& observed);

// The rest of two displacements of one constant, of which this is the difference.
Supply OfDifference(const Supply& difference);
// x - ReduceMax(x)
Supply BelowMaximum(const Supply& x);

Supply operator-(const Supply& x);
Supply Squared(const Supply& x);
Supply Root(const Supply& x);
Supply Magnitude(const Supply& x);
Supply Rounded(const Supply& x);  // to whole numbers
// With results moved into the bounds.
Supply Clamped(const Supply& x, Interval bounds);
Supply Sum(const Supply& x, const Supply& y);
Supply Product(const Supply& x, const Supply& y);
// One divided by a constant.
Supply Inverse(const Supply& constant);
Supply Quotient(const Supply& x, const Supply& variable_divisor);

// Whether a difference of the two takes off what both are displacements of.
bool Cancel(const Supply& x, const Supply& y);

}  // namespace amp

#endif  // AMP_PASSES_DEMAND_SUPPLY_H_
