// The nodes that Gradients adds, and its errors where it cannot. tests/judge/train/gradients.py checks the numbers.
#include "passes/train/differentiate.h"

#include <algorithm>
#include <map>

#include "absl/strings/match.h"
#include "ir/graph/graph_ports.h"
#include "ir/graph/infer.h"
#include "ir/graph/shape.h"
#include "passes/train/gradient/gradient_rule.h"
#include "passes/train/prepare_for_training.h"
#include "tests/catch2.h"
#include "tests/model_from_text.h"

namespace amp {
namespace {

constexpr char kHead[] = R"(<ir_version: 8, opset_import: ["" : 17]> )";

ValueId Find(const Model& model, const std::string& name) { return model.graph(kMainGraph).names.at(name); }

struct Made {
  std::unique_ptr<Model> model;
  absl::StatusOr<std::vector<ValueId>> gradients;
  std::map<std::string, int> added;  // nodes, by operator
  std::string error() const { return std::string(gradients.status().message()); }
};

Made Differentiate(const std::string& text, const std::vector<std::string>& of) {
  Made made{GraphFromText(kHead + text), absl::UnknownError(""), {}};
  Model& model = *made.model;
  InferTypes(model);
  std::vector<ValueId> values;
  values.reserve(of.size());
  for (const std::string& name : of) values.push_back(Find(model, name));
  const ValueId seed = AddGraphInput(model, "seed", DType::kFloat32, {}, {});
  const size_t before = model.num_nodes();
  made.gradients = Gradients(model, Find(model, "loss"), seed, values);
  model.CheckConsistency();
  for (const NodeId id : model.AllNodes()) {
    if (id.index() >= before) ++made.added[std::string(model.node(id).op_type())];
  }
  return made;
}

TEST_CASE("the gradient of a frozen part has no nodes") {
  const Made made = Differentiate(R"(g (float[2, 3] x) => (float loss)
      <float[3, 3] frozen = {1, 2, 3, 4, 5, 6, 7, 8, 9}, float[3, 3] w = {1, 2, 3, 4, 5, 6, 7, 8, 9}> {
    a = MatMul (x, frozen)  b = Tanh (a)  c = MatMul (b, w)  loss = ReduceSum <keepdims = 0> (c)
  })",
                                  {"w"});
  REQUIRE(made.gradients.ok());
  CHECK(made.added.count("Tanh") == 0);
  CHECK(made.added.count("Mul") == 0);
  CHECK(made.added.count("MatMul") == 0);
  CHECK(made.added.at("MatrixWeightGradient") == 1);
}

TEST_CASE("the gradients of a value with three readers are summed once") {
  const Made made = Differentiate(R"(g (float[2, 3] x) => (float loss) {
    a = Neg (x)  b = Exp (a)  c = Abs (a)  d = Tanh (a)  e = Sum (b, c, d)  loss = ReduceSum <keepdims = 0> (e)
  })",
                                  {"x"});
  REQUIRE(made.gradients.ok());
  CHECK(made.added.at("Sum") == 1);
  CHECK(made.added.at("Neg") == 1);
}

TEST_CASE("a gradient has the type and shape of what it is of") {
  const Made made = Differentiate(R"(g (float[N, 3] x) => (float loss) <float[1, 3] w = {1, 2, 3}> {
    a = Mul (x, w)  loss = ReduceSum <keepdims = 0> (a)
  })",
                                  {"w"});
  REQUIRE(made.gradients.ok());
  CHECK(made.model->value((*made.gradients)[0]).dtype == DType::kFloat32);
  CHECK(ShapeOf(*made.model, (*made.gradients)[0]) == std::vector<int64_t>{1, 3});
}

TEST_CASE("an operator without a rule is named, with the way to it from the loss, and nothing is edited") {
  const Made made = Differentiate(R"(g (float[2, 2] x) => (float loss) {
    [in] a = Relu (x)  [determinant] b = Det (a)  [minus] c = Neg (b)  [sum] loss = ReduceSum <keepdims = 0> (c)
  })",
                                  {"x"});
  CHECK(made.error() ==
        "node 'determinant' (Det): no gradient rule for this operator; the way to it: the loss 'loss' <- sum <- minus");
  CHECK(made.added.empty());
}

