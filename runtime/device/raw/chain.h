// Element-wise steps one after another in a single pass: what is between them stays with the thread.
//
//   s = x * a   t = exp (s)   y = t - x      =>   load x, load a, zip *, map exp, zip -, stored
//
// Values are float32 in slots, truth values 0 and 1; every step rounds its result to the type that the model has there, so
// that the result is that of the operators one by one. A thread computes a pack of elements, so that what a step is to do
// is found out once for all of them: for each element by itself it would be most of the instructions.
#ifndef AMP_RUNTIME_DEVICE_RAW_CHAIN_H_
#define AMP_RUNTIME_DEVICE_RAW_CHAIN_H_

#include <cstdint>

#include "runtime/device/raw/element.h"
#include "runtime/device/raw/functions.h"
#include "runtime/device/raw/kernels.h"
#include "runtime/device/raw/pack.h"
#include "runtime/device/raw/shape.h"

namespace amp::device {

inline constexpr int kMostChainOperands = 24, kMostChainCodes = 72, kMostChainSlots = 24;

// How an operand lies: as the result does, one element for all, or by the strides of the shape.
enum class ChainOperandWay : uint8_t { kFlat, kOne, kStrided };

struct ChainOperandPlace {
  const void* data;
  Storage storage;
  ChainOperandWay way;
};

enum class ChainCodeKind : uint8_t { kLoad, kMap, kZip, kCompare, kChoose, kRound };

// `function`: a UnaryFunction, BinaryFunction or Comparison, or the number of the operand that is loaded.
struct ChainCode {
  ChainCodeKind kind;
  uint8_t function;
  uint8_t reads[3];  // slots
  uint8_t writes;    // a slot
  Storage rounds_to;
  float a, b;
};

struct ChainArguments {
  static constexpr Kernel kKernel = Kernel::kChain;
  void* y;
  Storage storage;  // of y
  uint32_t count;
  int32_t num_codes;  // the last one gives y
  StridedShape<kMostChainOperands> shape;
  ChainOperandPlace operands[kMostChainOperands];
  ChainCode codes[kMostChainCodes];
};
static_assert(sizeof(ChainArguments) <= 4096 - 32, "kernels have 4 KiB for their arguments");

// A number, an integer or a truth value as it is computed with.
AMP_BOTH inline float LoadAsFloat(const void* from, Storage storage, int64_t at) {
  return IsFloat(storage) ? LoadFloat(from, storage, at) : static_cast<float>(LoadInteger(from, storage, at));
}

struct ChainBody {
  ChainArguments chain;
  bool has_packs;  // the result, and all operands that lie as it does, take packs

  AMP_BOTH int64_t PlaceOf(uint32_t operand, uint32_t i) const {
    int64_t place = 0;
    for (int axis = chain.shape.rank - 1; axis >= 0; --axis) {
      place += i % chain.shape.dims[axis] * chain.shape.strides[operand][axis];
      i /= chain.shape.dims[axis];
    }
    return place;
  }

  // Most packs lie within one row.
  AMP_BOTH void PlacesOf(uint32_t operand, Lanes lanes, int64_t (&places)[kPack]) const {
    const int inner = chain.shape.rank - 1;
    const uint32_t row = chain.shape.dims[inner];
    if (lanes.AreAll() && lanes.first % row + kPack <= row) {
      const int64_t first = PlaceOf(operand, lanes.first), step = chain.shape.strides[operand][inner];
      for (uint32_t lane = 0; lane < kPack; ++lane) places[lane] = first + lane * step;
    } else {
      for (uint32_t lane = 0; lane < kPack; ++lane) places[lane] = PlaceOf(operand, lanes[lane]);
    }
  }

  AMP_BOTH void Load(uint32_t number, Lanes lanes, float (&x)[kPack]) const {
    const ChainOperandPlace& operand = chain.operands[number];
    switch (operand.way) {
      case ChainOperandWay::kFlat:
        return LoadPack(operand.data, operand.storage, lanes, has_packs, x);
      case ChainOperandWay::kOne: {
        const float one = LoadAsFloat(operand.data, operand.storage, 0);
        for (float& each : x) each = one;
        return;
      }
      case ChainOperandWay::kStrided: {
        int64_t places[kPack];
        PlacesOf(number, lanes, places);
        return LoadEach(operand.data, operand.storage, places, x);
      }
    }
  }

  // What the step makes of x, the first of what it reads.
  AMP_BOTH void Compute(const ChainCode& code, const float (&slots)[kMostChainSlots][kPack], float (&x)[kPack]) const {
    const float(&other)[kPack] = slots[code.reads[1]];
    const float(&third)[kPack] = slots[code.reads[2]];
    switch (code.kind) {
      case ChainCodeKind::kMap:
        return WithConstant(static_cast<UnaryFunction>(code.function), [&](auto function) {
          ForEachLane([&](uint32_t lane) { x[lane] = Apply(decltype(function)::kValue, x[lane], code.a, code.b); });
        });
      case ChainCodeKind::kZip:
        return WithConstant(static_cast<BinaryFunction>(code.function), [&](auto function) {
          for (uint32_t lane = 0; lane < kPack; ++lane) {
            x[lane] = Apply(decltype(function)::kValue, x[lane], other[lane]);
          }
        });
      case ChainCodeKind::kCompare:
        return WithConstant(static_cast<Comparison>(code.function), [&](auto function) {
          for (uint32_t lane = 0; lane < kPack; ++lane) {
            x[lane] = device::Compare(decltype(function)::kValue, x[lane], other[lane]) ? 1 : 0;
          }
        });
      case ChainCodeKind::kChoose:
        for (uint32_t lane = 0; lane < kPack; ++lane) x[lane] = x[lane] != 0 ? other[lane] : third[lane];
        return;
      case ChainCodeKind::kLoad:
      case ChainCodeKind::kRound:
        return;
    }
  }

  AMP_BOTH void operator()(uint32_t pack) const {
    const Lanes lanes = {pack * kPack, chain.count};
    alignas(kPackAlignment) float slots[kMostChainSlots][kPack];
    float x[kPack];
    for (int32_t step = 0; step < chain.num_codes; ++step) {
      const ChainCode& code = chain.codes[step];
      if (code.kind == ChainCodeKind::kLoad) {
        Load(code.function, lanes, x);
      } else {
        for (uint32_t lane = 0; lane < kPack; ++lane) x[lane] = slots[code.reads[0]][lane];
        Compute(code, slots, x);
      }
      RoundAllTo(code.rounds_to, x);
      for (uint32_t lane = 0; lane < kPack; ++lane) slots[code.writes][lane] = x[lane];
    }
    StorePack(chain.y, chain.storage, lanes, has_packs, x);
  }
};

template <typename Runner>
int Start(Runner& runner, const ChainArguments& chain) {
  if (chain.count == 0) return 0;
  if (chain.num_codes < 1) return kBadArguments;
  bool has_packs = TakesPacks(chain.y);
  for (const ChainOperandPlace& operand : chain.operands) {
    has_packs = has_packs && (operand.way != ChainOperandWay::kFlat || TakesPacks(operand.data));
  }
  return runner.ForEach(NumPacks(chain.count), ChainBody{chain, has_packs});
}

}  // namespace amp::device

#endif  // AMP_RUNTIME_DEVICE_RAW_CHAIN_H_
