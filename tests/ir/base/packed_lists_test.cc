#include "ir/base/packed_lists.h"

#include <cstdint>
#include <vector>

#include "tests/catch2.h"

namespace amp {
namespace {

TEST_CASE("packed lists are found by number, empty ones included") {
  PackedLists<uint32_t> lists;
  CHECK(lists.size() == 0);
  CHECK_FALSE(lists.begin() != lists.end());
  const std::vector<std::vector<uint32_t>> given = {{}, {3, 1}, {}, {7}};
  for (const std::vector<uint32_t>& list : given) lists.push_back(list);
  lists.ShrinkToFit();
  REQUIRE(lists.size() == given.size());
  size_t i = 0;
  for (const absl::Span<const uint32_t> list : lists) CHECK(list == absl::MakeConstSpan(given[i++]));
  CHECK(i == given.size());
  CHECK(lists[1][1] == 1);
}

TEST_CASE("packed texts keep every byte") {
  PackedTexts texts;
  texts.push_back("one");
  texts.push_back("");
  texts.push_back(absl::string_view("a\0b", 3));
  CHECK(texts[0] == "one");
  CHECK(texts[1].empty());
  CHECK(texts[2] == absl::string_view("a\0b", 3));
}

}  // namespace
}  // namespace amp
