// Matrix products in plain float32 arithmetic, for those for which the library has no algorithm.
//
// A thread computes a tile of 4 x 4 elements, so that each element that it reads serves four of its products. The
// columns of a tile are a quarter of all columns apart, so that neighbouring threads read neighbouring columns.
#ifndef AMP_RUNTIME_DEVICE_RAW_MULTIPLY_H_
#define AMP_RUNTIME_DEVICE_RAW_MULTIPLY_H_

#include <cstdint>

#include "runtime/device/raw/element.h"
#include "runtime/device/raw/functions.h"
#include "runtime/device/raw/kernels.h"
#include "runtime/device/raw/product.h"

namespace amp::device {

inline constexpr int kTileRows = 4, kTileColumns = 4;

// REQUIRES: the number of elements of the result fits uint32_t.
struct MultiplyArguments {
  static constexpr Kernel kKernel = Kernel::kMultiply;
  ProductArguments product;
};

template <typename T>
struct MultiplyBody {
  ProductArguments product;
  int64_t tiles_down, tiles_across;  // of one result matrix

  // Applies alpha, addend, bias and activation to a sum of products.
  AMP_BOTH float Finished(float sum, int64_t at, int64_t column) const {
    sum *= product.alpha;
    if (product.addend != nullptr) sum += LoadFloat(product.addend, product.y_storage, at);
    if (product.bias != nullptr) sum += Widen(static_cast<const T*>(product.bias)[column]);
    switch (product.activation) {
      case ProductActivation::kNone:
        return sum;
      case ProductActivation::kRelu:
        return sum < 0 ? 0 : sum;
      case ProductActivation::kGeluTanh:
        return GeluTanh(sum);
    }
    return sum;
  }

  AMP_BOTH void operator()(uint32_t i) const {
    const int64_t m = product.m, n = product.n, k = product.k;
    const int64_t column = i % tiles_across, row = i / tiles_across % tiles_down * kTileRows,
                  which = i / tiles_across / tiles_down;
    const int64_t a_step = product.transposes_a ? m : 1, b_step = product.transposes_b ? 1 : n;
    const T *a[kTileRows], *b[kTileColumns];  // beyond the end: the last row or column again
    for (int r = 0; r < kTileRows; ++r) {
      const int64_t at = row + r < m ? row + r : m - 1;
      a[r] = static_cast<const T*>(product.a) + which * product.a_step + at * (product.transposes_a ? 1 : k);
    }
    for (int c = 0; c < kTileColumns; ++c) {
      const int64_t apart = column + c * tiles_across, at = apart < n ? apart : n - 1;
      b[c] = static_cast<const T*>(product.b) + which * product.b_step + at * (product.transposes_b ? k : 1);
    }
    float sums[kTileRows][kTileColumns] = {};
    for (int64_t each = 0; each < k; ++each) {
      float of_b[kTileColumns];
      for (int c = 0; c < kTileColumns; ++c) of_b[c] = Widen(b[c][each * b_step]);
      for (int r = 0; r < kTileRows; ++r) {
        const float of_a = Widen(a[r][each * a_step]);
        for (int c = 0; c < kTileColumns; ++c) sums[r][c] += of_a * of_b[c];
      }
    }
    for (int r = 0; r < kTileRows && row + r < m; ++r) {
      for (int c = 0; c < kTileColumns && column + c * tiles_across < n; ++c) {
        const int64_t at_column = column + c * tiles_across, at = (which * m + row + r) * n + at_column;
        StoreFloat(product.y, product.y_storage, at, Finished(sums[r][c], at, at_column));
      }
    }
  }
};

template <typename Runner>
int Start(Runner& runner, const MultiplyArguments& multiply) {
  const ProductArguments& product = multiply.product;
  return VisitFloat(product.storage, kBadArguments, [&]<typename T>(Tag<T>) {
    const int64_t down = (product.m + kTileRows - 1) / kTileRows,
                  across = (product.n + kTileColumns - 1) / kTileColumns;
    return runner.ForEach(static_cast<uint32_t>(product.batch * down * across),
                          MultiplyBody<T>{.product = product, .tiles_down = down, .tiles_across = across});
  });
}

}  // namespace amp::device

#endif  // AMP_RUNTIME_DEVICE_RAW_MULTIPLY_H_
