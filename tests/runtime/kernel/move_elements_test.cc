// Copies of elements by strides and by lists, and transposed matrices, against the plainest loops, by one thread and by
// three.
#include "runtime/kernel/move_elements.h"

#include <numeric>
#include <random>
#include <vector>

#include "runtime/kernel/parallel_for.h"
#include "runtime/kernel/shape_math.h"
#include "runtime/kernel/turn_matrix.h"
#include "runtime/onednn/open_library.h"
#include "tests/catch2.h"

namespace amp {
namespace {

constexpr DType kTypes[] = {DType::kInt8,  DType::kFloat16,    DType::kFloat32,
                            DType::kInt64, DType::kComplex128, DType::kString};

// Elements that differ, as far as the type has so many.
Tensor Numbered(DType dtype, const Dims& dims) {
  Tensor tensor = *Tensor::Create(dtype, dims);
  const auto count = static_cast<size_t>(tensor.num_elements());
  if (dtype == DType::kString) {
    for (size_t i = 0; i < count; ++i) tensor.mutable_elements<std::string>()[i] = std::to_string(i);
    return tensor;
  }
  const auto bytes = tensor.mutable_bytes();
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>((i * 7 + i / 251) & 0xff);
  return tensor;
}

// Element i as bytes, or as its text.
std::string ElementOf(const Tensor& tensor, size_t i) {
  if (tensor.dtype() == DType::kString) return tensor.elements<std::string>()[i];
  const size_t size = ElementBytes(tensor.dtype());
  return {reinterpret_cast<const char*>(tensor.bytes().data()) + i * size, size};
}

// Runs `copy` alone, and by three threads that share out the smallest work.
template <typename Copy>
void ForTeams(const Copy& copy) {
  copy();
  const onednn::Library* const library = onednn::OpenLibrary().library;
  if (library == nullptr) return;
  library->SetThreads(3);
  const TeamScope team(library);
  ShareSmallWork(true);
  copy();
  ShareSmallWork(false);
}

void CheckStrided(const Tensor& from, int64_t start, const Dims& strides, const Dims& dims) {
  INFO(from.TypeText() << " " << DimsText(strides) << " to " << DimsText(dims));
  ForTeams([&] {
    Tensor to = *Tensor::Create(from.dtype(), dims);
    REQUIRE(CopyStrided(from, start, strides, to).ok());
    size_t wrong = 0, i = 0;
    for (StridedWalk walk(dims, {strides}); !walk.AtEnd(); walk.Next(), ++i) {
      const auto place = static_cast<size_t>(start + static_cast<int64_t>(walk[0]));
      wrong += ElementOf(to, i) != ElementOf(from, place) ? 1 : 0;
    }
    CHECK(wrong == 0);
  });
}

TEST_CASE("copies by strides: transposed, repeated, backwards, every other element") {
  for (const DType dtype : kTypes) {
    const Tensor x = Numbered(dtype, {3, 5, 41});
    CheckStrided(x, 0, {205, 41, 1}, {3, 5, 41});
    CheckStrided(x, 0, {1, 41, 205}, {41, 5, 3});
    CheckStrided(x, 0, {41, 205, 1}, {5, 3, 41});
    CheckStrided(x, 0, {205, 1, 41}, {3, 41, 5});
    CheckStrided(x, 0, {205, 0, 1}, {3, 7, 41});
    CheckStrided(x, 40, {205, 41, 0}, {3, 5, 6});
    CheckStrided(x, 614, {-205, -41, -1}, {3, 5, 41});
    CheckStrided(x, 0, {205, 41, 2}, {3, 5, 21});
    CheckStrided(x, 1, {205, 82, 2}, {3, 2, 20});
    CheckStrided(x, 2, {205, 41, 3}, {3, 5, 13});
    CheckStrided(x, 0, {}, {});
    CheckStrided(x, 0, {1}, {0});
    for (int64_t length = 1; length < 40; ++length) CheckStrided(x, 614 - 2 * (length - 1), {2}, {length});
  }
}

TEST_CASE("matrices of few rows or columns, and of any, turned") {
  for (const DType dtype : kTypes) {
    const Tensor x = Numbered(dtype, {40, 37});
    for (const int64_t rows : {1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 33}) {
      for (const int64_t columns : {1, 2, 3, 4, 7, 9, 16, 37}) CheckStrided(x, 0, {1, rows}, {rows, columns});
    }
  }
  const Tensor channels = Numbered(DType::kFloat32, {3, 1000});
  CheckStrided(channels, 0, {1, 1000}, {1000, 3});
  CheckStrided(channels.Reshaped({1000, 3}), 0, {1, 3}, {3, 1000});
}

TEST_CASE("nothing behind a turned matrix is written to") {
  std::vector<uint16_t> from(64);
  std::iota(from.begin(), from.end(), uint16_t{1});
  for (const int64_t columns : {1, 2, 3, 5, 7, 9}) {
    for (const int64_t rows : {1, 3, 4, 5, 6, 7}) {
      std::vector<uint16_t> to(static_cast<size_t>(rows * columns) + 16, 0);
      TurnMatrix(from.data(), to.data(), Turn{rows, columns, rows, columns});
      for (size_t i = 0; i < 16; ++i) CHECK(to[static_cast<size_t>(rows * columns) + i] == 0);
    }
  }
}

void CheckPicked(const Tensor& from, const std::vector<std::vector<int64_t>>& picks, const Tensor* fill) {
  Dims dims;
  for (const auto& list : picks) dims.push_back(static_cast<int64_t>(list.size()));
  INFO(from.TypeText() << " to " << DimsText(dims));
  const Dims strides = RowStrides(from.dims());
  ForTeams([&] {
    Tensor to = *Tensor::Create(from.dtype(), dims);
    REQUIRE(CopyPicked(from, picks, fill, to).ok());
    size_t wrong = 0, i = 0;
    for (StridedWalk walk(dims, {}); !walk.AtEnd(); walk.Next(), ++i) {
      int64_t place = 0;
      for (size_t axis = 0; axis < picks.size() && place != kNowhere; ++axis) {
        const int64_t picked = picks[axis][static_cast<size_t>(walk.index()[axis])];
        place = picked == kNowhere ? kNowhere : place + picked * strides[axis];
      }
      const std::string expected =
          place == kNowhere ? ElementOf(*fill, 0) : ElementOf(from, static_cast<size_t>(place));
      wrong += ElementOf(to, i) != expected ? 1 : 0;
    }
    CHECK(wrong == 0);
  });
}

std::vector<int64_t> All(int64_t count) {
  std::vector<int64_t> all(static_cast<size_t>(count));
  std::iota(all.begin(), all.end(), int64_t{0});
  return all;
}

TEST_CASE("copies by lists: padded, mirrored, repeated, enlarged; axes at the end that stay as they are") {
  const int64_t none = kNowhere;
  for (const DType dtype : kTypes) {
    const Tensor x = Numbered(dtype, {2, 3, 4, 5}), fill = Numbered(dtype, {1});
    CheckPicked(x, {All(2), All(3), All(4), All(5)}, &fill);
    CheckPicked(x, {All(2), {none, 0, 1, 2, none}, {none, none, 0, 1, 2, 3}, All(5)}, &fill);
    CheckPicked(x, {{1, 0}, {2, 1, 0, 1, 2}, All(4), {4, 3, 2, 1, 0, 1}}, &fill);
    CheckPicked(x, {All(2), {0, 0, 1, 1, 2, 2}, {0, 0, 1, 1, 2, 2, 3, 3}, All(5)}, &fill);
    CheckPicked(x, {All(2), All(3), {0, 0, 1, 1, 2, 2, 3, 3}, {0, 0, 1, 1, 2, 2, 3, 3, 4, 4}}, &fill);
    CheckPicked(x, {{0, 1, 0, 1}, All(3), {0, 1, 2, 3, 0, 1, 2, 3}, All(5)}, &fill);
    CheckPicked(x, {{none, none}, All(3), All(4), All(5)}, &fill);
    CheckPicked(x, {All(2), {}, All(4), All(5)}, &fill);
    CheckPicked(x, {All(1), All(3), All(4), All(5)}, &fill);
    CheckPicked(x.Reshaped({2, 3, 20, 1}), {All(2), {none, 0, 1, 2}, {19, none, 0}, All(1)}, &fill);
    CheckPicked(fill.Reshaped({}), {}, &fill);
  }
}

TEST_CASE("runs of elements and blocks, by several threads") {
  for (const DType dtype : kTypes) {
    const Tensor x = Numbered(dtype, {6, 50});
    ForTeams([&] {
      Tensor runs = *Tensor::Create(dtype, {4, 50}), blocks = *Tensor::Create(dtype, {6, 70}), whole = x;
      REQUIRE(CopyRuns(x, {{250, 0, 100, 100}}, 50, runs).ok());
      FillWithZero(blocks);
      CopyBlocks(x, {.first = 10, .step = 50}, blocks, {.first = 30, .step = 70}, 40, 6);
      whole = *Tensor::Create(dtype, {300});
      CopyBlocks(x, {.first = 0, .step = 50}, whole, {.first = 0, .step = 50}, 50, 6);
      size_t wrong = 0;
      for (size_t i = 0; i < 50; ++i) {
        wrong += ElementOf(runs, i) != ElementOf(x, 250 + i) || ElementOf(runs, 150 + i) != ElementOf(x, 100 + i);
      }
      for (size_t row = 0; row < 6; ++row) {
        for (size_t i = 0; i < 40; ++i)
          wrong += ElementOf(blocks, row * 70 + 30 + i) != ElementOf(x, row * 50 + 10 + i);
      }
      for (size_t i = 0; i < 300; ++i) wrong += ElementOf(whole, i) != ElementOf(x, i);
      CHECK(wrong == 0);
    });
  }
}

}  // namespace
}  // namespace amp
