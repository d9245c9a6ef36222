// Loops over rows against the reference: casts, Softmax, normalizations, reductions.
#include <bit>

#include "runtime/loops/float_parts.h"
#include "tests/catch2.h"
#include "tests/runtime/loops/run_both.h"

namespace amp {
namespace {

TEST_CASE("casts by way of float32") {
  constexpr DType kTypes[] = {DType::kFloat32, DType::kFloat16, DType::kBfloat16, DType::kInt8,
                              DType::kUint8,   DType::kBool,    DType::kInt32,    DType::kInt64};
  for (const DType from : kTypes) {
    for (const DType to : kTypes) {
      const bool is_float = IsLoopFloat(from) || IsLoopFloat(to);
      if (from == to || !is_float) continue;
      for (const int64_t size : {0, 1, 5, 1024, 1100}) {
        const Values values = IsLoopFloat(from) ? Values::kWithSpecial : Values::kPlain;
        CHECK(RunBoth({.node = absl::StrCat("y = Cast<to = ", static_cast<int>(to), ">(a)"),
                       .inputs = {RandomTensor(from, {size}, values, 1e4)},
                       .outputs = {to},
                       .relative = -LastPlace(to),
                       .absolute = -Least(to)}) == "");
      }
    }
  }
}

TEST_CASE("integers become the nearest bfloat16, by one rounding") {
  std::vector<int64_t> large;
  for (int bits = 1; bits <= 52; ++bits) {
    const int64_t power = int64_t{1} << bits, half = power >> 8;  // between two numbers of 8 bits
    for (const int64_t near : {-1, 0, 1}) {
      for (const int64_t x : {power + half + near, power + 3 * half + near}) large.insert(large.end(), {x, -x});
    }
  }
  const Tensor wide = Tensor::OfInts(large);
  CHECK(RunBoth({.node = "y = Cast<to = 16>(a)",
                 .inputs = {wide},
                 .outputs = {DType::kBfloat16},
                 .relative = -LastPlace(DType::kBfloat16)}) == "");
  std::vector<int32_t> small;
  small.reserve(large.size());
  for (const int64_t x : large) small.push_back(static_cast<int32_t>(x % (int64_t{1} << 31)));
  small.insert(small.end(), {std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max(), 0});
  const Tensor narrow = Tensor::Of<int32_t>(DType::kInt32, {static_cast<int64_t>(small.size())}, small);
  CHECK(RunBoth({.node = "y = Cast<to = 16>(a)",
                 .inputs = {narrow},
                 .outputs = {DType::kBfloat16},
                 .relative = -LastPlace(DType::kBfloat16)}) == "");
  // A number that float64 cannot hold either, which lies just above the middle between two bfloat16 numbers.
  const Tensor largest =
      Tensor::OfInts({(int64_t{1} << 62) + (int64_t{1} << 54) + 1, std::numeric_limits<int64_t>::min()});
  const absl::StatusOr<Ran> ran =
      RunCase({.node = "y = Cast<to = 16>(a)", .inputs = {largest}, .outputs = {DType::kBfloat16}}, nullptr);
  REQUIRE(ran.ok());
  CHECK(*ReadDoubles(*ran->outputs[0].tensor()) == std::vector<double>{0x1.02p62, -0x1p63});
}

TEST_CASE("float16 and bfloat16, all of them, are widened exactly and come back") {
  for (const DType dtype : {DType::kFloat16, DType::kBfloat16}) {
    Tensor all = *Tensor::Create(dtype, {65536});
    for (size_t i = 0; i < 65536; ++i) all.mutable_elements<uint16_t>()[i] = static_cast<uint16_t>(i);
    CHECK(RunBoth({.node = "y = Cast<to = 1>(a)", .inputs = {all}, .outputs = {DType::kFloat32}, .relative = 0}) == "");
    for (const Loops* loops : UsableLoops()) {
      std::vector<float> wide(65536);
      std::vector<uint16_t> back(65536);
      const bool is_float16 = dtype == DType::kFloat16;
      (is_float16 ? loops->convert.widen_float16 : loops->convert.widen_bfloat16)(all.elements<uint16_t>().data(),
                                                                                  wide.data(), wide.size());
      (is_float16 ? loops->convert.narrow_float16 : loops->convert.narrow_bfloat16)(wide.data(), back.data(),
                                                                                    back.size());
      size_t changed = 0;
      for (size_t i = 0; i < 65536; ++i) changed += back[i] != i && !std::isnan(wide[i]);
      CHECK(changed == 0);
    }
  }
}

TEST_CASE("float16 and bfloat16, all of them, are transposed as they are widened") {
  constexpr size_t kStep = 300, kToStep = 1000;
  std::vector<uint16_t> all(1 << 17);
  for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<uint16_t>(i);
  for (const Loops* loops : UsableLoops()) {
    const ConvertLoops& convert = loops->convert;
    for (const bool is_float16 : {false, true}) {
      for (const auto& [rows, columns] : {std::pair{218, 300}, {16, 8}, {37, 29}, {7, 100}, {100, 3}, {1, 1}}) {
        INFO(loops->name << ", " << is_float16 << ", " << rows << " x " << columns);
        std::vector<float> wide(all.size()), turned(kStep * kToStep, -7);
        (is_float16 ? convert.widen_float16 : convert.widen_bfloat16)(all.data(), wide.data(), all.size());
        (is_float16 ? convert.widen_turned_float16 : convert.widen_turned_bfloat16)(
            all.data(), kStep, static_cast<size_t>(rows), static_cast<size_t>(columns), turned.data(), kToStep);
        size_t wrong = 0;
        for (size_t c = 0; c < kStep; ++c) {
          for (size_t r = 0; r < kToStep; ++r) {
            const bool is_in = r < static_cast<size_t>(rows) && c < static_cast<size_t>(columns);
            const float expected = is_in ? wide[r * kStep + c] : -7;
            wrong += std::bit_cast<uint32_t>(expected) != std::bit_cast<uint32_t>(turned[c * kToStep + r]);
          }
        }
        CHECK(wrong == 0);
      }
    }
  }
}

TEST_CASE("halves between two numbers of 16 bits are rounded to even, and what is too large is infinite") {
  Tensor x = *Tensor::Create(DType::kFloat32, {1 << 18});
  for (size_t i = 0; i < 1 << 18; ++i) {
    const auto bits = static_cast<uint32_t>(i << 14);
    x.mutable_elements<uint32_t>()[i] = i % 3 == 0 ? bits : i % 3 == 1 ? bits | 0x1000u : bits | 0x3fffu;
  }
  for (const DType to : {DType::kFloat16, DType::kBfloat16}) {
    CHECK(RunBoth({.node = absl::StrCat("y = Cast<to = ", static_cast<int>(to), ">(a)"),
                   .inputs = {x},
                   .outputs = {to},
                   .relative = -LastPlace(to),
                   .absolute = -Least(to)}) == "");
  }
}

TEST_CASE("rounding in place is narrowing and widening, and so is that of sums and products") {
  constexpr size_t kCount = 1 << 18;
  std::vector<float> x(kCount), y(kCount);
  for (size_t i = 0; i < kCount; ++i) {
    const auto bits = static_cast<uint32_t>(i << 14);
    x[i] = std::bit_cast<float>(i % 3 == 0 ? bits : i % 3 == 1 ? bits | 0x1000u : bits | 0x3fffu);
    y[i] = x[(i * 7919) % kCount];
  }
  for (const Loops* loops : UsableLoops()) {
    const ConvertLoops& convert = loops->convert;
    for (const bool is_float16 : {false, true}) {
      INFO(loops->name << ", " << is_float16);
      const BinaryLoops& rounded = is_float16 ? loops->rounded_float16 : loops->rounded_bfloat16;
      const auto count_wrong = [&](const std::vector<float>& exact, const std::vector<float>& found) {
        std::vector<uint16_t> narrow(kCount);
        std::vector<float> expected(kCount);
        (is_float16 ? convert.narrow_float16 : convert.narrow_bfloat16)(exact.data(), narrow.data(), kCount);
        (is_float16 ? convert.widen_float16 : convert.widen_bfloat16)(narrow.data(), expected.data(), kCount);
        size_t wrong = 0;
        for (size_t i = 0; i < kCount; ++i) {
          const bool are_nan = std::isnan(expected[i]) && std::isnan(found[i]);
          wrong += !are_nan && std::bit_cast<uint32_t>(expected[i]) != std::bit_cast<uint32_t>(found[i]);
        }
        return wrong;
      };
      std::vector<float> found = x;
      (is_float16 ? convert.round_float16 : convert.round_bfloat16)(found.data(), kCount);
      CHECK(count_wrong(x, found) == 0);
      for (const auto loop : {&BinaryLoops::add, &BinaryLoops::multiply, &BinaryLoops::divide, &BinaryLoops::max}) {
        std::vector<float> exact(kCount);
        (loops->binary.*loop).of_both(x.data(), y.data(), exact.data(), kCount);
        (rounded.*loop).of_both(x.data(), y.data(), found.data(), kCount);
        CHECK(count_wrong(exact, found) == 0);
      }
    }
  }
}

TEST_CASE("Softmax and its kin") {
  for (const DType dtype : kLoopFloats) {
    for (const Dims& dims : {Dims{3, 5}, Dims{2, 3, 17}, Dims{4, 1}, Dims{2, 1030}, Dims{2, 3, 40, 7}, Dims{0, 3},
                             Dims{150, 15}, Dims{67, 16}, Dims{300, 1}, Dims{64, 2}}) {
      for (const int64_t axis : {-1, 0, 1}) {
        for (const std::string op : {"Softmax", "LogSoftmax", "LpNormalization"}) {
          const int opset = op == "LpNormalization" ? 22 : 13;
          if (dtype == DType::kBfloat16 && opset == 13 && op == "LpNormalization") continue;
          const std::string node = absl::StrCat("y = ", op, "<axis = ", axis, ">(a)");
          CHECK(RunBoth({.node = node, .inputs = {RandomTensor(dtype, dims)}, .opset = opset, .absolute = 1e-6}) == "");
        }
      }
    }
  }
  const Tensor special = RandomTensor(DType::kFloat32, {40, 9}, Values::kWithSpecial);
  CHECK(RunBoth({.node = "y = Softmax(a)", .inputs = {special}, .absolute = 1e-7}) == "");
  const Tensor x = RandomTensor(DType::kFloat32, {2, 3, 4, 5}, Values::kPlain, 30);
  CHECK(RunBoth({.node = "y = Softmax<axis = 1>(a)", .inputs = {x}, .opset = 11, .relative = 2e-6}) == "");
  CHECK(RunBoth({.node = "y = LpNormalization<p = 1>(a)", .inputs = {x}}) == "");
}

TEST_CASE("layer normalization and its kin") {
  for (const DType dtype : kLoopFloats) {
    for (const int64_t size : {1, 7, 64, 769, 5000}) {
      const Tensor x = RandomTensor(dtype, {2, 3, size}), skip = RandomTensor(dtype, {2, 3, size});
      const Tensor scale = RandomTensor(dtype, {size}), bias = RandomTensor(dtype, {size});
      const double absolute = size == 1 ? 0.1 : 1e-5;
      CHECK(RunBoth({.node = "y = LayerNormalization(a, b, c)", .inputs = {x, scale, bias}, .absolute = 1e-5}) == "");
      CHECK(RunBoth({.node = "y, z, w = LayerNormalization<axis = -1>(a, b)",
                     .inputs = {x, scale},
                     .outputs = {dtype, DType::kFloat32, DType::kFloat32},
                     .absolute = absolute}) == "");
      CHECK(RunBoth({.node = "y = RMSNormalization(a, b)", .inputs = {x, scale}, .opset = 23, .absolute = 1e-6}) == "");
      CHECK(RunBoth({.node = "y, z, w, v = com.microsoft.SkipLayerNormalization<epsilon = 0.001>(a, b, c, d, e)",
                     .inputs = {x, skip, scale, bias, RandomTensor(dtype, {size})},
                     .outputs = {dtype, DType::kFloat32, DType::kFloat32, dtype},
                     .absolute = 1e-5}) == "");
      CHECK(RunBoth({.node = "y, , , z = com.microsoft.SkipSimplifiedLayerNormalization(a, b, c)",
                     .inputs = {x, RandomTensor(dtype, {1, 3, size}), scale},
                     .outputs = {dtype, dtype},
                     .absolute = 1e-5}) == "");
    }
  }
  CHECK(RunBoth({.node = "y = LayerNormalization<axis = 1>(a, b, c)",
                 .inputs = {RandomTensor(DType::kFloat16, {4, 5, 6}), RandomTensor(DType::kFloat32, {5, 6}),
                            RandomTensor(DType::kFloat32, {1, 5, 6})},
                 .absolute = 1e-5}) == "");
  CHECK(RunBoth({.node = "y = LayerNormalization<axis = 1>(a, b)",
                 .inputs = {RandomTensor(DType::kFloat32, {4, 5, 6}), RandomTensor(DType::kFloat32, {6})},
                 .absolute = 1e-5,
                 .family = "reference"}) == "");
}

TEST_CASE("the variance of numbers far from zero") {
  Tensor x = RandomTensor(DType::kFloat32, {4, 3000}, Values::kPlain, 1);
  for (float& element : x.mutable_elements<float>()) element += 1000;
  CHECK(RunBoth({.node = "y = LayerNormalization(a, b)",
                 .inputs = {x, RandomTensor(DType::kFloat32, {3000})},
                 .absolute = 3e-6}) == "");
}

TEST_CASE("normalizations by channel") {
  for (const DType dtype : kLoopFloats) {
    for (const Dims& dims : {Dims{2, 6, 5, 7}, Dims{3, 4}, Dims{1, 2, 2000}, Dims{2, 6, 1, 1, 3}}) {
      const auto channels = [&] { return RandomTensor(dtype, {dims[1]}, Values::kPositive); };
      const Tensor x = RandomTensor(dtype, dims);
      const BothCase batch = {.node = "y = BatchNormalization(a, b, c, d, e)",
                              .inputs = {x, channels(), channels(), channels(), channels()},
                              .opset = 15,
                              .absolute = 1e-5};
      CHECK(RunBoth(batch) == "");
      if (dims.size() > 2) {
        BothCase last = batch;
        last.inputs[0] = InChannelsLast(x);
        CHECK(RunBoth(last) == "");
      }
      CHECK(RunBoth({.node = "y = GroupNormalization<num_groups = 2>(a, b, c)",
                     .inputs = {x, channels(), channels()},
                     .absolute = 1e-5}) == "");
      if (dims.size() == 2) continue;
      CHECK(RunBoth({.node = "y = InstanceNormalization(a, b, c)",
                     .inputs = {x, channels(), channels()},
                     .opset = 22,
                     .absolute = 1e-5}) == "");
    }
  }
}

TEST_CASE("normalization by the mean and the variance of a channel of all samples") {
  const std::string node = "y = MeanVarianceNormalization(a)";
  for (const DType dtype : kLoopFloats) {
    for (const Dims& dims : {Dims{2, 6, 5, 7}, Dims{1, 2, 1, 3000}, Dims{5, 1, 40, 40}}) {
      Tensor equal = RandomTensor(dtype, dims, Values::kPlain, 0);
      CHECK(RunBoth({.node = node, .inputs = {RandomTensor(dtype, dims)}, .opset = 13, .absolute = 1e-5}) == "");
      CHECK(RunBoth({.node = node, .inputs = {equal}, .opset = 13}) == "");
    }
    CHECK(RunBoth({.node = "y = MeanVarianceNormalization<axes = [0, 2]>(a)",
                   .inputs = {RandomTensor(dtype, {3, 4, 50})},
                   .opset = 13,
                   .absolute = 1e-5}) == "");
  }
  Tensor far = RandomTensor(DType::kFloat32, {3, 4, 10, 100}, Values::kPlain, 1);
  for (float& element : far.mutable_elements<float>()) element += 1000;
  CHECK(RunBoth({.node = node, .inputs = {far}, .opset = 13, .absolute = 1e-5}) == "");
  CHECK(RunBoth({.node = "y = MeanVarianceNormalization<axes = [2, 3]>(a)",
                 .inputs = {RandomTensor(DType::kFloat32, {2, 3, 4, 5})},
                 .opset = 13,
                 .family = "reference"}) == "");
}

TEST_CASE("reductions along any axes") {
  for (const DType dtype : kLoopFloats) {
    const Tensor x = RandomTensor(dtype, {2, 3, 4, 35});
    for (const std::string op : {"ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceL1", "ReduceL2",
                                 "ReduceProd", "ReduceSumSquare"}) {
      for (const std::vector<int64_t>& axes :
           {std::vector<int64_t>{3}, {0}, {1}, {2, 3}, {0, 1}, {0, 2}, {1, 3}, {0, 2, 3}, {0, 1, 2, 3}, {-2}}) {
        for (const int keepdims : {0, 1}) {
          CHECK(RunBoth({.node = absl::StrCat("y = ", op, "<keepdims = ", keepdims, ">(a, b)"),
                         .inputs = {x, Tensor::OfInts(axes)},
                         .absolute = 2e-5}) == "");
        }
      }
      CHECK(RunBoth({.node = absl::StrCat("y = ", op, "(a)"), .inputs = {x}, .absolute = 1e-5}) == "");
      CHECK(RunBoth({.node = absl::StrCat("y = ", op, "<noop_with_empty_axes = 1>(a)"), .inputs = {x}}) == "");
      CHECK(RunBoth({.node = absl::StrCat("y = ", op, "<keepdims = 0>(a)"), .inputs = {RandomTensor(dtype, {})}}) ==
            "");
    }
  }
  const Tensor special = RandomTensor(DType::kFloat32, {60, 5}, Values::kWithSpecial);
  for (const int64_t axis : {0, 1}) {
    for (const std::string op : {"ReduceMax", "ReduceMin", "ReduceProd", "ReduceSum"}) {
      CHECK(RunBoth({.node = absl::StrCat("y = ", op, "(a, b)"), .inputs = {special, Tensor::OfInts({axis})}}) == "");
    }
  }
}

TEST_CASE("a product of zeros and of more than float64 holds is what it is in order") {
  std::vector<float> large(1000, 1e10F);
  large[0] = 0;
  const Tensor x = Tensor::Of<float>(DType::kFloat32, {1000}, large);
  CHECK(RunBoth({.node = "y = ReduceProd(a)", .inputs = {x}}) == "");
  for (size_t i = 0; i < large.size(); ++i) large[i] = i % 2 == 0 ? 1e30F : 1e-30F;
  const Tensor y = Tensor::Of<float>(DType::kFloat32, {1000}, large);
  CHECK(RunBoth({.node = "y = ReduceProd(a)", .inputs = {y}, .relative = 1e-4}) == "");
}

TEST_CASE("running sums of rows that lie across each other") {
  for (const DType dtype : kLoopFloats) {
    const Tensor x = RandomTensor(dtype, {2, 17, 3, 5}), wide = RandomTensor(dtype, {6, 2100});
    for (const std::string flags : {"", "<exclusive = 1>", "<reverse = 1>", "<exclusive = 1, reverse = 1>"}) {
      const std::string node = "y = CumSum" + flags + "(a, b)";
      for (const int64_t axis : {0, 1, -2}) {
        const Tensor at = Tensor::Of<int64_t>(DType::kInt64, {}, {axis});
        CHECK(RunBoth({.node = node, .inputs = {x, at}, .absolute = 1e-6}) == "");
      }
      CHECK(RunBoth({.node = node, .inputs = {wide, Tensor::OfInts({0})}, .absolute = 1e-6}) == "");
    }
    const Tensor last = Tensor::OfInts({-1});
    CHECK(RunBoth({.node = "y = CumSum(a, b)", .inputs = {x, last}, .family = "reference"}) == "");
  }
  const Tensor special = RandomTensor(DType::kFloat32, {60, 5}, Values::kWithSpecial);
  CHECK(RunBoth({.node = "y = CumSum(a, b)", .inputs = {special, Tensor::OfInts({0})}}) == "");
}

TEST_CASE("places of the largest and the smallest, across rows and in rows of a few elements") {
  for (const DType dtype : kLoopFloats) {
    const std::pair<Dims, int64_t> cases[] = {{{200, 4}, 1}, {{65, 1}, 1}, {{64, 15}, -1},   {{3, 70, 130}, 1},
                                              {{5, 7}, 0},   {{4}, 0},     {{2, 3, 4, 5}, 1}};
    for (const auto& [dims, axis] : cases) {
      Tensor equal = RandomTensor(dtype, dims, Values::kPlain, 0);
      for (const Tensor& x : {RandomTensor(dtype, dims, Values::kWithSpecial), RandomTensor(dtype, dims), equal}) {
        for (const std::string op : {"ArgMax", "ArgMin"}) {
          for (const int last : {0, 1}) {
            const std::string node = absl::StrCat("y = ", op, "<axis = ", axis, ", keepdims = ", last,
                                                  ", select_last_index = ", last, ">(a)");
            CHECK(RunBoth({.node = node, .inputs = {x}, .outputs = {DType::kInt64}, .relative = 0}) == "");
          }
        }
      }
    }
  }
  CHECK(RunBoth({.node = "y = ArgMax<axis = 1>(a)",
                 .inputs = {RandomTensor(DType::kFloat32, {3, 16})},
                 .outputs = {DType::kInt64},
                 .family = "reference"}) == "");
}

TEST_CASE("long sums keep their digits") {
  const Tensor x = RandomTensor(DType::kFloat32, {300000}, Values::kPositive);
  const Tensor tall = RandomTensor(DType::kFloat32, {30000, 9}, Values::kPositive);
  CHECK(RunBoth({.node = "y = ReduceSum(a)", .inputs = {x}, .relative = 2e-7}) == "");
  CHECK(RunBoth({.node = "y = ReduceMean(a, b)", .inputs = {tall, Tensor::OfInts({0})}, .relative = 2e-7}) == "");
}

TEST_CASE("global pooling in both layouts") {
  for (const DType dtype : kLoopFloats) {
    const Tensor x = RandomTensor(dtype, {2, 37, 7, 7});
    for (const std::string op : {"GlobalAveragePool", "GlobalMaxPool"}) {
      CHECK(RunBoth({.node = "y = " + op + "(a)", .inputs = {x}, .opset = 22, .absolute = 1e-6}) == "");
      CHECK(RunBoth({.node = "y = " + op + "(a)", .inputs = {InChannelsLast(x)}, .opset = 22, .absolute = 1e-6}) == "");
    }
    CHECK(RunBoth({.node = "y = ReduceMean<keepdims = 0>(a, b)",
                   .inputs = {InChannelsLast(x), Tensor::OfInts({2, 3})},
                   .absolute = 1e-6}) == "");
    CHECK(RunBoth({.node = "y = ReduceMean(a, b)",
                   .inputs = {InChannelsLast(x), Tensor::OfInts({3})},
                   .absolute = 1e-6,
                   .family = "reference"}) == "");
  }
}

}  // namespace
}  // namespace amp
