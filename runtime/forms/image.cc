#include "runtime/forms/image.h"

#include <cstdint>

#include "ir/base/status.h"
#include "runtime/kernel/tensor.h"

namespace amp {

absl::StatusOr<ImageScalerForm> ReadImageScaler(const KernelContext& context) {
  const Tensor& x = context.Input(0);
  ImageScalerForm form = {.scale = GetFloat(context.node(), "scale", 1),
                          .bias = GetFloats(context.node(), "bias").value_or(std::vector<float>())};
  if (x.rank() < 2 || static_cast<int64_t>(form.bias.size()) != x.dim(1)) {
    return ModelError("expected a bias for each channel of [N, C, ...], found ", form.bias.size(), " for ",
                      x.TypeText());
  }
  return form;
}

}  // namespace amp
