// Integers at their limits, broadcasting of old opsets, Clip and BitShift: what ONNX's own cases leave out.
#include "absl/strings/match.h"
#include "tests/catch2.h"
#include "tests/runtime/run_text.h"

TEST_CASE("integers wrap around") {
  CHECK(Computed({.given = "int8[2] a = {127, -128}, int8[1] b = {1}", .node = "y = Add(a, b)", .output = "int8[2]"}) ==
        "int8[2]: -128 -127");
  CHECK(Computed({.given = "uint16[1] a = {65535}", .node = "y = Mul(a, a)", .output = "uint16[1]"}) == "uint16[1]: 1");
  CHECK(Computed({.given = "int32[1] a = {-2147483648}", .node = "y = Abs(a)", .output = "int32[1]"}) ==
        "int32[1]: -2147483648");
}

TEST_CASE("the least integer divided by -1 is itself, and nothing is left") {
  const std::string given = "int32[2] a = {-2147483648, -7}, int32[1] b = {-1}";
  CHECK(Computed({.given = given, .node = "y = Div(a, b)", .output = "int32[2]"}) == "int32[2]: -2147483648 7");
  CHECK(Computed({.given = given, .node = "y = Mod(a, b)", .output = "int32[2]"}) == "int32[2]: 0 0");
}

TEST_CASE("integer division cuts towards zero, Mod follows the divisor, fmod the dividend") {
  const std::string given = "int64[2] a = {7, -7}, int64[2] b = {-2, 2}";
  CHECK(Computed({.given = given, .node = "y = Div(a, b)", .output = "int64[2]"}) == "int64[2]: -3 -3");
  CHECK(Computed({.given = given, .node = "y = Mod(a, b)", .output = "int64[2]"}) == "int64[2]: -1 1");
  CHECK(Computed({.given = given, .node = "y = Mod<fmod = 1>(a, b)", .output = "int64[2]"}) == "int64[2]: 1 -1");
}

TEST_CASE("division of integers by zero is an error, of floats infinity") {
  CHECK(absl::StrContains(
      Computed({.given = "int8[1] a = {1}, int8[1] b = {0}", .node = "y = Div(a, b)", .output = "int8[1]"}),
      "expected integer divisors other than 0"));
  CHECK(absl::StrContains(
      Computed({.given = "uint8[1] a = {1}, uint8[1] b = {0}", .node = "y = Mod(a, b)", .output = "uint8[1]"}),
      "expected integer divisors other than 0"));
  CHECK(Computed({.given = "float[1] a = {1}, float[1] b = {0}", .node = "y = Div(a, b)", .output = "float[1]"}) ==
        "float32[1]: inf");
}

TEST_CASE("floor modulo of floats has the divisor's sign, zeros included") {
  CHECK(Computed({.opset = 28,
                  .given = "float[4] a = {-1, 5.5, -0.0, 1}, float[4] b = {3, -2, -3, 0}",
                  .node = "y = Mod(a, b)",
                  .output = "float[4]"}) == "float32[4]: 2 -0.5 -0 nan");
}

TEST_CASE("powers of integers are exact, and cut towards zero below one") {
  CHECK(Computed({.given = "int64[2] a = {3, -3}, int32[1] b = {39}", .node = "y = Pow(a, b)", .output = "int64[2]"}) ==
        "int64[2]: 4052555153018976267 -4052555153018976267");
  CHECK(Computed({.given = "int32[4] a = {1, -1, 2, 3}, int32[1] b = {-3}",
                  .node = "y = Pow(a, b)",
                  .output = "int32[4]"}) == "int32[4]: 1 -1 0 0");
  CHECK(absl::StrContains(
      Computed({.given = "int32[1] a = {0}, int64[1] b = {-1}", .node = "y = Pow(a, b)", .output = "int32[1]"}),
      "expected a base other than 0"));
  CHECK(Computed({.given = "int32[1] a = {9}, float[1] b = {0.5}", .node = "y = Pow(a, b)", .output = "int32[1]"}) ==
        "int32[1]: 3");
}

TEST_CASE("before opset 7 operands are equal in shape unless they say that they broadcast") {
  const std::string given = "float[2,2] a = {1, 2, 3, 4}, float[2] b = {10, 20}";
  const auto add = [&](const std::string& attributes) {
    return Computed({.opset = 6, .given = given, .node = "y = Add" + attributes + "(a, b)", .output = "float[2,2]"});
  };
  CHECK(add("<broadcast = 1>") == "float32[2,2]: 11 22 13 24");
  CHECK(add("<broadcast = 1, axis = 0>") == "float32[2,2]: 11 12 23 24");
  CHECK(absl::StrContains(add(""), "expected equal shapes"));
  CHECK(absl::StrContains(add("<broadcast = 1, axis = 2>"), "expected an axis from 0 to 1, found 2"));
  CHECK(absl::StrContains(add("<broadcast = 1, axis = -7>"), "expected an axis from 0 to 1, found -7"));
}

