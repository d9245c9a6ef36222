// Casts that ONNX's own cases leave out: strings, numbers that do not fit, one rounding, types that fit no cast.
#include <cmath>
#include <limits>

#include "absl/strings/match.h"
#include "runtime/reference/convert_element.h"
#include "tests/catch2.h"
#include "tests/runtime/run_text.h"

TEST_CASE("text of numbers is the shortest that means the same in its type") {
  CHECK(Computed({.given = "float[7] x = {0.1, 3, 1e20, 0.0001, 0.00001, -0.0, 16777216}",
                  .node = "y = Cast<to = 8>(x)",
                  .output = "string[7]"}) == "string[7]: 0.1 3.0 1e+20 0.0001 1e-05 -0.0 16777216.0");
  CHECK(Computed({.given = "float16[2] x = {11878, 31743}", .node = "y = Cast<to = 8>(x)", .output = "string[2]"}) ==
        "string[2]: 0.1 65504.0");
  CHECK(Computed(
            {.given = "uint64[1] x = {18446744073709551615}", .node = "y = Cast<to = 8>(x)", .output = "string[1]"}) ==
        "string[1]: 18446744073709551615");
}

TEST_CASE("numbers of text") {
  const std::string given = "string[6] x = {\"3.5\", \"+INF\", \"nan\", \"-inf\", \" 7\", \"1E2\"}";
  CHECK(Computed({.given = given, .node = "y = Cast<to = 1>(x)", .output = "float[6]"}) ==
        "float32[6]: 3.5 inf nan -inf 7 100");
  CHECK(Computed({.given = "string[2] x = {\"100.5\", \"-3\"}", .node = "y = Cast<to = 7>(x)", .output = "int64[2]"}) ==
        "int64[2]: 100 -3");
  CHECK(absl::StrContains(
      Computed({.given = "string[2] x = {\"1\", \"two\"}", .node = "y = Cast<to = 1>(x)", .output = "float[2]"}),
      "element 1: expected a number, found 'two'"));
}

TEST_CASE("integers keep their lowest bits, floats are cut") {
  CHECK(Computed({.given = "int16[3] x = {200, -129, 256}", .node = "y = Cast<to = 3>(x)", .output = "int8[3]"}) ==
        "int8[3]: -56 127 0");
  CHECK(Computed({.given = "float[3] x = {-1.9, 2.9, 300}", .node = "y = Cast<to = 2>(x)", .output = "uint8[3]"}) ==
        "uint8[3]: 255 2 44");
  CHECK(Computed({.given = "int8[3] x = {8, -9, 7}", .node = "y = Cast<to = 22>(x)", .output = "int4[3]"}) ==
        "int4[3]: -8 7 7");
}

TEST_CASE("floats that fit no integer give the least one of the register") {
  CHECK(amp::TruncateTo<int32_t>(3e9) == std::numeric_limits<int32_t>::min());
  CHECK(amp::TruncateTo<int32_t>(std::nan("")) == std::numeric_limits<int32_t>::min());
  CHECK(amp::TruncateTo<int32_t>(2147483647.9) == 2147483647);
  CHECK(amp::TruncateTo<int8_t>(1e30) == 0);
  CHECK(amp::TruncateTo<uint32_t>(4e9) == 4000000000u);
  CHECK(amp::TruncateTo<int64_t>(-9223372036854775808.0) == std::numeric_limits<int64_t>::min());
  CHECK(amp::TruncateTo<int64_t>(9223372036854775808.0) == std::numeric_limits<int64_t>::min());
  CHECK(amp::TruncateTo<uint64_t>(9223372036854775808.0) == uint64_t{1} << 63);
  CHECK(amp::TruncateTo<uint64_t>(18446744073709551616.0) == uint64_t{1} << 63);
}

TEST_CASE("an int64 is rounded once on its way to a small float") {
  // Just above the middle of two bfloat16 numbers; float64 would round it onto the middle, and that to the even one.
  const int64_t above_middle = (int64_t{0x101} << 54) + 1;
  CHECK(amp::ToDouble(amp::ConvertElement<amp::Bfloat16>(above_middle)) == std::ldexp(0x81, 55));
  CHECK(amp::ToDouble(amp::ConvertElement<amp::Bfloat16>(-above_middle)) == -std::ldexp(0x81, 55));
  CHECK(amp::ToDouble(amp::ConvertElement<amp::Bfloat16>(above_middle - 1)) == std::ldexp(0x80, 55));
  CHECK(amp::ConvertElement<float>((int64_t{1} << 62) + (int64_t{1} << 38) + 1) == 0x1.000002p62f);
}

TEST_CASE("float8e8m0: what does not fit saturates or becomes NaN; the way of rounding") {
  using Rules = amp::ConvertRules;
  CHECK(amp::ConvertToE8M0(1.0, {}) == 127);
  CHECK(amp::ConvertToE8M0(1.1, {}) == 128);
  CHECK(amp::ConvertToE8M0(1.9, {.e8m0_round = Rules::Round::kDown}) == 127);
  CHECK(amp::ConvertToE8M0(1.5, {.e8m0_round = Rules::Round::kNearest}) == 128);
  CHECK(amp::ConvertToE8M0(1.49, {.e8m0_round = Rules::Round::kNearest}) == 127);
  CHECK(amp::ConvertToE8M0(0, {}) == 0);
  CHECK(amp::ConvertToE8M0(0, {.saturate = false}) == 255);
  CHECK(amp::ConvertToE8M0(1e300, {}) == 254);
  CHECK(amp::ConvertToE8M0(1e300, {.saturate = false}) == 255);
}

TEST_CASE("opset 1 names the type") {
  CHECK(
      Computed(
          {.opset = 1, .given = "float[1] x = {2.5}", .node = "y = Cast<to = \"DOUBLE\">(x)", .output = "double[1]"}) ==
      "float64[1]: 2.5");
  CHECK(absl::StrContains(
      Computed(
          {.opset = 1, .given = "float[1] x = {2.5}", .node = "y = Cast<to = \"DECIMAL\">(x)", .output = "double[1]"}),
      "expected an element type as the attribute to"));
}

TEST_CASE("BitCast keeps bits, and bool 0 or 1") {
  CHECK(
      Computed(
          {.opset = 26, .given = "uint8[3] x = {0, 1, 200}", .node = "y = BitCast<to = 9>(x)", .output = "bool[3]"}) ==
      "bool[3]: 0 1 1");
  CHECK(Computed({.opset = 26,
                  .given = "uint8[2] x = {15, 7}",
                  .node = "z = Cast<to = 21>(x) y = BitCast<to = 22>(z)",
                  .output = "int4[2]"}) == "int4[2]: -1 7");
  CHECK(absl::StrContains(
      Computed({.opset = 26, .given = "float[1] x = {1}", .node = "y = BitCast<to = 7>(x)", .output = "int64[1]"}),
      "expected a type of as many bits as float32, found int64"));
}
