// Derivatives of outputs by roundings, against what is known of small models, and against runs.
#include "tools/library/output_derivatives.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/match.h"
#include "ir/base/convert.h"
#include "tests/runtime/run_session.h"

namespace amp {
namespace {

constexpr char kHead[] = "<ir_version: 8, opset_import: [\"\" : 17]> g ";
constexpr DType kLow = DType::kFloat16;

// A model whose ports are all low, and what is known of its outputs.
struct Found {
  std::unique_ptr<Session> session;
  std::vector<Datum> outputs;
  std::vector<Derivatives> derivatives;
  std::string why_not_all;
  int num_loads = 0;  // of the model, besides the session's

  NodeId Node(const std::string& name) const {
    for (const NodeId id : session->model().AllNodes()) {
      if (session->model().node(id).name() == name) return id;
    }
    FAIL("no node " << name);
    return kNone;
  }
  ValueId Value(const std::string& name) const { return session->model().graph(kMainGraph).names.at(name); }
  bool KnowsInput(const std::string& node, size_t port) const {
    return derivatives[0].inputs.contains({Node(node), port});
  }
  double OfInput(const std::string& node, size_t port) const { return derivatives[0].inputs.at({Node(node), port}); }
  double SquaredNorm(size_t output) const {
    double sum = 0;
    for (const float element : outputs[output].tensor()->elements<float>())
      sum += static_cast<double>(element) * element;
    return sum;
  }
};

// Constants named "body..." are initializers of the first node's body.
absl::StatusOr<LoadedFile> Load(const SessionText& text) {
  absl::StatusOr<LoadedFile> file = LoadText(text);
  if (!file.ok()) return file;
  onnx::GraphProto& graph = *file->model->mutable_graph();
  for (int i = graph.initializer_size(); i-- > 0;) {
    if (!absl::StartsWith(graph.initializer(i).name(), "body")) continue;
    *graph.mutable_node(0)->mutable_attribute(0)->mutable_g()->add_initializer() = graph.initializer(i);
    graph.mutable_initializer()->DeleteSubrange(i, 1);
  }
  return file;
}

Found Find(const SessionText& text, const NamedDatums& sample) {
  Found found;
  const SessionText whole = {kHead + text.text, text.constants};
  found.session = *Session::Create(*Load(whole), OneByOne());
  found.outputs = *found.session->Run(sample);
  const Model& model = found.session->model();
  IdVector<NodeId, LowPorts> low(model.num_nodes());
  for (const NodeId id : model.AllNodes()) {
    low[id] = {std::vector<bool>(model.node(id).inputs.size(), true),
               std::vector<bool>(model.node(id).outputs.size(), true)};
  }
  const DerivativeTask task = {.session = *found.session,
                               .load =
                                   [&] {
                                     ++found.num_loads;
                                     return Load(whole);
                                   },
                               .limits = {},
                               .low = kLow,
                               .low_ports = low,
                               .sample = sample,
                               .outputs = found.outputs};
  absl::StatusOr<FoundDerivatives> derivatives = FindDerivatives(task);
  INFO(derivatives.status().message());
  REQUIRE(derivatives.ok());
  found.derivatives = std::move(derivatives->of_groups);
  found.why_not_all = std::move(derivatives->why_not_all);
  return found;
}

Tensor Numbers(const Dims& dims, double scale = 1) {
  return RandomTensor(DType::kFloat32, dims, Values::kPlain, scale);
}

TEST_CASE("an error that a mean has made smooth passes the next mean as it is") {
  std::vector<double> eighths(64, 0.125);
  const Tensor mean = Tensor::Of<float>(DType::kFloat32, {8, 8}, std::vector<float>(eighths.begin(), eighths.end()));
  const Found found = Find({.text = R"((float[8,512] x) => (float[8,512] y) {
      [first] h = MatMul (mean, x)  [second] y = MatMul (mean, h) })",
                            .constants = {{"mean", mean}}},
                           {{"x", Numbers({8, 512})}});
  REQUIRE(found.derivatives.size() == 1);
  CHECK(found.derivatives[0].is_whole);
  CHECK(found.why_not_all.empty());
  // The two of them are one mean: of each element an eighth arrives in eight places.
  CHECK(found.OfInput("first", 1) * found.SquaredNorm(0) == Approx(8 * 0.125 * 0.125).epsilon(0.2));
  CHECK(found.OfInput("second", 1) * found.SquaredNorm(0) == Approx(8 * 0.125 * 0.125).epsilon(0.2));
}

