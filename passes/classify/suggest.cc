#include "passes/classify/suggest.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "ir/schema/operator_label.h"

namespace amp {
namespace {

char Lower(char c) { return absl::ascii_tolower(static_cast<unsigned char>(c)); }

// Returns the cost of typing `a` instead of `b`. A letter too many, one too few or two in the wrong order is a slip of
// the hand; another letter is more often another word. Three rows of the table at a time.
size_t TypingCost(absl::string_view a, absl::string_view b) {
  constexpr size_t kSlip = 2, kOtherLetter = 3;
  std::vector<size_t> before(b.size() + 1), above(b.size() + 1), row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = kSlip * j;
  for (size_t i = 1; i <= a.size(); ++i) {
    std::swap(before, above);
    std::swap(above, row);
    row[0] = kSlip * i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const char left = Lower(a[i - 1]), right = Lower(b[j - 1]);
      row[j] = std::min({above[j - 1] + (left == right ? 0 : kOtherLetter), row[j - 1] + kSlip, above[j] + kSlip});
      const bool swapped = i > 1 && j > 1 && left == Lower(b[j - 2]) && right == Lower(a[i - 2]);
      if (swapped) row[j] = std::min(row[j], before[j - 2] + kSlip);
    }
  }
  return row[b.size()];
}

// How much a name may cost: one other letter in a short name, two in one of nine letters. A wrong guess is worse than
// none.
size_t MostCost(absl::string_view name) {
  const size_t letters = static_cast<size_t>(std::count_if(name.begin(), name.end(), [](char c) { return c != '-'; }));
  return letters < 2 ? 0 : std::max<size_t>(3, 2 * letters / 3);
}

}  // namespace

std::string ClosestName(absl::string_view name, absl::Span<const std::string> candidates) {
  constexpr size_t kMaxNameBytes = 64, kShortestPrefix = 4;
  if (name.size() > kMaxNameBytes) return "";
  const std::string* closest = nullptr;
  size_t limit = MostCost(name) + 1;  // costs must stay below
  for (const std::string& candidate : candidates) {
    if (const size_t cost = TypingCost(name, candidate); cost < limit) {
      limit = cost;
      closest = &candidate;
    }
  }
  if (closest != nullptr) return *closest;
  if (name.size() < kShortestPrefix) return "";
  for (const std::string& candidate : candidates) {
    if (!absl::StartsWithIgnoreCase(candidate, name)) continue;
    if (closest == nullptr || candidate.size() < closest->size()) closest = &candidate;
  }
  return closest == nullptr ? "" : *closest;
}

std::string DidYouMean(absl::string_view name, absl::Span<const std::string> candidates) {
  const std::string closest = ClosestName(name, candidates);
  return closest.empty() ? "" : absl::StrCat("; did you mean '", closest, "'?");
}

std::string DidYouMeanOperator(absl::string_view domain, absl::string_view op, const OperatorNames& known) {
  std::vector<std::string> domains;
  for (const auto& [name, operators] : known) domains.push_back(name);
  const bool is_known = known.contains(std::string(domain));
  const std::string closest_domain = is_known ? std::string(domain) : ClosestName(domain, domains);
  std::string closest;
  if (const auto it = known.find(closest_domain); it != known.end() && (is_known || !closest_domain.empty())) {
    closest = ClosestName(op, it->second);
    if (!closest.empty()) closest = OperatorLabel(closest_domain, closest);
  }
  for (auto it = known.begin(); closest.empty() && it != known.end(); ++it) {
    const bool has_it = std::find(it->second.begin(), it->second.end(), op) != it->second.end();
    if (has_it) closest = OperatorLabel(it->first, op);
  }
  return closest.empty() ? "" : absl::StrCat("; did you mean '", closest, "'?");
}

}  // namespace amp
