// A chain of element-wise steps in one pass: values between the steps stay in the thread.
//
//   s = x * a   t = exp (s)   y = t - x      =>   load x, load a, zip *, map exp, zip -, store
//
// Values are float32 in slots; truth values are 0 and 1. Each step rounds its result to the type that the value has in
// the model, so that the result is the same as that of the operators one by one. A thread computes a pack of elements,
// and finds out only once for all of them what a step does; for single elements, that would be most of the
// instructions. A few slots are registers. A value that only the next step reads takes no slot.
#ifndef AMP_RUNTIME_DEVICE_RAW_CHAIN_H_
#define AMP_RUNTIME_DEVICE_RAW_CHAIN_H_

#include <cstdint>
#include <utility>

#include "runtime/device/raw/element.h"
#include "runtime/device/raw/functions.h"
#include "runtime/device/raw/kernels.h"
#include "runtime/device/raw/pack.h"
#include "runtime/device/raw/shape.h"

namespace amp::device {

inline constexpr int kMostChainOperands = 24, kMostChainCodes = 72, kMostChainSlots = 24;
inline constexpr int kChainRegisters = 4;      // slots are registers if a chain has no more than these
inline constexpr uint8_t kFromLastStep = 255;  // used instead of a slot if only the next step reads the value

// How an operand lies in memory: as the result does, as one element for all, or by the strides of the shape.
enum class ChainOperandWay : uint8_t { kFlat, kOne, kStrided };

struct ChainOperandPlace {
  const void* data;
  Storage storage;
  ChainOperandWay way;
};

enum class ChainCodeKind : uint8_t { kLoad, kMap, kZip, kCompare, kChoose, kRound };

// `function`: a UnaryFunction, BinaryFunction or Comparison, or the number of the operand to load.
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
  int32_t num_codes;  // the last one computes y
  int32_t num_slots;
  StridedShape<kMostChainOperands> shape;
  ChainOperandPlace operands[kMostChainOperands];
  ChainCode codes[kMostChainCodes];
};
static_assert(sizeof(ChainArguments) <= 4096 - 32, "kernels have 4 KiB for their arguments");

// Loads a float, an integer or a truth value as float32.
AMP_BOTH inline float LoadAsFloat(const void* from, Storage storage, int64_t at) {
  return IsFloat(storage) ? LoadFloat(from, storage, at) : static_cast<float>(LoadInteger(from, storage, at));
}

// Slots by number. The numbers are known only when the kernel runs, and an array indexed by such a number would lie in
// memory. Registers are therefore found by comparing numbers, which all threads of a warp do alike.
template <int kSlots>
class ChainSlots {
 public:
  AMP_BOTH void Read(uint8_t slot, const float (&last)[kPack], float (&x)[kPack]) const {
    if (slot == kFromLastStep) {
      ForEachLane([&](uint32_t lane) { x[lane] = last[lane]; });
    } else if constexpr (kSlots > kChainRegisters) {
      ForEachLane([&](uint32_t lane) { x[lane] = slots_[slot][lane]; });
    } else {
      ForEachSlot([&](uint32_t each) {
        if (slot == each) ForEachLane([&](uint32_t lane) { x[lane] = slots_[each][lane]; });
      });
    }
  }

  AMP_BOTH void Write(uint8_t slot, const float (&x)[kPack]) {
    if (slot == kFromLastStep) return;
    if constexpr (kSlots > kChainRegisters) {
      ForEachLane([&](uint32_t lane) { slots_[slot][lane] = x[lane]; });
    } else {
      ForEachSlot([&](uint32_t each) {
        if (slot == each) ForEachLane([&](uint32_t lane) { slots_[each][lane] = x[lane]; });
      });
    }
  }

 private:
  template <typename Of>
  static AMP_BOTH void ForEachSlot(const Of& of) {
    [&]<uint32_t... kEach>(std::integer_sequence<uint32_t, kEach...>) { (of(kEach), ...); }
    (std::make_integer_sequence<uint32_t, kSlots>());
  }

  alignas(kPackAlignment) float slots_[kSlots][kPack];
};

template <int kSlots>
struct ChainBody {
  ChainArguments chain;
  bool has_packs;  // the result, and all operands that lie as it does, can be read and written in packs

  AMP_BOTH int64_t PlaceOf(uint32_t operand, uint32_t i) const {
    int64_t place = 0;
    for (int axis = chain.shape.rank - 1; axis >= 0; --axis) {
      place += i % chain.shape.dims[axis] * chain.shape.strides[operand][axis];
      i /= chain.shape.dims[axis];
    }
    return place;
  }

  // Finds the offsets of a pack of elements. Most packs lie within one row.
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

  // x: the result of the step before, replaced by the result of this step.
  AMP_BOTH void Compute(const ChainCode& code, const ChainSlots<kSlots>& slots, float (&x)[kPack]) const {
    float other[kPack], third[kPack];
    if (code.kind == ChainCodeKind::kChoose) slots.Read(code.reads[2], x, third);
    if (code.kind >= ChainCodeKind::kZip && code.kind <= ChainCodeKind::kChoose) slots.Read(code.reads[1], x, other);
    if (code.reads[0] != kFromLastStep) slots.Read(code.reads[0], x, x);
    switch (code.kind) {
      case ChainCodeKind::kMap:
        return WithConstant(static_cast<UnaryFunction>(code.function), [&](auto function) {
          ForEachLane([&](uint32_t lane) { x[lane] = Apply(decltype(function)::kValue, x[lane], code.a, code.b); });
        });
      case ChainCodeKind::kZip:
        return WithConstant(static_cast<BinaryFunction>(code.function), [&](auto function) {
          ForEachLane([&](uint32_t lane) { x[lane] = Apply(decltype(function)::kValue, x[lane], other[lane]); });
        });
      case ChainCodeKind::kCompare:
        return WithConstant(static_cast<Comparison>(code.function), [&](auto function) {
          ForEachLane([&](uint32_t lane) {
            x[lane] = device::Compare(decltype(function)::kValue, x[lane], other[lane]) ? 1 : 0;
          });
        });
      case ChainCodeKind::kChoose:
        ForEachLane([&](uint32_t lane) { x[lane] = x[lane] != 0 ? other[lane] : third[lane]; });
        return;
      case ChainCodeKind::kLoad:
      case ChainCodeKind::kRound:
        return;
    }
  }

  AMP_BOTH void operator()(uint32_t pack) const {
    const Lanes lanes = {pack * kPack, chain.count};
    ChainSlots<kSlots> slots;
    float x[kPack];
    for (int32_t step = 0; step < chain.num_codes; ++step) {
      const ChainCode& code = chain.codes[step];
      if (code.kind == ChainCodeKind::kLoad) {
        Load(code.function, lanes, x);
      } else {
        Compute(code, slots, x);
      }
      // Storing rounds floats. Truth values must be rounded first, as storing would keep their integer part.
      const bool is_stored_next =
          step + 1 == chain.num_codes && code.rounds_to == chain.storage && IsFloat(chain.storage);
      if (!is_stored_next) RoundAllTo(code.rounds_to, x);
      slots.Write(code.writes, x);
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
  const uint32_t packs = NumPacks(chain.count);
  if (chain.num_slots > kChainRegisters) return runner.ForEach(packs, ChainBody<kMostChainSlots>{chain, has_packs});
  return runner.ForEach(packs, ChainBody<kChainRegisters>{chain, has_packs});
}

}  // namespace amp::device

#endif  // AMP_RUNTIME_DEVICE_RAW_CHAIN_H_
