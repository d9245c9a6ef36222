// Tests of --policy float32: a folder in which "in.onnx" is rewritten and taken back.
#ifndef AMP_TESTS_PASSES_UNDO_UNDO_FOLDER_H_
#define AMP_TESTS_PASSES_UNDO_UNDO_FOLDER_H_

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "ir/file/text.h"
#include "tests/catch2.h"
#include "tests/model_from_text.h"
#include "tests/tool_run.h"

namespace amp {

struct Undo : ToolFolder {
  using ToolFolder::ToolFolder;

  void Rewrite(const std::vector<std::string>& flags = {}) const {
    REQUIRE(RunTool("in.onnx", "low.onnx", flags).exit_code == 0);
    REQUIRE(folder.Read("low.onnx") != folder.Read("in.onnx"));
  }
  ToolOutput TakeBack(const std::string& from = "low.onnx") const {
    return RunTool(from, "back.onnx", {"--policy", "float32"});
  }
  std::string Text(const std::string& name) const { return *PrintOnnxText(Model(name)); }
  // Without the order of nodes, which is not taken back.
  std::string Lines(const std::string& name) const {
    std::vector<std::string> lines = absl::StrSplit(Text(name), '\n');
    std::sort(lines.begin(), lines.end());
    return absl::StrJoin(lines, "\n");
  }
};

inline std::string Record(const onnx::ModelProto& model) {
  for (const auto& entry : model.metadata_props()) {
    if (entry.key() == "amp.rewrite") return entry.value();
  }
  return "";
}

}  // namespace amp

#endif  // AMP_TESTS_PASSES_UNDO_UNDO_FOLDER_H_
