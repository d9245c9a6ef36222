// Kernels that compute element by element: functions of one and two elements, conversions, comparisons, choices.
#ifndef AMP_RUNTIME_DEVICE_RAW_ELEMENTWISE_H_
#define AMP_RUNTIME_DEVICE_RAW_ELEMENTWISE_H_

#include <cstdint>

#include "runtime/device/raw/element.h"
#include "runtime/device/raw/functions.h"
#include "runtime/device/raw/kernels.h"
#include "runtime/device/raw/pack.h"
#include "runtime/device/raw/shape.h"

namespace amp::device {

// ---- y = function(x), of floats -------------------------------------------------------------------------------------

struct MapArguments {
  static constexpr Kernel kKernel = Kernel::kMap;
  const void* x;
  void* y;
  uint32_t count;
  Storage storage;
  UnaryFunction function;
  float a, b;
};

template <typename T>
struct MapBody {
  MapArguments map;
  bool has_packs;
  AMP_BOTH void operator()(uint32_t pack) const {
    const Lanes lanes = {pack * kPack, map.count};
    float x[kPack];
    LoadPackOf<T>(map.x, lanes, has_packs, x);
    WithConstant(map.function, [&](auto function) {
      ForEachLane([&](uint32_t lane) { x[lane] = Apply(decltype(function)::kValue, x[lane], map.a, map.b); });
    });
    StorePackOf<T>(map.y, lanes, has_packs, x);
  }
};

template <typename Runner>
int Start(Runner& runner, const MapArguments& map) {
  const bool has_packs = TakesPacks(map.x) && TakesPacks(map.y);
  return VisitFloat(map.storage, kBadArguments, [&]<typename T>(Tag<T>) {
    return runner.ForEach(NumPacks(map.count), MapBody<T>{map, has_packs});
  });
}

// ---- y = x in another type ------------------------------------------------------------------------------------------

// Floats are truncated towards zero if the result is an integer.
struct ConvertArguments {
  static constexpr Kernel kKernel = Kernel::kConvert;
  const void* x;
  void* y;
  uint32_t count;
  Storage from, to;
};

struct ConvertBody {
  ConvertArguments convert;
  bool has_packs;

  AMP_BOTH void ConvertOne(uint32_t i) const {
    if (IsFloat(convert.from)) {
      const float x = LoadFloat(convert.x, convert.from, i);
      StoreInteger(convert.y, convert.to, i, convert.to == Storage::kBool ? x != 0 : static_cast<int64_t>(x));
    } else if (IsFloat(convert.to)) {
      StoreFloat(convert.y, convert.to, i, static_cast<float>(LoadInteger(convert.x, convert.from, i)));
    } else {
      StoreInteger(convert.y, convert.to, i, LoadInteger(convert.x, convert.from, i));
    }
  }

  AMP_BOTH void operator()(uint32_t pack) const {
    const Lanes lanes = {pack * kPack, convert.count};
    if (IsFloat(convert.from) && IsFloat(convert.to)) {
      float x[kPack];
      LoadPack(convert.x, convert.from, lanes, has_packs, x);
      StorePack(convert.y, convert.to, lanes, has_packs, x);
    } else {
      for (uint32_t lane = 0; lane < kPack && lanes.Has(lane); ++lane) ConvertOne(lanes[lane]);
    }
  }
};

template <typename Runner>
int Start(Runner& runner, const ConvertArguments& convert) {
  const bool has_packs = TakesPacks(convert.x) && TakesPacks(convert.y);
  return runner.ForEach(NumPacks(convert.count), ConvertBody{convert, has_packs});
}

// ---- y = function(a, b) ---------------------------------------------------------------------------------------------

struct ZipOperands {
  const void *a, *b;
  void* y;
  uint32_t count;
  Storage storage;
  StridedShape<2> shape;
  bool is_flat;  // both operands lie in memory as the result does
};

AMP_BOTH inline void OperandPlaces(const ZipOperands& operands, uint32_t i, int64_t (&places)[2]) {
  if (operands.is_flat) {
    places[0] = places[1] = i;
  } else {
    operands.shape.PlacesOf(i, places);
  }
}

struct ZipArguments {
  static constexpr Kernel kKernel = Kernel::kZip;
  ZipOperands operands;
  BinaryFunction function;
};

template <typename T>
struct ZipBody {
  ZipArguments zip;
  bool has_packs;

