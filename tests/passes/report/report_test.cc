// The output of a run of amp-rewrite: the JSON report, the table, the diff and the summary line.
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <limits>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "onnx/onnx_pb.h"
#include "tests/catch2.h"
#include "tests/model_from_text.h"
#include "tests/passes/report/report_of.h"
#include "tests/tool_run.h"
#include "tools/rewrite/amp_rewrite.h"

namespace amp {
namespace {

using Json = nlohmann::ordered_json;

std::vector<std::string> KeysOf(const Json& object) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : object.items()) keys.push_back(key);
  return keys;
}

TEST_CASE("the report has these fields, in this order") {
  const Json report = ReportOf(kThreeNodes);
  CHECK(KeysOf(report) == std::vector<std::string>{
                              "schema_version", "tool",         "model",         "output_xxh3",     "dtype",
                              "profile",        "placement",    "target",        "changed",         "unchanged_because",
                              "opset",          "ir_version",   "totals",        "nodes",           "replaced",
                              "casts",          "weights",      "removed_casts", "widened_weights", "functions",
                              "advice",         "verification", "warnings"});
  CHECK(KeysOf(report["totals"]) ==
        std::vector<std::string>{"nodes", "low", "casts", "by_reason", "weight_bytes", "known_activation_bytes"});
  CHECK(KeysOf(report["nodes"][0]) == std::vector<std::string>{"path", "operator", "class", "class_origin", "class_why",
                                                               "low", "heavy", "reason", "because", "casts"});
  CHECK(KeysOf(report["casts"][0]) == std::vector<std::string>{"name", "value", "from", "to", "readers", "elements"});
  CHECK(KeysOf(report["weights"][0]) ==
        std::vector<std::string>{"name", "bytes_before", "bytes_after", "original_stays", "original_readers",
                                 "saturated", "largest", "overflow", "underflow", "subnormal", "relative_error"});
}

TEST_CASE("weights that are NaN are said, in the table, the report and the last line") {
  onnx::ModelProto model = ModelFromText(std::string(kThreeNodes));
  for (onnx::TensorProto& tensor : *model.mutable_graph()->mutable_initializer()) {
    if (tensor.name() == "w") {
      for (const int i : {1, 4}) tensor.set_float_data(i, std::numeric_limits<float>::quiet_NaN());
    }
  }
  const ToolRun run({"--explain", "--report", "-"}, model);
  CHECK_THAT(run.output.err, Catch::Matchers::Contains("relative error nan (some elements are NaN)\n"));
  CHECK_THAT(run.output.err, Catch::Matchers::Contains("; weight 'w' has NaN among its elements; wrote "));
  CHECK(Json::parse(run.output.out)["weights"][0]["relative_error"] == "nan");
  // Nothing is left to compare: every row of the product has a NaN.
  const ToolRun verified({"--verify"}, model);
  CHECK_THAT(verified.output.err,
             Catch::Matchers::Contains("found none among 4 elements; weight 'w' has NaN in 2 of 8 elements\n"));
  CHECK(ToolRun({}).output.out.find("NaN") == std::string::npos);
}

TEST_CASE("what one operator stands for is listed, and shown") {
  const char* const norm = R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[4,8] x, float[8,8] k) => (float[4,8] y) <float eps = {0.01}> {
      [mm0] a = MatMul (x, k)
      [mean] m = ReduceMean <axes = [-1]> (a)
      [sub] d = Sub (a, m)
      q = Mul (d, d)
      [var] v = ReduceMean <axes = [-1]> (q)
      [eps] e = Add (v, eps)
      [sqrt] s = Sqrt (e)
      n = Div (d, s)
      [mm1] y = MatMul (n, k) })";
  CHECK(ReportOf(norm)["replaced"] == Json::parse(R"([{"nodes": ["mean", "sub", "Mul#0", "var", "eps", "sqrt", "Div#0"],
    "how": "LayerNormalization n_1"}])"));
  CHECK(ReportOf(norm, {"--keep-decomposed"})["replaced"].empty());
}

