// Norms and softmax that are written out run as one fused pattern, and give what their nodes give one by one.
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "tests/catch2.h"
#include "tests/runtime/fused_case.h"

namespace amp {
namespace {

std::string Fused(const FuseCase& each, DType dtype = DType::kFloat32) {
  SessionOptions options;
  options.fuse_chains = options.fuse_epilogues = false;
  return FusedWith(options, each, dtype, each.tolerance + 8 * LastPlace(dtype));
}

constexpr char kLayerNorm[] =
    "m = ReduceMean <axes = [-1]> (x) d = Sub (x, m) q = Mul (d, d) v = ReduceMean <axes = [-1]> (q) e = Add (v, eps) "
    "i = Sqrt (e) n = Div (d, i) ";

FuseCase LayerNorm(const std::string& rest, const std::string& outputs = "T[] y", const Dims& x = {3, 5, 16}) {
  return {.graph = "(T[n,l,16] x) => (" + outputs + ") <T eps = {0.001}> { " + kLayerNorm + rest + " }",
          .tensors = {{"x", x}, {"w", {16}}, {"b", {16}}, {"k", {1}}},
          .opset = 17};
}

// "T eps" has no brackets, and 16-bit numbers are written as bits.
FuseCase Typed(FuseCase each, DType dtype) {
  const std::string bits = dtype == DType::kFloat32 ? "0.001" : dtype == DType::kFloat16 ? "5145" : "14979";
  each.graph =
      absl::StrReplaceAll(each.graph, {{"<T eps = {0.001}", "<" + FuseTypeName(dtype) + " eps = {" + bits + "}"}});
  return each;
}
std::string FusedNorm(const FuseCase& each, DType dtype = DType::kFloat32) { return Fused(Typed(each, dtype), dtype); }

TEST_CASE("LayerNorm, in every type") {
  for (const DType dtype : kLoopFloats) {
    CHECK(FusedNorm(LayerNorm("s = Mul (n, w) y = Add (s, b)"), dtype) == "LayerNorm");
    CHECK(FusedNorm(LayerNorm("y = Mul (w, n)"), dtype) == "LayerNorm");
    CHECK(FusedNorm(LayerNorm("y = Identity (n)"), dtype) == "LayerNorm Identity");
  }
}

TEST_CASE("what is read elsewhere stays: a second reader, a graph output") {
  const FuseCase given = LayerNorm("s = Mul (n, w) y = Add (s, b)", "T[] y, T[] v");
  CHECK(FusedNorm(given) == "ReduceMean Sub Mul ReduceMean Add Sqrt Div Mul Add");
  CHECK(FusedNorm(LayerNorm("y = Mul (n, i)")) == "ReduceMean Sub Mul ReduceMean Add Sqrt Div Mul");
  CHECK(FusedNorm(LayerNorm("s = Mul (n, w) y = Add (s, n)")) == "LayerNorm Mul Add");
}

TEST_CASE("another axis is no LayerNorm") {
  FuseCase each = LayerNorm("y = Mul (n, k)");
  each.graph = absl::StrReplaceAll(each.graph, {{"axes = [-1]", "axes = [1]"}});
  CHECK(FusedNorm(each) == "ReduceMean Sub Mul ReduceMean Add Sqrt Div Mul");
}

TEST_CASE("RMSNorm between casts reads and stores 16 bits") {
  for (const DType dtype : {DType::kFloat16, DType::kBfloat16}) {
    const std::string low = std::to_string(static_cast<int>(dtype));
    const FuseCase each = {
        .graph =
            "(T[n,l,16] x) => (T[] y) <float eps = {0.001}, float two = {2}> { h = Cast <to = 1> (x) "
            "q = Pow (h, two) v = ReduceMean <axes = [-1]> (q) e = Add (v, eps) i = Sqrt (e) n = Div (h, i) "
            "y = Cast <to = " +
            low + "> (n) }",
        .tensors = {{"x", {3, 5, 16}}},
        .opset = 17};
    CHECK(Fused(each, dtype) == "RMSNorm");
    FuseCase kept = each;  // the cast ahead has another reader, and stays
    kept.graph = absl::StrReplaceAll(each.graph, {{"(T[] y)", "(T[] y, float[] h)"}});
    CHECK(Fused(kept, dtype) == "Cast RMSNorm");
  }
}

TEST_CASE("InstanceNorm and GroupNorm") {
  const std::string norm =
      "m = ReduceMean <axes = [2, 3]> (x) d = Sub (x, m) q = Mul (d, d) v = ReduceMean <axes = [2, 3]> (q) "
      "e = Add (v, eps) i = Sqrt (e) n = Div (d, i) s1 = Mul (n, w) y = Add (s1, b)";
  for (const DType dtype : kLoopFloats) {
    CHECK(FusedNorm({.graph = "(T[2,6,4,5] x) => (T[] y) <T eps = {0.001}> { " + norm + " }",
                     .tensors = {{"x", {2, 6, 4, 5}}, {"w", {6, 1, 1}}, {"b", {6, 1, 1}}},
                     .opset = 17},
                    dtype) == "InstanceNorm");
  }
  const FuseCase group = {.graph =
                              "(float[2,6,4,5] x) => (float[] y) <int64[3] to = {0, 2, -1}, float[2] one = {1, 1}, "
                              "float[2] zero = {0, 0}> { g = Reshape (x, to) n = InstanceNormalization (g, one, "
                              "zero) z = Shape (x) f = Reshape (n, z) s1 = Mul (f, w) y = Add (s1, b) }",
                          .tensors = {{"x", {2, 6, 4, 5}}, {"w", {6, 1, 1}}, {"b", {6, 1, 1}}},
                          .opset = 17};
  CHECK(Fused(group) == "GroupNorm");
}

TEST_CASE("softmax and its logarithm") {
  const std::string start =
      "m = ReduceMax <axes = [AXIS]> (x) d = Sub (x, m) e = Exp (d) t = ReduceSum <keepdims = 1> (e, axis) ";
  for (const std::string axis : {"-1", "1"}) {
    const auto written_out = [&](const std::string& rest) {
      return FuseCase{
          .graph = absl::StrReplaceAll(
              absl::StrCat("(T[n,7,9] x) => (T[] y) <int64[1] axis = {AXIS}> { ", start, rest, " }"), {{"AXIS", axis}}),
          .tensors = {{"x", {3, 7, 9}}},
          .opset = 17};
    };
    for (const DType dtype : kLoopFloats) {
      CHECK(Fused(written_out("y = Div (e, t)"), dtype) == "Softmax");
      CHECK(Fused(written_out("g = Log (t) y = Sub (d, g)"), dtype) == "LogSoftmax");
    }
  }
}

TEST_CASE("shapes that a norm does not take: its nodes run one by one") {
  CHECK(FusedNorm(LayerNorm("s = Mul (n, w) y = Add (s, b)", "T[] y", {0, 5, 16})) ==
        "ReduceMean Sub Mul ReduceMean Add Sqrt Div Mul Add");
  CHECK(FusedNorm(LayerNorm("s = Mul (n, w) y = Add (s, b)", "T[] y", {1, 1, 16})) == "LayerNorm");
}

TEST_CASE("nodes that fail for their types fail as one by one") {
  const SessionText text = TextOf(LayerNorm("y = Mul (n, w)"), DType::kFloat16);
  const SessionText wrong = {.text = absl::StrReplaceAll(text.text, {{"<T eps", "<float eps"}}),
                             .constants = text.constants};
  const auto fused = MakeSession(wrong), plain = MakeSession(wrong, OneByOne());
  const NamedDatums inputs = InputsOf(LayerNorm(""), DType::kFloat16);
  CHECK(!TryToRun(*plain, inputs).ok());
  CHECK(TryToRun(*fused, inputs).status() == TryToRun(*plain, inputs).status());
}

TEST_CASE("a norm in the body of an If, and its operands from outside") {
  const FuseCase each = {
      .graph =
          "(T[n,16] x, bool c) => (T[n,16] y) <T eps = {0.001}> { y = If (c) <then_branch = t () => (T[n,16] z) { " +
          absl::StrReplaceAll(kLayerNorm, {{"-1", "1"}}) +
          "z = Mul (n, w) }, else_branch = f () => (T[n,16] o) { o = Identity (x) }> }",
      .tensors = {{"x", {3, 16}}, {"w", {16}}},
      .opset = 17};
  const SessionText text = TextOf(Typed(each, DType::kFloat32), DType::kFloat32);
  NamedDatums inputs = InputsOf(each, DType::kFloat32);
  inputs["c"] = Datum(Tensor::Scalar(true));
  const auto fused = MakeSession(text), plain = MakeSession(text, OneByOne());
  CHECK(DifferenceOf(RunSession(*fused, inputs), RunSession(*plain, inputs), 1e-5).empty());
  CHECK(OperatorsOf(*fused).find("LayerNorm") != std::string::npos);
}

}  // namespace
}  // namespace amp
