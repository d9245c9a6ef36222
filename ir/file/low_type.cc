#include "ir/file/low_type.h"

#include <cstdint>

#include "ir/file/model_file.h"
#include "ir/file/model_walk.h"
#include "onnx/onnx_pb.h"

namespace amp {
namespace {

struct LowTypes {
  int64_t float16 = 0, bfloat16 = 0;

  void Count(int64_t type) {
    float16 += type == onnx::TensorProto::FLOAT16 ? 1 : 0;
    bfloat16 += type == onnx::TensorProto::BFLOAT16 ? 1 : 0;
  }
  void Count(const google::protobuf::RepeatedPtrField<onnx::ValueInfoProto>& values) {
    for (const onnx::ValueInfoProto& value : values) Count(value.type().tensor_type().elem_type());
  }
};

}  // namespace

std::optional<DType> LowTypeOfFile(const std::string& path, const Limits& limits) {
  const absl::StatusOr<LoadedFile> file = ReadModelFile(path, {.limits = limits, .payloads = Payloads::kLeaveOut});
  if (!file.ok()) return std::nullopt;
  LowTypes types;
  const onnx::ModelProto& model = *file->model;
  ForEachTensor(model, [&](const onnx::TensorProto& tensor) { types.Count(tensor.data_type()); });
  for (const auto* values : {&model.graph().input(), &model.graph().output(), &model.graph().value_info()}) {
    types.Count(*values);
  }
  ForEachNodeWithin(model.graph().node(), [&](const onnx::NodeProto& node) {
    for (const onnx::AttributeProto& attribute : node.attribute()) {
      if (attribute.name() == "to") types.Count(attribute.i());
    }
  });
  if (types.float16 == 0 && types.bfloat16 == 0) return std::nullopt;
  return types.bfloat16 > types.float16 ? DType::kBfloat16 : DType::kFloat16;
}

}  // namespace amp
