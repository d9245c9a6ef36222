// Which elements of an image the windows of a pool have, row by row.
#ifndef AMP_RUNTIME_LOOPS_POOL_WINDOWS_H_
#define AMP_RUNTIME_LOOPS_POOL_WINDOWS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/forms/window.h"
#include "runtime/kernel/refusal.h"
#include "runtime/loops/raw/loops.h"

namespace amp {

// Where the taps of a position are in the input, and how many there are with those in the padding.
struct Taps {
  std::vector<size_t> places;
  float padded_count = 0;
};

// Why there are too many of them to be held; null where they may be.
Refusal WhyNotWindows(const Window& window);
// By position along an axis.
std::vector<Taps> TapsOf(const WindowAxis& axis);
// The rows of the windows at each position of all axes but the last.
std::vector<Taps> RowsOf(const Window& window);

// The largest elements of a row of windows so far, the first of equal ones, and their places in the image, -1 while
// there are none. Not a number is larger than all.
struct LargestOfRow {
  std::vector<float> values;
  std::vector<int32_t> places;

  explicit LargestOfRow(size_t columns) : values(columns), places(columns) {}
};
// Finds the largest elements of the windows that have these rows of a row-major image, whose last axis is `axis`.
void FindLargest(const Loops& loops, const Taps& row, const WindowAxis& axis, const float* image,
                 LargestOfRow& largest);

}  // namespace amp

#endif  // AMP_RUNTIME_LOOPS_POOL_WINDOWS_H_
