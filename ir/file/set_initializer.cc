#include "ir/file/set_initializer.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_join.h"
#include "ir/base/status.h"
#include "onnx/onnx_pb.h"

namespace amp {
namespace {

std::string TypeText(int data_type, const auto& dims) {
  return absl::StrCat(DTypeName(static_cast<DType>(data_type)), "[", absl::StrJoin(dims, ","), "]");
}

void SetPayload(onnx::TensorProto& tensor, absl::Span<const std::byte> bytes) {
  tensor.clear_float_data();
  tensor.clear_double_data();
  tensor.clear_int32_data();
  tensor.clear_int64_data();
  tensor.clear_uint64_data();
  tensor.clear_external_data();
  tensor.clear_data_location();
  tensor.set_raw_data(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

}  // namespace

void AddInitializer(onnx::ModelProto& model, const std::string& name, const InitializerContent& content) {
  onnx::TensorProto& tensor = *model.mutable_graph()->add_initializer();
  tensor.set_name(name);
  tensor.set_data_type(static_cast<int>(content.dtype));
  for (const int64_t dim : content.dims) tensor.add_dims(dim);
  SetPayload(tensor, content.bytes);
}

absl::Status ReplaceInitializer(onnx::ModelProto& model, const std::string& name, const InitializerContent& content) {
  for (onnx::TensorProto& tensor : *model.mutable_graph()->mutable_initializer()) {
    if (tensor.name() != name) continue;
    const bool same_dims =
        std::equal(tensor.dims().begin(), tensor.dims().end(), content.dims.begin(), content.dims.end());
    if (tensor.data_type() != static_cast<int>(content.dtype) || !same_dims) {
      return ModelError("initializer '", Escaped(name), "': expected ",
                        TypeText(static_cast<int>(content.dtype), content.dims), ", found ",
                        TypeText(tensor.data_type(), tensor.dims()));
    }
    SetPayload(tensor, content.bytes);
    return absl::OkStatus();
  }
  std::vector<std::string> names;
  for (const onnx::TensorProto& tensor : model.graph().initializer()) names.push_back(tensor.name());
  return ModelError("expected an initializer '", Escaped(name), "', found ", QuotedFirstOf(names));
}

}  // namespace amp
