#include "runtime/kernel/take_elements.h"

#include <utility>

namespace amp {
namespace {

// Knows how many have it.
struct CountedSequence : Sequence, std::enable_shared_from_this<CountedSequence> {
  explicit CountedSequence(Sequence sequence) : Sequence(std::move(sequence)) {}
};

}  // namespace

std::shared_ptr<const Sequence> MakeSharedSequence(Sequence sequence) {
  return std::make_shared<CountedSequence>(std::move(sequence));
}

std::vector<Datum> TakeElements(const Sequence& sequence) {
  const auto& counted = static_cast<const CountedSequence&>(sequence);
  if (counted.weak_from_this().use_count() != 1) return sequence.elements;
  // It was made as one that may change, and nobody else looks at it.
  return std::move(const_cast<CountedSequence&>(counted).elements);  // NOLINT(cppcoreguidelines-pro-type-const-cast)
}

}  // namespace amp
