// Messages of a run on stderr besides errors: advice and warnings about the result.
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "tests/catch2.h"
#include "tests/tool_run.h"

namespace amp {
namespace {

// stderr of a run on a model of opset 17, without the program's and the model's name.
std::string Said(const std::string& graph, std::vector<std::string> flags = {}) {
  flags.emplace_back("--verify=off");  // whose warnings are the subject of another test
  const ToolRun run(flags, absl::StrCat("<ir_version: 8, opset_import: [\"\" : 17]> ", graph));
  INFO(run.output.err);
  REQUIRE(run.output.exit_code == 0);
  return absl::StrReplaceAll(run.output.err, {{"amp-rewrite: ", ""}, {run.in + ": ", ""}});
}

TEST_CASE("weights that grew: the readers that keep an original are named") {
  CHECK(Said(R"(g (float[2,2] x) => (float[2,2] y, float[2,2] a, float[2,2] b, float[2,2] c, int64[2] s)
      <float[2,2] w = {1, 2, 3, 4}> {
    y = MatMul (x, w)
    [e1] a = Exp (w)
    [e2] b = Exp (w)
    c = Exp (w)
    s = Shape (w)
  })") == "advice: the weights grew: float32 originals stay for readers that are float32: e1, e2, Exp#0\n");
  CHECK(Said(R"(g (float[2,2] x) => (float[2,2] y, float[2,2] w) {
    w = Constant <value = float[2,2] {1, 2, 3, 4}> ()
    y = MatMul (x, w)
  })") == "advice: the weights grew: float32 originals stay for readers that are float32: (output w)\n");
}

TEST_CASE("weights that grew by what was made of a norm have no reader to name") {
  CHECK(Said(R"(g (float[8,8] x, float[8,8] w) => (float[8,8] y) <float eps = {0.01}> {
    a = MatMul (x, w)
    m = ReduceMean <axes = [-1]> (a)
    c = Sub (a, m)
    q = Mul (c, c)
    v = ReduceMean <axes = [-1]> (q)
    e = Add (v, eps)
    s = Sqrt (e)
    d = Div (c, s)
    y = MatMul (d, w)
  })")
            .empty());
}

constexpr char kDeniedEnds[] = R"(g (float[2,2] x, float[2,2] u) => (float[2,2] y, float[2,2] z, float[2,2] e) {
    [mm] y = MatMul (x, x)
    [sm] z = Softmax (y)
    [ex] e = Exp (u)
  })";

constexpr char kHuge[] =
    R"(g (float[2,2] x) => (float[2,2] y) <float huge = {-1000000.0}, float[2] row = {70000.0, 1.0}> {
    a = MatMul (x, x)
    [mul] b = Mul (a, huge)
    [add] c = Add (b, row)
    y = MatMul (c, c)
  })";

TEST_CASE("a constant that becomes infinite is a warning that names it, its value and the nodes") {
  const std::string huge =
      "warning: constant 'huge' reaches a magnitude of 1e+06, beyond float16's largest 65504 (1 of 1 elements "
      "overflow): infinite for mul (Mul)\n";
  const std::string row =
      "warning: constant 'row' reaches a magnitude of 70000, beyond float16's largest 65504 (1 of 2 elements "
      "overflow): infinite for add (Add)\n";
  CHECK(Said(kHuge).empty());
  CHECK(Said(kHuge, {"--dtype", "bfloat16", "--guards", "none"}).empty());
  CHECK(Said(kHuge, {"--guards", "none"}) == huge + row);
  CHECK(Said(kHuge, {"--guards", "none", "--weights", "cast"}) == huge + row);
  CHECK(Said(kHuge, {"--allow-node", "mul"}) == huge);
  CHECK(absl::StartsWith(Said(kHuge, {"--level", "unsafe-force-all"}), huge + row));
}

TEST_CASE("an operand in an attribute that becomes infinite is a warning, a saturated bound is none") {
  CHECK(Said(R"(g (float[2,2] x, int64[2] s) => (float[2,2] y) {
      [fill] f = ConstantOfShape <value = float[1] {100000.0}> (s)
      y = MatMul (x, f)
    })",
             {"--guards", "none"}) ==
        "warning: constant 'f' reaches a magnitude of 100000, beyond float16's largest 65504 (1 of 1 elements "
        "overflow): infinite for fill (ConstantOfShape)\n");
  CHECK(Said(R"(g (float[2,2] x) => (float[2,2] y) <float bound = {1000000.0}> {
      a = MatMul (x, x)
      y = Clip (a, , bound)
    })",
             {"--guards", "none"})
            .empty());
}

