// The C++ types that tensors' elements have in memory, and one place that goes from an element type to its C++ type.
//
//   VisitNumbers(tensor.dtype(), [&]<typename T>(TypeTag<T>) { Negate(tensor.elements<T>()); });
//
// float16, bfloat16 and smaller floats are bits with a name: arithmetic is done on ToDouble of them, and the result
// rounded once. Types below 8 bits take a byte for each element here (int4: sign extended), so that a kernel can
// address them; files pack them.
#ifndef AMP_RUNTIME_KERNEL_ELEMENT_H_
#define AMP_RUNTIME_KERNEL_ELEMENT_H_

#include <complex>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

#include "ir/base/convert.h"
#include "ir/base/dtype.h"
#include "ir/base/minifloat.h"

namespace amp {

struct Float16 {
  uint16_t bits = 0;
};
struct Bfloat16 {
  uint16_t bits = 0;
};
// A float of at most 8 bits.
template <DType type>
struct TinyFloat {
  uint8_t bits = 0;
};
// An integer of less than 8 bits.
template <DType type>
struct TinyInt {
  using Wide = std::conditional_t<type == DType::kInt4 || type == DType::kInt2, int8_t, uint8_t>;
  static constexpr int kBits = type == DType::kInt4 || type == DType::kUint4 ? 4 : 2;
  Wide value = 0;
};
using Int4 = TinyInt<DType::kInt4>;
using Uint4 = TinyInt<DType::kUint4>;
using Int2 = TinyInt<DType::kInt2>;
using Uint2 = TinyInt<DType::kUint2>;

template <typename T>
struct TypeTag {
  using Type = T;
};

template <typename T>
inline constexpr bool kIsSmallFloat = false;
template <>
inline constexpr bool kIsSmallFloat<Float16> = true;
template <>
inline constexpr bool kIsSmallFloat<Bfloat16> = true;
template <DType type>
inline constexpr bool kIsSmallFloat<TinyFloat<type>> = true;

template <typename T>
inline constexpr bool kIsTinyInt = false;
template <DType type>
inline constexpr bool kIsTinyInt<TinyInt<type>> = true;

// float, double and all smaller floats.
template <typename T>
inline constexpr bool kIsFloat = std::is_floating_point_v<T> || kIsSmallFloat<T>;

// Bytes of one element in memory; 0 for strings, which are std::string, and for kUndefined.
size_t ElementBytes(DType type);

inline double ToDouble(Float16 x) { return static_cast<double>(WidenOne(x.bits, DType::kFloat16)); }
inline double ToDouble(Bfloat16 x) { return static_cast<double>(WidenOne(x.bits, DType::kBfloat16)); }
template <DType type>
double ToDouble(TinyFloat<type> x) {
  return DecodeMinifloat(x.bits, type);
}
template <DType type>
double ToDouble(TinyInt<type> x) {
  return static_cast<double>(x.value);
}
template <typename T>
requires std::is_arithmetic_v<T>
double ToDouble(T x) { return static_cast<double>(x); }

// Rounds once, to nearest with ties to even; beyond the largest number: infinity. REQUIRES of integers: the value is
// one of theirs.
template <typename T>
T FromDouble(double x) {
  if constexpr (std::is_same_v<T, Float16> || std::is_same_v<T, Bfloat16>) {
    T result;
    NarrowFloat64(absl::MakeConstSpan(&x, 1), std::is_same_v<T, Float16> ? DType::kFloat16 : DType::kBfloat16,
                  absl::MakeSpan(&result.bits, 1));
    return result;
  } else {
    return static_cast<T>(x);
  }
}

// The type to compute in: float64 for all floats, else the type itself.
template <typename T>
using ComputeType = std::conditional_t<kIsFloat<T>, double, T>;
template <typename T>
ComputeType<T> Load(T x) {
  if constexpr (kIsFloat<T>) {
    return ToDouble(x);
  } else {
    return x;
  }
}
template <typename T>
T Store(ComputeType<T> x) {
  if constexpr (kIsFloat<T>) {
    return FromDouble<T>(x);
  } else {
    return x;
  }
}

// All of these call `visit` with the TypeTag of `type` and return true; false, without a call, for types that they do
// not cover.

// float16, bfloat16, float32, float64.
template <typename Visit>
bool VisitFloats(DType type, Visit&& visit) {
  switch (type) {
    case DType::kFloat16:
      return visit(TypeTag<Float16>()), true;
    case DType::kBfloat16:
      return visit(TypeTag<Bfloat16>()), true;
    case DType::kFloat32:
      return visit(TypeTag<float>()), true;
    case DType::kFloat64:
      return visit(TypeTag<double>()), true;
    default:
      return false;
  }
}

// int8 to int64, uint8 to uint64.
template <typename Visit>
bool VisitIntegers(DType type, Visit&& visit) {
  switch (type) {
    case DType::kInt8:
      return visit(TypeTag<int8_t>()), true;
    case DType::kInt16:
      return visit(TypeTag<int16_t>()), true;
    case DType::kInt32:
      return visit(TypeTag<int32_t>()), true;
    case DType::kInt64:
      return visit(TypeTag<int64_t>()), true;
    case DType::kUint8:
      return visit(TypeTag<uint8_t>()), true;
    case DType::kUint16:
      return visit(TypeTag<uint16_t>()), true;
    case DType::kUint32:
      return visit(TypeTag<uint32_t>()), true;
    case DType::kUint64:
      return visit(TypeTag<uint64_t>()), true;
    default:
      return false;
  }
}

// The floats and integers above.
template <typename Visit>
bool VisitNumbers(DType type, Visit&& visit) {
  return VisitFloats(type, visit) || VisitIntegers(type, visit);
}

// Visits those types and bool.
template <typename Visit>
bool VisitNumbersAndBool(DType type, Visit&& visit) {
  if (type == DType::kBool) return visit(TypeTag<bool>()), true;
  return VisitNumbers(type, visit);
}

// Floats of at most 8 bits and integers of less.
template <typename Visit>
bool VisitTinyTypes(DType type, Visit&& visit) {
  switch (type) {
    case DType::kFloat8E4M3FN:
      return visit(TypeTag<TinyFloat<DType::kFloat8E4M3FN>>()), true;
    case DType::kFloat8E4M3FNUZ:
      return visit(TypeTag<TinyFloat<DType::kFloat8E4M3FNUZ>>()), true;
    case DType::kFloat8E5M2:
      return visit(TypeTag<TinyFloat<DType::kFloat8E5M2>>()), true;
    case DType::kFloat8E5M2FNUZ:
      return visit(TypeTag<TinyFloat<DType::kFloat8E5M2FNUZ>>()), true;
    case DType::kFloat8E8M0:
      return visit(TypeTag<TinyFloat<DType::kFloat8E8M0>>()), true;
    case DType::kFloat6E2M3:
      return visit(TypeTag<TinyFloat<DType::kFloat6E2M3>>()), true;
    case DType::kFloat6E3M2:
      return visit(TypeTag<TinyFloat<DType::kFloat6E3M2>>()), true;
    case DType::kFloat4E2M1:
      return visit(TypeTag<TinyFloat<DType::kFloat4E2M1>>()), true;
    case DType::kInt4:
      return visit(TypeTag<Int4>()), true;
    case DType::kUint4:
      return visit(TypeTag<Uint4>()), true;
    case DType::kInt2:
      return visit(TypeTag<Int2>()), true;
    case DType::kUint2:
      return visit(TypeTag<Uint2>()), true;
    default:
      return false;
  }
}

// Every type, by what an element takes in memory: for kernels that move elements and do not look at them.
struct Bytes16 {
  uint64_t low = 0, high = 0;
};
template <typename Visit>
bool VisitStorage(DType type, Visit&& visit) {
  if (type == DType::kString) return visit(TypeTag<std::string>()), true;
  switch (ElementBytes(type)) {
    case 1:
      return visit(TypeTag<uint8_t>()), true;
    case 2:
      return visit(TypeTag<uint16_t>()), true;
    case 4:
      return visit(TypeTag<uint32_t>()), true;
    case 8:
      return visit(TypeTag<uint64_t>()), true;
    case 16:
      return visit(TypeTag<Bytes16>()), true;
    default:
      return false;
  }
}

}  // namespace amp

#endif  // AMP_RUNTIME_KERNEL_ELEMENT_H_
