// Hints about sizes and opsets in the report.
#include "absl/strings/str_cat.h"
#include "tests/catch2.h"
#include "tests/passes/report/report_of.h"
#include "tests/tool_run.h"

namespace amp {
namespace {

std::vector<std::string> AdviceOn(const std::string& graph, const std::vector<std::string>& flags = {},
                                  int opset = 17) {
  return ReportOf(absl::StrCat("<ir_version: 8, opset_import: [\"\" : ", opset, "]> ", graph), flags)["advice"];
}

using Lines = std::vector<std::string>;

constexpr char kWaste[] =
    " low matrix operators have sizes that waste Tensor Cores (neither a multiple of 8 nor, under 256, a power of "
    "two): ";

TEST_CASE("sizes that fit: multiples of 8, and powers of two") {
  CHECK(AdviceOn("g (float[1,768] x, float[768,4] w) => (float[1,4] y) { y = MatMul (x, w) }") == Lines{});
  CHECK(AdviceOn("g (float[2,24] x, float[24,3000] w) => (float[2,3000] y) { y = MatMul (x, w) }") == Lines{});
}

TEST_CASE("sizes of a product that do not fit") {
  CHECK(AdviceOn("g (float[8,768] x, float[768,30522] w) => (float[8,30522] y) { [head] y = MatMul (x, w) }") ==
        Lines{absl::StrCat("1 of 1", kWaste, "N = 30522 in head, padded to 30528")});
  CHECK(AdviceOn("g (float[5,12] x, float[12,16] w) => (float[5,16] y) { [mm] y = MatMul (x, w) }") ==
        Lines{absl::StrCat("1 of 1", kWaste, "M = 5 in mm, padded to 8; K = 12 in mm, padded to 16")});
}

TEST_CASE("a size that cannot be padded is no advice") {
  const auto advice_on = [](const std::string& columns) {
    return AdviceOn("g (float[8,8] x, float[8," + columns + "] w) => (float[8,N] y) { [mm] y = MatMul (x, w) }");
  };
  CHECK(advice_on("9223372036854775807") == Lines{});
  CHECK(advice_on("9223372036854775799") ==
        Lines{absl::StrCat("1 of 1", kWaste, "N = 9223372036854775799 in mm, padded to 9223372036854775800")});
}

TEST_CASE("transposed operands, and vectors") {
  CHECK(AdviceOn(
            "g (float[9,8] x, float[16,9] w) => (float[8,16] y) { [gm] y = Gemm <transA = 1, transB = 1> (x, w) }") ==
        Lines{absl::StrCat("1 of 1", kWaste, "K = 9 in gm, padded to 16")});
  CHECK(AdviceOn("g (float[9] x, float[9,8] w) => (float[8] y) { [mv] y = MatMul (x, w) }") ==
        Lines{absl::StrCat("1 of 1", kWaste, "K = 9 in mv, padded to 16")});
  CHECK(AdviceOn("g (float[8,9] x, float[9] w) => (float[8] y) { [mv] y = MatMul (x, w) }") ==
        Lines{absl::StrCat("1 of 1", kWaste, "K = 9 in mv, padded to 16")});
}

TEST_CASE("channels of convolutions, per group") {
  CHECK(AdviceOn("g (float[1,3,8,8] x, float[16,3,3,3] w) => (float[1,16,6,6] y) { [stem] y = Conv (x, w) }") ==
        Lines{absl::StrCat("1 of 1", kWaste, "input channels = 3 in stem, padded to 8")});
  CHECK(AdviceOn("g (float[1,24,8,8] x, float[24,1,3,3] w) => (float[1,24,6,6] y) { y = Conv <group = 24> (x, w) }") ==
        Lines{});
  CHECK(
      AdviceOn("g (float[1,16,8,8] x, float[16,5,3,3] w) => (float[1,5,10,10] y) { [up] y = ConvTranspose (x, w) }") ==
      Lines{absl::StrCat("1 of 1", kWaste, "output channels = 5 in up, padded to 8")});
}

TEST_CASE("equal misfits are one entry; the worst come first; the rest is counted") {
  CHECK(AdviceOn(R"(g (float[8,1001] x, float[1001,1001] w) => (float[8,1001] y) {
          [a] p = MatMul (x, w) [b] y = MatMul (p, w) })") ==
        Lines{absl::StrCat(
            "2 of 2", kWaste,
            "N = 1001 in 2 MatMul (a, ...), padded to 1008; K = 1001 in 2 MatMul (a, ...), padded to 1008")});
  CHECK(AdviceOn(R"(g (float[8,1001] x, float[1001,9] w, float[9,33] v, float[33,8] u) => (float[8,8] y) {
          [a] p = MatMul (x, w) [b] q = MatMul (p, v) [c] y = MatMul (q, u) })") ==
        Lines{absl::StrCat(
            "3 of 3", kWaste,
            "N = 9 in a, padded to 16; K = 9 in b, padded to 16; N = 33 in b, padded to 40; and 2 more sizes")});
}

