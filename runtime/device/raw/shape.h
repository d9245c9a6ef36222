// Shapes with strides, small enough to be part of a kernel's arguments.
#ifndef AMP_RUNTIME_DEVICE_RAW_SHAPE_H_
#define AMP_RUNTIME_DEVICE_RAW_SHAPE_H_

#include <cstdint>

#include "runtime/device/raw/element.h"
#include "runtime/device/raw/pack.h"

namespace amp::device {

inline constexpr int kMaxAxes = 8;

// Dims, and strides in elements for each of `kOperands` operands; stride 0: broadcast.
template <int kOperands>
struct StridedShape {
  int32_t rank = 0;
  uint32_t dims[kMaxAxes] = {};
  int64_t strides[kOperands][kMaxAxes] = {};

  // Finds the offset in each operand of element `index`, counted row-major.
  AMP_BOTH void PlacesOf(uint32_t index, int64_t (&places)[kOperands]) const {
    for (int operand = 0; operand < kOperands; ++operand) places[operand] = 0;
    for (int axis = rank - 1; axis >= 0; --axis) {
      const uint32_t along = index % dims[axis];
      index /= dims[axis];
      for (int operand = 0; operand < kOperands; ++operand) places[operand] += along * strides[operand][axis];
    }
  }

  // Finds the offsets of a pack of elements. Most packs lie within one row.
  AMP_BOTH void PlacesOf(Lanes lanes, int64_t (&places)[kOperands][kPack]) const {
    const uint32_t row = rank == 0 ? 1 : dims[rank - 1];
    const bool is_in_row = lanes.AreAll() && lanes.first % row + kPack <= row;
    int64_t first[kOperands];
    PlacesOf(lanes.first, first);
    for (uint32_t lane = 0; lane < kPack; ++lane) {
      if (!is_in_row && lane > 0) PlacesOf(lanes[lane], first);
      for (int operand = 0; operand < kOperands; ++operand) {
        places[operand][lane] = first[operand] + (is_in_row ? lane * strides[operand][rank - 1] : 0);
      }
    }
  }
};

}  // namespace amp::device

#endif  // AMP_RUNTIME_DEVICE_RAW_SHAPE_H_
