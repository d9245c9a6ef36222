// How far two values are apart: the outputs of two models that ought to mean the same.
#ifndef AMP_RUNTIME_VALUES_COMPARE_VALUES_H_
#define AMP_RUNTIME_VALUES_COMPARE_VALUES_H_

#include <cstdint>
#include <string>

#include "runtime/kernel/tensor.h"

namespace amp {

struct ValueDifference {
  std::string misfit;  // why nothing can be compared: other types or shapes; else empty
  // For floats, over the elements that are finite in both: || found - expected || / || expected ||, and the largest
  // |found - expected|.
  double relative_error = 0, largest_error = 0;
  double cosine = 1;           // between the two; 1 where either is zero everywhere
  int64_t new_non_finite = 0;  // elements that are not finite in one alone, or otherwise in the other
  int64_t unequal = 0;         // of integers, truth values and strings
  int64_t elements = 0;
  int64_t compared = 0;  // of these: floats that are finite in both, and all that are no floats

  // The worst of both.
  void Add(const ValueDifference& other);
};

// Floats of any width against floats of any width; sequences and optionals element by element.
ValueDifference CompareValues(const Datum& expected, const Datum& found);

// Every element of a tensor of real numbers as float64; empty for other types.
std::vector<double> AsDoubles(const Tensor& tensor);

}  // namespace amp

#endif  // AMP_RUNTIME_VALUES_COMPARE_VALUES_H_
