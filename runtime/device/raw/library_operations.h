// Convolutions and attention that a library computes on a device, as plain values.
//
// A library may lack what is asked for, or be missing: kNotTaken, and nothing has happened. What it does depends on all
// but the pointers, so that it is chosen once.
#ifndef AMP_RUNTIME_DEVICE_RAW_LIBRARY_OPERATIONS_H_
#define AMP_RUNTIME_DEVICE_RAW_LIBRARY_OPERATIONS_H_

#include <cstddef>
#include <cstdint>

#include "runtime/device/raw/element.h"
#include "runtime/device/raw/result_step.h"
#include "runtime/device/raw/rows.h"

namespace amp::device {

// Why an operation was not taken, in one line; or the library's name for what it did.
inline constexpr size_t kMaxOperationText = 256;
inline constexpr int kNotTaken = -2;
inline constexpr int kWithoutTensorCores = -4;  // no error: 16 bits, computed by other units

// y = steps(convolution of x with w + bias), row by row, or with the channels of x, w, y and of what the steps read for each
// element beside each other: as if they were the last axis. See ConvolveArguments (convolution.h) for the axes. Where
// it gives weights, it is the gradient of these, alone: x as ever, w is g [batch, filters, axes...], y [filters, channels /
// groups, kernel...].
struct LibraryConvolution {
  const void* x;     // [batch, channels, axes...]
  const void* w;     // [filters, channels / groups, kernel...], transposed [channels, filters / groups, kernel...]
  const void* bias;  // [filters]; null: none
  void* y;           // [batch, filters, axes...]
  Storage storage;   // of x, w, bias and the steps' operands
  Storage stored_as;
  bool is_transposed;
  bool channels_last = false;
  bool allows_tf32;  // to multiply float32 in TF32
  int64_t batch, channels, filters, groups;
  int32_t num_axes;  // the last ones of:
  PoolAxis axes[kMaxPoolAxes];
  int32_t num_steps;
  ResultStep steps[kMaxResultSteps];
  bool gives_weights = false;
};

// Where the elements of [batch, heads, rows, columns] are: steps between them, in elements.
struct HeadSteps {
  int64_t steps[4];
};

// y = softmax(scale q k' + mask) v
struct LibraryAttention {
  const void* q;     // [batch, heads, queries, size]
  const void* k;     // [batch, key_heads, keys, size]: each is read by heads / key_heads of the queries' in a row
  const void* v;     // [batch, key_heads, keys, value_size]
  const void* mask;  // [batch, heads, queries, keys], 1 where it is repeated; null: none
  void* y;           // [batch, heads, queries, value_size]
  Storage storage;   // of all of them
  int64_t batch, heads, key_heads, queries, keys, size, value_size;
  HeadSteps q_steps, k_steps, v_steps, y_steps;
  int64_t mask_dims[4];  // row by row
  float scale;
};

}  // namespace amp::device

#endif  // AMP_RUNTIME_DEVICE_RAW_LIBRARY_OPERATIONS_H_
