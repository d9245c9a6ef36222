#include "runtime/rounding_sums.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "ir/base/convert.h"
#include "runtime/loops/best_loops.h"

namespace amp {
namespace {

constexpr size_t kBlock = 4096;

// Calls `act` with the begin and the size of each block.
void ForEachBlock(size_t size, const auto& act) {
  for (size_t begin = 0; begin < size; begin += kBlock) act(begin, std::min(kBlock, size - begin));
}

// The sum of a block.
double SumOfFinite(absl::Span<const float> block) {
  const double fast = BestLoops().rows.sum(block.data(), block.size());
  if (std::isfinite(fast)) return fast;
  double sum = 0;
  for (const float element : block) sum += std::isfinite(element) ? static_cast<double>(element) : 0;
  return sum;
}

}  // namespace

const Tensor* Float32Of(const Datum* datum) {
  const Tensor* const tensor = datum == nullptr ? nullptr : datum->tensor();
  const bool is_float32 = tensor != nullptr && tensor->dtype() == DType::kFloat32 && tensor->num_elements() > 0;
  return is_float32 ? tensor : nullptr;
}

bool AreFinite(absl::Span<const float> elements) {
  constexpr uint32_t kInfinity = 0x7f800000;
  return BestLoops().rows.largest_magnitude(elements.data(), elements.size()) < kInfinity;
}

// Loops add up in float32: blocks whose sum is too small or too large for that are added up here.
double SumOfSquares(absl::Span<const float> elements) {
  constexpr double kLeast = 1e-20, kMost = 1e30;
  double sum = 0;
  ForEachBlock(elements.size(), [&](size_t begin, size_t count) {
    const absl::Span<const float> block = elements.subspan(begin, count);
    const double fast = BestLoops().rows.sum_of_squares(block.data(), block.size());
    if (fast > kLeast && fast < kMost) {
      sum += fast;
      return;
    }
    for (const float element : block) sum += std::isfinite(element) ? static_cast<double>(element) * element : 0;
  });
  return sum;
}

double SquaredChange(absl::Span<const float> from, absl::Span<const float> to) {
  float changes[kBlock];
  double sum = 0;
  ForEachBlock(from.size(), [&](size_t begin, size_t count) {
    BestLoops().binary.subtract.of_both(to.data() + begin, from.data() + begin, changes, count);
    sum += SumOfSquares(absl::MakeConstSpan(changes, count));
  });
  return sum;
}

RoundingEffect EffectOfRounding(absl::Span<const float> elements, DType low, absl::Span<const float> factors) {
  uint16_t narrow[kBlock];
  float roundings[kBlock], products[kBlock];
  RoundingEffect effect;
  ForEachBlock(elements.size(), [&](size_t begin, size_t count) {
    Narrow(elements.subspan(begin, count), low, absl::MakeSpan(narrow, count));
    Widen(absl::MakeConstSpan(narrow, count), low, absl::MakeSpan(roundings, count));
    BestLoops().binary.subtract.of_both(roundings, elements.data() + begin, roundings, count);
    const absl::Span<float> all(roundings, count);
    if (!AreFinite(all)) {
      for (float& rounding : all) rounding = std::isfinite(rounding) ? rounding : 0;
    }
    BestLoops().binary.multiply.of_both(roundings, factors.data() + begin, products, count);
    effect.squared_roundings += SumOfSquares(all);
    effect.squared_products += SumOfSquares(absl::MakeConstSpan(products, count));
    effect.product += SumOfFinite(absl::MakeConstSpan(products, count));
  });
  if (effect.squared_roundings == 0) effect.squared_factors = SumOfSquares(factors);
  return effect;
}

}  // namespace amp
