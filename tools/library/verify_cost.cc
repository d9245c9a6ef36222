#include "tools/library/verify_cost.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "absl/strings/match.h"
#include "ir/functions/inline_plan.h"
#include "ir/graph/attributes.h"
#include "ir/graph/shape.h"
#include "tools/library/made_up_inputs.h"

namespace amp {
namespace {

constexpr double kBytesPerSecond = 1e9, kSecondsOfNode = 5e-5;

using Sizes = std::vector<double>;  // of a value's dimensions; empty for a scalar, and where they are not known

double ElementsOf(const Sizes& dims) {
  double product = 1;
  for (const double dim : dims) product *= dim;
  return product;
}

// One multiplication and addition for each element of the window, and place of the result.
double FlopsOfConvolution(const Node& node, const Sizes& x, const Sizes& w) {
  double places = 1, strides = 1;
  for (size_t axis = 0; axis < x.size(); ++axis) places *= axis == 1 ? 1 : x[axis];
  for (const int64_t stride : GetInts(node, "strides").value_or(std::vector<int64_t>())) {
    strides *= static_cast<double>(std::max<int64_t>(stride, 1));
  }
  const bool slides_over_result = absl::StrContains(node.op_type(), "Transpose");
  return 2 * places * ElementsOf(w) / (slides_over_result ? 1 : strides);
}

double FlopsOfMatrixProduct(const Node& node, const Sizes& a, const Sizes& b) {
  const bool transposes_b = GetInt(node, "transB", 0) != 0;
  const double columns = b.size() < 2 ? 1 : transposes_b ? b[b.size() - 2] : b.back();
  return 2 * ElementsOf(a) * columns;
}

bool IsRecurrent(absl::string_view op_type) {
  return absl::EndsWith(op_type, "LSTM") || op_type == "GRU" || op_type == "RNN";
}

// From the sizes of the inputs alone.
double FlopsOfSizes(const Node& node, const std::vector<Sizes>& inputs) {
  const auto input = [&](size_t port) { return port < inputs.size() ? inputs[port] : Sizes(); };
  const Sizes x = input(0), w = input(1);
  if (node.Has(Role::kConvolution)) return FlopsOfConvolution(node, x, w);
  if (node.Has(Role::kMatrixProduct)) return FlopsOfMatrixProduct(node, x, w);
  if (IsRecurrent(node.op_type()) && x.size() == 3) return 2 * x[0] * x[1] * (ElementsOf(w) + ElementsOf(input(2)));
  if (node.op_type() == "Einsum") return 2 * ElementsOf(x) * std::sqrt(ElementsOf(w));
  if (absl::StrContains(node.op_type(), "Attention") && x.size() > 2) return 8 * ElementsOf(x) * x[x.size() - 2];
  return ElementsOf(x);
}

class Estimator {
 public:
  Estimator(const Model& model, const std::map<std::string, int64_t>& sizes) : model_(model), sizes_(sizes) {}

  RunCost Estimate() const {
    RunCost cost;
    for (const NodeId id : model_.AllNodes()) {
      const Node& node = model_.node(id);
      ++cost.nodes;
      std::vector<Sizes> inputs;
      for (const ValueId value : node.inputs) inputs.push_back(LikelyDims(value));
      cost.flops += FlopsOfSizes(node, inputs);
      for (const ValueId output : node.PresentOutputs()) {
        if (!ShapeOf(model_, output).has_value()) continue;
        cost.bytes += ElementsOf(LikelyDims(output)) * static_cast<double>(sizeof(float));
      }
    }
    cost.nodes += NodesOfFunctions();
    return cost;
  }

 private:
  // Sessions inline what the model calls.
  double NodesOfFunctions() const {
    constexpr double kBytesOfNode = 64;
    return static_cast<double>(InlinePlan(model_.proto(), {}).AddedBytes()) / kBytesOfNode;
  }

  Sizes LikelyDims(ValueId value) const {
    Sizes dims;
    const auto shape = value == kNone ? std::nullopt : ShapeOf(model_, value);
    if (!shape.has_value()) return dims;
    const std::vector<std::string> symbols = DimSymbols(model_, value);
    for (size_t axis = 0; axis < shape->size(); ++axis) {
      const int64_t known = (*shape)[axis];
      dims.push_back(static_cast<double>(known == kUnknownDim ? LikelyDim(symbols[axis], axis) : known));
    }
    return dims;
  }

  int64_t LikelyDim(const std::string& symbol, size_t axis) const {
    const auto given = sizes_.find(symbol);
    if (given != sizes_.end()) return given->second;
    return axis == 0 ? 1 : MadeUpInputs::kUsualDim;
  }

  const Model& model_;
  const std::map<std::string, int64_t>& sizes_;
};

}  // namespace

double RunCost::Seconds(int processors) const {
  return flops / (kFlopsPerSecond * processors) + bytes / kBytesPerSecond + nodes * kSecondsOfNode;
}

RunCost EstimateRun(const Model& model, const std::map<std::string, int64_t>& sizes) {
  return Estimator(model, sizes).Estimate();
}

double FlopsOfNode(const Node& node, absl::Span<const Datum* const> inputs) {
  std::vector<Sizes> sizes;
  for (const Datum* const datum : inputs) {
    const Tensor* const tensor = datum == nullptr ? nullptr : datum->tensor();
    sizes.push_back(tensor == nullptr ? Sizes() : Sizes(tensor->dims().begin(), tensor->dims().end()));
  }
  return FlopsOfSizes(node, sizes);
}

}  // namespace amp
