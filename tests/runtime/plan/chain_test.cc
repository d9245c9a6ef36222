// Element-wise nodes in a row run in one pass, and give what they give one by one, bit for bit.
#include "absl/strings/match.h"
#include "tests/catch2.h"
#include "tests/runtime/fused_case.h"

namespace amp {
namespace {

// By every set of loops that the processor can run.
std::string Fused(const FuseCase& each, DType dtype = DType::kFloat32) {
  SessionOptions options;
  options.fuse_epilogues = options.fuse_norms = options.fuse_attention = false;
  std::string found;
  for (const Loops* loops : UsableLoops()) {
    UseLoops(loops);
    std::string now = FusedWith(options, each, dtype, 0);
    const std::string threads = ThreadsDiffer(TextOf(each, dtype), options, InputsOf(each, dtype));
    UseLoops(nullptr);
    if (!threads.empty()) return absl::StrCat(loops->name, ": ", threads);
    if (!found.empty() && now != found) return absl::StrCat(loops->name, ": ", now);
    found = std::move(now);
  }
  return found;
}

FuseCase Chain(const std::string& nodes, const Dims& x = {3, 5, 40}, const Dims& r = {3, 5, 40}) {
  return {.graph = "(T[a,b,c] x, T[a,b,c] r) => (T[] y) { " + nodes + " }",
          .tensors = {{"x", x}, {"r", r}, {"w", {40}}, {"k", {1}}, {"c", {5, 1}}}};
}

TEST_CASE("a chain of functions and arithmetic, in every type") {
  for (const DType dtype : kLoopFloats) {
    INFO(DTypeName(dtype));
    CHECK(Fused(Chain("s1 = Mul (x, r) t = Exp (s1) y = Sub (t, x)"), dtype) == "Chain");
    CHECK(Fused(Chain("p = Sigmoid (x) q = Tanh (r) m = Mul (p, q) y = Add (m, x)"), dtype) == "Chain");
    CHECK(Fused(Chain("s1 = Abs (x) t = Sqrt (s1) u = Sqrt (t) y = Neg (u)", {70, 41, 40}), dtype) == "Chain");
    CHECK(Fused(Chain("g = Gelu (x) h = Clip (g, k) i = LeakyRelu <alpha = 0.3> (h) y = Erf (i)"), dtype) == "Chain");
  }
}

TEST_CASE("steps that give what their operands are round nothing") {
  for (const DType dtype : kLoopFloats) {
    INFO(DTypeName(dtype));
    CHECK(Fused(Chain("a = Add (x, r) b = Abs (a) c1 = Neg (b) d = Max (c1, r) e = Min (d, x) f = Sign (e) "
                      "h = Mul (f, a) y = Relu (h)"),
                dtype) == "Chain");
    CHECK(Fused(Chain("a = Div (x, r) g = Less (a, r) b = Where (g, a, x) d = PRelu (b, w) y = Sub (d, a)"), dtype) ==
          "Chain");
    CHECK(Fused(Chain("a = Add (x, w) b = Relu (a) d = Pow (b, k) e = Min (k, d) y = Max (e, w)"), dtype) == "Chain");
  }
}

TEST_CASE("operands that broadcast: scalars, rows, columns, trailing shapes") {
  for (const DType dtype : kLoopFloats) {
    INFO(DTypeName(dtype));
    for (const Dims& x : {Dims{3, 5, 40}, {30, 5, 40}, {1, 5, 40}}) {
      CHECK(Fused(Chain("s1 = Mul (x, w) t = Add (s1, k) u = Div (t, c) y = Sub (w, u)", x), dtype) == "Chain");
    }
    CHECK(Fused({.graph = "(T[n,6,50,60] x) => (T[] y) { p = Mul (x, a) q = Add (p, b) y = Relu (q) }",
                 .tensors = {{"x", {2, 6, 50, 60}}, {"a", {6, 1, 1}}, {"b", {1, 6, 1, 1}}}},
                dtype) == "Chain");
    CHECK(Fused({.graph = "(T[n,6,5,7] x) => (T[] y) { p = Mul (x, a) q = Add (p, b) y = Relu (q) }",
                 .tensors = {{"x", {2, 6, 5, 7}}, {"a", {2, 1, 5, 1}}, {"b", {6, 1, 7}}}},
                dtype) == "Chain");
  }
}

TEST_CASE("comparisons, choices, casts") {
  for (const DType dtype : kLoopFloats) {
    INFO(DTypeName(dtype));
    CHECK(Fused(Chain("g = Greater (x, r) e = Exp (x) y = Where (g, e, r)"), dtype) == "Chain");
    CHECK(Fused(Chain("g = Less (x, w) h = Cast <to = 1> (g) i = CastLike (h, x) y = Mul (i, x)"), dtype) ==
          "Chain CastLike Mul");
    CHECK(Fused(Chain("g = Neg (x) n = Cast <to = 10> (g) w1 = Cast <to = 1> (n) e = Exp (w1) m = Cast <to = " +
                      std::to_string(static_cast<int>(dtype)) + "> (e) y = Add (m, r)"),
                dtype) == "Chain");
  }
  CHECK(Fused({.graph = "(float[n,4] x, float[n,4] r) => (bool[] y) { s1 = Add (x, r) t = Mul (s1, x) y = "
                        "LessOrEqual (t, r) }",
               .tensors = {{"x", {600, 4}}, {"r", {600, 4}}}}) == "Chain");
  CHECK(Fused({.graph =
                   "(float[n,4] x, float[n,4] r) => (bool[] y) { a = Less (x, r) b = Greater (x, r) c = Equal (x, x) "
                   "y = Where (a, b, c) }",
               .tensors = {{"x", {600, 4}}, {"r", {600, 4}}}}) == "Chain");
}

TEST_CASE("a value that the chain reads twice is inside, one that others read is not") {
  CHECK(Fused(Chain("s1 = Add (x, r) t = Exp (s1) y = Mul (t, s1)")) == "Chain");
  FuseCase given = Chain("s1 = Add (x, r) t = Exp (s1) y = Mul (t, s1)");
  given.graph = absl::StrReplaceAll(given.graph, {{"(T[] y)", "(T[] y, T[] s1)"}});
  CHECK(Fused(given) == "Add Chain");
  CHECK(Fused(Chain("s1 = Add (x, r) t = Exp (s1) m = ReduceMax (s1) y = Mul (t, m)")) == "Add ReduceMax Chain");
}

TEST_CASE("what has another shape stays outside") {
  CHECK(Fused({.graph = "(T[4,1] x, T[1,6] r) => (T[] y) { a = Exp (x) b = Neg (r) c = Add (a, b) y = Relu (c) }",
               .tensors = {{"x", {4, 1}}, {"r", {1, 6}}}}) == "Exp Neg Chain");
}

TEST_CASE("shapes that turn out to be others when it runs") {
  const FuseCase each = {.graph = "(T[n,m] x, T[n,m] r) => (T[] y) { a = Exp (x) b = Add (a, r) y = Relu (b) }",
                         .tensors = {}};
  const SessionText text = {
      .text =
          "<ir_version: 10, opset_import: [\"\" : 22]> g (float[n,m] x, float[] r) => (float[] y) "
          "{ a = Exp (x) s = Shape (x) q = Reshape (r, s) b = Add (a, q) y = Relu (b) }",
      .constants = {}};
  const auto fused = MakeSession(text), plain = MakeSession(text, OneByOne());
  for (const auto& [n, m] : {std::pair<int64_t, int64_t>{5, 5}, {1, 5}, {5, 1}, {1, 1}, {0, 3}, {2, 2000}}) {
    const NamedDatums inputs = {{"x", RandomTensor(DType::kFloat32, {n, m})},
                                {"r", RandomTensor(DType::kFloat32, {n * m})}};
    for (int run = 0; run < 2; ++run) {
      CHECK(DifferenceOf(RunSession(*fused, inputs), RunSession(*plain, inputs), 0) == "");
    }
  }
  // Named alike, and not alike: the nodes run one by one, and those that do not fit fail as they would.
  const SessionText named = {
      .text =
          "<ir_version: 10, opset_import: [\"\" : 22]> g (float[n] x, float[n] r) => (float[] y) "
          "{ a = Exp (x) b = Add (a, r) y = Relu (b) }",
      .constants = {}};
  const auto fused_named = MakeSession(named), plain_named = MakeSession(named, OneByOne());
  const NamedDatums repeated = {{"x", RandomTensor(DType::kFloat32, {1})}, {"r", RandomTensor(DType::kFloat32, {7})}};
  CHECK(DifferenceOf(RunSession(*fused_named, repeated), RunSession(*plain_named, repeated), 0) == "");
  CHECK(OperatorsOf(*fused_named) == "Exp Add Relu");
  const NamedDatums wrong = {{"x", RandomTensor(DType::kFloat32, {3})}, {"r", RandomTensor(DType::kFloat32, {7})}};
  CHECK(TryToRun(*fused_named, wrong).status() == TryToRun(*plain_named, wrong).status());
}

TEST_CASE("a PRelu whose slope would make it larger fails as it would alone") {
  const SessionText text = {
      .text =
          "<ir_version: 10, opset_import: [\"\" : 22]> g (float[n,m] x, float[n,m] r) => (float[] y) "
          "{ a = PRelu (x, r) y = Neg (a) }",
      .constants = {}};
  const auto fused = MakeSession(text), plain = MakeSession(text, OneByOne());
  for (const int64_t n : {1, 3}) {
    const NamedDatums inputs = {{"x", RandomTensor(DType::kFloat32, {n, 4})},
                                {"r", RandomTensor(DType::kFloat32, {3, 4})}};
    CHECK(TryToRun(*fused, inputs).status() == TryToRun(*plain, inputs).status());
  }
}

TEST_CASE("values in the way of convolutions, channels last, run in their own layout") {
  const std::string graph =
      "(float[1,8,9,9] x) => (float[] y) { h = Conv (x, w) a = Sigmoid (h) b = Mul (a, k) c = Add (b, d) i = Exp (c) "
      "y = Conv (i, v) }";
  CHECK(
      Fused({.graph = graph,
             .tensors = {{"x", {1, 8, 9, 9}}, {"w", {16, 8, 1, 1}}, {"v", {4, 16, 1, 1}}, {"k", {}}, {"d", {16, 1, 1}}},
             .tolerance = 0}) == "Conv Chain Conv");
}

TEST_CASE("operators of old opsets that broadcast by attributes are no steps") {
  CHECK(Fused({.graph = "(T[2,4,6] x, T[4] r) => (T[] y) { a = Add <broadcast = 1, axis = 1> (x, r) y = Relu (a) }",
               .tensors = {{"x", {2, 4, 6}}, {"r", {4}}},
               .opset = 6}) == "Add Relu");
  // Relu-6 is one, and the sum ahead of it by NumPy's rules.
  CHECK(Fused({.graph = "(T[2,4,6] x, T[6] r) => (T[] y) { a = Add (x, r) y = Relu (a) }",
               .tensors = {{"x", {2, 4, 6}}, {"r", {6}}},
               .opset = 9}) == "Chain");
}

TEST_CASE("a long chain is cut") {
  std::string nodes = "v0 = Neg (x) ";
  for (int i = 1; i < 100; ++i) nodes += absl::StrCat("v", i, " = Neg (v", i - 1, ") ");
  CHECK(Fused(Chain(nodes + "y = Add (v99, r)")) == "Chain Chain Chain");
}

}  // namespace
}  // namespace amp
