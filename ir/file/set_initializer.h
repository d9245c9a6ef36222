// Puts elements that were computed into a model's message: trained weights into the model that they are for.
#ifndef AMP_IR_FILE_SET_INITIALIZER_H_
#define AMP_IR_FILE_SET_INITIALIZER_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "ir/base/dtype.h"

namespace onnx {
class ModelProto;
}

namespace amp {

// As ONNX's raw_data has them.
struct InitializerContent {
  DType dtype = DType::kUndefined;
  absl::Span<const int64_t> dims;
  absl::Span<const std::byte> bytes;
};

// A new one of the main graph. REQUIRES: there is no value of that name; as many bytes as type and dims ask for.
void AddInitializer(onnx::ModelProto& model, const std::string& name, const InitializerContent& content);

// Other elements for the initializer of that name in the main graph. Errors: kDataLoss, where there is none,
// or it has another type or shape.
absl::Status ReplaceInitializer(onnx::ModelProto& model, const std::string& name, const InitializerContent& content);

}  // namespace amp

#endif  // AMP_IR_FILE_SET_INITIALIZER_H_
