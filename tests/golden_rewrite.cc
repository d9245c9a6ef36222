#include "tests/golden_rewrite.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/strip.h"
#include "ir/file/text.h"
#include "nlohmann/json.hpp"
#include "onnx/onnx_pb.h"
#include "tests/scratch_folder.h"
#include "tools/rewrite/amp_rewrite.h"

namespace amp {

GoldenResult RewriteForGolden(const std::string& input_model_text, const std::vector<std::string>& options) {
  GoldenResult result;
  const ScratchFolder folder;
  const absl::StatusOr<std::string> bytes = ParseOnnxText(input_model_text);
  if (!bytes.ok()) {
    result.error = "input text: " + std::string(bytes.status().message());
    return result;
  }
  std::vector<std::string> arguments = {folder.Write("in.onnx", *bytes), "-o", folder.File("out.onnx"), "--report",
                                        folder.File("report.json")};
  const bool has_profile = std::find(options.begin(), options.end(), "--profile") != options.end();
  if (!has_profile) arguments.insert(arguments.end(), {"--profile", "tf-1.15"});
  arguments.insert(arguments.end(), options.begin(), options.end());
  arguments.push_back("--verify=off");  // no case is about that
  const ToolOutput output = RunAmpRewrite(arguments);
  if (output.exit_code != 0) {
    absl::string_view error = output.err;
    absl::ConsumePrefix(&error, "amp-rewrite: error: ");
    absl::ConsumePrefix(&error, folder.File("in.onnx") + ": ");
    absl::ConsumeSuffix(&error, "\n");
    result.error = std::string(error);
    return result;
  }
  onnx::ModelProto model;
  model.ParseFromString(folder.Read("out.onnx"));
  // The record of the rewrite has tests of its own (undo_test.cc).
  auto& metadata = *model.mutable_metadata_props();
  for (int i = metadata.size(); i-- > 0;) {
    if (metadata[i].key() == "amp.rewrite") metadata.DeleteSubrange(i, 1);
  }
  const absl::StatusOr<std::string> text = PrintOnnxText(model);
  if (!text.ok()) {
    result.error = std::string(text.status().message());
    return result;
  }
  result.text = *text;
  const nlohmann::json report = nlohmann::json::parse(folder.Read("report.json"));
  for (const auto& node : report["nodes"]) result.reasons[node["path"]] = node["because"];
  return result;
}

}  // namespace amp
