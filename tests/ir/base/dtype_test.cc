// The judge of casts against casts written out: every triple of types, all values of types of up to 16 bits, edges and
// random samples of wider ones. The reference knows each small float type as the sorted list of its values, and knows
// nothing of precisions and exponents.

#include "ir/base/dtype.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <random>
#include <vector>

#include "tests/catch2.h"

namespace amp {
namespace {

// Holds every value of every numeric type exactly (64 bits of significand).
using Number = long double;
static_assert(std::numeric_limits<Number>::digits >= 64);

bool IsSame(Number a, Number b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  return a == b && std::signbit(a) == std::signbit(b);
}

constexpr std::array kIntegers = {DType::kUint8, DType::kInt8,  DType::kUint16, DType::kInt16,
                                  DType::kInt32, DType::kInt64, DType::kUint32, DType::kUint64,
                                  DType::kUint4, DType::kInt4,  DType::kUint2,  DType::kInt2};
constexpr std::array kSmallFloats = {
    DType::kFloat16,        DType::kBfloat16,   DType::kFloat8E4M3FN, DType::kFloat8E4M3FNUZ, DType::kFloat8E5M2,
    DType::kFloat8E5M2FNUZ, DType::kFloat4E2M1, DType::kFloat8E8M0,   DType::kFloat6E2M3,     DType::kFloat6E3M2};

bool IsInteger(DType type) { return std::find(kIntegers.begin(), kIntegers.end(), type) != kIntegers.end(); }
bool IsSigned(DType type) {
  return type == DType::kInt8 || type == DType::kInt16 || type == DType::kInt32 || type == DType::kInt64 ||
         type == DType::kInt4 || type == DType::kInt2;
}

std::vector<DType> NumericTypes() {
  std::vector<DType> types = {DType::kBool, DType::kFloat32, DType::kFloat64};
  types.insert(types.end(), kIntegers.begin(), kIntegers.end());
  types.insert(types.end(), kSmallFloats.begin(), kSmallFloats.end());
  return types;
}

// ---- decoding, from the definitions of the formats ----------------------------------------------------------------

struct Layout {
  int exponent_bits;
  int mantissa_bits;
  int bias;
};

Layout LayoutOf(DType type) {
  switch (type) {
    case DType::kFloat16:
      return {5, 10, 15};
    case DType::kBfloat16:
      return {8, 7, 127};
    case DType::kFloat8E4M3FN:
      return {4, 3, 7};
    case DType::kFloat8E4M3FNUZ:
      return {4, 3, 8};
    case DType::kFloat8E5M2:
      return {5, 2, 15};
    case DType::kFloat8E5M2FNUZ:
      return {5, 2, 16};
    case DType::kFloat4E2M1:
      return {2, 1, 1};
    case DType::kFloat6E2M3:
      return {2, 3, 1};
    default:
      return {3, 2, 3};  // float6e3m2
  }
}

Number DecodeSmallFloat(DType type, uint32_t code) {
  if (type == DType::kFloat8E8M0) return code == 255 ? NAN : std::ldexp(Number{1}, static_cast<int>(code) - 127);
  const Layout layout = LayoutOf(type);
  const uint32_t num_magnitudes = 1u << (layout.exponent_bits + layout.mantissa_bits);
  const bool is_negative = code >= num_magnitudes;
  const uint32_t magnitude = code % num_magnitudes;
  const bool is_fnuz = type == DType::kFloat8E4M3FNUZ || type == DType::kFloat8E5M2FNUZ;
  if (is_fnuz && is_negative && magnitude == 0) return NAN;
  if (type == DType::kFloat8E4M3FN && magnitude == 127) return NAN;
  const int field = static_cast<int>(magnitude >> layout.mantissa_bits);
  const uint32_t mantissa = magnitude % (1u << layout.mantissa_bits);
  const bool is_ieee = type == DType::kFloat16 || type == DType::kBfloat16 || type == DType::kFloat8E5M2;
  Number value = 0;
  if (is_ieee && field == (1 << layout.exponent_bits) - 1) {
    value = mantissa == 0 ? std::numeric_limits<Number>::infinity() : NAN;
  } else if (field == 0) {
    value = std::ldexp(Number(mantissa), 1 - layout.bias - layout.mantissa_bits);
  } else {
    value = std::ldexp(Number(mantissa + (1u << layout.mantissa_bits)), field - layout.bias - layout.mantissa_bits);
  }
  return is_negative ? -value : value;
}

// ---- reference casts ----------------------------------------------------------------------------------------------

// Finite magnitudes of a small float type in increasing order, and which special values it has.
struct SmallFloat {
  std::vector<Number> magnitudes;
  bool has_infinity = false;
  bool has_nan = false;
  bool has_negative_zero = false;
  bool has_negatives = false;
};

SmallFloat Enumerate(DType type) {
  SmallFloat result;
  for (uint32_t code = 0; code < 1u << BitsPerElement(type); ++code) {
    const Number value = DecodeSmallFloat(type, code);
    result.has_infinity |= std::isinf(value);
    result.has_nan |= std::isnan(value);
    result.has_negative_zero |= value == 0 && std::signbit(value);
    result.has_negatives |= value < 0;
    if (std::isfinite(value) && !std::signbit(value)) result.magnitudes.push_back(value);
  }
  std::sort(result.magnitudes.begin(), result.magnitudes.end());
  return result;
}

const SmallFloat& ValuesOf(DType type) {
  static const std::array<SmallFloat, kNumDTypes> all = [] {
    std::array<SmallFloat, kNumDTypes> values;
    for (const DType small : kSmallFloats) values[static_cast<size_t>(small)] = Enumerate(small);
    return values;
  }();
  return all[static_cast<size_t>(type)];
}

// Nearest value, ties to the even code; too large becomes infinity, or the largest value where there is none.
Number CastToSmallFloat(const SmallFloat& type, Number value) {
  const std::vector<Number>& magnitudes = type.magnitudes;
  if (std::isnan(value)) return type.has_nan ? value : magnitudes.front();
  if (value < 0 && !type.has_negatives) return magnitudes.front();
  const Number magnitude = std::fabs(value);
  Number result = 0;
  if (magnitude > magnitudes.back()) {
    const Number next = 2 * magnitudes.back() - magnitudes[magnitudes.size() - 2];  // the step goes on
    const bool overflows = std::isinf(magnitude) || 2 * magnitude >= magnitudes.back() + next;
    result = overflows && type.has_infinity ? std::numeric_limits<Number>::infinity() : magnitudes.back();
  } else {
    const auto above = std::lower_bound(magnitudes.begin(), magnitudes.end(), magnitude);
    const auto below = *above == magnitude || above == magnitudes.begin() ? above : above - 1;
    const Number twice = 2 * magnitude;
    const Number sum = *above + *below;
    const bool is_below_even = (below - magnitudes.begin()) % 2 == 0;
    result = twice < sum || (twice == sum && is_below_even) ? *below : *above;
  }
  const bool is_negative = std::signbit(value) && (result != 0 || type.has_negative_zero);
  return is_negative ? -result : result;
}

// Integers drop high bits, as ONNX has it; floats out of range, which ONNX leaves undefined, saturate, and NaN is 0.
Number CastToInteger(DType type, bool from_integer, Number value) {
  const int bits = BitsPerElement(type);
  const Number modulus = std::ldexp(Number{1}, bits);
  const Number lowest = IsSigned(type) ? -modulus / 2 : 0;
  const Number highest = lowest + modulus - 1;
  if (std::isnan(value)) return 0;
  if (!from_integer) return std::trunc(std::clamp(value, lowest, highest)) + Number{0};
  Number wrapped = std::fmod(value, modulus);
  if (wrapped < lowest) wrapped += modulus;
  if (wrapped > highest) wrapped -= modulus;
  return wrapped + Number{0};  // no -0
}

Number Cast(DType from, DType to, Number value) {
  if (from == to) return value;
  if (to == DType::kBool) return value != 0 ? 1 : 0;  // NaN is true
  if (to == DType::kFloat32) return static_cast<float>(value);
  if (to == DType::kFloat64) return static_cast<double>(value);
  if (IsInteger(to)) return CastToInteger(to, IsInteger(from) || from == DType::kBool, value);
  return CastToSmallFloat(ValuesOf(to), value);
}

// ---- values to try ------------------------------------------------------------------------------------------------

void AddAround(Number value, DType type, std::vector<Number>& values) {
  for (const Number candidate : {value, value - 1, value + 1, value / 2, -value}) {
    values.push_back(Cast(DType::kFloat64, type, candidate));
  }
}

// All values of types of up to 16 bits; edges of every type and random bit patterns of wider types.
std::vector<Number> Samples(DType type) {
  std::vector<Number> values;
  if (type == DType::kBool) return {0, 1};
  const int bits = BitsPerElement(type);
  if (bits <= 16) {
    for (int64_t code = 0; code < int64_t{1} << bits; ++code) {
      const bool is_negative_integer = IsSigned(type) && code >= int64_t{1} << (bits - 1);
      values.push_back(IsInteger(type) ? Number(is_negative_integer ? code - (int64_t{1} << bits) : code)
                                       : DecodeSmallFloat(type, static_cast<uint32_t>(code)));
    }
    return values;
  }
  for (const DType small : kSmallFloats) {
    for (uint32_t code = 0; code < 1u << BitsPerElement(small); code += BitsPerElement(small) == 16 ? 97 : 1) {
      AddAround(DecodeSmallFloat(small, code), type, values);
    }
  }
  for (int power = -151; power < 129; ++power) AddAround(std::ldexp(Number{1}, power), type, values);
  // Next to halfway points of narrower types: rounding twice goes wrong there.
  for (int power = -20; power < 64; ++power) {
    for (int step = 1; step < 63; ++step) {
      const Number halfway = std::ldexp(1 + std::ldexp(Number{1}, -step), power);
      for (const Number offset : {std::ldexp(Number{1}, power - 52), Number{1}}) {
        for (const Number candidate : {halfway - offset, halfway, halfway + offset, -halfway - offset}) {
          values.push_back(IsInteger(type) ? CastToInteger(type, false, candidate)
                                           : Cast(DType::kInt64, type, candidate));
        }
      }
    }
  }
  std::mt19937_64 random(static_cast<uint64_t>(type));
  for (int i = 0; i < 100000; ++i) {
    const uint64_t pattern = random() >> (random() % 64);
    switch (type) {
      case DType::kFloat32:
        values.push_back(std::bit_cast<float>(static_cast<uint32_t>(random())));
        break;
      case DType::kFloat64:
        values.push_back(std::bit_cast<double>(random()));
        break;
      case DType::kInt32:
        values.push_back(static_cast<int32_t>(pattern));
        break;
      case DType::kUint32:
        values.push_back(static_cast<uint32_t>(pattern));
        break;
      case DType::kInt64:
        values.push_back(static_cast<Number>(static_cast<int64_t>(pattern)));
        break;
      default:
        values.push_back(static_cast<Number>(pattern));
    }
  }
  return values;
}

// The samples of one type and their casts to all numeric types.
struct Source {
  DType type;
  std::vector<Number> values;
  std::array<std::vector<Number>, kNumDTypes> casts;

