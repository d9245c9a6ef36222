// Tests of --policy float32: a folder in which "in.onnx" is rewritten and taken back.
#ifndef AMP_TESTS_PASSES_UNDO_FOLDER_H_
#define AMP_TESTS_PASSES_UNDO_FOLDER_H_

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "ir/file/text.h"
#include "tests/catch2.h"
#include "tests/model_from_text.h"
#include "tests/scratch_folder.h"
#include "tools/amp_rewrite.h"

namespace amp {

struct Undo {
  ScratchFolder folder;

  explicit Undo(absl::string_view model) {
    const absl::StatusOr<std::string> bytes = ParseOnnxText(model);
    REQUIRE(bytes.ok());
    folder.Write("in.onnx", *bytes);
  }
  ToolOutput Run(const std::string& in, const std::string& out, std::vector<std::string> flags) const {
    std::vector<std::string> arguments = {folder.File(in), "-o", folder.File(out)};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    ToolOutput output = RunAmpRewrite(arguments);
    INFO(output.err);
    return output;
  }
  void Rewrite(const std::vector<std::string>& flags = {}) const {
    REQUIRE(Run("in.onnx", "low.onnx", flags).exit_code == 0);
    REQUIRE(folder.Read("low.onnx") != folder.Read("in.onnx"));
  }
  ToolOutput TakeBack(const std::string& from = "low.onnx") const {
    return Run(from, "back.onnx", {"--policy", "float32"});
  }
  onnx::ModelProto Load(const std::string& name) const {
    onnx::ModelProto model;
    REQUIRE(model.ParseFromString(folder.Read(name)));
    return model;
  }
  std::string Text(const std::string& name) const { return *PrintOnnxText(Load(name)); }
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

#endif  // AMP_TESTS_PASSES_UNDO_FOLDER_H_
