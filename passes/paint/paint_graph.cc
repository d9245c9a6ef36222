#include "passes/paint/paint_graph.h"

#include <algorithm>
#include <deque>
#include <functional>
#include <iterator>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ir/operators/integer_bounds.h"
#include "ir/operators/operator_facts.h"
#include "passes/paint/place_by_cut.h"

namespace amp {
namespace {

class Painter {
 public:
  Painter(const Model& model, const VertexGraph& graph, const IdVector<NodeId, NodeTraits>& traits,
          const ReleasedIo& released, const PaintOptions& options)
      : model_(model),
        graph_(graph),
        traits_(traits),
        released_(released),
        options_(options),
        paint_(graph.size()),
        is_kept_(graph.size()),
        group_obstacle_(graph.num_groups()),
        group_is_low_(graph.num_groups()) {
    classes_.reserve(paint_.size());
    for (const VertexId v : graph.ids()) {
      const OpClass op_class = ClassAtLevel(trait(v).op_class);
      // A Cast is P8's alone: allowed by a pattern, those of an earlier run would be converted again.
      classes_.push_back(trait(v).is_cast && op_class != OpClass::kDeny ? OpClass::kUnlisted : op_class);
    }
  }

  void Veto(const amp::Veto& veto) {
    if (trait(veto.vertex).forced_allow) return;
    if (veto.is_alone) {
      is_kept_[veto.vertex] = true;
    } else {
      class_of(veto.vertex) = OpClass::kDeny;
    }
    at(veto.vertex).reason = {ReasonKind::kGuard, kNone, veto.why};
  }

  Paint Run() {
    if (options_.level == Level::kUnsafeForceAll) {
      CloseGroups();
      ForceAll();
    } else if (std::vector<VertexId> seeds = Seed(); !seeds.empty()) {  // P1
      DenyForward();                                                    // P2
      CloseGroups();                                                    // P7: those that cannot be low
      seeds = WithoutClosed(seeds);
      if (options_.placement != PlacementMode::kPaint) {
        PlaceRest();
      } else {
        PaintBetween(seeds);                     // P3
        if (options_.follow) FollowProducers();  // P4, before P5: Relu's low result must not count yet
        CompleteGroups();                        // P7: those with a low member
        SpreadThroughClear();                    // P5, which completes the groups that it enters
      }
    }
    JoinExistingCasts();  // P8
    for (const VertexId v : graph_.ids()) ExplainHigh(v);
    ExplainMissing(MissingEnd::kAhead);
    ExplainMissing(MissingEnd::kBehind);
    return std::move(paint_);
  }

 private:
  OpClass ClassAtLevel(OpClass op_class) const {
    if (options_.level == Level::kTreatInferAsDeny && op_class == OpClass::kInfer) return OpClass::kDeny;
    if (options_.level == Level::kTensorCoresOnly && op_class != OpClass::kAllow) return OpClass::kUnlisted;
    return op_class;
  }

  // `kind`, unless it is the level that gave the class.
  PaintReason OfOwnClass(VertexId v, ReasonKind kind) const {
    const OpClass op_class = trait(v).op_class;
    if (ClassAtLevel(op_class) == op_class) return {kind, kNone, ""};
    const bool is_denied = options_.level == Level::kTreatInferAsDeny;
    return {ReasonKind::kLevel, kNone,
            is_denied ? "--level treat-infer-as-deny takes class infer for deny"
                      : absl::StrCat("--level tensor-cores-only converts class allow alone; this is ",
                                     OpClassName(op_class))};
  }

  const NodeTraits& trait(VertexId v) const { return traits_[graph_[v].node]; }
  VertexPaint& at(VertexId v) { return paint_[v]; }
  OpClass& class_of(VertexId v) { return classes_[v]; }
  bool MayChangeAlone(VertexId v) const {
    const Vertex& vertex = graph_[v];
    return trait(v).processed && vertex.is_high && vertex.is_typed && vertex.can_be_low && !vertex.is_pinned &&
           !is_kept_[v] && options_.target_can_run;
  }
  // The vertex that keeps v's group high; kNone for none.
  VertexId GroupObstacle(VertexId v) const {
    const GroupId group = graph_.GroupOf(v);
    return group == kNone ? kNone : group_obstacle_[group];
  }
  bool MayChange(VertexId v) const { return MayChangeAlone(v) && GroupObstacle(v) == kNone; }
  // Whether a path between two allowed vertices may go on through w.
  bool LeadsThrough(VertexId w) {
    const bool is_soft = class_of(w) == OpClass::kInfer || class_of(w) == OpClass::kClear;
    return is_soft && !at(w).denied && MayChange(w);
  }
  void MakeLow(VertexId v, ReasonKind kind, VertexId via) {
    at(v).low = true;
    at(v).reason = {kind, via, ""};
  }