TEST_CASE("rules by name do not mean nodes that the rewrite makes itself") {
  const Json report = ReportOf(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[2,2] x) => (float[2,2] y) <float[2,2] w = {1e-8, 2e-8, 3e-8, 4e-8}> { y = MatMul (x, w) })",
                               {"--scale-weights", "--allow-node", "*_unscaled"});
  REQUIRE(report["replaced"].size() == 1);
  CHECK(report["casts"][1]["readers"] == Json::array({"y_unscaled"}));
  CHECK(report["warnings"].size() == 1);  // the pattern matches no node
}

// Runs amp-rewrite. Returns the hash of the written model that its report states, and the hash that the model has.
std::pair<Json, std::string> SaidAndFound(const ToolFolder& folder, std::vector<std::string> flags) {
  flags.insert(flags.end(), {"--report", folder.folder.File("r.json")});
  REQUIRE(folder.RunTool(flags).exit_code == 0);
  const std::string bytes = folder.folder.Read("out.onnx");
  return {Json::parse(folder.folder.Read("r.json"))["output_xxh3"],
          absl::StrFormat("%016x", XXH3_64bits(bytes.data(), bytes.size()))};
}

TEST_CASE("the report has the hash of its model, so that one of another run can be told") {
  const ToolFolder folder(kThreeNodes);
  const auto& [said, found] = SaidAndFound(folder, {});
  CHECK(said == found);
  const auto& [other, other_found] = SaidAndFound(folder, {"--dtype", "bfloat16", "--external-data", "always"});
  CHECK(other == other_found);
  CHECK(other != said);
  const auto& [unchanged, input] = SaidAndFound(folder, {"--deny-node", "*"});  // the input's bytes
  CHECK(unchanged == input);
  CHECK(folder.folder.Read("out.onnx") == folder.folder.Read("in.onnx"));
  CHECK(ReportOf(kThreeNodes, {"--dry-run"})["output_xxh3"].is_null());
}

TEST_CASE("the report's head and totals") {
  const Json report = ReportOf(kThreeNodes, {"--profile", "tf-1.15"});
  CHECK(report["schema_version"] == 1);
  CHECK(absl::EndsWith(report["model"].get<std::string>(), "/in.onnx"));
  CHECK(report["dtype"] == "float16");
  CHECK(report["profile"] == "tf-1.15");
  CHECK(report["placement"] == "paint");
  CHECK(ReportOf(kThreeNodes)["placement"] == "cut");
  CHECK(ReportOf(kThreeNodes, {"--placement", "fewest-casts"})["placement"] == "fewest-casts");
  CHECK(report["changed"] == true);
  CHECK(report["unchanged_because"] == "");
  CHECK(report["opset"] == Json::parse(R"({"before": 17, "after": 17})"));
  CHECK(report["ir_version"] == Json::parse(R"({"before": 8, "after": 8})"));
  // w: 8 elements, epsilon: 1. a, b, y: 4 elements each; then x_to_float16: 8, a: 4 in 16 bits, a_to_float32, b, y: 4.
  CHECK(report["totals"] == Json::parse(R"({
    "nodes": 3, "low": 1, "casts": 2, "by_reason": {"denied": 1, "guard": 1, "seeded": 1},
    "weight_bytes": {"before": 36, "after": 20}, "known_activation_bytes": {"before": 48, "after": 72}})"));
  CHECK(report["removed_casts"].empty());
  CHECK(report["warnings"].empty());
}

