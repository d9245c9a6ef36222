#include "ir/graph/shape.h"

#include "absl/strings/str_cat.h"
#include "ir/base/saturated.h"
#include "ir/base/status.h"
#include "onnx/onnx_pb.h"

namespace amp {

namespace {

std::optional<std::vector<int64_t>> ShapeIn(const onnx::TypeProto& type) {
  if (!type.has_tensor_type() || !type.tensor_type().has_shape()) return std::nullopt;
  std::vector<int64_t> dims;
  for (const auto& dim : type.tensor_type().shape().dim()) {
    dims.push_back(dim.has_dim_value() && dim.dim_value() >= 0 ? dim.dim_value() : kUnknownDim);
  }
  return dims;
}

}  // namespace

std::optional<std::vector<int64_t>> ShapeOf(const Model& model, ValueId value) {
  const Value& v = model.value(value);
  return v.is_tensor && v.type != nullptr ? ShapeIn(*v.type) : std::nullopt;
}

std::optional<std::vector<int64_t>> StatedInputShape(const Model& model, GraphId graph, size_t port) {
  return ShapeIn(model.graph(graph).proto->input(static_cast<int>(port)).type());
}

std::optional<std::vector<int64_t>> StatedOutputShape(const Model& model, GraphId graph, size_t port) {
  return ShapeIn(model.graph(graph).proto->output(static_cast<int>(port)).type());
}

std::vector<std::string> DimSymbols(const Model& model, ValueId value) {
  const Value& v = model.value(value);
  std::vector<std::string> symbols;
  if (!v.is_tensor || v.type == nullptr) return symbols;
  for (const auto& dim : v.type->tensor_type().shape().dim()) symbols.push_back(dim.dim_param());
  return symbols;
}

int64_t NumElements(const Model& model, ValueId value) {
  const auto dims = ShapeOf(model, value);
  if (!dims.has_value()) return -1;
  int64_t product = 1;
  for (int64_t dim : *dims) {
    if (dim == kUnknownDim) return -1;
    product = SaturatedProduct(product, dim);
  }
  return product;
}

int64_t NumBytes(const Model& model, ValueId value) {
  const int64_t elements = NumElements(model, value);
  return elements < 0 ? 0 : SaturatedProduct(elements, BitsPerElement(model.value(value).dtype)) / 8;
}

std::string TypeText(const Model& model, ValueId value) {
  const Value& v = model.value(value);
  if (v.type == nullptr) return "unknown";
  if (!v.is_tensor)
    return v.type->has_sequence_type() ? "sequence" : v.type->has_optional_type() ? "optional" : "other";
  std::string text(DTypeName(v.dtype));
  if (!v.type->tensor_type().has_shape()) return text;
  absl::StrAppend(&text, "[");
  absl::string_view separator = "";
  for (const auto& dim : v.type->tensor_type().shape().dim()) {
    absl::StrAppend(&text, separator,
                    dim.has_dim_value()       ? absl::StrCat(dim.dim_value())
                    : dim.dim_param().empty() ? "?"
                                              : Escaped(dim.dim_param()));
    separator = ",";
  }
  return absl::StrCat(text, "]");
}

}  // namespace amp
