// Kernels that move elements, given channels-last tensors: what comes out is what row-major ones give.
#include "tests/catch2.h"
#include "tests/runtime/loops/run_both.h"

namespace amp {
namespace {

std::string Moved(const std::string& node, std::vector<Tensor> inputs) {
  return RunBoth({.node = node, .inputs = std::move(inputs), .relative = -1, .family = "reference"});
}

TEST_CASE("transposed channels-last tensors, relabelled or moved") {
  for (const DType dtype : {DType::kFloat32, DType::kFloat16, DType::kUint8}) {
    const Tensor x = InChannelsLast(RandomTensor(dtype, {2, 33, 5, 21}));
    for (const std::string perm : {"0,2,3,1", "0,1,2,3", "3,2,1,0", "0,3,1,2", "1,0,2,3", "2,3,0,1"}) {
      CHECK(Moved("y = Transpose<perm = [" + perm + "]>(a)", {x}) == "");
    }
  }
}

TEST_CASE("padded channels-last tensors, around images and behind channels") {
  for (const DType dtype : {DType::kFloat32, DType::kFloat16, DType::kUint8}) {
    const Tensor x = InChannelsLast(RandomTensor(dtype, {2, 7, 5, 6}));
    for (const std::vector<int64_t>& pads :
         {std::vector<int64_t>{0, 0, 1, 2, 0, 0, 3, 0}, {0, 0, 0, 0, 0, 9, 0, 0}, {1, 2, -1, 1, 0, -3, 2, -2}}) {
      for (const std::string mode : {"constant", "edge", "reflect", "wrap"}) {
        CHECK(Moved("y = Pad<mode = \"" + mode + "\">(a, b)", {x, Tensor::OfInts(pads)}) == "");
      }
    }
  }
}

// Against elements moved one by one.
template <typename T>
bool IsTurned(const Tensor& x, const Tensor& y) {
  const auto rows = static_cast<size_t>(x.dim(0)), columns = static_cast<size_t>(x.dim(1));
  bool turned = true;
  for (size_t r = 0; r < rows; ++r) {
    for (size_t c = 0; c < columns; ++c) {
      turned = turned && x.elements<T>()[r * columns + c] == y.elements<T>()[c * rows + r];
    }
  }
  return turned;
}

TEST_CASE("matrices of all sizes are turned") {
  for (const int64_t rows : {1, 2, 3, 8, 17, 33, 70}) {
    for (const int64_t columns : {1, 2, 5, 16, 31, 64, 129}) {
      for (const DType dtype : {DType::kUint8, DType::kInt16, DType::kInt32, DType::kInt64}) {
        const Tensor x = RandomTensor(dtype, {rows, columns}, Values::kPlain, 1e5);
        const absl::StatusOr<Ran> ran = RunCase({.node = "y = Transpose(a)", .inputs = {x}}, nullptr);
        REQUIRE(ran.ok());
        VisitIntegers(dtype, [&]<typename T>(TypeTag<T>) { CHECK(IsTurned<T>(x, *ran->outputs[0].tensor())); });
      }
    }
  }
}

TEST_CASE("joined tensors in one layout or several") {
  const Tensor a = RandomTensor(DType::kFloat32, {2, 3, 5, 7}), b = RandomTensor(DType::kFloat32, {2, 4, 5, 7});
  for (const Tensor& first : {a, InChannelsLast(a)}) {
    for (const Tensor& second : {b, InChannelsLast(b)})
      CHECK(Moved("y = Concat<axis = 1>(a, b)", {first, second}) == "");
  }
  for (const int axis : {0, 1, 2, -1}) {
    CHECK(Moved(absl::StrCat("y = Concat<axis = ", axis, ">(a, b)"), {InChannelsLast(a), InChannelsLast(a)}) == "");
  }
}

TEST_CASE("resized images in both layouts") {
  const Tensor x = RandomTensor(DType::kFloat32, {2, 3, 5, 7});
  const Tensor scales = Tensor::Of<float>(DType::kFloat32, {4}, {1, 1, 2, 1.5});
  for (const std::string mode : {"nearest", "linear", "cubic"}) {
    CHECK(RunBoth({.node = "y = Resize<mode = \"" + mode + "\">(a, , b)",
                   .inputs = {InChannelsLast(x), scales},
                   .absolute = 1e-5,
                   .family = mode == "nearest" ? "reference" : "loops"}) == "");
  }
}

}  // namespace
}  // namespace amp
