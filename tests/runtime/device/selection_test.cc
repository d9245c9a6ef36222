// Kernels of a device that look for elements, resample images and attend, against the reference.
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "tests/catch2.h"
#include "tests/runtime/device/run_on_device.h"

namespace amp {
namespace {

using Catch::Matchers::Contains;

// Few numbers, so that many are equal.
Tensor CoarseTensor(DType dtype, const Dims& dims) {
  Tensor x = RandomTensor(dtype, dims);
  std::vector<double> numbers = *ReadDoubles(x);
  for (double& number : numbers) number = std::round(number);
  CHECK(WriteDoubles(numbers, x).ok());
  return x;
}

TEST_CASE("device: places of the largest and the smallest, the first or the last of equal ones") {
  for (const DType dtype : kLoopFloats) {
    const Tensor x = CoarseTensor(dtype, {4, 300, 5}), special = RandomTensor(dtype, {30, 40}, Values::kWithSpecial);
    for (const std::string op : {"ArgMax", "ArgMin"}) {
      for (const std::string last : {"0", "1"}) {
        for (const std::string rest : {"axis = 0", "axis = 1, keepdims = 0", "axis = -1"}) {
          CHECK(RunOnDevice({.node = absl::StrCat("y = ", op, "<select_last_index = ", last, ", ", rest, ">(a)"),
                             .inputs = {x},
                             .outputs = {DType::kInt64}}) == "");
        }
        CHECK(RunOnDevice({.node = absl::StrCat("y = ", op, "<axis = 1, select_last_index = ", last, ">(a)"),
                           .inputs = {special},
                           .outputs = {DType::kInt64}}) == "");
      }
    }
  }
  CHECK_THAT(WhyOnHost({.node = "y = ArgMax(a)", .inputs = {Tensor::OfInts({1, 2})}, .outputs = {DType::kInt64}}),
             Contains("another type than float32"));
}

TEST_CASE("device: the first k, of few and of many, in short rows and in long ones") {
  for (const DType dtype : kLoopFloats) {
    for (const Dims& dims : {Dims{3, 50, 4}, Dims{2, 5000, 1}}) {
      const Tensor x = CoarseTensor(dtype, dims);
      for (const int64_t k : {1, 7, 40}) {
        for (const std::string largest : {"0", "1"}) {
          CHECK(RunOnDevice({.node = absl::StrCat("y, z = TopK<axis = 1, largest = ", largest, ">(a, b)"),
                             .inputs = {x, Tensor::OfInts({k})},
                             .outputs = {dtype, DType::kInt64}}) == "");
        }
      }
    }
    const Tensor special = RandomTensor(dtype, {20, 30}, Values::kWithSpecial);
    for (const std::string largest : {"0", "1"}) {
      CHECK(RunOnDevice({.node = absl::StrCat("y, z = TopK<largest = ", largest, ">(a, b)"),
                         .inputs = {special, Tensor::OfInts({30})},
                         .outputs = {dtype, DType::kInt64}}) == "");
    }
  }
}

TEST_CASE("device: the first k of integers, many of them equal, in short rows") {
  for (const DType dtype : {DType::kInt32, DType::kInt64}) {
    const Tensor x = RandomTensor(dtype, {3, 50, 4}), one = RandomTensor(dtype, {1});
    for (const std::string largest : {"0", "1"}) {
      const std::string node = absl::StrCat("y, z = TopK<axis = ", "AXIS, largest = ", largest, ">(a, b)");
      for (const int64_t k : {0, 1, 7, 50}) {
        CHECK(RunOnDevice({.node = absl::StrReplaceAll(node, {{"AXIS", "1"}}),
                           .inputs = {x, Tensor::OfInts({k})},
                           .outputs = {dtype, DType::kInt64}}) == "");
      }
      CHECK(RunOnDevice({.node = absl::StrReplaceAll(node, {{"AXIS", "0"}}),
                         .inputs = {one, Tensor::OfInts({1})},
                         .outputs = {dtype, DType::kInt64}}) == "");
    }
  }
  const int64_t far[] = {(int64_t{1} << 60) + 1, int64_t{1} << 60, -(int64_t{1} << 62), (int64_t{1} << 60) + 2};
  CHECK(RunOnDevice({.node = "y, z = TopK(a, b)",
                     .inputs = {Tensor::Of<int64_t>(DType::kInt64, {4}, far), Tensor::OfInts({3})},
                     .outputs = {DType::kInt64, DType::kInt64}}) == "");
  CHECK_THAT(WhyOnHost({.node = "y, z = TopK(a, b)",
                        .inputs = {RandomTensor(DType::kInt64, {5000}), Tensor::OfInts({3})},
                        .outputs = {DType::kInt64, DType::kInt64}}),
             Contains("long rows of integers"));
}

TEST_CASE("device: resizing, nearest, linear and cubic") {
  const float more[] = {1, 1, 1.7F, 2}, less[] = {1, 1, 0.6F, 0.5F};
  for (const auto& scales :
       {Tensor::Of<float>(DType::kFloat32, {4}, more), Tensor::Of<float>(DType::kFloat32, {4}, less)}) {
    for (const DType dtype : kLoopFloats) {
      const Tensor x = RandomTensor(dtype, {2, 3, 10, 12});
      for (const std::string mode : {"nearest", "linear", "cubic"}) {
        for (const std::string coordinates : {"half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel"}) {
          for (const std::string antialias : {"0", "1"}) {
            if (mode == "nearest" && antialias == "1") continue;
            CHECK(
                RunOnDevice({.node = absl::StrCat("y = Resize<mode = \"", mode, "\", antialias = ", antialias,
                                                  ", coordinate_transformation_mode = \"", coordinates, "\">(a, , b)"),
                             .inputs = {x, scales},
                             .relative = 1e-5,
                             .absolute = dtype == DType::kFloat32 ? 1e-5 : 2e-2}) == "");
          }
        }
      }
    }
  }
  const Tensor x = RandomTensor(DType::kFloat32, {1, 2, 4, 5});
  const Tensor scales = Tensor::Of<float>(DType::kFloat32, {4}, more);
  CHECK(RunOnDevice({.node = "y = Upsample<mode = \"linear\">(a, b)",
                     .inputs = {x, scales},
                     .opset = 9,
                     .relative = 1e-5,
                     .absolute = 1e-5}) == "");
  CHECK(RunOnDevice({.node = "y = Upsample(a, b)", .inputs = {x, scales}, .opset = 9}) == "");
}

TEST_CASE("device: norms by neighbouring channels") {
  for (const DType dtype : {DType::kFloat32, DType::kFloat16}) {
    const Tensor x = RandomTensor(dtype, {2, 7, 4, 3});
    for (const std::string size : {"1", "2", "5", "50"}) {
      CHECK(RunOnDevice({.node = "y = LRN<size = " + size + ", alpha = 0.5, beta = 0.6, bias = 1.5>(a)",
                         .inputs = {x},
                         .relative = 1e-5}) == "");
    }
  }
}

TEST_CASE("device: scattering, where no two updates meet") {
  const int64_t tuples[] = {0, 2, 1, 0, -1, 1}, again[] = {0, 2, 0, 2}, rows[] = {2, 0};
  for (const DType dtype : {DType::kFloat16, DType::kInt64}) {
    const Tensor x = RandomTensor(dtype, {3, 4, 5});
    CHECK(RunOnDevice(
              {.node = "y = ScatterND(a, b, c)",
               .inputs = {x, Tensor::Of<int64_t>(DType::kInt64, {3, 2}, tuples), RandomTensor(dtype, {3, 5})}}) == "");
    CHECK(RunOnDevice({.node = "y = ScatterElements<axis = 1>(a, b, c)",
                       .inputs = {x, Tensor::Of<int64_t>(DType::kInt64, {1, 2, 1}, rows),
                                  RandomTensor(dtype, {1, 2, 1})}}) == "");
  }
  const Tensor x = RandomTensor(DType::kFloat32, {3, 4, 5}), updates = RandomTensor(DType::kFloat32, {2, 5});
  const Tensor meeting = Tensor::Of<int64_t>(DType::kInt64, {2, 2}, again);
  CHECK_THAT(WhyOnHost({.node = "y = ScatterND(a, b, c)", .inputs = {x, meeting, updates}}),
             Contains("updates that meet"));
  CHECK_THAT(WhyOnHost({.node = "y = ScatterND<reduction = \"add\">(a, b, c)", .inputs = {x, meeting, updates}}),
             Contains("updates that are added up"));
}

TEST_CASE("device: attention, of heads apart or together, with masks, windows, past and groups of heads") {
  for (const DType dtype : kLoopFloats) {
    const double absolute = dtype == DType::kFloat32 ? 1e-5 : dtype == DType::kFloat16 ? 4e-3 : 3e-2;
    const auto attend = [&](const std::string& attributes, std::vector<Tensor> inputs, const std::string& names) {
      return RunOnDevice({.node = absl::StrCat("y = Attention<", attributes, ">(", names, ")"),
                          .inputs = std::move(inputs),
                          .opset = 23,
                          .relative = 1e-4,
                          .absolute = absolute});
    };
    const auto random = [&](const Dims& dims) { return RandomTensor(dtype, dims, Values::kPlain, 1); };
    const Tensor q = random({2, 4, 5, 8}), k = random({2, 2, 7, 8}), v = random({2, 2, 7, 6});
    CHECK(attend("scale = 0.3", {q, k, v}, "a, b, c") == "");
    CHECK(attend("is_causal = 1, softcap = 2.0", {q, k, v}, "a, b, c") == "");
    CHECK(attend("scale = 0.3", {q, k, v, random({5, 7})}, "a, b, c, d") == "");
    CHECK(attend("scale = 0.3", {q, k, v, RandomTensor(DType::kBool, {2, 1, 5, 7})}, "a, b, c, d") == "");
    CHECK(attend("q_num_heads = 4, kv_num_heads = 2, is_causal = 1",
                 {random({2, 5, 32}), random({2, 7, 16}), random({2, 7, 12})}, "a, b, c") == "");
    CHECK(RunOnDevice({.node = "y, z, w = Attention<is_causal = 1>(a, b, c, , d, e)",
                       .inputs = {q, k, v, random({2, 2, 3, 8}), random({2, 2, 3, 6})},
                       .opset = 23,
                       .outputs = {dtype, dtype, dtype},
                       .relative = 1e-4,
                       .absolute = absolute}) == "");
  }
}

TEST_CASE("device: recurrent layers, in each direction, with and without states to begin with") {
  for (const DType dtype : {DType::kFloat32, DType::kFloat16}) {
    const double absolute = dtype == DType::kFloat32 ? 1e-5 : 1e-2;
    const auto random = [&](const Dims& dims) { return RandomTensor(dtype, dims, Values::kPlain, 0.5); };
    for (const std::string direction : {"forward", "reverse", "bidirectional"}) {
      const int64_t n = direction == "bidirectional" ? 2 : 1;
      const auto attributes = absl::StrCat("<hidden_size = 6, direction = \"", direction, "\"");
      const Tensor x = random({5, 3, 4}), h = random({n, 3, 6});
      const Tensor w4 = random({n, 24, 4}), r4 = random({n, 24, 6}), b4 = random({n, 48});
      const Tensor w3 = random({n, 18, 4}), r3 = random({n, 18, 6}), b3 = random({n, 36});
      CHECK(RunOnDevice({.node = absl::StrCat("y, z, w = LSTM", attributes, ">(a, b, c, d, , e, f)"),
                         .inputs = {x, w4, r4, b4, h, random({n, 3, 6})},
                         .outputs = {dtype, dtype, dtype},
                         .relative = 1e-4,
                         .absolute = absolute}) == "");
      CHECK(RunOnDevice({.node = absl::StrCat("y = LSTM", attributes, ">(a, b, c)"),
                         .inputs = {x, w4, r4},
                         .relative = 1e-4,
                         .absolute = absolute}) == "");
      CHECK(RunOnDevice({.node = absl::StrCat("y, z = GRU", attributes, ", linear_before_reset = 1>(a, b, c, d, , e)"),
                         .inputs = {x, w3, r3, b3, h},
                         .outputs = {dtype, dtype},
                         .relative = 1e-4,
                         .absolute = absolute}) == "");
      CHECK(RunOnDevice({.node = absl::StrCat("y, z = GRU", attributes, ">(a, b, c, d, , e)"),
                         .inputs = {x, w3, r3, b3, h},
                         .outputs = {dtype, dtype},
                         .relative = 1e-4,
                         .absolute = absolute}) == "");
      CHECK(RunOnDevice({.node = absl::StrCat("y = GRU", attributes, ">(a, b, c)"),
                         .inputs = {x, w3, r3},
                         .relative = 1e-4,
                         .absolute = absolute}) == "");
    }
  }
}

TEST_CASE("device: recurrent layers of sequences of several lengths, none among them") {
  const auto random = [&](const Dims& dims) { return RandomTensor(DType::kFloat32, dims, Values::kPlain, 0.5); };
  const int32_t several[] = {2, 5, 0}, whole[] = {5, 5, 5}, wrong[] = {2, 6, 0};
  const auto lengths_of = [](absl::Span<const int32_t> each) { return Tensor::Of<int32_t>(DType::kInt32, {3}, each); };
  for (const std::string direction : {"forward", "reverse", "bidirectional"}) {
    const int64_t n = direction == "bidirectional" ? 2 : 1;
    const auto attributes = absl::StrCat("<hidden_size = 6, direction = \"", direction, "\"");
    const Tensor x = random({5, 3, 4}), h = random({n, 3, 6}), c = random({n, 3, 6});
    const std::vector<Tensor> of_lstm = {x, random({n, 24, 4}), random({n, 24, 6}), random({n, 48})};
    const std::vector<Tensor> of_gru = {x, random({n, 18, 4}), random({n, 18, 6}), random({n, 36})};
    for (const Tensor& lengths : {lengths_of(several), lengths_of(whole)}) {
      const auto with = [&](std::vector<Tensor> inputs) {
        inputs.insert(inputs.end(), {lengths, h, c});
        return inputs;
      };
      CHECK(RunOnDevice({.node = absl::StrCat("y, z, w = LSTM", attributes, ">(a, b, c, d, e, f, g)"),
                         .inputs = with(of_lstm),
                         .outputs = {DType::kFloat32, DType::kFloat32, DType::kFloat32},
                         .absolute = 1e-5}) == "");
      for (const std::string before : {"0", "1"}) {
        for (const std::string names : {"a, b, c, d, e, f", "a, b, c, , e"}) {
          CHECK(RunOnDevice({.node = absl::StrCat("y, z = GRU", attributes, ", linear_before_reset = ", before, ">(",
                                                  names, ")"),
                             .inputs = with(of_gru),
                             .outputs = {DType::kFloat32, DType::kFloat32},
                             .absolute = 1e-5}) == "");
        }
      }
    }
    std::vector<Tensor> misfit = of_gru;
    misfit.push_back(lengths_of(wrong));
    CHECK_THAT(WhyOnHost({.node = absl::StrCat("y = GRU", attributes, ">(a, b, c, d, e)"), .inputs = misfit}),
               Contains("error: ") && Contains("sequence_lens"));
  }
}

TEST_CASE("device: sums, means and extremes of any number of operands") {
  for (const DType dtype : kLoopFloats) {
    const Tensor a = RandomTensor(dtype, {3, 1, 5}), b = RandomTensor(dtype, {4, 1}),
                 c = RandomTensor(dtype, {1, 4, 5});
    for (const std::string op : {"Sum", "Mean", "Max", "Min"}) {
      for (const std::string names : {"a", "a, b", "a, b, c", "c, b, a, a, c"}) {
        CHECK(RunOnDevice({.node = absl::StrCat("y = ", op, "(", names, ")"),
                           .inputs = {a, b, c},
                           .opset = 13,
                           .relative = 1e-5,
                           .absolute = 1e-5}) == "");
      }
    }
  }
}

TEST_CASE("device: the places of what a pool took") {
  for (const DType dtype : kLoopFloats) {
    const Tensor x = CoarseTensor(dtype, {2, 3, 9, 8});
    for (const std::string order : {"0", "1"}) {
      CHECK(RunOnDevice({.node = "y, z = MaxPool<kernel_shape = [3, 2], strides = [2, 1], pads = [1, 0, 1, 1], "
                                 "storage_order = " +
                                 order + ">(a)",
                         .inputs = {x},
                         .opset = 22,
                         .outputs = {dtype, DType::kInt64}}) == "");
    }
  }
}

}  // namespace
}  // namespace amp
