#include "runtime/kernel/cells.h"

#include <algorithm>
#include <numeric>

#include "runtime/kernel/shape_math.h"

namespace amp {
namespace {

// Some of a shape's axes, each with its stride in the whole.
struct SomeAxes {
  Dims dims, strides;
};

std::vector<size_t> Places(const SomeAxes& axes) {
  std::vector<size_t> places;
  for (StridedWalk walk(axes.dims, {axes.strides}); !walk.AtEnd(); walk.Next()) places.push_back(walk[0]);
  return places;
}

bool HasZero(absl::Span<const int64_t> dims) { return std::find(dims.begin(), dims.end(), 0) != dims.end(); }

}  // namespace

Cells CellsAlong(absl::Span<const int64_t> dims, absl::Span<const size_t> axes) {
  const bool empty = HasZero(dims);
  const Dims strides = empty ? Dims(dims.size(), 0) : RowStrides(dims);
  SomeAxes along, across;
  for (size_t axis = 0; axis < dims.size(); ++axis) {
    const bool is_along = std::binary_search(axes.begin(), axes.end(), axis);
    SomeAxes& side = is_along ? along : across;
    side.dims.push_back(dims[axis]);
    side.strides.push_back(strides[axis]);
  }
  // An empty shape's other dimensions may be anything: nothing is listed for a cell that holds nothing.
  return {.starts = Places(across), .offsets = empty ? std::vector<size_t>() : Places(along)};
}

std::vector<size_t> AxesBetween(size_t first, size_t last) {
  std::vector<size_t> axes(last - first);
  std::iota(axes.begin(), axes.end(), first);
  return axes;
}

}  // namespace amp