TEST_CASE("what two readers of a value do with its rounding may cancel") {
  const Found found = Find({.text = R"((float[1024] x) => (float[1024] y) <float k = {0.7}> {
      [first] h = Mul (x, k)  [left] d = Sub (h, h)  [last] y = Add (d, x) })"},
                           {{"x", Numbers({1024})}});
  CHECK(found.OfInput("left", 0) * found.SquaredNorm(0) == Approx(1).epsilon(0.01));
  CHECK(found.OfInput("left", 1) * found.SquaredNorm(0) == Approx(1).epsilon(0.01));
  CHECK(found.derivatives[0].values.at(found.Value("h")) == Approx(0).margin(1e-12));
}

TEST_CASE("a weight's rounding has the effect that a run shows") {
  const bool is_large = GENERATE(false, true);  // a large one is the session's own
  const Tensor weight = Numbers(is_large ? Dims{32, 1024} : Dims{32, 64}, 0.1), x = Numbers({16, 32});
  const SessionText text = {.text = "(float[16,32] x) => (float[16,m] y) { [product] a = MatMul (x, w) y = Tanh (a) }",
                            .constants = {{"w", weight}}};
  const Found found = Find(text, {{"x", x}});
  CHECK(found.num_loads == 0);
  const SessionText rounded = {
      .text = std::string(kHead) +
              "(float[16,32] x) => (float[16,m] y) "
              "{ v = Cast <to = 10> (w) u = Cast <to = 1> (v) a = MatMul (x, u) y = Tanh (a) }",
      .constants = text.constants};
  const auto low = MakeSession(rounded, OneByOne());
  const Tensor now = RunSession(*low, {{"x", x}})[0];
  double squared = 0;
  const auto before = found.outputs[0].tensor()->elements<float>(), after = now.elements<float>();
  for (size_t i = 0; i < after.size(); ++i) {
    const double change = after[i] - before[i];
    squared += change * change;
  }
  CHECK(found.derivatives[0].weights.at(found.Node("product")) * found.SquaredNorm(0) == Approx(squared).epsilon(0.5));
}

TEST_CASE("what lies ahead of an operator without a rule is not known, what lies behind it is") {
  const Found found = Find({.text = R"((float[64] x, bool left) => (float[64] y) {
      [ahead] a = Exp (x)
      [branch] h = If (left) <then_branch = t () => (float[64] u) { u = Neg (a) },
                              else_branch = e () => (float[64] v) { v = Abs (a) }>
      [behind] b = Tanh (h)  [last] y = Neg (b) })"},
                           {{"x", Numbers({64})}, {"left", Tensor::Scalar(true)}});
  CHECK_FALSE(found.derivatives[0].is_whole);
  CHECK(absl::StrContains(found.why_not_all, "node 'branch' (If)"));
  CHECK(found.KnowsInput("behind", 0));
  CHECK(found.KnowsInput("last", 0));
  CHECK_FALSE(found.KnowsInput("ahead", 0));
}

TEST_CASE("a model that cannot be differentiated is left to gains") {
  const Found found =
      Find({.text = "(float[4] x) => (int64[n] y) { h = Exp (x) y = NonZero (h) }"}, {{"x", Numbers({4})}});
  REQUIRE(found.derivatives.size() == 1);
  CHECK(found.derivatives[0].inputs.empty());
  CHECK_FALSE(found.derivatives[0].is_whole);
}

TEST_CASE("each output is known by itself; very many are taken in groups") {
  const Found found =
      Find({.text = "(float[64] x) => (float[64] y, float[64] z) { [left] y = Neg (x) [right] z = Exp (x) }"},
           {{"x", Numbers({64})}});
  REQUIRE(found.derivatives.size() == 2);
  CHECK(found.OfInput("left", 0) > 0);
  CHECK(found.OfInput("right", 0) == 0);
  CHECK(GroupOutputs(3) == std::vector<std::vector<size_t>>{{0}, {1}, {2}});
  const std::vector<std::vector<size_t>> groups = GroupOutputs(20);
  size_t count = 0;
  for (const std::vector<size_t>& group : groups) count += group.size();
  CHECK(groups.size() == 8);
  CHECK(count == 20);
}

