#include "passes/guard/guard_wide_values.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_format.h"

namespace amp {
namespace {

// How many products in a row a value is followed through: mel and cosine transform, keys and queries.
constexpr int kMostProducts = 2;

class WideValuesGuard {
 public:
  WideValuesGuard(const GuardedGraph& graph, VetoList& vetoes)
      : graph_(graph),
        vetoes_(vetoes),
        largest_(LargestFinite(graph.vertices().low())),
        values_(graph.model().num_values()) {}

  void Run() {
    const auto order = graph_.order();
    for (const NodeId id : order) Follow(id);
    for (size_t i = order.size(); i-- > 0;) LookAhead(order[i]);
    for (const NodeId id : order) Veto(id);
  }

 private:
  enum class Kind : uint8_t {
    kOther,
    kSquare,       // of anything: an activation may be squared
    kMagnitude,    // root of a power
    kPower,        // of a complex number: re * re + im * im
    kEnergy,       // another sum of squares
    kExponential,  // of what may be large
  };
  struct Fact {
    Kind kind = Kind::kOther;
    int products = 0;              // behind the source
    NodeId source = kNone;         // the node that gives it
    bool is_brought_back = false;  // meets a root, a logarithm, a division
    bool is_multiplied = false;    // meets a product that stays high
  };

  Fact& at(ValueId value) { return values_[graph_.Slot(value)]; }
  bool IsVariable(ValueId value) const { return graph_.IsFloat(value) && !graph_.IsConstant(value); }
  bool LeavesRange(const Fact& fact) const {
    return fact.kind == Kind::kPower || fact.kind == Kind::kEnergy || fact.kind == Kind::kExponential;
  }
  bool IsProduct(NodeId id) const { return graph_.roles(id).HasAny(Role::kProducts | Role::kConvolution); }

  // ---- forward: what is wide

  void Follow(NodeId id) {
    const Node& node = graph_.node(id);
    for (const auto& [from, to] : graph_.Entering(id)) {
      if (at(to).kind == Kind::kOther) at(to) = at(from);
    }
    if (!node.bodies.empty() || node.outputs.empty() || !graph_.IsFloat(node.Output(0))) return;
    const Fact found = Judge(node, id);
    if (found.kind == Kind::kOther) return;
    for (const ValueId out : node.outputs) {
      if (graph_.IsFloat(out)) at(out) = found;
    }
  }

  Fact Judge(const Node& node, NodeId id) {
    const Roles roles = graph_.roles(id);
    if (const ValueId squared = SquaredValue(graph_.model(), id); squared != kNone) return Square(id, at(squared).kind);
    if (roles.Has(Role::kExponential)) return IsBounded(node.Input(0)) ? Fact{} : Fact{Kind::kExponential, 0, id};
    const Fact widest = Widest(node);
    if (TakesRoot(graph_.model(), id)) return widest.kind == Kind::kPower ? Fact{Kind::kMagnitude, 0, id} : Fact{};
    if (IsProduct(id)) {
      const bool goes_on = LeavesRange(widest) && widest.products < kMostProducts;
      return goes_on ? Fact{widest.kind, widest.products + 1, widest.source} : Fact{};
    }
    if (roles.Has(Role::kSums)) {
      return widest.kind == Kind::kSquare ? SumOfSquares(id) : LeavesRange(widest) ? widest : Fact{};
    }
    if (roles.Has(Role::kAdds)) return Add(node, roles, widest, id);
    const size_t variables = CountVariables(node);
    const bool scales =
        roles.HasAny(Role::kBounds | Role::kMultiplies) || (roles.Has(Role::kDivides) && IsVariable(node.Input(0)));
    if (graph_.PassesOn(id) || (scales && variables == 1)) return widest;
    const bool gates = roles.Has(Role::kMultiplies) || roles.Has(Role::kRunningSum);
    return gates && LeavesRange(widest) ? widest : Fact{};
  }

  Fact Square(NodeId id, Kind of) const {
    if (of == Kind::kMagnitude) return {Kind::kPower, 0, id};
    const Roles roles = graph_.roles(id);
    if (!roles.Has(Role::kSquares)) return {Kind::kSquare, 0, id};
    if (!roles.Has(Role::kLength)) return SumOfSquares(id);
    return SumOfSquares(id).kind == Kind::kPower ? Fact{Kind::kMagnitude, 0, id} : Fact{};
  }

  Fact SumOfSquares(NodeId id) const {
    return {SummedElements(graph_.model(), id) == 2 ? Kind::kPower : Kind::kEnergy, 0, id};
  }

  // A sum of wide values; with a value of another size it is one of those. Two squares are a power.
  Fact Add(const Node& node, Roles roles, const Fact& widest, NodeId id) {
    const size_t variables = CountVariables(node);
    const auto is_wide = [&](ValueId in) { return !IsVariable(in) || at(in).kind != Kind::kOther; };
    if (!std::all_of(node.inputs.begin(), node.inputs.end(), is_wide)) return {};
    if (variables > 1 && roles.Has(Role::kSubtracts)) return {};
    return variables > 1 && widest.kind == Kind::kSquare ? Fact{Kind::kPower, 0, id} : widest;
  }

