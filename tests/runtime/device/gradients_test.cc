// Gradients on a device, functions of domain ai.amp, and BatchNormalization that trains, against the reference.
#include "absl/strings/str_cat.h"
#include "runtime/kernel/shape_math.h"
#include "tests/catch2.h"
#include "tests/runtime/device/run_on_device.h"

namespace amp {
namespace {

using Catch::Matchers::Contains;

// Equal elements among them.
Tensor Rounded(Tensor tensor) {
  std::vector<double> numbers = *ReadDoubles(tensor);
  for (double& number : numbers) number = std::round(number);
  AMP_CHECK(WriteDoubles(numbers, tensor).ok());
  return tensor;
}

// ---- weights --------------------------------------------------------------------------------------------------------

TEST_CASE("device: gradients of a product's weights are float32, of operands of every type") {
  struct Product {
    Dims a, b;
    std::string attributes;
  };
  const Product products[] = {{{12, 7}, {12, 9}, "alpha = 1.0, transA = 1, transB = 0"},
                              {{7, 12}, {12, 9}, "alpha = 0.5, transA = 0, transB = 0"},
                              {{12, 7}, {9, 12}, "alpha = 2.0, transA = 1, transB = 1"},
                              {{7, 12}, {9, 12}, "transB = 1"},
                              {{0, 7}, {0, 9}, "transA = 1"},  // zeros
                              {{12, 0}, {12, 9}, "transA = 1"}};
  for (const Product& product : products) {
    const std::string node = absl::StrCat("y = ai.amp.MatrixWeightGradient <to = 1, ", product.attributes, "> (a, b)");
    for (const DType dtype : kLoopFloats) {
      INFO(node << " " << DTypeName(dtype));
      CHECK(RunOnDevice({.node = node,
                         .inputs = {RandomTensor(dtype, product.a), RandomTensor(dtype, product.b)},
                         .outputs = {DType::kFloat32},
                         .relative = 1e-5,
                         .absolute = 1e-4}) == "");
    }
  }
}

TEST_CASE("device: a product's weights are the device's also where the library takes none, but not of another type") {
  const BothCase each = {.node = "y = ai.amp.MatrixWeightGradient <to = 1, transA = 1> (a, b)",
                         .inputs = {RandomTensor(DType::kFloat16, {4, 3}), RandomTensor(DType::kFloat16, {4, 5})},
                         .outputs = {DType::kFloat32},
                         .absolute = 1e-4};
  CHECK(RunOnDevice(each, {OpenFakeDevice(nullptr, {.takes_products = false})}) == "");
  BothCase other = each;
  other.node = "y = ai.amp.MatrixWeightGradient <to = 11, transA = 1> (a, b)";
  other.outputs = {DType::kFloat64};
  CHECK_THAT(WhyOnHost(other), Contains("device: another type than float32"));
  other = each;
  other.inputs[1] = RandomTensor(DType::kFloat16, {3, 5});
  CHECK_THAT(WhyOnHost(other), Contains("error: "));
}

struct Windows {
  Dims x, g;
  std::string attributes;
};

TEST_CASE("device: gradients of a convolution's weights, by the library and without it") {
  const Windows all[] = {
      {{2, 3, 8, 9}, {2, 5, 6, 7}, "kernel_shape = [3,3]"},
      {{3, 16, 7, 7}, {3, 32, 7, 7}, "kernel_shape = [3,3], pads = [1,1,1,1]"},
      {{5, 6, 9, 11}, {5, 9, 5, 4}, "kernel_shape = [3,2], strides = [2,3], pads = [2,0,1,1], group = 3"},
      {{2, 8, 9, 9}, {2, 8, 9, 9}, "kernel_shape = [3,3], pads = [1,1,1,1], group = 8"},
      {{2, 4, 15, 13}, {2, 6, 11, 7}, "kernel_shape = [3,4], dilations = [2,2]"},
      {{2, 4, 15, 14}, {2, 6, 5, 4}, "kernel_shape = [3,2], dilations = [1,3], strides = [3,3], pads = [0,0,1,1]"},
      {{2, 5, 4, 6}, {2, 7, 1, 1}, "kernel_shape = [4,6]"},
      {{2, 3, 17}, {2, 4, 17}, "kernel_shape = [5], pads = [2,2]"},
      {{2, 2, 5, 6, 7}, {2, 3, 4, 4, 6}, "kernel_shape = [2,3,2]"},
      {{2, 3, 9, 9}, {2, 4, 4, 4}, "kernel_shape = [3,3], strides = [2,2], pads = [0,0,2,2]"},
      {{2, 3, 9, 9}, {2, 4, 4, 4}, "kernel_shape = [3,3]"},  // fewer than there is room for
      {{0, 3, 8, 9}, {0, 5, 6, 7}, "kernel_shape = [3,3]"}};
  for (const Windows& windows : all) {
    const std::string node = absl::StrCat("y = ai.amp.ConvWeightGradient <to = 1, ", windows.attributes, "> (a, b)");
    for (const DType dtype : kLoopFloats) {
      INFO(node << " " << DTypeName(dtype));
      CHECK(RunOnDevice({.node = node,
                         .inputs = {RandomTensor(dtype, windows.x), RandomTensor(dtype, windows.g)},
                         .outputs = {DType::kFloat32},
                         .relative = 1e-5,
                         .absolute = 1e-3}) == "");
    }
  }
  CHECK_THAT(
      WhyOnHost({.node = "y = ai.amp.ConvWeightGradient <to = 1, kernel_shape = [3,3]> (a, b)",
                 .inputs = {RandomTensor(DType::kFloat32, {2, 3, 8, 9}), RandomTensor(DType::kFloat32, {2, 5, 7, 7})}}),
      Contains("expected windows within 8 elements"));
}

// ---- tables ---------------------------------------------------------------------------------------------------------

TEST_CASE("device: gradients of a table whose rows were picked, some of them more than once") {
  const std::string node = "y = ai.amp.GatherGradient <to = 1> (a, b, c)";
  struct Picked {
    Dims table, indices, g;
    std::vector<int64_t> rows;
  };
  const Picked all[] = {{{5, 3}, {2, 2}, {2, 2, 3}, {4, 0, -1, 4}},
                        {{5, 3}, {0}, {0, 3}, {}},
                        {{4}, {7}, {7}, {3, 2, 3, 3, -4, 2, 3}},
                        {{4, 2, 3}, {}, {2, 3}, {2}},
                        {{4, 0}, {2}, {2, 0}, {1, 1}},
                        {{0, 3}, {0}, {0, 3}, {}}};
  for (const Picked& picked : all) {
    for (const DType dtype : kLoopFloats) {
      BothCase each = {.node = node,
                       .inputs = {Tensor::OfInts(picked.table), Tensor::OfInts(picked.rows).Reshaped(picked.indices),
                                  RandomTensor(dtype, picked.g)},
                       .outputs = {DType::kFloat32},
                       .absolute = 2e-6};
      CHECK(RunOnDevice(each) == "");
      CHECK(RunBoth(each) == "");
    }
  }
  CHECK_THAT(
      WhyOnHost({.node = node,
                 .inputs = {Tensor::OfInts({4, 2}), Tensor::OfInts({0, 4}), RandomTensor(DType::kFloat32, {2, 2})},
                 .outputs = {DType::kFloat32}}),
      Contains("index 4 is out of range for 4 rows"));
  CHECK_THAT(
      WhyOnHost({.node = node,
                 .inputs = {Tensor::OfInts({4, 2}), Tensor::OfInts({0, 3}), RandomTensor(DType::kFloat32, {2, 3})},
                 .outputs = {DType::kFloat32}}),
      Contains("expected a gradient of rows of [4,2] that 2 indices picked"));
}

// ---- pools ----------------------------------------------------------------------------------------------------------

TEST_CASE("device: gradients of MaxPool: windows of all kinds, NaN and padding alone") {
  const Windows pools[] = {
      {{2, 19, 8, 6}, {2, 19, 4, 3}, "kernel_shape = [2,2], strides = [2,2]"},
      {{2, 3, 9, 13}, {2, 3, 9, 13}, "kernel_shape = [3,3], pads = [1,1,1,1]"},
      {{1, 17, 9, 13}, {1, 17, 4, 7}, "kernel_shape = [3,2], strides = [2,2], pads = [0,1,0,0]"},
      {{1, 2, 9, 13}, {1, 2, 5, 7}, "kernel_shape = [2,3], strides = [2,2], pads = [0,0,0,1], ceil_mode = 1"},
      {{2, 33, 9, 13}, {2, 33, 5, 11}, "kernel_shape = [3,2], dilations = [2,3], pads = [0,1,0,0]"},
      {{2, 5, 9, 13}, {2, 5, 1, 1}, "kernel_shape = [9,13]"},
      {{2, 5, 41}, {2, 5, 14}, "kernel_shape = [3], strides = [3], pads = [1,1]"},
      {{1, 2, 4}, {1, 2, 4}, "kernel_shape = [2], dilations = [6], pads = [4,2]"},  // nothing but padding
      {{2, 16, 4, 5, 6}, {2, 16, 2, 4, 3}, "kernel_shape = [2,2,2], strides = [2,1,2]"}};
  for (const Windows& pool : pools) {
    INFO(pool.attributes);
    const std::string node = absl::StrCat("y = ai.amp.MaxPoolGradient <to = 1, ", pool.attributes, "> (a, b)");
    for (const DType dtype : kLoopFloats) {
      const Tensor x = Rounded(RandomTensor(dtype, pool.x)), g = Rounded(RandomTensor(dtype, pool.g));
      CHECK(RunOnDevice({.node = node, .inputs = {x, g}}) == "");
    }
    CHECK(RunOnDevice({.node = node,
                       .inputs = {RandomTensor(DType::kFloat32, pool.x, Values::kWithSpecial),
                                  Rounded(RandomTensor(DType::kFloat32, pool.g))}}) == "");
  }
  CHECK_THAT(
      WhyOnHost({.node = "y = ai.amp.MaxPoolGradient <to = 1, kernel_shape = [2]> (a, b)",
                 .inputs = {RandomTensor(DType::kFloat32, {1, 2, 4}), RandomTensor(DType::kFloat32, {1, 2, 4})}}),
      Contains("error: "));
}

TEST_CASE("device: gradients of AveragePool, by one share and by those of each window") {
  const Windows pools[] = {{{2, 3, 8, 6}, {2, 3, 4, 3}, "kernel_shape = [2,2], strides = [2,2]"},
                           {{2, 3, 9, 13}, {2, 3, 9, 13}, "kernel_shape = [3,3], pads = [1,1,1,1]"},
                           {{1, 2, 9, 13}, {1, 2, 4, 7}, "kernel_shape = [3,2], strides = [2,2], pads = [0,1,0,0]"},
                           {{2, 5, 9, 13}, {2, 5, 1, 1}, "kernel_shape = [9,13]"},
                           {{2, 5, 41}, {2, 5, 14}, "kernel_shape = [3], strides = [3], pads = [1,1]"},
                           {{2, 4, 4, 5, 6}, {2, 4, 2, 4, 3}, "kernel_shape = [2,2,2], strides = [2,1,2]"}};
  for (const Windows& pool : pools) {
    INFO(pool.attributes);
    const std::string node = absl::StrCat("y = ai.amp.AveragePoolGradient <to = 1, ", pool.attributes, "> (a, b, c)");
    Dims of_windows = pool.g;
    of_windows[0] = of_windows[1] = 1;
    for (const DType dtype : kLoopFloats) {
      for (const Dims& shares : {Dims{}, of_windows}) {
        CHECK(RunOnDevice({.node = node,
                           .inputs = {RandomTensor(dtype, pool.g), RandomTensor(DType::kFloat32, shares),
                                      Tensor::OfInts(pool.x)},
                           .relative = 1e-5,
                           .absolute = 1e-5}) == "");
      }
    }
  }
}

// ---- norms ----------------------------------------------------------------------------------------------------------

TEST_CASE("device: gradients of LayerNormalization and RMSNormalization") {
  struct Rows {
    Dims x, scale;
    std::string axes;
  };
  const Rows all[] = {{{4, 37}, {37}, "axes = [1], scale_axes = [0]"},
                      {{2, 3, 1, 5}, {5}, "axes = [3], scale_axes = [0,1,2]"},
                      {{2, 3, 4, 5}, {4, 5}, "axes = [2,3], scale_axes = [0,1]"},
                      {{150, 9}, {9}, "axes = [1], scale_axes = [0]"},  // rows in parts
                      {{2, 7, 2050}, {2050}, "axes = [2], scale_axes = [0,1]"}};
  for (const Rows& rows : all) {
    INFO(rows.axes);
    for (const std::string name : {"LayerNormalizationGradient", "RMSNormalizationGradient"}) {
      for (const std::string outputs : {"y, z", "y"}) {
        const std::string node =
            absl::StrCat(outputs, " = ai.amp.", name, " <to = 1, epsilon = 0.001, ", rows.axes, "> (a, b, c)");
        for (const DType dtype : kLoopFloats) {
          CHECK(RunOnDevice({.node = node,
                             .inputs = {RandomTensor(dtype, rows.x), RandomTensor(dtype, rows.scale),
                                        RandomTensor(dtype, rows.x)},
                             .outputs = std::vector<DType>(outputs.size() > 1 ? 2 : 1, DType::kFloat32),
                             .relative = 1e-5,
                             .absolute = 2e-4}) == "");
        }
      }
    }
  }
}

struct Channels {
  Dims x, scale;
  std::string batch, instance;
};
const Channels kChannels[] = {
    {{6, 5}, {5}, "axes = [0], scale_axes = [0]", ""},
    {{3, 19, 4, 5}, {19, 1, 1}, "axes = [0,2,3], scale_axes = [0,2,3]", "axes = [2,3], scale_axes = [0,2,3]"},
    {{2, 3, 33, 40}, {3, 1, 1}, "axes = [0,2,3], scale_axes = [0,2,3]", "axes = [2,3], scale_axes = [0,2,3]"},
    {{2, 1, 71, 67}, {1, 1, 1}, "axes = [0,2,3], scale_axes = [0,2,3]", "axes = [2,3], scale_axes = [0,2,3]"},
    {{2, 1100, 3}, {1100, 1}, "axes = [0,2], scale_axes = [0,2]", "axes = [2], scale_axes = [0,2]"}};

TEST_CASE("device: gradients of BatchNormalization and of InstanceNormalization") {
  for (const Channels& channels : kChannels) {
    for (const DType dtype : kLoopFloats) {
      const Tensor x = RandomTensor(dtype, channels.x), scale = RandomTensor(dtype, channels.scale),
                   g = RandomTensor(dtype, channels.x);
      const auto run = [&](const std::string& name, const std::string& axes) {
        INFO(name << " " << axes);
        return RunOnDevice(
            {.node = absl::StrCat("y, z = ai.amp.", name, " <to = 1, epsilon = 0.001, ", axes, "> (a, b, c)"),
             .inputs = {x, scale, g},
             .outputs = {DType::kFloat32, DType::kFloat32},
             .relative = 1e-5,
             .absolute = 5e-4});
      };
      CHECK(run("BatchNormalizationGradient", channels.batch) == "");
      if (!channels.instance.empty()) CHECK(run("InstanceNormalizationGradient", channels.instance) == "");
    }
  }
}

TEST_CASE("device: gradients of norms in another type, or of other scales, are the processor's") {
  const Tensor x = RandomTensor(DType::kFloat32, {2, 3, 4}), scale = RandomTensor(DType::kFloat32, {1});
  const std::string name = "y, z = ai.amp.LayerNormalizationGradient ";
  const std::vector<DType> outputs = {DType::kFloat32, DType::kFloat32};
  CHECK_THAT(WhyOnHost({.node = name + "<to = 1, axes = [1,2], scale_axes = [0,1,2]> (a, b, c)",
                        .inputs = {x, scale, x},
                        .outputs = outputs}),
             Contains("device: other axes than the last"));
  CHECK_THAT(WhyOnHost({.node = name + "<to = 1, axes = [1,2], scale_axes = [0]> (a, b, c)",
                        .inputs = {x, scale, x},
                        .outputs = outputs}),
             Contains("device: a scale of another shape"));
}

TEST_CASE("device: BatchNormalization that trains") {
  const std::string node = " = BatchNormalization <training_mode = 1, epsilon = 0.001, momentum = 0.7> (a, b, c, d, e)";
  for (const Channels& channels : kChannels) {
    for (const DType dtype : kLoopFloats) {
      const Dims of_channels = {channels.x[1]};
      for (const std::string outputs : {"y, z, w", "y"}) {
        CHECK(RunOnDevice({.node = outputs + node,
                           .inputs = {RandomTensor(dtype, channels.x), RandomTensor(dtype, of_channels),
                                      RandomTensor(dtype, of_channels), RandomTensor(DType::kFloat32, of_channels),
                                      RandomTensor(DType::kFloat32, of_channels, Values::kPositive)},
                           .outputs = outputs.size() > 1 ? std::vector{dtype, DType::kFloat32, DType::kFloat32}
                                                         : std::vector{dtype},
                           .relative = 1e-5,
                           .absolute = 1e-4}) == "");
      }
    }
  }
}

}  // namespace
}  // namespace amp
