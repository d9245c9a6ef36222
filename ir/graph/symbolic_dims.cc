#include "ir/graph/symbolic_dims.h"

#include <utility>

#include "google/protobuf/arena.h"
#include "onnx/onnx_pb.h"

namespace amp {
namespace {

void State(const SymbolicDim& stated, onnx::TypeProto_Tensor& type) {
  if (!type.has_shape() || stated.axis >= static_cast<size_t>(type.shape().dim_size())) return;
  auto& dim = *type.mutable_shape()->mutable_dim(static_cast<int>(stated.axis));
  dim.clear_value();
  if (!stated.symbol.empty()) dim.set_dim_param(stated.symbol);
}

}  // namespace

void StateSymbolicDims(Model& model, const absl::flat_hash_map<ValueId, SymbolicDim>& dims) {
  const auto& names = model.graph(kMainGraph).names;
  onnx::GraphProto& graph = *model.EditProto().mutable_graph();
  for (auto* const infos : {graph.mutable_input(), graph.mutable_output(), graph.mutable_value_info()}) {
    for (onnx::ValueInfoProto& info : *infos) {
      const auto value = names.find(info.name());
      const auto stated = value == names.end() ? dims.end() : dims.find(value->second);
      if (stated == dims.end() || !info.type().has_tensor_type()) continue;
      State(stated->second, *info.mutable_type()->mutable_tensor_type());
    }
  }
}

ValueId AddInt64s(Model& model, std::string name, const std::vector<int64_t>& elements) {
  auto* tensor = google::protobuf::Arena::CreateMessage<onnx::TensorProto>(model.arena());
  tensor->set_data_type(onnx::TensorProto::INT64);
  tensor->add_dims(static_cast<int64_t>(elements.size()));
  for (const int64_t element : elements) tensor->add_int64_data(element);
  return model.AddInitializer(kMainGraph, std::move(name), tensor);
}

}  // namespace amp