  size_t CountVariables(const Node& node) const {
    return static_cast<size_t>(
        std::count_if(node.inputs.begin(), node.inputs.end(), [&](ValueId in) { return IsVariable(in); }));
  }

  Fact Widest(const Node& node) {
    Fact widest;
    for (const ValueId in : node.inputs) {
      if (IsVariable(in) && at(in).kind > widest.kind) widest = at(in);
    }
    widest.is_brought_back = widest.is_multiplied = false;
    return widest;
  }

  // What is known to be small enough, or the exponent less its maximum.
  bool IsBounded(ValueId exponent) const {
    if (graph_.ranges().Of(exponent).high <= std::log(largest_)) return true;
    const NodeId difference = graph_.Producer(graph_.Origin(exponent));
    if (difference == kNone || !graph_.roles(difference).Has(Role::kSubtracts)) return false;
    const Node& node = graph_.node(difference);
    const NodeId maximum = graph_.Producer(graph_.Origin(node.Input(1)));
    return maximum != kNone && graph_.roles(maximum).Has(Role::kTakesMaximum) &&
           graph_.Origin(graph_.node(maximum).Input(0)) == graph_.Origin(node.Input(0));
  }

  // ---- backward: what is multiplied, and brought back behind that

  bool BringsBack(const Node& node, NodeId id, size_t port) const {
    const Roles roles = graph_.roles(id);
    if (roles.HasAny(Role::kLogarithm | Role::kRoots | Role::kInverts | Role::kNormalises)) return true;
    if (roles.Has(Role::kPowers)) return port == 0 && SquaredValue(graph_.model(), id) == kNone;
    return roles.Has(Role::kDivides) && (port == 1 || IsVariable(node.Input(1)));
  }

  template <typename Predicate>
  bool AnyOutput(const Node& node, Predicate predicate) {
    return std::any_of(node.outputs.begin(), node.outputs.end(),
                       [&](ValueId out) { return out != kNone && at(out).kind != Kind::kOther && predicate(at(out)); });
  }

  // A product that has to stay high because of one of its operands.
  bool StaysHigh(const Node& node, const Fact& operand) {
    const bool is_brought_back = AnyOutput(node, [](const Fact& out) { return out.is_brought_back; });
    return LeavesRange(operand) && (is_brought_back || (operand.kind == Kind::kPower && operand.products == 0));
  }

  void LookAhead(NodeId id) {
    const Node& node = graph_.node(id);
    for (const auto& [from, to] : graph_.Entering(id)) {
      at(from).is_brought_back |= at(to).is_brought_back;
      at(from).is_multiplied |= at(to).is_multiplied;
    }
    if (!node.bodies.empty()) return;
    const bool is_multiplied = AnyOutput(node, [](const Fact& out) { return out.is_multiplied; });
    const bool is_brought_back = AnyOutput(node, [](const Fact& out) { return out.is_brought_back; });
    for (size_t port = 0; port < node.inputs.size(); ++port) {
      if (!IsVariable(node.inputs[port]) || at(node.inputs[port]).kind == Kind::kOther) continue;
      Fact& fact = at(node.inputs[port]);
      fact.is_brought_back |= is_brought_back || BringsBack(node, id, port);
      fact.is_multiplied |= is_multiplied || (IsProduct(id) && StaysHigh(node, fact));
    }
  }

  // ---- vetoes

  void Veto(NodeId id) {
    const Node& node = graph_.node(id);
    if (!node.bodies.empty()) return;
    for (size_t port = 0; port < node.outputs.size(); ++port) {
      const ValueId out = node.outputs[port];
      if (out != kNone && at(out).kind != Kind::kOther && at(out).is_multiplied) {
        vetoes_.AddOutput(id, port, Reason(at(out)));
      }
    }
    if (!IsProduct(id)) return;
    for (const ValueId in : node.PresentInputs()) {
      if (IsVariable(in) && StaysHigh(node, at(in))) vetoes_.AddNode(id, Reason(at(in)));
    }
  }

  std::string Reason(const Fact& fact) const {
    const bool is_exponential = fact.kind == Kind::kExponential;
    return absl::StrFormat("wide values: %s gives %s, beyond %s from %s of %.4g on", graph_.Label(fact.source),
                           is_exponential ? "exponentials" : "squares", std::string(graph_.LowName()),
                           is_exponential ? "an exponent" : "a magnitude",
                           is_exponential ? std::log(largest_) : std::floor(std::sqrt(largest_)) + 1);
  }

  const GuardedGraph& graph_;
  VetoList& vetoes_;
  const double largest_;
  IdVector<ValueId, Fact> values_;
};

}  // namespace

void GuardWideValues(const GuardedGraph& graph, VetoList& vetoes) {
  const bool has_range_of_float32 = LargestFinite(graph.vertices().low()) > LargestFinite(DType::kFloat32) / 2;
  if (!has_range_of_float32) WideValuesGuard(graph, vetoes).Run();
}

}  // namespace amp
