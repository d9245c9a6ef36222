// Kernels in which a team of threads shares a row: reductions, softmax, norms. Also pools, with one thread per window.
//
// A team computes sums and extremes of a function over [0, count):
//   team.Sum(count, of)   team.Max(count, of)   team.MaxKey(count, of)   team.ForEach(count, of)
// All threads of a team get the result. Keys are uint64_t, 0 if there is none. Sums are float32: each thread sums its
// own elements first, then the team adds these sums.
#ifndef AMP_RUNTIME_DEVICE_RAW_ROWS_H_
#define AMP_RUNTIME_DEVICE_RAW_ROWS_H_

#include <cmath>
#include <cstdint>

#include "runtime/device/raw/element.h"
#include "runtime/device/raw/functions.h"
#include "runtime/device/raw/kernels.h"
#include "runtime/device/raw/pack.h"
#include "runtime/device/raw/shape.h"

namespace amp::device {

inline constexpr float kInfinity = __builtin_huge_valf();

// ---- reductions -----------------------------------------------------------------------------------------------------

enum class Reduction : int32_t { kSum, kSumOfMagnitudes, kSumOfSquares, kNorm, kLogOfSum, kLogOfPowers, kMax, kMin };

// Computes y[kept] = reduction of x[kept, reduced] over `reduced`, times `scale`.
struct ReduceArguments {
  static constexpr Kernel kKernel = Kernel::kReduce;
  const void* x;
  void* y;
  Storage storage, stored_as;  // of x, of y
  Reduction reduction;
  float scale;
  uint32_t results, count;  // number of elements of y, and of x's elements for each of them
  StridedShape<1> kept, reduced;
};

template <typename T>
struct ReduceBody {
  ReduceArguments reduce;

  AMP_BOTH float At(int64_t first, uint32_t i) const {
    int64_t places[1];
    reduce.reduced.PlacesOf(i, places);
    return Widen(static_cast<const T*>(reduce.x)[first + places[0]]);
  }

  // Returns the unscaled reduction of `count` elements from element `begin` on.
  template <typename Team>
  AMP_BOTH float Result(int64_t first, uint32_t begin, uint32_t count, Team& team) const {
    switch (reduce.reduction) {
      case Reduction::kSum:
      case Reduction::kLogOfSum: {
        const float sum = team.Sum(count, [=, this](uint32_t i) { return At(first, begin + i); });
        return reduce.reduction == Reduction::kSum ? sum : logf(sum);
      }
      case Reduction::kSumOfMagnitudes:
        return team.Sum(count, [=, this](uint32_t i) { return fabsf(At(first, begin + i)); });
      case Reduction::kSumOfSquares:
      case Reduction::kNorm: {
        const float sum =
            team.Sum(count, [=, this](uint32_t i) { return At(first, begin + i) * At(first, begin + i); });
        return reduce.reduction == Reduction::kNorm ? sqrtf(sum) : sum;
      }
      case Reduction::kLogOfPowers: {
        const float largest = team.Max(count, [=, this](uint32_t i) { return At(first, begin + i); });
        const float centre = fabsf(largest) == kInfinity ? 0 : largest;
        return centre + logf(team.Sum(count, [=, this](uint32_t i) { return expf(At(first, begin + i) - centre); }));
      }
      case Reduction::kMax:
        return team.Max(count, [=, this](uint32_t i) { return At(first, begin + i); });
      case Reduction::kMin:
        return -team.Max(count, [=, this](uint32_t i) { return -At(first, begin + i); });
    }
    return 0;
  }

