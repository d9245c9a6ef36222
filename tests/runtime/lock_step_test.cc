// Runs in lock step: gains, errors of values and weights, bodies; and what follows for the outputs of a model.
#include "runtime/lock_step.h"

#include <cmath>

#include "ir/base/convert.h"
#include "runtime/rounding_sites.h"
#include "tests/runtime/run_session.h"

namespace amp {
namespace {

constexpr char kHead[] = "<ir_version: 8, opset_import: [\"\" : 17]> g ";
constexpr DType kLow = DType::kFloat16;

// A model that has run in step once.
struct Stepped {
  std::unique_ptr<Session> session;
  IdVector<NodeId, LowPorts> low;
  ErrorSums sums;

  NodeId Node(const std::string& name) const {
    for (const NodeId id : session->model().AllNodes()) {
      if (session->model().node(id).name() == name) return id;
    }
    FAIL("no node " << name);
    return kNone;
  }
  ValueId Value(const std::string& name) const { return session->model().graph(kMainGraph).names.at(name); }
  double SquaredGain(const std::string& node, size_t port, ErrorSource source = ErrorSource::kValues) const {
    const GainSums& gain = sums.nodes[Node(node)].GainsOf(source)[port][0];
    return gain.squared_out / gain.squared_in;
  }
  // Returns the error of all roundings that happen where everything is low.
  double PredictedError(size_t output = 0) const {
    const RoundingSites sites = FindRoundingSites(session->model(), sums, {output});
    double squared = 0;
    for (const RoundingSite& site : sites.values) {
      const bool by_producer = site.producer != kNone && low[site.producer].HasOutput(0);
      squared += by_producer ? site.if_producer : site.if_reader;
    }
    for (const WeightSite& site : sites.weights) squared += site.squared_error;
    return std::sqrt(squared);
  }
};

// All ports of all nodes are low.
Stepped Step(const SessionText& text, const NamedDatums& inputs) {
  Stepped stepped;
  stepped.session = MakeSession({kHead + text.text, text.constants}, OneByOne());
  const Model& model = stepped.session->model();
  stepped.low.resize(model.num_nodes());
  for (const NodeId id : model.AllNodes()) {
    stepped.low[id] = {std::vector<bool>(model.node(id).inputs.size(), true),
                       std::vector<bool>(model.node(id).outputs.size(), true)};
  }
  LockStep in_step(*stepped.session, kLow, stepped.low);
  const absl::Status status = in_step.Run(inputs);
  INFO(status.message());
  REQUIRE(status.ok());
  stepped.sums = in_step.sums();
  return stepped;
}

Tensor Numbers(const Dims& dims, double scale = 1) {
  return RandomTensor(DType::kFloat32, dims, Values::kPlain, scale);
}

// The relative L2 error that rounding makes in a run of the model, with each value and weight rounded.
double MeasuredError(const Tensor& exact, const Tensor& rounded) {
  double error = 0, norm = 0;
  const auto a = exact.elements<float>(), b = rounded.elements<float>();
  for (size_t i = 0; i < a.size(); ++i) {
    error += (a[i] - b[i]) * static_cast<double>(a[i] - b[i]);
    norm += a[i] * static_cast<double>(a[i]);
  }
  return std::sqrt(error / norm);
}

TEST_CASE("a factor is the gain, whoever reads the value beside") {
  const Stepped stepped =
      Step({.text = R"((float[n,8] x) => (float[n,8] y, float[n,8] z) <float three = {3}, float half = {0.5}> {
      [up] y = Mul (x, three)  [down] z = Mul (x, half) })"},
           {{"x", Numbers({64, 8})}});
  CHECK(stepped.SquaredGain("up", 0) == Approx(9).epsilon(0.01));
  CHECK(stepped.SquaredGain("down", 0) == Approx(0.25).epsilon(0.01));
}

TEST_CASE("operands have gains of their own") {
  const Stepped stepped = Step({.text = R"((float[8,8] a, float[8,8] b) => (float[8,8] y) <float ten = {10}> {
      [scale] c = Mul (b, ten)  [sum] d = Add (a, c)  [product] y = Mul (d, a) })"},
                               {{"a", Numbers({8, 8})}, {"b", Numbers({8, 8})}});
  CHECK(stepped.SquaredGain("sum", 0) == Approx(1).epsilon(0.01));
  CHECK(stepped.SquaredGain("sum", 1) == Approx(1).epsilon(0.01));
  CHECK(stepped.SquaredGain("product", 1) > 10);  // by d, which is large
  CHECK(stepped.SquaredGain("product", 0) < 5);
}

