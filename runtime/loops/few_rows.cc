#include "runtime/loops/few_rows.h"

#include "runtime/hardware/hardware.h"
#include "runtime/kernel/tensor.h"
#include "runtime/loops/best_loops.h"

namespace amp {
namespace {

// The most rows, by where the matrix lies from run to run and how: few_rows_limits measures them.
struct RowLimits {
  int64_t in_memory = 0, in_memory_transposed = 0, in_cache = 0, in_cache_transposed = 0;
};
constexpr RowLimits kWithAvx2 = {16, 16, 1, 8}, kWithAvx2Of16Bits = {24, 48, 20, 32};
constexpr RowLimits kWithAvx512 = {8, 8, 4, 4}, kWithAvx512Of16Bits = {16, 12, 4, 4};
constexpr RowLimits kWithArithmetic = {4, 4, 2, 2};  // of the processor, in these 16 bits: AMX
constexpr size_t kInCache = size_t{4} << 20;
constexpr int64_t kMostOfAll = 48;

bool takes_all = false;

const RowLimits& LimitsOf(DType dtype) {
  static const CpuFeatures cpu = DetectCpu();
  if (dtype == DType::kFloat32) return cpu.avx512 ? kWithAvx512 : kWithAvx2;
  const bool has_arithmetic = dtype == DType::kFloat16 ? cpu.amx_fp16 : cpu.avx512_bf16;
  return has_arithmetic ? kWithArithmetic : cpu.avx512 ? kWithAvx512Of16Bits : kWithAvx2Of16Bits;
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
  if (takes_all) return kMostOfAll;
  const RowLimits& limits = LimitsOf(dtype);
  if (bytes > kInCache) return is_transposed ? limits.in_memory_transposed : limits.in_memory;
  return is_transposed ? limits.in_cache_transposed : limits.in_cache;
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
