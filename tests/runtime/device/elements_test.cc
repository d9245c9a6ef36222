// float16 and bfloat16 as the device's kernels read and write them: as all of this project does. NaN is any NaN.
#include <cmath>
#include <cstdint>
#include <random>

#include "ir/base/convert.h"
#include "runtime/device/raw/element.h"
#include "tests/catch2.h"

namespace amp {
namespace {

template <typename T>
bool WidensAllAs(DType dtype) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float found = device::Widen(T{static_cast<uint16_t>(bits)});
    const float expected = WidenOne(static_cast<uint16_t>(bits), dtype);
    const bool agree = std::isnan(expected) ? std::isnan(found) : device::BitsOf(found) == device::BitsOf(expected);
    if (!agree) return false;
  }
  return true;
}

TEST_CASE("every number of 16 bits is read as what it is") {
  CHECK(WidensAllAs<device::Float16>(DType::kFloat16));
  CHECK(WidensAllAs<device::Bfloat16>(DType::kBfloat16));
}

template <typename T>
bool NarrowsAs(DType dtype, float x) {
  const uint16_t expected = NarrowOne(x, dtype), found = device::Narrow<T>(x).bits;
  if (std::isnan(x)) return std::isnan(WidenOne(found, dtype));
  return found == expected;
}

// All upper halves of a float32 with lower halves that decide about rounding, and some besides.
TEST_CASE("float32 is rounded as everywhere") {
  std::mt19937 random(5);
  bool agree = true;
  for (uint32_t upper = 0; upper < 0x10000; ++upper) {
    for (const uint32_t lower : {0x0u, 0x1u, 0xfffu, 0x1000u, 0x1001u, 0x1fffu, 0x2000u, 0x3000u, 0x7fffu, 0x8000u,
                                 0x8001u, 0xffffu, static_cast<uint32_t>(random() & 0xffff)}) {
      const float x = device::FloatOf(upper << 16 | lower);
      agree =
          agree && NarrowsAs<device::Float16>(DType::kFloat16, x) && NarrowsAs<device::Bfloat16>(DType::kBfloat16, x);
    }
  }
  CHECK(agree);
}

}  // namespace
}  // namespace amp