  enum class Direction { kForward, kBackward, kBoth };  // to readers, to producers
  // Depth-first from `roots`; `enter(w, from)` tells whether to go on from w. Visits w at most once
  // if enter marks it.
  void Flood(const std::vector<VertexId>& roots, Direction direction,
             const std::function<bool(VertexId, VertexId)>& enter) {
    std::vector<VertexId> stack(roots.rbegin(), roots.rend());
    while (!stack.empty()) {
      const VertexId v = stack.back();
      stack.pop_back();
      const auto visit = [&](absl::Span<const VertexId> neighbours) {
        for (VertexId w : neighbours) {
          if (enter(w, v)) stack.push_back(w);
        }
      };
      if (direction != Direction::kBackward) visit(graph_.Readers(v));
      if (direction != Direction::kForward) visit(graph_.Producers(v));
    }
  }

  std::vector<VertexId> VerticesWhere(const std::function<bool(VertexId)>& predicate) {
    std::vector<VertexId> found;
    for (const VertexId v : graph_.ids()) {
      if (predicate(v)) found.push_back(v);
    }
    return found;
  }

  std::vector<VertexId> Seed() {
    std::vector<VertexId> seeds =
        VerticesWhere([&](VertexId v) { return class_of(v) == OpClass::kAllow && MayChange(v); });
    for (VertexId v : seeds) MakeLow(v, ReasonKind::kSeeded, kNone);
    return seeds;
  }

  void DenyForward() {
    const auto is_denied_or_infer = [&](VertexId v) {
      return class_of(v) == OpClass::kDeny || class_of(v) == OpClass::kInfer;
    };
    IdVector<VertexId, bool> may_be_denied(paint_.size());
    const std::vector<VertexId> anchors = VerticesWhere(is_denied_or_infer);
    for (VertexId v : anchors) may_be_denied[v] = true;
    Flood(anchors, Direction::kBackward, [&](VertexId w, VertexId) {
      if (class_of(w) != OpClass::kClear || may_be_denied[w]) return false;
      may_be_denied[w] = true;
      return true;
    });
    const std::vector<VertexId> denied = VerticesWhere([&](VertexId v) { return class_of(v) == OpClass::kDeny; });
    for (VertexId v : denied) {
      at(v).denied = true;
      if (at(v).reason.kind != ReasonKind::kGuard) at(v).reason = OfOwnClass(v, ReasonKind::kDenied);
    }
    Flood(denied, Direction::kForward, [&](VertexId w, VertexId from) {
      if (!may_be_denied[w] || at(w).denied) return false;
      at(w).denied = true;
      at(w).denied_by = from;
      const VertexId root = at(from).reason.root == kNone ? from : at(from).reason.root;
      at(w).reason = {ReasonKind::kDeniedByPath, from, "", root};
      return true;
    });
  }

  void CloseGroups() {
    for (const GroupId group : graph_.groups()) {
      const auto members = graph_.Group(group);
      const auto obstacle =
          std::find_if(members.begin(), members.end(), [&](VertexId v) { return at(v).denied || !MayChangeAlone(v); });
      if (obstacle != members.end()) group_obstacle_[group] = *obstacle;
    }
  }

  std::vector<VertexId> WithoutClosed(const std::vector<VertexId>& seeds) {
    std::vector<VertexId> kept;
    for (VertexId v : seeds) {
      if (GroupObstacle(v) == kNone) {
        kept.push_back(v);
      } else {
        at(v) = {};
      }
    }
    return kept;
  }

  // Makes the rest of v's group low; returns it.
  std::vector<VertexId> CompleteGroup(VertexId v) {
    std::vector<VertexId> joined;
    if (graph_.GroupOf(v) == kNone || group_is_low_[graph_.GroupOf(v)]) return joined;
    group_is_low_[graph_.GroupOf(v)] = true;
    for (VertexId member : graph_.Group(graph_.GroupOf(v))) {
      if (at(member).low) continue;
      MakeLow(member, ReasonKind::kMatches, v);
      joined.push_back(member);
    }
    return joined;
  }

  void CompleteGroups() {
    for (const VertexId v : graph_.ids()) {
      if (at(v).low) CompleteGroup(v);
    }
  }

