// How long waiting threads spin, by how busy the machine is.
#include "tools/program/bound_spinning.h"

#include <string>

#include "tests/catch2.h"

namespace amp {
namespace {

TEST_CASE("threads spin on an idle machine, and hardly where others have its processors") {
  CHECK(std::string(SpinsFor("0.00 0.01 0.05 1/245 1234", 2)) == "4000");
  CHECK(std::string(SpinsFor("1.00 1.01 0.05 2/245 1234", 2)) == "4000");  // one processor is free
  CHECK(std::string(SpinsFor("2.00 2.01 1.05 3/245 1234", 2)) == "100");
  CHECK(std::string(SpinsFor("9.00 9.01 9.05 3/245 1234", 64)) == "4000");
}

TEST_CASE("what says nothing about the load is an idle machine") {
  CHECK(std::string(SpinsFor("", 2)) == "4000");
  CHECK(std::string(SpinsFor("0.00 0.01 0.05", 2)) == "4000");
  CHECK(std::string(SpinsFor("0.00 0.01 0.05 many/245 1234", 2)) == "4000");
}

}  // namespace
}  // namespace amp
