#include "runtime/plan/find_epilogues.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "ir/graph/attributes.h"
#include "ir/graph/constant.h"
#include "ir/graph/shape.h"
#include "ir/operators/operator_facts.h"
#include "ir/patterns/gelu_pattern.h"
#include "ir/patterns/hard_swish_pattern.h"
#include "ir/patterns/silu_pattern.h"
#include "ir/schema/schema.h"
#include "runtime/kernel/clip_bounds.h"

namespace amp {
namespace {

constexpr float kHardSigmoidSlope = 0.2f, kHalf = 0.5f, kLeak = 0.01f;
constexpr size_t kMostSteps = 8;
// From this opset on; before it, attributes said whether an operand broadcasts, and along which axis.
constexpr int kBroadcastsAsNumPy = 7;

bool IsLowOrFloat32(DType dtype) {
  return dtype == DType::kFloat32 || dtype == DType::kFloat16 || dtype == DType::kBfloat16;
}

// Returns a bound of Clip, which an attribute or a constant input states; nothing if the bound is computed at run time.
std::optional<float> Bound(const Model& model, const Node& node, absl::string_view attribute, size_t port,
                           float fallback) {
  if (const std::optional<float> stated = GetFloat(node, attribute)) return stated;
  if (node.Input(port) == kNone) return fallback;
  const std::optional<double> constant = ScalarConstant(model, node.Input(port));
  if (!constant.has_value()) return std::nullopt;
  return static_cast<float>(*constant);
}

// Returns the epilogue step that computes an operator of one data input; nothing if no step does.
using MakeStep = std::optional<EpilogueStep> (*)(const Model&, const Node&);

template <EpilogueKind kind>
std::optional<EpilogueStep> Plain(const Model&, const Node&) {
  return EpilogueStep{.kind = kind};
}
std::optional<EpilogueStep> Leaky(const Model&, const Node& node) {
  return EpilogueStep{.kind = EpilogueKind::kRelu, .alpha = GetFloat(node, "alpha", kLeak)};
}
std::optional<EpilogueStep> Elu(const Model&, const Node& node) {
  return EpilogueStep{.kind = EpilogueKind::kElu, .alpha = GetFloat(node, "alpha", 1)};
}
std::optional<EpilogueStep> HardSigmoid(const Model&, const Node& node) {
  return EpilogueStep{.kind = EpilogueKind::kHardSigmoid,
                      .alpha = GetFloat(node, "alpha", kHardSigmoidSlope),
                      .beta = GetFloat(node, "beta", kHalf)};
}
std::optional<EpilogueStep> Clip(const Model& model, const Node& node) {
  const ClipBounds absent = AbsentClipBounds(model.value(node.Input(0)).dtype, node.schema->since_version());
  const std::optional<float> low = Bound(model, node, "min", 1, static_cast<float>(absent.low));
  const std::optional<float> high = Bound(model, node, "max", 2, static_cast<float>(absent.high));
  if (!low.has_value() || !high.has_value() || !(*low <= *high)) return std::nullopt;
  return EpilogueStep{.kind = EpilogueKind::kClip, .alpha = *low, .beta = *high};
}
std::optional<EpilogueStep> Gelu(const Model&, const Node& node) {
  const bool is_tanh = GetString(node, "approximate", "none") == "tanh";
  return EpilogueStep{.kind = is_tanh ? EpilogueKind::kGeluTanh : EpilogueKind::kGeluErf};
}

struct Activation {
  absl::string_view op_type;
  MakeStep step;
  absl::string_view domain = "";
};
constexpr Activation kActivations[] = {
    {"Relu", Plain<EpilogueKind::kRelu>},
    {"LeakyRelu", Leaky},
    {"Clip", Clip},
    {"Sigmoid", Plain<EpilogueKind::kSigmoid>},
    {"Tanh", Plain<EpilogueKind::kTanh>},
    {"HardSigmoid", HardSigmoid},
    {"HardSwish", Plain<EpilogueKind::kHardSwish>},
    {"Elu", Elu},
    {"Gelu", Gelu},
    {"Gelu", Plain<EpilogueKind::kGeluErf>, "com.microsoft"},
};

// Activations written out as several nodes, by the value that they are applied to.
using Patterns = absl::flat_hash_map<ValueId, Pattern>;

Patterns FindPatterns(const Model& model) {
  Patterns patterns;
  for (const NodeId id : model.AllNodes()) {
    for (const auto recognise : {RecogniseGelu, RecogniseSilu, RecogniseHardSwish}) {
      Recognised found = recognise(model, id);
      if (found.found()) patterns.emplace(found.pattern().inputs[0], found.pattern());
    }
  }
  return patterns;
}

EpilogueStep StepOf(PatternKind kind) {
  switch (kind) {
    case PatternKind::kTanhGelu:
      return {.kind = EpilogueKind::kGeluTanh};
    case PatternKind::kSilu:
      return {.kind = EpilogueKind::kSwish, .alpha = 1};
    case PatternKind::kHardSwish:
      return {.kind = EpilogueKind::kHardSwish};
    default:
      return {.kind = EpilogueKind::kGeluErf};
  }
}

class EpilogueFinder {
 public:
  EpilogueFinder(const Model& model, const MayHaveEpilogue& may_have, FusedNodes& taken)
      : model_(model), patterns_(FindPatterns(model)), may_have_(may_have), taken_(taken) {}

