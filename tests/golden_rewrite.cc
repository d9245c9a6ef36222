#include "tests/golden_rewrite.h"

#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "absl/strings/match.h"
#include "absl/strings/strip.h"
#include "ir/file/text.h"
#include "nlohmann/json.hpp"
#include "onnx/onnx_pb.h"
#include "tools/amp_rewrite.h"

namespace amp {
namespace {

// A folder of its own, gone at the end.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    char path[] = "/tmp/amp_golden_XXXXXX";
    path_ = mkdtemp(path);
  }
  ~TemporaryFolder() {
    for (const char* name : {"in.onnx", "out.onnx", "report.json"}) unlink(File(name).c_str());
    rmdir(path_.c_str());
  }
  std::string File(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return (std::stringstream() << file.rdbuf()).str();
}

}  // namespace

GoldenResult RewriteForGolden(const std::string& input_model_text, const std::vector<std::string>& options) {
  GoldenResult result;
  const TemporaryFolder folder;
  const absl::StatusOr<std::string> bytes = ParseOnnxText(input_model_text);
  if (!bytes.ok()) {
    result.error = "input text: " + std::string(bytes.status().message());
    return result;
  }
  std::ofstream(folder.File("in.onnx"), std::ios::binary) << *bytes;
  std::vector<std::string> arguments = {folder.File("in.onnx"), "-o", folder.File("out.onnx"), "--report",
                                        folder.File("report.json")};
  arguments.insert(arguments.end(), options.begin(), options.end());
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
  model.ParseFromString(ReadFile(folder.File("out.onnx")));
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
  const nlohmann::json report = nlohmann::json::parse(ReadFile(folder.File("report.json")));
  for (const auto& node : report["nodes"]) result.reasons[node["path"]] = node["because"];
  return result;
}

}  // namespace amp
