#include "ir/base/unique_names.h"

#include "tests/catch2.h"

namespace amp {
namespace {

TEST_CASE("a name that is free stays what it is, one that is taken gets the first number that is free") {
  UniqueNames names;
  names.Take("a_2");
  CHECK(names.Make("a") == "a");
  CHECK(names.Make("a") == "a_1");
  CHECK(names.Make("a") == "a_3");
  CHECK(names.Make("a_1") == "a_1_1");
  CHECK(names.Make("b") == "b");
}

}  // namespace
}  // namespace amp