TEST_CASE("the report's nodes") {
  const Json nodes = ReportOf(kThreeNodes, {"--profile", "tf-1.15"})["nodes"];
  REQUIRE(nodes.size() == 3);
  const auto is_from_list = [](const Json& node) {
    return absl::StartsWith(node["class_origin"].get<std::string>(), "tf-1.15-float16.list:");
  };
  CHECK(nodes[0]["path"] == "mm");
  CHECK(nodes[0]["operator"] == "MatMul");
  CHECK(nodes[0]["class"] == "allow");
  CHECK(is_from_list(nodes[0]));
  CHECK(nodes[0]["low"] == true);
  CHECK(nodes[0]["heavy"] == true);
  CHECK(nodes[0]["reason"] == "seeded");
  CHECK(nodes[0]["casts"] == 2);
  CHECK(nodes[1]["path"] == "mul");
  CHECK(nodes[1]["class"] == "infer");
  CHECK(nodes[1]["low"] == false);
  CHECK(nodes[1]["heavy"] == false);
  CHECK(nodes[1]["reason"] == "guard");
  CHECK(absl::StartsWith(nodes[1]["because"].get<std::string>(), "guard: constant 'epsilon' holds 1e-12"));
  CHECK(nodes[1]["casts"] == 1);
  CHECK(nodes[2]["path"] == "Softmax#0");
  CHECK(nodes[2]["class"] == "deny");
  CHECK(is_from_list(nodes[2]));
  CHECK(nodes[2]["reason"] == "denied");
  CHECK(nodes[2]["casts"] == 0);
}

TEST_CASE("the report's casts and weights") {
  const Json report = ReportOf(kThreeNodes);
  CHECK(report["casts"] == Json::parse(R"([
    {"name": "x_to_float16", "value": "x", "from": "float32", "to": "float16", "readers": ["mm"], "elements": 8},
    {"name": "a_to_float32", "value": "a", "from": "float16", "to": "float32", "readers": ["mul"], "elements": 4}])"));
  CHECK(report["weights"] == Json::parse(R"([
    {"name": "w", "bytes_before": 32, "bytes_after": 16, "original_stays": false, "original_readers": [], "saturated": false, "largest": 8.0,
     "overflow": 0, "underflow": 0, "subnormal": 0, "relative_error": 0.0}])"));
}

TEST_CASE("a cast for a graph output names it, and an unknown size is null") {
  const Json report = ReportOf(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[n,n] x) => (float[n,n] y) { y = MatMul (x, x) })");
  CHECK(report["casts"][0]["elements"] == nullptr);
  CHECK(report["casts"][1]["readers"] == Json::array({"(output y)"}));
  CHECK(report["totals"]["known_activation_bytes"] == Json::parse(R"({"before": 0, "after": 0})"));
}

TEST_CASE("readers inside bodies are named by path, as nodes are") {
  const Json report = ReportOf(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[2,2] x, bool c) => (float[2,2] y, float[2,2] z) <float[2,2] w = {1, 2, 3, 4}> {
      y = MatMul (x, w)
      [if] z = If (c) <then_branch = yes () => (float[2,2] p) { [exp] e = Exp (w) p = MatMul (x, e) },
                       else_branch = no () => (float[2,2] q) { [exp] q = Exp (y) }>
    })",
                               {"--profile", "tf-1.15"});
  std::vector<std::string> readers, paths;
  for (const Json& cast : report["casts"]) {
    for (const Json& reader : cast["readers"]) readers.push_back(reader);
  }
  for (const Json& node : report["nodes"]) paths.push_back(node["path"]);
  CHECK(readers == std::vector<std::string>{"MatMul#0", "if/then_branch/MatMul#0", "if/else_branch/exp", "(output y)",
                                            "(output z)", "if/then_branch/MatMul#0", "(output q of if/else_branch)"});
  CHECK(report["weights"][0]["original_readers"] == Json::array({"if/then_branch/exp"}));
  CHECK(paths == std::vector<std::string>{"MatMul#0", "if", "if/then_branch/exp", "if/then_branch/MatMul#0",
                                          "if/else_branch/exp"});
}

TEST_CASE("the user's casts that go are listed") {
  const Json report = ReportOf(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float16[2,2] x) => (float[2,2] y) { [widen] a = Cast <to = 1> (x)  y = MatMul (a, a) })");
  CHECK(report["removed_casts"] == Json::array({"widen"}));
}

