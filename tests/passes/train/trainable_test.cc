#include "passes/train/trainable.h"

#include "absl/strings/str_cat.h"
#include "ir/graph/infer.h"
#include "tests/catch2.h"
#include "tests/model_from_text.h"

namespace amp {
namespace {

constexpr char kModel[] = R"(<ir_version: 8, opset_import: ["" : 17]>
  g (float[1, 2, 4, 4] x, int64[3] i) => (float[1, 2, 4, 4] y, float[3, 2] z)
    <float[2, 2, 1, 1] kernel = {1, 2, 3, 4}, float[2] bias = {1, 2}, float[2] scale = {1, 2}, float[2] shift = {1, 2},
     float[2] mean = {1, 2}, float[2] variance = {1, 2}, float[1] factor = {2}, float epsilon = {0.1}, float power = {2},
     float low = {0}, float[2] scales = {1, 2}, float[4, 2] table = {1, 2, 3, 4, 5, 6, 7, 8}, int64[2] shape = {3, 2},
     float[2, 2] turned = {1, 2, 3, 4}, float[3, 2] mask = {0, -1000000000, 0, 0, 0, 0}, float[3, 2] position = {1, 2, 3, 4, 5, 6}> {
    a = Conv (x, kernel, bias)
    b = BatchNormalization (a, scale, shift, mean, variance)
    c = Mul (b, factor)  d = Add (c, epsilon)  e = Pow (d, power)  y = Clip (e, low)
    f = Gather (table, i)  t = Transpose (turned)  h = MatMul (f, t)  m = Add (h, mask)  n = Add (m, position)
    s = Div (n, scales)  z = Reshape (s, shape)
  })";

std::vector<std::string> Names(const Model& model, const std::vector<ValueId>& values) {
  std::vector<std::string> names;
  names.reserve(values.size());
  for (const ValueId value : values) names.push_back(model.value(value).name);
  return names;
}

TEST_CASE("weights are trained by default; statistics, constants and masks are not") {
  const std::unique_ptr<Model> model = GraphFromText(kModel);
  InferTypes(*model);
  CHECK(Names(*model, DefaultTrainable(*model)) ==
        std::vector<std::string>{"kernel", "bias", "scale", "shift", "table", "turned", "position"});
}

TEST_CASE("weights of one element are trained where no constant stands: biases, slopes, scales of one channel") {
  const std::unique_ptr<Model> model = GraphFromText(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[n, 1, 3, 3] x) => (float[n, 1] y)
      <float[1, 1, 1, 1] kernel = {2}, float[1] bias = {1}, float[1] slope = {0.1}, float[3, 1] w = {1, 2, 3},
       float[1] behind = {0.5}, float number = {2}, float[1] factor = {3}, float[1] c = {1}, float[1, 1] v = {1}> {
      a = Conv (x, kernel, bias)  b = PRelu (a, slope)  m = ReduceMean <axes = [1, 2], keepdims = 0> (b)
      p = MatMul (m, w)  q = Add (p, behind)  r = Mul (q, factor)  s = Add (r, number)  y = Gemm (s, v, c)
    })");
  InferTypes(*model);
  CHECK(Names(*model, DefaultTrainable(*model)) ==
        std::vector<std::string>{"kernel", "bias", "slope", "w", "behind", "c", "v"});
}

// 2^64 ways lead from the weight to the last node.
TEST_CASE("weights that are joined with themselves again and again are judged at once") {
  std::string nodes = "a0 = Identity (w)";
  for (int i = 1; i <= 64; ++i) absl::StrAppend(&nodes, "  a", i, " = Concat <axis = 0> (a", i - 1, ", a", i - 1, ")");
  const std::unique_ptr<Model> model =
      GraphFromText(absl::StrCat("<ir_version: 8, opset_import: [\"\" : 17]> g (int64[1] i) => (float[n] y) <float[2] "
                                 "w = {1, 2}, float[2] v = {1, 2}> {",
                                 nodes, "  y = Abs (a64)  z = Add (v, v) }"));
  CHECK(Names(*model, DefaultTrainable(*model)) == std::vector<std::string>{"v"});
}

TEST_CASE("a weight that is read in a body, or comes out of one, is trained by default") {
  const std::unique_ptr<Model> model = GraphFromText(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[2, 2] x, bool c) => (float[2, 2] y) <float[2, 2] inside = {1, 2, 3, 4}, float[2, 2] through = {1, 2, 3, 4}> {
      w = If (c) <then_branch = t () => (float[2, 2] u) { u = Transpose (through) },
                  else_branch = e () => (float[2, 2] v) { v = Identity (through) }>
      a = MatMul (x, w)
      y = If (c) <then_branch = t2 () => (float[2, 2] u2) { u2 = MatMul (a, inside) },
                  else_branch = e2 () => (float[2, 2] v2) { v2 = Neg (a) }>
    })");
  InferTypes(*model);
  CHECK(Names(*model, DefaultTrainable(*model)) == std::vector<std::string>{"inside", "through"});
}

TEST_CASE("globs choose what is trained, and what is frozen of it") {
  const std::unique_ptr<Model> model = GraphFromText(kModel);
  InferTypes(*model);
  const auto names = [&](const std::vector<std::string>& trainable, const std::vector<std::string>& freeze) {
    const auto chosen = ChooseTrainable(*model, trainable, freeze);
    REQUIRE(chosen.ok());
    return Names(*model, *chosen);
  };
  CHECK(names({}, {"b*", "s*"}) == std::vector<std::string>{"kernel", "table", "turned", "position"});
  CHECK(names({"kernel", "scales"}, {}) == std::vector<std::string>{"kernel", "scales"});
  CHECK(names({"b*", "t*"}, {"turned"}) == std::vector<std::string>{"bias", "table"});
}

TEST_CASE("a glob that names nothing, and nothing left to train, are errors") {
  const std::unique_ptr<Model> model = GraphFromText(kModel);
  InferTypes(*model);
  const auto error = [&](const std::vector<std::string>& trainable, const std::vector<std::string>& freeze) {
    return std::string(ChooseTrainable(*model, trainable, freeze).status().message());
  };
  const std::string some = "'kernel', 'bias', 'scale' and 12 more";
  CHECK(error({"shape"}, {}) ==
        "--trainable 'shape' names no floating-point initializer of the model, which has " + some);
  CHECK(error({}, {"head*"}) == "--freeze 'head*' names no floating-point initializer of the model, which has " + some);
  CHECK(error({}, {"*"}) == "nothing is left to train: expected a floating-point weight");
}

}  // namespace
}  // namespace amp
