// A report as an HTML file: its data, and what strangers' names do to it. browser_test.py tests what a browser makes
// of it.
#include "tools/report/html_report.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"
#include "onnx/onnx_pb.h"
#include "runtime/values/npy.h"
#include "tests/catch2.h"
#include "tests/model_from_text.h"
#include "tests/tool_run.h"
#include "tools/report/report_data.h"
#include "tools/report/run_page.h"
#include "tools/rewrite/amp_rewrite.h"

namespace amp {
namespace {

using Json = nlohmann::json;
using Catch::Matchers::Contains;

constexpr char kOpening[] = "<script type=\"application/json\" id=\"data\">";

// The text between the opening tag of the data and the next "</script", as a browser finds it.
Json DataOf(const std::string& html) {
  const size_t begin = html.find(kOpening) + sizeof(kOpening) - 1;
  REQUIRE(begin >= sizeof(kOpening));
  std::string lower = html;
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return Json::parse(html.substr(begin, lower.find("</script", begin) - begin));
}

// Returns the report of `--report r.html`.
std::string HtmlOf(const onnx::ModelProto& model, std::vector<std::string> flags = {}) {
  ToolRun run({"--dry-run"}, model);
  flags.insert(flags.end(), {run.in, "--dry-run", "--report", run.folder.File("r.html")});
  const ToolOutput output = RunAmpRewrite(flags);
  INFO(output.err);
  REQUIRE(output.exit_code == 0);
  return run.folder.Read("r.html");
}

TEST_CASE("what runs are told of ends no element of their page") {
  const std::string hostile = "</script><script>window.hacked = 1</script>\xff\u2028";
  const std::string html = RunPage({{"kind", "training"}, {"model", hostile}, {"csv", "epoch,loss\n"}});
  const Json data = DataOf(html);
  CHECK(absl::StartsWith(data["model"].get<std::string>(), "</script><script>window.hacked"));
  CHECK(data["csv"] == "epoch,loss\n");
  CHECK_FALSE(absl::StrContains(html, "hacked = 1</script>"));
}

TEST_CASE("a name in .html asks for HTML") {
  CHECK(IsHtmlFile("report.html"));
  CHECK(IsHtmlFile("a/REPORT.HTML"));
  CHECK_FALSE(IsHtmlFile("report.json"));
  CHECK_FALSE(IsHtmlFile("html"));
  CHECK_FALSE(IsHtmlFile("report.html.json"));
}

TEST_CASE("the data have the nodes, the values that pass between them, and the casts") {
  const Json data = DataOf(HtmlOf(ModelFromText(std::string(kThreeNodes))));
  const Json& strings = data["strings"];
  const Json& nodes = data["nodes"];
  const Json& values = data["values"];
  CHECK(data["format"] == 1);
  CHECK(data["schema_version"] == Report::kSchemaVersion);
  CHECK(data["input_xxh3"].get<std::string>().size() == 16);
  const size_t count = nodes["count"];
  REQUIRE(count == 3);
  for (const char* column : {"path", "operator", "class", "origin", "why", "type", "reason", "because", "low", "heavy",
                             "inputs", "outputs"}) {
    INFO(column);
    CHECK(nodes[column].size() == count);
  }
  // The graph is a chain: each node but the first reads what the one before gives.
  for (size_t i = 0; i + 1 < count; ++i) CHECK(nodes["inputs"][i + 1][0] == nodes["outputs"][i][0]);
  const size_t first = nodes["inputs"][0][0], weight = nodes["inputs"][0][1];
  CHECK(values["inputs"] == Json{first});
  CHECK(values["outputs"] == nodes["outputs"][count - 1]);
  CHECK(values["constant"][first] == 0);
  CHECK(values["constant"][weight] == 1);
  CHECK(absl::StartsWith(strings[values["type"][weight].get<size_t>()].get<std::string>(), "float32["));
  REQUIRE_FALSE(data["casts"].empty());
  for (const Json& cast : data["casts"]) {
    const size_t value = cast[2];
    CHECK(strings[values["name"][value].get<size_t>()] == strings[cast[1].get<size_t>()]);
  }
  REQUIRE(data["weights"].size() == 1);
  CHECK_FALSE(data["weights"][0][12].empty());  // exponents
  CHECK(data["weights"][0][12].size() <= 64);
}

TEST_CASE("values that were observed have their exponents") {
  const ScratchFolder folder;
  const Tensor x = Tensor::Of<float>(DType::kFloat32, {1, 4}, {0.5F, 1, -3, 0});
  const std::string sample = folder.Write("s.npz", *NpzBytes({{"x", x}}));
  const Json data = DataOf(HtmlOf(ModelFromText(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[1,4] x) => (float[1,4] y) { y = Neg (x) })"),
                                  {"--calibration", sample}));
  REQUIRE(data["values"]["observed"].size() == 2);
  for (const Json& seen : data["values"]["observed"]) {
    CHECK(seen[5] == 4);   // elements
    CHECK(seen[6] == -1);  // the first exponent
    CHECK(seen[8] == Json::array({1, 1, 1}));
    CHECK(seen[9] == 1);  // zeros
    CHECK(seen[10] == 0);
  }
}

TEST_CASE("a node that holds graphs has what they give it") {
  const Json data = DataOf(HtmlOf(ModelFromText(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (bool c, float[2] x) => (float[2] y) {
      y = If (c) <then_branch = t () => (float[2] a) { a = Relu (x) }, else_branch = e () => (float[2] b) { b = Exp (x) }>
    })")));
  const Json& nodes = data["nodes"];
  REQUIRE(nodes["bodies"].size() == 1);
  const size_t owner = nodes["bodies"][0][0];
  CHECK(data["strings"][nodes["operator"][owner].get<size_t>()] == "If");
  Json given = Json::array();
  for (size_t i = 0; i < nodes["count"].get<size_t>(); ++i) {
    if (i != owner) given.push_back(nodes["outputs"][i][0]);
  }
  CHECK(nodes["bodies"][0][1].empty());
  CHECK(nodes["bodies"][0][2] == given);
}

TEST_CASE("a loop has what it gives its body in each round") {
  const Json data = DataOf(HtmlOf(ModelFromText(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[2] x) => (float[2] y) <int64 n = {3}, bool go = {1}> {
      y = Loop (n, go, x) <body = b (int64 i, bool c, float[2] before) => (bool d, float[2] after) {
        d = Identity (c)
        after = Tanh (before)
      }>
    })")));
  const Json& nodes = data["nodes"];
  REQUIRE(nodes["bodies"].size() == 1);
  const Json &inputs = nodes["bodies"][0][1], &outputs = nodes["bodies"][0][2];
  REQUIRE(inputs.size() == 3);
  REQUIRE(outputs.size() == 2);
  for (size_t i = 0; i < nodes["count"].get<size_t>(); ++i) {
    const std::string op_type = data["strings"][nodes["operator"][i].get<size_t>()];
    if (op_type == "Tanh") CHECK(nodes["inputs"][i] == Json::array({inputs[2]}));
    if (op_type == "Tanh") CHECK(nodes["outputs"][i] == Json::array({outputs[1]}));
  }
}

TEST_CASE("each string is there once") {
  const Json data = DataOf(HtmlOf(ModelFromText(std::string(kThreeNodes))));
  const std::vector<std::string> strings = data["strings"];
  const std::set<std::string> different(strings.begin(), strings.end());
  CHECK(different.size() == strings.size());
}

TEST_CASE("no name of a model gets out of the data") {
  const std::vector<std::string> hostile = {"</script><script>alert(1)</script>",
                                            "</SCRIPT >",
                                            "<!--<script>",
                                            "]]>",
                                            "\"'`\\",
                                            "${alert(1)}",
                                            "javascript:alert(1)",
                                            "a\nb\rc\td",
                                            std::string("nul\0nul", 7),
                                            "\xe2\x80\xae\xd7\xa9\xd7\x9c\xd7\x95\xd7\x9d",
                                            "line\xe2\x80\xa8 end\xe2\x80\xa9",
                                            "no utf-8 \xff\xfe\xc0",
                                            std::string(100'000, '<')};
  for (const std::string& name : hostile) {
    INFO(name.substr(0, 40));
    const std::string text = ScriptSafeString(name);
    CHECK_FALSE(absl::StrContains(text, "<"));
    CHECK_FALSE(absl::StrContains(text, "\xe2\x80\xa8"));
    CHECK_FALSE(absl::StrContains(text, '\n'));
    if (!absl::StrContains(name, '\xff')) CHECK(Json::parse(text) == Json(name));
    onnx::ModelProto model = ModelFromText(std::string(kThreeNodes));
    model.mutable_graph()->mutable_node(0)->set_name(name);
    model.set_producer_name(name);
    const Json data = DataOf(HtmlOf(model));  // which is whole: else it does not parse
    const std::string shown = Json::parse(text);
    const auto& strings = data["strings"];
    CHECK(std::find(strings.begin(), strings.end(), Json(shown)) != strings.end());
  }
}

TEST_CASE("the page forbids every script but its own, and every request") {
  const std::string html = HtmlOf(ModelFromText(std::string(kThreeNodes)));
  CHECK(absl::StartsWith(html, "<!doctype html>\n"));
  CHECK_THAT(html, Contains("content=\"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-"));
  // Its only addresses are names of XML's own, which nobody fetches.
  for (size_t at = html.find("://"); at != std::string::npos; at = html.find("://", at + 1)) {
    INFO(html.substr(at - 20, 60));
    CHECK(absl::StrContains(html.substr(at, 40), "://www.w3.org/"));
  }
  CHECK_FALSE(absl::StrContains(html, "innerHTML"));
  CHECK_FALSE(absl::StrContains(html, "insertAdjacentHTML"));
  CHECK_FALSE(absl::StrContains(html, "@DATA@"));
}

TEST_CASE("the same rewrite gives the same file") {
  const onnx::ModelProto model = ModelFromText(std::string(kThreeNodes));
  const ToolRun run({"--dry-run"}, model);
  const auto write = [&](const std::string& name) {
    REQUIRE(RunAmpRewrite({run.in, "--dry-run", "--report", run.folder.File(name)}).exit_code == 0);
    return run.folder.Read(name);
  };
  const std::string first = write("a.html");
  CHECK(write("a.html") == first);  // over a report
}

TEST_CASE("a report that is not HTML is as it was, and has no graph") {
  const ToolRun run({"--report", "-", "--quiet"});
  CHECK_FALSE(absl::StrContains(run.output.out, "\"graph\""));
  CHECK(absl::StartsWith(run.output.out, "{\n \"schema_version\": 1,"));
}

TEST_CASE("a model that is taken back has a report without a graph") {
  const ToolRun run({});
  REQUIRE(run.output.exit_code == 0);
  const std::string back = run.folder.File("back.onnx"), report = run.folder.File("back.html");
  const ToolOutput output =
      RunAmpRewrite({run.folder.File("out.onnx"), "-o", back, "--policy", "float32", "--report", report});
  INFO(output.err);
  REQUIRE(output.exit_code == 0);
  CHECK_FALSE(DataOf(run.folder.Read("back.html")).contains("values"));
}

}  // namespace
}  // namespace amp