  void PaintBetween(const std::vector<VertexId>& seeds) {
    IdVector<VertexId, bool> downstream(paint_.size());
    Flood(seeds, Direction::kForward, [&](VertexId w, VertexId) {
      if (!LeadsThrough(w) || downstream[w]) return false;
      downstream[w] = true;
      return true;
    });
    Flood(seeds, Direction::kBackward, [&](VertexId w, VertexId from) {
      if (!downstream[w] || at(w).low) return false;
      MakeLow(w, ReasonKind::kBetween, from);
      return true;
    });
    for (const VertexId v : graph_.ids()) {
      if (!LeadsThrough(v) || at(v).low) continue;
      at(v).reason.missing = downstream[v] ? MissingEnd::kBehind : MissingEnd::kAhead;
    }
  }

  void FollowProducers() {
    for (NodeId node : graph_.order()) {
      for (VertexId v : graph_.OfNode(node)) {
        if (class_of(v) != OpClass::kInfer || at(v).denied || at(v).low || !MayChange(v)) continue;
        const auto producers = graph_.Producers(v);
        const auto low = std::find_if(producers.begin(), producers.end(), [&](VertexId p) { return at(p).low; });
        const bool any_denied =
            std::any_of(producers.begin(), producers.end(), [&](VertexId p) { return at(p).denied; });
        if (low != producers.end() && !any_denied) MakeLow(v, ReasonKind::kFollows, *low);
      }
    }
  }

  void SpreadThroughClear() {
    std::vector<VertexId> roots = VerticesWhere([&](VertexId v) { return at(v).low; });
    while (!roots.empty()) {
      std::vector<VertexId> joined;
      Flood(roots, Direction::kBoth, [&](VertexId w, VertexId from) {
        if (class_of(w) != OpClass::kClear || at(w).low || at(w).denied || !MayChange(w)) return false;
        MakeLow(w, ReasonKind::kClearNeighbour, from);
        for (VertexId member : CompleteGroup(w)) joined.push_back(member);
        return true;
      });
      roots = std::move(joined);
    }
  }

  // In the place of P3 to P5: what neither a class nor a guard decides has the type that costs least.
  void PlaceRest() {
    CompleteGroups();
    const IdVector<VertexId, bool> is_computed = ComputedFromLow();
    IdVector<VertexId, Side> sides(paint_.size(), Side::kHigh);
    for (const VertexId v : graph_.ids()) {
      const bool is_open = LeadsThrough(v) && (is_computed[v] || class_of(v) == OpClass::kClear);
      const bool gives_either = trait(v).is_cast && MayChange(v) && MayJoin(v);
      sides[v] = at(v).low ? Side::kLow : is_open ? Side::kFree : gives_either ? Side::kCast : Side::kHigh;
    }
    CloseMixedGroups(sides);
    const CutGoal goal =
        options_.placement == PlacementMode::kFewestCasts ? CutGoal::kFewestCasts : CutGoal::kFewestBytes;
    const Placement placement = PlaceByCut(model_, graph_, sides, released_.inputs, released_.outputs, goal);
    for (const VertexId v : graph_.ids()) {
      if (LeadsThrough(v) && sides[v] == Side::kHigh) at(v).reason.missing = MissingEnd::kAhead;
      if (sides[v] != Side::kFree) continue;
      at(v).low = placement.low[v];
      at(v).reason.kind = placement.low[v] ? ReasonKind::kSavesTraffic : ReasonKind::kCostsTraffic;
      at(v).reason.bytes = placement.gain[v];
      at(v).reason.is_estimate = !placement.knows_all_sizes;
      if (goal == CutGoal::kFewestCasts) at(v).reason.detail = at(v).low ? "needs more casts" : "needs no fewer casts";
    }
  }

  // Marks vertices that are computed, through infer and clear ones, from results of low operators and from tables.
  // Vertices computed from the model's inputs alone are not marked, as nobody knows their range. A group counts as one
  // vertex.
  IdVector<VertexId, bool> ComputedFromLow() {
    IdVector<VertexId, bool> is_computed(paint_.size());
    std::vector<VertexId> roots = VerticesWhere([&](VertexId v) { return at(v).low; });
    const auto reach = [&](VertexId v) {
      if (is_computed[v] || !LeadsThrough(v)) return false;
      is_computed[v] = true;
      return true;
    };
    for (const VertexId v : graph_.ids()) {
      if (ReadsTable(graph_[v]) && reach(v)) roots.push_back(v);
    }
    while (!roots.empty()) {
      std::vector<VertexId> joined;
      Flood(roots, Direction::kForward, [&](VertexId w, VertexId) {
        if (!reach(w)) return false;
        if (graph_.GroupOf(w) == kNone) return true;
        const auto group = graph_.Group(graph_.GroupOf(w));
        std::copy_if(group.begin(), group.end(), std::back_inserter(joined), reach);
        return true;
      });
      roots = std::move(joined);
    }
    return is_computed;
  }

