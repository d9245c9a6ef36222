// Which nodes run as one, and that what they give is what they give one by one.
#include "runtime/plan/fuse.h"

#include <algorithm>

#include "absl/strings/str_replace.h"
#include "tests/catch2.h"
#include "tests/runtime/fused_case.h"

namespace amp {
namespace {

std::string Fused(const FuseCase& each, DType dtype = DType::kFloat32) {
  SessionOptions options;
  options.fuse_chains = options.fuse_norms = options.fuse_attention = false;
  return FusedWith(options, each, dtype, each.tolerance + 4 * LastPlace(dtype));
}

constexpr DType kFloats[] = {DType::kFloat32, DType::kFloat16, DType::kBfloat16};

FuseCase Product(const std::string& rest, const std::vector<std::pair<std::string, Dims>>& more = {}) {
  FuseCase result = {.graph = "(T[n,8] x, T[n,6] r) => (T[] y) { h = MatMul (x, w) " + rest + " }",
                     .tensors = {{"x", {5, 8}}, {"w", {8, 6}}, {"r", {5, 6}}}};
  result.tensors.insert(result.tensors.end(), more.begin(), more.end());
  return result;
}

// ---- what is computed once

// The operators that are left to run.
std::string Left(const std::string& nodes) {
  const SessionText text = {.text =
                                "<ir_version: 10, opset_import: [\"\" : 22]> g (float[2,2] x) => (float[] y) "
                                "<float[2,2] a = {1, 2, 3, 4}, float one = {1}, int64[2] large = {1024, 1024}> { " +
                                nodes + " }",
                            .constants = {}};
  const NamedDatums inputs = {{"x", Tensor::Of<float>(DType::kFloat32, {2, 2}, {1, 0, 0, 1})}};
  const auto folded = MakeSession(text), plain = MakeSession(text, OneByOne());
  const std::string difference = DifferenceOf(RunSession(*folded, inputs), RunSession(*plain, inputs), 1e-6);
  return difference.empty() ? OperatorsOf(*folded) : difference;
}

TEST_CASE("what depends on constants alone is computed once") {
  CHECK(Left("t = Transpose (a) y = MatMul (x, t)") == "MatMul");
  CHECK(Left("s = Shape (a) r = Expand (one, s) y = Add (x, r)") == "Add");
  CHECK(Left("p = MatMul (a, a) q = Relu (p) y = Sub (x, q)") == "Sub");  // the product would have had an epilogue
}

TEST_CASE("what is random, fails or grows is not") {
  CHECK(Left("r = RandomUniformLike <seed = 1.0> (a) y = Mul (x, r)") == "RandomUniformLike Mul");
  CHECK(Left("r = Expand (one, large) s = ReduceMean <keepdims = 0> (r) y = Mul (x, s)") == "Expand ReduceMean Mul");
}

// ---- what is one instruction

TEST_CASE("Conv, a residual, Relu") {
  for (const DType dtype : kFloats) {
    CHECK(Fused({.graph = "(T[n,8,9,9] x, T[n,16,9,9] r) => (T[] y) {"
                          "c = Conv <pads = [1,1,1,1]> (x, w, b) s1 = Add (c, r) y = Relu (s1) }",
                 .tensors = {{"x", {2, 8, 9, 9}}, {"r", {2, 16, 9, 9}}, {"w", {16, 8, 3, 3}}, {"b", {16}}}},
                dtype) == "Conv");
    CHECK(
        Fused({.graph = "(T[n,8,9] x, T[n,16,9] r) => (T[] y) {"
                        "c = Conv (x, w) k = Mul (c, a) d = Add (k, b) s1 = Add (r, d) y = HardSwish (s1) }",
               .tensors = {{"x", {2, 8, 9}}, {"r", {2, 16, 9}}, {"w", {16, 8, 1}}, {"a", {16, 1}}, {"b", {1, 16, 1}}}},
              dtype) == "Conv");
  }
}

TEST_CASE("MatMul, a bias, GELU written out") {
  const std::string erf = "q = Div (i, root) e = Erf (q) p = Add (e, one) m = Mul (i, p) y = Mul (m, half)";
  const std::string constants = " <float half = {0.5}, float one = {1}, float root = {1.4142135}> ";
  CHECK(Fused({.graph = "(T[n,5,8] x) => (T[] y)" + constants + "{ h = MatMul (x, w) i = Add (h, b) " + erf + " }",
               .tensors = {{"x", {2, 5, 8}}, {"w", {8, 6}}, {"b", {6}}}}) == "MatMul");
  CHECK(
      Fused({.graph = "(T[n,5,8] x) => (T[] y, T[] e)" + constants + "{ h = MatMul (x, w) i = Add (h, b) " + erf + " }",
             .tensors = {{"x", {2, 5, 8}}, {"w", {8, 6}}, {"b", {6}}}}) == "MatMul Div Erf Add Mul Mul");
}

TEST_CASE("SiLU and HardSwish written out") {
  CHECK(Fused(Product("q = Sigmoid (h) y = Mul (h, q)")) == "MatMul");
  CHECK(Fused(Product("q = HardSigmoid <alpha = 0.16666667> (h) y = Mul (q, h)")) == "MatMul");
  CHECK(Fused(Product("q = HardSigmoid <alpha = 0.25> (h) y = Mul (q, h)")) == "MatMul HardSigmoid Mul");
}

TEST_CASE("Gemm and Relu, and a Cast at the end") {
  for (const DType dtype : kFloats) {
    const FuseCase gemm = {.graph = "(T[n,8] x) => (T[] y) { h = Gemm <transB = 1> (x, w, b) y = Relu (h) }",
                           .tensors = {{"x", {5, 8}}, {"w", {6, 8}}, {"b", {6}}}};
    CHECK(Fused(gemm, dtype) == "Gemm");
    for (const DType to : kFloats) {
      FuseCase cast = gemm;
      cast.graph = absl::StrCat("(T[n,8] x) => (", FuseTypeName(to),
                                "[] y) { h = Gemm <transB = 1> (x, w, b) k = Relu (h) "
                                "y = Cast <to = ",
                                static_cast<int>(to), "> (k) }");
      cast.tolerance = 4 * LastPlace(to) + 1e-5;
      CHECK(Fused(cast, dtype) == "Gemm");
    }
  }
}

TEST_CASE("each activation") {
  for (const std::string op :
       {"Relu", "LeakyRelu", "LeakyRelu <alpha = 0.3>", "Sigmoid", "Tanh", "HardSigmoid", "HardSigmoid <alpha = 0.3>",
        "HardSwish", "Elu", "Elu <alpha = 0.5>", "Gelu", "Gelu <approximate = \"tanh\">", "com.microsoft.Gelu"}) {
    for (const DType dtype : kFloats) {
      const bool has_kernel = dtype != DType::kBfloat16 || op != "com.microsoft.Gelu";
      INFO(op << " " << DTypeName(dtype));
      if (has_kernel) CHECK(Fused(Product("y = " + op + " (h)"), dtype) == "MatMul");
    }
  }
}

TEST_CASE("Clip with bounds that are constant, by any version") {
  CHECK(Fused({.graph = "(T[n,8] x) => (T[] y) <float low = {-1}, float high = {0.5}> { h = MatMul (x, w) "
                        "y = Clip (h, low, high) }",
               .tensors = {{"x", {5, 8}}, {"w", {8, 6}}}}) == "MatMul");
  CHECK(Fused({.graph = "(T[n,8] x) => (T[] y) <float high = {0.5}> { h = MatMul (x, w) y = Clip (h, , high) }",
               .tensors = {{"x", {5, 8}}, {"w", {8, 6}}}}) == "MatMul");
  CHECK(Fused({.graph = "(T[n,8] x) => (T[] y) <float low = {1}, float high = {0.5}> { h = MatMul (x, w) "
                        "y = Clip (h, low, high) }",
               .tensors = {{"x", {5, 8}}, {"w", {8, 6}}}}) == "MatMul Clip");
  CHECK(Fused({.graph = "(T[n,8] x, T[] r) => (T[] y) { h = MatMul (x, w) y = Clip (h, r) }",
               .tensors = {{"x", {5, 8}}, {"w", {8, 6}}, {"r", {}}}}) == "MatMul Clip");
}

TEST_CASE("operands of every shape that broadcasts to the result") {
  for (const Dims& dims : {Dims{}, Dims{1}, Dims{6}, Dims{5, 6}, Dims{1, 6}, Dims{5, 1}, Dims{1, 1}, Dims{2, 5, 6},
                           Dims{3, 2, 5, 6}, Dims{3, 1, 1, 1}, Dims{2, 1, 6}, Dims{1, 2, 5, 1}}) {
    for (const std::string op : {"Add", "Mul"}) {
      INFO(op << " " << DimsText(dims));
      const std::string kernels =
          Fused({.graph = "(T[a,b,c,d] x) => (T[] y) { h = MatMul (x, w) k = " + op + " (h, o) y = Relu (k) }",
                 .tensors = {{"x", {3, 2, 5, 8}}, {"w", {8, 6}}, {"o", dims}}});
      CHECK((kernels == "MatMul" || kernels == "MatMul " + op + " Relu"));
    }
  }
}

TEST_CASE("several steps, an operand that comes twice, the input as an operand") {
  CHECK(Fused(Product("a = Add (h, r) b = Mul (a, r) c = Tanh (b) y = Add (c, k)", {{"k", {1}}})) == "MatMul");
  CHECK(Fused({.graph = "(T[n,8] x) => (T[] y) { h = MatMul (x, w) y = Add (x, h) }",
               .tensors = {{"x", {5, 8}}, {"w", {8, 8}}}}) == "MatMul");
  CHECK(Fused(Product("a = Relu (h) b = Relu (a) c = Relu (b) d = Relu (c) e = Relu (d) f = Relu (e) i = Relu (f) "
                      "j = Relu (i) k = Relu (j) l = Relu (k) y = Relu (l)")) == "MatMul Relu Relu Relu");
}

TEST_CASE("an operand that is computed after the product") {
  CHECK(Fused(Product("e = Exp (r) y = Add (h, e)")) == "Exp MatMul");
  CHECK(Fused({.graph = "(T[n,8] x) => (T[] y) { h = MatMul (x, w) i = MatMul (x, v) a = Add (h, i) y = Relu (a) }",
               .tensors = {{"x", {5, 8}}, {"w", {8, 6}}, {"v", {8, 6}}}}) == "MatMul MatMul");
  CHECK(Fused({.graph = "(T[n,8] x) => (T[] y) { h = MatMul (x, w) e = Relu (h) i = MatMul (e, v) a = Mul (i, e) "
                        "y = Add (a, x) }",
               .tensors = {{"x", {5, 8}}, {"w", {8, 8}}, {"v", {8, 8}}}}) == "MatMul MatMul");
}

// ---- near misses

TEST_CASE("what others read is not inside") {
  FuseCase two = Product("y = Relu (h) z = Neg (h)");
  two.graph = absl::StrReplaceAll(two.graph, {{"(T[] y)", "(T[] y, T[] z)"}});
  CHECK(Fused(two) == "MatMul Relu Neg");
  FuseCase given = Product("y = Relu (h)");
  given.graph = absl::StrReplaceAll(given.graph, {{"(T[] y)", "(T[] y, T[] h)"}});
  CHECK(Fused(given) == "MatMul Relu");
  CHECK(Fused(Product("y = Add (h, h)")) == "MatMul Add");
  CHECK(Fused(Product("q = Sigmoid (h) m = Mul (h, q) y = Add (m, q)")) == "MatMul Sigmoid Mul Add");
}

TEST_CASE("differences and quotients are no steps") {
  CHECK(Fused(Product("y = Sub (h, r)")) == "MatMul Sub");
  CHECK(Fused(Product("y = Sub (r, h)")) == "MatMul Sub");
  CHECK(Fused(Product("y = Div (h, k)", {{"k", {1}}})) == "MatMul Div");
}

TEST_CASE("an operand that makes the result larger") {
  CHECK(Fused({.graph = "(T[n,8] x, T[k,n,6] r) => (T[] y) { h = MatMul (x, w) y = Add (h, r) }",
               .tensors = {{"x", {5, 8}}, {"w", {8, 6}}, {"r", {2, 5, 6}}}}) == "MatMul Add");
  const FuseCase by_dims = {
      .graph = "(T[n,8] x, T[m,6] r) => (T[] y) { h = MatMul (x, w) a = Add (h, r) y = Relu (a) }",
      .tensors = {{"x", {1, 8}}, {"w", {8, 6}}, {"r", {5, 6}}}};
  CHECK(Fused(by_dims) == "MatMul Add Relu");
  CHECK(Fused({.graph = "(T[n,8,a,b] x, T[n,6,c,d] r) => (T[] y) { h = Conv (x, w) a1 = Add (h, r) y = Relu (a1) }",
               .tensors = {{"x", {1, 8, 1, 4}}, {"w", {6, 8, 1, 1}}, {"r", {1, 6, 3, 4}}}}) == "Conv Add Relu");
}

TEST_CASE("shapes that fit in one run and not in the next") {
  const FuseCase each = {.graph = "(T[n,8] x, T[m,6] r) => (T[] y) { h = MatMul (x, w) a = Add (h, r) y = Relu (a) }",
                         .tensors = {{"w", {8, 6}}}};
  const SessionText text = TextOf(each, DType::kFloat32);
  const auto fused = MakeSession(text), plain = MakeSession(text, OneByOne());
  for (const auto& [n, m] :
       {std::pair<int64_t, int64_t>{5, 5}, {1, 5}, {5, 1}, {5, 5}, {1, 1}, {1, 7}, {0, 0}, {0, 1}}) {
    const NamedDatums inputs = {{"x", RandomTensor(DType::kFloat32, {n, 8})},
                                {"r", RandomTensor(DType::kFloat32, {m, 6})}};
    for (int run = 0; run < 2; ++run) {
      CHECK(DifferenceOf(RunSession(*fused, inputs), RunSession(*plain, inputs), 1e-5) == "");
    }
  }
  const NamedDatums wrong = {{"x", RandomTensor(DType::kFloat32, {3, 8})},
                             {"r", RandomTensor(DType::kFloat32, {4, 6})}};
  CHECK(TryToRun(*fused, wrong).status() == TryToRun(*plain, wrong).status());
}

TEST_CASE("vectors have no epilogue, and are right") {
  CHECK(Fused({.graph = "(T[8] x) => (T[] y) { h = MatMul (x, w) a = Add (h, b) y = Relu (a) }",
               .tensors = {{"x", {8}}, {"w", {8, 6}}, {"b", {6}}}}) == "MatMul Add Relu");
  CHECK(Fused({.graph = "(T[n,8] x) => (T[] y) { h = MatMul (x, w) a = Add (h, b) y = Relu (a) }",
               .tensors = {{"x", {5, 8}}, {"w", {8}}, {"b", {5}}}}) == "MatMul Add Relu");
}

TEST_CASE("sums of old models, which broadcast along an axis that they name") {
  const SessionText text = {
      .text =
          "<ir_version: 3, opset_import: [\"\" : 6]> g (float[2,4,4,4] x, float[4] r) => (float[] y) "
          "{ h = Conv (x, w) y = Add <broadcast = 1, axis = 1> (h, r) }",
      .constants = {{"w", RandomTensor(DType::kFloat32, {4, 4, 1, 1}, Values::kPlain, 1)}}};
  const NamedDatums inputs = {{"x", RandomTensor(DType::kFloat32, {2, 4, 4, 4}, Values::kPlain, 1)},
                              {"r", RandomTensor(DType::kFloat32, {4}, Values::kPlain, 1)}};
  const auto fused = MakeSession(text), plain = MakeSession(text, OneByOne());
  CHECK(DifferenceOf(RunSession(*fused, inputs), RunSession(*plain, inputs), 1e-5).empty());
  CHECK(OperatorsOf(*fused) == "Conv Add");
}

TEST_CASE("types that the library does not have") {
  for (const std::string type : {"int32", "double", "uint64"}) {
    const bool is_float = type == "double";
    const SessionText text = {
        .text = absl::StrReplaceAll(
            "<ir_version: 10, opset_import: [\"\" : 22]> g () => (T[2,2] y) "
            "<T[2,2] a = {1, 2, 3, 4}, T[2] b = {5, 6}> { c = Identity (a) h = MatMul (c, c) y = Add (h, b) }",
            {{"T[", type + "["}}),
        .constants = {}};
    const auto session = MakeSession(text, OneByOne());
    CHECK(*ReadDoubles(RunSession(*session, {})[0]) == std::vector<double>{12, 16, 20, 28});
    CHECK(KernelsOf(*session).size() == 3);
    CHECK((is_float || KernelsOf(*session)[1] == "reference MatMul"));
  }
}

TEST_CASE("casts: to what the library stores at the end, and nothing behind them") {
  const auto ends_in = [](const std::string& rest) {
    return Fused({.graph = "(T[n,8] x) => (float16[] y) { h = MatMul (x, w) " + rest + " }",
                  .tensors = {{"x", {5, 8}}, {"w", {8, 6}}},
                  .tolerance = 1e-2});
  };
  CHECK(ends_in("y = Cast <to = 10> (h)") == "MatMul");
  CHECK(ends_in("c = Cast <to = 10> (h) y = Relu (c)") == "MatMul Relu");
  CHECK(ends_in("c = Cast <to = 6> (h) y = Cast <to = 10> (c)") == "MatMul Cast Cast");
  CHECK(ends_in("c = Cast <to = 16> (h) y = Cast <to = 10> (c)") == "MatMul Cast");
}

TEST_CASE("a Cast that names no type is the error that it is alone") {
  const SessionText text = {.text =
                                "<ir_version: 10, opset_import: [\"\" : 22]> g (float[n,8] x) => (float16[] y) "
                                "{ h = MatMul (x, w) y = Cast (h) }",
                            .constants = {{"w", RandomTensor(DType::kFloat32, {8, 6})}}};
  CHECK_FALSE(TryToRun(*MakeSession(text), {{"x", RandomTensor(DType::kFloat32, {5, 8})}}).ok());
}

TEST_CASE("Conv with an addend that runs along another axis than the channels") {
  for (const Dims& dims : {Dims{}, Dims{1}, Dims{6, 1, 1}, Dims{4}, Dims{4, 1}, Dims{6, 4, 4}, Dims{1, 6, 1, 1},
                           Dims{2, 1, 1, 1}, Dims{2, 6, 4, 4}, Dims{2, 6, 1, 1}, Dims{1, 1, 4, 4}}) {
    INFO(DimsText(dims));
    const std::string kernels =
        Fused({.graph = "(T[n,8,a,b] x) => (T[] y) { h = Conv (x, w) k = Add (h, o) y = Relu (k) }",
               .tensors = {{"x", {2, 8, 4, 4}}, {"w", {6, 8, 1, 1}}, {"o", dims}}});
    CHECK((kernels == "Conv" || kernels == "Conv Add Relu"));
  }
}

// ---- bodies

TEST_CASE("fusions in bodies that read outer values") {
  const SessionText text = {.text = R"(<ir_version: 10, opset_import: ["" : 22]>
    g (float[n,8] x, float[n,8] r, float[1] scale, bool c, int64 rounds) => (float[] y, float[] z) {
      outer = MatMul (x, w)
      scaled = Mul (w, scale)
      y = If (c) <then_branch = yes () => (float[n,8] t) { h = MatMul (outer, w) a = Add (h, r) t = Relu (a) },
                  else_branch = no () => (float[n,8] e) { h2 = MatMul (x, w) e = Add (outer, h2) }>
      go = Constant <value = bool {1}> ()
      z = Loop (rounds, go, x) <body = round (int64 i, bool on, float[n,8] state) => (bool still, float[n,8] next) {
        still = Identity (on)
        p = MatMul (state, scaled)
        next = Tanh (p)
      }>
    })",
                            .constants = {{"w", RandomTensor(DType::kFloat32, {8, 8}, Values::kPlain, 0.5)}}};
  const auto fused = MakeSession(text), plain = MakeSession(text, OneByOne());
  for (const int64_t n : {3, 3, 1, 5, 3}) {
    for (const bool c : {true, false}) {
      const NamedDatums inputs = {{"x", RandomTensor(DType::kFloat32, {n, 8})},
                                  {"r", RandomTensor(DType::kFloat32, {n, 8})},
                                  {"scale", RandomTensor(DType::kFloat32, {1})},
                                  {"c", Tensor::Scalar(c)},
                                  {"rounds", Tensor::Scalar(int64_t{n + 1})}};
      CHECK(DifferenceOf(RunSession(*fused, inputs), RunSession(*plain, inputs), 1e-4) == "");
    }
  }
  CHECK(OperatorsOf(*fused) == "MatMul Mul If Loop MatMul MatMul Identity MatMul");
}

TEST_CASE("a product that a body reads is not fused into it") {
  CHECK(Fused({.graph = "(T[n,8] x) => (T[] y) <bool yes = {1}> { h = MatMul (x, w) y = If (yes) "
                        "<then_branch = a () => (T[n,6] t) { t = Relu (h) }, "
                        "else_branch = b () => (T[n,6] e) { e = Neg (x) }> }",
               .tensors = {{"x", {5, 8}}, {"w", {8, 6}}}})
            .find("MatMul If") == 0);
}

// ---- what the caller sees

TEST_CASE("observers see the values inside") {
  const FuseCase each = Product("a = Add (h, r) y = Relu (a)");
  const SessionText text = TextOf(each, DType::kFloat32);
  const NamedDatums inputs = InputsOf(each, DType::kFloat32);
  const auto session = MakeSession(text);
  std::vector<std::string> seen;
  const ValueObserver observer = [&](ValueId id, const Datum&) { seen.push_back(session->model().value(id).name); };
  REQUIRE(session->Run(inputs, {.observer = &observer}).ok());
  CHECK(seen == std::vector<std::string>{"x", "r", "h", "a", "y"});
  REQUIRE(session->Run(inputs).ok());
  CHECK(OperatorsOf(*session) == "MatMul");
}

TEST_CASE("an addend that a caller may override") {
  const Tensor w = RandomTensor(DType::kFloat32, {8, 6}), b = RandomTensor(DType::kFloat32, {6});
  const SessionText text = {
      .text =
          "<ir_version: 10, opset_import: [\"\" : 22]> g (float[n,8] x, float[8,6] w, float[6] b) "
          "=> (float[] y) { h = MatMul (x, w) a = Add (h, b) y = Relu (a) }",
      .constants = {{"w", w}, {"b", b}}};
  const auto fused = MakeSession(text), plain = MakeSession(text, OneByOne());
  const Tensor x = RandomTensor(DType::kFloat32, {5, 8});
  for (int round = 0; round < 3; ++round) {
    for (const NamedDatums& inputs :
         {NamedDatums{{"x", x}}, NamedDatums{{"x", x}, {"b", RandomTensor(DType::kFloat32, {6})}},
          NamedDatums{{"x", x}, {"w", RandomTensor(DType::kFloat32, {8, 6})}}}) {
      CHECK(DifferenceOf(RunSession(*fused, inputs), RunSession(*plain, inputs), 1e-5) == "");
    }
  }
  CHECK(OperatorsOf(*fused) == "MatMul");
}

}  // namespace
}  // namespace amp