  AMP_BOTH void Load(Lanes lanes, float (&a)[kPack], float (&b)[kPack]) const {
    if (zip.operands.is_flat) {
      LoadPackOf<T>(zip.operands.a, lanes, has_packs, a);
      LoadPackOf<T>(zip.operands.b, lanes, has_packs, b);
    } else {
      int64_t places[2][kPack];
      zip.operands.shape.PlacesOf(lanes, places);
      LoadEachOf<T>(zip.operands.a, places[0], a);
      LoadEachOf<T>(zip.operands.b, places[1], b);
    }
  }

  AMP_BOTH void operator()(uint32_t pack) const {
    const Lanes lanes = {pack * kPack, zip.operands.count};
    float a[kPack], b[kPack];
    Load(lanes, a, b);
    WithConstant(zip.function, [&](auto function) {
      for (uint32_t lane = 0; lane < kPack; ++lane) a[lane] = Apply(decltype(function)::kValue, a[lane], b[lane]);
    });
    StorePackOf<T>(zip.operands.y, lanes, has_packs, a);
  }
};

template <typename Runner>
int Start(Runner& runner, const ZipArguments& zip) {
  const ZipOperands& operands = zip.operands;
  const bool has_packs =
      TakesPacks(operands.y) && (!operands.is_flat || (TakesPacks(operands.a) && TakesPacks(operands.b)));
  return VisitFloat(operands.storage, kBadArguments, [&]<typename T>(Tag<T>) {
    return runner.ForEach(NumPacks(operands.count), ZipBody<T>{zip, has_packs});
  });
}

// Integers. For truth values, kMin is And and kMax is Or.
struct ZipIntegersArguments {
  static constexpr Kernel kKernel = Kernel::kZipIntegers;
  ZipOperands operands;
  BinaryFunction function;
};

struct ZipIntegersBody {
  ZipIntegersArguments zip;
  AMP_BOTH void operator()(uint32_t i) const {
    int64_t places[2];
    OperandPlaces(zip.operands, i, places);
    const Storage storage = zip.operands.storage;
    const int64_t a = LoadInteger(zip.operands.a, storage, places[0]);
    const int64_t b = LoadInteger(zip.operands.b, storage, places[1]);
    StoreInteger(zip.operands.y, storage, i, Apply(zip.function, a, b));
  }
};

template <typename Runner>
int Start(Runner& runner, const ZipIntegersArguments& zip) {
  return runner.ForEach(zip.operands.count, ZipIntegersBody{zip});
}

// ---- truth values ---------------------------------------------------------------------------------------------------

// Compares floats or integers; y is 0 or 1.
struct CompareArguments {
  static constexpr Kernel kKernel = Kernel::kCompare;
  ZipOperands operands;
  Comparison comparison;
  bool is_negated;
};

struct CompareBody {
  CompareArguments compare;
  AMP_BOTH void operator()(uint32_t i) const {
    const ZipOperands& operands = compare.operands;
    int64_t places[2];
    OperandPlaces(operands, i, places);
    const bool holds = IsFloat(operands.storage)
                           ? Compare(compare.comparison, LoadFloat(operands.a, operands.storage, places[0]),
                                     LoadFloat(operands.b, operands.storage, places[1]))
                           : Compare(compare.comparison, LoadInteger(operands.a, operands.storage, places[0]),
                                     LoadInteger(operands.b, operands.storage, places[1]));
    static_cast<uint8_t*>(operands.y)[i] = holds != compare.is_negated ? 1 : 0;
  }
};

template <typename Runner>
int Start(Runner& runner, const CompareArguments& compare) {
  return runner.ForEach(compare.operands.count, CompareBody{compare});
}

// ---- y = condition ? a : b ------------------------------------------------------------------------------------------

// Calls `visit` with the Tag of an unsigned integer of this size; returns `otherwise` for other sizes.
template <typename Result, typename Visit>
Result VisitSize(size_t element_bytes, Result otherwise, Visit&& visit) {
  switch (element_bytes) {
    case 1:
      return visit(Tag<uint8_t>());
    case 2:
      return visit(Tag<uint16_t>());
    case 4:
      return visit(Tag<uint32_t>());
    case 8:
      return visit(Tag<uint64_t>());
    default:
      return otherwise;
  }
}

struct ChooseArguments {
  static constexpr Kernel kKernel = Kernel::kChoose;
  const void *condition, *a, *b;
  void* y;
  uint32_t count;
  size_t element_bytes;
  StridedShape<3> shape;
};

template <typename T>
struct ChooseBody {
  ChooseArguments choose;
  AMP_BOTH void operator()(uint32_t i) const {
    int64_t places[3];
    choose.shape.PlacesOf(i, places);
    const bool takes_a = static_cast<const uint8_t*>(choose.condition)[places[0]] != 0;
    static_cast<T*>(choose.y)[i] =
        takes_a ? static_cast<const T*>(choose.a)[places[1]] : static_cast<const T*>(choose.b)[places[2]];
  }
};

template <typename Runner>
int Start(Runner& runner, const ChooseArguments& choose) {
  return VisitSize(choose.element_bytes, kBadArguments,
                   [&]<typename T>(Tag<T>) { return runner.ForEach(choose.count, ChooseBody<T>{choose}); });
}

// ---- y = a < b ? c : d, of floats of one type -----------------------------------------------------------------------

struct CompareAndChooseArguments {
  static constexpr Kernel kKernel = Kernel::kCompareAndChoose;
  struct Operand {
    const void* data;
    bool is_one;  // one element for all; otherwise it lies as the result does
  };
  Operand a, b, c, d;
  void* y;
  uint32_t count;
  Storage storage;
  Comparison comparison;
};

template <typename T>
struct CompareAndChooseBody {
  CompareAndChooseArguments choose;
  bool has_packs;

