#include "ir/file/validate_tensor.h"

#include <cstdint>
#include <optional>

#include "ir/base/dtype.h"
#include "ir/base/status.h"
#include "ir/file/external_data.h"
#include "ir/file/tensor_view.h"
#include "onnx/onnx_pb.h"

namespace amp {
namespace {

absl::Status ValidateDims(absl::Span<const int64_t> dims, const Limits& limits, int64_t* num_elements) {
  if (static_cast<int64_t>(dims.size()) > limits.rank) {
    return LimitError("expected at most ", limits.rank, " dimensions, found ", dims.size());
  }
  for (const int64_t dim : dims) {
    if (dim < 0) return ModelError("expected dimensions of at least 0, found ", dim);
  }
  const std::optional<int64_t> count = ElementCount(dims);
  if (!count.has_value()) return ModelError("expected dimensions whose product fits 63 bits, found more");
  if (*count > limits.elements) return LimitError("expected at most ", limits.elements, " elements, found ", *count);
  *num_elements = *count;
  return absl::OkStatus();
}

// Which field of the message holds elements, how many entries it has, and how many fields are filled in all.
struct Payload {
  const char* field = "no data";
  int64_t entries = 0;
  int fields_filled = 0;
};

Payload FindPayload(const onnx::TensorProto& tensor, const LeftOutPayloads* left_out) {
  Payload found;
  const auto note = [&](const char* field, int64_t entries) {
    if (entries == 0) return;
    found = {field, entries, found.fields_filled + 1};
  };
  note("float_data", tensor.float_data_size());
  note("int32_data", tensor.int32_data_size());
  note("int64_data", tensor.int64_data_size());
  note("double_data", tensor.double_data_size());
  note("uint64_data", tensor.uint64_data_size());
  note("string_data", tensor.string_data_size());
  int64_t raw = static_cast<int64_t>(tensor.raw_data().size());
  if (left_out != nullptr) {
    if (auto it = left_out->find(&tensor); it != left_out->end()) raw = it->second;
  }
  note("raw_data", raw);
  return found;
}

// The typed field for `dtype`, and how many entries `num_elements` elements take there.
Payload TypedField(DType dtype, int64_t num_elements) {
  switch (dtype) {
    case DType::kFloat32:
      return {"float_data", num_elements, 1};
    case DType::kComplex64:
      return {"float_data", 2 * num_elements, 1};
    case DType::kFloat64:
      return {"double_data", num_elements, 1};
    case DType::kComplex128:
      return {"double_data", 2 * num_elements, 1};
    case DType::kInt64:
      return {"int64_data", num_elements, 1};
    case DType::kUint32:
    case DType::kUint64:
      return {"uint64_data", num_elements, 1};
    case DType::kString:
      return {"string_data", num_elements, 1};
    default:
      if (BitsPerElement(dtype) < 6) return {"int32_data", RawBytes(dtype, num_elements).value_or(-1), 1};
      return {"int32_data", num_elements, 1};
  }
}

absl::Status ValidateExternal(const onnx::TensorProto& tensor, const Payload& found, int64_t num_elements) {
  if (found.fields_filled != 0) return ModelError("expected external data alone, found ", found.field, " as well");
  const DType dtype = static_cast<DType>(tensor.data_type());
  if (dtype == DType::kString) return ModelError("expected strings in string_data, found external data");
  AMP_ASSIGN_OR_RETURN(const ExternalReference reference, ParseExternalReference(tensor));
  const std::optional<int64_t> size = RawBytes(dtype, num_elements);
  if (!size.has_value()) return ModelError("expected dimensions whose bytes fit 63 bits, found more");
  if (reference.length >= 0 && reference.length != *size) {
    return ModelError("external data length: expected ", *size, " bytes for its shape and type, found ",
                      reference.length);
  }
  return absl::OkStatus();
}

}  // namespace

bool IsKnownElementType(int64_t type) { return type > 0 && type < kNumDTypes; }

absl::Status ValidateTensor(const onnx::TensorProto& tensor, const Limits& limits, const LeftOutPayloads* left_out) {
  if (!IsKnownElementType(tensor.data_type())) {
    return ModelError("expected an element type of 1 to ", kNumDTypes - 1, ", found ", tensor.data_type());
  }
  if (tensor.has_segment()) return ModelError("expected a whole tensor, found a segment of one");
  int64_t num_elements = 0;
  AMP_RETURN_IF_ERROR(ValidateDims(tensor.dims(), limits, &num_elements));
  const DType dtype = static_cast<DType>(tensor.data_type());
  const Payload found = FindPayload(tensor, left_out);
  if (IsExternal(tensor)) return ValidateExternal(tensor, found, num_elements);
  if (found.fields_filled > 1) {
    return ModelError("expected one field with data, found ", found.fields_filled, ", among them ", found.field);
  }
  if (found.field == absl::string_view("raw_data") && dtype != DType::kString) {
    const std::optional<int64_t> expected = RawBytes(dtype, num_elements);
    if (expected.has_value() && *expected == found.entries) return absl::OkStatus();
    return ModelError("expected ", expected.value_or(-1), " bytes of raw_data for its shape and type, found ",
                      found.entries);
  }
  const Payload expected = TypedField(dtype, num_elements);
  const bool matches =
      expected.entries == found.entries && (expected.entries == 0 || absl::string_view(expected.field) == found.field);
  if (matches) return absl::OkStatus();
  return ModelError("expected ", expected.entries, " entries of ", expected.field,
                    " or raw_data for its shape and type, found ", found.entries,
                    found.fields_filled == 0 ? "" : " of ", found.fields_filled == 0 ? "" : found.field);
}

absl::Status ValidateSparseTensor(const onnx::SparseTensorProto& sparse, const Limits& limits,
                                  const LeftOutPayloads* left_out) {
  AMP_RETURN_IF_ERROR(ValidateTensor(sparse.values(), limits, left_out));
  int64_t dense_size = 0;
  AMP_RETURN_IF_ERROR(ValidateDims(sparse.dims(), limits, &dense_size));
  const int64_t rank = sparse.dims_size();
  if (rank == 0 || dense_size == 0) return ModelError("sparse tensor: expected positive dimensions, found others");
  if (sparse.values().dims_size() != 1) {
    return ModelError("sparse tensor values: expected rank 1, found ", sparse.values().dims_size());
  }
  const int64_t count = sparse.values().dims(0);
  if (!sparse.has_indices() && count == 0) return absl::OkStatus();
  const onnx::TensorProto& indices = sparse.indices();
  AMP_RETURN_IF_ERROR(ValidateTensor(indices, limits, left_out));
  const bool linear = indices.dims_size() == 1;
  const bool pairs = indices.dims_size() == 2 && indices.dims(1) == rank;
  if (indices.data_type() != onnx::TensorProto::INT64 || (!linear && !pairs) || indices.dims(0) != count) {
    return ModelError("sparse tensor indices: expected int64 of shape [", count, "] or [", count, ", ", rank,
                      "], found others");
  }
  if (IsExternal(indices) || (left_out != nullptr && left_out->contains(&indices))) return absl::OkStatus();
  AMP_ASSIGN_OR_RETURN(const TensorView view, TensorView::Of(indices, nullptr));
  AMP_ASSIGN_OR_RETURN(const std::vector<int64_t> values, view.ReadAsInt64(view.num_elements()));
  int64_t previous = -1;
  for (int64_t i = 0; i < count; ++i) {
    int64_t position = 0;
    for (int64_t j = 0; j < (linear ? 1 : rank); ++j) {
      const int64_t bound = linear ? dense_size : sparse.dims(static_cast<int>(j));
      const int64_t index = values[static_cast<size_t>(linear ? i : i * rank + j)];
      if (index < 0 || index >= bound) {
        return ModelError("sparse tensor indices: expected 0 to ", bound - 1, ", found ", index);
      }
      position = linear ? index : position * bound + index;
    }
    if (position <= previous) return ModelError("sparse tensor indices: expected ascending order, found another");
    previous = position;
  }
  return absl::OkStatus();
}

}  // namespace amp