TEST_CASE("a value that the loss does not depend on is named") {
  const Made made = Differentiate(R"(g (float[2] x, float[2] z) => (float loss) {
    a = Floor (z)  b = Add (a, x)  loss = ReduceSum <keepdims = 0> (b)
  })",
                                  {"x", "z"});
  CHECK(made.error() == "the loss 'loss' does not depend on 'z'; expected every trained value to have a gradient");
}

TEST_CASE("a loss of one output reaches the weights of that output") {
  const std::unique_ptr<Model> model = GraphFromText(std::string(kHead) + R"(g (float[2] x) => (float loss, float[2] y)
      <float[2] v = {1, 2}, float[2] w = {1, 2}> {
    y = Mul (x, v)  a = Mul (x, w)  loss = ReduceSum <keepdims = 0> (a)
  })");
  InferTypes(*model);
  const std::vector<ValueId> weights = {Find(*model, "v"), Find(*model, "w")};
  CHECK(ReachedFrom(*model, Find(*model, "loss"), weights) == std::vector<ValueId>{Find(*model, "w")});
}

TEST_CASE("values behind an operator without a rule can be differentiated by, those ahead of it cannot") {
  const std::unique_ptr<Model> model = GraphFromText(std::string(kHead) + R"(g (float[2] x, bool c) => (float loss) {
    ahead = Neg (x)  read = Neg (ahead)  beside = Neg (x)
    a = If (c) <then_branch = t () => (float[2] u) { u = Neg (read) }, else_branch = e () => (float[2] v) { v = Abs (x) }>
    behind = Add (a, beside)  loss = ReduceSum <keepdims = 0> (behind) })");
  InferTypes(*model);
  const auto find = [&](const std::vector<std::string>& names) {
    std::vector<ValueId> values;
    for (const std::string& name : names) values.push_back(Find(*model, name));
    return values;
  };
  CHECK(DifferentiableFrom(*model, Find(*model, "loss"), find({"x", "ahead", "read", "beside", "behind", "a"})) ==
        find({"beside", "behind", "a"}));
}

TEST_CASE("what a branch reads is not differentiated by, although another way leads around the branch") {
  const std::unique_ptr<Model> model = GraphFromText(std::string(kHead) + R"(g (float[2] x, bool c) => (float loss) {
    h = Neg (x)  read = Exp (h)
    a = If (c) <then_branch = t () => (float[2] u) { u = Neg (read) }, else_branch = e () => (float[2] v) { v = Abs (read) }>
    sum = Add (a, h)  loss = ReduceSum <keepdims = 0> (sum) })");
  InferTypes(*model);
  const std::vector<ValueId> of = {Find(*model, "x"), Find(*model, "h"), Find(*model, "read"), Find(*model, "a")};
  CHECK(DifferentiableFrom(*model, Find(*model, "loss"), of) == std::vector<ValueId>{Find(*model, "a")});
}

TEST_CASE("no gradient goes through control flow on the way; beside it there may be some") {
  const std::string branches = R"(<
    then_branch = t () => (float[2] u) { u = Neg (CAPTURED) }, else_branch = e () => (float[2] v) { v = Abs (CAPTURED) }>)";
  const auto with = [&](const std::string& captured) {
    std::string text = R"(g (float[2] x, float[2] z, bool c) => (float loss) { [if] a = If (c) )" + branches + R"(
      b = Mul (a, x)  loss = ReduceSum <keepdims = 0> (b) })";
    for (size_t at; (at = text.find("CAPTURED")) != std::string::npos;) text.replace(at, 8, captured);
    return Differentiate(text, {"x"});
  };
  CHECK(
      with("x").error() ==
      "node 'if' (If): no gradient goes through control flow; the way to it: the loss 'loss' <- ReduceSum#0 <- Mul#0");
  CHECK(with("z").gradients.ok());
}