  void Find(std::vector<Fusion>& fusions) {
    for (const GraphId graph : model_.AllGraphs()) {
      for (const NodeId id : model_.NodesInOrder(graph)) {
        const Node& node = model_.node(id);
        const bool may_end = node.Has(Role::kMatrixProduct) || node.Has(Role::kConvolution);
        if (!may_end || taken_[id] || !IsLowOrFloat32(model_.value(node.Output(0)).dtype) || !may_have_(id)) continue;
        Fusion fusion = Grow(id);
        if (fusion.nodes.size() == 1) continue;
        for (const NodeId part : fusion.nodes) taken_[part] = true;
        fusions.push_back(std::move(fusion));
      }
    }
  }

 private:
  Fusion Grow(NodeId root) {
    Fusion fusion{.nodes = {root}, .result = model_.node(root).Output(0)};
    while (fusion.epilogue.steps.size() < kMostSteps && fusion.epilogue.stores_as == DType::kUndefined) {
      if (!AddPattern(fusion) && !AddReader(fusion)) break;
    }
    return fusion;
  }

  bool AddPattern(Fusion& fusion) {
    const auto it = patterns_.find(fusion.result);
    if (it == patterns_.end() || IsGiven(fusion.result)) return false;
    const std::vector<NodeId>& nodes = it->second.nodes;
    const auto is_inside = [&](NodeId id) { return std::find(nodes.begin(), nodes.end(), id) != nodes.end(); };
    for (const Use& use : model_.value(fusion.result).uses) {
      if (!is_inside(use.node)) return false;
    }
    for (const NodeId id : nodes) {
      if (taken_[id] || model_.node(id).graph != model_.node(fusion.nodes[0]).graph) return false;
    }
    fusion.nodes.insert(fusion.nodes.end(), nodes.begin(), nodes.end());
    fusion.epilogue.steps.push_back(StepOf(it->second.kind));
    fusion.result = model_.node(it->second.last()).Output(0);
    return true;
  }

  bool AddReader(Fusion& fusion) {
    const auto& uses = model_.value(fusion.result).uses;
    if (uses.size() != 1 || uses[0].IsGraphOutput()) return false;
    const NodeId id = uses[0].node;
    const Node& node = model_.node(id);
    if (taken_[id] || node.graph != model_.node(fusion.nodes[0]).graph || node.Output(0) == kNone) return false;
    if (!AddActivation(fusion, node) && !AddArithmetic(fusion, node, uses[0].port) && !AddCast(fusion, id))
      return false;
    fusion.nodes.push_back(id);
    fusion.result = node.Output(0);
    return true;
  }

  bool AddActivation(Fusion& fusion, const Node& node) const {
    for (const Activation& activation : kActivations) {
      const bool is_it = node.schema != nullptr && node.op_type() == activation.op_type &&
                         node.domain() == activation.domain && node.Input(0) == fusion.result;
      if (!is_it) continue;
      const std::optional<EpilogueStep> step = activation.step(model_, node);
      if (step.has_value()) fusion.epilogue.steps.push_back(*step);
      return step.has_value();
    }
    return false;
  }

  // Adds a step for a sum or a product with an operand whose rank is not larger.
  bool AddArithmetic(Fusion& fusion, const Node& node, size_t port) const {
    const bool adds = node.Has(Role::kAdds) && !node.Has(Role::kSubtracts), multiplies = node.Has(Role::kMultiplies);
    if ((!adds && !multiplies) || node.inputs.size() != 2) return false;
    if (node.schema == nullptr || node.schema->since_version() < kBroadcastsAsNumPy) return false;
    const ValueId operand = node.Input(1 - port);
    if (operand == kNone || model_.value(operand).dtype != model_.value(fusion.result).dtype) return false;
    const auto x = ShapeOf(model_, fusion.result), other = ShapeOf(model_, operand);
    if (!x.has_value() || !other.has_value() || other->size() > x->size()) return false;
    fusion.epilogue.steps.push_back({.kind = adds ? EpilogueKind::kAdd : EpilogueKind::kMul,
                                     .input = model_.node(fusion.nodes[0]).inputs.size() + fusion.operands.size()});
    fusion.operands.push_back(operand);
    return true;
  }

  bool AddCast(Fusion& fusion, NodeId id) const {
    const std::optional<DType> to = GetDType(model_.node(id), "to");
    if (!IsPlainCast(model_, id) || !to.has_value() || !IsLowOrFloat32(*to)) return false;
    fusion.epilogue.stores_as = *to;
    return true;
  }

  bool IsGiven(ValueId value) const {
    const auto& uses = model_.value(value).uses;
    return std::any_of(uses.begin(), uses.end(), [](const Use& use) { return use.IsGraphOutput(); });
  }

  const Model& model_;
  const Patterns patterns_;
  const MayHaveEpilogue& may_have_;
  FusedNodes& taken_;
};

}  // namespace

void FindEpilogues(const Model& model, const MayHaveEpilogue& may_have, FusedNodes& taken,
                   std::vector<Fusion>& fusions) {
  EpilogueFinder(model, may_have, taken).Find(fusions);
}

}  // namespace amp
