// Attention by blocks of rows: what is written out gives what its nodes give, and ai.onnx's operator what the reference
// gives.
#include "absl/strings/str_replace.h"
#include "runtime/reference/reference_kernels.h"
#include "tests/catch2.h"
#include "tests/runtime/fused_case.h"

namespace amp {
namespace {

std::string Fused(const FuseCase& each, DType dtype = DType::kFloat32) {
  SessionOptions options;
  options.fuse_chains = options.fuse_epilogues = options.fuse_norms = false;
  std::string threads = ThreadsDiffer(TextOf(each, dtype), options, InputsOf(each, dtype));
  if (!threads.empty()) return threads;
  return FusedWith(options, each, dtype, each.tolerance + 4 * LastPlace(dtype));
}

// Queries x, keys r and values s of [2, 3, ...].
FuseCase Attention(const std::string& nodes, int64_t queries = 5, int64_t keys = 7,
                   const std::vector<std::pair<std::string, Dims>>& more = {}) {
  FuseCase each = {
      .graph = "(T[b,h,l,8] x, T[b,h,n,8] r, T[b,h,n,6] s) => (T[] y) { t = Transpose <perm = [0, 1, 3, 2]> (r) " +
               nodes + " }",
      .tensors = {{"x", {2, 3, queries, 8}}, {"r", {2, 3, keys, 8}}, {"s", {2, 3, keys, 6}}, {"scale", {1}}},
      .tolerance = 1e-5,
      .opset = 17};
  each.tensors.insert(each.tensors.end(), more.begin(), more.end());
  return each;
}

TEST_CASE("scale, mask, softmax, in every type") {
  for (const DType dtype : kLoopFloats) {
    INFO(DTypeName(dtype));
    CHECK(Fused(Attention("a = MatMul (x, t) p = Softmax (a) y = MatMul (p, s)"), dtype) == "Attention");
    CHECK(Fused(Attention("a = MatMul (x, t) c = Mul (a, scale) p = Softmax (c) y = MatMul (p, s)"), dtype) ==
          "Attention");
    for (const Dims& mask : {Dims{5, 7}, {1, 1, 5, 7}, {2, 1, 1, 7}, {2, 3, 5, 7}, {7}, {5, 1}, {1}}) {
      INFO(DimsText(mask));
      CHECK(Fused(Attention("a = MatMul (x, t) c = Div (a, scale) d = Add (c, m) p = Softmax (d) y = MatMul (p, s)", 5,
                            7, {{"m", mask}}),
                  dtype) == "Attention");
    }
  }
}

TEST_CASE("more scores than a block has, and rows that do not divide") {
  for (const auto& [queries, keys] : {std::pair<int64_t, int64_t>{300, 401}, {70, 5000}, {1, 3000}, {129, 512}}) {
    INFO(queries << " " << keys);
    CHECK(Fused(Attention("a = MatMul (x, t) c = Mul (a, scale) p = Softmax (c) y = MatMul (p, s)", queries, keys)) ==
          "Attention");
  }
}

TEST_CASE("a few queries: masks, keys that lie transposed, sizes beside those of registers") {
  for (const DType dtype : kLoopFloats) {
    for (const int64_t queries : {1, 2, 4}) {
      for (const int64_t keys : {1, 7, 8, 130}) {
        INFO(DTypeName(dtype) << " " << queries << " " << keys);
        FuseCase masked =
            Attention("a = MatMul (x, t) c = Mul (a, scale) d = Add (c, m) p = Softmax (d) y = MatMul (p, s)", queries,
                      keys, {{"m", {queries, keys}}});
        if (dtype != DType::kFloat32) masked.tolerance = 0.05;  // one by one the nodes round scores to 16 bits
        CHECK(Fused(masked, dtype) == "Attention");
        CHECK(Fused({.graph = "(T[b,l,19] x, T[b,19,n] r, T[b,n,21] s) => (T[] y) { a = MatMul (x, r) "
                              "p = Softmax (a) y = MatMul (p, s) }",
                     .tensors = {{"x", {3, queries, 19}}, {"r", {3, 19, keys}}, {"s", {3, keys, 21}}},
                     .tolerance = dtype == DType::kFloat32 ? 1e-5 : 0.05,
                     .opset = 17},
                    dtype) == "Attention");
      }
    }
  }
}

TEST_CASE("threads that begin among the rows of a head") {
  for (const DType dtype : kLoopFloats) {
    INFO(DTypeName(dtype));
    CHECK(Fused({.graph = "(T[l,8] x, T[8,n] r, T[n,6] s) => (T[] y) { a = MatMul (x, r) p = Softmax (a) "
                          "y = MatMul (p, s) }",
                 .tensors = {{"x", {700, 8}}, {"r", {8, 401}}, {"s", {401, 6}}},
                 .opset = 17},
                dtype) == "Attention");
  }
}

TEST_CASE("masks that choose") {
  const std::string nodes =
      "z = Greater (m, zero) a = MatMul (x, t) d = Where (z, A) p = Softmax (d) y = MatMul (p, s)";
  for (const std::string choice : {"a, low", "low, a"}) {
    FuseCase each = Attention(absl::StrReplaceAll(nodes, {{"A", choice}}), 5, 7, {{"m", {1, 1, 5, 7}}});
    each.graph = absl::StrReplaceAll(each.graph, {{"(T[] y) {", "(T[] y) <float zero = {0}, float low = {-10000}> {"}});
    CHECK(Fused(each) == "Attention");
  }
}

TEST_CASE("a row without any key: NaN, or zeros where the model puts them") {
  const auto with = [&](const std::string& rest) {
    FuseCase each = Attention(
        "g = Log (nothing) z = Less (m, nothing) o = Where (z, g, nothing) a = MatMul (x, t) "
        "d = Add (a, o) p = Softmax (d) " +
            rest,
        5, 7, {{"m", {1, 1, 5, 1}}});
    each.graph = absl::StrReplaceAll(each.graph, {{"(T[] y) {", "(T[] y) <float nothing = {0}> {"}});
    return each;
  };
  CHECK(Fused(with("y = MatMul (p, s)")) == "Attention");
  CHECK(Fused(with("i = IsNaN (p) j = Where (i, nothing, p) y = MatMul (j, s)")) == "Attention");
}

TEST_CASE("transpositions around it are read and written as strides") {
  for (const DType dtype : kLoopFloats) {
    const FuseCase each = {
        .graph =
            "(T[b,l,3,8] x, T[b,n,3,8] r, T[b,n,3,6] s) => (T[] y) { q = Transpose <perm = [0, 2, 1, 3]> (x) "
            "k = Transpose <perm = [0, 2, 3, 1]> (r) v = Transpose <perm = [0, 2, 1, 3]> (s) a = MatMul (q, k) "
            "p = Softmax (a) o = MatMul (p, v) y = Transpose <perm = [0, 2, 1, 3]> (o) }",
        .tensors = {{"x", {2, 5, 3, 8}}, {"r", {2, 7, 3, 8}}, {"s", {2, 7, 3, 6}}},
        .opset = 17};
    CHECK(Fused(each, dtype) == "Attention");
    FuseCase kept = each;  // the values are read twice
    kept.graph = absl::StrReplaceAll(each.graph, {{"(T[] y)", "(T[] y, T[] v)"}});
    CHECK(Fused(kept, dtype) == "Transpose Attention");
  }
}

TEST_CASE("one matrix, three dimensions, one head of keys for all") {
  CHECK(Fused({.graph =
                   "(T[l,8] x, T[8,n] r, T[n,6] s) => (T[] y) { a = MatMul (x, r) p = Softmax (a) y = MatMul (p, s) }",
               .tensors = {{"x", {5, 8}}, {"r", {8, 7}}, {"s", {7, 6}}},
               .opset = 17}) == "Attention");
  CHECK(Fused({.graph = "(T[h,l,8] x, T[h,8,n] r, T[h,n,6] s) => (T[] y) { a = MatMul (x, r) b = Add (a, m) "
                        "p = Softmax (b) y = MatMul (p, s) }",
               .tensors = {{"x", {4, 5, 8}}, {"r", {4, 8, 7}}, {"s", {4, 7, 6}}, {"m", {4, 1, 7}}},
               .opset = 17}) == "Attention");
  CHECK(Fused({.graph = "(T[2,h,l,8] x, T[2,1,8,n] r, T[2,1,n,6] s) => (T[] y) { a = MatMul (x, r) p = Softmax (a) "
                        "y = MatMul (p, s) }",
               .tensors = {{"x", {2, 4, 5, 8}}, {"r", {2, 1, 8, 7}}, {"s", {2, 1, 7, 6}}},
               .opset = 17}) == "Attention");
}

TEST_CASE("what others read, and another axis, is not inside") {
  FuseCase given = Attention("a = MatMul (x, t) p = Softmax (a) y = MatMul (p, s)");
  given.graph = absl::StrReplaceAll(given.graph, {{"(T[] y)", "(T[] y, T[] p)"}});
  CHECK(Fused(given) == "Transpose MatMul Softmax MatMul");
  CHECK(Fused(Attention("a = MatMul (x, t) p = Softmax <axis = 2> (a) y = MatMul (p, s)")) ==
        "Transpose MatMul Softmax MatMul");
}

TEST_CASE("shapes that do not suit: its nodes run one by one") {
  // The mask makes the scores larger.
  CHECK(Fused(Attention("a = MatMul (x, t) d = Add (a, m) p = Softmax (d) y = MatMul (p, s)", 1, 7,
                        {{"m", {2, 3, 5, 7}}})) == "Transpose MatMul Add Softmax MatMul");
  CHECK(Fused(Attention("a = MatMul (x, t) p = Softmax (a) y = MatMul (p, s)", 0, 7)) ==
        "Transpose MatMul Softmax MatMul");
  CHECK(Fused({.graph = "(T[2,l,8] x, T[3,2,8,n] r, T[3,2,n,6] s) => (T[] y) { a = MatMul (x, r) p = Softmax (a) "
                        "y = MatMul (p, s) }",
               .tensors = {{"x", {2, 5, 8}}, {"r", {3, 2, 8, 7}}, {"s", {3, 2, 7, 6}}},
               .opset = 17}) == "MatMul Softmax MatMul");
}

// ---- the operator

struct OperatorCase {
  std::string node;  // of inputs q, k, v, m
  std::string inputs;
  std::vector<std::pair<std::string, Dims>> tensors;
  std::string outputs = "T[] y";
};

// The family that ran, or how it differs from the reference.
std::string Run(const OperatorCase& each, DType dtype, bool has_truth_mask = false) {
  const std::string type = FuseTypeName(dtype);
  const auto typed = [&](const std::string& text) { return absl::StrReplaceAll(text, {{"T[", type + "["}}); };
  const SessionText text = {.text = "<ir_version: 10, opset_import: [\"\" : 24]> g (" + typed(each.inputs) + ") => (" +
                                    typed(each.outputs) + ") { " + each.node + " }",
                            .constants = {}};
  NamedDatums inputs;
  for (const auto& [name, dims] : each.tensors) {
    const bool is_truth = name == "m" && has_truth_mask;
    inputs[name] = Datum(RandomTensor(is_truth ? DType::kBool : dtype, dims, Values::kPlain, 1));
  }
  SessionOptions by_reference;
  by_reference.find_kernels = FindReferenceKernels;
  const auto fast = MakeSession(text), plain = MakeSession(text, by_reference);
  const std::string difference =
      DifferenceOf(RunSession(*fast, inputs), RunSession(*plain, inputs), 1e-5 + 4 * LastPlace(dtype));
  return difference.empty() ? KernelsOf(*fast)[0] : difference;
}

TEST_CASE("Attention of ai.onnx") {
  const std::string heads = "T[2,6,5,8] q, T[2,3,7,8] k, T[2,3,7,4] v";
  const std::vector<std::pair<std::string, Dims>> qkv = {{"q", {2, 6, 5, 8}}, {"k", {2, 3, 7, 8}}, {"v", {2, 3, 7, 4}}};
  auto with_mask = qkv;
  with_mask.emplace_back("m", Dims{5, 7});
  for (const DType dtype : kLoopFloats) {
    INFO(DTypeName(dtype));
    CHECK(Run({"y = Attention (q, k, v)", heads, qkv}, dtype) == "onednn Attention");
    CHECK(Run({"y = Attention <is_causal = 1, scale = 0.3, softcap = 2.0> (q, k, v)", heads, qkv}, dtype) ==
          "onednn Attention");
    CHECK(Run({"y = Attention (q, k, v, m)", heads + ", T[5,7] m", with_mask}, dtype) == "onednn Attention");
    CHECK(Run({"y = Attention <is_causal = 1> (q, k, v, m)", heads + ", bool[5,7] m", with_mask}, dtype, true) ==
          "onednn Attention");
  }
  CHECK(Run({"y = Attention <q_num_heads = 6, kv_num_heads = 3> (q, k, v)",
             "T[2,5,48] q, T[2,7,24] k, T[2,7,12] v",
             {{"q", {2, 5, 48}}, {"k", {2, 7, 24}}, {"v", {2, 7, 12}}}},
            DType::kFloat32) == "onednn Attention");
}

TEST_CASE("a step of a decoder: a query or two behind a past, heads that share keys") {
  for (const int64_t queries : {1, 2}) {
    const OperatorCase step = {
        "y, pk, pv = Attention <q_num_heads = 6, kv_num_heads = 3, is_causal = 1, scale = 0.3, softcap = 2.0> "
        "(q, k, v, , a, b)",
        "T[2,l,48] q, T[2,l,24] k, T[2,l,12] v, T[2,3,9,8] a, T[2,3,9,4] b",
        {{"q", {2, queries, 48}},
         {"k", {2, queries, 24}},
         {"v", {2, queries, 12}},
         {"a", {2, 3, 9, 8}},
         {"b", {2, 3, 9, 4}}},
        "T[] y, T[] pk, T[] pv"};
    for (const DType dtype : kLoopFloats) CHECK(Run(step, dtype) == "few-rows Attention");
  }
  const OperatorCase heads = {"y = Attention (q, k, v, m)",
                              "T[2,6,2,8] q, T[2,3,7,8] k, T[2,3,7,4] v, bool[2,7] m",
                              {{"q", {2, 6, 2, 8}}, {"k", {2, 3, 7, 8}}, {"v", {2, 3, 7, 4}}, {"m", {2, 7}}}};
  for (const DType dtype : kLoopFloats) CHECK(Run(heads, dtype, true) == "few-rows Attention");
}

TEST_CASE("Attention of ai.onnx with a past, and what it leaves to the reference") {
  const OperatorCase past = {
      "y, pk, pv = Attention <q_num_heads = 6, kv_num_heads = 3, is_causal = 1> (q, k, v, , a, b)",
      "T[2,5,48] q, T[2,5,24] k, T[2,5,12] v, T[2,3,4,8] a, T[2,3,4,4] b",
      {{"q", {2, 5, 48}}, {"k", {2, 5, 24}}, {"v", {2, 5, 12}}, {"a", {2, 3, 4, 8}}, {"b", {2, 3, 4, 4}}},
      "T[] y, T[] pk, T[] pv"};
  for (const DType dtype : kLoopFloats) CHECK(Run(past, dtype) == "onednn Attention");
  OperatorCase shown = past;
  shown.node = absl::StrReplaceAll(past.node, {{"pv = ", "pv, qk = "}});
  shown.outputs += ", T[] qk";
  CHECK(Run(shown, DType::kFloat32) == "reference Attention");
}

}  // namespace
}  // namespace amp
