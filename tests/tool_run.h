// One run of amp-rewrite on a model written as text, in a folder of its own.
#ifndef AMP_TESTS_TOOL_RUN_H_
#define AMP_TESTS_TOOL_RUN_H_

#include <string>
#include <vector>

#include "ir/file/text.h"
#include "tests/catch2.h"
#include "tests/scratch_folder.h"
#include "tools/amp_rewrite.h"

namespace amp {

struct ToolRun {
  ScratchFolder folder;
  ToolOutput output;
  std::string in, out;  // paths

  ToolRun(const std::vector<std::string>& flags, absl::string_view model) {
    const absl::StatusOr<std::string> bytes = ParseOnnxText(model);
    REQUIRE(bytes.ok());
    in = folder.Write("in.onnx", *bytes);
    out = folder.File("out.onnx");
    std::vector<std::string> arguments = {in, "-o", out};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    output = RunAmpRewrite(arguments);
  }
};

}  // namespace amp

#endif  // AMP_TESTS_TOOL_RUN_H_
