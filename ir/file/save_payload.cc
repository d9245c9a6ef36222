#include "ir/file/save_payload.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "google/protobuf/arena.h"
#include "ir/base/convert.h"
#include "ir/base/status.h"
#include "ir/file/description.h"
#include "ir/file/external_data.h"
#include "ir/file/model_walk.h"
#include "onnx/onnx_pb.h"

namespace amp {
namespace {

constexpr int64_t kPage = 4096;  // runtimes map large tensors
constexpr int64_t kMapped = int64_t{1} << 20;

int64_t AlignUp(int64_t offset, int64_t size) {
  const int64_t alignment = size >= kMapped ? kPage : 64;
  return (offset + alignment - 1) / alignment * alignment;
}

bool HasLargeRawData(const onnx::TensorProto& tensor) {
  return static_cast<int64_t>(tensor.raw_data().size()) >= kSplicedBytes;
}

// Returns roughly the size of the model if nothing were external: the payloads alone.
absl::StatusOr<int64_t> TotalBytes(const std::vector<Payload>& payloads, const onnx::ModelProto& model) {
  int64_t total = 0;
  absl::flat_hash_set<const onnx::TensorProto*> seen;
  for (const Payload& payload : payloads) {
    total += payload.size_bytes;
    seen.insert(payload.tensor);
  }
  ForEachTensor(model, [&](const onnx::TensorProto& tensor) {
    if (!seen.contains(&tensor)) total += static_cast<int64_t>(tensor.ByteSizeLong());
  });
  return total;
}

absl::Status At(const onnx::TensorProto& tensor, const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat("tensor '", Escaped(tensor.name()), "': ", status.message()));
}

absl::StatusOr<Payload> PayloadOf(onnx::TensorProto& tensor, const Weights& weights) {
  Payload payload;
  payload.tensor = &tensor;
  payload.to = static_cast<DType>(tensor.data_type());
  if (const TensorView* source = weights.SourceOf(tensor); source != nullptr) {
    payload.source = *source;
    payload.size_bytes = RawBytes(payload.to, source->num_elements()).value_or(0);
    return payload;
  }
  absl::StatusOr<TensorView> view = weights.View(tensor);
  if (!view.ok()) return At(tensor, view.status());
  payload.source = *std::move(view);
  payload.size_bytes = payload.source.size_bytes();
  return payload;
}

void PlaceInDataFile(PayloadLayout* layout) {
  using Source = std::tuple<const DataFile*, int64_t, int64_t, DType>;
  std::map<Source, int64_t> placed;  // tensors that share a region go on sharing it
  for (Payload& payload : layout->payloads) {
    if (!payload.external) continue;
    const Source key = {payload.source.file(), payload.source.file_offset(), payload.source.size_bytes(), payload.to};
    if (payload.source.file() != nullptr) {
      if (auto it = placed.find(key); it != placed.end()) {
        payload.offset = it->second;
        payload.first = false;
        continue;
      }
    }
    payload.offset = AlignUp(layout->data_bytes, payload.size_bytes);
    layout->data_bytes = payload.offset + payload.size_bytes;
    placed.emplace(key, payload.offset);
  }
}

}  // namespace

