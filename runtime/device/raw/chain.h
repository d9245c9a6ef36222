// Element-wise steps one after another in a single pass: what is between them stays with the thread.
//
//   s = x * a   t = exp (s)   y = t - x      =>   load x, load a, zip *, map exp, zip -, stored
//
// Values are float32 in slots, truth values 0 and 1; every step rounds its result to the type that the model has there, so
// that the result is that of the operators one by one. A thread computes a few elements, a stretch of the result apart, so
// that a step is read once for all of them, and neighbours in memory belong to neighbours among the threads.
#ifndef AMP_RUNTIME_DEVICE_RAW_CHAIN_H_
#define AMP_RUNTIME_DEVICE_RAW_CHAIN_H_

#include <cstdint>

#include "runtime/device/raw/element.h"
#include "runtime/device/raw/functions.h"
#include "runtime/device/raw/kernels.h"
#include "runtime/device/raw/shape.h"

namespace amp::device {

inline constexpr int kMostChainOperands = 24, kMostChainCodes = 72, kMostChainSlots = 24;
inline constexpr uint32_t kChainLanes = 4;  // elements of a thread

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
static_assert(sizeof(ChainArguments) <= 4096 - 16, "kernels have 4 KiB for their arguments");

// A number, an integer or a truth value as it is computed with.
AMP_BOTH inline float LoadAsFloat(const void* from, Storage storage, int64_t at) {
  return IsFloat(storage) ? LoadFloat(from, storage, at) : static_cast<float>(LoadInteger(from, storage, at));
}

struct ChainBody {
  ChainArguments chain;

  AMP_BOTH int64_t PlaceOf(uint32_t operand, uint32_t i) const {
    const ChainOperandWay way = chain.operands[operand].way;
    if (way == ChainOperandWay::kFlat) return i;
    int64_t place = 0;
    for (int axis = chain.shape.rank - 1; axis >= 0 && way == ChainOperandWay::kStrided; --axis) {
      place += i % chain.shape.dims[axis] * chain.shape.strides[operand][axis];
      i /= chain.shape.dims[axis];
    }
    return place;
  }

  AMP_BOTH float Value(const ChainCode& code, uint32_t i, float x, float other, float third) const {
    switch (code.kind) {
      case ChainCodeKind::kLoad: {
        const ChainOperandPlace& operand = chain.operands[code.function];
        return LoadAsFloat(operand.data, operand.storage, PlaceOf(code.function, i));
      }
      case ChainCodeKind::kMap:
        return Apply(static_cast<UnaryFunction>(code.function), x, code.a, code.b);
      case ChainCodeKind::kZip:
        return Apply(static_cast<BinaryFunction>(code.function), x, other);
      case ChainCodeKind::kCompare:
        return Compare(static_cast<Comparison>(code.function), x, other) ? 1 : 0;
      case ChainCodeKind::kChoose:
        return x != 0 ? other : third;
      case ChainCodeKind::kRound:
        return x;
    }
    return x;
  }

  AMP_BOTH void operator()(uint32_t thread) const {
    const uint32_t stretch = (chain.count - 1) / kChainLanes + 1, last = chain.count - 1;
    float slots[kMostChainSlots][kChainLanes];
    for (int32_t step = 0; step < chain.num_codes; ++step) {
      const ChainCode& code = chain.codes[step];
      for (uint32_t lane = 0; lane < kChainLanes; ++lane) {
        const uint64_t wanted = thread + static_cast<uint64_t>(lane) * stretch;
        const bool has_operands = code.kind != ChainCodeKind::kLoad;
        const float x = has_operands ? slots[code.reads[0]][lane] : 0;
        const float other = has_operands ? slots[code.reads[1]][lane] : 0;
        const float third = has_operands ? slots[code.reads[2]][lane] : 0;
        const float y = Value(code, wanted < last ? static_cast<uint32_t>(wanted) : last, x, other, third);
        slots[code.writes][lane] = RoundedTo(code.rounds_to, y);
      }
    }
    const uint8_t result = chain.codes[chain.num_codes - 1].writes;
    for (uint32_t lane = 0; lane < kChainLanes; ++lane) {
      const uint64_t i = thread + static_cast<uint64_t>(lane) * stretch;
      if (i > last) return;
      if (IsFloat(chain.storage)) {
        StoreFloat(chain.y, chain.storage, static_cast<int64_t>(i), slots[result][lane]);
      } else {
        StoreInteger(chain.y, chain.storage, static_cast<int64_t>(i), static_cast<int64_t>(slots[result][lane]));
      }
    }
  }
};

template <typename Runner>
int Start(Runner& runner, const ChainArguments& chain) {
  if (chain.count == 0) return 0;
  if (chain.num_codes < 1) return kBadArguments;
  return runner.ForEach((chain.count - 1) / kChainLanes + 1, ChainBody{chain});
}

}  // namespace amp::device

#endif  // AMP_RUNTIME_DEVICE_RAW_CHAIN_H_
