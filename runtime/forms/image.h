// ImageScaler, an experiment of ONNX before opset 10: pictures [N, C, ...] times a number, plus one number per channel.
#ifndef AMP_RUNTIME_FORMS_IMAGE_H_
#define AMP_RUNTIME_FORMS_IMAGE_H_

#include <vector>

#include "absl/status/statusor.h"
#include "runtime/kernel/kernel.h"

namespace amp {

struct ImageScalerForm {
  float scale = 1;
  std::vector<float> bias;  // one for each channel
};

// Errors: another number of biases than of channels.
absl::StatusOr<ImageScalerForm> ReadImageScaler(const KernelContext& context);

}  // namespace amp

#endif  // AMP_RUNTIME_FORMS_IMAGE_H_
