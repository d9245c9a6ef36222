#include "passes/train/add_head.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <random>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "ir/base/status.h"
#include "ir/graph/append_nodes.h"
#include "ir/graph/constant.h"
#include "ir/graph/graph_ports.h"
#include "ir/graph/infer.h"
#include "ir/graph/shape.h"
#include "passes/train/find_value.h"

namespace amp {
namespace {

constexpr size_t kRankOfRows = 2, kRankOfImages = 4;
constexpr int64_t kMostWeights = int64_t{1} << 28;  // of the new layer

// Its number of channels; nothing where a head does not fit it.
std::optional<int64_t> ChannelsOf(const Model& model, ValueId tensor) {
  const std::optional<std::vector<int64_t>> shape = ShapeOf(model, tensor);
  const bool fits = model.value(tensor).dtype == DType::kFloat32 && shape.has_value() &&
                    (shape->size() == kRankOfRows || shape->size() == kRankOfImages) && (*shape)[1] > 0;
  return fits ? std::optional<int64_t>((*shape)[1]) : std::nullopt;
}

struct Place {
  ValueId tensor = kNone;
  int64_t channels = 0;
};

absl::StatusOr<Place> FindPlace(const Model& model, const std::string& name) {
  const WantedValue wanted{.what = "a tensor float32[N, C] or float32[N, C, H, W] with C known",
                           .fits = [&](ValueId value) { return ChannelsOf(model, value).has_value(); }};
  AMP_ASSIGN_OR_RETURN(const ValueId tensor, FindNamedValue(model, name, "--head", wanted));
  if (const std::optional<int64_t> channels = ChannelsOf(model, tensor)) return Place{tensor, *channels};
  return UsageError("--head '", Escaped(name), "': expected ", wanted.what, ", found ", TypeText(model, tensor),
                    SuggestValues(model, wanted));
}

// In order; in the main graph.
std::vector<NodeId> NodesBehind(const Model& model, ValueId tensor) {
  absl::flat_hash_set<ValueId> behind = {tensor};
  std::vector<NodeId> nodes;
  for (const NodeId id : model.NodesInOrder(kMainGraph)) {
    const Node& node = model.node(id);
    const auto reads = [&](const ValueId in) { return behind.contains(in); };
    if (std::none_of(node.inputs.begin(), node.inputs.end(), reads)) continue;
    nodes.push_back(id);
    for (const ValueId out : node.PresentOutputs()) behind.insert(out);
  }
  return nodes;
}

// Something inside a body may read what is in front of it, which the node's inputs do not tell.
absl::Status RefuseBodies(const Model& model) {
  for (const NodeId id : model.NodesInOrder(kMainGraph)) {
    if (model.node(id).bodies.empty()) continue;
    return ModelError("--head: node '", Escaped(model.NodeLabel(id)), "' (", Escaped(model.node(id).op_type()),
                      "): expected a model without control flow, of which parts can be dropped");
  }
  return absl::OkStatus();
}

void DropOutputs(Model& model, const std::vector<NodeId>& nodes) {
  const absl::flat_hash_set<NodeId> dropped(nodes.begin(), nodes.end());
  const auto& outputs = model.graph(kMainGraph).outputs;
  for (size_t port = outputs.size(); port-- > 0;) {
    if (dropped.contains(model.value(outputs[port]).producer)) RemoveGraphOutput(model, port);
  }
}

// From the end on, whatever nothing reads.
void DropUnread(Model& model) {
  std::vector<NodeId> order = model.NodesInOrder(kMainGraph);
  std::reverse(order.begin(), order.end());
  for (const NodeId id : order) {
    const auto& outputs = model.node(id).outputs;
    const bool is_read =
        std::any_of(outputs.begin(), outputs.end(), [&](ValueId out) { return !model.value(out).uses.empty(); });
    if (!is_read) model.Erase(id);
  }
  const std::vector<ValueId> initializers = model.graph(kMainGraph).initializers;
  for (const ValueId id : initializers) {
    if (model.value(id).uses.empty() && !model.value(id).is_graph_input) model.RemoveInitializer(id);
  }
}

// By Glorot and Bengio 2010. The engine's numbers are the same everywhere; the library's distributions are not.
FloatTensor GlorotUniform(int64_t inputs, int64_t outputs, uint64_t seed) {
  constexpr double kGlorot = 6, kBits = 53;
  std::mt19937_64 engine(seed);
  const double limit = std::sqrt(kGlorot / static_cast<double>(inputs + outputs));
  FloatTensor weights{.dims = {inputs, outputs}, .elements = {}};
  weights.elements.resize(static_cast<size_t>(inputs * outputs));
  for (float& weight : weights.elements) {
    const double unit = std::ldexp(static_cast<double>(engine() >> 11), -static_cast<int>(kBits));  // in [0, 1)
    weight = static_cast<float>((2 * unit - 1) * limit);
  }
  return weights;
}

}  // namespace

absl::StatusOr<Head> AddHead(Model& model, const HeadSettings& settings) {
  AMP_ASSIGN_OR_RETURN(const Place place, FindPlace(model, settings.tensor));
  const auto [tensor, channels] = place;
  if (settings.units > kMostWeights / channels) {
    return LimitError("--head: ", channels, " x ", settings.units, " weights; expected at most ", kMostWeights);
  }
  AMP_RETURN_IF_ERROR(RefuseBodies(model));
  DropOutputs(model, NodesBehind(model, tensor));
  NodeAppender append(model, "head");
  ValueId rows = tensor;
  if (ShapeOf(model, tensor)->size() == kRankOfImages) {
    rows = append.Add("Flatten", {append.Add("GlobalAveragePool", {tensor})});
  }
  Head head;
  head.weight = model.AddInitializer(kMainGraph, model.UniqueName("head.weight"),
                                     MakeTensor(model, GlorotUniform(channels, settings.units, settings.seed)));
  head.bias = model.AddInitializer(kMainGraph, model.UniqueName("head.bias"), MakeZeros(model, {settings.units}));
  head.logits = append.Add("Gemm", {rows, head.weight, head.bias});
  model.Rename(head.logits, model.UniqueName("head.logits"));
  InferTypes(model);
  AddGraphOutput(model, head.logits);
  DropUnread(model);
  return head;
}

}  // namespace amp