TEST_CASE("weights err in the same way everywhere, values do not") {
  // The average of 256 rounded values errs by a sixteenth of one of them. A wrong weight makes all of them too large.
  const Stepped stepped = Step({.text = R"((float[1,256] x) => (float[1,1] y) <float w = {0.3337}> {
      [scale] h = Mul (x, w)  [average] y = ReduceMean <axes = [1]> (h) })"},
                               {{"x", RandomTensor(DType::kFloat32, {1, 256}, Values::kPositive, 1)}});
  const double of_values = stepped.SquaredGain("average", 0, ErrorSource::kValues) * 256;
  const double of_weights = stepped.SquaredGain("average", 0, ErrorSource::kWeights) * 256;
  INFO(of_values << " " << of_weights);
  CHECK(stepped.sums.nodes[stepped.Node("scale")].squared_of_weights[0] > 0);
  CHECK(of_weights > 0.4);
  CHECK(of_values < 0.1);
}

TEST_CASE("what copies or cuts off rounds nothing anew") {
  const Stepped stepped = Step({.text = R"((float[4,8] x) => (float[8,4] y) {
      [cut] h = Relu (x)  [turn] y = Transpose (h) })"},
                               {{"x", Numbers({4, 8})}});
  CHECK(stepped.sums.values[stepped.Value("x")].squared_rounding > 0);
  CHECK(stepped.sums.values[stepped.Value("h")].squared_result == 0);
  CHECK(stepped.sums.values[stepped.Value("y")].squared_result == 0);
  CHECK_THAT(stepped.SquaredGain("turn", 0), Catch::Matchers::WithinRel(1.0, 1e-6));
}

TEST_CASE("the float32 run is what it is alone, though kernels write over their inputs") {
  const SessionText text = {.text = R"((float[2,8] x) => (float[2,8] y) {
      [h] a = Exp (x)  [i] b = Relu (a)  [j] c = Neg (b)  [k] y = Tanh (c) })"};
  const Tensor x = Numbers({2, 8});
  const Stepped stepped = Step(text, {{"x", x}});
  const std::vector<Tensor> alone = RunSession(*stepped.session, {{"x", x}});
  double squared = 0;
  for (const float element : alone[0].elements<float>()) squared += static_cast<double>(element) * element;
  CHECK(stepped.sums.values[stepped.Value("y")].squared_norm == Approx(squared));
  CHECK(stepped.SquaredGain("i", 0) == Approx(1));
  CHECK(stepped.SquaredGain("j", 0) == Approx(1));
}

TEST_CASE("the error of a deep chain is predicted") {
  std::string text = "(float[64,32] x) => (float[64,32] y) { ";
  NamedTensors weights;
  constexpr int kDepth = 6;
  for (int i = 0; i < kDepth; ++i) {
    const std::string n = std::to_string(i), from = i == 0 ? "x" : "h" + std::to_string(i - 1);
    text += "[m" + n + "] a" + n + " = MatMul (" + from + ", w" + n + ")  [t" + n + "] " +
            (i + 1 == kDepth ? "y" : "h" + n) + " = Tanh (a" + n + ") ";
    weights.emplace_back("w" + n, Numbers({32, 32}, 0.15));
  }
  const NamedDatums inputs = {{"x", Numbers({64, 32})}};
  const Stepped stepped = Step({text + "}", weights}, inputs);
  // This model rounds every value and weight by casts.
  std::string rounded = "(float[64,32] x) => (float[64,32] z) { x_ = Cast <to = 10> (x) ";
  for (int i = 0; i < kDepth; ++i) {
    const std::string n = std::to_string(i), from = i == 0 ? "x_" : "h" + std::to_string(i - 1);
    rounded += "v" + n + " = Cast <to = 10> (w" + n + ") a" + n + " = MatMul (" + from + ", v" + n + ") h" + n +
               " = Tanh (a" + n + ") ";
  }
  rounded += "z = Cast <to = 1> (h" + std::to_string(kDepth - 1) + ") }";
  const auto low = MakeSession({kHead + rounded, weights}, OneByOne());
  const double measured = MeasuredError(RunSession(*stepped.session, inputs)[0], RunSession(*low, inputs)[0]);
  CHECK(stepped.PredictedError() == Approx(measured).epsilon(0.3));
}

