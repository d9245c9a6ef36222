#include "runtime/loops/chain_steps.h"

#include <algorithm>
#include <utility>

#include "ir/graph/attributes.h"
#include "ir/graph/constant.h"
#include "ir/graph/shape.h"
#include "ir/operators/operator_facts.h"
#include "ir/schema/schema.h"
#include "runtime/forms/activation.h"
#include "runtime/kernel/clip_bounds.h"
#include "runtime/loops/element_functions.h"
#include "runtime/loops/float_parts.h"

namespace amp {
namespace {

constexpr int kBroadcastsAsNumPy = 7, kFoldsAsNumPy = 8;  // opsets
constexpr int kBoundsAreInputs = 11;

struct PairOperator {
  absl::string_view op_type;
  BinaryLoop BinaryLoops::*loop;
  int first_version = kBroadcastsAsNumPy;
};
constexpr PairOperator kPairs[] = {
    {"Add", &BinaryLoops::add},
    {"Div", &BinaryLoops::divide},
    {"Max", &BinaryLoops::max, kFoldsAsNumPy},
    {"Min", &BinaryLoops::min, kFoldsAsNumPy},
    {"Mul", &BinaryLoops::multiply},
    {"Pow", &BinaryLoops::power},
    {"PRelu", &BinaryLoops::prelu},
    {"Sub", &BinaryLoops::subtract},
    {"Sum", &BinaryLoops::add, kFoldsAsNumPy},
};

// Results of these are one of the operands, but for its sign, or 0, 1 or -1.
constexpr UnaryLoop UnaryLoops::*kExactMaps[] = {&UnaryLoops::abs, &UnaryLoops::negate, &UnaryLoops::relu,
                                                 &UnaryLoops::sign};
constexpr BinaryLoop BinaryLoops::*kExactPairs[] = {&BinaryLoops::max, &BinaryLoops::min};

template <typename Loop, size_t kCount>
bool IsOneOf(Loop loop, const Loop (&loops)[kCount]) {
  return std::find(std::begin(loops), std::end(loops), loop) != std::end(loops);
}

struct CompareOperator {
  absl::string_view op_type;
  CompareLoop BinaryLoops::*loop;
};
constexpr CompareOperator kComparisons[] = {
    {"Equal", &BinaryLoops::equal},
    {"Greater", &BinaryLoops::greater},
    {"GreaterOrEqual", &BinaryLoops::greater_or_equal},
    {"Less", &BinaryLoops::less},
    {"LessOrEqual", &BinaryLoops::less_or_equal},
};

class StepMaker {
 public:
  StepMaker(const Model& model, NodeId id)
      : model_(model), id_(id), node_(model.node(id)), version_(node_.schema->since_version()) {}

  std::optional<NodeStep> Make() const {
    const bool is_onnx = node_.domain().empty();
    if (is_onnx) {
      if (node_.op_type() == "Cast") return MakeCast();
      if (node_.op_type() == "Where") return MakeChoice();
      if (node_.op_type() == "Pow") {
        if (auto power = MakePower()) return power;
      }
      if (auto pair = MakePair()) return pair;
      if (auto comparison = MakeComparison()) return comparison;
    }
    if (!IsLoopFloat(TypeOf(node_.Input(0))) || !HaveType(1, TypeOf(node_.Output(0)))) return std::nullopt;
    if (const ElementFunction* function = FindElementFunction(node_.domain(), node_.op_type())) {
      return Map(function->loop, ParametersOf(node_, version_));
    }
    if (!is_onnx) return std::nullopt;
    if (node_.op_type() == "Gelu") return MakeGelu();
    return node_.op_type() == "Clip" ? MakeClip() : std::nullopt;
  }

 private:
  DType TypeOf(ValueId value) const { return value == kNone ? DType::kUndefined : model_.value(value).dtype; }
  bool HaveType(size_t num_inputs, DType dtype) const {
    for (size_t port = 0; port < num_inputs; ++port) {
      if (TypeOf(node_.Input(port)) != dtype) return false;
    }
    return true;
  }

  NodeStep Step(ChainStep step, size_t num_operands) const {
    step.dtype = TypeOf(node_.Output(0));
    NodeStep result{.step = std::move(step), .operands = {}};
    result.operands.assign(node_.inputs.begin(), node_.inputs.begin() + static_cast<std::ptrdiff_t>(num_operands));
    return result;
  }
  NodeStep Map(UnaryLoop UnaryLoops::*loop, UnaryParameters parameters) const {
    return Step(
        {.kind = ChainStep::Kind::kMap, .map = loop, .parameters = parameters, .is_exact = IsOneOf(loop, kExactMaps)},
        1);
  }

  std::optional<NodeStep> MakeCast() const {
    const DType from = TypeOf(node_.Input(0)), to = TypeOf(node_.Output(0));
    const bool has_types = (IsLoopFloat(from) || from == DType::kBool) && (IsLoopFloat(to) || to == DType::kBool);
    if (!has_types || !IsPlainCast(model_, id_) || HasAttribute(node_, "round_mode")) return std::nullopt;
    return Step({.kind = ChainStep::Kind::kCast, .is_exact = from == to || from == DType::kBool}, 1);
  }

