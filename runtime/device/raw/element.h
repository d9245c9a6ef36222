// Elements in the device's kernels: how 16-bit floats are converted to float32 and back.
//
// This header and the others in this folder are compiled twice: by nvcc for the device, and by the ordinary compiler
// for the fake device, so that numbers are tested without a GPU. Rounding is to nearest, ties to even. Values that are
// too large become infinite; NaN stays NaN.
#ifndef AMP_RUNTIME_DEVICE_RAW_ELEMENT_H_
#define AMP_RUNTIME_DEVICE_RAW_ELEMENT_H_

#include <cstdint>

#if defined(__CUDACC__)
#define AMP_BOTH __host__ __device__
#else
#define AMP_BOTH
#endif

namespace amp::device {

struct Float16 {
  uint16_t bits;
};
struct Bfloat16 {
  uint16_t bits;
};

union FloatBits {
  float number;
  uint32_t bits;
};
AMP_BOTH inline float FloatOf(uint32_t bits) {
  FloatBits both;
  both.bits = bits;
  return both.number;
}
AMP_BOTH inline uint32_t BitsOf(float number) {
  FloatBits both;
  both.number = number;
  return both.bits;
}

AMP_BOTH inline float Widen(float x) { return x; }

AMP_BOTH inline float Widen(Float16 x) {
#if defined(__CUDA_ARCH__)
  float wide;
  asm("cvt.f32.f16 %0, %1;" : "=f"(wide) : "h"(x.bits));
  return wide;
#else
  constexpr uint32_t kInfinity = 0x7c00, kLeastNormal = 0x400;
  const uint32_t sign = (x.bits & 0x8000u) << 16, rest = x.bits & 0x7fffu;
  if (rest >= kInfinity) return FloatOf(sign | 0x7f800000u | rest << 13);
  const float magnitude =
      rest < kLeastNormal ? static_cast<float>(rest) * 0x1p-24f : FloatOf((rest << 13) + 0x38000000u);
  return FloatOf(sign | BitsOf(magnitude));
#endif
}

AMP_BOTH inline float Widen(Bfloat16 x) { return FloatOf(static_cast<uint32_t>(x.bits) << 16); }

template <typename T>
AMP_BOTH T Narrow(float x);

template <>
AMP_BOTH inline float Narrow<float>(float x) {
  return x;
}

template <>
AMP_BOTH inline Float16 Narrow<Float16>(float x) {
#if defined(__CUDA_ARCH__)
  Float16 narrow;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(narrow.bits) : "f"(x));
  return narrow;
#else
  constexpr uint32_t kInfinity = 0x7f800000, kRoundsToInfinity = 0x477ff000, kLeastNormal = 0x38800000;
  const uint32_t bits = BitsOf(x), sign = bits >> 16 & 0x8000u, magnitude = bits & 0x7fffffffu;
  if (magnitude > kInfinity) return {static_cast<uint16_t>(sign | 0x7e00u)};
  if (magnitude >= kRoundsToInfinity) return {static_cast<uint16_t>(sign | 0x7c00u)};
  // Adding 1/2 rounds to float16's subnormal numbers, as the last bit of float32's 1/2 has their spacing.
  if (magnitude < kLeastNormal) {
    return {static_cast<uint16_t>(sign | (BitsOf(FloatOf(magnitude) + 0.5f) - BitsOf(0.5f)))};
  }
  const uint32_t half_a_place = 0xfffu + (magnitude >> 13 & 1u);
  return {static_cast<uint16_t>(sign | (magnitude + half_a_place - 0x38000000u) >> 13)};
#endif
}

template <>
AMP_BOTH inline Bfloat16 Narrow<Bfloat16>(float x) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  Bfloat16 narrow;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(narrow.bits) : "f"(x));
  return narrow;
#else
  const uint32_t bits = BitsOf(x);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return {static_cast<uint16_t>(bits >> 16 | 0x40u)};
  return {static_cast<uint16_t>((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16)};
#endif
}

// The element types that kernels distinguish. Elements of other types are only moved, by their size.
enum class Storage : int32_t { kFloat32, kFloat16, kBfloat16, kBool, kInt8, kUint8, kInt32, kInt64, kOther };

template <typename T>
struct Tag {
  using Type = T;
};

// Calls `visit` with the Tag of a float type; returns `otherwise` for other types.
template <typename Result, typename Visit>
Result VisitFloat(Storage storage, Result otherwise, Visit&& visit) {
  switch (storage) {
    case Storage::kFloat32:
      return visit(Tag<float>());
    case Storage::kFloat16:
      return visit(Tag<Float16>());
    case Storage::kBfloat16:
      return visit(Tag<Bfloat16>());
    default:
      return otherwise;
  }
}

// Load and store an element of a float type that is known only when the kernel runs.
AMP_BOTH inline float LoadFloat(const void* from, Storage storage, int64_t at) {
  switch (storage) {
    case Storage::kFloat16:
      return Widen(static_cast<const Float16*>(from)[at]);
    case Storage::kBfloat16:
      return Widen(static_cast<const Bfloat16*>(from)[at]);
    default:
      return static_cast<const float*>(from)[at];
  }
}
AMP_BOTH inline void StoreFloat(void* to, Storage storage, int64_t at, float x) {
  switch (storage) {
    case Storage::kFloat16:
      static_cast<Float16*>(to)[at] = Narrow<Float16>(x);
      return;
    case Storage::kBfloat16:
      static_cast<Bfloat16*>(to)[at] = Narrow<Bfloat16>(x);
      return;
    default:
      static_cast<float*>(to)[at] = x;
  }
}

AMP_BOTH inline bool IsFloat(Storage storage) {
  return storage == Storage::kFloat32 || storage == Storage::kFloat16 || storage == Storage::kBfloat16;
}

// Returns x rounded to the type, as if it were stored and read again.
AMP_BOTH inline float RoundedTo(Storage storage, float x) {
  switch (storage) {
    case Storage::kFloat16:
      return Widen(Narrow<Float16>(x));
    case Storage::kBfloat16:
      return Widen(Narrow<Bfloat16>(x));
    case Storage::kBool:
      return x != 0 ? 1 : 0;
    default:
      return x;
  }
}

// Loads an integer, or a truth value as 0 or 1.
AMP_BOTH inline int64_t LoadInteger(const void* from, Storage storage, int64_t at) {
  switch (storage) {
    case Storage::kInt8:
      return static_cast<const int8_t*>(from)[at];
    case Storage::kInt32:
      return static_cast<const int32_t*>(from)[at];
    case Storage::kInt64:
      return static_cast<const int64_t*>(from)[at];
    default:
      return static_cast<const uint8_t*>(from)[at];
  }
}
// Stores the low bits of an integer that does not fit the type.
AMP_BOTH inline void StoreInteger(void* to, Storage storage, int64_t at, int64_t x) {
  switch (storage) {
    case Storage::kBool:
      static_cast<uint8_t*>(to)[at] = x != 0 ? 1 : 0;
      return;
    case Storage::kInt32:
      static_cast<int32_t*>(to)[at] = static_cast<int32_t>(x);
      return;
    case Storage::kInt64:
      static_cast<int64_t*>(to)[at] = x;
      return;
    default:
      static_cast<uint8_t*>(to)[at] = static_cast<uint8_t>(x);
  }
}

}  // namespace amp::device

#endif  // AMP_RUNTIME_DEVICE_RAW_ELEMENT_H_
