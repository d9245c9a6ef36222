// The sentences and the layout of --explain.
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "passes/report/report.h"
#include "tests/catch2.h"
#include "tests/passes/report/report_of.h"
#include "tests/tool_run.h"

namespace amp {
namespace {

using Json = nlohmann::ordered_json;
using Flags = std::vector<std::string>;

std::string WithHead(const std::string& graph) {
  return absl::StrCat("<ir_version: 8, opset_import: [\"\" : 17]> ", graph);
}

Json ReportOfGraph(const std::string& graph, const Flags& flags = {}) { return ReportOf(WithHead(graph), flags); }

// "kind: sentence", without the place in the list.
std::string Because(const Json& report, const std::string& path) {
  for (const Json& node : report["nodes"]) {
    if (node["path"] != path) continue;
    const std::string sentence = node["because"];
    return absl::StrCat(node["reason"].get<std::string>(), ": ", sentence.substr(0, sentence.find(" (tf-1.15-")));
  }
  return "";
}

constexpr char kAllClasses[] = R"(g (float[2,2] x) => (float[2,2] y) {
    [mm] a = MatMul (x, x)
    [add] b = Add (a, a)
    [relu] c = Relu (b)
    [exp] d = Exp (c)
    [last] y = MatMul (d, d)
  })";

TEST_CASE("what is not between two allowed operators names where the way is cut, on the side that lacks one") {
  const Json report =
      ReportOfGraph(R"(g (float[2,2] x, float[2,2] u) => (float[2,2] y, float[2,2] end, float[2,2] alone) {
    [first] a = Add (u, u)
    [mm] b = MatMul (a, x)
    [behind] c = Mul (b, b)
    [clear] d = Relu (c)
    [exp] e = Exp (d)
    [ahead] f = Mul (e, e)
    [last] y = MatMul (f, f)
    [ends] end = Sub (b, b)
    [odd] o = Sin (u)
    [after] alone = Mul (o, o)
  })",
                    {"--guards", "none", "--profile", "tf-1.15"});
  CHECK(Because(report, "first") == "no-allowed-path: infer: no path from an allowed operator");
  CHECK(Because(report, "behind") ==
        "no-allowed-path: infer: no allowed operator behind it before exp, which is denied");
  CHECK(Because(report, "ahead") == "denied-by-path: downstream of a denied operator: exp");
  CHECK(Because(report, "ends") == "no-allowed-path: infer: no path to an allowed operator");
  CHECK(Because(report, "after") ==
        "no-allowed-path: infer: no allowed operator ahead of it after odd, which is on no list");
}

TEST_CASE("what a cut places says what the other type would cost") {
  const char* const text = R"(g (float[1000,8] x, float[8,8] w) => (float[1,8] y)
    <int64[1] zero = {0}, int64[1] one = {1}> {
    [slice] a = Slice (x, zero, one, zero)
    [mm] b = MatMul (a, w)
    [tanh] y = Tanh (b)
  })";
  const Json report = ReportOfGraph(text, {"--placement", "cut"});
  CHECK(Because(report, "slice") == "costs-traffic: float16 would move 47.9 kB more, casts included");
  CHECK(Because(report, "tanh") == "saves-traffic: float32 would move 32 B more, casts included");
  const std::string unknown = absl::StrReplaceAll(text, {{"1000", "N"}});
  CHECK(Because(ReportOfGraph(unknown, {"--placement", "cut"}), "tanh") ==
        "saves-traffic: float32 would move about 1.0 kB more, casts included (some sizes are guessed)");
}

TEST_CASE("what is downstream of a guarded operator does not call it denied") {
  const Json report = ReportOfGraph(R"(g (float[2,2] x) => (float[2,2] y) <float tiny = {1e-12}> {
    [mm] a = MatMul (x, x)
    [guarded] b = Add (a, tiny)
    [relu] c = Relu (b)
    [mul] d = Mul (c, c)
    y = MatMul (d, d)
  })");
  CHECK(absl::StartsWith(Because(report, "guarded"), "guard: "));
  CHECK(Because(report, "relu") == "denied-by-path: downstream of guarded, which a guard keeps float32");
}