  explicit Source(DType source) : type(source), values(Samples(source)) {
    for (const DType to : NumericTypes()) {
      for (const Number value : values) casts[static_cast<size_t>(to)].push_back(Cast(source, to, value));
    }
  }

  // Index of a value for which the cast to `dst` through `mid` and the direct cast differ.
  std::optional<size_t> FindDifference(DType mid, DType dst) const {
    const std::vector<Number>& through = casts[static_cast<size_t>(mid)];
    const std::vector<Number>& direct = casts[static_cast<size_t>(dst)];
    for (size_t i = 0; i < values.size(); ++i) {
      if (!IsSame(Cast(mid, dst, through[i]), direct[i])) return i;
    }
    return std::nullopt;
  }
};

// ---- tests --------------------------------------------------------------------------------------------------------

TEST_CASE("a chain called exact is exact on every value") {
  for (const DType src : NumericTypes()) {
    const Source source(src);
    for (const DType mid : NumericTypes()) {
      for (const DType dst : NumericTypes()) {
        if (!CastChainIsExact(src, mid, dst)) continue;
        const std::optional<size_t> wrong = source.FindDifference(mid, dst);
        INFO(DTypeName(src) << " -> " << DTypeName(mid) << " -> " << DTypeName(dst) << ", value "
                            << static_cast<double>(source.values[wrong.value_or(0)]));
        CHECK_FALSE(wrong.has_value());
      }
    }
  }
}

TEST_CASE("a cast is lossless exactly when no value changes") {
  for (const DType src : NumericTypes()) {
    const std::vector<Number> values = Samples(src);
    for (const DType mid : NumericTypes()) {
      INFO(DTypeName(src) << " -> " << DTypeName(mid));
      const bool keeps_all =
          std::all_of(values.begin(), values.end(), [&](Number value) { return IsSame(Cast(src, mid, value), value); });
      CHECK(CastIsLossless(src, mid) == keeps_all);
    }
  }
}

TEST_CASE("a lossy middle type has a destination that sees the loss") {
  for (const DType src : NumericTypes()) {
    const Source source(src);
    for (const DType mid : NumericTypes()) {
      if (CastIsLossless(src, mid)) continue;
      INFO(DTypeName(src) << " -> " << DTypeName(mid));
      const std::vector<DType> types = NumericTypes();
      CHECK(std::any_of(types.begin(), types.end(), [&](DType dst) { return source.FindDifference(mid, dst); }));
    }
  }
}

TEST_CASE("the chains that cast folding gets wrong elsewhere are refused") {
  using enum DType;
  CHECK_FALSE(CastChainIsExact(kFloat32, kFloat16, kFloat32));   // rounds
  CHECK_FALSE(CastChainIsExact(kFloat32, kBfloat16, kFloat16));  // rounds twice
  CHECK_FALSE(CastChainIsExact(kFloat64, kFloat32, kFloat16));   // rounds twice
  CHECK_FALSE(CastChainIsExact(kFloat16, kBfloat16, kFloat32));  // same width, other values
  CHECK_FALSE(CastChainIsExact(kBfloat16, kFloat16, kFloat32));
  CHECK_FALSE(CastChainIsExact(kFloat32, kInt32, kFloat32));  // truncates
  CHECK_FALSE(CastChainIsExact(kInt64, kFloat32, kInt64));
  CHECK_FALSE(CastChainIsExact(kInt64, kFloat32, kBfloat16));  // rounds twice
  CHECK_FALSE(CastChainIsExact(kFloat32, kBool, kFloat32));
  CHECK_FALSE(CastChainIsExact(kFloat32, kFloat16, kBool));  // a small value becomes zero
  CHECK_FALSE(CastChainIsExact(kInt64, kInt32, kBool));      // so does 2^32
  CHECK_FALSE(CastChainIsExact(kFloat8E5M2, kFloat8E5M2FNUZ, kFloat32));
}

TEST_CASE("the chains that may go are recognised") {
  using enum DType;
  CHECK(CastChainIsExact(kFloat16, kFloat32, kFloat16));
  CHECK(CastChainIsExact(kBfloat16, kFloat32, kFloat16));
  CHECK(CastChainIsExact(kFloat16, kFloat32, kInt64));
  CHECK(CastChainIsExact(kFloat32, kFloat16, kFloat16));  // the second cast does nothing
  CHECK(CastChainIsExact(kInt64, kFloat32, kBool));
  CHECK(CastChainIsExact(kInt64, kFloat32, kFloat16));
  CHECK(CastChainIsExact(kBool, kFloat16, kFloat32));
  CHECK(CastChainIsExact(kUint8, kBfloat16, kInt32));
}

TEST_CASE("text depends on the type that prints it") {
  using enum DType;
  CHECK_FALSE(CastChainIsExact(kFloat16, kFloat32, kString));
  CHECK_FALSE(CastChainIsExact(kBool, kInt32, kString));
  CHECK_FALSE(CastChainIsExact(kString, kFloat32, kString));
  CHECK(CastChainIsExact(kFloat16, kFloat16, kString));
}

TEST_CASE("an integer that does not fit wraps directly but is undefined through a float") {
  using enum DType;
  CHECK_FALSE(CastChainIsExact(kInt32, kFloat64, kInt8));
  CHECK(CastChainIsExact(kInt32, kFloat64, kInt64));
  CHECK(CastChainIsExact(kInt32, kInt64, kInt8));
}

TEST_CASE("strings, complex and undefined types: identity alone is lossless") {
  for (int i = 0; i < kNumDTypes; ++i) {
    const auto type = static_cast<DType>(i);
    INFO(DTypeName(type));
    CHECK_FALSE(CastIsLossless(DType::kUndefined, type));
    CHECK_FALSE(CastIsLossless(type, DType::kUndefined));
    CHECK(CastIsLossless(DType::kString, type) == (type == DType::kString));
    CHECK(CastIsLossless(type, DType::kString) == (type == DType::kString));
    CHECK(CastIsLossless(type, DType::kComplex64) == (type == DType::kComplex64));
    CHECK(CastIsLossless(DType::kComplex128, type) == (type == DType::kComplex128));
  }
  CHECK(CastIsLossless(DType::kComplex64, DType::kComplex128));
}

TEST_CASE("names are read back, and the usual short forms are understood") {
  for (int i = 1; i < kNumDTypes; ++i) {
    const auto type = static_cast<DType>(i);
    CHECK(ParseDType(DTypeName(type)) == type);
  }
  CHECK(DTypeName(DType::kUndefined) == "undefined");
  CHECK(DTypeName(DType::kFloat8E4M3FNUZ) == "float8e4m3fnuz");
  CHECK(ParseDType("fp16") == DType::kFloat16);
  CHECK(ParseDType("half") == DType::kFloat16);
  CHECK(ParseDType("bf16") == DType::kBfloat16);
  CHECK(ParseDType("float") == DType::kFloat32);
  CHECK(ParseDType("undefined") == std::nullopt);
  CHECK(ParseDType("") == std::nullopt);
  CHECK(ParseDType("Float16") == std::nullopt);
}

TEST_CASE("sizes and ranges agree with the values of the types") {
  for (const DType type : kSmallFloats) {
    INFO(DTypeName(type));
    CHECK(LargestFinite(type) == static_cast<double>(ValuesOf(type).magnitudes.back()));
  }
  CHECK(LargestFinite(DType::kFloat32) == double{std::numeric_limits<float>::max()});
  CHECK(LargestFinite(DType::kFloat64) == std::numeric_limits<double>::max());
  for (const DType type : kIntegers) CHECK(LargestFinite(type) == 0);
  CHECK(LargestFinite(DType::kBool) == 0);
  CHECK(LargestMagnitude(DType::kBool) == 1);
  CHECK(LargestMagnitude(DType::kInt8) == 128);
  CHECK(LargestMagnitude(DType::kUint16) == 65535);
  CHECK(LargestMagnitude(DType::kFloat16) == 65504);
  CHECK(LargestMagnitude(DType::kString) == 0);
  for (const DType type : kSmallFloats) {
    INFO(DTypeName(type));
    const auto& magnitudes = ValuesOf(type).magnitudes;
    const auto has = [&](int64_t count) {
      return std::find(magnitudes.begin(), magnitudes.end(), static_cast<double>(count)) != magnitudes.end();
    };
    const int64_t last = std::min(CountsExactlyTo(type), static_cast<int64_t>(LargestFinite(type)));
    for (int64_t count = 1; count <= last; ++count) CHECK(has(count));
    CHECK_FALSE(has(CountsExactlyTo(type) + 1));
  }
  CHECK(CountsExactlyTo(DType::kFloat16) == 2048);
  CHECK(CountsExactlyTo(DType::kBfloat16) == 256);
  CHECK(CountsExactlyTo(DType::kInt32) == 0);
  CHECK(BitsPerElement(DType::kUndefined) == 0);
  CHECK(BitsPerElement(DType::kString) == 0);
  CHECK(BitsPerElement(DType::kBool) == 8);
  CHECK(BitsPerElement(DType::kComplex128) == 128);
  CHECK(BitsPerElement(DType::kFloat6E2M3) == 6);
  CHECK(BitsPerElement(DType::kInt2) == 2);
  CHECK(BitsPerElement(DType::kInt64) == 64);
  for (int i = 0; i < kNumDTypes; ++i) {
    const auto type = static_cast<DType>(i);
    CHECK(IsLowFloat(type) == (type == DType::kFloat16 || type == DType::kBfloat16));
  }
}

}  // namespace
}  // namespace amp