  // Gives rows of a constant.
  bool ReadsTable(const Vertex& vertex) const {
    const Node& node = model_.node(vertex.node);
    return vertex.body == kNone && node.Has(Role::kGathers) && model_.IsConstant(node.Input(0));
  }

  // A group with a member that is not open stays float32.
  void CloseMixedGroups(IdVector<VertexId, Side>& sides) const {
    for (const GroupId group : graph_.groups()) {
      const auto members = graph_.Group(group);
      const bool is_whole = std::all_of(members.begin(), members.end(),
                                        [&](VertexId v) { return sides[v] == Side::kFree || sides[v] == Side::kLow; });
      if (is_whole) continue;
      for (const VertexId v : members) sides[v] = Side::kHigh;
    }
  }

  void ForceAll() {
    for (const VertexId v : graph_.ids()) {
      const bool can_choose = MayChange(v) && graph_[v].has_input && !trait(v).is_cast;
      if (can_choose && (trait(v).may_be_forced || trait(v).forced_allow)) MakeLow(v, ReasonKind::kForced, kNone);
    }
    CompleteGroups();
  }

  // A guard keeps a cast float32 for the sake of those who read it. Where they are low all the same, it is cast again.
  bool MayJoin(VertexId v) {
    if (class_of(v) != OpClass::kDeny) return true;
    const bool is_guarded = at(v).reason.kind == ReasonKind::kGuard && trait(v).op_class != OpClass::kDeny;
    if (!is_guarded || !IsCast(model_.node(graph_[v].node))) return false;
    const Value& source = model_.value(model_.node(graph_[v].node).Input(0));
    const bool is_whole = LargestFinite(source.dtype) == 0 && LargestMagnitude(source.dtype) > 0;
    return is_whole && (CastChainIsExact(source.dtype, DType::kFloat32, graph_.low()) || IsCountedByFloat32(v));
  }

  bool IsCountedByFloat32(VertexId v) {
    if (!integers_.has_value()) integers_.emplace(model_, graph_.order());
    const ValueId source = model_.node(graph_[v].node).Input(0);
    return integers_->Of(source) <= static_cast<double>(CountsExactlyTo(DType::kFloat32));
  }

  void JoinExistingCasts() {
    for (NodeId node : graph_.order()) {
      if (!traits_[node].is_cast || model_.node(node).outputs.empty()) continue;
      const ValueId out = model_.node(node).Output(0);
      const VertexId v = graph_.OfOutput(node, 0);
      if (v == kNone || out == kNone || !MayChange(v) || model_.value(out).dtype != DType::kFloat32) continue;
      if (!MayJoin(v)) continue;
      // From the low type itself: folding removes the cast, see fold_casts.h.
      if (model_.value(model_.node(node).Input(0)).dtype == graph_.low()) continue;
      const auto& uses = model_.value(out).uses;
      const auto reads_low = [&](const Use& use) {
        if (use.IsModelOutput()) return bool{released_.outputs[use.port]};
        const VertexId reader = graph_.OfUse(use);
        return reader != kNone && at(reader).low;
      };
      const auto is_inside = [](const Use& use) { return !use.IsModelOutput(); };
      const auto first_reader = std::find_if(uses.begin(), uses.end(), is_inside);
      if (first_reader == uses.end() || !std::all_of(uses.begin(), uses.end(), reads_low)) continue;
      MakeLow(v, ReasonKind::kCastJoins, graph_.OfUse(*first_reader));
    }
  }

