// Messages of amp-run about the device that it runs on, by the test double of one. A missing part is an error, and a
// slow operation is said once.
#include "tools/program/device_flag.h"

#include <memory>
#include <string>
#include <vector>

#include "ir/file/text.h"
#include "runtime/hardware/compatibility.h"
#include "tests/catch2.h"
#include "tests/runtime/device/fake_device.h"
#include "tests/scratch_folder.h"
#include "tools/run/amp_run.h"

namespace amp {
namespace {

using Catch::Matchers::Contains;

ToolOutput RunOnDouble(const std::string& graph, const FakeDeviceLimits& limits, std::vector<std::string> flags = {}) {
  const ScratchFolder folder;
  const std::string model =
      folder.Write("m.onnx", *ParseOnnxText("<ir_version: 10, opset_import: [\"\" : 21]> g " + graph));
  flags.insert(flags.begin(), {model, "--random-inputs", "--device", "cuda"});
  return RunAmpRun(flags, {}, {.open = [&](int) { return OpenFakeDevice(nullptr, limits); }});
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

// ---- --device auto

constexpr CpuFeatures kPlain = {.avx2 = true, .avx512 = true};
constexpr CpuFeatures kWithBfloat16 = {.avx2 = true, .avx512 = true, .avx512_bf16 = true};

Hardware Machine(std::vector<Gpu> gpus, const CpuFeatures& cpu) {
  for (size_t i = 0; i < gpus.size(); ++i) gpus[i].ordinal = static_cast<int>(i);
  return {.gpus = std::move(gpus), .no_gpu_why = "", .cuda_driver_version = 99000, .cpu = cpu};
}

const Gpu kT4 = {"Tesla T4", ComputeCapability{7, 5}}, kA100 = {"A100", ComputeCapability{8, 0}};

// A model with a value of the type, which amp-run opens device `opened` for: -1 for none.
struct AutoRun {
  ToolOutput output;
  int opened = -1;
};
AutoRun RunOnAuto(const std::string& type, const Hardware& hardware,
                  std::vector<std::string> flags = {"--device", "auto"}) {
  const ScratchFolder folder;
  const std::string model =
      folder.Write("m.onnx", *ParseOnnxText("<ir_version: 10, opset_import: [\"\" : 21]> g (" + type + "[2] x) => (" +
                                            type + "[2] y) { y = Relu (x) }"));
  flags.insert(flags.begin(), {model, "--random-inputs"});
  AutoRun run;
  const DeviceHost host = {.open =
                               [&](int ordinal) {
                                 run.opened = ordinal;
                                 return OpenFakeDevice();
                               },
                           .detect = [&] { return hardware; }};
  run.output = RunAmpRun(flags, {}, host);
  CHECK(run.output.exit_code == 0);
  return run;
}

TEST_CASE("amp-run --device auto takes the GPU that is the automatic target, and says so") {
  const AutoRun run = RunOnAuto("float16", Machine({kT4, kA100}, kPlain));
  CHECK(run.opened == 1);
  CHECK(run.output.err == "amp-run: note: --device auto: cuda:1, A100\n");
  const Hardware second = {.gpus = {{"A100", ComputeCapability{8, 0}, 3}}, .no_gpu_why = "", .cpu = kPlain};
  CHECK(RunOnAuto("float", second, {"--device", "auto", "-q"}).opened == 3);
  CHECK(RunOnAuto("float", second, {"--device", "auto", "-q"}).output.err.empty());
}

TEST_CASE("amp-run --device auto takes the processor without a GPU, in silence, and so does no flag with one") {
  const Hardware none = {.gpus = {}, .no_gpu_why = "no NVIDIA driver", .cuda_driver_version = {}, .cpu = kPlain};
  const AutoRun run = RunOnAuto("float16", none);
  CHECK(run.opened == -1);
  CHECK(run.output.err.empty());
  CHECK(RunOnAuto("float16", Machine({kA100}, kPlain), {}).opened == -1);
  CHECK(RunOnAuto("float16", Machine({kA100}, kPlain), {"--device", "cpu"}).opened == -1);
}

TEST_CASE("the automatic device is the automatic target, on every machine and for every type") {
  const std::vector<std::vector<Gpu>> gpus = {
      {}, {kT4}, {kA100, kT4}, {{"Tesla P4", ComputeCapability{6, 1}}}, {{"Odd", {}}}};
  for (const std::vector<Gpu>& each : gpus) {
    for (const CpuFeatures& cpu : {kPlain, kWithBfloat16}) {
      const Hardware hardware = Machine(each, cpu);
      for (const std::string type : {"float", "float16", "bfloat16"}) {
        const DType low = type == "float16"    ? DType::kFloat16
                          : type == "bfloat16" ? DType::kBfloat16
                                               : ChooseLowType(hardware);
        INFO(type << " on " << (each.empty() ? "no GPU" : each[0].name) << ", " << CpuTarget(cpu).name);
        CHECK((RunOnAuto(type, hardware).opened >= 0) == (ChooseTarget(hardware, low).device == Device::kCuda));
      }
    }
  }
  CHECK(RunOnAuto("bfloat16", Machine({kT4}, kWithBfloat16)).opened == -1);  // where it is emulated
  CHECK(RunOnAuto("float16", Machine({kT4}, kWithBfloat16)).opened == 0);
}

TEST_CASE("a GPU that models cannot run on here is no automatic device or target") {
  const Hardware stated = Machine({{"Odd", {}}, {"Tesla P4", ComputeCapability{6, 1}}}, kPlain);
  const Hardware usable = UsableHardware(stated);
  CHECK(usable.gpus.empty());
  CHECK_THAT(usable.no_gpu_why, Contains("Odd has compute capability unknown"));
  CHECK(ChooseTarget(usable, DType::kFloat16).name == "cpu:avx512");
  const Hardware good = UsableHardware(Machine({{"Odd", {}}, kA100}, kPlain));
  if (good.gpus.empty()) {
    WARN("built without CUDA: no GPU can be used");
    return;
  }
  CHECK(good.gpus.size() == 1);
  CHECK(good.gpus[0].ordinal == 1);
  CHECK(good.no_gpu_why.empty());
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