absl::StatusOr<PayloadLayout> LayOutPayloads(onnx::ModelProto& model, const Weights& weights,
                                             const SaveOptions& options) {
  absl::flat_hash_set<const onnx::TensorProto*> initializers;
  ForEachInitializer(model, [&](const onnx::TensorProto& tensor) { initializers.insert(&tensor); });
  PayloadLayout layout;
  std::vector<Payload> embedded;  // payloads that stay in the message unless everything goes out
  absl::Status status;
  ForEachMutableTensor(model, [&](onnx::TensorProto& tensor) {
    const bool must_move = weights.SourceOf(tensor) != nullptr || IsExternal(tensor) || HasLargeRawData(tensor);
    const bool could_move = initializers.contains(&tensor) && tensor.data_type() != onnx::TensorProto::STRING;
    if (!status.ok() || (!must_move && !could_move)) return;
    absl::StatusOr<Payload> payload = PayloadOf(tensor, weights);
    if (!payload.ok()) {
      status = payload.status();
    } else if (must_move || payload->size_bytes >= kSmallTensorBytes) {
      payload->external = options.external_data == ExternalDataPolicy::kAlways && could_move;
      if (options.external_data == ExternalDataPolicy::kAuto) payload->external = payload->source.file() != nullptr;
      layout.payloads.push_back(*std::move(payload));
    }
  });
  AMP_RETURN_IF_ERROR(status);
  if (options.external_data == ExternalDataPolicy::kAuto) {
    int64_t embedded_bytes = 0;
    AMP_ASSIGN_OR_RETURN(embedded_bytes, TotalBytes(layout.payloads, model));
    for (const Payload& payload : layout.payloads) embedded_bytes -= payload.external ? payload.size_bytes : 0;
    if (embedded_bytes >= options.external_from_bytes) {
      for (Payload& payload : layout.payloads) payload.external |= initializers.contains(payload.tensor);
    }
  }
  for (Payload& payload : layout.payloads) payload.external &= payload.size_bytes >= kSmallTensorBytes;
  std::erase_if(layout.payloads, [&](const Payload& payload) {  // what can simply stay
    const bool moves = payload.external || IsExternal(*payload.tensor) || HasLargeRawData(*payload.tensor);
    return !moves && weights.SourceOf(*payload.tensor) == nullptr;
  });
  PlaceInDataFile(&layout);
  return layout;
}

absl::Status StreamPayload(const Payload& payload, absl::FunctionRef<absl::Status(absl::string_view)> sink) {
  const auto send = [&](const void* data, size_t size) {
    return sink(absl::string_view(static_cast<const char*>(data), size));
  };
  const DType from = payload.source.dtype();
  if (from == payload.to) {
    return payload.source.ForEachChunk(
        [&](absl::Span<const std::byte> chunk) { return send(chunk.data(), chunk.size()); });
  }
  if (IsLowFloat(from) && payload.to == DType::kFloat32) {
    std::vector<float> wide(static_cast<size_t>(TensorView::kChunkBytes) / sizeof(uint16_t));
    return payload.source.ForEachChunk([&](absl::Span<const std::byte> chunk) {
      const size_t count = chunk.size() / sizeof(uint16_t);
      Widen(absl::MakeConstSpan(reinterpret_cast<const uint16_t*>(chunk.data()), count), from,
            absl::MakeSpan(wide.data(), count));
      return send(wide.data(), count * sizeof(float));
    });
  }
  if (!IsLowFloat(payload.to) || (from != DType::kFloat32 && from != DType::kFloat64)) {
    return absl::InternalError(absl::StrCat("no conversion of weights from ", std::string(DTypeName(from)), " to ",
                                            std::string(DTypeName(payload.to))));
  }
  std::vector<uint16_t> narrow(static_cast<size_t>(TensorView::kChunkBytes) / sizeof(float));
  return payload.source.ForEachChunk([&](absl::Span<const std::byte> chunk) {
    const size_t count = chunk.size() / (from == DType::kFloat32 ? sizeof(float) : sizeof(double));
    const absl::Span<uint16_t> out = absl::MakeSpan(narrow.data(), count);
    if (from == DType::kFloat32) {
      Narrow(absl::MakeConstSpan(reinterpret_cast<const float*>(chunk.data()), count), payload.to, out);
    } else {
      NarrowFloat64(absl::MakeConstSpan(reinterpret_cast<const double*>(chunk.data()), count), payload.to, out);
    }
    return send(out.data(), count * sizeof(uint16_t));
  });
}

void StrippedTensors::Strip(onnx::TensorProto* tensor) {
  onnx::TensorProto* original = google::protobuf::Arena::CreateMessage<onnx::TensorProto>(tensor->GetArena());
  original->Swap(tensor);  // same arena: pointers only, so that views of the data stay valid
  saved_.push_back({tensor, original});
  *tensor->mutable_dims() = original->dims();
  tensor->set_data_type(original->data_type());
  if (original->has_data_location() && !IsExternal(*original)) tensor->set_data_location(original->data_location());
  DescribeAs(*original, *tensor);
}

StrippedTensors::~StrippedTensors() {
  for (const Saved& saved : saved_) {
    saved.tensor->Swap(saved.original);
    if (saved.original->GetArena() == nullptr) delete saved.original;
  }
}

}  // namespace amp