TEST_CASE("a loss of several elements is refused") {
  const Made made = Differentiate("g (float[2] x) => (float[2] loss) { loss = Neg (x) }", {"x"});
  CHECK(made.error() == "the loss 'loss' is float32[2]; expected a float type and one element");
}

TEST_CASE("a pool with a window of 2^36 elements takes as many nodes as any other") {
  const Made made = Differentiate(R"(g (float[1, 1, 8, 8] x) => (float loss) {
    y = MaxPool <kernel_shape = [262144, 262144], pads = [262143, 262143, 262143, 262143]> (x)
    loss = ReduceSum <keepdims = 0> (y)
  })",
                                  {"x"});
  REQUIRE(made.gradients.ok());
  CHECK(made.added.at("MaxPoolGradient") == 1);
}

TEST_CASE("attributes and operands that no model should have are refused") {
  const auto says = [](const std::string& nodes, const std::string& part) {
    const Made made = Differentiate("g (float[2, 3, 4, 5] x, float[3, 3, 1, 1] w) => (float loss) { " + nodes +
                                        " loss = ReduceSum <keepdims = 0> (y) }",
                                    {"x"});
    INFO(made.error());
    return !made.gradients.ok() && absl::StrContains(made.error(), part);
  };
  CHECK(says("y = Transpose <perm = [0, 9, -7, 1]> (x)", "expected every axis once"));
  CHECK(says("y = Transpose <perm = [0, 0, 1, 2]> (x)", "expected every axis once"));
  CHECK(says("y = Conv <strides = [0, 1]> (x, w)", "attribute strides: expected 2 numbers of at least 1"));
  CHECK(says("y = Conv <dilations = [4611686018427387904, 1]> (x, w)", "attribute dilations"));
  CHECK(says("y = Conv <pads = [1]> (x, w)", "attribute pads"));
  CHECK(says("y = MaxPool <kernel_shape = [-1, 2]> (x)", "kernel"));
  CHECK(says("y = SpaceToDepth <blocksize = -2> (x)", "blocksize is out of range"));
  CHECK(says("y = LayerNormalization <axis = -1000000000000> (x, w)", "no such axis"));
  CHECK(says("i = Constant <value_ints = [0]> () y = Gather <axis = 77> (x, i)", "no such axis"));
  CHECK(says("y = Mul (x)", "an operand is missing"));
  CHECK(says("u = custom.Thing (x) y = Neg (u)", "no gradient rule for this operator"));
  for (const char* nodes :
       {"s = Constant <value_ints = [1]> () a = Constant <value_ints = [99]> () y = Slice (x, s, s, a)",
        "y = Concat <axis = 99> (x, x)", "y = Softmax <axis = 99> (x)"}) {
    says(nodes, "");  // the node itself is at fault, and nobody knows the shape of its result: only that it comes back
  }
}

TEST_CASE("preparing lifts old models, inlines functions and takes schemas' bodies where there is no rule") {
  std::unique_ptr<Model> model = GraphFromText(R"(<ir_version: 8, opset_import: ["" : 17, "local" : 1]>
    g (float[2, 4] x) => (float[2, 4] y) { a = local.twice (x)  y = MeanVarianceNormalization <axes = [1]> (a) }
    <domain: "local", opset_import: ["" : 17]> twice (p) => (q) { q = Add (p, p) })");
  absl::StatusOr<std::unique_ptr<Model>> prepared = PrepareForTraining(std::move(model));
  REQUIRE(prepared.ok());
  for (const NodeId id : (*prepared)->AllNodes()) {
    const Node& node = (*prepared)->node(id);
    INFO(node.op_type());
    CHECK(node.domain().empty());
    CHECK((node.op_type() == "Constant" || FindGradientRule("", node.op_type()) != nullptr));
  }

  model = GraphFromText(R"(<ir_version: 6, opset_import: ["" : 11]>
    g (float[2, 3, 4] x) => (float[2, 3, 4] y) { y = Softmax <axis = 1> (x) })");
  prepared = PrepareForTraining(std::move(model));
  REQUIRE(prepared.ok());
  CHECK((*prepared)->opset("") == kOpsetOfAllRules);
}

}  // namespace
}  // namespace amp