  template <typename Team>
  AMP_BOTH void operator()(uint32_t row, Team& team) const {
    int64_t first[1];
    reduce.kept.PlacesOf(row, first);
    const float result = Result(first[0], 0, reduce.count, team) * reduce.scale;
    if (team.IsFirst()) StoreFloat(reduce.y, reduce.stored_as, row, result);
  }
};

// A team of a single thread.
struct LoneThread {
  AMP_BOTH bool IsFirst() const { return true; }
  template <typename Of>
  AMP_BOTH float Sum(uint32_t count, Of of) const {
    float sum = 0;
    for (uint32_t i = 0; i < count; ++i) sum += of(i);
    return sum;
  }
  template <typename Of>
  AMP_BOTH float Max(uint32_t count, Of of) const {
    float largest = -kInfinity;
    for (uint32_t i = 0; i < count; ++i) largest = LargerOf(of(i), largest);
    return largest;
  }
};

template <typename T>
struct ReduceAloneBody {
  ReduceBody<T> body;
  AMP_BOTH void operator()(uint32_t i) const {
    LoneThread thread;
    body(i, thread);
  }
};

// Whether one thread per result is faster. It is for many adjacent results over few elements each, such as the mean of
// each channel of channels-last pixels.
inline bool IsForLoneThreads(const ReduceArguments& reduce) {
  constexpr uint32_t kFewElements = 256, kManyResults = 16384;
  const auto lies_close = [](const StridedShape<1>& shape) {
    return shape.rank > 0 && shape.strides[0][shape.rank - 1] == 1;
  };
  return reduce.count <= kFewElements && reduce.results >= kManyResults && lies_close(reduce.kept) &&
         !lies_close(reduce.reduced);
}

template <typename Runner>
int Start(Runner& runner, const ReduceArguments& reduce) {
  return VisitFloat(reduce.storage, kBadArguments, [&]<typename T>(Tag<T>) {
    const ReduceBody<T> body = {reduce};
    if (IsForLoneThreads(reduce)) return runner.ForEach(reduce.results, ReduceAloneBody<T>{body});
    return runner.ForRows(reduce.results, body, reduce.count);
  });
}

// ---- softmax --------------------------------------------------------------------------------------------------------

// Softmax along an axis with `size` elements that lie `inner` elements apart.
struct SoftmaxArguments {
  static constexpr Kernel kKernel = Kernel::kSoftmax;
  const void* x;
  void* y;
  Storage storage;
  uint32_t rows, size, inner;
  bool is_log;

  AMP_BOTH int64_t FirstOf(uint32_t row) const {
    return static_cast<int64_t>(row / inner) * size * inner + row % inner;
  }
};

// Softmax of an element, given its row's largest element and the sum of exp(x - largest).
struct SoftmaxResult {
  float largest, sum;
  bool is_log;

  AMP_BOTH float Of(float x) const { return is_log ? x - largest - logf(sum) : expf(x - largest) / sum; }
};

template <typename T>
struct SoftmaxBody {
  SoftmaxArguments softmax;
  template <typename Team>
  AMP_BOTH void operator()(uint32_t row, Team& team) const {
    const int64_t inner = softmax.inner;
    const int64_t first = softmax.FirstOf(row);
    const T* const x = static_cast<const T*>(softmax.x) + first;
    T* const y = static_cast<T*>(softmax.y) + first;
    const float largest = team.Max(softmax.size, [=](uint32_t i) { return Widen(x[i * inner]); });
    const float sum = team.Sum(softmax.size, [=](uint32_t i) { return expf(Widen(x[i * inner]) - largest); });
    if (softmax.is_log) {
      const float shift = logf(sum);
      team.ForEach(softmax.size, [=](uint32_t i) { y[i * inner] = Narrow<T>(Widen(x[i * inner]) - largest - shift); });
    } else {
      team.ForEach(softmax.size,
                   [=](uint32_t i) { y[i * inner] = Narrow<T>(expf(Widen(x[i * inner]) - largest) / sum); });
    }
  }
};

template <typename Runner>
int Start(Runner& runner, const SoftmaxArguments& softmax) {
  return VisitFloat(softmax.storage, kBadArguments, [&]<typename T>(Tag<T>) {
    return runner.ForRows(softmax.rows, SoftmaxBody<T>{softmax}, softmax.size);
  });
}

// ---- norms ----------------------------------------------------------------------------------------------------------

// Computes y = (x - mean) / deviation * scale + bias, with statistics of rows of `size` elements. Element i of a row
// uses element row % row_period * operands_per_row + i / operand_run of scale and bias.
struct NormalizeArguments {
  static constexpr Kernel kKernel = Kernel::kNormalize;
  const void *x, *scale, *bias;  // scale null: 1; bias null: 0
  void* y;
  float *mean, *inverse_deviation;  // by row; null: nobody reads them
  Storage x_storage, scale_storage, bias_storage, y_storage;
  uint32_t rows, size, row_period, operands_per_row, operand_run;
  bool is_centred;  // false: the mean is taken as zero
  float epsilon;
};

// Moments of some elements of a row.
struct RowMoments {
  float mean, squares;  // squares: sum of squared deviations from the mean
};

struct NormalizeBody {
  NormalizeArguments norm;

  AMP_BOTH float At(uint32_t row, uint32_t i) const {
    return LoadFloat(norm.x, norm.x_storage, static_cast<int64_t>(row) * norm.size + i);
  }

