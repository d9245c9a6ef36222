// Products of quantised numbers: rounding before the zero point is added, ranges, zero points of rows and columns.
#include "absl/strings/match.h"
#include "tests/catch2.h"
#include "tests/runtime/run_text.h"

TEST_CASE("the quotient is rounded to even before an odd zero point is added, and the result is held in range") {
  const std::string given =
      "int8[4,1] a = {5, 7, 127, -128}, float one = {1}, float two = {2}, int8 zero = {0}, int8[1,1] b = {1}, "
      "int8 three = {3}, int8 large = {100}";
  CHECK(Computed({.given = given,
                  .node = "y = QLinearMatMul(a, one, zero, b, one, zero, two, three)",
                  .output = "int8[4,1]"}) == "int8[4,1]: 5 7 67 -61");
  CHECK(Computed({.given = given,
                  .node = "y = QLinearMatMul(a, one, zero, b, one, zero, one, large)",
                  .output = "int8[4,1]"}) == "int8[4,1]: 105 107 127 -28");
}

TEST_CASE("zero points of rows and columns") {
  CHECK(Computed(
            {.given = "uint8[2,1] a = {1, 2}, uint8[1,2] b = {3, 4}, uint8[2] rows = {1, 0}, uint8[2] columns = {0, 5}",
             .node = "y = MatMulInteger(a, b, rows, columns)",
             .output = "int32[2,2]"}) == "int32[2,2]: 0 0 6 -2");
}

TEST_CASE("padding of a convolution of quantised numbers stands for zero") {
  CHECK(Computed({.given = "uint8[1,1,1] x = {7}, uint8[1,1,3] w = {1, 1, 1}, uint8 zero = {5}",
                  .node = "y = ConvInteger<pads = [1, 1]>(x, w, zero)",
                  .output = "int32[1,1,1]"}) == "int32[1,1,1]: 2");
}

TEST_CASE("a scale that is not above 0 is an error") {
  CHECK(absl::StrContains(Computed({.given = "int8[1,1] a = {1}, float none = {0}, float one = {1}, int8 zero = {0}",
                                    .node = "y = QLinearMatMul(a, one, zero, a, one, zero, none, zero)",
                                    .output = "int8[1,1]"}),
                          "expected a scale above 0, found 0"));
}

TEST_CASE("com.microsoft::QGemm adds its bias to the sums, and quantises where the output has a scale") {
  const std::string given =
      "uint8[2,1] a = {3, 5}, float half = {0.5}, uint8 one = {1}, int8[2,2] b = {1, 2, 3, 4}, float[2] scales = {1, "
      "2}, "
      "int8[2] zeros = {0, 1}, int32[2] c = {1, -1}, float quarter = {0.25}, uint8 zero = {128}";
  // a transposed without its zero point: {2, 4}; b transposed: columns {1, 2} and {2, 3} without theirs
  const std::string node =
      "y = com.microsoft.QGemm<transA = 1, transB = 1, alpha = 2.0>(a, half, one, b, scales, zeros, c";
  const std::string imports = R"(, "com.microsoft" : 1)";
  CHECK(Computed({.imports = imports, .given = given, .node = node + ")", .output = "float[1,2]"}) ==
        "float32[1,2]: 11 30");
  CHECK(Computed({.imports = imports, .given = given, .node = node + ", quarter, zero)", .output = "uint8[1,2]"}) ==
        "uint8[1,2]: 172 248");
  CHECK(Computed({.imports = imports, .given = given, .node = node + ", quarter)", .output = "float[1,2]"}) ==
        "float32[1,2]: 11 30");
  CHECK(absl::StrContains(Computed({.imports = imports,
                                    .given = "uint8[1] a = {1}, float one = {1}, uint8 zero = {0}",
                                    .node = "y = com.microsoft.QGemm(a, one, zero, a, one, zero)",
                                    .output = "float[1,1]"}),
                          "expected a matrix, found uint8[1]"));
}

TEST_CASE("com.microsoft::QLinearAveragePool means what numbers stand for, and padding 0") {
  const auto pooled = [](const std::string& attributes) {
    return Computed(
        {.imports = R"(, "com.microsoft" : 1)",
         .given = "uint8[1,1,3] x = {110, 120, 130}, float one = {1}, uint8 zero = {100}, float half = {0.5}",
         .node = "y = com.microsoft.QLinearAveragePool<kernel_shape = [2], pads = [1, 0]" + attributes +
                 ">(x, one, zero, half, zero)",
         .output = "uint8[1,1,3]"});
  };
  CHECK(pooled("") == "uint8[1,1,3]: 120 130 150");
  CHECK(pooled(", count_include_pad = 1") == "uint8[1,1,3]: 110 130 150");
  CHECK(absl::StrContains(pooled(", channels_last = 1"), "channels_last: expected 0"));
}

TEST_CASE("com.microsoft::QLinearWhere takes one or the other, at the output's scale") {
  CHECK(Computed({.imports = R"(, "com.microsoft" : 1)",
                  .given = "bool[2,1] c = {1, 0}, int8[2] a = {10, 20}, int8 b = {-8}, float one = {1}, float half = "
                           "{0.5}, int8 two = {2}, int8 zero = {0}",
                  .node = "y = com.microsoft.QLinearWhere(c, a, one, zero, b, half, two, half, two)",
                  .output = "int8[2,2]"}) == "int8[2,2]: 22 42 -8 -8");
}

TEST_CASE("com.microsoft has QuantizeLinear and DequantizeLinear of 16 and 4 bits") {
  const std::string given = "float[2] x = {1, -100}, float half = {0.5}, int16 one = {1}";
  const std::string imports = R"(, "com.microsoft" : 1)";
  CHECK(Computed({.imports = imports,
                  .given = given,
                  .node = "y = com.microsoft.QuantizeLinear(x, half, one)",
                  .output = "int16[2]"}) == "int16[2]: 3 -199");
  CHECK(Computed(
            {.imports = imports,
             .given = given,
             .node = "q = com.microsoft.QuantizeLinear(x, half, one) y = com.microsoft.DequantizeLinear(q, half, one)",
             .output = "float[2]"}) == "float32[2]: 1 -100");
}

TEST_CASE("com.microsoft::QLinearSoftmax goes along one axis, or before opset 13 along all from there") {
  const auto softmax = [](const std::string& attributes) {
    return Computed({.imports = R"(, "com.microsoft" : 1)",
                     .given = "uint8[1,2,2] x = {128, 128, 128, 128}, float one = {1}, uint8 zero = {128}, "
                              "float scale = {0.00390625}, uint8 none = {0}",
                     .node = "y = com.microsoft.QLinearSoftmax<" + attributes + ">(x, one, zero, scale, none)",
                     .output = "uint8[1,2,2]"});
  };
  CHECK(softmax("opset = 13") == "uint8[1,2,2]: 128 128 128 128");
  CHECK(softmax("opset = 11") == "uint8[1,2,2]: 128 128 128 128");  // of axis -1, unlike ai.onnx's Softmax
  CHECK(softmax("opset = 11, axis = 1") == "uint8[1,2,2]: 64 64 64 64");
  CHECK(softmax("opset = 11, axis = 0") == "uint8[1,2,2]: 64 64 64 64");
  CHECK(softmax("opset = 13, axis = 0") == "uint8[1,2,2]: 255 255 255 255");
}
