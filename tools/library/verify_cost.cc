#include "tools/library/verify_cost.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "ir/graph/shape.h"
#include "tools/library/made_up_inputs.h"

namespace amp {
namespace {

std::vector<double> LikelyDims(const Model& model, ValueId value) {
  std::vector<double> dims;
  if (value == kNone) return dims;
  const std::optional<std::vector<int64_t>> shape = ShapeOf(model, value);
  if (!shape.has_value()) return dims;
  for (const int64_t dim : *shape) {
    const int64_t unknown = dims.empty() ? 1 : MadeUpInputs::kUsualDim;
    dims.push_back(static_cast<double>(dim == kUnknownDim ? unknown : dim));
  }
  return dims;
}

double Product(const std::vector<double>& dims) {
  double product = 1;
  for (const double dim : dims) product *= dim;
  return product;
}

double LikelyElements(const Model& model, ValueId value) {
  const bool is_known = value != kNone && ShapeOf(model, value).has_value();
  return is_known ? Product(LikelyDims(model, value)) : 0;
}

// How many products an element of the result is the sum of.
double ProductsOfElement(const Model& model, const Node& node) {
  const std::vector<double> a = LikelyDims(model, node.Input(0)), b = LikelyDims(model, node.Input(1));
  if (b.empty() || a.empty()) return 1;
  if (node.Has(Role::kConvolution)) return Product(b) / std::max(b.front(), 1.0);
  return node.Has(Role::kMatrixProduct) ? a.back() : 1;
}

}  // namespace

double RunCost::Seconds(int processors) const {
  constexpr double kFlopsPerSecond = 1e10, kBytesPerSecond = 1e9, kSecondsOfNode = 5e-5;
  return flops / (kFlopsPerSecond * processors) + (bytes + weight_bytes) / kBytesPerSecond + nodes * kSecondsOfNode;
}

RunCost EstimateRun(const Model& model) {
  RunCost cost;
  for (const NodeId id : model.AllNodes()) {
    const Node& node = model.node(id);
    double elements = 0;
    ++cost.nodes;
    for (const ValueId output : node.PresentOutputs()) elements += LikelyElements(model, output);
    cost.bytes += elements * static_cast<double>(sizeof(float));
    cost.flops += 2 * elements * ProductsOfElement(model, node);
  }
  for (const ValueId id : model.AllValues()) {
    if (model.value(id).IsInitializer()) cost.weight_bytes += static_cast<double>(NumBytes(model, id));
  }
  return cost;
}

}  // namespace amp
