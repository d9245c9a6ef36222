#include "ir/operators/matrix_dims.h"

#include <optional>

#include "ir/graph/attributes.h"
#include "ir/graph/shape.h"

namespace amp {
namespace {

using Dims = std::vector<int64_t>;

void AddKnown(const char* name, int64_t size, std::vector<MatrixDim>& dims) {
  if (size > 0) dims.push_back({name, size});
}

std::vector<MatrixDim> ProductDims(const Model& model, const Node& node) {
  const std::optional<Dims> a = ShapeOf(model, node.Input(0)), b = ShapeOf(model, node.Input(1));
  const bool turn_a = GetInt(node, "transA", 0) != 0, turn_b = GetInt(node, "transB", 0) != 0;
  // `from_end` counts from 1; a vector is a row on the left and a column on the right, and has no second dimension.
  const auto at = [](const std::optional<Dims>& shape, size_t from_end) {
    return shape && shape->size() >= from_end ? (*shape)[shape->size() - from_end] : kUnknownDim;
  };
  const bool is_column = b && b->size() == 1;
  int64_t k = a && a->size() == 1 ? (*a)[0] : at(a, turn_a ? 2 : 1);
  if (k == kUnknownDim) k = is_column ? (*b)[0] : at(b, turn_b ? 1 : 2);
  std::vector<MatrixDim> dims;
  AddKnown("M", at(a, turn_a ? 1 : 2), dims);
  AddKnown("N", is_column ? kUnknownDim : at(b, turn_b ? 2 : 1), dims);
  AddKnown("K", k, dims);
  return dims;
}

// Weights are [outputs, inputs / group, ...], those of ConvTranspose [inputs, outputs / group, ...].
std::vector<MatrixDim> ConvDims(const Model& model, const Node& node) {
  const std::optional<Dims> w = ShapeOf(model, node.Input(1));
  const int64_t groups = GetInt(node, "group", 1);
  if (!w || w->size() < 2 || groups < 1) return {};
  const bool is_transposed = node.Has(Role::kSwapsChannels);
  const bool is_known = (*w)[0] != kUnknownDim && (*w)[0] % groups == 0;
  const int64_t first = is_known ? (*w)[0] / groups : kUnknownDim, second = (*w)[1];
  std::vector<MatrixDim> dims;
  AddKnown("input channels", is_transposed ? first : second, dims);
  AddKnown("output channels", is_transposed ? second : first, dims);
  return dims;
}

}  // namespace

std::vector<MatrixDim> MatrixDims(const Model& model, NodeId id) {
  const Node& node = model.node(id);
  if (model.IsCallOfFunction(id)) return {};
  if (node.Has(Role::kMatrixProduct)) return ProductDims(model, node);
  if (node.Has(Role::kConvolution)) return ConvDims(model, node);
  return {};
}

}  // namespace amp
