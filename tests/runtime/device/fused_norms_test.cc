// Norms and softmax that are written out run as one kernel of a device, and give what the processor gives.
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "tests/catch2.h"
#include "tests/runtime/device/on_fake_device.h"

namespace amp {
namespace {

// "T eps" has no brackets, and 16-bit numbers are written as bits.
FuseCase Typed(FuseCase each, DType dtype) {
  const std::string bits = dtype == DType::kFloat32 ? "0.001" : dtype == DType::kFloat16 ? "5145" : "14979";
  each.graph =
      absl::StrReplaceAll(each.graph, {{"<T eps = {0.001}", "<" + FuseTypeName(dtype) + " eps = {" + bits + "}"}});
  return each;
}

Kernels KernelsOn(const FuseCase& each, DType dtype) { return OnDouble(Typed(each, dtype), dtype).kernels(); }

FuseCase LayerNorm(const std::string& rest, const Dims& x = {3, 5, 16}, const std::string& outputs = "T[] y") {
  return {.graph = absl::StrCat("(T[n,l,16] x) => (", outputs,
                                ") <T eps = {0.001}> { m = ReduceMean <axes = [-1]> (x) d = Sub (x, m) q = Mul (d, d) ",
                                "v = ReduceMean <axes = [-1]> (q) e = Add (v, eps) i = Sqrt (e) n = Div (d, i) ", rest,
                                " }"),
          .tensors = {{"x", x}, {"w", {16}}, {"b", {16}}},
          .opset = 17};
}

TEST_CASE("device: LayerNorm written out is one kernel, in every type") {
  for (const DType dtype : kLoopFloats) {
    CHECK(KernelsOn(LayerNorm("s = Mul (n, w) y = Add (s, b)"), dtype) == Kernels{"device LayerNorm"});
    CHECK(KernelsOn(LayerNorm("y = Mul (w, n)"), dtype) == Kernels{"device LayerNorm"});
    CHECK(KernelsOn(LayerNorm("s = Mul (n, w) y = Add (s, b)", {1, 1, 16}), dtype) == Kernels{"device LayerNorm"});
  }
}

TEST_CASE("device: what is read elsewhere, and no elements, run node by node, there") {
  const Kernels given = KernelsOn(LayerNorm("y = Mul (n, w)", {3, 5, 16}, "T[] y, T[] v"), DType::kFloat32);
  CHECK(std::count(given.begin(), given.end(), "device LayerNorm") == 0);
  CHECK(std::count(given.begin(), given.end(), "device ReduceMean") == 2);
  const Kernels empty = KernelsOn(LayerNorm("y = Mul (n, w)", {0, 5, 16}), DType::kFloat32);
  CHECK(std::count(empty.begin(), empty.end(), "device LayerNorm") == 0);
}

TEST_CASE("device: RMSNorm between casts reads and stores 16 bits") {
  for (const DType dtype : {DType::kFloat16, DType::kBfloat16}) {
    const FuseCase each = {
        .graph = absl::StrCat("(T[n,l,16] x) => (T[] y) <float eps = {0.001}, float two = {2}> { ",
                              "h = Cast <to = 1> (x) q = Pow (h, two) v = ReduceMean <axes = [-1]> (q) ",
                              "e = Add (v, eps) i = Sqrt (e) n = Div (h, i) y = Cast <to = ", static_cast<int>(dtype),
                              "> (n) }"),
        .tensors = {{"x", {3, 5, 16}}},
        .opset = 17};
    CHECK(KernelsOn(each, dtype) == Kernels{"device RMSNorm"});
  }
}

TEST_CASE("device: a cast that widens joins the reduction behind it") {
  for (const DType dtype : {DType::kFloat16, DType::kBfloat16}) {
    const auto reduced = [&](const std::string& nodes, const std::string& outputs = "float[] y") {
      return KernelsOn({.graph = absl::StrCat("(T[300,16] x) => (", outputs,
                                              ") <int64[1] first = {0}> { h = Cast <to = 1> (x) ", nodes, " }"),
                        .tensors = {{"x", {300, 16}}}},
                       dtype);
    };
    CHECK(reduced("y = ReduceSum <keepdims = 0> (h, first)") == Kernels{"device ReduceSum"});
    CHECK(reduced("y = ReduceMax (h)") == Kernels{"device ReduceMax"});
    CHECK(reduced("y = ReduceSum (h, first) z = Neg (h)", "float[] y, float[] z") ==
          Kernels{"device Cast", "device ReduceSum", "device Neg"});
  }
}

TEST_CASE("device: InstanceNorm and GroupNorm written out") {
  const std::string norm =
      "m = ReduceMean <axes = [2, 3]> (x) d = Sub (x, m) q = Mul (d, d) v = ReduceMean <axes = [2, 3]> (q) "
      "e = Add (v, eps) i = Sqrt (e) n = Div (d, i) s1 = Mul (n, w) y = Add (s1, b)";
  for (const DType dtype : kLoopFloats) {
    CHECK(KernelsOn({.graph = "(T[2,6,4,5] x) => (T[] y) <T eps = {0.001}> { " + norm + " }",
                     .tensors = {{"x", {2, 6, 4, 5}}, {"w", {6, 1, 1}}, {"b", {6, 1, 1}}},
                     .opset = 17},
                    dtype) == Kernels{"device InstanceNorm"});
  }
  const FuseCase group = {.graph =
                              "(float[2,6,4,5] x) => (float[] y) <int64[3] to = {0, 2, -1}, float[2] one = {1, 1}, "
                              "float[2] zero = {0, 0}> { g = Reshape (x, to) n = InstanceNormalization (g, one, "
                              "zero) z = Shape (x) f = Reshape (n, z) s1 = Mul (f, w) y = Add (s1, b) }",
                          .tensors = {{"x", {2, 6, 4, 5}}, {"w", {6, 1, 1}}, {"b", {6, 1, 1}}},
                          .opset = 17};
  CHECK(KernelsOn(group, DType::kFloat32) == Kernels{"device GroupNorm"});
}

TEST_CASE("device: softmax and its logarithm written out") {
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
      CHECK(KernelsOn(written_out("y = Div (e, t)"), dtype) == Kernels{"device Softmax"});
      CHECK(KernelsOn(written_out("g = Log (t) y = Sub (d, g)"), dtype) == Kernels{"device LogSoftmax"});
    }
  }
}

}  // namespace
}  // namespace amp
