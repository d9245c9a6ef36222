#include "passes/classify/suggest.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "ir/schema/operator_label.h"

namespace amp {
namespace {

// Levenshtein distance, one row of the table at a time.
size_t EditDistance(absl::string_view a, absl::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const bool equal = absl::ascii_tolower(static_cast<unsigned char>(a[i - 1])) ==
                         absl::ascii_tolower(static_cast<unsigned char>(b[j - 1]));
      const size_t replaced = diagonal + (equal ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

}  // namespace

std::string ClosestName(absl::string_view name, absl::Span<const std::string> candidates) {
  constexpr size_t kMaxNameBytes = 64, kShortestPrefix = 4;
  if (name.size() > kMaxNameBytes) return "";
  const std::string* closest = nullptr;
  // Distances must stay below: not every other letter is meant by a letter.
  size_t limit = std::min(std::max<size_t>(name.size() / 3, 1) + 1, name.size());
  for (const std::string& candidate : candidates) {
    if (const size_t distance = EditDistance(name, candidate); distance < limit) {
      limit = distance;
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