TEST_CASE("the opset before is the file's, also where a function of another one lifts the model first") {
  constexpr absl::string_view kOlder = R"(<ir_version: 8, opset_import: ["" : 17, "local" : 1]>
    g (float[2,2] x) => (float[2,2] y) { [call] a = local.mean (x)  [mm] y = MatMul (a, a) }
    <domain: "local", opset_import: ["" : 18]> mean (a) => (b) {
      axes = Constant <value_ints = [1]> ()
      b = ReduceMean <keepdims = 1> (a, axes)
    })";
  for (const std::string functions : {"inline", "specialise"}) {
    const Json report = ReportOf(kOlder, {"--functions", functions});
    CHECK(report["opset"] == Json::parse(R"({"before": 17, "after": 18})"));
  }
}

// Calls that become calls of one copy; `act` alone is float32.
constexpr absl::string_view kCalls = R"(<ir_version: 8, opset_import: ["" : 17, "my" : 1]>
  g (float[2,2] x) => (float[2,2] y) { [one] a = my.block (x)  [two] y = my.block (a) }
  <domain: "my", opset_import: ["" : 17]> block (a) => (b) {
    [mm] c = MatMul (a, a)
    [act] d = Exp (c)
    [mm2] b = MatMul (d, a)
  })";

TEST_CASE("casts in specialised functions are reported as they are in the file") {
  const ToolRun run({"--functions", "specialise", "--report", "-", "--quiet"}, kCalls);
  REQUIRE(run.output.exit_code == 0);
  std::vector<std::string> reported;
  const Json report = Json::parse(run.output.out);
  for (const Json& cast : report["casts"]) reported.push_back(cast["name"]);
  onnx::ModelProto model;
  REQUIRE(model.ParseFromString(run.folder.Read("out.onnx")));
  std::vector<std::string> found;
  for (const auto& node : model.graph().node()) {
    if (node.op_type() == "Cast") found.push_back(node.name());
  }
  REQUIRE(model.functions_size() == 1);
  for (const auto& node : model.functions(0).node()) {
    if (node.op_type() == "Cast") found.push_back(absl::StrCat(model.functions(0).name(), "/", node.name()));
  }
  std::sort(reported.begin(), reported.end());
  std::sort(found.begin(), found.end());
  CHECK(reported == found);
  CHECK(found.size() == 4);
}

TEST_CASE("advice does not say that functions were specialised where all calls went back to theirs") {
  const Json report = ReportOf(R"(<ir_version: 8, opset_import: ["" : 17, "my" : 1]>
    g (float[2,2] x) => (float[2,2] y) { [call] a = my.act (x)  [mm] y = MatMul (a, x) }
    <domain: "my", opset_import: ["" : 17]> act (a) => (b) { [act] b = Exp (a) })",
                               {"--functions", "specialise"});
  CHECK(report["functions"]["original_calls"] == 1);
  CHECK(report["advice"] == Json::array({"--policy float32 cannot take this rewrite back: --functions specialise "
                                         "leaves no record"}));
}

TEST_CASE("a batch normalization that was replaced is listed where it was, and by itself") {
  const Json report = ReportOf(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[1,2,2,2] x) => (float[1,2,2,2] y) <float[2,2,1,1] w = {1, 2, 3, 4}, float[2] s = {1, 1}> {
      [c1] a = Conv (x, w)
      [bn1] n = BatchNormalization (a, s, s, s, s)
      [relu] r = Relu (n)
      [bn2] l = BatchNormalization (r, s, s, s, s)
      [c2] y = Conv (l, w)
    })");
  CHECK(report["replaced"] == Json::array({{{"nodes", {"bn1"}}, {"how", "folded into 'c1'"}},
                                           {{"nodes", {"bn2"}}, {"how", "replaced by a Mul and an Add"}}}));
  std::vector<std::string> paths;
  for (const Json& node : report["nodes"]) paths.push_back(node["path"]);
  CHECK(paths == std::vector<std::string>{"c1", "bn1", "relu", "bn2", "c2"});
  const Json& norm = report["nodes"][1];
  CHECK(norm["operator"] == "BatchNormalization");
  CHECK(norm["class"] == "infer");
  CHECK(norm["low"] == true);
  CHECK(norm["reason"] == "replaced");
  CHECK(norm["because"] == "folded into 'c1'");
  CHECK(report["totals"]["nodes"] == 5);
  CHECK(report["totals"]["low"] == 5);
}

