#include "ir/graph/tensor_content.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "ir/base/limits.h"
#include "ir/base/status.h"
#include "ir/file/tensor_view.h"
#include "ir/graph/attributes.h"
#include "onnx/onnx-data.pb.h"
#include "onnx/onnx_pb.h"

namespace amp {
namespace {

// Zeroes of a sparse tensor are written out: no more of them than this.
constexpr int64_t kMaxSparseBytes = int64_t{1} << 32;

template <typename T>
TensorContent ContentOf(DType dtype, std::vector<int64_t> dims, const std::vector<T>& elements) {
  TensorContent content{dtype, std::move(dims), std::vector<std::byte>(elements.size() * sizeof(T)), {}};
  if (!elements.empty()) std::memcpy(content.bytes.data(), elements.data(), content.bytes.size());
  return content;
}

std::vector<int64_t> LengthOf(size_t size) { return {static_cast<int64_t>(size)}; }

const onnx::SparseTensorProto* SparseOf(const Model& model, ValueId id) {
  const Value& value = model.value(id);
  if (value.producer != kNone) return GetSparseTensor(model.node(value.producer), "sparse_value");
  if (value.is_graph_input) return nullptr;
  for (const auto& sparse : model.graph(value.graph).proto->sparse_initializer()) {
    if (sparse.values().name() == value.name) return &sparse;
  }
  return nullptr;
}

// The place, row by row, of element `i` of a sparse tensor; -1 when it is outside.
int64_t PlaceOf(const onnx::SparseTensorProto& sparse, const TensorView& indices, const std::vector<int64_t>& elements,
                size_t i, int64_t count) {
  if (indices.dims().size() < 2) return elements[i] < 0 || elements[i] >= count ? -1 : elements[i];
  int64_t place = 0;
  const auto rank = static_cast<size_t>(sparse.dims_size());
  for (size_t axis = 0; axis < rank; ++axis) {
    const int64_t index = elements[i * rank + axis], dim = sparse.dims(static_cast<int>(axis));
    if (index < 0 || index >= dim) return -1;
    place = place * dim + index;
  }
  return place;
}

absl::StatusOr<TensorContent> Densify(const onnx::SparseTensorProto& sparse, const Weights& weights) {
  AMP_ASSIGN_OR_RETURN(const TensorContent values, ReadTensor(sparse.values(), weights));
  AMP_ASSIGN_OR_RETURN(const TensorView indices, weights.View(sparse.indices()));
  AMP_ASSIGN_OR_RETURN(const std::vector<int64_t> elements, indices.ReadAsInt64(kLargestElements));
  const std::optional<int64_t> count = ElementCount(sparse.dims());
  const int bits = BitsPerElement(values.dtype);
  if (bits == 0 || bits % 8 != 0)
    return ModelError("expected a sparse tensor of numbers, found ", DTypeName(values.dtype));
  const auto width = static_cast<size_t>(bits / 8);
  if (!count.has_value() || *count > kMaxSparseBytes / static_cast<int64_t>(width)) {
    return LimitError("expected a sparse tensor of at most ", kMaxSparseBytes, " bytes when it is dense");
  }
  const size_t stored = values.bytes.size() / width;
  const size_t per_element = indices.dims().size() < 2 ? 1 : static_cast<size_t>(sparse.dims_size());
  if (elements.size() != stored * per_element) {
    return ModelError("expected ", stored * per_element, " indices of a sparse tensor, found ", elements.size());
  }
  TensorContent dense{values.dtype, {sparse.dims().begin(), sparse.dims().end()}, {}, {}};
  dense.bytes.resize(static_cast<size_t>(*count) * width);
  for (size_t i = 0; i < stored; ++i) {
    const int64_t place = PlaceOf(sparse, indices, elements, i, *count);
    if (place < 0) return ModelError("expected indices within the shape of a sparse tensor, found others");
    std::memcpy(dense.bytes.data() + static_cast<size_t>(place) * width, values.bytes.data() + i * width, width);
  }
  return dense;
}

// Reads the numbers of a Constant's attribute other than `value` and `sparse_value`.
std::optional<TensorContent> ReadNumbers(const Node& node) {
  if (const auto number = GetFloat(node, "value_float")) return ContentOf<float>(DType::kFloat32, {}, {*number});
  if (const auto number = GetInt(node, "value_int")) return ContentOf<int64_t>(DType::kInt64, {}, {*number});
  if (const auto list = GetFloats(node, "value_floats"))
    return ContentOf(DType::kFloat32, LengthOf(list->size()), *list);
  if (const auto list = GetInts(node, "value_ints")) return ContentOf(DType::kInt64, LengthOf(list->size()), *list);
  if (auto text = GetString(node, "value_string")) return TensorContent{DType::kString, {}, {}, {*std::move(text)}};
  if (auto list = GetStrings(node, "value_strings")) {
    return TensorContent{DType::kString, LengthOf(list->size()), {}, *std::move(list)};
  }
  return std::nullopt;
}

absl::StatusOr<DatumContent> ReadDatum(const onnx::TensorProto& tensor) {
  DatumContent content{DatumContent::Kind::kTensor, {}, {}};
  AMP_ASSIGN_OR_RETURN(content.tensor, ReadTensor(tensor, Weights()));
  return content;
}

absl::StatusOr<DatumContent> ReadDatum(const onnx::SparseTensorProto& sparse) {
  DatumContent content{DatumContent::Kind::kTensor, {}, {}};
  AMP_ASSIGN_OR_RETURN(content.tensor, Densify(sparse, Weights()));
  return content;
}

absl::StatusOr<DatumContent> ReadDatum(const onnx::SequenceProto& sequence);

template <typename Messages>
absl::StatusOr<DatumContent> ReadElements(const Messages& messages) {
  DatumContent content{DatumContent::Kind::kSequence, {}, {}};
  for (const auto& message : messages) {
    AMP_ASSIGN_OR_RETURN(content.elements.emplace_back(), ReadDatum(message));
  }
  return content;
}

absl::StatusOr<DatumContent> ReadDatum(const onnx::SequenceProto& sequence) {
  switch (sequence.elem_type()) {
    case onnx::SequenceProto::TENSOR:
      return ReadElements(sequence.tensor_values());
    case onnx::SequenceProto::SPARSE_TENSOR:
      return ReadElements(sequence.sparse_tensor_values());
    case onnx::SequenceProto::SEQUENCE:
      return ReadElements(sequence.sequence_values());
    default:
      return ModelError("expected a sequence of tensors or sequences, found element type ", sequence.elem_type());
  }
}

absl::StatusOr<DatumContent> ReadDatum(const onnx::OptionalProto& optional) {
  switch (optional.elem_type()) {
    case onnx::OptionalProto::UNDEFINED:
      return DatumContent();
    case onnx::OptionalProto::TENSOR:
      return optional.has_tensor_value() ? ReadDatum(optional.tensor_value()) : DatumContent();
    case onnx::OptionalProto::SEQUENCE:
      return optional.has_sequence_value() ? ReadDatum(optional.sequence_value()) : DatumContent();
    default:
      return ModelError("expected an optional tensor or sequence, found element type ", optional.elem_type());
  }
}

template <typename Message>
absl::StatusOr<DatumContent> Parse(absl::string_view bytes) {
  Message message;
  if (!message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return ModelError("expected a ", Message::descriptor()->name(), ", found other bytes");
  }
  return ReadDatum(message);
}

}  // namespace

absl::StatusOr<TensorContent> ReadTensor(const onnx::TensorProto& tensor, const Weights& weights) {
  TensorContent content{static_cast<DType>(tensor.data_type()), {tensor.dims().begin(), tensor.dims().end()}, {}, {}};
  if (content.dtype == DType::kString) {
    if (ElementCount(content.dims) != tensor.string_data_size()) {
      return ModelError("expected as many strings as the shape has elements, found ", tensor.string_data_size());
    }
    content.strings.assign(tensor.string_data().begin(), tensor.string_data().end());
    return content;
  }
  AMP_ASSIGN_OR_RETURN(const TensorView view, weights.View(tensor));
  content.bytes.resize(static_cast<size_t>(view.size_bytes()));
  AMP_RETURN_IF_ERROR(view.CopyTo(absl::MakeSpan(content.bytes)));
  return content;
}

absl::StatusOr<std::optional<TensorView>> ViewConstant(const Model& model, ValueId id) {
  const Value& value = model.value(id);
  const onnx::TensorProto* tensor = nullptr;
  if (value.IsInitializer()) tensor = &*value.initializer;
  if (value.producer != kNone && model.node(value.producer).Has(Role::kConstant) &&
      !model.IsCallOfFunction(value.producer)) {
    tensor = GetTensor(model.node(value.producer), "value");
  }
  if (tensor == nullptr || static_cast<DType>(tensor->data_type()) == DType::kString) return std::nullopt;
  AMP_ASSIGN_OR_RETURN(TensorView view, model.weights().View(*tensor));
  return std::optional<TensorView>(std::move(view));
}

absl::StatusOr<std::optional<TensorContent>> ReadConstant(const Model& model, ValueId id) {
  const Value& value = model.value(id);
  const auto dense = [&](const onnx::TensorProto& tensor) -> absl::StatusOr<std::optional<TensorContent>> {
    AMP_ASSIGN_OR_RETURN(TensorContent content, ReadTensor(tensor, model.weights()));
    return std::optional<TensorContent>(std::move(content));
  };
  if (value.IsInitializer()) return dense(*value.initializer);
  const bool of_node = value.producer != kNone;
  if (of_node && (!model.node(value.producer).Has(Role::kConstant) || model.IsCallOfFunction(value.producer))) {
    return std::optional<TensorContent>();
  }
  if (const auto* sparse = SparseOf(model, id); sparse != nullptr) {
    AMP_ASSIGN_OR_RETURN(TensorContent content, Densify(*sparse, model.weights()));
    return std::optional<TensorContent>(std::move(content));
  }
  if (!of_node) return std::optional<TensorContent>();
  if (const auto* tensor = GetTensor(model.node(value.producer), "value"); tensor != nullptr) return dense(*tensor);
  return ReadNumbers(model.node(value.producer));
}

void ReleaseInitializer(Model& model, ValueId value) {
  if (!model.value(value).IsInitializer()) return;
  onnx::TensorProto& tensor = model.EditInitializer(value);
  if (tensor.has_raw_data()) std::string().swap(*tensor.mutable_raw_data());
}

absl::StatusOr<DatumContent> ParseDatum(absl::string_view bytes, const Model& model, ValueId like) {
  const Value& value = model.value(like);
  if (bytes.size() > static_cast<size_t>(kLargestModelBytes)) return LimitError("expected less than 2 GiB");
  if (value.type == nullptr || value.type->has_tensor_type()) return Parse<onnx::TensorProto>(bytes);
  if (value.type->has_sequence_type()) return Parse<onnx::SequenceProto>(bytes);
  if (value.type->has_optional_type()) return Parse<onnx::OptionalProto>(bytes);
  if (value.type->has_sparse_tensor_type()) return Parse<onnx::SparseTensorProto>(bytes);
  return ModelError("expected a tensor, a sequence or an optional");
}

}  // namespace amp