  AMP_BOTH void Load(const CompareAndChooseArguments::Operand& operand, Lanes lanes, float (&x)[kPack]) const {
    if (!operand.is_one) return LoadPackOf<T>(operand.data, lanes, has_packs, x);
    const float one = Widen(*static_cast<const T*>(operand.data));
    ForEachLane([&](uint32_t lane) { x[lane] = one; });
  }

  AMP_BOTH void operator()(uint32_t pack) const {
    const Lanes lanes = {pack * kPack, choose.count};
    float a[kPack], b[kPack], c[kPack], d[kPack];
    Load(choose.a, lanes, a);
    Load(choose.b, lanes, b);
    Load(choose.c, lanes, c);
    Load(choose.d, lanes, d);
    WithConstant(choose.comparison, [&](auto comparison) {
      ForEachLane([&](uint32_t lane) {
        c[lane] = device::Compare(decltype(comparison)::kValue, a[lane], b[lane]) ? c[lane] : d[lane];
      });
    });
    StorePackOf<T>(choose.y, lanes, has_packs, c);
  }
};

template <typename Runner>
int Start(Runner& runner, const CompareAndChooseArguments& choose) {
  bool has_packs = TakesPacks(choose.y);
  for (const auto* operand : {&choose.a, &choose.b, &choose.c, &choose.d}) {
    has_packs = has_packs && (operand->is_one || TakesPacks(operand->data));
  }
  return VisitFloat(choose.storage, kBadArguments, [&]<typename T>(Tag<T>) {
    return runner.ForEach(NumPacks(choose.count), CompareAndChooseBody<T>{choose, has_packs});
  });
}

}  // namespace amp::device

#endif  // AMP_RUNTIME_DEVICE_RAW_ELEMENTWISE_H_