TEST_CASE("weights that a caller may override get advice") {
  const Json report = ReportOf(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[2,2] x, float[2,2] w = {1, 2, 3, 4}) => (float[2,2] y) { y = MatMul (x, w) })");
  REQUIRE(report["advice"].size() == 1);
  CHECK(absl::StrContains(report["advice"][0].get<std::string>(), "--freeze-initializers"));
}

TEST_CASE("the summary line says what freezing would give, where it is worth a flag") {
  const auto line = [](absl::string_view model, const std::vector<std::string>& flags = {}) {
    return ToolRun(flags, model).output.out;
  };
  const char* const two = R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[2,2] x, float[2,2] w = {1, 2, 3, 4}, float[2,2] v = {1, 2, 3, 4}) => (float[2,2] y) {
      a = MatMul (x, w)
      y = MatMul (a, v)
    })";
  CHECK(absl::StrContains(line(two),
                          "weights 32 B -> 32 B; 2 casts convert weights that callers may override: "
                          "--freeze-initializers makes them constants; wrote "));
  for (const char* flag : {"--freeze-initializers", "--weights=cast"}) {
    INFO(flag);
    CHECK_FALSE(absl::StrContains(line(two, {flag}), "override"));
  }
  // One of eleven casts: the others convert what no flag could.
  std::string one = R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[2,2] x, float[2,2] w = {1, 2, 3, 4})";
  std::string body = "[m] a = MatMul (x, w) ";
  CHECK(absl::StrContains(line(absl::StrCat(one, ") => (float[2,2] a) {", body, "}")),
                          "; 1 cast converts a weight that"));
  for (int i = 0; i < 8; ++i) {
    absl::StrAppend(&one, ", float[2,2] x", i);
    absl::StrAppend(&body, "b", i, " = MatMul (a, x", i, ") ");
  }
  CHECK_FALSE(absl::StrContains(line(absl::StrCat(one, ") => (float[2,2] b0) {", body, "}")), "override"));
}

TEST_CASE("what blocks a newer opset is named") {
  const Json report = ReportOf(R"(<ir_version: 10, opset_import: ["" : 21]>
    g (float[1,1,n,n] x) => (float[1,1,n,n] y, float[1,1,m,m] z) {
      [pool] z = AveragePool <kernel_shape = [2, 2], strides = [3, 3], ceil_mode = 1> (x)
      y = MatMul (x, x)
    })",
                               {"--dtype", "bfloat16"});
  REQUIRE(report["advice"].size() == 2);
  const std::string why = "pool (AveragePool) at opset 22: with ceil_mode, a window may start in the padding";
  CHECK(report["advice"][0] ==
        absl::StrCat("more operators could run in bfloat16, but opset 22 cannot be reached: ", why));
  CHECK(report["advice"][1] ==
        absl::StrCat("1 AveragePool node stays float32: ONNX allows bfloat16 there from opset 22 on, and ", why));
  CHECK(report["opset"] == Json::parse(R"({"before": 21, "after": 21})"));
}

