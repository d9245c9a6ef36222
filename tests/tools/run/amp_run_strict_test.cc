// The nodes that --strict refuses and --explain counts: those whose 16-bit results a reference kernel computes, and not
// those that it only copies.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/catch2.h"
#include "tests/tools/run/amp_run_folder.h"

namespace amp {
namespace {

using Catch::Matchers::Contains;

struct Case {
  std::string node;        // gives y, of x: float16[n,2,4,4], m: float16[n,4], i: int64[n,2] or d: bool
  std::string given = "";  // initializers
  int opset = 21;
  std::string output = "float16";
};

void WriteCase(const Runs& runs, const Case& c) {
  runs.WriteModel("case.onnx",
                  absl::StrCat("<ir_version: 10, opset_import: [\"\" : ", c.opset, "]> ",
                               "g (float16[n,2,4,4] x, float16[n,4] m, int64[n,2] i, bool d) => (", c.output,
                               " y, float16 z) <", c.given, "> { z = Identity (m) [node] ", c.node, " }"));
}

std::vector<std::string> Flags(const std::string& flag) {
  return {"--random-inputs", "--dim", "n=4", "--no-fuse=constants", flag};
}

TEST_CASE("strict lets pass what only copies 16-bit values") {
  const std::string twice = "float[4] s = {1, 1, 2, 2}";
  const std::vector<Case> cases = {
      {"y = Resize <mode = \"nearest\"> (x, , s)", twice},
      {"y = Resize (x, , s)", twice},  // nearest by default
      {"y = Resize <coordinate_transformation_mode = \"tf_crop_and_resize\"> (x, r, s)",
       twice + ", float[8] r = {0, 0, 0, 0, 1, 1, 2, 2}"},
      {"y = Upsample (x, s)", twice, 9},
      {"y = Upsample <scales = [1.0, 1.0, 2.0, 2.0]> (x)", "", 7},
      {"s = Shape (x) y = ConstantOfShape <value = float16[1] {15360}> (s)"},
      {"y, mask = Dropout (x)"},
      {"y, mask = Dropout (x, , t)", "bool t = {0}"},
      {"y, mask = Dropout (x)", "", 7, "float16"},
      {"y, mask = Dropout <is_test = 1> (x)", "", 6, "float16"},
      {"y = Identity (x)"},
      {"y = Pad (x, p)", "int64[8] p = {0, 0, 1, 1, 0, 0, 1, 1}"},
      {"y = OneHot (i, c, v)", "int64 c = {3}, float16[2] v = {0, 15360}"},
      {"y = EyeLike (m)"},
      {"b = IsNaN (x) y = Where (b, x, x)"},
      {"y = Trilu (m)"},
      {"y = Unique (m)"},
      {"y = Compress (x, t)", "bool[3] t = {1, 0, 1}"},
      {"y, at = TopK (m, k)", "int64[1] k = {2}"},
      {"y = Hardmax (m)"},
      {"y = ScatterElements (m, at, u)", "int64[1,1] at = {1}, float16[1,1] u = {15360}"},
      {"y = ScatterND (m, at, u)", "int64[1,2] at = {1, 1}, float16[1] u = {15360}"},
      {"y = Scatter (m, at, u)", "int64[1,1] at = {1}, float16[1,1] u = {15360}", 10},
      {"y = TensorScatter (x, x)", "", 24},
      {"y = MaxUnpool <kernel_shape = [1, 1]> (w, at)",
       "float16[1,1,1,2] w = {15360, 15360}, int64[1,1,1,2] at = {0, 1}"},
      {"y = GridSample <mode = \"nearest\"> (w, at)", "float16[1,1,1,2] w = {15360, 0}, double[1,1,1,2] at = {0, 0}"},
      {"b = BitCast <to = 5> (x) y = BitCast <to = 10> (b)", "", 26},
      {"q = SequenceEmpty <dtype = 10> () l = SequenceInsert (q, x) y = ConcatFromSequence <axis = 0> (l)"},
  };
  const Runs runs;
  for (const Case& c : cases) {
    INFO(c.node << " of opset " << c.opset);
    WriteCase(runs, c);
    const ToolOutput strict = runs.Run(Flags("--strict"), "@case.onnx");
    CHECK(strict.err.empty());
    CHECK(strict.exit_code == 0);
    const ToolOutput explained = runs.Run(Flags("--explain"), "@case.onnx");
    CHECK_THAT(explained.out, Contains("\n0 of ") && Contains("widened") && !Contains("float64 "));
  }
}

TEST_CASE("strict refuses what moves and computes, by attributes and inputs") {
  const std::vector<Case> cases = {
      {"y = Resize <mode = \"linear\", coordinate_transformation_mode = \"tf_crop_and_resize\"> (x, r, s)",
       "float[4] s = {1, 1, 2, 2}, float[8] r = {0, 0, 0, 0, 1, 1, 1, 1}"},
      {"y, mask = Dropout (x, , t)", "bool t = {1}"},
      {"y, mask = Dropout (x, , d)"},  // whatever d is in a run
      {"y, mask = Dropout (x)", "", 6, "float16"},
      {"y = ScatterElements <reduction = \"add\"> (m, at, u)", "int64[1,1] at = {1}, float16[1,1] u = {15360}"},
      {"y = ScatterND <reduction = \"mul\"> (m, at, u)", "int64[1,2] at = {1, 1}, float16[1] u = {15360}"},
      {"y = GridSample (w, at)", "float16[1,1,1,2] w = {15360, 0}, double[1,1,1,2] at = {0, 0}"},
      {"y = CumSum (m, k)", "int64 k = {1}"},
  };
  const Runs runs;
  for (const Case& c : cases) {
    INFO(c.node << " of opset " << c.opset);
    WriteCase(runs, c);
    runs.Fails(Flags("--strict"), 3, "its 16-bit values would be computed in float64", "@case.onnx");
    const ToolOutput explained = runs.Run(Flags("--explain"), "@case.onnx");
    CHECK_THAT(explained.out, Contains("\n1 of ") && Contains("widened") && Contains("float64 "));
  }
}

}  // namespace
}  // namespace amp
