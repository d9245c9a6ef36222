// Few long rows, which kernels of a device share out in parts, against the reference; and which rows are.
#include "runtime/device/split_rows.h"

#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "tests/catch2.h"
#include "tests/runtime/device/run_on_device.h"

namespace amp {
namespace {

constexpr int kMultiprocessors = 4;
constexpr float kInfinity = std::numeric_limits<float>::infinity();

// How many kernels the double started in a run, or how its results differ from the reference's.
std::string KernelsOrDifference(const BothCase& each) {
  const auto state = std::make_shared<FakeDeviceState>();
  const std::string difference = RunOnDevice(each, {OpenFakeDevice(state, {.num_multiprocessors = kMultiprocessors})});
  constexpr int kRuns = 3;
  return difference.empty() ? absl::StrCat(state->launches / kRuns) : difference;
}

TEST_CASE("device: reductions of few long rows, in two steps") {
  for (const DType dtype : kLoopFloats) {
    const double bound = dtype == DType::kFloat32 ? 1e-2 : 1;
    for (const std::string op : {"ReduceL1", "ReduceL2", "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin",
                                 "ReduceSum", "ReduceSumSquare"}) {
      for (const Dims& dims : {Dims{1, 16385}, Dims{7, 20011}, Dims{3, 5, 70, 80}}) {
        INFO(op << " " << DTypeName(dtype));
        const Tensor axes = dims.size() == 2 ? Tensor::OfInts({1}) : Tensor::OfInts({1, 2, 3});
        CHECK(KernelsOrDifference({.node = absl::StrCat("y = ", op, "<keepdims = 0>(a, b)"),
                                   .inputs = {RandomTensor(dtype, dims, Values::kPlain, 1), axes},
                                   .relative = 2e-5,
                                   .absolute = bound}) == "2");
      }
    }
    // Reduces every second axis, so that the elements lie apart.
    CHECK(KernelsOrDifference({.node = "y = ReduceMax<keepdims = 0>(a, b)",
                               .inputs = {RandomTensor(dtype, {130, 3, 140}), Tensor::OfInts({0, 2})}}) == "2");
  }
  CHECK(KernelsOrDifference({.node = "y = ReduceLogSum(a)",
                             .inputs = {RandomTensor(DType::kFloat32, {30'000}, Values::kPositive)},
                             .opset = 13,
                             .relative = 1e-5}) == "2");
}

TEST_CASE("device: rows that are many, or not long, are a team's each") {
  const auto sum = [](const Dims& dims) {
    return KernelsOrDifference({.node = "y = ReduceSum(a, b)",
                                .inputs = {RandomTensor(DType::kFloat32, dims), Tensor::OfInts({1})},
                                .relative = 1e-5,
                                .absolute = 1e-2});
  };
  CHECK(sum({2 * kMultiprocessors - 1, 16385}) == "2");
  CHECK(sum({2 * kMultiprocessors, 16385}) == "1");
  CHECK(sum({1, 16384}) == "1");
}

TEST_CASE("device: softmax of few long rows, along any axis, in two steps") {
  for (const DType dtype : kLoopFloats) {
    for (const std::string op : {"Softmax", "LogSoftmax"}) {
      CHECK(KernelsOrDifference({.node = absl::StrCat("y = ", op, "(a)"),
                                 .inputs = {RandomTensor(dtype, {2, 30'001})},
                                 .relative = 1e-4,
                                 .absolute = 1e-4}) == "2");
      CHECK(KernelsOrDifference({.node = absl::StrCat("y = ", op, "<axis = 1>(a)"),
                                 .inputs = {RandomTensor(dtype, {1, 20'000, 5})},
                                 .relative = 1e-4,
                                 .absolute = 1e-4}) == "2");
    }
  }
}

TEST_CASE("device: softmax in parts, of which some are -inf, or of what has no softmax") {
  constexpr size_t kSize = 20'000;
  const auto softmax = [](float filled, float at_first) {
    Tensor x = RandomTensor(DType::kFloat32, {1, kSize});
    const absl::Span<float> elements = x.mutable_elements<float>();
    std::fill(elements.begin() + 100, elements.end(), filled);
    elements[0] = at_first;
    return KernelsOrDifference({.node = "y = Softmax(a)", .inputs = {x}, .relative = 1e-4, .absolute = 1e-6});
  };
  CHECK(softmax(-kInfinity, 1) == "2");
  CHECK(softmax(-kInfinity, kInfinity) == "2");
  CHECK(softmax(-kInfinity, std::numeric_limits<float>::quiet_NaN()) == "2");
  Tensor none = RandomTensor(DType::kFloat32, {1, kSize});
  const absl::Span<float> elements = none.mutable_elements<float>();
  std::fill(elements.begin(), elements.end(), -kInfinity);
  CHECK(KernelsOrDifference({.node = "y = Softmax(a)", .inputs = {none}}) == "2");
}

TEST_CASE("device: norms of few long rows, in two steps, with their statistics") {
  for (const DType dtype : kLoopFloats) {
    const double bound = dtype == DType::kFloat32 ? 1e-4 : 2e-2;
    const auto run = [&](const std::string& node, const std::vector<Tensor>& inputs, int opset,
                         const std::vector<DType>& outputs = {}) {
      return KernelsOrDifference(
          {.node = node, .inputs = inputs, .opset = opset, .outputs = outputs, .relative = 1e-4, .absolute = bound});
    };
    const Tensor x = RandomTensor(dtype, {3, 20'005}), row = RandomTensor(dtype, {20'005});
    CHECK(run("y, z, w = LayerNormalization(a, b, c)", {x, row, row}, 22, {dtype, DType::kFloat32, DType::kFloat32}) ==
          "2");
    CHECK(run("y = RMSNormalization(a, b)", {x, row}, 23) == "2");
    const Tensor image = RandomTensor(dtype, {1, 6, 130, 140}), channels = RandomTensor(dtype, {6});
    CHECK(run("y = InstanceNormalization(a, b, c)", {image, channels, channels}, 22) == "2");
    CHECK(run("y = GroupNormalization<num_groups = 3>(a, b, c)", {image, channels, channels}, 22) == "2");
  }
}

TEST_CASE("device: the mean loss of many samples, in two steps") {
  constexpr int64_t kRows = 20'000;
  std::vector<int64_t> labels(kRows);
  for (size_t i = 0; i < labels.size(); ++i) labels[i] = static_cast<int64_t>(i % 3);
  CHECK(KernelsOrDifference({.node = "y = ai.amp.SparseSoftmaxCrossEntropy(a, b)",
                             .inputs = {RandomTensor(DType::kFloat32, {kRows, 3}), Tensor::OfInts(labels)},
                             .outputs = {DType::kFloat32},
                             .relative = 1e-5}) == "3");
}

}  // namespace
}  // namespace amp
