#include "ir/base/percent.h"

#include <limits>

#include "tests/catch2.h"

namespace amp {
namespace {

TEST_CASE("percentages are for people") {
  CHECK(PercentText(1, 2) == "100");
  CHECK(PercentText(0.9994, 2) == "100");
  CHECK(PercentText(12.345, 2) == "1234");
  CHECK(PercentText(0.0314, 2) == "3.1");
  CHECK(PercentText(0.01, 6) == "1");
  CHECK(PercentText(1.2345e-7, 3) == "0.0000123");
  CHECK(PercentText(1e-7, 3) == "0.00001");
  CHECK(PercentText(0, 3) == "0");
  CHECK(PercentText(1e30, 6).find('e') == std::string::npos);
  CHECK(PercentText(std::numeric_limits<double>::infinity(), 2) == "inf");
}

}  // namespace
}  // namespace amp
