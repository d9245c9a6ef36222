// Converts windows over images into arguments of the device's kernels.
#ifndef AMP_RUNTIME_DEVICE_IMAGE_AXES_H_
#define AMP_RUNTIME_DEVICE_IMAGE_AXES_H_

#include "runtime/device/raw/rows.h"
#include "runtime/forms/window.h"

namespace amp {

// Whether the axis fits the kernels, which count in 32 bits along an axis.
bool FitsDeviceAxis(const WindowAxis& axis);

// Sets the axes; axes that the window does not have come first, with length 1. REQUIRES: at most kMaxPoolAxes axes,
// each of which fits.
void SetDeviceAxes(const Window& window, device::PoolAxis (&axes)[device::kMaxPoolAxes]);

}  // namespace amp

#endif  // AMP_RUNTIME_DEVICE_IMAGE_AXES_H_
