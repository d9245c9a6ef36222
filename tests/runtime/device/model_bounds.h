// How far the outputs of real models on a device may be from the processor's, as relative errors. The bounds hold for
// the test double and for GPUs.
//
// Both places round every 16-bit value, after sums in another order. Where the device computes nodes together it rounds
// fewer of them, which in most models is as little.
#ifndef AMP_TESTS_RUNTIME_DEVICE_MODEL_BOUNDS_H_
#define AMP_TESTS_RUNTIME_DEVICE_MODEL_BOUNDS_H_

#include <algorithm>
#include <iterator>
#include <limits>

#include "absl/strings/string_view.h"
#include "ir/base/dtype.h"

namespace amp {

// The bound of a model in one type, in place of the type's own bound, and the reason for it.
struct ModelBound {
  absl::string_view file;
  DType type;
  double bound;
  absl::string_view why;
};

inline constexpr double kAnything = std::numeric_limits<double>::infinity();  // as long as it runs

inline constexpr ModelBound kIllConditioned[] = {
    {"ppocr_mobile_v1.1_det.onnx", DType::kFloat32, 1e-3,
     "its values reach 2.2e10, and differences of those its output"},
    {"ppocr_mobile_v1.1_det.onnx", DType::kFloat16, kAnything, "its values reach 2.2e10, beyond float16's 65504"},
    {"ppocr_mobile_v1.1_det.onnx", DType::kBfloat16, kAnything,
     "its values reach 2.2e10, and differences of those its output"},
};

inline double BoundOf(DType type) { return type == DType::kFloat16 ? 0.01 : type == DType::kBfloat16 ? 0.05 : 1e-4; }

// Null where the bound of the type is the model's.
inline const ModelBound* FindIllConditioned(absl::string_view file, DType type) {
  const auto* const found =
      std::find_if(std::begin(kIllConditioned), std::end(kIllConditioned),
                   [&](const ModelBound& each) { return each.file == file && each.type == type; });
  return found == std::end(kIllConditioned) ? nullptr : found;
}

}  // namespace amp

#endif  // AMP_TESTS_RUNTIME_DEVICE_MODEL_BOUNDS_H_
