#include "runtime/loops/pool_windows.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace amp {
namespace {

// The most rows of windows, over all windows of an image: more would take more memory than the image.
constexpr int64_t kMostRows = int64_t{1} << 22;

// Windows [first, end) of an axis whose tap is within the input.
struct WindowRange {
  int64_t first, end;
};
WindowRange WindowsWith(const WindowAxis& axis, int64_t tap) {
  const int64_t begin = tap * axis.dilation - axis.pad_begin;  // of window 0
  const int64_t first = begin >= 0 ? 0 : (-begin + axis.stride - 1) / axis.stride;
  const int64_t end = begin >= axis.input ? 0 : (axis.input - 1 - begin) / axis.stride + 1;
  return {std::min(first, axis.output), std::clamp(end, std::min(first, axis.output), axis.output)};
}

}  // namespace

Refusal WhyNotWindows(const Window& window) {
  constexpr const char* kTooMany = "windows that are too large";
  int64_t rows = 1;
  for (const WindowAxis& axis : window) {
    if (axis.output * axis.kernel > kMostRows || rows > kMostRows) return kTooMany;
    if (&axis != &window.back()) rows *= axis.output * axis.kernel;
  }
  return rows > kMostRows ? kTooMany : nullptr;
}

std::vector<Taps> TapsOf(const WindowAxis& axis) {
  std::vector<Taps> all(static_cast<size_t>(axis.output));
  for (int64_t i = 0; i < axis.output; ++i) {
    Taps& taps = all[static_cast<size_t>(i)];
    for (int64_t k = 0; k < axis.kernel; ++k) {
      const int64_t place = i * axis.stride - axis.pad_begin + k * axis.dilation;
      if (place < axis.input + axis.pad_end) ++taps.padded_count;
      if (place >= 0 && place < axis.input) taps.places.push_back(static_cast<size_t>(place));
    }
  }
  return all;
}

std::vector<Taps> RowsOf(const Window& window) {
  std::vector<Taps> rows = {{.places = {0}, .padded_count = 1}};
  for (size_t axis = 0; axis + 1 < window.size(); ++axis) {
    const std::vector<Taps> along = TapsOf(window[axis]);
    const auto size = static_cast<size_t>(window[axis].input);
    std::vector<Taps> finer;
    finer.reserve(rows.size() * along.size());
    for (const Taps& outer : rows) {
      for (const Taps& inner : along) {
        Taps& both = finer.emplace_back();
        both.padded_count = outer.padded_count * inner.padded_count;
        for (const size_t place : outer.places) {
          for (const size_t within : inner.places) both.places.push_back(place * size + within);
        }
      }
    }
    rows = std::move(finer);
  }
  return rows;
}

void FindLargest(const Loops& loops, const Taps& row, const WindowAxis& axis, const float* image,
                 LargestOfRow& largest) {
  std::fill(largest.values.begin(), largest.values.end(), -std::numeric_limits<float>::infinity());
  std::fill(largest.places.begin(), largest.places.end(), -1);
  for (const size_t place : row.places) {
    const int64_t start = static_cast<int64_t>(place) * axis.input;
    for (int64_t tap = 0; tap < axis.kernel; ++tap) {
      const WindowRange range = WindowsWith(axis, tap);
      const int64_t at = start + range.first * axis.stride - axis.pad_begin + tap * axis.dilation;
      loops.rows.keep_largest(image + at, static_cast<size_t>(axis.stride), static_cast<int32_t>(at),
                              largest.values.data() + range.first, largest.places.data() + range.first,
                              static_cast<size_t>(range.end - range.first));
    }
  }
}

}  // namespace amp
