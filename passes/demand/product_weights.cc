#include "passes/demand/product_weights.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <vector>

#include "ir/graph/attributes.h"
#include "ir/graph/constant.h"
#include "ir/graph/shape.h"
#include "ir/operators/operator_roles.h"

namespace amp {
namespace {

constexpr int64_t kMostWeights = int64_t{1} << 16;

}  // namespace

// The axis of outputs is the first of a convolution's weights, the second of a transposed one's, whose groups lie along
// the first, the last of a matrix on the right, and the last but one of a matrix on the left.
WeightsLayout LayoutOfWeights(const Model& model, NodeId product, size_t port) {
  const Node& node = model.node(product);
  const Roles roles = RolesOf(model, product);
  const auto shape = ShapeOf(model, node.Input(port));
  const int64_t elements = NumElements(model, node.Input(port));
  if (!model.IsConstant(node.Input(port)) || !shape.has_value() || shape->size() < 2 || elements <= 0) return {};
  if (roles.Has(Role::kConvolution)) {
    const bool swaps = roles.Has(Role::kSwapsChannels);
    const int64_t groups = swaps ? GetInt(node, "group", 1) : 1;
    if (groups < 1 || shape->front() % groups != 0) return {};
    return {swaps ? size_t{1} : size_t{0}, static_cast<size_t>(groups)};
  }
  const bool is_transposed = GetInt(node, port == 1 ? "transB" : "transA", 0) != 0;
  const size_t rank = shape->size();
  const int64_t matrix = (*shape)[rank - 1] * (*shape)[rank - 2];
  return {(port == 1) != is_transposed ? rank - 1 : rank - 2, static_cast<size_t>(elements / matrix)};
}

ProductWeights ReadProductWeights(const Model& model, ValueId weights, const WeightsLayout& layout) {
  ProductWeights result;
  if (layout.blocks == 0) return result;
  const auto elements = ConstantElements(model, weights, kMostWeights);
  const auto shape = ShapeOf(model, weights);
  // An input that names a constant may leave its dimensions open.
  const bool is_whole = elements.has_value() && std::ssize(*elements) == NumElements(model, weights);
  if (!is_whole || elements->empty()) return result;
  size_t stride = 1;
  for (size_t i = layout.axis + 1; i < shape->size(); ++i) stride *= static_cast<size_t>((*shape)[i]);
  const auto outputs = static_cast<size_t>((*shape)[layout.axis]);
  const size_t block = elements->size() / layout.blocks;
  std::vector<double> squares(layout.blocks * outputs), sums(squares.size());
  for (size_t i = 0; i < elements->size(); ++i) {
    const size_t output = i / block * outputs + i / stride % outputs;
    squares[output] += (*elements)[i] * (*elements)[i];
    sums[output] += std::abs((*elements)[i]);
  }
  result.norm = std::sqrt(*std::max_element(squares.begin(), squares.end()));
  result.absolute_sum = *std::max_element(sums.begin(), sums.end());
  result.terms = static_cast<int64_t>(elements->size() / squares.size());
  result.is_non_negative = *std::min_element(elements->begin(), elements->end()) >= 0;
  const auto is_integer = [](double element) { return element == std::round(element); };
  result.is_whole = std::all_of(elements->begin(), elements->end(), is_integer);
  return result;
}

}  // namespace amp
