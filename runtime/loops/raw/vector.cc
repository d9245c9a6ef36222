// Vectors times matrices that are too small for a library to be worth its call.
#include "runtime/loops/raw/lanes.h"
#include "runtime/loops/raw/loops.h"

namespace amp::AMP_LOOPS_ISA {

extern const VectorLoops kVector;

namespace {

// As many registers of y at once, so that no sum waits for itself.
template <size_t kRegisters>
inline void MultiplyColumns(const float* x, size_t k, const float* matrix, const float* bias, float* y, size_t n) {
  Floats sums[kRegisters];
#pragma GCC unroll 8
  for (size_t j = 0; j < kRegisters; ++j) sums[j] = Load(bias + j * kLanes);
  for (size_t i = 0; i < k; ++i) {
    const Floats factor = Splat(x[i]);
#pragma GCC unroll 8
    for (size_t j = 0; j < kRegisters; ++j) sums[j] += factor * Load(matrix + i * n + j * kLanes);
  }
#pragma GCC unroll 8
  for (size_t j = 0; j < kRegisters; ++j) Store(sums[j], y + j * kLanes);
}

void Multiply(const float* x, size_t k, const float* matrix, const float* bias, float* y, size_t n) {
  size_t first = 0;
  for (; first + 8 * kLanes <= n; first += 8 * kLanes) {
    MultiplyColumns<8>(x, k, matrix + first, bias + first, y + first, n);
  }
  for (; first + 4 * kLanes <= n; first += 4 * kLanes) {
    MultiplyColumns<4>(x, k, matrix + first, bias + first, y + first, n);
  }
  for (; first + kLanes <= n; first += kLanes) {
    MultiplyColumns<1>(x, k, matrix + first, bias + first, y + first, n);
  }
}

}  // namespace

const VectorLoops kVector = {.multiply = Multiply};

}  // namespace amp::AMP_LOOPS_ISA