TEST_CASE("a model that stays says why, and keeps its bytes") {
  const ToolRun run({"--report", "-", "--deny-node", "mm"});
  REQUIRE(run.output.exit_code == 0);
  CHECK(run.folder.Read("out.onnx") == run.folder.Read("in.onnx"));
  const Json report = ReportOf(kThreeNodes, {"--deny-node", "mm"});
  CHECK(report["changed"] == false);
  CHECK(report["unchanged_because"] == "no allowed operator can become low (1 node: excluded by --deny-node 'mm')");
  CHECK(report["totals"]["low"] == 0);
  CHECK(absl::EndsWith(
      run.output.err,
      absl::StrCat(
          "Converted 0 of 3 nodes to float16 with 0 casts; weights 36 B -> 36 B; wrote ", run.out,
          " (the input as it is: no allowed operator can become low (1 node: excluded by --deny-node 'mm'))\n")));
}

TEST_CASE("unsafe-force-all carries a warning") {
  const Json report = ReportOf(kThreeNodes, {"--level", "unsafe-force-all"});
  REQUIRE(report["warnings"].size() == 1);
  CHECK(report["warnings"][0] == "--level unsafe-force-all ignores deny lists and guards: check the results");
  for (const Json& node : report["nodes"]) CHECK(node["low"] == true);
}

TEST_CASE("a successful run ends with the summary line") {
  const ToolRun run({});
  CHECK(run.output.exit_code == 0);
  CHECK(run.output.err.empty());
  CHECK(run.output.out == absl::StrCat("Converted 1 of 3 nodes to float16 with 2 casts; weights 36 B -> 20 B; wrote ",
                                       run.out, "; verified: largest relative error 0 on made-up inputs\n"));
  CHECK(run.folder.Has("out.onnx"));
}

TEST_CASE("a quiet run prints nothing but what is asked for") {
  const ToolRun run({"--quiet", "--deny-node", "nobody", "--policy", "mixed_float16"});
  CHECK(run.output.exit_code == 0);
  CHECK(run.output.out.empty());
  CHECK(run.output.err.empty());
  for (const char* flag : {"--explain", "--diff", "--print-after=paint"}) {
    INFO(flag);
    const ToolRun loud({flag}), quiet({flag, "--quiet", "--deny-node", "nobody"});
    CHECK(quiet.output.err.empty());
    CHECK_FALSE(quiet.output.out.empty());
    CHECK(absl::StartsWith(loud.output.out, quiet.output.out));  // but for the last line
    const ToolRun beside({flag, "--quiet", "--report", "-"});
    CHECK(beside.output.err == quiet.output.out);
  }
}

TEST_CASE("constants and casts are not among the nodes that stay float32") {
  const std::string some =
      ToolRun({"--explain=float32", "--quiet", "--dry-run"}, R"(<opset_import: ["" : 17], ir_version: 8>
    g (float[2,2] x) => (float[2,2] y, float16[2,2] z) {
      [held] c = Constant <value = float[2,2] {1, 2, 3, 4}> ()
      y = Softmax (x)
      d = Exp (c)
      [out] z = Cast <to = 10> (d)
    })")
          .output.out;
  CHECK_FALSE(absl::StrContains(some, "\nheld "));
  CHECK_FALSE(absl::StrContains(some, "\nout "));
  CHECK(absl::StrContains(some, "\nSoftmax#0 "));
}

TEST_CASE("the explanation may be of the nodes that stay float32 alone") {
  const std::string all = ToolRun({"--explain", "--quiet", "--dry-run"}).output.out;
  CHECK(absl::StrContains(all, "\nmm "));
  CHECK(absl::StrContains(all, "\ncasts\n"));
  const std::string some = ToolRun({"--explain=float32", "--quiet", "--dry-run"}).output.out;
  CHECK(absl::StartsWith(some, "node "));
  CHECK_FALSE(absl::StrContains(some, "\nmm "));
  CHECK_FALSE(absl::StrContains(some, "\ncasts\n"));
  CHECK(absl::StrContains(some, "\nmul "));
  CHECK(absl::StrContains(some, "\nSoftmax#0 "));
  CHECK(absl::StrContains(some, "\nnodes by reason\n"));
  const ToolRun wrong({"--explain=float16"});
  CHECK(ErrorLine(wrong.output, 2) == "--explain: expected nothing or =float32, found 'float16'");
}

