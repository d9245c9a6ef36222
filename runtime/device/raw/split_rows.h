// Long rows in parts, if there are fewer rows than the device can work on at once. In a first kernel, a team of threads
// computes each part; a second kernel combines the results.
//
// The order of combining depends only on the number of parts, so that equal numbers give equal bits every time.
#ifndef AMP_RUNTIME_DEVICE_RAW_SPLIT_ROWS_H_
#define AMP_RUNTIME_DEVICE_RAW_SPLIT_ROWS_H_

#include <cmath>
#include <cstdint>

#include "runtime/device/raw/element.h"
#include "runtime/device/raw/functions.h"
#include "runtime/device/raw/kernels.h"
#include "runtime/device/raw/rows.h"

namespace amp::device {

// All parts of a row have `size` elements, except the last one, which may be smaller.
struct RowParts {
  uint32_t count, size;

  AMP_BOTH uint32_t RowOf(uint32_t i) const { return i / count; }
  AMP_BOTH uint32_t FirstOf(uint32_t i) const { return i % count * size; }
  // Returns the length of part i in rows of `length`.
  AMP_BOTH uint32_t LengthOf(uint32_t i, uint32_t length) const {
    const uint32_t left = length - FirstOf(i);
    return left < size ? left : size;
  }
};

// ---- reductions -----------------------------------------------------------------------------------------------------

// Computes results[result, part] = reduction of the part, unscaled. ReduceArguments then combine the parts.
struct ReducePartsArguments {
  static constexpr Kernel kKernel = Kernel::kReduceParts;
  ReduceArguments reduce;
  RowParts parts;
  float* results;
};

template <typename T>
struct ReducePartsBody {
  ReducePartsArguments of;
  template <typename Team>
  AMP_BOTH void operator()(uint32_t i, Team& team) const {
    const ReduceBody<T> body = {of.reduce};
    int64_t first[1];
    of.reduce.kept.PlacesOf(of.parts.RowOf(i), first);
    const float result = body.Result(first[0], of.parts.FirstOf(i), of.parts.LengthOf(i, of.reduce.count), team);
    if (team.IsFirst()) of.results[i] = result;
  }
};

template <typename Runner>
int Start(Runner& runner, const ReducePartsArguments& of) {
  return VisitFloat(of.reduce.storage, kBadArguments, [&]<typename T>(Tag<T>) {
    return runner.ForRows(of.reduce.results * of.parts.count, ReducePartsBody<T>{of}, of.parts.size);
  });
}

// ---- softmax --------------------------------------------------------------------------------------------------------

// Finds for each [row, part]: the largest element, and the sum of exp(x - largest) over the part.
struct SoftmaxPartsArguments {
  static constexpr Kernel kKernel = Kernel::kSoftmaxParts;
  SoftmaxArguments softmax;
  RowParts parts;
  float* found;
};

template <typename T>
struct SoftmaxPartsBody {
  SoftmaxPartsArguments of;
  template <typename Team>
  AMP_BOTH void operator()(uint32_t i, Team& team) const {
    const int64_t inner = of.softmax.inner;
    const T* const x =
        static_cast<const T*>(of.softmax.x) + of.softmax.FirstOf(of.parts.RowOf(i)) + of.parts.FirstOf(i) * inner;
    const uint32_t length = of.parts.LengthOf(i, of.softmax.size);
    const float largest = team.Max(length, [=](uint32_t at) { return Widen(x[at * inner]); });
    // A part whose elements are all -inf adds nothing to the others.
    const float centre = largest == -kInfinity ? 0 : largest;
    const float sum = team.Sum(length, [=](uint32_t at) { return expf(Widen(x[at * inner]) - centre); });
    if (!team.IsFirst()) return;
    of.found[2 * static_cast<int64_t>(i)] = largest;
    of.found[2 * static_cast<int64_t>(i) + 1] = sum;
  }
};

template <typename Runner>
int Start(Runner& runner, const SoftmaxPartsArguments& of) {
  return VisitFloat(of.softmax.storage, kBadArguments, [&]<typename T>(Tag<T>) {
    return runner.ForRows(of.softmax.rows * of.parts.count, SoftmaxPartsBody<T>{of}, of.parts.size);
  });
}

// Computes y from what was found. Each part has a team, which combines the results of all parts of its row.
struct SoftmaxOfPartsArguments {
  static constexpr Kernel kKernel = Kernel::kSoftmaxOfParts;
  SoftmaxPartsArguments of;
};

template <typename T>
struct SoftmaxOfPartsBody {
  SoftmaxPartsArguments of;
  template <typename Team>
  AMP_BOTH void operator()(uint32_t i, Team& team) const {
    const int64_t inner = of.softmax.inner, row = of.parts.RowOf(i);
    const float* const found = of.found + 2 * row * of.parts.count;
    const float largest = team.Max(of.parts.count, [=](uint32_t part) { return found[2 * part]; });
    const float sum =
        team.Sum(of.parts.count, [=](uint32_t part) { return found[2 * part + 1] * expf(found[2 * part] - largest); });
    const int64_t first = of.softmax.FirstOf(static_cast<uint32_t>(row)) + of.parts.FirstOf(i) * inner;
    const T* const x = static_cast<const T*>(of.softmax.x) + first;
    T* const y = static_cast<T*>(of.softmax.y) + first;
    const SoftmaxResult result = {.largest = largest, .sum = sum, .is_log = of.softmax.is_log};
    team.ForEach(of.parts.LengthOf(i, of.softmax.size),
                 [=](uint32_t at) { y[at * inner] = Narrow<T>(result.Of(Widen(x[at * inner]))); });
  }
};

template <typename Runner>
int Start(Runner& runner, const SoftmaxOfPartsArguments& softmax) {
  const SoftmaxPartsArguments& of = softmax.of;
  return VisitFloat(of.softmax.storage, kBadArguments, [&]<typename T>(Tag<T>) {
    return runner.ForRows(of.softmax.rows * of.parts.count, SoftmaxOfPartsBody<T>{of}, of.parts.size);
  });
}

// ---- norms ----------------------------------------------------------------------------------------------------------

// Finds for each [row, part]: the mean, and the sum of squared deviations from it. Uncentred norms take the mean as
// zero.
struct NormalizePartsArguments {
  static constexpr Kernel kKernel = Kernel::kNormalizeParts;
  NormalizeArguments norm;
  RowParts parts;
  float* found;
};

struct NormalizePartsBody {
  NormalizePartsArguments of;
  template <typename Team>
  AMP_BOTH void operator()(uint32_t i, Team& team) const {
    const NormalizeBody body = {of.norm};
    const RowMoments moments =
        body.MomentsOf(of.parts.RowOf(i), of.parts.FirstOf(i), of.parts.LengthOf(i, of.norm.size), team);
    if (!team.IsFirst()) return;
    of.found[2 * static_cast<int64_t>(i)] = moments.mean;
    of.found[2 * static_cast<int64_t>(i) + 1] = moments.squares;
  }
};

template <typename Runner>
int Start(Runner& runner, const NormalizePartsArguments& of) {
  return runner.ForRows(of.norm.rows * of.parts.count, NormalizePartsBody{of}, of.parts.size);
}

// Computes y from what was found, as for softmax. Source of combining moments: Chan, Golub and LeVeque (1979).
struct NormalizeOfPartsArguments {
  static constexpr Kernel kKernel = Kernel::kNormalizeOfParts;
  NormalizePartsArguments of;
};

struct NormalizeOfPartsBody {
  NormalizePartsArguments of;
  template <typename Team>
  AMP_BOTH void operator()(uint32_t i, Team& team) const {
    const uint32_t row = of.parts.RowOf(i), size = of.norm.size;
    const RowParts parts = of.parts;
    const float* const found = of.found + 2 * static_cast<int64_t>(row) * parts.count;
    const auto length = [=](uint32_t part) { return static_cast<float>(parts.LengthOf(part, size)); };
    RowMoments moments = {};
    moments.mean =
        team.Sum(parts.count, [=](uint32_t part) { return found[2 * part] * length(part); }) / static_cast<float>(size);
    moments.squares = team.Sum(parts.count, [=](uint32_t part) {
      const float apart = found[2 * part] - moments.mean;
      return found[2 * part + 1] + length(part) * apart * apart;
    });
    const NormalizeBody body = {of.norm};
    body.Finish(row, parts.FirstOf(i), parts.LengthOf(i, size), moments, i % parts.count == 0, team);
  }
};

template <typename Runner>
int Start(Runner& runner, const NormalizeOfPartsArguments& normalize) {
  const NormalizePartsArguments& of = normalize.of;
  return runner.ForRows(of.norm.rows * of.parts.count, NormalizeOfPartsBody{of}, of.parts.size);
}

}  // namespace amp::device

#endif  // AMP_RUNTIME_DEVICE_RAW_SPLIT_ROWS_H_
