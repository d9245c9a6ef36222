// Reductions and normalizations: integers at their limits, nothing to reduce, old opsets, shapes that do not fit.
#include "absl/strings/match.h"
#include "tests/catch2.h"
#include "tests/runtime/run_text.h"

TEST_CASE("reductions of integers wrap, and their mean is cut towards zero") {
  const std::string given = "int32[3] x = {2147483647, 1, -3}";
  CHECK(Computed({.opset = 11, .given = given, .node = "y = ReduceSum<axes = [0]>(x)", .output = "int32[1]"}) ==
        "int32[1]: 2147483645");
  CHECK(Computed({.opset = 11, .given = given, .node = "y = ReduceL1<axes = [0]>(x)", .output = "int32[1]"}) ==
        "int32[1]: -2147483645");
  CHECK(Computed({.given = "int64[2] x = {-4, -3}", .node = "y = ReduceMean<keepdims = 0>(x)", .output = "int64"}) ==
        "int64[]: -3");
}

TEST_CASE("a sum of float16 is rounded once") {
  std::string given = "float16[4096] x = {";
  constexpr absl::string_view kOne = "15360";  // the text has the bits
  for (int i = 0; i < 4096; ++i) absl::StrAppend(&given, i == 0 ? "" : ", ", kOne);
  CHECK(Computed({.given = given + "}", .node = "y = ReduceSum(x)", .output = "float16[1]"}) == "float16[1]: 4096");
}

TEST_CASE("the largest of numbers with a NaN is NaN") {
  CHECK(Computed({.given = "float[2] a = {0, 1}, float[2] b = {0, 1}",
                  .node = "x = Div(a, b) y = ReduceMax(x)",
                  .output = "float[1]"}) == "float32[1]: nan");
}

TEST_CASE("over nothing every reduction gives what its formula makes of it") {
  const auto reduce = [](const std::string& op, const std::string& type) {
    return Computed({.given = type + "[2,0] x = {}, int64[1] axes = {1}",
                     .node = "y = " + op + "<keepdims = 0>(x, axes)",
                     .output = type + "[2]"});
  };
  CHECK(reduce("ReduceSum", "int32") == "int32[2]: 0 0");
  CHECK(reduce("ReduceProd", "float") == "float32[2]: 1 1");
  CHECK(reduce("ReduceMin", "bool") == "bool[2]: 1 1");
  CHECK(reduce("ReduceMax", "bool") == "bool[2]: 0 0");
  CHECK(reduce("ReduceMax", "int8") == "int8[2]: -128 -128");
  CHECK(reduce("ReduceMin", "float16") == "float16[2]: inf inf");
  CHECK(reduce("ReduceLogSumExp", "double") == "float64[2]: -inf -inf");
  CHECK(reduce("ReduceMean", "float") == "float32[2]: nan nan");
  CHECK(reduce("ReduceMean", "int32") == "int32[2]: 0 0");
}

TEST_CASE("axes that a shape does not have are refused, and so is one that comes twice") {
  const auto reduce = [](const std::string& axes) {
    return Computed({.opset = 11,
                     .given = "float[2,2] x = {1, 2, 3, 4}",
                     .node = "y = ReduceSum<axes = " + axes + ">(x)",
                     .output = "float[n,m]"});
  };
  CHECK(absl::StrContains(reduce("[2]"), "expected an axis in [-2, 2), found 2"));
  CHECK(absl::StrContains(reduce("[0, -2]"), "expected different axes"));
}

TEST_CASE("before opset 13 Softmax takes all axes from one on as one") {
  CHECK(Computed({.opset = 11,
                  .given = "float[1,2,2] x = {0, 0, 0, 0}",
                  .node = "y = Softmax(x)",
                  .output = "float[1,2,2]"}) == "float32[1,2,2]: 0.25 0.25 0.25 0.25");
  CHECK(Computed({.opset = 13,
                  .given = "float[1,2,2] x = {0, 0, 0, 0}",
                  .node = "y = Softmax(x)",
                  .output = "float[1,2,2]"}) == "float32[1,2,2]: 0.5 0.5 0.5 0.5");
}

TEST_CASE("normalization by a norm of zero gives zeros") {
  CHECK(Computed({.given = "float[2,2] x = {0, 0, 3, 4}", .node = "y = LpNormalization(x)", .output = "float[2,2]"}) ==
        "float32[2,2]: 0 0 0.6 0.8");
}

TEST_CASE("training moves the running statistics of a batch normalization") {
  const std::string given =
      "float[2,1] x = {1, 3}, float[1] one = {1}, float[1] zero = {0}, float[1] mean = {10}, float[1] var = {5}";
  const auto train = [&](const std::string& outputs) {
    return Computed({.opset = 15,
                     .given = given,
                     .node = outputs + " = BatchNormalization<training_mode = 1, "
                                       "momentum = 0.5, epsilon = 0>(x, one, zero, mean, var)",
                     .output = "float[n]"});
  };
  CHECK(train("a, y, b") == "float32[1]: 6");
  CHECK(train("a, b, y") == "float32[1]: 3");
}

TEST_CASE("coefficients of another size than the channels are refused") {
  CHECK(absl::StrContains(Computed({.given = "float[1,2] x = {1, 2}, float[3] c = {1, 2, 3}",
                                    .node = "y = InstanceNormalization(x, c, c)",
                                    .output = "float[1,2]"}),
                          "input 1: expected 2 elements, found float32[3]"));
  CHECK(absl::StrContains(Computed({.given = "float[1,3] x = {1, 2, 3}, float[2] c = {1, 2}",
                                    .node = "y = GroupNormalization<num_groups = 2>(x, c, c)",
                                    .output = "float[1,3]"}),
                          "num_groups: expected a divisor of 3 channels, found 2"));
  CHECK(absl::StrContains(Computed({.given = "float[1,2] x = {1, 2}, float[3,1] c = {1, 2, 3}",
                                    .node = "y = LayerNormalization(x, c)",
                                    .output = "float[1,2]"}),
                          "expected a shape that broadcasts to [1,2]"));
}

TEST_CASE("labels out of range are refused unless they are ignored") {
  const auto loss = [](const std::string& attributes) {
    return Computed({.given = "float[2,2] x = {-1, -2, -3, -4}, int64[2] t = {1, 7}",
                     .node = "y = NegativeLogLikelihoodLoss" + attributes + "(x, t)",
                     .output = "float"});
  };
  CHECK(absl::StrContains(loss(""), "expected labels in [0, 2), found 7"));
  CHECK(loss("<ignore_index = 7>") == "float32[]: 2");
}
