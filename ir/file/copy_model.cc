#include "ir/file/copy_model.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "google/protobuf/arena.h"
#include "ir/base/status.h"
#include "ir/file/model_walk.h"
#include "ir/file/save_payload.h"
#include "onnx/onnx_pb.h"

namespace amp {

absl::StatusOr<LoadedFile> CopyModel(const onnx::ModelProto& model, const Weights& weights,
                                     std::shared_ptr<ExternalData> external) {
  LoadedFile copy;
  copy.arena = std::make_unique<google::protobuf::Arena>();
  copy.model = google::protobuf::Arena::CreateMessage<onnx::ModelProto>(copy.arena.get());
  copy.model->CopyFrom(model);
  copy.external = std::move(external);
  std::vector<const TensorView*> sources;
  ForEachTensor(model, [&](const onnx::TensorProto& tensor) { sources.push_back(weights.SourceOf(tensor)); });
  absl::Status status;
  size_t at = 0;
  ForEachMutableTensor(*copy.model, [&](onnx::TensorProto& tensor) {
    const TensorView* source = sources[at++];
    if (source == nullptr || !status.ok()) return;
    std::string& bytes = *tensor.mutable_raw_data();
    Payload payload;
    payload.tensor = &tensor;
    payload.source = *source;
    payload.to = static_cast<DType>(tensor.data_type());
    bytes.reserve(static_cast<size_t>(RawBytes(payload.to, source->num_elements()).value_or(0)));
    status = StreamPayload(payload, [&](absl::string_view chunk) {
      bytes.append(chunk.data(), chunk.size());
      return absl::OkStatus();
    });
  });
  if (!status.ok()) return status;
  return copy;
}

absl::StatusOr<LoadedFile> CopyWithInputs(const onnx::ModelProto& model,
                                          const absl::flat_hash_set<std::string>& initializers) {
  LoadedFile copy;
  copy.arena = std::make_unique<google::protobuf::Arena>();
  copy.model = google::protobuf::Arena::CreateMessage<onnx::ModelProto>(copy.arena.get());
  copy.model->CopyFrom(model);
  onnx::GraphProto& graph = *copy.model->mutable_graph();
  absl::flat_hash_set<std::string> inputs;
  for (const onnx::ValueInfoProto& input : graph.input()) inputs.insert(input.name());
  auto& tensors = *graph.mutable_initializer();
  const auto first =
      std::stable_partition(tensors.pointer_begin(), tensors.pointer_end(),
                            [&](const onnx::TensorProto* tensor) { return !initializers.contains(tensor->name()); });
  const auto num_left = static_cast<int>(first - tensors.pointer_begin());
  for (int i = num_left; i < tensors.size(); ++i) {
    if (!inputs.insert(tensors[i].name()).second) continue;
    onnx::ValueInfoProto& input = *graph.add_input();
    input.set_name(tensors[i].name());
    onnx::TypeProto::Tensor& type = *input.mutable_type()->mutable_tensor_type();
    type.set_elem_type(tensors[i].data_type());
    for (const int64_t dim : tensors[i].dims()) type.mutable_shape()->add_dim()->set_dim_value(dim);
  }
  tensors.DeleteSubrange(num_left, tensors.size() - num_left);
  bool is_external = false;
  ForEachTensor(*copy.model, [&](const onnx::TensorProto& tensor) { is_external = is_external || IsExternal(tensor); });
  if (is_external) return absl::InvalidArgumentError("a tensor that stays has external data");
  return copy;
}

}  // namespace amp