TEST_CASE("released inputs and outputs that stay float32 are named, with the operator") {
  const std::string advice =
      "advice: graph outputs that may be float16 stay float32: z (given by sm, Softmax: denied), e (given by ex, Exp: "
      "denied); --explain has the reasons\n"
      "advice: graph inputs that may be float16 stay float32: u (read by ex, Exp: denied); --explain has the reasons\n";
  CHECK(Said(kDeniedEnds, {"--profile", "tf-1.15", "--keep-io", "none"}) == advice);
  CHECK(Said(kDeniedEnds, {"--profile", "tf-1.15", "--policy", "float16"}) == advice);
  CHECK(Said(kDeniedEnds, {"--keep-io", "z,e,u"}).empty());
  CHECK(Said(kDeniedEnds).empty());
  CHECK(Said("g (float[2,2] x, float[2,2] unread) => (float[2,2] y) { y = MatMul (x, x) }", {"--keep-io", "none"})
            .empty());
}

TEST_CASE("the reason is that of the output, where the node has others that are low") {
  CHECK(
      Said(R"(g (float[2,2] x, bool c) => (float[2,2] y, float[2,2] z) {
      a = MatMul (x, x)
      [if] p, z = If (c) <then_branch = yes () => (float[2,2] p1, float[2,2] q1) { p1 = Relu (a) [sm] q1 = Softmax (x) },
                          else_branch = no () => (float[2,2] p2, float[2,2] q2) { p2 = Relu (a) q2 = Softmax (x) }>
      y = MatMul (p, p)
    })",
           {"--profile", "tf-1.15", "--keep-io", "none"}) ==
      "advice: graph outputs that may be float16 stay float32: z (given by if, If: no-allowed-path); --explain has the "
      "reasons\n");
}

TEST_CASE("an output that no node gives, or a constant one, stays float32 by its nature") {
  CHECK(Said(R"(g (float[2,2] x, float[2,2] through) => (float[2,2] y, float[2,2] through, float[2,2] w)
      <float[2,2] w = {1, 2, 3, 4}> { y = MatMul (x, x) })",
             {"--keep-io", "none"}) ==
        "advice: graph outputs that may be float16 stay float32: through (given by no node), w (given by no node); "
        "--explain has the reasons\n");
}

TEST_CASE("a warning is said once, however often types are inferred") {
  const std::string misfit = R"(g (float[2,2] x, float[3] v) => (float[2,2] y, float[n] z) {
    [odd] z = Concat <axis = 5> (v, v)
    y = MatMul (x, x)
  })";
  const std::string said = Said(misfit);
  CHECK(absl::StartsWith(said,
                         "warning: node 'odd' (Concat): shape inference: its inputs (float32[3], float32[3]) or "
                         "attributes do not fit the operator\n"));
  CHECK(Said(misfit, {"--opset", "22"}) == said);
  CHECK(Said(misfit, {"--dtype", "bfloat16", "--opset", "22"}) == said);
}

TEST_CASE("no weight grows for readers of its shape alone") {
  CHECK(Said(R"(g (float[2,2] x) => (float[2,2] y, int64[2] s) <float[2,2] w = {1, 2, 3, 4}> {
    y = MatMul (x, w)
    s = Shape (w)
  })")
            .empty());
}

TEST_CASE("a model that was laid out for one processor gets a warning with what to give instead") {
  const ToolRun run({}, R"(<ir_version: 8, opset_import: ["" : 17, "com.microsoft.nchwc" : 1]>
    g (float[1,8,2,2] x) => (float[1,8,2,2] y) {
      [enter] b = com.microsoft.nchwc.ReorderInput (x)
      y = com.microsoft.nchwc.ReorderOutput <channels = 8> (b)
    })");
  CHECK(run.output.exit_code == 0);
  CHECK(absl::StrContains(run.output.err,
                          ": 2 nodes of com.microsoft.nchwc, 'enter' first: ONNX Runtime laid the model out for one "
                          "processor (ORT_ENABLE_ALL); give it as it was before, or saved with ORT_ENABLE_EXTENDED"));
}

}  // namespace
}  // namespace amp