TEST_CASE("a level that keeps a node float32 is the reason, not the list that it overrules") {
  const Json denied = ReportOfGraph(kAllClasses, {"--level", "treat-infer-as-deny"});
  CHECK(Because(denied, "add") == "level: --level treat-infer-as-deny takes class infer for deny");
  CHECK(absl::StartsWith(Because(denied, "exp"), "denied: denied: "));
  const Json alone = ReportOfGraph(kAllClasses, {"--level", "tensor-cores-only"});
  CHECK(Because(alone, "add") == "level: --level tensor-cores-only converts class allow alone; this is infer");
  CHECK(Because(alone, "relu") == "level: --level tensor-cores-only converts class allow alone; this is clear");
  CHECK(Because(alone, "exp") == "level: --level tensor-cores-only converts class allow alone; this is deny");
  CHECK(alone["totals"]["by_reason"] == Json::parse(R"({"level": 3, "seeded": 2})"));
}

TEST_CASE("casts and constants have a class and a reason of their own") {
  const std::string graph = R"(g (float[2,2] x, int64[2,2] i) => (float[2,2] y, int64[2,2] z, float[2,2] s) {
    [three] k = Constant <value_int = 3> ()
    [half] h = Constant <value_float = 0.5> ()
    [joins] f = Cast <to = 1> (i)
    a = MatMul (x, f)
    y = Mul (a, h)
    [stays] z = Cast <to = 7> (x)
    [odd] s = Sin (x)
  })";
  const Json report = ReportOfGraph(graph, {"--guards", "none"});
  std::vector<std::string> classes;
  for (const Json& node : report["nodes"]) classes.push_back(node["class"]);
  CHECK(classes == Flags{"constant", "constant", "cast", "allow", "infer", "cast", "unlisted"});
  CHECK(Because(report, "three") == "constant: a constant without float32");
  CHECK(Because(report, "half") == "constant: a constant: low readers get it in float16");
  CHECK(Because(report, "joins") == "cast-joins: every reader of this cast is low");
  CHECK(Because(report, "stays") == "cast: the model's own cast: stays as it is");
  CHECK(Because(report, "odd") == "unlisted: on no list: stays float32 and stops every propagation");
  CHECK(Because(ReportOfGraph(graph, {"--deny", "Cast"}), "stays") ==
        "denied: denied: given on the command line (--deny)");
}

TEST_CASE("a model that a rewrite gave the other 16-bit type says how to change it") {
  const ToolRun mixed({}, WithHead("g (float[2,2] x) => (float[2,2] y) { y = MatMul (x, x) }"));
  REQUIRE(mixed.output.exit_code == 0);
  const auto last_words = [&](Flags flags) {
    flags.push_back("--dry-run");
    return mixed.RunTool("out.onnx", "none.onnx", flags).out;
  };
  CHECK(
      absl::StrContains(last_words({"--dtype", "bfloat16"}),
                        "(the input as it is: no allowed operator can become low (1 node: already float16); to change "
                        "its type, take the rewrite back first with --policy float32)\n"));
  CHECK(absl::StrContains(last_words({}), "low (1 node: already float16))\n"));
}

TEST_CASE("a model in 16 bits is said to be so") {
  const Json half = ReportOfGraph("g (float16[2,2] x) => (float16[2,2] y) { [mm] y = MatMul (x, x) }");
  CHECK(Because(half, "mm") == "not-float32: already float16");
  const Json other =
      ReportOfGraph("g (float16[2,2] x) => (float16[2,2] y) { [mm] y = MatMul (x, x) }", {"--dtype", "bfloat16"});
  CHECK(other["unchanged_because"] == "no allowed operator can become low (1 node: already float16)");
  CHECK(half["unchanged_because"] == "no allowed operator can become low (1 node: already float16)");
  const Json brain = ReportOfGraph("g (bfloat16[2,2] x) => (bfloat16[2,2] y) { [mm] y = MatMul (x, x) }");
  CHECK(Because(brain, "mm") == "not-float32: already bfloat16");
  const Json integers = ReportOfGraph("g (int32[2,2] x) => (int32[2,2] y) { [mm] y = MatMul (x, x) }");
  CHECK(Because(integers, "mm") == "not-float32: no float32 in or out");
}

