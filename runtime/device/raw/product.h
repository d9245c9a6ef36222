// Products of matrices, which a library computes on a device; without one: multiply.h.
#ifndef AMP_RUNTIME_DEVICE_RAW_PRODUCT_H_
#define AMP_RUNTIME_DEVICE_RAW_PRODUCT_H_

#include <cstddef>
#include <cstdint>

#include "runtime/device/raw/element.h"

namespace amp::device {

enum class ProductActivation : int32_t { kNone, kRelu, kGeluTanh };

// y [m, n] = activation(alpha * a [m, k] b [k, n] + addend [m, n] + bias [n]), row by row, for each of `batch` products;
// accumulated in float32.
struct ProductArguments {
  const void *a, *b;
  const void* bias;              // null: none
  const void* addend = nullptr;  // the same
  void* y;
  Storage storage;    // of a, b and the bias
  Storage y_storage;  // of y and the addend: that, or float32
  int64_t m, n, k;
  int64_t batch, a_step,
      b_step;  // elements from one product to the next, 0: the same matrix; of y and the addend: m * n
  bool transposes_a, transposes_b;
  ProductActivation activation;
  bool allows_tf32;  // to multiply float32 in TF32
  float alpha;
};

// What a product did not do, and why; or the library's name for what it did.
inline constexpr size_t kMaxProductText = 160;
inline constexpr int kNoProduct = -2;  // the library does not do it; `text` says why; nothing has happened
inline constexpr int kNoLibrary = -3;  // there is none that can be used; the same

}  // namespace amp::device

#endif  // AMP_RUNTIME_DEVICE_RAW_PRODUCT_H_
