// What a run says on stderr besides errors: advice and warnings about the result.
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "ir/text.h"
#include "tests/catch2.h"
#include "tests/scratch_folder.h"
#include "tools/amp_rewrite.h"

namespace amp {
namespace {

// stderr of a run on a model of opset 17, without the program's and the model's name.
std::string Said(const std::string& graph, const std::vector<std::string>& flags = {}) {
  const ScratchFolder folder;
  const absl::StatusOr<std::string> bytes =
      ParseOnnxText(absl::StrCat("<ir_version: 8, opset_import: [\"\" : 17]> ", graph));
  REQUIRE(bytes.ok());
  const std::string in = folder.Write("in.onnx", *bytes);
  std::vector<std::string> arguments = {in, "-o", folder.File("out.onnx")};
  arguments.insert(arguments.end(), flags.begin(), flags.end());
  const ToolOutput output = RunAmpRewrite(arguments);
  INFO(output.err);
  REQUIRE(output.exit_code == 0);
  return absl::StrReplaceAll(output.err, {{"amp-rewrite: ", ""}, {in + ": ", ""}});
}

TEST_CASE("weights that grew: the readers that keep an original are named") {
  CHECK(Said(R"(g (float[2,2] x) => (float[2,2] y, float[2,2] a, float[2,2] b, float[2,2] c, int64[2] s)
      <float[2,2] w = {1, 2, 3, 4}> {
    y = MatMul (x, w)
    [e1] a = Exp (w)
    [e2] b = Exp (w)
    c = Exp (w)
    s = Shape (w)
  })") == "advice: the weights grew: float32 originals stay for readers that are float32: e1, e2, Exp#0\n");
  CHECK(Said(R"(g (float[2,2] x) => (float[2,2] y, float[2,2] w) {
    w = Constant <value = float[2,2] {1, 2, 3, 4}> ()
    y = MatMul (x, w)
  })") == "advice: the weights grew: float32 originals stay for readers that are float32: (output w)\n");
}

TEST_CASE("no weight grows for readers of its shape alone") {
  CHECK(Said(R"(g (float[2,2] x) => (float[2,2] y, int64[2] s) <float[2,2] w = {1, 2, 3, 4}> {
    y = MatMul (x, w)
    s = Shape (w)
  })")
            .empty());
}

}  // namespace
}  // namespace amp
