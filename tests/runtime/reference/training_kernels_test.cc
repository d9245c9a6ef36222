// ONNX Runtime's operators of training: small numbers that were worked out by hand, and operands that do not fit.
// (training_graphs.py compares their gradients with differences.)
#include "absl/strings/match.h"
#include "tests/catch2.h"
#include "tests/runtime/run_text.h"

namespace {

std::string Trained(const std::string& given, const std::string& node, const std::string& output) {
  return Computed({.opset = 17, .imports = R"(, "com.microsoft" : 1)", .given = given, .node = node, .output = output});
}

}  // namespace

TEST_CASE("com.microsoft: gradients of activations read the input or the output of the forward operator") {
  const std::string given = "float[3] g = {1, 2, 4}, float[3] x = {-1, 0, 0.5}, float[2] short = {1, 2}";
  const auto gradient = [&](const std::string& node) { return Trained(given, node, "float[3]"); };
  CHECK(gradient("y = com.microsoft.ReluGrad(g, x)") == "float32[3]: 0 0 4");
  CHECK(gradient("y = com.microsoft.SigmoidGrad(g, x)") == "float32[3]: -2 0 1");
  CHECK(gradient("y = com.microsoft.TanhGrad(g, x)") == "float32[3]: 0 2 3");
  CHECK(gradient("y = com.microsoft.LeakyReluGrad<alpha = 0.5>(g, x)") == "float32[3]: 0.5 1 4");
  CHECK(gradient("y = com.microsoft.SoftmaxGrad_13(g, x)") == "float32[3]: -0 0 1.5");
  CHECK(absl::StrContains(gradient("y = com.microsoft.ReluGrad(g, short)"), "input 1: expected shape [3]"));
}

TEST_CASE("com.microsoft::SoftmaxCrossEntropyLossGrad: reductions, weights and labels that are ignored") {
  // Log-probabilities of 1/2 each, and of 1/4 and 3/4.
  const std::string given =
      "float g = {1}, float[2] each = {1, 2}, float[2,2] p = {-0.6931472, -0.6931472, -1.3862944, -0.2876821}, "
      "int64[2] l "
      "= {0, 1}, int64[2] far = {0, 2}, float[2] w = {1, 3}, int64 zero = {0}";
  const auto gradient = [&](const std::string& inputs, const std::string& attributes = "", const char* form = "") {
    return Trained(
        given,
        std::string("y = com.microsoft.SoftmaxCrossEntropyLoss") + form + "Grad" + attributes + "(" + inputs + ")",
        "float[2,2]");
  };
  CHECK(gradient("g, p, l") == "float32[2,2]: -0.25 0.25 0.125 -0.125");
  CHECK(gradient("g, p, l", "<reduction = \"sum\">") == "float32[2,2]: -0.5 0.5 0.25 -0.25");
  CHECK(gradient("each, p, l", "<reduction = \"none\">") == "float32[2,2]: -0.5 0.5 0.5 -0.5");
  CHECK(gradient("g, p, l, w", "<reduction = \"sum\">") == "float32[2,2]: -0.5 0.5 0.75 -0.75");
  CHECK(gradient("g, p, l", "<ignore_index = 1>") == "float32[2,2]: -0.5 0.5 -0 0");
  CHECK(gradient("g, p, l, , zero", "", "Internal") == "float32[2,2]: -0 0 0.25 -0.25");
  CHECK(absl::StrContains(gradient("g, p, far"), "expected labels in [0, 2), found 2"));
  CHECK(absl::StrContains(gradient("p, l"), "expected at least 3 inputs, found 2"));
}

TEST_CASE("com.microsoft: what was read several times gets the sum of what comes back") {
  const std::string given =
      "int64[1] three = {3}, int64[3] twice = {2, 0, 2}, float[3] g = {1, 2, 4}, int64[1] one = {1}, int64[1] end = "
      "{3}, "
      "float[2] two = {1, 2}, int64[1] back = {-1}, int64[1] start = {2}, int64[1] before = {-9}, int64[1] zero = {0}";
  const auto gradient = [&](const std::string& node) { return Trained(given, node, "float[n]"); };
  CHECK(gradient("y = com.microsoft.GatherGrad(three, twice, g)") == "float32[3]: 2 0 5");
  CHECK(gradient("y = com.microsoft.GatherElementsGrad(g, three, twice)") == "float32[3]: 2 0 5");
  CHECK(gradient("y = com.microsoft.SliceGrad(two, three, one, end)") == "float32[3]: 0 1 2");
  CHECK(gradient("y = com.microsoft.SliceGrad(g, three, start, before, zero, back)") == "float32[3]: 4 2 1");
  CHECK(absl::StrContains(gradient("y = com.microsoft.GatherGrad(one, twice, g)"), "expected an index in [-1, 1)"));
  CHECK(absl::StrContains(gradient("y = com.microsoft.SliceGrad(g, three, one, end)"), "input 0: expected shape [2]"));
}

