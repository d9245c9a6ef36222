// Sums down the columns of [rows, columns]. The rows are cut into parts. A thread sums one column of a part, or a pack
// of columns, so that neighbouring threads read neighbouring elements. A second kernel adds up the parts.
#ifndef AMP_RUNTIME_DEVICE_RAW_COLUMNS_H_
#define AMP_RUNTIME_DEVICE_RAW_COLUMNS_H_

#include <cstdint>

#include "runtime/device/raw/element.h"
#include "runtime/device/raw/kernels.h"
#include "runtime/device/raw/pack.h"

namespace amp::device {

struct NormOperands {
  const void *x, *scale, *g;
  Storage x_storage, scale_storage, g_storage;
};

// Computes sums [parts, columns] of g, or, with an x, of g * (x - mean) * inverse_deviation with statistics by row.
struct SumColumnsArguments {
  static constexpr Kernel kKernel = Kernel::kSumColumns;
  NormOperands of;  // of.x: null for sums of g
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

// Sums packs of columns of g, without x. REQUIRES: rows of g begin at addresses where packs may be read.
template <typename T>
struct SumColumnPacksBody {
  SumColumnsArguments sum;

  AMP_BOTH void operator()(uint32_t i) const {
    const uint32_t packs = sum.columns / kPack, pack = i % packs, part = i / packs, first = part * sum.part_size;
    const uint32_t rest = sum.rows - first, end = first + (rest < sum.part_size ? rest : sum.part_size);
    float total[kPack] = {};
    const Pack<T>* const g = static_cast<const Pack<T>*>(sum.of.g) + pack;
    for (uint32_t row = first; row < end; ++row) {
      const Pack<T> of_row = g[static_cast<int64_t>(row) * packs];
      for (uint32_t lane = 0; lane < kPack; ++lane) total[lane] += Widen(of_row.elements[lane]);
    }
    float* const sums = sum.sums + static_cast<int64_t>(part) * sum.columns + pack * kPack;
    for (uint32_t lane = 0; lane < kPack; ++lane) sums[lane] = total[lane];
  }
};

template <typename Runner>
int Start(Runner& runner, const SumColumnsArguments& sum) {
  if (sum.of.x == nullptr && sum.columns % kPack == 0 && TakesPacks(sum.of.g)) {
    return VisitFloat(sum.of.g_storage, kBadArguments, [&]<typename T>(Tag<T>) {
      return runner.ForEach(sum.parts * (sum.columns / kPack), SumColumnPacksBody<T>{sum});
    });
  }
  return runner.ForEach(sum.parts * sum.columns, SumColumnsBody{sum});
}

// Computes y[column] = scale * the sum over the parts.
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