TEST_CASE("a Loop multiplies errors as often as it goes round") {
  const Stepped stepped = Step({.text = R"((float[16] x) => (float[16] y) <int64 n = {5}, bool go = {1}> {
      [loop] y = Loop (n, go, x) <body = b (int64 i, bool c, float[16] s) => (bool again, float[16] t)
        <float two = {2}> { again = Identity (c)  [twice] t = Mul (s, two) }> })"},
                               {{"x", Numbers({16})}});
  CHECK(stepped.sums.rounds[GraphId(1)] == 5);
  CHECK(stepped.SquaredGain("twice", 0) == Approx(4));
  // Doubling rounds nothing anew, so that all of the error is the input's: as large as the input's own.
  const ValueErrors& of_x = stepped.sums.values[stepped.Value("x")];
  const RoundingSites sites = FindRoundingSites(stepped.session->model(), stepped.sums, {0});
  double first_reading = 0;
  for (const RoundingSite& site : sites.values) first_reading = std::max(first_reading, site.if_reader);
  CHECK(first_reading >= 0.9 * of_x.squared_rounding / of_x.squared_norm);
}

TEST_CASE("a Scan hands its state on, and its collected results are as sensitive as the whole") {
  const Stepped stepped = Step({.text = R"((float[4] x, float[3,4] rows) => (float[4] y, float[3,4] z) {
      [scan] y, z = Scan <num_scan_inputs = 1, body = b (float[4] s, float[4] row) => (float[4] t, float[4] u)
        <float k = {2}> { [grow] t = Mul (s, k)  [join] u = Add (t, row) }> (x, rows) })"},
                               {{"x", Numbers({4})}, {"rows", Numbers({3, 4})}});
  CHECK(stepped.sums.rounds[GraphId(1)] == 3);
  CHECK(stepped.SquaredGain("grow", 0) == Approx(4));
  CHECK(stepped.PredictedError(0) > 0);
  CHECK(stepped.PredictedError(1) > 0);
}

TEST_CASE("a branch that is taken is looked into, and sequences hand on what they hold") {
  const Stepped stepped = Step({.text = R"((float[16] x, bool left) => (float[16] y) {
      [branch] h = If (left) <then_branch = t () => (float[16] a) <float k = {3}> { [third] a = Mul (x, k) },
                              else_branch = e () => (float[16] b) { [other] b = Neg (x) }>
      s = SequenceConstruct (h, x)  [join] z = ConcatFromSequence <axis = 0> (s)
      [total] y = Mul (h, h) })"},
                               {{"x", Numbers({16})}, {"left", Tensor::Scalar(true)}});
  CHECK(stepped.SquaredGain("third", 0) == Approx(9).epsilon(0.01));
  CHECK(stepped.sums.nodes[stepped.Node("other")].rounds == 0);
  CHECK(stepped.PredictedError() > 0);
}

TEST_CASE("each output has sites of its own") {
  const Stepped stepped = Step({.text = R"((float[64] x) => (float[64] y, float[64] z) <float k = {0.7}> {
      [left] y = Mul (x, k)  [right] z = Exp (x) })"},
                               {{"x", Numbers({64})}});
  for (size_t output = 0; output < 2; ++output) {
    const RoundingSites sites = FindRoundingSites(stepped.session->model(), stepped.sums, {output});
    for (const RoundingSite& site : sites.values) {
      CHECK(site.reader != stepped.Node(output == 0 ? "right" : "left"));
    }
    CHECK(stepped.PredictedError(output) > 0);
  }
}

