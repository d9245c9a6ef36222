#include "tools/library/choice_order.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <limits>
#include <optional>
#include <utility>

#include "ir/base/status.h"

namespace amp {
namespace {

using Choice = PartErrors::Choice;

// Returns what the raising of a part takes off the squared error, per byte that it costs.
double WorthOfRaising(const PartErrors& errors, const Choice& from, size_t part) {
  const Choice raised = errors.Changed(from, part);
  const double gain = from.SquaredError() - raised.SquaredError();
  return std::max(gain, 0.0) / std::max(from.saved - raised.saved, 1.0);
}

// Returns each choice on the way.
absl::StatusOr<std::vector<Choice>> RaiseOneByOne(const PartErrors& errors, const LowParts& all,
                                                  const LowParts& harmful,
                                                  const std::function<absl::Status()>& may_go_on) {
  Choice choice = errors.Evaluate(all);
  std::vector<Choice> order = {choice};
  std::vector<size_t> open;
  for (size_t part = 0; part < all.size(); ++part) {
    if (!all[part]) continue;
    if (harmful[part]) {
      choice = errors.Changed(choice, part);
    } else {
      open.push_back(part);
    }
  }
  if (choice.low != all) order.push_back(choice);
  std::vector<double> worth(all.size(), 0);
  const auto by_worth = [&](size_t a, size_t b) { return worth[a] < worth[b]; };
  for (const size_t part : open) worth[part] = WorthOfRaising(errors, choice, part);
  // The worth of a part changes little while others are raised: of those that seemed best the best is found anew.
  constexpr std::ptrdiff_t kLooked = 8;
  while (!open.empty()) {
    AMP_RETURN_IF_ERROR(may_go_on());
    const auto first = open.end() - std::min(kLooked, std::ssize(open));
    std::nth_element(open.begin(), first, open.end(), by_worth);
    for (auto it = first; it != open.end(); ++it) worth[*it] = WorthOfRaising(errors, choice, *it);
    std::iter_swap(std::max_element(first, open.end(), by_worth), open.end() - 1);
    choice = errors.Changed(choice, open.back());
    open.pop_back();
    order.push_back(choice);
  }
  return order;
}

}  // namespace

absl::StatusOr<std::vector<LowParts>> OrderChoices(const PartErrors& errors, const LowParts& all,
                                                   const LowParts& harmful, bool saves_nothing_is_fine,
                                                   const std::function<absl::Status()>& may_go_on) {
  AMP_ASSIGN_OR_RETURN(std::vector<Choice> choices, RaiseOneByOne(errors, all, harmful, may_go_on));
  LowParts harmless = all;
  for (size_t part = 0; part < all.size(); ++part) harmless[part] = all[part] && !harmful[part];
  AMP_ASSIGN_OR_RETURN(const std::vector<LowParts> best, errors.BestChoices(harmless, may_go_on));
  for (const LowParts& low : best) choices.push_back(errors.Evaluate(low));
  std::stable_sort(choices.begin(), choices.end(), [](const Choice& a, const Choice& b) {
    return std::pair(a.SquaredError(), -a.saved) < std::pair(b.SquaredError(), -b.saved);
  });
  const LowParts nothing(all.size(), false);
  std::vector<LowParts> front = {nothing};
  double most_saved = saves_nothing_is_fine ? -std::numeric_limits<double>::infinity() : 0;
  for (const Choice& choice : choices) {
    if (choice.saved <= most_saved || choice.low == all || choice.low == nothing) continue;
    most_saved = choice.saved;
    front.push_back(choice.low);
  }
  front.push_back(all);
  std::reverse(front.begin(), front.end());
  return front;
}

std::optional<LowParts> BestNeighbour(const PartErrors& errors, const LowParts& all, const std::vector<LowParts>& from,
                                      const std::vector<LowParts>& others,
                                      const std::function<double(const Choice&)>& worth, double least) {
  constexpr size_t kMostToPair = 40;
  std::optional<LowParts> best;
  const auto look_at = [&](const Choice& choice) {
    const double of_choice = worth(choice);
    if (!(of_choice > least)) return;
    least = of_choice;
    best = choice.low;
  };
  for (const LowParts& low : others) look_at(errors.Evaluate(low));
  for (const LowParts& low : from) {
    const Choice start = errors.Evaluate(low);
    for (size_t a = 0; a < all.size(); ++a) {
      if (!all[a]) continue;
      const Choice changed = errors.Changed(start, a);
      look_at(changed);
      for (size_t b = a + 1; b < all.size() && all.size() <= kMostToPair; ++b) {
        if (all[b]) look_at(errors.Changed(changed, b));
      }
    }
  }
  return best;
}

}  // namespace amp
