// --node-data: an overlay for Model Explorer.
#include "absl/strings/match.h"
#include "nlohmann/json.hpp"
#include "onnx/onnx_pb.h"
#include "tests/catch2.h"
#include "tests/tool_run.h"

namespace amp {
namespace {

using Json = nlohmann::json;

Json Written(const ToolRun& run, const std::vector<std::string>& flags = {}) {
  std::vector<std::string> all = {"--node-data", run.folder.File("data.json")};
  all.insert(all.end(), flags.begin(), flags.end());
  const ToolOutput output = run.RunTool(all);
  INFO(output.err);
  REQUIRE(output.exit_code == 0);
  return Json::parse(run.folder.Read("data.json"));
}

TEST_CASE("each node has its type, its reason and a colour, by an output of the rewritten model") {
  const ToolRun run({"--dry-run"});
  const Json data = Written(run);
  CHECK(data["name"] == "amp-rewrite: float16");
  const Json& results = data["results"];
  CHECK(results["a"]["value"] == "float16: seeded");
  CHECK(results["b"]["value"] == "float32: guard");
  CHECK(results["a"]["bgColor"] != results["b"]["bgColor"]);
  const onnx::ModelProto model = run.Model();
  for (const auto& [output, result] : results.items()) {
    INFO(output);
    const auto gives = [name = output](const onnx::NodeProto& node) { return node.output(0) == name; };
    CHECK(std::any_of(model.graph().node().begin(), model.graph().node().end(), gives));
    CHECK(result.size() == 3);
  }
  CHECK(results.size() == 3);
}

TEST_CASE("a value that is renamed for a cast is found by its new name") {
  const ToolRun run({"--dry-run"}, R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[2,4] x) => (float[2,2] y) <float[4,2] w = {1, 2, 3, 4, 5, 6, 7, -8}> { y = MatMul (x, w) })");
  const Json results = Written(run)["results"];
  REQUIRE(results.size() == 1);
  const onnx::ModelProto model = run.Model();
  for (const onnx::NodeProto& node : model.graph().node()) {
    if (node.op_type() == "MatMul") CHECK(results.contains(node.output(0)));
  }
}

}  // namespace
}  // namespace amp
