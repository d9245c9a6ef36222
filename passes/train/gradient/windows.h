// The windows of convolutions and pools along their spatial axes, as far as shapes and attributes say.
#ifndef AMP_PASSES_TRAIN_GRADIENT_WINDOWS_H_
#define AMP_PASSES_TRAIN_GRADIENT_WINDOWS_H_

#include <optional>

#include "absl/status/statusor.h"
#include "passes/train/gradient/backward.h"

namespace amp {

struct Windows {
  Axes kernel, strides, dilations;
  Axes begin_pads, end_pads;  // those in force, auto_pad resolved
  Axes sizes, results;        // of the axes before and after, kUnknownDim where not known
  size_t num_axes() const { return kernel.size(); }

  int64_t Reach(size_t axis) const { return (kernel[axis] - 1) * dilations[axis] + 1; }
  Axes Pads() const;  // as the attribute has them
};

// Returns the windows of size `kernel` that a node slides over `data` [N, C, ...], with results like `results`: Conv
// and pools or, with the two exchanged, ConvTranspose. Errors: a rank or size that has to be known and is not;
// attributes of another length than the rank, or out of their range.
absl::StatusOr<Windows> WindowsOf(const Backward& node, ValueId data, ValueId results, const Axes& kernel);

// The number of elements behind the last one that a window saw, less than a stride, by axis. Nothing if sizes are
// unknown.
std::optional<Axes> ElementsBeyond(const Windows& windows);

// The transposed windows: what every result of a window with the weights `w` [M, C / group, ...] adds to the elements
// that the window saw, in the shape of `like`. `g` is [N, M, ...]. Where the axes' sizes are not known the result is
// made larger than it can be and cut.
Term SpreadWindows(Backward& node, const Term& g, const Term& w, const Windows& windows, int64_t group, ValueId like);

}  // namespace amp

#endif  // AMP_PASSES_TRAIN_GRADIENT_WINDOWS_H_