NodeReport Node(std::string path, std::string op_type) {
  NodeReport node;
  node.path = std::move(path);
  node.op_type = std::move(op_type);
  node.class_name = "allow";
  node.type = "float16";
  node.reason_kind = "seeded";
  node.reason = "allowed";
  return node;
}

TEST_CASE("a node is one line, whatever its name: the columns move to the right and come back") {
  Report report;
  report.nodes = {Node("short", "Conv"), Node(std::string(60, 'p'), "Conv"),
                  Node("gr\xc3\xb6\xc3\x9f"
                       "er",
                       "my.very.long.domain::AnOperatorWithALongName")};
  const std::vector<std::string> lines = absl::StrSplit(ReportText(report), '\n');
  REQUIRE(lines.size() > 4);
  const std::string gap(48 - 5, ' '), rest = "allow     float16  allowed";
  CHECK(lines[0] == absl::StrCat("node ", gap, "  operator                  class     type     why"));
  CHECK(lines[1] == absl::StrCat("short", gap, "  Conv                      ", rest));
  CHECK(lines[2] == absl::StrCat(std::string(60, 'p'), "  Conv          ", rest));
  CHECK(lines[3] == absl::StrCat("gr\xc3\xb6\xc3\x9f"
                                 "er",
                                 std::string(48 - 6, ' '),
                                 "  my.very.long.domain::AnOperatorWithALongName  allow  float16  allowed"));
}

TEST_CASE("specialised functions in words") {
  const auto line = [](int specialised, int original, Flags names) {
    Report report;
    report.specialised_calls = specialised;
    report.original_calls = original;
    report.specialised_functions = std::move(names);
    const std::string text = ReportText(report);
    const size_t at = text.find("specialised: ");
    return at == std::string::npos ? "" : text.substr(at);
  };
  CHECK(line(0, 0, {}).empty());
  CHECK(line(0, 1, {}) == "specialised: no call; 1 back to the original function\n");
  CHECK(line(1, 0, {"F_low"}) == "specialised: 1 call of F_low\n");
  CHECK(line(2, 3, {"F_low", "G_low"}) == "specialised: 2 calls of F_low, G_low; 3 back to the original function\n");
}

TEST_CASE("taking a rewrite back is explained by what was taken back") {
  const ToolRun mixed({}, WithHead(R"(g (float[2,2] x) => (float[2,2] y)
      <float[2,2] w = {1, 2, 3, 4}, float[2,2] both = {5, 6, 7, 8}> {
    a = MatMul (x, w)
    k = Constant <value = float[2,2] {1, 1, 1, 1}> ()
    b = MatMul (a, k)
    c = MatMul (b, both)
    e = Exp (both)
    y = Add (c, e)
  })"));
  REQUIRE(mixed.output.exit_code == 0);
  const Flags take_back = {"--policy", "float32", "--explain"};
  const std::string text = mixed.RunTool("out.onnx", "back.onnx", take_back).out;
  CHECK(absl::StrContains(text, "\ncasts removed\n  x_to_float16\n"));
  CHECK(absl::StrContains(text, "\nweights widened\n  w\n  k\n"));
  CHECK(absl::StrContains(text, "\nadvice: 1 weight keeps the rounding of float16: "));
  CHECK_FALSE(absl::StrContains(text, "nodes by reason"));
  CHECK_FALSE(absl::StrContains(text, "operator  class"));
  const std::string nothing = mixed.RunTool("in.onnx", "back.onnx", take_back).out;
  CHECK(absl::StartsWith(nothing, "Nothing to take back; "));
  CHECK_FALSE(absl::StrContains(nothing, "weights widened"));
}

}  // namespace
}  // namespace amp
