// Recognisers of patterns: text in, the pattern or the reason out.
#include <functional>
#include <string>

#include "absl/strings/str_cat.h"
#include "ir/graph/infer.h"
#include "ir/patterns/gelu_pattern.h"
#include "ir/patterns/group_norm_pattern.h"
#include "ir/patterns/hard_swish_pattern.h"
#include "ir/patterns/norm_pattern.h"
#include "ir/patterns/silu_pattern.h"
#include "ir/patterns/softmax_pattern.h"
#include "tests/catch2.h"
#include "tests/ir/patterns/recognised_at.h"
#include "tests/model_from_text.h"

namespace amp {
namespace {

std::string At(Recognise recognise, const std::string& graph, const std::string& anchor, int opset = 17) {
  return RecognisedAt(recognise, graph, anchor, opset);
}

// LayerNorm with parts to be changed: what is above the division, the division, what is below.
std::string Norm(const std::string& above, const std::string& division, const std::string& below,
                 const std::string& outputs = "y") {
  return absl::StrCat("(float[2, 3, 8] x, float[2, 3, 8] z) => (", outputs, R"()
    <float two = {2}, float half = {0.5}, float minus_half = {-0.5}, float one = {1}, float zero = {0},
     float eps = {0.00001}, float[2] epsilons = {0.1, 0.2}, float[1, 1, 1, 1] eps4 = {0.1},
     float[8] scale = {1, 1, 1, 1, 1, 1, 1, 1}, float[8] shift = {0, 0, 0, 0, 0, 0, 0, 0}, float[3, 1] rows = {1, 1, 1},
     float[3, 8] both = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}> {)",
                      above, division, below, "}");
}
constexpr char kAbove[] =
    "m = ReduceMean <axes = [-1]> (x) c = Sub (x, m) q = Pow (c, two) v = ReduceMean <axes = [-1]> (q) "
    "e = Add (v, eps) s = Sqrt (e) ";
constexpr char kRmsAbove[] = "q = Mul (x, x) v = ReduceMean <axes = [-1]> (q) e = Add (v, eps) ";
constexpr char kBelow[] = "t = Mul (d, scale) y = Add (t, shift)";

TEST_CASE("near misses of norms are none") {
  const auto at = [](const std::string& graph) { return At(RecogniseNorm, graph, "d"); };
  const std::string outside =
      "m = ReduceMean <axes = [-1]> (x) c = Sub (x, m) q = Pow (c, two) v = ReduceMean <axes = [-1]> (q) "
      "s = Sqrt (v) f = Add (s, eps) ";
  CHECK(at(Norm(outside, "d = Div (c, f) ", kBelow)) == "what divides is a sum, no root");
  const auto with = [](std::string text, const std::string& from, const std::string& to) {
    text.replace(text.find(from), from.size(), to);
    return text;
  };
  const auto above = [&](const std::string& from, const std::string& to) {
    return at(Norm(with(kAbove, from, to), "d = Div (c, s) ", kBelow));
  };
  CHECK(above("e = Add (v, eps) s = Sqrt (e)", "s = Sqrt (v)") == "no epsilon is added under the root");
  CHECK(above("Add (v, eps)", "Add (v, z)") == "no constant is added under the root");
  CHECK(above("Add (v, eps)", "Add (v, zero)") == "its epsilon is not above zero");
  CHECK(above("Add (v, eps)", "Add (v, eps4)") == "no constant is added under the root");  // it adds a dimension
  CHECK(above("v = ReduceMean <axes = [-1]>", "v = ReduceMean <axes = [-1], keepdims = 0>") ==
        "the axes of the mean under the root are not known, or not kept");
  CHECK(above("v = ReduceMean <axes = [-1]>", "v = ReduceMean <axes = [1]>") ==
        "mean and variance are taken over different axes");
  CHECK(above("v = ReduceMean", "v = ReduceMax") == "no mean is under the root");
  CHECK(above("q = Pow (c, two)", "q = Pow (c, half)") == "the mean under the root is not of a square");
  CHECK(above("q = Pow (c, two)", "q = Mul (c, x)") == "the mean under the root is not of a square");
  CHECK(above("q = Pow (c, two)", "q = Pow (x, two)") == "what is squared is not what is divided");
  CHECK(above("c = Sub (x, m)", "c = Sub (z, m)") == "RMSNorm(c, scale) axes -1 epsilon 1e-05");  // not of its own mean
  CHECK(at(Norm(kAbove, "d = Div (x, s) ", kBelow)) == "what is squared is not what is divided");
  CHECK(at(Norm(kAbove, "d = Mul (c, s) ", kBelow)) == "it divides by no root");
  CHECK(at(Norm(kAbove, "d = Sub (c, s) ", kBelow)) == "no division, no product and no sum");
  CHECK(at(Norm(kAbove, "d = Div (c, s) ", absl::StrCat("w = Neg (v) ", kBelow))) == "'v' is read from outside");
  CHECK(at(Norm(kAbove, "d = Div (c, s) ", kBelow, "y, float[2, 3, 8] c")) == "'c' is read from outside");
  std::string rows = kAbove;
  for (const char* each : {"m = ReduceMean <axes = [-1]>", "v = ReduceMean <axes = [-1]>"}) {
    rows = with(rows, each, with(each, "[-1]", "[1]"));
  }
  CHECK(at(Norm(rows, "d = Div (c, s) ", kBelow)) == "its axes are not the last ones");
}

TEST_CASE("norms in all their spellings") {
  const auto at = [](const std::string& graph, int opset = 17) { return At(RecogniseNorm, graph, "d", opset); };
  const std::string whole = "LayerNorm(x, scale, shift) axes -1 epsilon 1e-05";
  CHECK(at(Norm(kAbove, "d = Div (c, s) ", kBelow)) == whole);
  CHECK(at(Norm(kAbove, "d = Div (c, s) ", "t = Mul (scale, d) y = Add (shift, t)")) == whole);
  CHECK(at(Norm(kAbove, "d = Div (c, s) ", "y = Mul (d, scale)")) == "LayerNorm(x, scale, -) axes -1 epsilon 1e-05");
  CHECK(at(Norm(kAbove, "d = Div (c, s) ", "y = Neg (d)")) == "LayerNorm(x, -, -) axes -1 epsilon 1e-05");
  CHECK(at(Norm(kAbove, "d = Div (c, s) ", "y = Add (d, shift)")) == "LayerNorm(x, -, -) axes -1 epsilon 1e-05");
  // A scale that broadcasts otherwise is none of the norm's; nor is one of a normalised value that has other readers.
  CHECK(at(Norm(kAbove, "d = Div (c, s) ", "t = Mul (d, eps4) y = Add (t, shift)")) ==
        "LayerNorm(x, -, -) axes -1 epsilon 1e-05");
  CHECK(at(Norm(kAbove, "d = Div (c, s) ", "t = Mul (d, rows) y = Add (t, shift)")) ==
        "InstanceNorm(x, rows, -) axes -1 epsilon 1e-05");
  CHECK(at(Norm(kAbove, "d = Div (c, s) ", absl::StrCat("w = Neg (d) ", kBelow))) ==
        "LayerNorm(x, -, -) axes -1 epsilon 1e-05");
  CHECK(at(Norm(kAbove, "d = Div (c, s) ", "t = Mul (d, scale) w = Neg (t) y = Add (t, shift)")) ==
        "LayerNorm(x, scale, -) axes -1 epsilon 1e-05");
  // The inner value that is a graph output may be the last.
  CHECK(at(Norm(kAbove, "d = Div (c, s) ", kBelow, "y, float[2, 3, 8] d")) ==
        "LayerNorm(x, -, -) axes -1 epsilon 1e-05");
  // Casts that change nothing, a difference made twice, in another order under the square.
  const std::string odd =
      "m = ReduceMean <axes = [2]> (x) c = Sub (x, m) c2 = Sub (m, x) q = Mul (c2, c2) k = Cast <to = 1> (q) "
      "v = ReduceMean <axes = [2]> (k) i = Identity (v) e = Add (eps, i) s = Pow (e, half) ";
  CHECK(at(Norm(odd, "d = Div (c, s) ", kBelow)) == whole);
  const std::string by_input =
      "m = ReduceMean (x, a) c = Sub (x, m) q = Mul (c, c) v = ReduceMean (q, a) "
      "e = Add (v, eps) s = Sqrt (e) r = Reciprocal (s) ";
  CHECK(at(Norm(absl::StrCat("a = Constant <value = int64[1] {-1}> () ", by_input), "d = Mul (r, c) ", kBelow), 18) ==
        whole);
  const std::string planes =
      "m = ReduceMean <axes = [1, -1]> (x) c = Sub (x, m) q = Mul (c, c) "
      "v = ReduceMean <axes = [2, 1]> (q) e = Add (v, eps) s = Sqrt (e) ";
  CHECK(at(Norm(planes, "d = Div (c, s) ", "y = Mul (d, both)")) == "LayerNorm(x, both, -) axes -2,-1 epsilon 1e-05");

  const std::string rms = "RMSNorm(x, scale) axes -1 epsilon 1e-05";
  CHECK(at(Norm(absl::StrCat(kRmsAbove, "s = Sqrt (e) "), "d = Div (x, s) ", kBelow)) == rms);
  CHECK(at(Norm(absl::StrCat(kRmsAbove, "s = Pow (e, minus_half) "), "d = Mul (s, x) ", kBelow)) == rms);
  CHECK(at(Norm(absl::StrCat(kRmsAbove, "r = Sqrt (e) s = Reciprocal (r) "), "d = Mul (x, s) ", kBelow)) == rms);
  CHECK(at(Norm(absl::StrCat(kRmsAbove, "r = Sqrt (e) s = Div (one, r) "), "d = Mul (x, s) ", kBelow)) == rms);
  CHECK(at(Norm(absl::StrCat(kRmsAbove, "s = Sqrt (e) "), "d = Div (x, s) ", "y = Neg (d)")) ==
        "RMSNorm(x, -) axes -1 epsilon 1e-05");
}

TEST_CASE("norms over planes: instances and groups") {
  const auto instance = [](const std::string& shape, const std::string& elements) {
    return absl::StrCat("(float[2, 4, 5, 6] x) => (y) <float eps = {0.001}, float", shape, " w = {", elements,
                        "}> { m = ReduceMean <axes = [2, 3]> (x) c = Sub (x, m) q = Mul (c, c) "
                        "v = ReduceMean <axes = [2, 3]> (q) e = Add (v, eps) s = Sqrt (e) d = Div (c, s) "
                        "t = Mul (d, w) y = Add (t, w) }");
  };
  CHECK(At(RecogniseNorm, instance("[4, 1, 1]", "1, 2, 3, 4"), "d") ==
        "InstanceNorm(x, w, w) axes -2,-1 epsilon 0.001");
  CHECK(At(RecogniseNorm, instance("[1, 4, 1, 1]", "1, 2, 3, 4"), "d") ==
        "InstanceNorm(x, w, w) axes -2,-1 epsilon 0.001");
  CHECK(At(RecogniseNorm, instance("[6]", "1, 2, 3, 4, 5, 6"), "d") == "LayerNorm(x, -, -) axes -2,-1 epsilon 0.001");
  CHECK(At(RecogniseNorm, instance("[2, 1, 1, 1]", "1, 2"), "d") == "LayerNorm(x, -, -) axes -2,-1 epsilon 0.001");

  const auto group = [](const std::string& to, const std::string& norm, const std::string& back) {
    return absl::StrCat(
        "(float[2, 4, 5, 6] x, float[2, 4, 5, 6] z) => (y) <float eps = {0.001}, float[2] ones = {1, 1}, float[2] "
        "zeros = {0, 0}, float[4, "
        "1, 1] w = {1, 2, 3, 4}> { to = Constant <value = int64[3] ",
        to, "> () r = Reshape (x, to) ", norm, " ", back, " t = Mul (g, w) y = Add (t, w) }");
  };
  const std::string norm = "n = InstanceNormalization <epsilon = 0.5> (r, ones, zeros)";
  const std::string back = "sh = Shape (x) g = Reshape (n, sh)";
  const auto at = [](const std::string& graph) { return At(RecogniseGroupNorm, graph, "g"); };
  CHECK(at(group("{0, 2, -1}", "n = InstanceNormalization (r, ones, ones)", back)) ==
        "it reshapes no norm without scale and shift");
  CHECK(at(group("{1, 2, -1}", norm, back)) == "it mixes the batch");
  CHECK(at(group("{0, 2, -1}", norm, "sh = Shape (z) g = Reshape (n, sh)")) ==
        "the shape behind it is not the one before");
  CHECK(at(group("{0, 2, -1}", norm, "sh = Constant <value = int64[4] {2, 4, 5, 6}> () g = Reshape (n, sh)")) ==
        "GroupNorm(x, w, w) groups 2 epsilon 0.5");
  CHECK(at(group("{0, 2, -1}", norm, "sh = Constant <value = int64[4] {2, 4, 6, 5}> () g = Reshape (n, sh)")) ==
        "the shape behind it is not the one before");
  CHECK(at(group("{0, 2, -1}", absl::StrCat(norm, " k = Neg (r)"), back)) == "'r' is read from outside");
  CHECK(at(group("{0, 2, -1}", norm, back)) == "GroupNorm(x, w, w) groups 2 epsilon 0.5");
  CHECK(at(group("{2, 2, -1}", norm, back)) == "GroupNorm(x, w, w) groups 2 epsilon 0.5");
  const std::string by_hand =
      "m = ReduceMean <axes = [-1]> (r) c = Sub (r, m) q = Mul (c, c) "
      "v = ReduceMean <axes = [2]> (q) e = Add (v, eps) s = Sqrt (e) n = Div (c, s)";
  CHECK(at(group("{0, 2, -1}", by_hand, back)) == "GroupNorm(x, w, w) groups 2 epsilon 0.001");
}

TEST_CASE("softmax and log-sum-exp by hand") {
  const auto at = [](const std::string& body, const std::string& outputs = "y") {
    return At(RecogniseSoftmax,
              absl::StrCat("(float[2, 8] x, float[2, 8] z) => (", outputs,
                           ") <int64[1] last = {-1}, int64[1] first = {0}> {", body, "}"),
              "a");
  };
  const std::string shift = "m = ReduceMax <axes = [1]> (x) d = Sub (x, m) e = Exp (d) ";
  CHECK(at(shift + "s = ReduceSum <keepdims = 0> (e, last) a = Div (e, s) y = Neg (a)") ==
        "the axes of the sum are not known, or not kept");
  CHECK(at(shift + "s = ReduceSum (e, first) a = Div (e, s) y = Neg (a)") ==
        "maximum and sum are taken over different axes");
  CHECK(at(shift + "s = ReduceSum (e, last) a = Div (s, e) y = Neg (a)") == "there is no sum");
  CHECK(at(shift + "s = ReduceSum (e, last) a = Div (z, s) y = Neg (a)") == "what is divided is not what is summed");
  CHECK(at(shift + "s = ReduceSum (e, last) a = Div (e, s) y = Neg (e)") == "'e' is read from outside");
  CHECK(at(shift + "s = ReduceSum (d, last) a = Log (s) y = Add (a, m)") == "the sum is not of exponentials");
  CHECK(at(shift + "s = ReduceSum (e, last) a = Log (s) y = Neg (a)") == "the maximum is not added again");
  CHECK(at(shift + "s = ReduceSum (e, last) a = Log (s) y = Add (a, z)") == "the maximum is not added again");

  CHECK(at(shift + "s = ReduceSum (e, last) a = Div (e, s) y = Neg (a)") == "Softmax(x) axes -1");
  CHECK(at("e = Exp (x) s = ReduceSum (e, last) a = Div (e, s) y = Neg (a)") == "Softmax(x) axes -1");
  CHECK(at(shift + "s = ReduceSum (e, last) a = Log (s) y = Sub (d, a)") == "LogSoftmax(x) axes -1");
  CHECK(at(shift + "s = ReduceSum (e, last) a = Log (s) y = Add (m, a)") == "LogSumExp(x) axes -1");
  CHECK(at("e = Exp (x) s = ReduceSum (e, last) a = Log (s) y = Neg (a)") == "LogSumExp(x) axes -1");
}

TEST_CASE("activations by hand") {
  const auto at = [](Recognise recognise, const std::string& body) {
    return At(
        recognise,
        absl::StrCat("(float[2, 8] x, float[2, 8] z) => (y) <float root2 = {1.4142135}, float inverse = {0.70710678}, "
                     "float half = {0.5}, float one = {1}, float two = {2}, float three = {3}, float six = {6}, "
                     "float zero = {0}, float sixth = {0.16666667}, float rootpi = {0.7978845}, "
                     "float cubic = {0.044715}> {",
                     body, "}"),
        "a");
  };
  const std::string erf = "u = Div (x, root2) a = Erf (u) b = Add (a, one) ";
  CHECK(at(RecogniseGelu, "u = Div (x, two) a = Erf (u) b = Add (a, one) p = Mul (x, b) y = Mul (p, half)") ==
        "its operand is not x / sqrt(2)");
  CHECK(at(RecogniseGelu, "u = Div (x, root2) a = Erf (u) b = Add (a, half) p = Mul (x, b) y = Mul (p, half)") ==
        "one is not added to it");
  CHECK(at(RecogniseGelu, erf + "p = Mul (z, b) y = Mul (p, half)") == "the sum is not multiplied by x and a half");
  CHECK(at(RecogniseGelu, erf + "p = Mul (x, b) w = Neg (p) y = Mul (p, half)") ==
        "the sum is not multiplied by x and a half");
  CHECK(at(RecogniseGelu, erf + "p = Mul (x, b) y = Mul (p, half)") == "Gelu(x)");
  CHECK(at(RecogniseGelu, erf + "p = Mul (b, half) y = Mul (x, p)") == "Gelu(x)");
  CHECK(at(RecogniseGelu, erf + "p = Mul (half, x) y = Mul (p, b)") == "Gelu(x)");
  CHECK(at(RecogniseGelu, "u = Mul (inverse, x) a = Erf (u) b = Add (one, a) p = Mul (b, x) y = Mul (half, p)") ==
        "Gelu(x)");
  const std::string tail = " i = Mul (r, rootpi) a = Tanh (i) b = Add (one, a) p = Mul (x, half) y = Mul (p, b)";
  CHECK(at(RecogniseGelu, "c = Pow (x, two) k = Mul (c, cubic) r = Add (x, k)" + tail) ==
        "its operand is not that of GELU");
  CHECK(at(RecogniseGelu, "c = Pow (x, three) k = Mul (c, cubic) r = Add (x, k)" + tail) == "TanhGelu(x)");
  CHECK(at(RecogniseGelu, "s = Mul (x, x) c = Mul (x, s) k = Mul (cubic, c) r = Add (k, x)" + tail) == "TanhGelu(x)");

  CHECK(at(RecogniseSilu, "a = Sigmoid (z) y = Mul (x, a)") == "it is multiplied by another value");
  CHECK(at(RecogniseSilu, "a = Sigmoid (x) w = Neg (a) y = Mul (x, a)") == "it is not read by one product alone");
  CHECK(at(RecogniseSilu, "a = Sigmoid (x) y = Mul (a, x)") == "Silu(x)");

  CHECK(at(RecogniseHardSwish, "b = Add (x, three) a = Clip (b, zero, three) p = Mul (x, a) y = Div (p, six)") ==
        "it does not clip x + 3 to 0 and 6");
  CHECK(at(RecogniseHardSwish, "b = Add (x, three) a = Clip (b, zero, six) p = Mul (z, a) y = Div (p, six)") ==
        "it is not multiplied by x and a sixth");
  CHECK(at(RecogniseHardSwish, "a = HardSigmoid (x) y = Mul (x, a)") ==
        "its slope is not a sixth, or its middle not a half");
  CHECK(at(RecogniseHardSwish, "b = Add (x, three) a = Clip (b, zero, six) p = Mul (x, a) y = Div (p, six)") ==
        "HardSwish(x)");
  CHECK(at(RecogniseHardSwish, "b = Add (three, x) a = Clip (b, zero, six) p = Mul (a, sixth) y = Mul (x, p)") ==
        "HardSwish(x)");
  CHECK(at(RecogniseHardSwish, "a = HardSigmoid <alpha = 0.16666667> (x) y = Mul (x, a)") == "HardSwish(x)");
}

TEST_CASE("a pattern does not reach into another graph, and its nodes come in order") {
  const auto model = GraphFromText(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[2, 8] x, bool b) => (y) <float eps = {0.1}> {
      q = Mul (x, x)
      y = If (b) <then_branch = t () => (float[2, 8] o) { v = ReduceMean <axes = [-1]> (q) e = Add (v, eps) s = Sqrt (e)
                                                          o = Div (x, s) },
                  else_branch = f () => (float[2, 8] p) { q2 = Mul (x, x) v2 = ReduceMean <axes = [-1]> (q2)
                                                          e2 = Add (v2, eps) s2 = Sqrt (e2) p = Div (x, s2) }>
    })");
  InferTypes(*model);
  std::string all;
  for (const NodeId id : model->AllNodes()) {
    if (model->node(id).op_type() != "Div") continue;
    const Recognised result = RecogniseNorm(*model, id);
    absl::StrAppend(&all, result.found() ? PatternText(*model, result.pattern()) : result.reason().sentence(), "\n");
    if (!result.found()) continue;
    for (const NodeId inner : result.pattern().nodes) absl::StrAppend(&all, model->node(inner).op_type(), " ");
  }
  CHECK(all == "'Mul#0' is in another graph\nRMSNorm(x, -) axes -1 epsilon 0.1\nMul ReduceMean Add Sqrt Div ");
}

}  // namespace
}  // namespace amp
