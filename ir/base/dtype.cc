#include "ir/base/dtype.h"

#include <algorithm>
#include <array>

namespace amp {
namespace {

// A type as the set of numbers it holds: every m * 2^q with |m| < 2^precision and q >= quantum between lowest and
// highest, and the special values that are flagged. This is exact for all listed types, so that inclusion of sets is
// inclusion of these bounds. `precision` of an integer type is that of its largest magnitude that is not a power of
// two.
struct NumberSet {
  int precision = 0;  // 0: not a set of real numbers
  int quantum = 0;
  double lowest = 0;
  double highest = 0;
  bool has_infinity = false;
  bool has_nan = false;
  bool has_negative_zero = false;
};

enum class Kind { kOther, kBool, kInteger, kFloat };

struct TypeFacts {
  absl::string_view name;
  int bits = 0;
  Kind kind = Kind::kOther;
  NumberSet numbers = {};
};

constexpr TypeFacts Unsigned(absl::string_view name, int bits, double highest) {
  return {name, bits, Kind::kInteger, {.precision = bits, .quantum = 0, .lowest = 0, .highest = highest}};
}

constexpr TypeFacts Signed(absl::string_view name, int bits, double lowest) {
  return {name, bits, Kind::kInteger, {.precision = bits - 1, .quantum = 0, .lowest = lowest, .highest = -lowest - 1}};
}

constexpr TypeFacts IeeeLike(absl::string_view name, int bits, int precision, int quantum, double highest) {
  return {name,
          bits,
          Kind::kFloat,
          {.precision = precision,
           .quantum = quantum,
           .lowest = -highest,
           .highest = highest,
           .has_infinity = true,
           .has_nan = true,
           .has_negative_zero = true}};
}

// 64-bit integer limits are rounded to doubles; no two different limits of the table become equal by that.
constexpr std::array<TypeFacts, kNumDTypes> kTypes = {{
    {"undefined"},
    IeeeLike("float32", 32, 24, -149, 0x1.fffffep127),
    Unsigned("uint8", 8, 255),
    Signed("int8", 8, -0x1p7),
    Unsigned("uint16", 16, 65535),
    Signed("int16", 16, -0x1p15),
    Signed("int32", 32, -0x1p31),
    Signed("int64", 64, -0x1p63),
    {"string"},
    {"bool", 8, Kind::kBool, {.precision = 1, .quantum = 0, .lowest = 0, .highest = 1}},
    IeeeLike("float16", 16, 11, -24, 65504),
    IeeeLike("float64", 64, 53, -1074, 0x1.fffffffffffffp1023),
    Unsigned("uint32", 32, 0x1p32 - 1),
    Unsigned("uint64", 64, 0x1p64),
    {"complex64", 64},
    {"complex128", 128},
    IeeeLike("bfloat16", 16, 8, -133, 0x1.fep127),
    {"float8e4m3fn", 8, Kind::kFloat, {4, -9, -448, 448, false, true, true}},
    {"float8e4m3fnuz", 8, Kind::kFloat, {4, -10, -240, 240, false, true, false}},
    IeeeLike("float8e5m2", 8, 3, -16, 57344),
    {"float8e5m2fnuz", 8, Kind::kFloat, {3, -17, -57344, 57344, false, true, false}},
    Unsigned("uint4", 4, 15),
    Signed("int4", 4, -8),
    {"float4e2m1", 4, Kind::kFloat, {2, -1, -6, 6, false, false, true}},
    {"float8e8m0", 8, Kind::kFloat, {1, -127, 0x1p-127, 0x1p127, false, true, false}},
    Unsigned("uint2", 2, 3),
    Signed("int2", 2, -2),
    {"float6e2m3", 6, Kind::kFloat, {4, -3, -7.5, 7.5, false, false, true}},
    {"float6e3m2", 6, Kind::kFloat, {3, -4, -28, 28, false, false, true}},
}};

const TypeFacts& FactsOf(DType type) { return kTypes[static_cast<size_t>(type)]; }

bool Includes(const NumberSet& outer, const NumberSet& inner) {
  return outer.precision >= inner.precision && outer.quantum <= inner.quantum && outer.lowest <= inner.lowest &&
         outer.highest >= inner.highest && outer.has_infinity >= inner.has_infinity && outer.has_nan >= inner.has_nan &&
         outer.has_negative_zero >= inner.has_negative_zero;
}

// Integers to bool through these types: none of them rounds a non-zero integer to zero.
bool KeepsIntegersNonZero(DType type) { return IsLowFloat(type) || type == DType::kFloat32 || type == DType::kFloat64; }

}  // namespace

absl::string_view DTypeName(DType type) { return FactsOf(type).name; }

std::optional<DType> ParseDType(absl::string_view name) {
  if (name == "fp16" || name == "half") return DType::kFloat16;
  if (name == "bf16") return DType::kBfloat16;
  if (name == "float") return DType::kFloat32;
  for (int i = 1; i < kNumDTypes; ++i) {
    const auto type = static_cast<DType>(i);
    if (name == DTypeName(type)) return type;
  }
  return std::nullopt;
}

int BitsPerElement(DType type) { return FactsOf(type).bits; }

bool IsLowFloat(DType type) { return type == DType::kFloat16 || type == DType::kBfloat16; }

double LargestFinite(DType type) {
  const TypeFacts& facts = FactsOf(type);
  return facts.kind == Kind::kFloat ? facts.numbers.highest : 0;
}

int64_t CountsExactlyTo(DType type) {
  const TypeFacts& facts = FactsOf(type);
  return facts.kind == Kind::kFloat ? int64_t{1} << facts.numbers.precision : 0;
}

double LargestMagnitude(DType type) {
  const NumberSet& numbers = FactsOf(type).numbers;
  return std::max(-numbers.lowest, numbers.highest);
}

bool CastIsLossless(DType src, DType mid) {
  if (src == DType::kUndefined || mid == DType::kUndefined) return false;
  if (src == mid) return true;
  if (src == DType::kComplex64 && mid == DType::kComplex128) return true;
  const NumberSet& inner = FactsOf(src).numbers;
  const NumberSet& outer = FactsOf(mid).numbers;
  return inner.precision > 0 && outer.precision > 0 && Includes(outer, inner);
}

bool CastChainIsExact(DType src, DType mid, DType dst) {
  if (src == DType::kUndefined || mid == DType::kUndefined || dst == DType::kUndefined) return false;
  if (src == mid || mid == dst) return true;  // one of the two casts does nothing
  const Kind src_kind = FactsOf(src).kind;
  const Kind mid_kind = FactsOf(mid).kind;
  const Kind dst_kind = FactsOf(dst).kind;
  // The text of a number depends on the type that prints it.
  if (dst == DType::kString) return false;
  if (src_kind == Kind::kInteger && dst_kind == Kind::kBool && KeepsIntegersNonZero(mid)) return true;
  const bool is_counted = src_kind == Kind::kInteger && mid_kind == Kind::kFloat && IsLowFloat(dst);
  if (is_counted && 2 * LargestFinite(dst) < static_cast<double>(CountsExactlyTo(mid))) return true;
  if (!CastIsLossless(src, mid)) return false;
  // Integer to narrower integer drops high bits; float to integer out of range is undefined.
  if (src_kind == Kind::kInteger && mid_kind == Kind::kFloat && dst_kind == Kind::kInteger) {
    return CastIsLossless(src, dst);
  }
  return true;
}

}  // namespace amp