TEST_CASE("what derivatives tell is not looked for, and is taken as it is") {
  const SessionText text = {.text = R"((float[64] x) => (float[64] y) <float k = {0.7}> {
      [first] h = Mul (x, k)  [left] a = Exp (h)  [right] b = Neg (h)  [sum] y = Add (a, b) })"};
  const NamedDatums inputs = {{"x", Numbers({64})}};
  const Stepped before = Step(text, inputs);
  const NodeId left = before.Node("left"), right = before.Node("right"), first = before.Node("first");
  const ValueId h = before.Value("h");
  Derivatives known = {.inputs = {{{left, 0}, 3}, {{right, 0}, 5}}, .values = {{h, 1}}, .weights = {{first, 7}}};
  known.is_whole = true;
  LockStep in_step(*before.session, kLow, before.low, &known);
  REQUIRE(in_step.Run(inputs).ok());
  for (const NodeErrors& node : in_step.sums().nodes) {
    for (const ErrorSource source : kErrorSources) {
      for (const auto& of_port : node.GainsOf(source)) CHECK(of_port[0].squared_in == 0);
    }
  }
  const double rounding = in_step.sums().values[h].squared_result;
  CHECK(rounding == Approx(before.sums.values[h].squared_result));
  const RoundingSites sites = FindRoundingSites(before.session->model(), in_step.sums(), {0}, &known);
  double as_given = 0, as_read = 0;
  for (const RoundingSite& site : sites.values) {
    if (site.value != h) continue;
    as_given += site.if_producer;
    as_read += site.if_reader;
  }
  // All readers see the same rounding: what it does is not the sum of what it does by each of them.
  CHECK(as_given == Approx(rounding * 1));
  CHECK(as_read == Approx(before.sums.values[h].squared_rounding * (3 + 5)));
  REQUIRE(sites.weights.size() == 1);
  CHECK(sites.weights[0].squared_error == 7);
}

TEST_CASE("numbers that overflow are told, and do not go on") {
  const Stepped stepped = Step({.text = R"((float[2] x) => (float[2] y) <float k = {0.001}> {
      [large] h = Mul (x, x)  [small] y = Mul (h, k) })"},
                               {{"x", Tensor::Of<float>(DType::kFloat32, {2}, {1000, 1})}});
  CHECK(stepped.sums.nodes[stepped.Node("large")].overflows);
  CHECK_FALSE(stepped.sums.nodes[stepped.Node("small")].overflows);
  CHECK(stepped.sums.values[stepped.Value("h")].overflows);
  CHECK(std::isfinite(stepped.PredictedError()));
}

TEST_CASE("a value of a body that is empty in a later round is not the one of before") {
  const Stepped stepped = Step(
      {.text =
           R"((float[4,2] x) => (float[m,2] y) <int64 n = {2}, bool go = {1}, int64[1] from = {2}, int64[1] to = {9}> {
      [loop] y = Loop (n, go, x) <body = b (int64 i, bool c, float[k,2] s) => (bool again, float[j,2] t) {
        again = Identity (c)  [cut] t = Slice (s, from, to)  [read] u = Exp (t) }> })"},
      {{"x", Numbers({4, 2})}});
  CHECK(stepped.sums.nodes[stepped.Node("read")].rounds == 2);
}

TEST_CASE("a node that does not take rounded inputs hands on exact values") {
  const Stepped stepped = Step({.text = R"((float x, float delta) => (float[n] z) <float k = {2}> {
      [limit] end = Mul (x, k)  [count] y = Range (x, end, delta)  [twice] z = Mul (y, k) })"},
                               {{"x", Tensor::Scalar(1e-7f)}, {"delta", Tensor::Scalar(1e-8f)}});
  CHECK(stepped.sums.nodes[stepped.Node("count")].rounds == 1);
  CHECK(stepped.sums.nodes[stepped.Node("twice")].rounds == 1);
}

TEST_CASE("an error of the caller's ends the run") {
  const Stepped stepped = Step({.text = "(float[2] x) => (float[2] y) { y = Neg (x) }"}, {{"x", Numbers({2})}});
  LockStep in_step(*stepped.session, kLow, stepped.low);
  const NodeGate stop = [](const Node&, absl::Span<const Datum* const>) { return absl::CancelledError("stop"); };
  CHECK(absl::IsCancelled(in_step.Run({{"x", Numbers({2})}}, &stop)));
}

}  // namespace
}  // namespace amp
