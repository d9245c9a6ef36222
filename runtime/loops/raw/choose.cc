// The choice between two elements by a third.
#include "runtime/loops/raw/lanes.h"
#include "runtime/loops/raw/loops.h"

namespace amp::AMP_LOOPS_ISA {

extern const ChooseLoops kChoose;

namespace {

template <size_t kStepA, size_t kStepB, typename T>
void ChooseEach(const uint8_t* condition, const T* a, const T* b, T* y, size_t count) {
#pragma GCC ivdep
  for (size_t i = 0; i < count; ++i) {
    const T x = a[i * kStepA], z = b[i * kStepB];
    y[i] = condition[i] != 0 ? x : z;
  }
}

// One condition for all: a copy, or the same element again and again.
template <typename T>
void CopyAll(const T* from, size_t step, T* y, size_t count) {
#pragma GCC ivdep
  for (size_t i = 0; i < count; ++i) y[i] = from[i * step];
}

template <typename T>
void Choose(const ChooseOperands& operands, void* to, size_t count) {
  const uint8_t* condition = operands.condition;
  const T* a = static_cast<const T*>(operands.a);
  const T* b = static_cast<const T*>(operands.b);
  T* y = static_cast<T*>(to);
  if (operands.step_condition == 0) {
    return *condition != 0 ? CopyAll(a, operands.step_a, y, count) : CopyAll(b, operands.step_b, y, count);
  }
  if (operands.step_a == 0) {
    return operands.step_b == 0 ? ChooseEach<0, 0>(condition, a, b, y, count)
                                : ChooseEach<0, 1>(condition, a, b, y, count);
  }
  return operands.step_b == 0 ? ChooseEach<1, 0>(condition, a, b, y, count)
                              : ChooseEach<1, 1>(condition, a, b, y, count);
}

}  // namespace

const ChooseLoops kChoose = {
    .of_1_byte = Choose<uint8_t>,
    .of_2_bytes = Choose<uint16_t>,
    .of_4_bytes = Choose<uint32_t>,
    .of_8_bytes = Choose<uint64_t>,
};

}  // namespace amp::AMP_LOOPS_ISA
