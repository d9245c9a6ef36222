// Convolutions and attention that a library computes on a device, as plain values.
//
// If the library is missing, or cannot compute the operation, kNotTaken is returned and nothing has happened. The
// library's choice depends on all members except the pointers, so it is made once.
#ifndef AMP_RUNTIME_DEVICE_RAW_LIBRARY_OPERATIONS_H_
#define AMP_RUNTIME_DEVICE_RAW_LIBRARY_OPERATIONS_H_

#include <cstddef>
#include <cstdint>

#include "runtime/device/raw/element.h"
#include "runtime/device/raw/result_step.h"
#include "runtime/device/raw/rows.h"

namespace amp::device {

// Size of the text: why an operation was not taken, in one line, or the library's name for how it was computed.
inline constexpr size_t kMaxOperationText = 256;
inline constexpr int kNotTaken = -2;
inline constexpr int kWithoutTensorCores = -4;  // no error: 16 bits were computed without Tensor Cores

// Computes y = steps(convolution of x with w + bias). Row-major, or channels-last: then the channels of x, w, y and of
// operands with one number per element lie as if they were the last axis. See ConvolveArguments (convolution.h) for the
// axes. With gives_weights, computes the gradient of the weights instead: x as usual, w is g [batch, filters, axes...],
// y is [filters, channels / groups, kernel...].
struct LibraryConvolution {
  const void* x;     // [batch, channels, axes...]
  const void* w;     // [filters, channels / groups, kernel...]; transposed: [channels, filters / groups, kernel...]
  const void* bias;  // [filters]; null: none
  void* y;           // [batch, filters, axes...]
  Storage storage;   // of x, w, bias and the steps' operands
  Storage stored_as;
  bool is_transposed;
  bool channels_last = false;
  bool allows_tf32;  // may multiply float32 in TF32
  int64_t batch, channels, filters, groups;
  int32_t num_axes;  // the number of axes, which are the last ones of `axes`
  PoolAxis axes[kMaxPoolAxes];
  int32_t num_steps;
  ResultStep steps[kMaxResultSteps];
  bool gives_weights = false;
};

// Strides of [batch, heads, rows, columns], in elements.
struct HeadSteps {
  int64_t steps[4];
};

// y = softmax(scale q k' + mask) v
struct LibraryAttention {
  const void* q;     // [batch, heads, queries, size]
  const void* k;     // [batch, key_heads, keys, size]: heads / key_heads successive heads of q share each head
  const void* v;     // [batch, key_heads, keys, value_size]
  const void* mask;  // [batch, heads, queries, keys], dims of 1 are broadcast; null: none
  void* y;           // [batch, heads, queries, value_size]
  Storage storage;   // of all of them
  int64_t batch, heads, key_heads, queries, keys, size, value_size;
  HeadSteps q_steps, k_steps, v_steps, y_steps;
  int64_t mask_dims[4];  // row-major
  float scale;
};

}  // namespace amp::device

#endif  // AMP_RUNTIME_DEVICE_RAW_LIBRARY_OPERATIONS_H_