  std::optional<NodeStep> MakeChoice() const {
    const DType dtype = TypeOf(node_.Output(0));
    const bool has_types = node_.inputs.size() == 3 && TypeOf(node_.Input(0)) == DType::kBool &&
                           TypeOf(node_.Input(1)) == dtype && TypeOf(node_.Input(2)) == dtype;
    if (!has_types || (dtype != DType::kBool && !IsLoopFloat(dtype))) return std::nullopt;
    return Step({.kind = ChainStep::Kind::kChoose, .is_exact = true}, 3);
  }

  std::optional<NodeStep> MakePair() const {
    const DType dtype = TypeOf(node_.Output(0));
    if (node_.inputs.size() != 2 || !IsLoopFloat(dtype) || !HaveType(2, dtype)) return std::nullopt;
    for (const PairOperator& pair : kPairs) {
      if (pair.op_type != node_.op_type()) continue;
      if (version_ < pair.first_version) return std::nullopt;
      const bool is_slope = pair.loop == &BinaryLoops::prelu;
      return Step({.kind = is_slope ? ChainStep::Kind::kSlope : ChainStep::Kind::kZip,
                   .zip = pair.loop,
                   .is_exact = IsOneOf(pair.loop, kExactPairs)},
                  2);
    }
    return std::nullopt;
  }

  std::optional<NodeStep> MakeComparison() const {
    const bool has_types = node_.inputs.size() == 2 && TypeOf(node_.Output(0)) == DType::kBool &&
                           IsLoopFloat(TypeOf(node_.Input(0))) && HaveType(2, TypeOf(node_.Input(0)));
    if (!has_types || version_ < kBroadcastsAsNumPy) return std::nullopt;
    for (const CompareOperator& comparison : kComparisons) {
      if (comparison.op_type != node_.op_type()) continue;
      return Step({.kind = ChainStep::Kind::kCompare, .compare = comparison.loop}, 2);
    }
    return std::nullopt;
  }

  std::optional<NodeStep> MakeGelu() const {
    const absl::StatusOr<bool> by_tanh = IsGeluByTanh(node_);
    if (!by_tanh.ok()) return std::nullopt;
    return Map(*by_tanh ? &UnaryLoops::gelu_tanh : &UnaryLoops::gelu, {});
  }

  std::optional<NodeStep> MakeClip() const {
    const ClipBounds absent = AbsentClipBounds(TypeOf(node_.Input(0)), version_);
    UnaryParameters bounds{.a = static_cast<float>(absent.low), .b = static_cast<float>(absent.high)};
    if (version_ < kBoundsAreInputs) {
      return Map(&UnaryLoops::clip, {.a = GetFloat(node_, "min", bounds.a), .b = GetFloat(node_, "max", bounds.b)});
    }
    for (const auto& [port, bound] : {std::pair<size_t, float*>{1, &bounds.a}, {2, &bounds.b}}) {
      if (node_.Input(port) == kNone) continue;
      const std::optional<double> constant = ScalarConstant(model_, node_.Input(port));
      if (!constant.has_value() || TypeOf(node_.Input(port)) != TypeOf(node_.Input(0))) return std::nullopt;
      *bound = static_cast<float>(*constant);
    }
    return Map(&UnaryLoops::clip, bounds);
  }

  // Powers with an exponent that has a loop of its own. An exponent of a higher rank would be that of the result.
  std::optional<NodeStep> MakePower() const {
    const bool has_types = IsLoopFloat(TypeOf(node_.Input(0))) && HaveType(1, TypeOf(node_.Output(0)));
    if (!has_types) return std::nullopt;
    const std::optional<double> exponent =
        node_.Input(1) == kNone ? std::nullopt : ScalarConstant(model_, node_.Input(1));
    if (version_ < kBroadcastsAsNumPy || !exponent.has_value()) return std::nullopt;
    const auto shape = ShapeOf(model_, node_.Input(0)), of_exponent = ShapeOf(model_, node_.Input(1));
    const bool is_low = shape.has_value() && of_exponent.has_value() && of_exponent->size() <= shape->size();
    UnaryLoop UnaryLoops::*const loop = FindPowerLoop(*exponent);
    if (!is_low || loop == nullptr) return std::nullopt;
    return Map(loop, {});
  }

  const Model& model_;
  NodeId id_;
  const Node& node_;
  int version_;
};

}  // namespace

std::optional<NodeStep> StepOfNode(const Model& model, NodeId id) {
  const Node& node = model.node(id);
  const bool is_plain = node.schema != nullptr && !node.schema->is_signature() && node.bodies.empty() &&
                        !node.inputs.empty() && node.outputs.size() == 1 && node.Output(0) != kNone;
  const bool is_contrib = node.schema != nullptr && node.domain() == "com.microsoft" && node.outputs.size() == 1;
  if (!is_plain && !is_contrib) return std::nullopt;
  return StepMaker(model, id).Make();
}

}  // namespace amp