  // Returns the moments of `count` elements from element `begin` on.
  template <typename Team>
  AMP_BOTH RowMoments MomentsOf(uint32_t row, uint32_t begin, uint32_t count, Team& team) const {
    const float mean = norm.is_centred ? team.Sum(count, [=, this](uint32_t i) { return At(row, begin + i); }) /
                                             static_cast<float>(count)
                                       : 0;
    const float squares = team.Sum(count, [=, this](uint32_t i) {
      const float deviation = At(row, begin + i) - mean;
      return deviation * deviation;
    });
    return {mean, squares};
  }

  // Normalises `count` elements from element `begin` on, by the moments of the row.
  template <typename Team>
  AMP_BOTH void Finish(uint32_t row, uint32_t begin, uint32_t count, RowMoments moments, bool gives_statistics,
                       Team& team) const {
    const float mean = moments.mean;
    const float factor = 1 / sqrtf(moments.squares / static_cast<float>(norm.size) + norm.epsilon);
    if (gives_statistics && team.IsFirst()) {
      if (norm.mean != nullptr) norm.mean[row] = mean;
      if (norm.inverse_deviation != nullptr) norm.inverse_deviation[row] = factor;
    }
    const uint32_t operands = row % norm.row_period * norm.operands_per_row;
    team.ForEach(count, [=, this](uint32_t at) {
      const uint32_t i = begin + at, operand = operands + i / norm.operand_run;
      float y = (At(row, i) - mean) * factor;
      if (norm.scale != nullptr) y *= LoadFloat(norm.scale, norm.scale_storage, operand);
      if (norm.bias != nullptr) y += LoadFloat(norm.bias, norm.bias_storage, operand);
      StoreFloat(norm.y, norm.y_storage, static_cast<int64_t>(row) * norm.size + i, y);
    });
  }

  template <typename Team>
  AMP_BOTH void operator()(uint32_t row, Team& team) const {
    Finish(row, 0, norm.size, MomentsOf(row, 0, norm.size, team), /*gives_statistics=*/true, team);
  }
};

// Normalises rows made of whole packs, in which each element has its own scale and bias, or none.
template <typename T>
struct NormalizePacksBody {
  NormalizeArguments norm;

  AMP_BOTH void Load(uint32_t row, uint32_t pack, float (&x)[kPack]) const {
    const uint32_t packs = norm.size / kPack;
    const Pack<T> of = static_cast<const Pack<T>*>(norm.x)[static_cast<int64_t>(row) * packs + pack];
    ForEachLane([&](uint32_t lane) { x[lane] = Widen(of.elements[lane]); });
  }

