#include "passes/guard/guard_poles.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_format.h"
#include "ir/base/convert.h"
#include "ir/graph/constant.h"

namespace amp {
namespace {

constexpr size_t kMostPoles = 4;   // of one value; Log(p) and Log(1 - p) have two
constexpr double kRoundings = 32;  // by how many of them a distance may change

class PolesGuard {
 public:
  PolesGuard(const GuardedGraph& graph, VetoList& vetoes)
      : graph_(graph), vetoes_(vetoes), low_(graph.vertices().low()), poles_(graph.model().num_values()) {}

  void Run() {
    const auto order = graph_.order();
    for (size_t i = order.size(); i-- > 0;) LookAhead(order[i]);
    for (const NodeId id : order) Veto(id);
  }

 private:
  struct Pole {
    double at = 0;
    double low_at = 0;  // with the constants on the way rounded
    NodeId reader = kNone;
  };
  // Where a number in the result comes from: before * factor + offset.
  struct Line {
    double factor = 1, low_factor = 1, offset = 0, low_offset = 0;
  };

  double Rounded(double number) const { return WidenOne(NarrowOne(static_cast<float>(number), low_), low_); }

  void Add(ValueId value, const Pole& pole) {
    if (!graph_.IsVariable(value)) return;
    auto& poles = poles_[graph_.Slot(value)];
    const auto is_same = [&](const Pole& other) { return other.at == pole.at && other.low_at == pole.low_at; };
    if (poles.size() < kMostPoles && std::none_of(poles.begin(), poles.end(), is_same)) poles.push_back(pole);
  }

  void LookAhead(NodeId id) {
    const Node& node = graph_.node(id);
    for (const auto& [from, to] : graph_.Entering(id)) {
      for (const Pole& pole : poles_[graph_.Slot(to)]) Add(from, pole);
    }
    if (!node.bodies.empty()) return;
    AddOwn(node, id);
    for (size_t port = 0; port < node.inputs.size(); ++port) {
      const std::optional<Line> line = LineOf(node, id, port);
      if (!line.has_value()) continue;
      for (const ValueId out : node.PresentOutputs()) {
        const auto poles = poles_[graph_.Slot(out)];  // a copy: the operand may share the slot
        for (const Pole& pole : poles) {
          Add(node.inputs[port], {(pole.at - line->offset) / line->factor,
                                  (pole.low_at - line->low_offset) / line->low_factor, pole.reader});
        }
      }
    }
  }

  // Where the operator itself is infinite.
  void AddOwn(const Node& node, NodeId id) {
    const Roles roles = graph_.roles(id);
    if (roles.HasAny(Role::kLogarithm | Role::kInverts)) Add(node.Input(0), {0, 0, id});
    if (roles.Has(Role::kDivides)) Add(node.Input(1), {0, 0, id});
    if (roles.Has(Role::kPowers) && ScalarConstant(graph_.model(), node.Input(1)).value_or(1) < 0) {
      Add(node.Input(0), {0, 0, id});
    }
    if (!roles.Has(Role::kEndsAtOne)) return;
    Add(node.Input(0), {1, 1, id});
    Add(node.Input(0), {-1, -1, id});
  }

  // How the operand at `port` becomes the result; nothing where that is no line.
  std::optional<Line> LineOf(const Node& node, NodeId id, size_t port) const {
    const Roles roles = graph_.roles(id);
    const ValueId in = node.inputs[port];
    if (!graph_.IsVariable(in)) return std::nullopt;
    if (graph_.PassesOn(id) || roles.Has(Role::kBounds)) return Line();
    if (roles.Has(Role::kNegates)) return Line{-1, -1};
    if (node.inputs.size() != 2) return std::nullopt;
    const auto constant = ScalarConstant(graph_.model(), node.inputs[1 - port]);
    if (!constant.has_value()) return std::nullopt;
    const double rounded = Rounded(*constant);
    if (roles.Has(Role::kSubtracts)) {
      return port == 0 ? Line{1, 1, -*constant, -rounded} : Line{-1, -1, *constant, rounded};
    }
    if (roles.Has(Role::kAdds)) return Line{1, 1, *constant, rounded};
    if (*constant == 0 || rounded == 0) return std::nullopt;
    if (roles.Has(Role::kMultiplies)) return Line{*constant, rounded};
    if (roles.Has(Role::kDivides) && port == 0) return Line{1 / *constant, 1 / rounded};
    return std::nullopt;
  }

  void Veto(NodeId id) {
    const Node& node = graph_.node(id);
    if (!node.bodies.empty()) return;
    for (size_t port = 0; port < node.outputs.size(); ++port) {
      const ValueId out = node.outputs[port];
      if (!graph_.IsFloat(out)) continue;
      for (const Pole& pole : poles_[graph_.Slot(out)]) {
        if (const std::string why = Judge(graph_.ranges().Of(out), pole); !why.empty()) {
          vetoes_.AddOutput(id, port, why);
        }
      }
    }
  }

  // Returns the fault in the distance of the nearer end from a pole outside; empty if it does no harm.
  std::string Judge(Interval range, const Pole& pole) const {
    const bool is_above = pole.at > range.high;
    if (!is_above && !(pole.at < range.low)) return "";
    const double end = is_above ? range.high : range.low;
    const double distance = std::abs(pole.at - end);
    const double low_distance = is_above ? pole.low_at - Rounded(end) : Rounded(end) - pole.low_at;
    const double limit = kRoundings / static_cast<double>(CountsExactlyTo(low_)) * distance;
    if (!std::isfinite(low_distance) || std::abs(low_distance - distance) <= limit) return "";
    return absl::StrFormat("poles: ends at %g, %.3g from where %s is infinite, but in %s %.3g", end, distance,
                           graph_.Label(pole.reader), std::string(graph_.LowName()), low_distance);
  }

  const GuardedGraph& graph_;
  VetoList& vetoes_;
  const DType low_;
  IdVector<ValueId, absl::InlinedVector<Pole, 1>> poles_;
};

}  // namespace

void GuardPoles(const GuardedGraph& graph, VetoList& vetoes) { PolesGuard(graph, vetoes).Run(); }

}  // namespace amp