TEST_CASE("a dry run writes no model") {
  const ToolRun run({"--dry-run"});
  CHECK(run.output.exit_code == 0);
  CHECK_FALSE(run.folder.Has("out.onnx"));
  CHECK(run.output.out ==
        "Converted 1 of 3 nodes to float16 with 2 casts; weights 36 B -> 20 B; dry run, wrote nothing; "
        "verified: largest relative error 0 on made-up inputs\n");
}

TEST_CASE("the table of --explain has a line per node, cast and weight") {
  const std::string table = ToolRun({"--explain", "--dry-run", "--profile", "tf-1.15"}).output.out;
  const std::vector<std::string> lines = absl::StrSplit(table, '\n');
  REQUIRE(lines.size() > 4);
  CHECK(lines[0] == "node       operator  class     type     why");
  CHECK(absl::StartsWith(lines[1], "mm         MatMul    allow     float16  allowed: "));
  CHECK(absl::StartsWith(lines[2], "mul        Mul       infer     float32  guard: constant 'epsilon' holds 1e-12"));
  CHECK(absl::StartsWith(lines[3], "Softmax#0  Softmax   deny      float32  denied: "));
  CHECK(absl::StrContains(table, "\n  x  float32 -> float16  for mm  (8 elements)\n"));
  CHECK(absl::StrContains(table, "\n  a  float16 -> float32  for mul  (4 elements)\n"));
  CHECK(absl::StrContains(table, "\n  w  32 B -> 16 B  largest 8, relative error 0\n"));
}

TEST_CASE("the relative error of what overflows is no zero") {
  const char kHuge[] = R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[2,2] x) => (float[2,2] y) <float[2] huge = {1000000.0, 1.0}, float bound = {131008.0}> {
      a = MatMul (x, x)
      b = Mul (a, huge)
      c = Clip (b, , bound)
      y = MatMul (c, c)
    })";
  const Json weights = ReportOf(kHuge, {"--guards", "none"})["weights"];
  REQUIRE(weights.size() == 2);
  CHECK(weights[0]["relative_error"] == "inf");
  CHECK(weights[1]["saturated"] == true);
  CHECK(weights[1]["relative_error"] == 0.5);
  const std::string table = ToolRun({"--explain", "--guards", "none"}, kHuge).output.out;
  CHECK(absl::StrContains(table, "\n  huge  8 B -> 4 B  largest 1e+06, relative error inf, 1 overflow\n"));
  CHECK(absl::StrContains(table,
                          "\n  bound  4 B -> 2 B  largest 1.31e+05, relative error 0.5, 1 overflow (saturated)\n"));
}

TEST_CASE("the lines of --diff are what changes and nothing else") {
  const ToolRun run({"--diff", "--dry-run"});
  CHECK(absl::StartsWith(run.output.out,
                         "- initializer w:float32[4,2]\n"
                         "+ initializer w:float16[4,2]\n"
                         "+ x_to_float16: Cast(x:float32[2,4]) -> x_to_float16:float16[2,4]\n"
                         "- mm: MatMul(x:float32[2,4], w:float32[4,2]) -> a:float32[2,2]\n"
                         "+ mm: MatMul(x_to_float16:float16[2,4], w:float16[4,2]) -> a:float16[2,2]\n"
                         "+ a_to_float32: Cast(a:float16[2,2]) -> a_to_float32:float32[2,2]\n"
                         "- mul: Mul(a:float32[2,2], epsilon:float32[]) -> b:float32[2,2]\n"
                         "+ mul: Mul(a_to_float32:float32[2,2], epsilon:float32[]) -> b:float32[2,2]\n"
                         "Converted 1 of 3 nodes"));
}

}  // namespace
}  // namespace amp
