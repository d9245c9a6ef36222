// Converts images, weights and windows of convolutions into oneDNN's shapes.
#ifndef AMP_RUNTIME_CPU_LIBRARY_WINDOW_H_
#define AMP_RUNTIME_CPU_LIBRARY_WINDOW_H_

#include <cstddef>
#include <cstdint>

#include "ir/base/dtype.h"
#include "runtime/forms/window.h"
#include "runtime/kernel/tensor.h"
#include "runtime/onednn/interface.h"

namespace amp {

// How spatial axes are passed to oneDNN, which blocks along the last one. A single axis becomes the second of two.
// Images with one column are passed as images with one row (kColumnAsRow).
enum class SpatialView { kAsIs, kColumnAsRow };
SpatialView ViewOf(const Window& window);

// Returns dims whose spatial axes begin at `at`. A single spatial axis becomes two, the first of length `one`.
Dims Spatial(Dims dims, size_t at, int64_t one, SpatialView view);
// Returns one member of each axis of the window; `one` is the value for the axis that is added to a single one.
Dims Numbers(const Window& window, int64_t WindowAxis::*member, int64_t one);

// Describes a channels-last tensor of dims [N, C, ...].
onednn::Operand ChannelsLast(DType dtype, const Dims& dims, SpatialView view);
// Describes ONNX's weights [M, C / groups, ...] as [groups, M / groups, C / groups, ...]. REQUIRES: groups divides M.
onednn::Operand GroupedWeights(DType dtype, const Dims& dims, int64_t groups, SpatialView view);

}  // namespace amp

#endif  // AMP_RUNTIME_CPU_LIBRARY_WINDOW_H_
