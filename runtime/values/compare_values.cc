#include "runtime/values/compare_values.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"

namespace amp {
namespace {

bool IsFloatType(DType type) { return LargestFinite(type) > 0; }

bool IsSame(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

void CompareFloats(const Tensor& expected, const Tensor& found, ValueDifference& result) {
  const std::vector<double> a = AsDoubles(expected), b = AsDoubles(found);
  double squared_error = 0, squared_a = 0, squared_b = 0, product = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    if (!std::isfinite(a[i]) || !std::isfinite(b[i])) {
      if (!IsSame(a[i], b[i])) ++result.new_non_finite;
      continue;
    }
    ++result.compared;
    const double error = b[i] - a[i];
    squared_error += error * error;
    squared_a += a[i] * a[i];
    squared_b += b[i] * b[i];
    product += a[i] * b[i];
    result.largest_error = std::max(result.largest_error, std::fabs(error));
  }
  constexpr double kTiny = 1e-30;
  if (squared_error > 0) result.relative_error = std::sqrt(squared_error) / std::max(std::sqrt(squared_a), kTiny);
  if (squared_a > 0 && squared_b > 0) result.cosine = product / std::sqrt(squared_a) / std::sqrt(squared_b);
}

int64_t CountUnequal(const Tensor& a, const Tensor& b) {
  int64_t unequal = 0;
  if (a.dtype() == DType::kString) {
    const auto x = a.elements<std::string>(), y = b.elements<std::string>();
    for (size_t i = 0; i < x.size(); ++i) unequal += x[i] != y[i] ? 1 : 0;
    return unequal;
  }
  const size_t width = ElementBytes(a.dtype());
  const auto x = a.bytes(), y = b.bytes();
  for (size_t i = 0; i < x.size(); i += width) {
    unequal +=
        std::equal(x.begin() + static_cast<std::ptrdiff_t>(i), x.begin() + static_cast<std::ptrdiff_t>(i + width),
                   y.begin() + static_cast<std::ptrdiff_t>(i))
            ? 0
            : 1;
  }
  return unequal;
}

ValueDifference CompareTensors(const Tensor& expected, const Tensor& found) {
  ValueDifference result;
  const bool are_floats = IsFloatType(expected.dtype()) && IsFloatType(found.dtype());
  if (expected.dims() != found.dims() || (!are_floats && expected.dtype() != found.dtype())) {
    result.misfit = absl::StrCat("expected ", expected.TypeText(), ", found ", found.TypeText());
    return result;
  }
  result.elements = expected.num_elements();
  if (are_floats) {
    CompareFloats(expected, found, result);
  } else {
    result.compared = result.elements;
    result.unequal = CountUnequal(expected, found);
  }
  return result;
}

}  // namespace

void ValueDifference::Add(const ValueDifference& other) {
  if (misfit.empty()) misfit = other.misfit;
  relative_error = std::max(relative_error, other.relative_error);
  largest_error = std::max(largest_error, other.largest_error);
  cosine = std::min(cosine, other.cosine);
  new_non_finite += other.new_non_finite;
  unequal += other.unequal;
  elements += other.elements;
  compared += other.compared;
}

ValueDifference CompareValues(const Datum& expected, const Datum& found) {
  if (expected.tensor() != nullptr && found.tensor() != nullptr) {
    return CompareTensors(*expected.tensor(), *found.tensor());
  }
  ValueDifference result;
  if (expected.IsEmpty() && found.IsEmpty()) return result;
  if (expected.map() != nullptr && found.map() != nullptr) {
    result = CompareTensors(expected.map()->keys, found.map()->keys);
    result.Add(CompareTensors(expected.map()->values, found.map()->values));
    return result;
  }
  const Sequence* a = expected.sequence();
  const Sequence* b = found.sequence();
  if (a == nullptr || b == nullptr || a->elements.size() != b->elements.size()) {
    result.misfit = absl::StrCat("expected ", expected.TypeText(), ", found ", found.TypeText());
    return result;
  }
  for (size_t i = 0; i < a->elements.size(); ++i) result.Add(CompareValues(a->elements[i], b->elements[i]));
  return result;
}

std::vector<double> AsDoubles(const Tensor& tensor) {
  std::vector<double> result;
  result.reserve(static_cast<size_t>(tensor.num_elements()));
  const auto read = [&]<typename T>(TypeTag<T>) {
    for (const T element : tensor.elements<T>()) result.push_back(ToDouble(element));
  };
  if (!VisitNumbersAndBool(tensor.dtype(), read)) VisitTinyTypes(tensor.dtype(), read);
  return result;
}

}  // namespace amp
