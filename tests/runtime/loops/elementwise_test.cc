// Loops over elements against the reference: functions of one element, of two, comparisons, the choice between two.
#include "tests/catch2.h"
#include "tests/runtime/loops/run_both.h"

namespace amp {
namespace {

TEST_CASE("functions of one element, on special numbers and all lengths of the last register") {
  for (const std::string op : {"Abs",
                               "Acos",
                               "Acosh",
                               "Asin",
                               "Asinh",
                               "Atan",
                               "Atanh",
                               "Ceil",
                               "Celu",
                               "Celu<alpha = 0.5>",
                               "Cos",
                               "Cosh",
                               "Elu",
                               "Elu<alpha = 2.0>",
                               "Erf",
                               "Exp",
                               "Floor",
                               "Gelu",
                               "HardSigmoid",
                               "HardSwish",
                               "LeakyRelu",
                               "Log",
                               "Mish",
                               "Neg",
                               "Reciprocal",
                               "Relu",
                               "Round",
                               "Selu",
                               "Shrink",
                               "Shrink<bias = 0.5, lambd = 1.0>",
                               "Sigmoid",
                               "Sign",
                               "Sin",
                               "Sinh",
                               "Softplus",
                               "Softsign",
                               "Sqrt",
                               "Tan",
                               "Tanh",
                               "ThresholdedRelu",
                               "Clip",
                               "com.microsoft.QuickGelu",
                               "com.microsoft.Gelu",
                               "com.microsoft.FastGelu"}) {
    for (const DType dtype : kLoopFloats) {
      for (const int64_t size : {0, 1, 3, 4, 7, 8, 15, 16, 17, 33, 1024, 2100}) {
        const Tensor x = RandomTensor(dtype, {size}, Values::kWithSpecial);
        if (dtype == DType::kBfloat16 && op == "Celu") continue;
        CHECK(RunBoth({.node = "y = " + op + "(a)", .inputs = {x}, .absolute = 3e-7}) == "");
      }
    }
  }
}

TEST_CASE("tests for infinities and NaN, in both layouts") {
  for (const DType dtype : kLoopFloats) {
    for (const std::string op : {"IsNaN", "IsInf", "IsInf<detect_negative = 0>", "IsInf<detect_positive = 0>",
                                 "IsInf<detect_negative = 0, detect_positive = 0>"}) {
      for (const int64_t size : {0, 1, 15, 16, 17, 2100}) {
        const Tensor x = RandomTensor(dtype, {size}, Values::kWithSpecial);
        CHECK(RunBoth({.node = "y = " + op + "(a)", .inputs = {x}, .opset = 20}) == "");
      }
      const Tensor image = InChannelsLast(RandomTensor(dtype, {2, 3, 4, 5}, Values::kWithSpecial));
      CHECK(RunBoth({.node = "y = " + op + "(a)", .inputs = {image}, .opset = 20}) == "");
    }
  }
}

TEST_CASE("results that are small are as exact as large ones") {
  const Tensor x = RandomTensor(DType::kFloat32, {4000}, Values::kPlain, 1e-4);
  for (const std::string op : {"Tanh", "Erf", "Elu", "Selu", "Gelu", "Log", "Exp", "Swish", "Mish", "Softsign"}) {
    CHECK(RunBoth({.node = "y = " + op + "(a)",
                   .inputs = {op == "Log" ? RandomTensor(DType::kFloat32, {4000}, Values::kPositive) : x},
                   .opset = 24}) == "");
  }
  const Tensor low = RandomTensor(DType::kFloat32, {4000}, Values::kPlain, 20);
  for (const std::string op : {"Sigmoid", "Softplus", "Exp"}) {
    CHECK(RunBoth({.node = "y = " + op + "(a)", .inputs = {low}}) == "");
  }
}

TEST_CASE("bounds of Clip") {
  const Tensor x = RandomTensor(DType::kFloat16, {100}, Values::kWithSpecial);
  const Tensor low = RandomTensor(DType::kFloat16, {}), high = RandomTensor(DType::kFloat16, {1});
  CHECK(RunBoth({.node = "y = Clip(a, b, c)", .inputs = {x, low, high}, .opset = 13}) == "");
  CHECK(RunBoth({.node = "y = Clip(a, , b)", .inputs = {x, high}}) == "");
  CHECK(RunBoth({.node = "y = Clip<min = 0.0, max = 1.0>(a)", .inputs = {x}, .opset = 6}) == "");
}

TEST_CASE("powers with few exponents") {
  for (const float exponent : {2.0f, 3.0f, 0.5f, -0.5f, -1.0f}) {
    const Tensor x = RandomTensor(DType::kFloat32, {3, 41}, Values::kWithSpecial);
    CHECK(RunBoth({.node = "y = Pow(a, b)", .inputs = {x, Tensor::Scalar(exponent)}}) == "");
  }
}

TEST_CASE("powers with any exponent") {
  for (const DType dtype : kLoopFloats) {
    const Tensor x = RandomTensor(dtype, {3, 41}, Values::kWithSpecial);
    for (const Dims& dims : {Dims{}, Dims{41}, Dims{3, 1}, Dims{3, 41}, Dims{2, 3, 41}}) {
      CHECK(RunBoth({.node = "y = Pow(a, b)", .inputs = {x, RandomTensor(dtype, dims)}}) == "");
    }
  }
  const Tensor x = RandomTensor(DType::kFloat32, {9}, Values::kPositive);
  CHECK(RunBoth({.node = "y = Pow(a, b)", .inputs = {x, Tensor::Scalar(0.25f)}}) == "");
  CHECK(RunBoth({.node = "y = Pow(a, b)", .inputs = {x, Tensor::Scalar(int64_t{5})}, .family = "reference"}) == "");
}

TEST_CASE("Dropout that drops nothing") {
  const Tensor x = RandomTensor(DType::kFloat16, {3, 4});
  CHECK(RunBoth({.node = "y = Dropout(a)", .inputs = {x}, .opset = 13}) == "");
  CHECK(RunBoth({.node = "y = Dropout(a, b, c)", .inputs = {x, Tensor::Scalar(0.5f), Tensor::Scalar(false)}}) == "");
  CHECK(RunBoth({.node = "y = Dropout<is_test = 1>(a)", .inputs = {x}, .opset = 6}) == "");
  CHECK(RunBoth({.node = "y, z = Dropout(a)",
                 .inputs = {x},
                 .opset = 13,
                 .outputs = {DType::kFloat16, DType::kBool},
                 .family = "reference"}) == "");
}

TEST_CASE("operands that broadcast") {
  const std::pair<Dims, Dims> shapes[] = {
      {{2, 3, 5}, {2, 3, 5}}, {{2, 3, 5}, {5}},       {{2, 3, 5}, {3, 1}},     {{2, 3, 5}, {}},
      {{7}, {4, 1}},          {{2, 1, 5}, {1, 3, 1}}, {{0, 3}, {3}},           {{}, {}},
      {{3, 1300}, {3, 1}},    {{1, 1, 1}, {2, 2, 2}}, {{2, 1, 40}, {2, 9, 1}}, {{1, 2500}, {2, 1}}};
  for (const std::string op :
       {"Add", "Sub", "Mul", "Div", "Max", "Min", "Sum", "Less", "LessOrEqual", "Greater", "GreaterOrEqual", "Equal"}) {
    const bool compares = op == "Equal" || op[0] == 'L' || op[0] == 'G';
    for (const DType dtype : kLoopFloats) {
      for (const auto& [a, b] : shapes) {
        CHECK(RunBoth({.node = "y = " + op + "(a, b)",
                       .inputs = {RandomTensor(dtype, a, Values::kWithSpecial), RandomTensor(dtype, b)},
                       .outputs = {compares ? DType::kBool : dtype}}) == "");
      }
    }
  }
}

TEST_CASE("operands that are repeated for rows of a few elements") {
  const std::pair<Dims, Dims> shapes[] = {{{2, 5, 3, 4}, {5, 1, 4}},   {{5, 1, 4}, {2, 5, 3, 4}}, {{2, 1, 4}, {3, 1}},
                                          {{300, 2, 3}, {300, 1, 3}},  {{7, 1, 1}, {1, 5, 1}},    {{1, 3}, {2, 1}},
                                          {{40, 1, 15}, {40, 33, 15}}, {{0, 3, 4}, {1, 1, 4}}};
  for (const auto& [a, b] : shapes) {
    for (const DType dtype : kLoopFloats) {
      for (const std::string op : {"Add", "Sub", "Div"}) {
        INFO(DimsText(a) << DimsText(b));
        const Tensor divisor = RandomTensor(dtype, b, Values::kPositive);
        CHECK(
            RunBoth({.node = "y = " + op + "(a, b)", .inputs = {RandomTensor(dtype, a), divisor}, .absolute = 1e-6}) ==
            "");
      }
    }
  }
  const Tensor x = InChannelsLast(RandomTensor(DType::kFloat32, {2, 3, 5, 4}));
  CHECK(RunBoth({.node = "y = Sub(a, b)", .inputs = {x, RandomTensor(DType::kFloat32, {2, 3, 1, 1})}}) == "");
}

TEST_CASE("before opset 7 an operand lies at an axis") {
  CHECK(RunBoth({.node = "y = Add<broadcast = 1, axis = 1>(a, b)",
                 .inputs = {RandomTensor(DType::kFloat32, {2, 3, 4}), RandomTensor(DType::kFloat32, {3})},
                 .opset = 6}) == "");
}

TEST_CASE("slopes") {
  for (const DType dtype : kLoopFloats) {
    const Tensor x = RandomTensor(dtype, {2, 8, 5, 7}, Values::kWithSpecial);
    if (dtype == DType::kBfloat16) continue;
    CHECK(RunBoth({.node = "y = PRelu(a, b)", .inputs = {x, RandomTensor(dtype, {8, 1, 1})}}) == "");
  }
}

TEST_CASE("channels-last operands stay where they are") {
  const Tensor x = RandomTensor(DType::kFloat32, {2, 8, 5, 7});
  const Tensor last = InChannelsLast(x);
  for (const Dims& dims : {Dims{8, 1, 1}, Dims{}, Dims{2, 8, 1, 1}, Dims{1, 1, 5, 7}, Dims{1}}) {
    const Tensor other = RandomTensor(DType::kFloat32, dims);
    CHECK(RunBoth({.node = "y = Mul(a, b)", .inputs = {last, other}}) == "");
    CHECK(RunBoth({.node = "y = Sub(a, b)", .inputs = {other, last}}) == "");
    CHECK(RunBoth({.node = "y = Less(a, b)", .inputs = {last, other}, .outputs = {DType::kBool}}) == "");
  }
  CHECK(RunBoth({.node = "y = Add(a, b)", .inputs = {last, last}}) == "");
  CHECK(RunBoth({.node = "y = Sum(a, b, c)", .inputs = {last, last, last}}) == "");
  CHECK(RunBoth({.node = "y = Relu(a)", .inputs = {last}}) == "");
}

TEST_CASE("operands in different layouts are made row-major") {
  for (const DType dtype : kLoopFloats) {
    const Tensor x = RandomTensor(dtype, {2, 8, 5, 7}), last = InChannelsLast(RandomTensor(dtype, {2, 8, 5, 7}));
    CHECK(RunBoth({.node = "y = Add(a, b)", .inputs = {last, x}}) == "");
    CHECK(RunBoth({.node = "y = Sub(a, b)", .inputs = {RandomTensor(dtype, {5, 7}), last}}) == "");
    CHECK(RunBoth({.node = "y = Max(a, b, c)", .inputs = {x, last, x}}) == "");
  }
}

TEST_CASE("any number of operands of one shape") {
  for (const DType dtype : kLoopFloats) {
    const std::vector<Tensor> inputs = {RandomTensor(dtype, {3, 700}), RandomTensor(dtype, {3, 700}),
                                        RandomTensor(dtype, {3, 700}), RandomTensor(dtype, {3, 700})};
    for (const std::string op : {"Sum", "Max", "Min", "Mean"}) {
      CHECK(RunBoth({.node = "y = " + op + "(a, b, c, d)", .inputs = inputs, .absolute = 3e-6}) == "");
    }
  }
}

TEST_CASE("Gelu with a bias") {
  for (const std::string op : {"BiasGelu", "FastGelu"}) {
    CHECK(RunBoth({.node = "y = com.microsoft." + op + "(a, b)",
                   .inputs = {RandomTensor(DType::kFloat16, {2, 5, 1030}), RandomTensor(DType::kFloat16, {1030})},
                   .absolute = 1e-6}) == "");
  }
}

TEST_CASE("the choice between two") {
  const Dims shapes[][3] = {{{2, 3, 5}, {2, 3, 5}, {2, 3, 5}},
                            {{3, 1}, {5}, {2, 1, 1}},
                            {{40}, {}, {40}},
                            {{40}, {40}, {}},
                            {{40}, {}, {}},
                            {{}, {40}, {40}},
                            {{4, 1}, {4, 33}, {33}}};
  for (const DType dtype : {DType::kFloat32, DType::kFloat16, DType::kInt64, DType::kUint8, DType::kFloat64}) {
    for (const auto& dims : shapes) {
      CHECK(RunBoth({.node = "y = Where(a, b, c)",
                     .inputs = {RandomTensor(DType::kBool, dims[0]), RandomTensor(dtype, dims[1]),
                                RandomTensor(dtype, dims[2])},
                     .outputs = {dtype},
                     .relative = 0}) == "");
    }
  }
}

TEST_CASE("And, Or and Not of truth values") {
  const Dims shapes[][2] = {{{2, 3, 5}, {2, 3, 5}}, {{3, 1}, {5}}, {{1000}, {}}, {{}, {1000}}, {{}, {}}, {{0}, {1}},
                            {{7, 33}, {33}}};
  for (const auto& dims : shapes) {
    const Tensor a = RandomTensor(DType::kBool, dims[0]), b = RandomTensor(DType::kBool, dims[1]);
    for (const std::string op : {"And", "Or"}) {
      CHECK(RunBoth({.node = "y = " + op + "(a, b)", .inputs = {a, b}, .relative = 0}) == "");
      CHECK(RunBoth({.node = "y = " + op + "(a, a)", .inputs = {a}, .relative = 0}) == "");
    }
    CHECK(RunBoth({.node = "y = Not(a)", .inputs = {a}, .relative = 0}) == "");
  }
}

}  // namespace
}  // namespace amp
