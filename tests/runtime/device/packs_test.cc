// Packs, the elements that a thread computes together: tensors and rows that end within a pack, and memory that packs
// cannot be read from. These tests find a body that writes beyond its tensor, or computes in another order than element
// by element.
#include <cmath>
#include <cstddef>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/device/raw/chain.h"
#include "runtime/device/raw/elementwise.h"
#include "runtime/device/raw/rows.h"
#include "tests/catch2.h"

namespace amp {
namespace {

using device::Float16;
using device::Storage;

struct PlainRunner {
  template <typename Body>
  int ForEach(uint32_t count, const Body& body) {
    threads = count;
    for (uint32_t i = 0; i < count; ++i) body(i);
    return 0;
  }
  template <typename Body>
  int ForRows(uint32_t, const Body&, uint32_t = 0) {
    return -2;  // no row is long here
  }
  uint32_t threads = 0;
};

template <typename Arguments>
int StartPlainly(const Arguments& arguments) {
  PlainRunner runner;
  return Start(runner, arguments);
}

// Memory with a margin that nobody may write to, from a place that takes packs, or `offset` elements behind one.
template <typename T>
class Memory {
 public:
  Memory(uint32_t count, uint32_t offset) : offset_(kMargin + offset), elements_(count + 2 * kMargin + offset) {
    for (T& each : elements_) each = device::Narrow<T>(kMark);
    for (uint32_t i = 0; i < count; ++i) {
      elements_[offset_ + i] = device::Narrow<T>(static_cast<float>(i % 41) * 0.25f - 4);
    }
  }
  T* begin() { return elements_.data() + offset_; }
  float operator[](size_t i) const { return device::Widen(elements_[offset_ + i]); }
  bool IsIntact(uint32_t count) const {
    for (size_t i = 0; i < elements_.size(); ++i) {
      const bool is_inside = i >= offset_ && i < offset_ + count;
      if (!is_inside && device::Widen(elements_[i]) != kMark) return false;
    }
    return true;
  }