  template <typename Team>
  AMP_BOTH void operator()(uint32_t row, Team& team) const {
    const uint32_t packs = norm.size / kPack;
    const float mean = norm.is_centred
                           ? team.Sum(packs,
                                      [=, this](uint32_t pack) {
                                        float x[kPack];
                                        Load(row, pack, x);
                                        return ((x[0] + x[1]) + (x[2] + x[3])) + ((x[4] + x[5]) + (x[6] + x[7]));
                                      }) /
                                 static_cast<float>(norm.size)
                           : 0;
    const float squares = team.Sum(packs, [=, this](uint32_t pack) {
      float x[kPack], sum = 0;
      Load(row, pack, x);
      for (const float each : x) sum += (each - mean) * (each - mean);
      return sum;
    });
    const float factor = 1 / sqrtf(squares / static_cast<float>(norm.size) + norm.epsilon);
    if (team.IsFirst()) {
      if (norm.mean != nullptr) norm.mean[row] = mean;
      if (norm.inverse_deviation != nullptr) norm.inverse_deviation[row] = factor;
    }
    const uint32_t operands = row % norm.row_period * norm.operands_per_row;
    team.ForEach(packs, [=, this](uint32_t pack) {
      const Lanes of_operands = {operands + pack * kPack, operands + norm.size};
      float x[kPack], operand[kPack];
      Load(row, pack, x);
      ForEachLane([&](uint32_t lane) { x[lane] = (x[lane] - mean) * factor; });
      if (norm.scale != nullptr) {
        LoadFloatPack(norm.scale, norm.scale_storage, of_operands, operand);
        ForEachLane([&](uint32_t lane) { x[lane] *= operand[lane]; });
      }
      if (norm.bias != nullptr) {
        LoadFloatPack(norm.bias, norm.bias_storage, of_operands, operand);
        ForEachLane([&](uint32_t lane) { x[lane] += operand[lane]; });
      }
      StorePack(norm.y, norm.y_storage, {(row * packs + pack) * kPack, norm.rows * norm.size}, /*in_one_go=*/true, x);
    });
  }
};

// Whether rows, scale and bias consist of whole packs.
inline bool TakesPacks(const NormalizeArguments& norm) {
  const auto fits = [&](const void* operand) {
    return operand == nullptr || (TakesPacks(operand) && norm.operand_run == 1 && norm.operands_per_row % kPack == 0);
  };
  return norm.size % kPack == 0 && TakesPacks(norm.x) && TakesPacks(norm.y) && fits(norm.scale) && fits(norm.bias);
}

template <typename Runner>
int Start(Runner& runner, const NormalizeArguments& norm) {
  if (!TakesPacks(norm)) return runner.ForRows(norm.rows, NormalizeBody{norm}, norm.size);
  return VisitFloat(norm.x_storage, kBadArguments, [&]<typename T>(Tag<T>) {
    return runner.ForRows(norm.rows, NormalizePacksBody<T>{norm}, norm.size / kPack);
  });
}

// Normalises [N, C, pixels] by given statistics of each channel.
struct NormalizeChannelsArguments {
  static constexpr Kernel kKernel = Kernel::kNormalizeChannels;
  const void *x, *scale, *bias, *mean, *variance;
  void* y;
  Storage storage, scale_storage, bias_storage, mean_storage, variance_storage;  // storage: of x and y
  uint32_t count, channels, pixels;
  float epsilon;
};

struct NormalizeChannelsBody {
  NormalizeChannelsArguments norm;
  AMP_BOTH void operator()(uint32_t i) const {
    const uint32_t channel = i / norm.pixels % norm.channels;
    const float deviation = sqrtf(LoadFloat(norm.variance, norm.variance_storage, channel) + norm.epsilon);
    const float factor = LoadFloat(norm.scale, norm.scale_storage, channel) / deviation;
    const float x = LoadFloat(norm.x, norm.storage, i) - LoadFloat(norm.mean, norm.mean_storage, channel);
    StoreFloat(norm.y, norm.storage, i, x * factor + LoadFloat(norm.bias, norm.bias_storage, channel));
  }
};

template <typename Runner>
int Start(Runner& runner, const NormalizeChannelsArguments& norm) {
  return runner.ForEach(norm.count, NormalizeChannelsBody{norm});
}

// ---- pools ----------------------------------------------------------------------------------------------------------

inline constexpr int kMaxPoolAxes = 3;

struct PoolAxis {
  int32_t input, output, kernel, stride, dilation, pad_begin, pad_end;
};

// Pools planes [rows, columns, ...]; missing axes come first, with length 1.
struct PoolArguments {
  static constexpr Kernel kKernel = Kernel::kPool;
  const void* x;
  void* y;
  Storage storage;
  uint32_t count;  // of y
  bool is_max, counts_padding;
  bool counts_by_columns;  // indices count as if the first axis of a plane were its last one
  int64_t* indices;        // indices in x of the largest elements; null: nobody reads them
  uint32_t channels;       // above 1: channels interleaved as the last axis; 1: row-major, plane after plane
  PoolAxis axes[kMaxPoolAxes];
};

// The taps of one window position along an axis.
struct PoolTaps {
  int32_t start;  // position of tap 0, which may be in the padding
  int32_t first, end;
  int32_t padded_count;  // taps within the input or its padding
};
AMP_BOTH inline PoolTaps TapsOf(const PoolAxis& axis, int32_t position) {
  PoolTaps taps = {position * axis.stride - axis.pad_begin, 0, axis.kernel, 0};
  if (taps.start < 0) taps.first = (-taps.start + axis.dilation - 1) / axis.dilation;
  const int32_t room = axis.input - 1 - taps.start, padded_room = room + axis.pad_end;
  const int32_t within = room < 0 ? 0 : room / axis.dilation + 1;
  if (within < taps.end) taps.end = within;
  const int32_t padded = padded_room < 0 ? 0 : padded_room / axis.dilation + 1;
  taps.padded_count = padded < axis.kernel ? padded : axis.kernel;
  return taps;
}

template <typename T>
struct PoolBody {
  PoolArguments pool;

  AMP_BOTH int64_t IndexOf(int64_t plane, int64_t place) const {
    if (!pool.counts_by_columns) return plane + place;
    const int64_t columns = pool.axes[2].input, rows = pool.axes[1].input, slices = pool.axes[0].input;
    return plane + (place % columns * rows + place / columns % rows) * slices + place / columns / rows;
  }

