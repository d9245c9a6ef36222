#include "runtime/loops/few_rows.h"

#include <algorithm>

#include "runtime/hardware/hardware.h"
#include "runtime/kernel/tensor.h"
#include "runtime/loops/best_loops.h"

namespace amp {
namespace {

// Measured with AVX2. With AVX-512 they are an estimate: more rows are bound by arithmetic, which oneDNN is faster
// with, above all where the processor has arithmetic in 16 bits.
constexpr int64_t kMostRows = 16, kMostRowsWithAvx512 = 8, kMostRowsOf16Bits = 4;
// Matrices that a cache holds from run to run are not bound by memory.
constexpr size_t kInCache = size_t{4} << 20;
constexpr int64_t kMostInCache = 1, kMostInCacheOf16Bits = 4, kMostInCacheTransposed = 8;

bool takes_all = false;

int64_t MostFromMemory(DType dtype) {
  static const CpuFeatures cpu = DetectCpu();
  const bool has_arithmetic = dtype == DType::kFloat16 ? cpu.amx_fp16 : cpu.avx512_bf16;
  if (dtype != DType::kFloat32 && has_arithmetic) return kMostRowsOf16Bits;
  return cpu.avx512 && dtype != DType::kFloat16 ? kMostRowsWithAvx512 : kMostRows;
}

template <typename T>
void RunLoop(const FewRowsProduct& product, ProductLoops::Loop<T> loop) {
  loop({.x = product.x,
        .b = static_cast<const T*>(product.b.elements),
        .y = product.y,
        .rows = product.rows,
        .depth = product.depth,
        .columns = product.columns,
        .x_step = product.x_step,
        .b_step = product.b.step,
        .y_step = product.y_step});
}

}  // namespace

int64_t MostFewRows(DType dtype, bool is_transposed, size_t bytes) {
  if (takes_all) return kMostRows;
  const int64_t most = MostFromMemory(dtype);
  if (bytes > kInCache) return most;
  const int64_t plain = dtype == DType::kFloat32 ? kMostInCache : kMostInCacheOf16Bits;
  return std::min(most, is_transposed ? kMostInCacheTransposed : plain);
}

void TakeAllFewRows(bool takes) { takes_all = takes; }

StoredMatrix StoredMatrix::From(size_t column) const {
  StoredMatrix from = *this;
  from.elements = static_cast<const std::byte*>(elements) + column * (is_transposed ? step : 1) * ElementBytes(dtype);
  return from;
}

void FewRowsProduct::Run() const {
  const ProductLoops& loops = BestLoops().products;
  const bool is_turned = b.is_transposed;
  if (b.dtype == DType::kFloat32) {
    RunLoop<float>(*this, is_turned ? loops.of_transposed_float32 : loops.of_float32);
  } else if (b.dtype == DType::kFloat16) {
    RunLoop<uint16_t>(*this, is_turned ? loops.of_transposed_float16 : loops.of_float16);
  } else {
    RunLoop<uint16_t>(*this, is_turned ? loops.of_transposed_bfloat16 : loops.of_bfloat16);
  }
}

}  // namespace amp
