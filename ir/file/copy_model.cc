#include "ir/file/copy_model.h"

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

}  // namespace amp
