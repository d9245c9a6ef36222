// Sums down the columns of [rows, columns]: in parts of rows, a thread for each column of a part, so that neighbours read
// neighbours; then over the parts.
#ifndef AMP_RUNTIME_DEVICE_RAW_COLUMNS_H_
#define AMP_RUNTIME_DEVICE_RAW_COLUMNS_H_

#include <cstdint>

#include "runtime/device/raw/element.h"
#include "runtime/device/raw/kernels.h"

namespace amp::device {

struct NormOperands {
  const void *x, *scale, *g;
  Storage x_storage, scale_storage, g_storage;
};

// sums [parts, columns] of g, or where there is an x of g * (x - mean) * inverse_deviation, by row.
struct SumColumnsArguments {
  static constexpr Kernel kKernel = Kernel::kSumColumns;
  NormOperands of;  // x: may be null
  uint32_t rows, columns, parts, part_size;
  const float *mean, *inverse_deviation;  // null without x
  float* sums;
};

struct SumColumnsBody {
  SumColumnsArguments sum;

  AMP_BOTH void operator()(uint32_t i) const {
    const uint32_t column = i % sum.columns, first = i / sum.columns * sum.part_size;
    const uint32_t rest = sum.rows - first, end = first + (rest < sum.part_size ? rest : sum.part_size);
    float total = 0;
    for (uint32_t row = first; row < end; ++row) {
      const int64_t at = static_cast<int64_t>(row) * sum.columns + column;
      float g = LoadFloat(sum.of.g, sum.of.g_storage, at);
      if (sum.of.x != nullptr) {
        g *= (LoadFloat(sum.of.x, sum.of.x_storage, at) - sum.mean[row]) * sum.inverse_deviation[row];
      }
      total += g;
    }
    sum.sums[i] = total;
  }
};

template <typename Runner>
int Start(Runner& runner, const SumColumnsArguments& sum) {
  return runner.ForEach(sum.parts * sum.columns, SumColumnsBody{sum});
}

// y[column] = scale * the sum over the parts.
struct JoinColumnsArguments {
  static constexpr Kernel kKernel = Kernel::kJoinColumns;
  const float* sums;  // [parts, columns]
  void* y;
  Storage y_storage;
  uint32_t columns, parts;
  float scale;
};

struct JoinColumnsBody {
  JoinColumnsArguments join;

  AMP_BOTH void operator()(uint32_t column) const {
    float total = 0;
    for (uint32_t part = 0; part < join.parts; ++part) {
      total += join.sums[static_cast<int64_t>(part) * join.columns + column];
    }
    StoreFloat(join.y, join.y_storage, column, total * join.scale);
  }
};

template <typename Runner>
int Start(Runner& runner, const JoinColumnsArguments& join) {
  return runner.ForEach(join.columns, JoinColumnsBody{join});
}

}  // namespace amp::device

#endif  // AMP_RUNTIME_DEVICE_RAW_COLUMNS_H_
