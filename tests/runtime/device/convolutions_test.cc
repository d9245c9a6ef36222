// Convolutions on a device, against the reference.
#include "absl/strings/str_cat.h"
#include "tests/catch2.h"
#include "tests/runtime/device/run_on_device.h"

namespace amp {
namespace {

using Catch::Matchers::Contains;

struct ConvolutionCase {
  Dims x, w;
  std::string attributes;
};

// With the devices' libraries, and without. `filters`: of the bias; 0: there is none.
std::string RunConvolution(const std::string& op, const ConvolutionCase& each, DType dtype, int64_t filters,
                           double absolute = 1e-4) {
  BothCase both = {.node = "y = " + op + "<" + each.attributes + (filters > 0 ? ">(a, b, c)" : ">(a, b)"),
                   .inputs = {RandomTensor(dtype, each.x), RandomTensor(dtype, each.w, Values::kPlain, 0.3)},
                   .opset = 22,
                   .relative = 1e-5,
                   .absolute = absolute};
  if (filters > 0) both.inputs.push_back(RandomTensor(dtype, {filters}));
  static const auto& without =
      *new std::vector<std::shared_ptr<Accelerator>>{OpenFakeDevice(nullptr, {.has_operations = false})};
  return RunOnDevice(both) + RunOnDevice(both, without);
}

TEST_CASE("device: convolutions of one to three axes, in groups, with strides, dilations and pads") {
  const ConvolutionCase cases[] = {
      {{2, 3, 11}, {4, 3, 3}, "strides = [2], pads = [1, 0]"},
      {{2, 4, 9, 8}, {6, 4, 3, 2}, "strides = [2, 1], pads = [1, 0, 1, 1]"},
      {{1, 4, 9, 8}, {6, 2, 3, 3}, "group = 2, dilations = [2, 1]"},
      {{1, 6, 7, 7}, {6, 1, 3, 3}, "group = 6, auto_pad = \"SAME_UPPER\", strides = [2, 2]"},
      {{1, 3, 5, 6}, {5, 3, 1, 1}, "group = 1"},
      {{1, 2, 5, 6, 7}, {3, 2, 2, 3, 2}, "strides = [1, 2, 2], pads = [1, 1, 0, 0, 1, 1]"}};
  for (const ConvolutionCase& each : cases) {
    for (const DType dtype : kLoopFloats) CHECK(RunConvolution("Conv", each, dtype, each.w[0]) == "");
  }
}

// Returns the bound for transposed convolutions with a bias. cuDNN has no engine that adds a bias to one, nor one that
// gives float32 from 16 bits, so that the bias is added to results that have been rounded.
double RoundingAheadOfBias(DType dtype) {
  constexpr double kLargest = 8;  // of what is rounded
  return dtype == DType::kFloat16 ? kLargest * 0x1p-11 : dtype == DType::kBfloat16 ? kLargest * 0x1p-8 : 1e-4;
}

TEST_CASE("device: transposed convolutions") {
  const ConvolutionCase cases[] = {
      {{2, 3, 5}, {3, 4, 3}, "strides = [2]"},
      {{1, 4, 5, 4}, {4, 2, 3, 2}, "strides = [2, 3], pads = [1, 0, 1, 1], output_padding = [1, 0]"},
      {{1, 4, 5, 4}, {4, 3, 3, 3}, "group = 2, dilations = [2, 1]"},
      {{1, 2, 4, 4}, {2, 3, 3, 3}, "auto_pad = \"SAME_LOWER\", strides = [2, 2]"},
      {{1, 2, 3, 4, 3}, {2, 2, 2, 2, 3}, "strides = [2, 1, 2]"}};
  for (const ConvolutionCase& each : cases) {
    const int64_t groups = each.attributes.starts_with("group = 2") ? 2 : 1;
    for (const DType dtype : kLoopFloats) {
      CHECK(RunConvolution("ConvTranspose", each, dtype, 0) == "");
      CHECK(RunConvolution("ConvTranspose", each, dtype, each.w[1] * groups, RoundingAheadOfBias(dtype)) == "");
    }
  }
}

TEST_CASE("device: FusedConv adds and applies its activation, by the library, by a chain behind it, and without one") {
  const char* const kActivations[] = {"activation = \"Relu\"",
                                      "activation = \"Tanh\"",
                                      "activation = \"Sigmoid\"",
                                      "activation = \"LeakyRelu\", activation_params = [0.2]",
                                      "activation = \"Clip\", activation_params = [0.0, 1.5]",
                                      "activation = \"HardSigmoid\", activation_params = [0.3, 0.4]"};
  const ConvolutionCase cases[] = {{{2, 4, 9, 8}, {6, 4, 3, 2}, "strides = [2, 1], pads = [1, 0, 1, 1]"},
                                   {{1, 6, 7, 7}, {6, 1, 3, 3}, "group = 6, pads = [1, 1, 1, 1]"}};
  static const auto& without =
      *new std::vector<std::shared_ptr<Accelerator>>{OpenFakeDevice(nullptr, {.has_operations = false})};
  const auto node_of = [](const ConvolutionCase& each, absl::string_view activation, absl::string_view names) {
    return absl::StrCat("y = com.microsoft.FusedConv<", each.attributes, ", ", activation, ">(", names, ")");
  };
  for (const ConvolutionCase& each : cases) {
    const Dims y = each.w[1] == 1 ? Dims{1, 6, 7, 7} : Dims{2, 6, 5, 8};
    for (const char* const activation : kActivations) {
      for (const DType dtype : {DType::kFloat32, DType::kFloat16}) {
        for (const char* const names : {"a, b", "a, b, c", "a, b, , d", "a, b, c, d"}) {
          const BothCase both = {.node = node_of(each, activation, names),
                                 .inputs = {RandomTensor(dtype, each.x, Values::kPlain, 1),
                                            RandomTensor(dtype, each.w, Values::kPlain, 0.3), RandomTensor(dtype, {6}),
                                            RandomTensor(dtype, y)},
                                 .opset = 21,
                                 .relative = 1e-5,
                                 .absolute = dtype == DType::kFloat32 ? 1e-4 : 5e-3};
          CHECK(RunOnDevice(both) + RunOnDevice(both, without) == "");
        }
      }
    }
  }
  const Tensor x = RandomTensor(DType::kFloat32, {1, 3, 5, 5}), w = RandomTensor(DType::kFloat32, {2, 3, 3, 3});
  CHECK_THAT(WhyOnHost({.node = "y = com.microsoft.FusedConv<activation = \"Softsign\">(a, b)", .inputs = {x, w}}),
             Contains("an activation that no device has"));
}

TEST_CASE("device: what does not fit is left to the processor, which says what is wrong") {
  const Tensor x = RandomTensor(DType::kFloat32, {1, 3, 5, 5}), w = RandomTensor(DType::kFloat32, {2, 4, 3, 3});
  CHECK_THAT(WhyOnHost({.node = "y = Conv(a, b)", .inputs = {x, w}}), Contains("error: ") && Contains("expected W"));
  const Tensor list = RandomTensor(DType::kFloat64, {1, 1, 4});
  CHECK_THAT(WhyOnHost({.node = "y = Conv(a, b)", .inputs = {list, list}}), Contains("another type than float32"));
}

}  // namespace
}  // namespace amp