TEST_CASE("com.microsoft: axes along which operands of a broadcast were repeated") {
  const auto axes = [](const std::string& outputs) {
    return Trained("int64[3] a = {2, 1, 4}, int64[2] b = {3, 1}",
                   outputs + " = com.microsoft.BroadcastGradientArgs(a, b)", "int64[n]");
  };
  CHECK(axes("y, z") == "int64[1]: 1");
  CHECK(axes("z, y") == "int64[2]: 2 0");
}

TEST_CASE("com.microsoft: accumulation adds, or begins anew") {
  const std::string given = "float[2] sum = {1, 2}, float[2] g = {10, 20}, bool yes = {1}, bool no = {0}";
  const auto accumulated = [&](const std::string& inputs) {
    return Trained(given, "f, y = com.microsoft.InPlaceAccumulatorV2(" + inputs + ")", "float[2]");
  };
  CHECK(accumulated("sum, g") == "float32[2]: 11 22");
  CHECK(accumulated("sum, g, no") == "float32[2]: 11 22");
  CHECK(accumulated("sum, g, yes") == "float32[2]: 10 20");
  CHECK(Trained(given, "y = com.microsoft.InPlaceAccumulator(sum, g, no)", "float[2]") == "float32[2]: 1 2");
  CHECK(Trained(given, "y = com.microsoft.ZeroGradient(sum, yes)", "float[2]") == "float32[2]: 0 0");
}

TEST_CASE("com.microsoft: steps of SGD and AdamW on sequences of weights, and steps that are not taken") {
  const std::string given =
      "float rate = {0.5}, int64 first = {1}, float[2] w = {1, 2}, float[2] g = {1, -2}, float[2] zero = {0, 0}, bool "
      "no "
      "= {0}, int64 p = {0}, float[1] other = {1}";
  const auto stepped = [&](const std::string& node) {
    return Trained(given,
                   "ws = SequenceConstruct(w) gs = SequenceConstruct(g) m = SequenceConstruct(zero) v = "
                   "SequenceConstruct(zero) os = SequenceConstruct(other) " +
                       node + " y = SequenceAt(n, p)",
                   "float[2]");
  };
  CHECK(stepped("f, n = com.microsoft.SGDOptimizerV2(rate, ws, gs)") == "float32[2]: 0.5 3");
  CHECK(stepped("f, n = com.microsoft.SGDOptimizerV2(rate, ws, gs, no)") == "float32[2]: 1 2");
  // The first step is the rate in each direction: by 0.5, after a decay by half of weight_decay.
  CHECK(stepped("f, n = com.microsoft.AdamWOptimizer<weight_decay = 0.0>(rate, first, ws, gs, m, v)") ==
        "float32[2]: 0.5 2.5");
  CHECK(stepped("f, n = com.microsoft.AdamWOptimizer<weight_decay = 0.5>(rate, first, ws, gs, m, v)") ==
        "float32[2]: 0.25 2");
  CHECK(stepped("f, n = com.microsoft.AdamWOptimizer(rate, first, ws, gs, m, v, no)") == "float32[2]: 1 2");
  CHECK(stepped("f, a, n = com.microsoft.AdamWOptimizer<alpha = 0.5>(rate, first, ws, gs, m, v)") ==
        "float32[2]: 0.5 -1");
  CHECK(absl::StrContains(stepped("f, n = com.microsoft.SGDOptimizerV2(rate, ws, os)"),
                          "expected the shapes of the weights, found float32[1]"));
  CHECK(Trained(given, "y = com.microsoft.SGDOptimizer(rate, w, g)", "float[2]") == "float32[2]: 0.5 3");
}

TEST_CASE("com.microsoft: scales, norms, and what is not finite") {
  const std::string given =
      "float[2] x = {3, 4}, float two = {2}, int64 three = {3}, float[1] zero = {0}, float[1] one = {1}, int64 p = {0}";
  CHECK(Trained(given, "y = com.microsoft.Scale(x, two)", "float[2]") == "float32[2]: 6 8");
  CHECK(Trained(given, "y = com.microsoft.Scale<scale_down = 1>(x, two)", "float[2]") == "float32[2]: 1.5 2");
  CHECK(Trained(given, "y = com.microsoft.Scale(x, three)", "float[2]") == "float32[2]: 9 12");
  CHECK(Trained(given, "y = com.microsoft.ReduceAllL2(x, zero)", "float") == "float32[]: 5");
  CHECK(Trained(given, "y = com.microsoft.IsAllFinite(x, zero)", "bool") == "bool[]: 1");
  CHECK(Trained(given, "i = Div(one, zero) y = com.microsoft.IsAllFinite(x, i)", "bool") == "bool[]: 0");
  CHECK(Trained(given, "i = Div(one, zero) y = com.microsoft.IsAllFinite<isnan_only = 1>(x, i)", "bool") ==
        "bool[]: 1");
  CHECK(
      Trained(given,
              "s = SequenceConstruct(x) c = com.microsoft.InplaceClipGradNorm<max_norm = 2.5>(s) z = SequenceAt(c, p) "
              "y = Ceil(z)",
              "float[2]") == "float32[2]: 2 2");
}
