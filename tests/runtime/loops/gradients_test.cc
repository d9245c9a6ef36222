// Gradients of pools and norms by loops against the reference, in both layouts.
#include "tests/catch2.h"
#include "tests/runtime/loops/run_both.h"

namespace amp {
namespace {

Tensor InLayoutOf(const Tensor& tensor, bool last) { return last ? InChannelsLast(tensor) : tensor; }

// Equal elements among them.
Tensor Rounded(Tensor tensor) {
  std::vector<double> numbers = *ReadDoubles(tensor);
  for (double& number : numbers) number = std::round(number);
  AMP_CHECK(WriteDoubles(numbers, tensor).ok());
  return tensor;
}

TEST_CASE("gradients of MaxPool: windows of all kinds in all pairs of layouts") {
  struct Pool {
    Dims x, g;
    std::string attributes;
  };
  const Pool pools[] = {
      {{2, 19, 8, 6}, {2, 19, 4, 3}, "kernel_shape = [2,2], strides = [2,2]"},
      {{2, 3, 9, 13}, {2, 3, 9, 13}, "kernel_shape = [3,3], pads = [1,1,1,1]"},
      {{1, 17, 9, 13}, {1, 17, 4, 7}, "kernel_shape = [3,2], strides = [2,2], pads = [0,1,0,0]"},
      {{1, 2, 9, 13}, {1, 2, 5, 7}, "kernel_shape = [2,3], strides = [2,2], pads = [0,0,0,1], ceil_mode = 1"},
      {{2, 33, 9, 13}, {2, 33, 5, 11}, "kernel_shape = [3,2], dilations = [2,3], pads = [0,1,0,0]"},
      {{2, 5, 9, 13}, {2, 5, 1, 1}, "kernel_shape = [9,13]"},
      {{2, 5, 41}, {2, 5, 14}, "kernel_shape = [3], strides = [3], pads = [1,1]"},
      {{1, 2, 4}, {1, 2, 4}, "kernel_shape = [2], dilations = [6], pads = [4,2]"},  // nothing but padding
      {{2, 16, 4, 5, 6}, {2, 16, 2, 4, 3}, "kernel_shape = [2,2,2], strides = [2,1,2]"}};
  for (const Pool& pool : pools) {
    INFO(pool.attributes);
    const std::string node = absl::StrCat("y = ai.amp.MaxPoolGradient <to = 1, ", pool.attributes, "> (a, b)");
    for (const DType dtype : kLoopFloats) {
      const Tensor x = Rounded(RandomTensor(dtype, pool.x)), g = Rounded(RandomTensor(dtype, pool.g));
      for (const int layouts : {0, 1, 2, 3}) {
        CHECK(RunBoth({.node = node,
                       .inputs = {InLayoutOf(x, (layouts & 1) != 0), InLayoutOf(g, (layouts & 2) != 0)},
                       .outputs = {DType::kFloat32}}) == "");
      }
    }
    const Tensor special = RandomTensor(DType::kFloat32, pool.x, Values::kWithSpecial);
    const Tensor g = Rounded(RandomTensor(DType::kFloat32, pool.g));
    CHECK(RunBoth({.node = node, .inputs = {special, g}, .outputs = {DType::kFloat32}}) == "");
    CHECK(RunBoth({.node = node, .inputs = {InChannelsLast(special), g}, .outputs = {DType::kFloat32}}) == "");
  }
}

TEST_CASE("gradients of LayerNormalization and RMSNormalization") {
  struct Rows {
    Dims x, scale;
    std::string axes;
  };
  const Rows all[] = {{{4, 37}, {37}, "axes = [1], scale_axes = [0]"},
                      {{2, 3, 1, 5}, {5}, "axes = [3], scale_axes = [0,1,2]"},
                      {{2, 3, 4, 5}, {4, 5}, "axes = [2,3], scale_axes = [0,1]"},
                      {{2, 7, 2050}, {2050}, "axes = [2], scale_axes = [0,1]"}};
  for (const Rows& rows : all) {
    INFO(rows.axes);
    for (const std::string name : {"LayerNormalizationGradient", "RMSNormalizationGradient"}) {
      const std::string node =
          absl::StrCat("y, z = ai.amp.", name, " <to = 1, epsilon = 0.001, ", rows.axes, "> (a, b, c)");
      for (const DType dtype : kLoopFloats) {
        CHECK(RunBoth({.node = node,
                       .inputs = {RandomTensor(dtype, rows.x), RandomTensor(dtype, rows.scale),
                                  RandomTensor(dtype, rows.x)},
                       .outputs = {DType::kFloat32, DType::kFloat32},
                       .relative = 1e-5,
                       .absolute = 1e-4}) == "");
      }
    }
  }
}

TEST_CASE("gradients of BatchNormalization in all pairs of layouts, and of InstanceNormalization") {
  struct Channels {
    Dims x, scale;
    std::string batch, instance;
  };
  const Channels all[] = {
      {{6, 5}, {5}, "axes = [0], scale_axes = [0]", ""},
      {{3, 19, 4, 5}, {19, 1, 1}, "axes = [0,2,3], scale_axes = [0,2,3]", "axes = [2,3], scale_axes = [0,2,3]"},
      {{2, 3, 33, 40}, {3, 1, 1}, "axes = [0,2,3], scale_axes = [0,2,3]", "axes = [2,3], scale_axes = [0,2,3]"},
      {{2, 1100, 3}, {1100, 1}, "axes = [0,2], scale_axes = [0,2]", "axes = [2], scale_axes = [0,2]"}};
  for (const Channels& channels : all) {
    INFO(channels.batch);
    for (const DType dtype : kLoopFloats) {
      const Tensor x = RandomTensor(dtype, channels.x), scale = RandomTensor(dtype, channels.scale),
                   g = RandomTensor(dtype, channels.x);
      const auto run = [&](const std::string& name, const std::string& axes, int layouts) {
        const std::string node =
            absl::StrCat("y, z = ai.amp.", name, " <to = 1, epsilon = 0.001, ", axes, "> (a, b, c)");
        return RunBoth({.node = node,
                        .inputs = {InLayoutOf(x, (layouts & 1) != 0), scale, InLayoutOf(g, (layouts & 2) != 0)},
                        .outputs = {DType::kFloat32, DType::kFloat32},
                        .relative = 1e-5,
                        .absolute = 2e-4});
      };
      CHECK(run("BatchNormalizationGradient", channels.batch, 0) == "");
      if (channels.instance.empty()) continue;
      for (const int layouts : {1, 2, 3}) CHECK(run("BatchNormalizationGradient", channels.batch, layouts) == "");
      CHECK(run("InstanceNormalizationGradient", channels.instance, 0) == "");
    }
  }
}

TEST_CASE("BatchNormalization that trains, in both layouts") {
  const std::string node =
      "y, z, w = BatchNormalization <training_mode = 1, epsilon = 0.001, momentum = 0.7> (a, b, c, d, e)";
  for (const Dims& dims : {Dims{6, 5}, Dims{3, 19, 4, 5}, Dims{2, 3, 33, 40}, Dims{2, 1100, 3}}) {
    for (const DType dtype : kLoopFloats) {
      const Tensor x = RandomTensor(dtype, dims);
      const Dims of_channels = {dims[1]};
      const auto run = [&](const Tensor& input) {
        return RunBoth({.node = node,
                        .inputs = {input, RandomTensor(dtype, of_channels), RandomTensor(dtype, of_channels),
                                   RandomTensor(DType::kFloat32, of_channels),
                                   RandomTensor(DType::kFloat32, of_channels, Values::kPositive)},
                        .outputs = {dtype, DType::kFloat32, DType::kFloat32},
                        .relative = 1e-5,
                        .absolute = 1e-4});
      };
      CHECK(run(x) == "");
      if (dims.size() > 2) CHECK(run(InChannelsLast(x)) == "");
    }
  }
}

TEST_CASE("gradients in float64, and of scales of another shape, are the reference's") {
  const Tensor x = RandomTensor(DType::kFloat64, {2, 3, 4}), scale = RandomTensor(DType::kFloat64, {1});
  for (const int to : {1, 11}) {
    const DType type = to == 1 ? DType::kFloat32 : DType::kFloat64;
    CHECK(RunBoth({.node = absl::StrCat("y, z = ai.amp.LayerNormalizationGradient <to = ", to,
                                        ", axes = [1,2], scale_axes = [0,1,2]> (a, b, c)"),
                   .inputs = {x, scale, x},
                   .outputs = {type, type},
                   .family = "reference"}) == "");
    CHECK(RunBoth({.node = absl::StrCat("y = ai.amp.MaxPoolGradient <to = ", to, ", kernel_shape = [1]> (a, b)"),
                   .inputs = {x, x},
                   .outputs = {type},
                   .family = "reference"}) == "");
  }
}

}  // namespace
}  // namespace amp
