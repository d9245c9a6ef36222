// Packs: neighbouring elements that a thread reads, computes and writes together. Memory is accessed 16 bytes at a
// time, and work that does not depend on the element is done once per pack.
//
//   const Lanes lanes = {first, count};                       for pack i, first = i * kPack
//   float x[kPack];
//   LoadPack (from, Storage::kFloat16, lanes, in_one_go, x);   ...
//   StorePack (to, Storage::kFloat16, lanes, in_one_go, x);
#ifndef AMP_RUNTIME_DEVICE_RAW_PACK_H_
#define AMP_RUNTIME_DEVICE_RAW_PACK_H_

#include <cstdint>
#include <utility>

#include "runtime/device/raw/element.h"

namespace amp::device {

inline constexpr uint32_t kPack = 8;

inline uint32_t NumPacks(uint32_t count) { return count / kPack + (count % kPack != 0 ? 1 : 0); }

// Whether packs may be read from and written to the address.
inline constexpr uintptr_t kPackAlignment = 16;
inline bool TakesPacks(const void* elements) { return reinterpret_cast<uintptr_t>(elements) % kPackAlignment == 0; }

// The elements of a thread, from `first` on. The last pack of a tensor may have fewer; for the missing ones, the last
// element is read again, and nothing is written.
struct Lanes {
  uint32_t first, count;  // of the tensor
  AMP_BOTH bool AreAll() const { return count - first >= kPack; }
  AMP_BOTH bool Has(uint32_t lane) const { return lane < count - first; }
  AMP_BOTH uint32_t operator[](uint32_t lane) const { return Has(lane) ? first + lane : count - 1; }
};

// Calls of(lane) for all lanes, unrolled: an array with indices known at compile time stays in registers.
template <typename Of>
AMP_BOTH void ForEachLane(const Of& of) {
  [&]<uint32_t... kLanes>(std::integer_sequence<uint32_t, kLanes...>) { (of(kLanes), ...); }
  (std::make_integer_sequence<uint32_t, kPack>());
}

template <typename T>
struct alignas(sizeof(T) * kPack < kPackAlignment ? sizeof(T) * kPack : kPackAlignment) Pack {
  T elements[kPack];
};

template <typename T>
AMP_BOTH float AsFloat(T x) {
  if constexpr (sizeof(T) == sizeof(Float16)) {
    return Widen(x);
  } else {
    return static_cast<float>(x);
  }
}

// Calls `visit` with the Tag of the type of a number or a truth value.
template <typename Visit>
AMP_BOTH void WithType(Storage storage, const Visit& visit) {
  switch (storage) {
    case Storage::kFloat16:
      return visit(Tag<Float16>());
    case Storage::kBfloat16:
      return visit(Tag<Bfloat16>());
    case Storage::kFloat32:
      return visit(Tag<float>());
    case Storage::kInt8:
      return visit(Tag<int8_t>());
    case Storage::kInt32:
      return visit(Tag<int32_t>());
    case Storage::kInt64:
      return visit(Tag<int64_t>());
    default:
      return visit(Tag<uint8_t>());
  }
}

// Load elements at any offsets, as float32.
template <typename T>
AMP_BOTH void LoadEachOf(const void* from, const int64_t (&places)[kPack], float (&x)[kPack]) {
  for (uint32_t lane = 0; lane < kPack; ++lane) x[lane] = AsFloat(static_cast<const T*>(from)[places[lane]]);
}
AMP_BOTH inline void LoadEach(const void* from, Storage storage, const int64_t (&places)[kPack], float (&x)[kPack]) {
  WithType(storage, [&]<typename T>(Tag<T>) { LoadEachOf<T>(from, places, x); });
}

// Load a pack as float32. `in_one_go`: TakesPacks(from).
template <typename T>
AMP_BOTH void LoadPackOf(const void* from, Lanes lanes, bool in_one_go, float (&x)[kPack]) {
  if (in_one_go && lanes.AreAll()) {
    const Pack<T> pack = static_cast<const Pack<T>*>(from)[lanes.first / kPack];
    for (uint32_t lane = 0; lane < kPack; ++lane) x[lane] = AsFloat(pack.elements[lane]);
  } else {
    for (uint32_t lane = 0; lane < kPack; ++lane) x[lane] = AsFloat(static_cast<const T*>(from)[lanes[lane]]);
  }
}
AMP_BOTH inline void LoadPack(const void* from, Storage storage, Lanes lanes, bool in_one_go, float (&x)[kPack]) {
  WithType(storage, [&]<typename T>(Tag<T>) { LoadPackOf<T>(from, lanes, in_one_go, x); });
}

// Loads a whole pack of floats as float32. REQUIRES: TakesPacks(from), and the pack has no missing elements.
AMP_BOTH inline void LoadFloatPack(const void* from, Storage storage, Lanes lanes, float (&x)[kPack]) {
  switch (storage) {
    case Storage::kFloat16:
      return LoadPackOf<Float16>(from, lanes, /*in_one_go=*/true, x);
    case Storage::kBfloat16:
      return LoadPackOf<Bfloat16>(from, lanes, /*in_one_go=*/true, x);
    default:
      return LoadPackOf<float>(from, lanes, /*in_one_go=*/true, x);
  }
}

// Stores a pack as floats of type T. `in_one_go`: TakesPacks(to).
template <typename T>
AMP_BOTH void StorePackOf(void* to, Lanes lanes, bool in_one_go, const float (&x)[kPack]) {
  if (in_one_go && lanes.AreAll()) {
    Pack<T> pack;
    for (uint32_t lane = 0; lane < kPack; ++lane) pack.elements[lane] = Narrow<T>(x[lane]);
    static_cast<Pack<T>*>(to)[lanes.first / kPack] = pack;
  } else {
    for (uint32_t lane = 0; lane < kPack; ++lane) {
      if (lanes.Has(lane)) static_cast<T*>(to)[lanes.first + lane] = Narrow<T>(x[lane]);
    }
  }
}

AMP_BOTH inline void StorePack(void* to, Storage storage, Lanes lanes, bool in_one_go, const float (&x)[kPack]) {
  switch (storage) {
    case Storage::kFloat32:
      return StorePackOf<float>(to, lanes, in_one_go, x);
    case Storage::kFloat16:
      return StorePackOf<Float16>(to, lanes, in_one_go, x);
    case Storage::kBfloat16:
      return StorePackOf<Bfloat16>(to, lanes, in_one_go, x);
    default:
      for (uint32_t lane = 0; lane < kPack; ++lane) {
        if (lanes.Has(lane)) StoreInteger(to, storage, lanes.first + lane, static_cast<int64_t>(x[lane]));
      }
  }
}

// Rounds values to the type, as if they were stored and read again.
AMP_BOTH inline void RoundAllTo(Storage storage, float (&x)[kPack]) {
  switch (storage) {
    case Storage::kFloat16:
      for (float& each : x) each = Widen(Narrow<Float16>(each));
      return;
    case Storage::kBfloat16:
      for (float& each : x) each = Widen(Narrow<Bfloat16>(each));
      return;
    case Storage::kBool:
      for (float& each : x) each = each != 0 ? 1 : 0;
      return;
    default:
      return;
  }
}

}  // namespace amp::device

#endif  // AMP_RUNTIME_DEVICE_RAW_PACK_H_