 private:
  static constexpr uint32_t kMargin = 16;
  static constexpr float kMark = 1024;
  uint32_t offset_;
  std::vector<T> elements_;
};

constexpr uint32_t kCounts[] = {1, 7, 8, 9, 15, 16, 17, 64, 67};

template <typename T>
std::string MapDiffers(Storage storage, uint32_t count, uint32_t offset) {
  Memory<T> x(count, offset), y(count, 0);
  const device::MapArguments map = {.x = x.begin(),
                                    .y = y.begin(),
                                    .count = count,
                                    .storage = storage,
                                    .function = device::UnaryFunction::kSigmoid,
                                    .a = 0,
                                    .b = 0};
  PlainRunner runner;
  if (Start(runner, map) != 0) return "not started";
  if (runner.threads != (count + 7) / 8) return absl::StrCat(runner.threads, " threads");
  for (uint32_t i = 0; i < count; ++i) {
    const float expected = device::Widen(device::Narrow<T>(device::Sigmoid(x[i])));
    if (y[i] != expected) return absl::StrCat("element ", i, ": found ", y[i], ", expected ", expected);
  }
  return y.IsIntact(count) ? "" : "written beyond the tensor";
}

TEST_CASE("packs: a function of tensors of any size, from any place") {
  for (const uint32_t count : kCounts) {
    for (const uint32_t offset : {0u, 1u, 3u}) {
      INFO(count << " elements, " << offset << " behind");
      CHECK(MapDiffers<float>(Storage::kFloat32, count, offset) == "");
      CHECK(MapDiffers<Float16>(Storage::kFloat16, count, offset) == "");
      CHECK(MapDiffers<device::Bfloat16>(Storage::kBfloat16, count, offset) == "");
    }
  }
}

// y = a - b with b repeated for every row of `columns`.
std::string ZipDiffers(uint32_t rows, uint32_t columns) {
  const uint32_t count = rows * columns;
  Memory<Float16> a(count, 0), b(columns, 1), y(count, 0);
  device::ZipArguments zip = {.operands = {.a = a.begin(),
                                           .b = b.begin(),
                                           .y = y.begin(),
                                           .count = count,
                                           .storage = Storage::kFloat16,
                                           .shape = {.rank = 2, .dims = {rows, columns}},
                                           .is_flat = false},
                              .function = device::BinaryFunction::kSubtract};
  zip.operands.shape.strides[0][0] = columns;
  zip.operands.shape.strides[0][1] = zip.operands.shape.strides[1][1] = 1;
  if (StartPlainly(zip) != 0) return "not started";
  for (uint32_t i = 0; i < count; ++i) {
    const float expected = device::Widen(device::Narrow<Float16>(a[i] - b[i % columns]));
    if (y[i] != expected) return absl::StrCat("element ", i, ": found ", y[i], ", expected ", expected);
  }
  return y.IsIntact(count) ? "" : "written beyond the tensor";
}

TEST_CASE("packs: rows that end within one") {
  for (const uint32_t columns : {1u, 5u, 8u, 12u, 16u, 31u}) {
    INFO(columns << " columns");
    CHECK(ZipDiffers(1, columns) == "");
    CHECK(ZipDiffers(7, columns) == "");
  }
}

TEST_CASE("packs: conversions, of floats and of whole numbers") {
  for (const uint32_t count : kCounts) {
    INFO(count << " elements");
    Memory<float> x(count, 1);
    Memory<Float16> y(count, 0);
    const device::ConvertArguments narrow = {
        .x = x.begin(), .y = y.begin(), .count = count, .from = Storage::kFloat32, .to = Storage::kFloat16};
    CHECK(StartPlainly(narrow) == 0);
    bool agree = y.IsIntact(count);
    for (uint32_t i = 0; i < count; ++i) agree = agree && y[i] == x[i];
    CHECK(agree);
    std::vector<int64_t> whole(count + 1, -77);
    const device::ConvertArguments cut = {
        .x = x.begin(), .y = whole.data(), .count = count, .from = Storage::kFloat32, .to = Storage::kInt64};
    CHECK(StartPlainly(cut) == 0);
    agree = whole[count] == -77;
    for (uint32_t i = 0; i < count; ++i) agree = agree && whole[i] == static_cast<int64_t>(x[i]);
    CHECK(agree);
  }
}

// Computes y = (x + row) * one with a chain of `slots` slots that repeats `row` and rounds to float16 on the way.
// Returns the first difference, or "". With `passes_on`, a result that only the next step reads takes no slot.
std::string ChainDiffers(uint32_t rows, uint32_t columns, uint32_t offset, int32_t slots, bool passes_on) {
  const uint32_t count = rows * columns;
  Memory<Float16> x(count, offset), row(columns, 0), one(1, 0), y(count, 0);
  using device::ChainCodeKind, device::ChainOperandWay;
  device::ChainArguments chain = {};
  chain.y = y.begin();
  chain.storage = Storage::kFloat16;
  chain.count = count;
  chain.num_codes = 5;
  chain.num_slots = slots;
  chain.shape = {.rank = 2, .dims = {rows, columns}};
  chain.shape.strides[1][1] = 1;
  chain.operands[0] = {x.begin(), Storage::kFloat16, ChainOperandWay::kFlat};
  chain.operands[1] = {row.begin(), Storage::kFloat16, ChainOperandWay::kStrided};
  chain.operands[2] = {one.begin(), Storage::kFloat16, ChainOperandWay::kOne};
  const auto load = [](uint8_t operand, uint8_t slot) {
    return device::ChainCode{ChainCodeKind::kLoad, operand, {}, slot, Storage::kFloat32, 0, 0};
  };
  const auto zip = [](device::BinaryFunction function, uint8_t a, uint8_t b, uint8_t slot) {
    return device::ChainCode{
        ChainCodeKind::kZip, static_cast<uint8_t>(function), {a, b, 0}, slot, Storage::kFloat16, 0, 0};
  };
  const uint8_t loaded = passes_on ? device::kFromLastStep : uint8_t{1},
                result = passes_on ? device::kFromLastStep : uint8_t{2};
  const device::ChainCode codes[] = {load(0, 0), load(1, loaded), zip(device::BinaryFunction::kAdd, 0, loaded, 0),
                                     load(2, loaded), zip(device::BinaryFunction::kMultiply, 0, loaded, result)};
  std::copy(std::begin(codes), std::end(codes), chain.codes);
  if (StartPlainly(chain) != 0) return "not started";
  const auto rounded = [](float value) { return device::Widen(device::Narrow<Float16>(value)); };
  for (uint32_t i = 0; i < count; ++i) {
    const float expected = rounded(rounded(x[i] + row[i % columns]) * one[0]);
    if (y[i] != expected) return absl::StrCat("element ", i, ": found ", y[i], ", expected ", expected);
  }
  return y.IsIntact(count) ? "" : "written beyond the tensor";
}

TEST_CASE("packs: chains") {
  for (const uint32_t columns : {1u, 5u, 8u, 12u, 16u, 31u}) {
    for (const uint32_t offset : {0u, 1u}) {
      for (const int32_t slots : {3, device::kMostChainSlots}) {
        for (const bool passes_on : {false, true}) {
          INFO(columns << " columns, " << offset << " behind, " << slots << " slots, passed on " << passes_on);
          CHECK(ChainDiffers(1, columns, offset, slots, passes_on) == "");
          CHECK(ChainDiffers(7, columns, offset, slots, passes_on) == "");
        }
      }
    }
  }
}

TEST_CASE("packs: a chain that ends in truth values finds those that are not zero") {
  constexpr uint32_t kCount = 11;
  std::vector<float> x(kCount);
  for (uint32_t i = 0; i < kCount; ++i) x[i] = (static_cast<float>(i) - 5) / 8;
  std::vector<uint8_t> y(kCount, 7);
  device::ChainArguments chain = {};
  chain.y = y.data();
  chain.storage = Storage::kBool;
  chain.count = kCount;
  chain.num_codes = 2;
  chain.operands[0] = {x.data(), Storage::kFloat32, device::ChainOperandWay::kFlat};
  chain.codes[0] = {device::ChainCodeKind::kLoad, 0, {}, device::kFromLastStep, Storage::kFloat32, 0, 0};
  chain.codes[1] = {
      device::ChainCodeKind::kRound, 0, {device::kFromLastStep, 0, 0}, device::kFromLastStep, Storage::kBool, 0, 0};
  CHECK(StartPlainly(chain) == 0);
  for (uint32_t i = 0; i < kCount; ++i) CHECK(y[i] == (x[i] != 0 ? 1 : 0));
}

// y = a > b ? c : d, where b is one number and d is one or not.
std::string ChoiceDiffers(uint32_t count, uint32_t offset, bool has_one) {
  Memory<Float16> a(count, offset), b(1, 0), c(count, 0), d(count, 1), y(count, 0);
  for (uint32_t i = 0; i < count; ++i) d.begin()[i] = device::Narrow<Float16>(2 - c[i]);
  const device::CompareAndChooseArguments choose = {.a = {a.begin(), false},
                                                    .b = {b.begin(), true},
                                                    .c = {c.begin(), false},
                                                    .d = {d.begin(), has_one},
                                                    .y = y.begin(),
                                                    .count = count,
                                                    .storage = Storage::kFloat16,
                                                    .comparison = device::Comparison::kGreater};
  if (StartPlainly(choose) != 0) return "not started";
  for (uint32_t i = 0; i < count; ++i) {
    const float expected = a[i] > b[0] ? c[i] : d[has_one ? 0 : i];
    if (y[i] != expected) return absl::StrCat("element ", i, ": found ", y[i], ", expected ", expected);
  }
  return y.IsIntact(count) ? "" : "written beyond the tensor";
}

TEST_CASE("packs: choices by a comparison") {
  for (const uint32_t count : kCounts) {
    for (const uint32_t offset : {0u, 1u}) {
      INFO(count << " elements, " << offset << " behind");
      CHECK(ChoiceDiffers(count, offset, false) == "");
      CHECK(ChoiceDiffers(count, offset, true) == "");
    }
  }
}

// Means of the pixels of each channel, where the channels of a pixel lie beside each other.
TEST_CASE("packs: a thread by itself sums up what lies far apart") {
  constexpr uint32_t kBatch = 8, kPixels = 3, kChannels = 2048, kResults = kBatch * kChannels;
  Memory<float> x(kBatch * kPixels * kChannels, 0), y(kResults, 0);
  device::ReduceArguments reduce = {.x = x.begin(),
                                    .y = y.begin(),
                                    .storage = Storage::kFloat32,
                                    .stored_as = Storage::kFloat32,
                                    .reduction = device::Reduction::kSum,
                                    .scale = 1.0f / kPixels,
                                    .results = kResults,
                                    .count = kPixels,
                                    .kept = {.rank = 2, .dims = {kBatch, kChannels}},
                                    .reduced = {.rank = 1, .dims = {kPixels}}};
  reduce.kept.strides[0][0] = kPixels * kChannels;
  reduce.kept.strides[0][1] = 1;
  reduce.reduced.strides[0][0] = kChannels;
  REQUIRE(StartPlainly(reduce) == 0);
  bool agree = true;
  for (uint32_t i = 0; i < kResults; ++i) {
    float sum = 0;
    for (uint32_t pixel = 0; pixel < kPixels; ++pixel) {
      sum += x[(i / kChannels * kPixels + pixel) * kChannels + i % kChannels];
    }
    agree = agree && std::fabs(y[i] - sum / kPixels) < 1e-5f;
  }
  CHECK(agree);
  reduce.results = kChannels;  // few of them are worth a team each
  CHECK(StartPlainly(reduce) == -2);
}

}  // namespace
}  // namespace amp