TEST_CASE("operands that do not fit each other are errors") {
  CHECK(absl::StrContains(
      Computed({.given = "float[2] a = {1, 2}, float[3] b = {1, 2, 3}", .node = "y = Add(a, b)", .output = "float[2]"}),
      "expected shapes that broadcast, found [2] and [3]"));
  CHECK(absl::StrContains(
      Computed({.given = "float[1] a = {1}, double[1] b = {1}", .node = "y = Add(a, b)", .output = "float[1]"}),
      "expected operands of one type, found float32 and float64"));
  CHECK(absl::StrContains(
      Computed({.given = "float[1] a = {1}, float[2] b = {1, 2}", .node = "y = PRelu(a, b)", .output = "float[2]"}),
      "expected a slope that broadcasts to [1]"));
}

TEST_CASE("sums of float16 are rounded once") {
  // 2048 and 1, by their bits. 2049 is no float16.
  CHECK(Computed({.given = "float16[1] a = {26624}, float16[1] b = {15360}",
                  .node = "y = Sum(a, b, b)",
                  .output = "float16[1]"}) == "float16[1]: 2050");
}

TEST_CASE("Max and Min take NaN from either side") {
  const std::string given = "float[2] one = {1, 1}, float[2] zero = {0, 1}";
  CHECK(Computed({.given = given, .node = "n = Log(zero) m = Sub(n, n) y = Max(m, one)", .output = "float[2]"}) ==
        "float32[2]: nan 1");
  CHECK(Computed({.given = given, .node = "n = Log(zero) m = Sub(n, n) y = Min(one, m)", .output = "float[2]"}) ==
        "float32[2]: nan 0");
}

TEST_CASE("Clip: the upper bound wins, absent bounds are the largest finite numbers, as in ONNX Runtime") {
  const std::string given = "float[3] x = {-5, 0, 5}, float low = {2}, float high = {1}";
  CHECK(Computed({.given = given, .node = "y = Clip(x, low, high)", .output = "float[3]"}) == "float32[3]: 1 1 1");
  CHECK(Computed({.given = given, .node = "y = Clip(x, , high)", .output = "float[3]"}) == "float32[3]: -5 0 1");
  CHECK(absl::StrContains(Computed({.given = given, .node = "y = Clip(x, x)", .output = "float[3]"}),
                          "expected one element as min, found float32[3]"));
  CHECK(Computed({.opset = 6,
                  .given = "float[2] x = {1, 0}",
                  .node = "z = Reciprocal(x) y = Clip(z)",
                  .output = "float[2]"}) == "float32[2]: 1 3.40282e+38");
  const auto unbounded = [](int opset, const std::string& type, const std::string& node) {
    return Computed({.opset = opset,
                     .given = "float[3] x = {1, 0, -1}, float[3] zero = {0, 0, 0}, float low = {-2}",
                     .node = "q = Div(x, zero) z = Cast<to = " + type + ">(q) l = Cast<to = " + type + ">(low) " +
                             node + " y = Cast<to = 1>(c)",
                     .output = "float[3]"});
  };
  constexpr char kFloat32[] = "1", kFloat16[] = "10", kBfloat16[] = "16";
  CHECK(unbounded(13, kFloat32, "c = Clip(z)") == "float32[3]: 3.40282e+38 nan -3.40282e+38");
  CHECK(unbounded(11, kFloat32, "c = Clip(z, l)") == "float32[3]: 3.40282e+38 nan -2");
  CHECK(unbounded(13, kFloat16, "c = Clip(z)") == "float32[3]: 65504 nan -65504");
  CHECK(unbounded(13, kBfloat16, "c = Clip(z, l)") == "float32[3]: 3.38953e+38 nan -2");
  CHECK(unbounded(11, kFloat16, "c = Clip(z)") == "float32[3]: inf nan -inf");  // clipped in float32 before version 12
}

TEST_CASE("BitShift by more bits than there are leaves copies of the sign") {
  const std::string given = "int8[4] x = {-128, 127, 1, -1}, int8[4] by = {8, 7, -1, 100}";
  CHECK(Computed(
            {.opset = 28, .given = given, .node = "y = BitShift<direction = \"RIGHT\">(x, by)", .output = "int8[4]"}) ==
        "int8[4]: -1 0 0 -1");
  CHECK(Computed(
            {.opset = 28, .given = given, .node = "y = BitShift<direction = \"LEFT\">(x, by)", .output = "int8[4]"}) ==
        "int8[4]: 0 -128 0 0");
  CHECK(absl::StrContains(
      Computed({.opset = 28, .given = given, .node = "y = BitShift<direction = \"UP\">(x, by)", .output = "int8[4]"}),
      "expected direction LEFT or RIGHT, found 'UP'"));
}