TEST_CASE("nothing about what is float32, unknown, or for a device without Tensor Cores") {
  const std::string odd = "g (float[8,9] x, float[9,8] w) => (float[8,8] y) { [mm] y = MatMul (x, w) }";
  CHECK(AdviceOn(odd).size() == 1);
  CHECK(AdviceOn(odd, {"--target", "cuda:8.0"}).size() == 1);
  CHECK(AdviceOn(odd, {"--deny-node", "mm"}) == Lines{});
  CHECK(AdviceOn(odd, {"--target", "cpu:amx", "--dtype", "bfloat16"}) == Lines{});
  CHECK(AdviceOn("g (float[b,t] x, float[t,c] w) => (float[b,c] y) { y = MatMul (x, w) }") == Lines{});
}

TEST_CASE("hints are for reports: they are not printed by every run") {
  const ToolFolder model(R"(<ir_version: 8, opset_import: ["" : 17]>
        g (float[8,9] x, float[9,8] w) => (float[8,8] y) { [mm] y = MatMul (x, w) })");
  CHECK(model.RunTool({"--dry-run"}).err.empty());
  CHECK(model.RunTool({"--dry-run", "--explain"}).out.find("advice: 1 of 1 low") != std::string::npos);
}

TEST_CASE("advice is said once: in the table, or on stderr where there is none") {
  const ToolFolder model(R"(<ir_version: 8, opset_import: ["" : 17]>
        g (float[2,2] x, float[2,2] w = {1, 2, 3, 4}) => (float[2,2] y) { y = MatMul (x, w) })");
  const std::string advice = "advice: weights that a caller may override are cast at run time: w;";
  const ToolOutput brief = model.RunTool({"--dry-run"});
  CHECK(brief.out.find(advice) == std::string::npos);
  CHECK(brief.err.find(advice) != std::string::npos);
  const ToolOutput explained = model.RunTool({"--dry-run", "--explain"});
  CHECK(explained.out.find(advice) != std::string::npos);
  CHECK(explained.err.empty());
}

TEST_CASE("an opset that cannot be reached is no advice, only the reason") {
  const std::string einsum = R"(g (float[2,2] x) => (float[2,2] y) {
    a = MatMul (x, x) [e] y = Einsum <equation = "ij,jk->ik"> (a, a) })";
  CHECK(AdviceOn(einsum, {"--dtype", "bfloat16"}) ==
        Lines{"1 Einsum node stays float32: ONNX allows bfloat16 there from opset 28 on, and this program lifts to 25 "
              "at most"});
  CHECK(AdviceOn(R"(g (float[2,2] x, float[2] s) => (float[2,2] y) {
    a = MatMul (x, x) c = Relu (a) [rn] d = RMSNormalization (c, s) [b] y = Mul (d, d) })",
                 {"--dtype", "bfloat16", "--opset", "keep"},
                 12) == Lines{"3 nodes (MatMul, Mul, Relu) stay float32: ONNX allows bfloat16 there from opset 13 on, "
                              "and node 'rn': ONNX has no "
                              "RMSNormalization before opset 23 and the model imports 12, so it cannot be lifted"});
}

TEST_CASE("what a newer opset would gain") {
  const std::string graph = R"(g (float[1,8,8,8] x, float[8,8,1,1] w) => (float[1,8,8,8] y) {
    a = Conv (x, w) b = MatMul (a, a) c = Conv (b, w) y = MaxPool <kernel_shape = [1, 1]> (c) })";
  CHECK(AdviceOn(graph, {"--dtype", "bfloat16", "--opset", "keep"}) ==
        Lines{"opset 22 would let 3 more nodes run in bfloat16: Conv, MaxPool"});
  CHECK(AdviceOn(graph, {"--dtype", "bfloat16"}) == Lines{});
  CHECK(AdviceOn(graph) == Lines{});
}

TEST_CASE("norms that are written out because their operator is newer than the opset") {
  const auto norms = [](const std::string& behind) {
    return absl::StrCat(R"(g (float[8,8] x, float[8,8] w) => (float[8,8] y) <float two = {2}, float eps = {0.01}> {
      a = MatMul (x, w) q = Pow (a, two) m = ReduceMean <axes = [-1]> (q) e = Add (m, eps) s = Sqrt (e) d = Div (a, s) )",
                        behind, "}");
  };
  const std::string beside_low = norms("y = MatMul (d, w)");
  CHECK(AdviceOn(beside_low) ==
        Lines{"opset 23 has RMSNormalization, with float32 inside and float16 around, for 1 norm that is written out"});
  CHECK(AdviceOn(beside_low, {"--opset", "23"}) == Lines{});
  CHECK(AdviceOn(beside_low, {"--keep-decomposed"}) == Lines{});
  CHECK(AdviceOn(beside_low, {"--deny", "MatMul"}) == Lines{});
  CHECK(AdviceOn(norms("o = Neg (s) z = Add (d, o) y = MatMul (z, w)")) == Lines{});  // a second reader: it is none
}

}  // namespace
}  // namespace amp
