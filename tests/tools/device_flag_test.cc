// What amp-run says of a device that it runs on, by the test double of one: what is missing there is an error, and what is
// slow there is said once.
#include "tools/device_flag.h"

#include <memory>
#include <string>
#include <vector>

#include "ir/file/text.h"
#include "tests/catch2.h"
#include "tests/runtime/device/host_memory_double.h"
#include "tests/scratch_folder.h"
#include "tools/amp_run.h"

namespace amp {
namespace {

using Catch::Matchers::Contains;

ToolOutput RunOnDouble(const std::string& graph, const DoubleLimits& limits, std::vector<std::string> flags = {}) {
  const ScratchFolder folder;
  const std::string model =
      folder.Write("m.onnx", *ParseOnnxText("<ir_version: 10, opset_import: [\"\" : 21]> g " + graph));
  flags.insert(flags.begin(), {model, "--random-inputs", "--device", "cuda"});
  return RunAmpRun(flags, {}, [&](int) { return OpenHostMemoryDouble(nullptr, limits); });
}

TEST_CASE("amp-run: a device without its library of products is one line and exit code 8, as soon as there is one") {
  const ToolOutput output =
      RunOnDouble("(float[4,3] a, float[3,2] b) => (float[4,2] y) { y = MatMul (a, b) }", {.has_products = false});
  CHECK(output.exit_code == 8);
  CHECK(output.out.empty());
  CHECK_THAT(output.err, Contains("amp-run: error: ") && Contains("double: the double has no products"));
  CHECK(output.err.find('\n') == output.err.size() - 1);
  const ToolOutput without = RunOnDouble("(float[4,3] a) => (float[4,3] y) { y = Relu (a) }", {.has_products = false});
  CHECK(without.exit_code == 0);
  CHECK(without.err.empty());
}

TEST_CASE("amp-run: a convolution in 16 bits without Tensor Cores is said once, on stderr") {
  const std::string two =
      "(float16[1,8,6,6] x, float16[8,8,3,3] w) => (float16[1,8,2,2] y) { h = Conv (x, w) y = Conv (h, w) }";
  const ToolOutput without = RunOnDouble(two, {.has_operations = false}, {"--explain", "--quiet"});
  CHECK(without.exit_code == 0);
  CHECK(without.err ==
        "amp-run: warning: a convolution in 16 bits runs without Tensor Cores: the double has no library\n");
  CHECK_THAT(without.out, Contains("direct convolution (device: the double has no library)"));
  const ToolOutput by_others = RunOnDouble(two, {.has_tensor_cores = false});
  CHECK(by_others.err ==
        "amp-run: warning: a convolution in 16 bits runs without Tensor Cores: library of the double\n");
  CHECK(RunOnDouble(two, {}).err.empty());
}

TEST_CASE(
    "amp-run: what a library of a device does not do, and a slow kernel there does, is said once for each reason") {
  const std::string two =
      "(float[1,8,6,6] x, float[8,8,3,3] w) => (float[1,8,2,2] y) { h = Conv (x, w) y = Conv (h, w) }";
  CHECK(RunOnDouble(two, {.has_operations = false}).err ==
        "amp-run: warning: a convolution runs in a slow kernel of our own: the double has no library\n");
  const ToolOutput products = RunOnDouble(
      "(float[4,3] a, float[3,2] b, float[2,2] c) => (float[4,2] y) { h = MatMul (a, b) y = MatMul (h, c) }",
      {.takes_products = false}, {"--explain"});
  CHECK(products.exit_code == 0);
  CHECK(products.err ==
        "amp-run: warning: products of matrices run in a slow kernel of our own: the double takes none\n");
  CHECK_THAT(products.out, Contains("kernel of our own: the double takes none"));
}

TEST_CASE("amp-run: convolutions that no Tensor Core computes are not warned of") {
  const ToolOutput wide = RunOnDouble("(float[1,8,6,6] x, float[8,8,3,3] w) => (float[1,8,4,4] y) { y = Conv (x, w) }",
                                      {.has_tensor_cores = false});
  CHECK(wide.exit_code == 0);
  CHECK(wide.err.empty());
  const ToolOutput depthwise =
      RunOnDouble("(float16[1,8,6,6] x, float16[8,1,3,3] w) => (float16[1,8,4,4] y) { y = Conv <group = 8> (x, w) }",
                  {.has_operations = false});
  CHECK(depthwise.exit_code == 0);
  CHECK(depthwise.err.empty());
}

TEST_CASE("amp-run: --verbose says how large copies go to a device") {
  const std::string graph = "(float[4,300] a) => (float[4,300] y) { y = Relu (a) }";
  CHECK_THAT(RunOnDouble(graph, {.stage_bytes = 1024}, {"--verbose"}).err,
             Contains("amp-run: large copies go through 2 x "));
  CHECK_THAT(RunOnDouble(graph, {.stage_bytes = 1024, .has_pinned_memory = false}, {"--verbose"}).err,
             Contains("amp-run: large copies go from and to pageable memory: none is pinned: "));
  CHECK_THAT(RunOnDouble(graph, {}, {"--verbose"}).err, !Contains("large copies"));
}

}  // namespace
}  // namespace amp