  AMP_BOTH void operator()(uint32_t i) const {
    const PoolAxis &depth = pool.axes[0], &height = pool.axes[1], &width = pool.axes[2];
    uint32_t rest = i / pool.channels;
    const auto along = [&rest](int32_t output) {
      const auto index = static_cast<int32_t>(rest % static_cast<uint32_t>(output));
      rest /= static_cast<uint32_t>(output);
      return index;
    };
    const PoolTaps columns = TapsOf(width, along(width.output));
    const PoolTaps rows = TapsOf(height, along(height.output));
    const PoolTaps slices = TapsOf(depth, along(depth.output));
    const int64_t plane = static_cast<int64_t>(rest) * depth.input * height.input * width.input;
    const int64_t channels = pool.channels, channel = i % pool.channels;
    float result = pool.is_max ? -kInfinity : 0;
    int32_t count = 0;
    int64_t largest = -1;
    for (int32_t d = slices.first; d < slices.end; ++d) {
      for (int32_t r = rows.first; r < rows.end; ++r) {
        for (int32_t c = columns.first; c < columns.end; ++c, ++count) {
          const int64_t slice = slices.start + d * depth.dilation, row = rows.start + r * height.dilation;
          const int64_t at = (slice * height.input + row) * width.input + columns.start + c * width.dilation;
          const float x = Widen(static_cast<const T*>(pool.x)[(plane + at) * channels + channel]);
          if (largest < 0 || x > result || x != x) largest = at;
          result = pool.is_max ? LargerOf(x, result) : result + x;
        }
      }
    }
    if (pool.indices != nullptr) pool.indices[i] = largest < 0 ? plane : IndexOf(plane, largest);
    if (pool.counts_padding) count = slices.padded_count * rows.padded_count * columns.padded_count;
    static_cast<T*>(pool.y)[i] = Narrow<T>(pool.is_max ? result : result / static_cast<float>(count));
  }
};

// Pools a pack of interleaved channels; the window's position is computed once for all of them.
template <typename T>
struct PoolPacksBody {
  PoolArguments pool;

  AMP_BOTH void operator()(uint32_t i) const {
    const PoolAxis &depth = pool.axes[0], &height = pool.axes[1], &width = pool.axes[2];
    const uint32_t packs = pool.channels / kPack;
    uint32_t rest = i / packs;
    const auto along = [&rest](int32_t output) {
      const auto index = static_cast<int32_t>(rest % static_cast<uint32_t>(output));
      rest /= static_cast<uint32_t>(output);
      return index;
    };
    const PoolTaps columns = TapsOf(width, along(width.output));
    const PoolTaps rows = TapsOf(height, along(height.output));
    const PoolTaps slices = TapsOf(depth, along(depth.output));
    const Pack<T>* const x = static_cast<const Pack<T>*>(pool.x) + i % packs +
                             static_cast<int64_t>(rest) * depth.input * height.input * width.input * packs;
    float result[kPack];
    for (float& each : result) each = pool.is_max ? -kInfinity : 0;
    int32_t count = 0;
    for (int32_t d = slices.first; d < slices.end; ++d) {
      for (int32_t r = rows.first; r < rows.end; ++r) {
        const int64_t slice = slices.start + d * depth.dilation, row = rows.start + r * height.dilation;
        const Pack<T>* const of_row = x + ((slice * height.input + row) * width.input + columns.start) * packs;
        for (int32_t c = columns.first; c < columns.end; ++c, ++count) {
          const Pack<T> tap = of_row[static_cast<int64_t>(c) * width.dilation * packs];
          ForEachLane([&](uint32_t lane) {
            const float each = Widen(tap.elements[lane]);
            result[lane] = pool.is_max ? LargerOf(each, result[lane]) : result[lane] + each;
          });
        }
      }
    }
    if (pool.counts_padding) count = slices.padded_count * rows.padded_count * columns.padded_count;
    Pack<T> y;
    ForEachLane([&](uint32_t lane) {
      y.elements[lane] = Narrow<T>(pool.is_max ? result[lane] : result[lane] / static_cast<float>(count));
    });
    static_cast<Pack<T>*>(pool.y)[i] = y;
  }
};

template <typename Runner>
int Start(Runner& runner, const PoolArguments& pool) {
  const bool has_packs =
      pool.channels % kPack == 0 && pool.indices == nullptr && TakesPacks(pool.x) && TakesPacks(pool.y);
  return VisitFloat(pool.storage, kBadArguments, [&]<typename T>(Tag<T>) {
    if (has_packs) return runner.ForEach(pool.count / kPack, PoolPacksBody<T>{pool});
    return runner.ForEach(pool.count, PoolBody<T>{pool});
  });
}

}  // namespace amp::device

#endif  // AMP_RUNTIME_DEVICE_RAW_ROWS_H_
