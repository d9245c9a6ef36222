#include "ir/patterns/linear_producer.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "ir/base/status.h"
#include "ir/graph/attributes.h"
#include "ir/graph/shape.h"
#include "ir/schema/schema.h"

namespace amp {
namespace {

using Dims = std::vector<int64_t>;

constexpr size_t kWeights = 1, kBias = 2;

int64_t Product(const Dims& dims) { return std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<>()); }

// Fills in where the channels are; false where that is not known.
bool LayOutConvolution(const Node& node, const Dims& dims, LinearProducer& producer) {
  if (dims.size() < 3) return false;
  const bool is_transposed = node.Has(Role::kSwapsChannels);
  const int64_t groups = GetInt(node, "group", 1), size = Product(dims);
  if (groups < 1 || dims[0] % groups != 0) return false;
  producer.num_groups = is_transposed ? groups : 1;
  producer.num_channels = is_transposed ? dims[1] * groups : dims[0];
  producer.per_group = size / producer.num_groups;
  producer.stride = is_transposed ? size / dims[0] / dims[1] : size / dims[0];
  return true;
}

bool LayOutProduct(const Model& model, const Node& node, const Dims& dims, LinearProducer& producer) {
  const auto result = ShapeOf(model, node.Output(0));
  if (dims.size() != 2 || !result || result->size() != 2) return false;  // axis 1 has to be the last one
  const bool is_turned = GetInt(node, "transB", 0) != 0;
  producer.num_channels = dims[is_turned ? 0 : 1];
  producer.stride = is_turned ? dims[1] : 1;
  producer.per_group = Product(dims);
  return true;
}

// Whether the bias is the same for all positions of a channel: one element in all, or one per channel.
bool IsPerChannel(const Model& model, ValueId bias, int64_t num_channels) {
  const auto dims = ShapeOf(model, bias);
  if (!dims || dims->size() > 2) return false;
  const bool is_row = dims->size() < 2 || dims->front() == 1;
  return is_row && (Product(*dims) == 1 || Product(*dims) == num_channels);
}

// Elements of weights that several nodes share, and that may be stored once more for one of them.
constexpr int64_t kLargestCopy = 4096;

}  // namespace

std::optional<LinearProducer> FindLinearProducer(const Model& model, ValueId value, NodeId reader) {
  const NodeId id = model.value(value).producer;
  const std::vector<Use>& uses = model.value(value).uses;
  if (id == kNone || uses.size() != 1 || uses.front().node != reader) return std::nullopt;
  const Node& node = model.node(id);
  if (node.graph != model.node(reader).graph || node.schema == nullptr || model.IsCallOfFunction(id))
    return std::nullopt;
  if (!node.op->roles.HasAny(Role::kConvolution | Role::kMatrixProduct)) return std::nullopt;
  const auto dims = ShapeOf(model, node.Input(kWeights));
  const bool is_known = dims && std::all_of(dims->begin(), dims->end(), [](int64_t dim) { return dim > 0; });
  if (!is_known || !IsFloat32Constant(model, node.Input(kWeights))) return std::nullopt;
  const bool needs_copy = model.value(node.Input(kWeights)).uses.size() > 1;
  if (needs_copy && Product(*dims) > kLargestCopy) return std::nullopt;
  LinearProducer producer{.node = id, .weights = node.Input(kWeights), .bias = node.Input(kBias)};
  const bool has_layout = node.Has(Role::kConvolution) ? LayOutConvolution(node, *dims, producer)
                                                       : LayOutProduct(model, node, *dims, producer);
  if (!has_layout) return std::nullopt;
  producer.takes_addend = node.schema->num_inputs() > static_cast<int>(kBias);
  producer.bias_factor = GetFloat(node, "beta", 1);
  if (producer.bias == kNone) return producer;
  const bool is_foldable =
      IsFloat32Constant(model, producer.bias) && IsPerChannel(model, producer.bias, producer.num_channels);
  return is_foldable ? std::optional(producer) : std::nullopt;
}

absl::StatusOr<FoldedConstants> Fold(const Model& model, const LinearProducer& producer, const ScaleAndShift& formula) {
  const auto channel = [](int64_t index) { return static_cast<size_t>(index); };
  FoldedConstants folded;
  AMP_ASSIGN_OR_RETURN(folded.weights, MapConstant(model, producer.weights, [&](int64_t i, double weight) {
                         return weight * formula.factor[channel(producer.ChannelOf(i))];
                       }));
  std::vector<double> bias(formula.addend.size(), 0.0);
  if (producer.bias != kNone) {
    AMP_ASSIGN_OR_RETURN(const FloatTensor before,
                         MapConstant(model, producer.bias, [](int64_t, double x) { return x; }));
    for (size_t i = 0; i < bias.size(); ++i) bias[i] = before.elements[before.elements.size() == 1 ? 0 : i];
  }
  folded.bias.dims = {static_cast<int64_t>(bias.size())};
  for (size_t i = 0; i < bias.size(); ++i) {
    const double moved = bias[i] * producer.bias_factor * formula.factor[i] + formula.addend[i];
    folded.bias.elements.push_back(static_cast<float>(moved));
  }
  return folded;
}

}  // namespace amp
