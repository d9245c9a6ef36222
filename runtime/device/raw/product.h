// Matrix products that a library computes on a device; without a library see multiply.h.
#ifndef AMP_RUNTIME_DEVICE_RAW_PRODUCT_H_
#define AMP_RUNTIME_DEVICE_RAW_PRODUCT_H_

#include <cstddef>
#include <cstdint>

#include "runtime/device/raw/element.h"

namespace amp::device {

enum class ProductActivation : int32_t { kNone, kRelu, kGeluTanh };

// Computes y [m, n] = activation(alpha * a [m, k] b [k, n] + addend [m, n] + bias [n]), row-major, for each of `batch`
// products; accumulated in float32.
struct ProductArguments {
  const void *a, *b;
  const void* bias;              // null: none
  const void* addend = nullptr;  // null: none
  void* y;
  Storage storage;    // of a, b and the bias
  Storage y_storage;  // of y and the addend: `storage`, or float32
  int64_t m, n, k;
  int64_t batch, a_step,
      b_step;  // elements between successive matrices, 0: one matrix for all; for y and the addend: m * n
  bool transposes_a, transposes_b;
  ProductActivation activation;
  bool allows_tf32;  // may multiply float32 in TF32
  float alpha;
};

// Size of the text: why a product was not computed, or the library's name for how it was.
inline constexpr size_t kMaxProductText = 160;
inline constexpr int kNoProduct = -2;  // the library cannot compute it; `text` says why; nothing has happened
inline constexpr int kNoLibrary = -3;  // no library can be used; `text` says why

}  // namespace amp::device

#endif  // AMP_RUNTIME_DEVICE_RAW_PRODUCT_H_
