// Operators that only move elements, on a device: the reference kernels run with elements that they cannot see.
#include "tests/catch2.h"
#include "tests/runtime/device/run_on_device.h"

namespace amp {
namespace {

using Catch::Matchers::Contains;

Tensor Ints(const std::vector<int64_t>& elements) { return Tensor::OfInts(elements); }

TEST_CASE("device: Transpose, Expand, Slice") {
  for (const DType dtype : {DType::kFloat32, DType::kBfloat16, DType::kBool}) {
    const Tensor x = RandomTensor(dtype, {3, 4, 5, 2});
    CHECK(RunOnDevice({.node = "y = Transpose<perm = [2, 0, 3, 1]>(a)", .inputs = {x}}) == "");
    CHECK(RunOnDevice({.node = "y = Transpose<perm = [0, 1, 2, 3]>(a)", .inputs = {x}}) == "");
    CHECK(RunOnDevice({.node = "y = Expand(a, b)", .inputs = {RandomTensor(dtype, {3, 1, 2}), Ints({2, 1, 4, 1})}}) ==
          "");
    CHECK(RunOnDevice({.node = "y = Slice(a, b, c, d, e)",
                       .inputs = {x, Ints({-1, 1}), Ints({-100, 4}), Ints({0, 2}), Ints({-2, 2})}}) == "");
    CHECK(RunOnDevice({.node = "y = Slice(a, b, c)", .inputs = {x, Ints({3}), Ints({2})}}) == "");  // nothing is left
  }
}

TEST_CASE("device: Concat, Split, Tile, Pad") {
  const Tensor x = RandomTensor(DType::kFloat16, {3, 4, 5}), z = RandomTensor(DType::kFloat16, {3, 2, 5});
  CHECK(RunOnDevice({.node = "y = Concat<axis = 1>(a, b, c)", .inputs = {x, z, x}}) == "");
  CHECK(RunOnDevice({.node = "y, z = Split<axis = 2>(a, b)",
                     .inputs = {x, Ints({1, 4})},
                     .outputs = {DType::kFloat16, DType::kFloat16}}) == "");
  CHECK(RunOnDevice({.node = "y = Tile(a, b)", .inputs = {x, Ints({1, 2, 3})}}) == "");
  for (const std::string mode : {"constant", "reflect", "edge", "wrap"}) {
    CHECK(RunOnDevice({.node = "y = Pad<mode = \"" + mode + "\">(a, b)", .inputs = {x, Ints({0, 1, 2, 1, -1, 3})}}) ==
          "");
  }
  const Tensor fill = RandomTensor(DType::kFloat16, {});
  CHECK(RunOnDevice({.node = "y = Pad(a, b, c)", .inputs = {x, Ints({0, 1, 2, 1, 0, 3}), fill}}) == "");
}

TEST_CASE("device: shapes that are filled with a number") {
  const Tensor dims = Tensor::OfInts({3, 4, 5}), none = Tensor::OfInts({3, 0}), scalar = Tensor::OfInts({});
  for (const Tensor& shape : {dims, none, scalar}) {
    CHECK(RunOnDevice({.node = "y = ConstantOfShape(a)", .inputs = {shape}, .outputs = {DType::kFloat32}}) == "");
    CHECK(RunOnDevice(
              {.node = "y = ConstantOfShape<value = int8 {-7}>(a)", .inputs = {shape}, .outputs = {DType::kInt8}}) ==
          "");
    CHECK(RunOnDevice({.node = "y = ConstantOfShape<value = float16 {15360}>(a)",
                       .inputs = {shape},
                       .outputs = {DType::kFloat16}}) == "");
  }
}

TEST_CASE("device: Dropout that drops nothing, with a mask and without") {
  const Tensor no = Tensor::Scalar(false), yes = Tensor::Scalar(true), ratio = Tensor::Scalar(0.5f);
  for (const DType dtype : {DType::kFloat32, DType::kFloat16}) {
    const Tensor x = RandomTensor(dtype, {3, 4, 5});
    CHECK(RunOnDevice({.node = "y, z = Dropout(a)", .inputs = {x}, .opset = 7, .outputs = {dtype, dtype}}) == "");
    CHECK(RunOnDevice({.node = "y, z = Dropout(a)", .inputs = {x}, .opset = 10, .outputs = {dtype, DType::kBool}}) ==
          "");
    for (const std::string names : {"a", "a, b", "a, b, c"}) {
      CHECK(RunOnDevice({.node = "y, z = Dropout(" + names + ")",
                         .inputs = {x, ratio, no},
                         .outputs = {dtype, DType::kBool}}) == "");
      CHECK(RunOnDevice({.node = "y = Dropout(" + names + ")", .inputs = {x, ratio, no}}) == "");
    }
  }
  CHECK_THAT(WhyOnHost({.node = "y, z = Dropout<seed = 3>(a, b, c)",
                        .inputs = {RandomTensor(DType::kFloat32, {3}), ratio, yes},
                        .outputs = {DType::kFloat32, DType::kBool}}),
             Contains("training"));
}

TEST_CASE("device: Gather and its kin, with indices that are checked") {
  const Tensor x = RandomTensor(DType::kFloat32, {6, 5});
  CHECK(RunOnDevice({.node = "y = Gather(a, b)", .inputs = {x, Ints({5, -6, 0, 0})}}) == "");
  CHECK(RunOnDevice({.node = "y = Gather<axis = 1>(a, b)", .inputs = {x, Tensor::Scalar(int64_t{-1})}}) == "");
  const Tensor pairs = Tensor::Of<int64_t>(DType::kInt64, {2, 2}, {0, 4, -1, -1});
  CHECK(RunOnDevice({.node = "y = GatherND(a, b)", .inputs = {x, pairs}}) == "");
  CHECK(RunOnDevice({.node = "y = GatherElements<axis = 1>(a, b)", .inputs = {x, pairs}}) == "");
  CHECK(WhyOnHost({.node = "y = Gather(a, b)", .inputs = {x, Ints({6})}}).starts_with("error: "));
}

TEST_CASE("device: blocks of images") {
  const Tensor x = RandomTensor(DType::kFloat32, {2, 8, 4, 6});
  for (const std::string mode : {"DCR", "CRD"}) {
    CHECK(RunOnDevice({.node = "y = DepthToSpace<blocksize = 2, mode = \"" + mode + "\">(a)", .inputs = {x}}) == "");
  }
  CHECK(RunOnDevice({.node = "y = SpaceToDepth<blocksize = 2>(a)", .inputs = {x}}) == "");
  CHECK(RunOnDevice({.node = "y = CenterCropPad(a, b)", .inputs = {x, Ints({3, 4, 4, 9})}}) == "");
}

}  // namespace
}  // namespace amp