  void ExplainHigh(VertexId v) {
    VertexPaint& paint = at(v);
    if (paint.low) return;
    const auto set = [&](ReasonKind kind, std::string detail = "") {
      paint.reason = {kind, paint.reason.via, std::move(detail), paint.reason.root};
    };
    if (!graph_[v].is_high) return set(ReasonKind::kNotFloat32);
    if (!trait(v).processed) return set(ReasonKind::kNotProcessed, trait(v).not_processed_why);
    if (paint.reason.kind == ReasonKind::kGuard) return;
    if (paint.denied) return;  // P2 said why
    if (class_of(v) == OpClass::kDeny || class_of(v) == OpClass::kUnlisted) {
      const bool is_denied = class_of(v) == OpClass::kDeny;
      paint.reason = OfOwnClass(v, is_denied ? ReasonKind::kDenied : ReasonKind::kUnlisted);
      return;
    }
    if (!graph_[v].is_typed) return set(ReasonKind::kTypeUnknown);
    if (graph_[v].is_pinned) return set(ReasonKind::kPinned);
    if (!graph_[v].can_be_low) return set(ReasonKind::kSchemaForbids);
    if (!options_.target_can_run) return set(ReasonKind::kNoFastKernel);
    if (const VertexId obstacle = GroupObstacle(v); obstacle != kNone) {
      paint.reason = {ReasonKind::kGroup, obstacle, ""};
      return;
    }
    if (paint.reason.kind == ReasonKind::kCostsTraffic) return;
    paint.reason.kind = ReasonKind::kNoAllowedPath;
  }

  // Breadth-first from every float32 vertex that cuts paths, away from the missing end: the first to arrive is nearest.
  void ExplainMissing(MissingEnd missing) {
    const auto is_asked = [&](VertexId v) { return !at(v).low && at(v).reason.missing == missing; };
    std::deque<std::pair<VertexId, VertexId>> queue;  // where the way is cut, and how far that has spread
    for (const VertexId v : graph_.ids()) {
      if (graph_[v].is_high && !at(v).low && !LeadsThrough(v)) queue.emplace_back(v, v);
    }
    for (; !queue.empty(); queue.pop_front()) {
      const auto [cut, v] = queue.front();
      for (VertexId w : missing == MissingEnd::kAhead ? graph_.Readers(v) : graph_.Producers(v)) {
        if (!is_asked(w) || at(w).reason.via != kNone) continue;
        at(w).reason.via = cut;
        queue.emplace_back(cut, w);
      }
    }
  }

  const Model& model_;
  const VertexGraph& graph_;
  const IdVector<NodeId, NodeTraits>& traits_;
  const ReleasedIo& released_;
  const PaintOptions options_;
  std::optional<IntegerBounds> integers_;  // made where they are asked for
  Paint paint_;
  IdVector<VertexId, bool> is_kept_;  // by a veto of the vertex alone
  IdVector<VertexId, OpClass> classes_;
  IdVector<GroupId, VertexId> group_obstacle_;  // kNone while it is open
  IdVector<GroupId, bool> group_is_low_;
};

}  // namespace

absl::string_view ReasonName(ReasonKind kind) {
  switch (kind) {
    case ReasonKind::kSeeded:
      return "seeded";
    case ReasonKind::kBetween:
      return "between";
    case ReasonKind::kFollows:
      return "follows";
    case ReasonKind::kClearNeighbour:
      return "clear-neighbour";
    case ReasonKind::kCastJoins:
      return "cast-joins";
    case ReasonKind::kMatches:
      return "matches";
    case ReasonKind::kForced:
      return "forced";
    case ReasonKind::kSavesTraffic:
      return "saves-traffic";
    case ReasonKind::kDenied:
      return "denied";
    case ReasonKind::kLevel:
      return "level";
    case ReasonKind::kDeniedByPath:
      return "denied-by-path";
    case ReasonKind::kGuard:
      return "guard";
    case ReasonKind::kUnlisted:
      return "unlisted";
    case ReasonKind::kNotProcessed:
      return "not-processed";
    case ReasonKind::kTypeUnknown:
      return "type-unknown";
    case ReasonKind::kSchemaForbids:
      return "schema-forbids";
    case ReasonKind::kPinned:
      return "pinned";
    case ReasonKind::kGroup:
      return "group";
    case ReasonKind::kNoFastKernel:
      return "no-fast-kernel";
    case ReasonKind::kNoAllowedPath:
      return "no-allowed-path";
    case ReasonKind::kCostsTraffic:
      return "costs-traffic";
    case ReasonKind::kNotFloat32:
      return "not-float32";
  }
  return "";
}

Paint PaintGraph(const Model& model, const VertexGraph& graph, const IdVector<NodeId, NodeTraits>& traits,
                 const std::vector<Veto>& vetoes, const ReleasedIo& released, const PaintOptions& options) {
  Painter painter(model, graph, traits, released, options);
  for (const Veto& veto : vetoes) painter.Veto(veto);
  return painter.Run();
}

}  // namespace amp
