// Images, weights and windows of convolutions as oneDNN is given them.
#ifndef AMP_RUNTIME_CPU_LIBRARY_WINDOW_H_
#define AMP_RUNTIME_CPU_LIBRARY_WINDOW_H_

#include <cstddef>
#include <cstdint>

#include "ir/base/dtype.h"
#include "runtime/forms/window.h"
#include "runtime/kernel/tensor.h"
#include "runtime/onednn/interface.h"

namespace amp {

// How the library is best given spatial axes, which it blocks along the last one: a single one as the second of two, and
// images that are one column wide as one row.
enum class SpatialView { kAsIs, kColumnAsRow };
SpatialView ViewOf(const Window& window);

// Dims whose spatial ones begin at `at`, where a single axis becomes two: the first is `one` long.
Dims Spatial(Dims dims, size_t at, int64_t one, SpatialView view);
// One number of every axis; `one` for the axis that is added to a single one.
Dims Numbers(const Window& window, int64_t WindowAxis::*member, int64_t one);

// [N, C, ...], channels-last.
onednn::Operand ChannelsLast(DType dtype, const Dims& dims, SpatialView view);
// ONNX's weights [M, C / groups, ...] as [groups, M / groups, C / groups, ...]. REQUIRES: groups divides M.
onednn::Operand GroupedWeights(DType dtype, const Dims& dims, int64_t groups, SpatialView view);

}  // namespace amp

#endif  // AMP_RUNTIME_CPU_LIBRARY_WINDOW_H_
