// ConvTranspose to few channels, against the reference: by one product and sums where windows overlap.
#include <string>

#include "absl/strings/str_cat.h"
#include "runtime/reference/reference_kernels.h"
#include "tests/catch2.h"
#include "tests/runtime/run_session.h"

namespace amp {
namespace {

struct OverlapCase {
  Dims x, w;
  std::string attributes;
  bool has_bias = true;
};

// "" where what comes out is what the reference gives.
std::string Fault(const OverlapCase& each, DType dtype) {
  const std::string type = dtype == DType::kFloat32 ? "float" : std::string(DTypeName(dtype));
  SessionText text = {
      .text =
          absl::StrCat("<ir_version: 10, opset_import: [\"\" : 22]> g (", type, "[] x) => (", type,
                       "[] y) { y = ConvTranspose <", each.attributes, "> (x, w", each.has_bias ? ", b" : "", ") }"),
      .constants = {{"w", RandomTensor(dtype, each.w, Values::kPlain, 0.1)}, {"b", RandomTensor(dtype, {each.w[1]})}}};
  if (!each.has_bias) text.constants.pop_back();
  SessionOptions with_reference;
  with_reference.find_kernels = FindReferenceKernels;
  const NamedDatums inputs = {{"x", RandomTensor(dtype, each.x)}};
  const auto session = MakeSession(text);
  const std::vector<Tensor> expected = RunSession(*MakeSession(text, with_reference), inputs);
  std::string difference;
  for (int run = 0; run < 2 && difference.empty(); ++run) {
    difference = DifferenceOf(RunSession(*session, inputs), expected, dtype == DType::kFloat32 ? 1e-5 : 1e-2);
  }
  return difference;
}

TEST_CASE("transposed convolutions to few channels: axes, strides, dilations, pads on either side, several images") {
  const OverlapCase cases[] = {
      {{1, 70, 20}, {70, 1, 64}, "strides = [16]"},
      {{3, 130, 9}, {130, 2, 20}, "strides = [7], pads = [3, 30]"},
      {{2, 70, 6}, {70, 1, 5}, "strides = [3], dilations = [4], pads = [9, 2], output_padding = [1]", false},
      {{2, 90, 4, 5}, {90, 2, 3, 4}, "strides = [2, 3], pads = [1, 0, 2, 3], dilations = [2, 1]"},
      {{1, 64, 8, 3}, {64, 1, 1, 9}, "strides = [1, 5], pads = [0, 4, 0, 8], output_padding = [0, 2]"},
      {{1, 40, 3, 4, 2}, {40, 1, 2, 3, 2}, "strides = [2, 1, 2], pads = [1, 0, 1, 0, 1, 0]"},
      {{1, 70, 2}, {70, 1, 3}, "strides = [9]"},
      {{1, 70, 5}, {70, 1, 4}, "auto_pad = \"SAME_UPPER\", strides = [2]"},
  };
  for (const OverlapCase& each : cases) {
    for (const DType dtype : kLoopFloats) {
      INFO(each.attributes << " " << DTypeName(dtype));
      CHECK(Fault(each, dtype) == "");
    }
  }
}

TEST_CASE("an inverse transform gives the same bits with any number of threads") {
  const SessionText text = {.text = R"(<ir_version: 10, opset_import: ["" : 22]>
    g (float[n,130,m] x) => (float[] y) { y = ConvTranspose <strides = [32]> (x, w) })",
                            .constants = {{"w", RandomTensor(DType::kFloat32, {130, 2, 128})}}};
  const NamedDatums inputs = {{"x", RandomTensor(DType::kFloat32, {2, 130, 50})}};
  SessionOptions one, two;
  one.threads = 1;
  two.threads = 2;
  CHECK(DifferenceOf(RunSession(*MakeSession(text, two), inputs), RunSession(*MakeSession(text, one), inputs), 0) ==
        "");
}

}  // namespace
}  // namespace amp