TEST_CASE("a rule that refuses its node blocks what lies ahead of that node alone") {
  // There is no gradient of a Resize that interpolates.
  const Found found = Find({.text = R"((float[1,1,8,8] x) => (float[1,1,16,16] y) <float[4] scales = {1, 1, 2, 2}> {
      [ahead] a = Exp (x)  [grow] h = Resize <mode = "linear"> (a, , scales)  [behind] b = Tanh (h)
      [last] y = Neg (b) })"},
                           {{"x", Numbers({1, 1, 8, 8})}});
  CHECK(found.KnowsInput("behind", 0));
  CHECK(absl::StrContains(found.why_not_all, "'grow'"));
  CHECK_FALSE(absl::StrContains(found.why_not_all, "rounding"));
  CHECK_FALSE(found.KnowsInput("grow", 0));
  CHECK_FALSE(found.KnowsInput("ahead", 0));
  CHECK_FALSE(found.derivatives[0].is_whole);
}

TEST_CASE("a derivative that is no number is not known") {
  // The root of 0 has none.
  const Found found = Find({.text = R"((float[64] x) => (float[64] y) {
      [ahead] a = Mul (x, x)  d = Sub (a, a)  [root] r = Sqrt (d)  [last] y = Add (r, x) })"},
                           {{"x", Numbers({64})}});
  CHECK(absl::StrContains(found.why_not_all, "not finite"));
  CHECK_FALSE(found.KnowsInput("ahead", 0));
  CHECK(found.KnowsInput("last", 0));
  CHECK_FALSE(found.derivatives[0].is_whole);
}

TEST_CASE("a weight that a branch gives as it is has a reader that is no node") {
  const Found found = Find({.text = R"((float[4,4] x, bool c) => (float[4,4] y) {
      h = If (c) <then_branch = t () => (float[4,4] w) { n = Neg (x) }, else_branch = e () => (float[4,4] v) { v = Abs (x) }>
      [product] a = MatMul (x, w)  y = Add (a, h) })",
                            .constants = {{"w", Numbers({4, 4})}}},
                           {{"x", Numbers({4, 4})}, {"c", Tensor::Scalar(true)}});
  CHECK_FALSE(found.derivatives[0].is_whole);
}

TEST_CASE("large weights in a body are loaded once more") {
  const Found found = Find({.text = R"((bool c, float[4,32] x) => (float[4,1024] y) {
      h = If (c) <then_branch = t () => (float[4,1024] a) { a = MatMul (x, body_w) },
                  else_branch = e () => (float[4,1024] b) { b = MatMul (x, w) }>
      [last] y = Tanh (h) })",
                            .constants = {{"w", Numbers({32, 1024})}, {"body_w", Numbers({32, 1024})}}},
                           {{"x", Numbers({4, 32})}, {"c", Tensor::Scalar(true)}});
  CHECK(found.num_loads == 1);
  CHECK(found.KnowsInput("last", 0));
}

TEST_CASE("an error of the caller's is not one of the model's") {
  const auto session = MakeSession({std::string(kHead) + "(float[4] x) => (float[4] y) { y = Exp (x) }"}, OneByOne());
  const NamedDatums sample = {{"x", Numbers({4})}};
  const std::vector<Datum> outputs = *session->Run(sample);
  IdVector<NodeId, LowPorts> low(session->model().num_nodes());
  for (LowPorts& ports : low) ports = {{true}, {true}};
  const NodeGate stop = [](const Node&, absl::Span<const Datum* const>) { return absl::CancelledError("stop"); };
  const DerivativeTask task = {
      .session = *session,
      .load = [] { return LoadText({std::string(kHead) + "(float[4] x) => (float[4] y) { y = Exp (x) }"}); },
      .limits = {},
      .low = kLow,
      .low_ports = low,
      .sample = sample,
      .outputs = outputs,
      .may_go_on = &stop};
  const auto found = FindDerivatives(task);
  CHECK(absl::IsCancelled(found.status()));
}

}  // namespace
}  // namespace amp
