// Runs of amp-rewrite on a model written as text, in a folder of their own.
#ifndef AMP_TESTS_TOOL_RUN_H_
#define AMP_TESTS_TOOL_RUN_H_

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "ir/file/text.h"
#include "onnx/onnx_pb.h"
#include "tests/catch2.h"
#include "tests/scratch_folder.h"
#include "tools/rewrite/amp_rewrite.h"

namespace amp {

// mm is low, mul is held high by a guard, the node without a name by its class.
inline constexpr absl::string_view kThreeNodes = R"(<ir_version: 8, opset_import: ["" : 17]>
  g (float[2,4] x) => (float[2,2] y) <float[4,2] w = {1, 2, 3, 4, 5, 6, 7, -8}, float epsilon = {1e-12}> {
    [mm] a = MatMul (x, w)
    [mul] b = Mul (a, epsilon)
    y = Softmax (b)
  })";

// The line of a run that fails with this exit code, without "amp-rewrite: error: " and the newline.
inline std::string ErrorLine(const ToolOutput& output, int exit_code) {
  INFO(output.err);
  CHECK(output.exit_code == exit_code);
  CHECK(output.out.empty());
  constexpr absl::string_view kBegin = "amp-rewrite: error: ";
  REQUIRE(absl::StartsWith(output.err, kBegin));
  REQUIRE(output.err.find('\n') + 1 == output.err.size());
  return output.err.substr(kBegin.size(), output.err.size() - kBegin.size() - 1);
}

// A folder that holds the model as "in.onnx".
struct ToolFolder {
  ScratchFolder folder;
  std::string in = folder.File("in.onnx"), out = folder.File("out.onnx");

  explicit ToolFolder(const onnx::ModelProto& model) { folder.Write("in.onnx", model.SerializeAsString()); }
  explicit ToolFolder(absl::string_view model) {
    const absl::StatusOr<std::string> bytes = ParseOnnxText(model);
    REQUIRE(bytes.ok());
    folder.Write("in.onnx", *bytes);
  }
  ToolOutput RunTool(const std::vector<std::string>& flags) const { return RunTool("in.onnx", "out.onnx", flags); }
  ToolOutput RunTool(const std::string& from, const std::string& to, const std::vector<std::string>& flags) const {
    std::vector<std::string> arguments = {folder.File(from), "-o", folder.File(to)};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    return RunAmpRewrite(arguments);
  }
  onnx::ModelProto Model(const std::string& name = "out.onnx") const {
    onnx::ModelProto model;
    REQUIRE(model.ParseFromString(folder.Read(name)));
    return model;
  }
};

// One run, from "in.onnx" to "out.onnx".
struct ToolRun : ToolFolder {
  ToolOutput output;

  explicit ToolRun(const std::vector<std::string>& flags, absl::string_view model = kThreeNodes)
      : ToolFolder(model), output(RunTool(flags)) {}
  ToolRun(const std::vector<std::string>& flags, const onnx::ModelProto& model)
      : ToolFolder(model), output(RunTool(flags)) {}
};

}  // namespace amp

#endif  // AMP_TESTS_TOOL_RUN_H_
