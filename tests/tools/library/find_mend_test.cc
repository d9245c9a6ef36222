#include "tools/library/find_mend.h"

#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tests/catch2.h"

namespace amp {
namespace {

using Nodes = std::vector<std::string>;

Nodes Numbered(int count) {
  Nodes nodes;
  for (int i = 0; i < count; ++i) nodes.push_back(absl::StrCat(i));
  return nodes;
}

struct Tried {
  std::string found;
  bool is_minimal = false;
  int tries = 0;
};

// Runs FindMend where a set of nodes mends if it has all of `needed`, and none of `harmful`.
Tried Find(const Nodes& candidates, const Nodes& needed, size_t most_tries = 100, const Nodes& harmful = {}) {
  Tried tried;
  const auto has = [](const Nodes& nodes, const std::string& node) { return absl::c_linear_search(nodes, node); };
  const auto mend = FindMend(candidates, most_tries, [&](const Nodes& nodes) -> absl::StatusOr<bool> {
    ++tried.tries;
    return absl::c_all_of(needed, [&](const std::string& node) { return has(nodes, node); }) &&
           absl::c_none_of(harmful, [&](const std::string& node) { return has(nodes, node); });
  });
  REQUIRE(mend.ok());
  tried.found = absl::StrJoin(mend->nodes, " ");
  tried.is_minimal = mend->is_minimal;
  return tried;
}

TEST_CASE("the nodes that are needed are found, and no others") {
  CHECK(Find(Numbered(100), {"0"}).found == "0");
  CHECK(Find(Numbered(100), {"99"}).found == "99");
  CHECK(Find(Numbered(100), {"3", "50", "77"}).found == "3 50 77");
  CHECK(Find(Numbered(5), {"0", "1", "2", "3", "4"}).found == "0 1 2 3 4");
  CHECK(Find(Numbered(100), {"3", "50", "77"}).is_minimal);
}

TEST_CASE("few tries are enough") {
  CHECK(Find(Numbered(1000), {"0"}).tries == 1);
  CHECK(Find(Numbered(1000), {"999"}).tries <= 31);
  CHECK(Find(Numbered(1000), {"1", "998"}).tries <= 45);
}

TEST_CASE("where nothing mends, nothing is named") {
  CHECK(Find(Numbered(9), {"10"}).found.empty());
  CHECK(Find({}, {}).found.empty());
  CHECK(Find(Numbered(9), {"8"}, 2).found.empty());
}

TEST_CASE("out of tries, what is known to mend is named") {
  const Tried tried = Find(Numbered(8), {"1", "6"}, 5);
  CHECK_FALSE(tried.is_minimal);
  CHECK(tried.tries <= 5);
  CHECK(absl::StrContains(tried.found, "1"));
  CHECK(absl::StrContains(tried.found, "6"));
}

TEST_CASE("what is named has been seen to mend, though denying more may do harm") {
  for (int seed = 0; seed < 200; ++seed) {
    std::mt19937 random(static_cast<unsigned>(seed));
    std::map<std::set<std::string>, bool> verdicts;  // at random, but the same for the same nodes
    const auto mends = [&](const Nodes& nodes) -> absl::StatusOr<bool> {
      const std::set<std::string> set(nodes.begin(), nodes.end());
      return verdicts.try_emplace(set, random() % 2 == 0).first->second;
    };
    const auto mend = FindMend(Numbered(9), 100, mends);
    REQUIRE(mend.ok());
    if (!mend->nodes.empty()) CHECK(verdicts.at({mend->nodes.begin(), mend->nodes.end()}));
  }
}

TEST_CASE("an error of a try ends the search") {
  const auto mend = FindMend({"a", "b"}, 9, [](const Nodes&) { return absl::CancelledError("enough"); });
  CHECK(mend.status().message() == "enough");
}

}  // namespace
}  // namespace amp
