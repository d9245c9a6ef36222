// Conversion on every path: edges, statistics, agreement of the paths, odd lengths, the way back.
// All 2^32 inputs are in convert_exhaustive_test.cc.

#include "ir/base/convert.h"

#include <algorithm>
#include <bit>
#include <cfloat>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "ir/base/convert_kernels.h"
#include "tests/catch2.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace amp {
namespace {

constexpr DType kLowTypes[] = {DType::kFloat16, DType::kBfloat16};
constexpr float kInf = std::numeric_limits<float>::infinity();

float FromBits(uint32_t bits) { return std::bit_cast<float>(bits); }
uint32_t ToBits(float value) { return std::bit_cast<uint32_t>(value); }

uint16_t NarrowSingleOn(ConvertPath path, float value, DType low) {
  uint16_t out = 0;
  NarrowOn(path, absl::MakeSpan(&value, 1), low, absl::MakeSpan(&out, 1));
  return out;
}

std::vector<float> RandomPatterns(size_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<float> values(count);
  for (float& value : values) {
    const uint32_t bits = static_cast<uint32_t>(random());
    std::memcpy(&value, &bits, sizeof(bits));
  }
  return values;
}

// Names the first difference; comparing the vectors inside CHECK would print millions of elements.
std::string Difference(const std::vector<uint16_t>& found, const std::vector<uint16_t>& expected) {
  const auto [at, wanted] = std::mismatch(found.begin(), found.end(), expected.begin(), expected.end());
  if (at == found.end() && wanted == expected.end()) return "";
  if (at == found.end() || wanted == expected.end()) return "lengths differ";
  return "at " + std::to_string(at - found.begin()) + ": " + std::to_string(*at) + " for " + std::to_string(*wanted);
}

struct NarrowCase {
  const char* what;
  uint32_t bits;
  uint16_t float16;
  uint16_t bfloat16;
};

constexpr NarrowCase kNarrowCases[] = {
    {"zero", 0x00000000, 0x0000, 0x0000},
    {"negative zero", 0x80000000, 0x8000, 0x8000},
    {"one", 0x3f800000, 0x3c00, 0x3f80},
    {"minus two", 0xc0000000, 0xc000, 0xc000},
    {"infinity", 0x7f800000, 0x7c00, 0x7f80},
    {"negative infinity", 0xff800000, 0xfc00, 0xff80},
    {"quiet NaN", 0x7fc00000, 0x7e00, 0x7fc0},
    {"NaN whose rounding would carry into the sign", 0x7fffffff, 0x7fff, 0x7fff},
    {"negative NaN with all bits set", 0xffffffff, 0xffff, 0xffff},
    {"signalling NaN with the lowest bit alone", 0x7f800001, 0x7e00, 0x7fc0},
    {"negative signalling NaN", 0xffa00000, 0xff00, 0xffe0},
    {"smallest subnormal of float32", 0x00000001, 0x0000, 0x0000},
    {"largest subnormal of float32", 0x007fffff, 0x0000, 0x0080},
    {"negative smallest subnormal of float32", 0x80000001, 0x8000, 0x8000},
    {"FLT_MAX", 0x7f7fffff, 0x7c00, 0x7f80},
    {"-FLT_MAX, a mask", 0xff7fffff, 0xfc00, 0xff80},
    {"-1e9, a mask", 0xce6e6b28, 0xfc00, 0xce6e},
    {"65504, the largest float16", 0x477fe000, 0x7bff, 0x4780},
    {"just below 65520", 0x477fefff, 0x7bff, 0x4780},
    {"65520, halfway to infinity", 0x477ff000, 0x7c00, 0x4780},
    {"2^-14, the smallest normal float16", 0x38800000, 0x0400, 0x3880},
    {"halfway to the smallest normal float16", 0x387fe000, 0x0400, 0x3880},
    {"just below it", 0x387fdfff, 0x03ff, 0x3880},
    {"2^-24, the smallest float16", 0x33800000, 0x0001, 0x3380},
    {"2^-25, half of it", 0x33000000, 0x0000, 0x3300},
    {"just above 2^-25", 0x33000001, 0x0001, 0x3300},
    {"1e-7, an epsilon", 0x33d6bf95, 0x0002, 0x33d7},
    {"2.98e-8, an epsilon", 0x32fffe14, 0x0000, 0x3300},
    {"2049, the first integer that float16 misses", 0x45001000, 0x6800, 0x4500},
    {"2051, ties to even upwards", 0x45003000, 0x6802, 0x4500},
    {"257, the first integer that bfloat16 misses", 0x43808000, 0x5c04, 0x4380},
    {"259, ties to even upwards", 0x43818000, 0x5c0c, 0x4382},
    {"0.999, a momentum", 0x3f7fbe77, 0x3bfe, 0x3f80},
    {"halfway to infinity in bfloat16", 0x7f7f8000, 0x7c00, 0x7f80},
    {"just below it", 0x7f7f7fff, 0x7c00, 0x7f7f},
    {"half the smallest bfloat16", 0x00008000, 0x0000, 0x0000},
    {"just above it", 0x00008001, 0x0000, 0x0001},
};

TEST_CASE("edge values narrow to the right bits on every path") {
  for (const NarrowCase& test : kNarrowCases) {
    INFO(test.what);
    const float value = FromBits(test.bits);
    CHECK(NarrowOne(value, DType::kFloat16) == test.float16);
    CHECK(NarrowOne(value, DType::kBfloat16) == test.bfloat16);
    for (const ConvertPath path : AvailableConvertPaths()) {
      INFO(ConvertPathName(path));
      CHECK(NarrowSingleOn(path, value, DType::kFloat16) == test.float16);
      CHECK(NarrowSingleOn(path, value, DType::kBfloat16) == test.bfloat16);
    }
  }
}

// Values as the formats define them, with ldexp; NaN and infinity aside.
double DefinedValue(uint16_t bits, DType low) {
  const int mantissa_bits = low == DType::kFloat16 ? 10 : 7;
  const int bias = low == DType::kFloat16 ? 15 : 127;
  const int field = (bits & 0x7fff) >> mantissa_bits;
  const int mantissa = bits & ((1 << mantissa_bits) - 1);
  const int significand = field == 0 ? mantissa : mantissa + (1 << mantissa_bits);
  const double magnitude = std::ldexp(significand, std::max(field, 1) - bias - mantissa_bits);
  return bits >= 0x8000 ? -magnitude : magnitude;
}

TEST_CASE("all 2^16 values widen to their definition and narrow back to themselves") {
  for (const DType low : kLowTypes) {
    const uint32_t infinity = low == DType::kFloat16 ? 0x7c00 : 0x7f80;
    const uint32_t quiet = low == DType::kFloat16 ? 0x0200 : 0x0040;
    std::vector<uint16_t> all(1 << 16);
    for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<uint16_t>(i);
    for (const ConvertPath path : AvailableConvertPaths()) {
      INFO(DTypeName(low) << " " << ConvertPathName(path));
      std::vector<float> wide(all.size());
      std::vector<uint16_t> back(all.size());
      WidenOn(path, all, low, absl::MakeSpan(wide));
      NarrowOn(path, wide, low, absl::MakeSpan(back));
      int num_wrong = 0;
      for (uint32_t i = 0; i < all.size(); ++i) {
        const uint32_t magnitude = i & 0x7fff;
        const bool is_nan = magnitude > infinity;
        const bool is_right = is_nan                  ? std::isnan(wide[i]) && std::signbit(wide[i]) == (i >= 0x8000)
                              : magnitude == infinity ? wide[i] == (i >= 0x8000 ? -kInf : kInf)
                                                      : double{wide[i]} == DefinedValue(all[i], low) &&
                                                            std::signbit(wide[i]) == (i >= 0x8000);
        num_wrong +=
            !is_right || back[i] != (is_nan ? i | quiet : i) || ToBits(wide[i]) != ToBits(WidenOne(all[i], low));
      }
      CHECK(num_wrong == 0);
    }
  }
}

bool SameStats(const NarrowingStats& a, const NarrowingStats& b) {
  return a.count == b.count && a.overflow == b.overflow && a.underflow == b.underflow && a.subnormal == b.subnormal &&
         a.largest == b.largest && a.squared_norm == b.squared_norm && a.squared_error == b.squared_error;
}

TEST_CASE("the paths agree on 10 million random bit patterns, statistics to the last bit") {
  const std::vector<float> values = RandomPatterns(10'000'000, 7);
  for (const DType low : kLowTypes) {
    std::vector<uint16_t> expected(values.size());
    for (size_t i = 0; i < values.size(); ++i) expected[i] = NarrowOne(values[i], low);
    NarrowingStats first_stats;
    for (const ConvertPath path : AvailableConvertPaths()) {
      INFO(DTypeName(low) << " " << ConvertPathName(path));
      std::vector<uint16_t> out(values.size());
      NarrowingStats stats;
      NarrowWithStatsOn(path, values, low, absl::MakeSpan(out), stats);
      CHECK(Difference(out, expected) == "");
      if (path == ConvertPath::kScalar) first_stats = stats;
      CHECK(SameStats(stats, first_stats));
      NarrowOn(path, values, low, absl::MakeSpan(out));
      CHECK(Difference(out, expected) == "");
    }
  }
}

// The definitions in NarrowingStats, one value after the other.
NarrowingStats DefinedStats(const std::vector<float>& values, DType low) {
  NarrowingStats stats;
  const double smallest_normal = low == DType::kFloat16 ? 0x1p-14 : 0x1p-126;
  for (const float value : values) {
    ++stats.count;
    const float result = WidenOne(NarrowOne(value, low), low);
    if (!std::isfinite(value)) continue;
    stats.largest = std::max(stats.largest, std::fabs(value));
    stats.overflow += std::isinf(result);
    stats.underflow += value != 0 && result == 0;
    stats.subnormal += result != 0 && std::fabs(double{result}) < smallest_normal;
    if (std::isinf(result)) continue;
    stats.squared_norm += double{value} * double{value};
    stats.squared_error += (double{value} - double{result}) * (double{value} - double{result});
  }
  return stats;
}

void CheckStats(const NarrowingStats& found, const NarrowingStats& defined) {
  CHECK(found.count == defined.count);
  CHECK(found.overflow == defined.overflow);
  CHECK(found.underflow == defined.underflow);
  CHECK(found.subnormal == defined.subnormal);
  CHECK(found.largest == defined.largest);
  CHECK(std::fabs(found.squared_norm - defined.squared_norm) <= 1e-12 * defined.squared_norm);
  CHECK(std::fabs(found.squared_error - defined.squared_error) <= 1e-12 * defined.squared_error);
}

TEST_CASE("statistics follow their definitions for any length, and do not change the results") {
  std::vector<float> values = RandomPatterns(3 * kConvertBlock + 21, 3);
  std::mt19937 random(4);
  std::lognormal_distribution<float> spread(-8, 6);  // normal, subnormal and zero results in float16
  for (size_t i = 0; i < values.size(); i += 2) values[i] = spread(random);
  for (const size_t length : {size_t{0}, size_t{1}, size_t{15}, size_t{16}, size_t{17}, size_t{100}, kConvertBlock - 1,
                              kConvertBlock, kConvertBlock + 1, 2 * kConvertBlock, values.size()}) {
    const std::vector<float> part(values.begin(), values.begin() + static_cast<ptrdiff_t>(length));
    for (const DType low : kLowTypes) {
      const NarrowingStats defined = DefinedStats(part, low);
      std::vector<uint16_t> plain(length);
      Narrow(part, low, absl::MakeSpan(plain));
      NarrowingStats surveyed;
      SurveyNarrowing(part, low, surveyed);
      for (const ConvertPath path : AvailableConvertPaths()) {
        INFO(DTypeName(low) << " " << ConvertPathName(path) << " length " << length);
        std::vector<uint16_t> out(length);
        NarrowingStats stats;
        NarrowWithStatsOn(path, part, low, absl::MakeSpan(out), stats);
        CheckStats(stats, defined);
        CHECK(Difference(out, plain) == "");
        CHECK(SameStats(stats, surveyed));
      }
    }
  }
}

TEST_CASE("statistics of a few values written out") {
  const std::vector<float> values = {1, -70000, 1e-9f, 0, -0.0f, 3e-6f, kInf, -kInf, FromBits(0x7fffffff), 2049};
  NarrowingStats stats;
  std::vector<uint16_t> out(values.size());
  NarrowWithStats(values, DType::kFloat16, absl::MakeSpan(out), stats);
  CHECK(stats.count == 10);
  CHECK(stats.overflow == 1);
  CHECK(stats.underflow == 1);
  CHECK(stats.subnormal == 1);
  CHECK(stats.largest == 70000);
  CHECK(stats.squared_norm == Approx(1 + 2049.0 * 2049.0));
  CHECK(stats.squared_error == Approx(1));  // 2049 became 2048
  CHECK(stats.RelativeError() == Approx(1 / 2049.0));
  CHECK(NarrowingStats().RelativeError() == 0);
}

TEST_CASE("two stretches add up to the whole") {
  const std::vector<float> values = RandomPatterns(2 * kConvertBlock, 11);
  for (const DType low : kLowTypes) {
    NarrowingStats whole;
    NarrowingStats first;
    NarrowingStats second;
    SurveyNarrowing(values, low, whole);
    SurveyNarrowing(absl::MakeSpan(values).first(kConvertBlock), low, first);
    SurveyNarrowing(absl::MakeSpan(values).subspan(kConvertBlock), low, second);
    first.Add(second);
    CHECK(SameStats(first, whole));
    // A second survey into the same object goes on counting.
    SurveyNarrowing(values, low, whole);
    CHECK(whole.count == 4 * static_cast<int64_t>(kConvertBlock));
    CHECK(whole.overflow == 2 * first.overflow);
  }
}

TEST_CASE("odd lengths and odd places: nothing outside the output is written") {
  const std::vector<float> values = RandomPatterns(128, 5);
  for (const DType low : kLowTypes) {
    for (const ConvertPath path : AvailableConvertPaths()) {
      int num_wrong = 0;
      for (size_t start = 0; start < 20; ++start) {
        for (size_t length = 0; length < 70; ++length) {
          const auto in = absl::MakeSpan(values).subspan(start, length);
          std::vector<uint16_t> out(128, 0xabcd);
          NarrowOn(path, in, low, absl::MakeSpan(out).subspan(start + 1, length));
          std::vector<float> back(128, 42);
          WidenOn(path, absl::MakeSpan(out).subspan(start + 1, length), low,
                  absl::MakeSpan(back).subspan(start + 3, length));
          for (size_t i = 0; i < out.size(); ++i) {
            const bool is_inside = i > start && i <= start + length;
            num_wrong += out[i] != (is_inside ? NarrowOne(values[i - 1], low) : 0xabcd);
          }
          for (size_t i = 0; i < back.size(); ++i) {
            const bool is_inside = i >= start + 3 && i < start + 3 + length;
            num_wrong += ToBits(back[i]) != ToBits(is_inside ? WidenOne(out[i - 2], low) : 42);
          }
        }
      }
      INFO(DTypeName(low) << " " << ConvertPathName(path));
      CHECK(num_wrong == 0);
    }
  }
}

#if defined(__x86_64__)
TEST_CASE("the caller's rounding mode, flush-to-zero and denormals-are-zero change nothing and stay set") {
  std::vector<float> values = RandomPatterns(100'003, 9);
  for (size_t i = 0; i < values.size(); i += 3) values[i] = FromBits(ToBits(values[i]) & 0x807fffff);  // subnormal
  for (const DType low : kLowTypes) {
    for (const ConvertPath path : AvailableConvertPaths()) {
      INFO(DTypeName(low) << " " << ConvertPathName(path));
      std::vector<uint16_t> expected(values.size());
      std::vector<uint16_t> out(values.size());
      std::vector<float> wide(values.size());
      std::vector<float> odd_wide(values.size());
      NarrowingStats expected_stats;
      NarrowingStats stats;
      NarrowWithStatsOn(path, values, low, absl::MakeSpan(expected), expected_stats);
      WidenOn(path, expected, low, absl::MakeSpan(wide));
      const unsigned saved = _mm_getcsr();
      const unsigned odd = (saved & 0x1f80u) | 0x8040u | 0x6000u;  // FTZ, DAZ, towards zero; exceptions masked
      _mm_setcsr(odd);
      NarrowWithStatsOn(path, values, low, absl::MakeSpan(out), stats);
      WidenOn(path, expected, low, absl::MakeSpan(odd_wide));
      const unsigned after = _mm_getcsr();
      _mm_setcsr(saved);
      CHECK(after == odd);
      CHECK(Difference(out, expected) == "");
      CHECK(std::memcmp(wide.data(), odd_wide.data(), wide.size() * sizeof(float)) == 0);
      CHECK(SameStats(stats, expected_stats));
      CHECK(stats.squared_norm > 0);
    }
  }
}
#endif

// The nearest value by search among all finite ones and the power of two after the last, ties to the even.
class NearestByTable {
 public:
  explicit NearestByTable(DType low) : infinity_(low == DType::kFloat16 ? 0x7c00 : 0x7f80) {
    for (uint16_t bits = 0; bits <= infinity_; ++bits) values_.push_back(DefinedValue(bits, low));
  }

  uint16_t operator()(double value) const {
    const uint32_t sign = std::signbit(value) ? 0x8000 : 0;
    const double magnitude = std::fabs(value);
    if (magnitude >= values_.back()) return static_cast<uint16_t>(sign | infinity_);
    const auto above = std::upper_bound(values_.begin(), values_.end(), magnitude) - values_.begin();
    const double midpoint = (values_[size_t(above)] + values_[size_t(above - 1)]) / 2;
    const bool is_up = magnitude > midpoint || (magnitude == midpoint && above % 2 == 0);
    return static_cast<uint16_t>(sign | static_cast<uint32_t>(is_up ? above : above - 1));
  }

  const std::vector<double>& values() const { return values_; }

 private:
  uint16_t infinity_;
  std::vector<double> values_;
};

TEST_CASE("float64 narrows directly: midpoints and their neighbours, limits, random patterns") {
  for (const DType low : kLowTypes) {
    const NearestByTable nearest(low);
    std::vector<double> values = {0.0,   DBL_MAX, DBL_MIN, DBL_TRUE_MIN, double{FLT_MAX}, double{FLT_MAX} * 1.0000001,
                                  1e300, 1e-300,  1e39,    0x1p-150};
    for (size_t i = 0; i + 1 < nearest.values().size(); ++i) {
      const double midpoint = (nearest.values()[i] + nearest.values()[i + 1]) / 2;
      values.insert(values.end(),
                    {nearest.values()[i], std::nextafter(midpoint, 0.0), midpoint, std::nextafter(midpoint, DBL_MAX)});
    }
    std::mt19937_64 random(21);
    std::lognormal_distribution<double> spread(0, 20);
    for (int i = 0; i < 500'000; ++i) {
      const double pattern = std::bit_cast<double>(uint64_t{random()});
      values.push_back(std::isnan(pattern) ? 0 : pattern);
      values.push_back(spread(random));
    }
    for (size_t i = 0, count = values.size(); i < count; ++i) values.push_back(-values[i]);
    std::vector<uint16_t> out(values.size());
    NarrowFloat64(values, low, absl::MakeSpan(out));
    size_t num_wrong = 0;
    double first_wrong = 0;
    for (size_t i = 0; i < values.size(); ++i) {
      if (out[i] != nearest(values[i]) && num_wrong++ == 0) first_wrong = values[i];
    }
    INFO(DTypeName(low) << " " << first_wrong);
    CHECK(num_wrong == 0);
  }
}

TEST_CASE("float64 through float32 would round twice; NaN and infinity stay") {
  const double infinity = std::numeric_limits<double>::infinity();
  const std::vector<double> values = {1 + 0x1p-11 + 0x1p-40,
                                      1 + 0x1p-8 + 0x1p-40,
                                      std::bit_cast<double>(uint64_t{0x7fffffffffffffff}),
                                      std::bit_cast<double>(uint64_t{0xfff0000000000001}),
                                      infinity,
                                      -infinity,
                                      -0.0};
  std::vector<uint16_t> out(values.size());
  NarrowFloat64(values, DType::kFloat16, absl::MakeSpan(out));
  CHECK(out == std::vector<uint16_t>{0x3c01, 0x3c04, 0x7fff, 0xfe00, 0x7c00, 0xfc00, 0x8000});
  NarrowFloat64(values, DType::kBfloat16, absl::MakeSpan(out));
  CHECK(out == std::vector<uint16_t>{0x3f80, 0x3f81, 0x7fff, 0xffc0, 0x7f80, 0xff80, 0x8000});
  CHECK(NarrowOne(static_cast<float>(values[0]), DType::kFloat16) == 0x3c00);
  CHECK(NarrowOne(static_cast<float>(values[1]), DType::kBfloat16) == 0x3f80);
}

TEST_CASE("paths are listed slowest first, and the default is one of them") {
  const std::vector<ConvertPath> paths = AvailableConvertPaths();
  REQUIRE(!paths.empty());
  CHECK(paths.front() == ConvertPath::kScalar);
  CHECK(std::is_sorted(paths.begin(), paths.end()));
  CHECK(ConvertPathName(ConvertPath::kScalar) == "scalar");
  CHECK(ConvertPathName(ConvertPath::kAvx2) == "avx2");
  CHECK(ConvertPathName(ConvertPath::kAvx512) == "avx512");
}

}  // namespace
}  // namespace amp
