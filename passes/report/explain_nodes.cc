#include "passes/report/explain_nodes.h"

#include <algorithm>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "ir/base/status.h"
#include "ir/graph/control_flow.h"
#include "ir/graph/node_paths.h"
#include "ir/graph/shape.h"
#include "ir/operators/operator_facts.h"
#include "ir/operators/operator_roles.h"
#include "ir/schema/operator_label.h"
#include "ir/schema/schema.h"

namespace amp {
namespace {

std::string OperatorName(const Node& node) { return OperatorLabel(node.domain(), node.op_type()); }

class Explainer {
 public:
  explicit Explainer(const ModelToExplain& decided)
      : model_(decided.model),
        classes_(decided.classes),
        graph_(decided.graph),
        paint_(decided.paint),
        opset_obstacle_(decided.opset_obstacle),
        target_(decided.target),
        inlined_(decided.inlined),
        paths_(FindNodePaths(decided.model)) {}

  NodeReport ExplainReplaced(const ReplacedNode& replaced) const {
    const Classification& c = replaced.classification;
    NodeReport report;
    report.path = replaced.path;
    report.op_type = OperatorName(model_.node(replaced.node));
    report.op_class = c.op_class;
    report.class_name = ShownClass(model_, replaced.node, c);
    ClassOrigin origin = OriginOf(model_, c);
    report.class_origin = std::move(origin.origin);
    report.class_why = std::move(origin.why);
    const VertexId v = graph_.OfOutput(replaced.stand_in, 0);
    report.is_low = v != kNone && paint_[v].low;
    report.type = std::string(DTypeName(report.is_low ? graph_.low() : DType::kFloat32));
    report.reason_kind = "replaced";
    report.reason = replaced.how;
    return report;
  }

  // Once per node: the report takes its path over.
  NodeReport Explain(NodeId id) {
    const Node& node = model_.node(id);
    const Classification& c = classes_.nodes[id];
    NodeReport report;
    report.path = std::move(paths_.nodes[id]);
    report.op_type = OperatorName(node);
    report.op_class = c.op_class;
    report.class_name = ShownClass(model_, id, c);
    report.type = "float32";
    ClassOrigin origin = OriginOf(model_, c);
    report.class_origin = std::move(origin.origin);
    report.class_why = std::move(origin.why);
    const VertexId v = RepresentativeVertex(id);
    if (report.class_name == "constant") {
      ExplainConstant(node, &report);
      return report;
    }
    if (v == kNone) {
      ExplainWithoutVertex(node, id, &report);
      return report;
    }
    const VertexPaint& paint = paint_[v];
    report.is_low = paint.low;
    if (paint.low) report.type = std::string(DTypeName(graph_.low()));
    if (paint.reason.kind == ReasonKind::kNotFloat32) report.type = LowTypeNow(node);
    report.is_heavy = IsHeavy(node) && graph_[v].is_high;
    report.reason_kind = std::string(ReasonName(paint.reason.kind));
    report.reason = Sentence(v, report);
    if (report.class_name == "cast" && paint.reason.kind == ReasonKind::kUnlisted) {
      report.reason_kind = "cast";
      report.reason = "the model's own cast: stays as it is";
    }
    return report;
  }

 private:
  // The 16-bit type that the node works on already; "-" if it does not.
  std::string LowTypeNow(const Node& node) const {
    for (const auto* ports : {&node.inputs, &node.outputs}) {
      for (ValueId id : *ports) {
        const DType type = id == kNone ? DType::kUndefined : ElementType(model_.value(id));
        if (IsLowFloat(type)) return std::string(DTypeName(type));
      }
    }
    return "-";
  }

  // The vertex that speaks for the node: a low one, else a vetoed or denied one, else a float32 one, else the first.
  VertexId RepresentativeVertex(NodeId id) const {
    const auto rank = [&](VertexId v) {
      const VertexPaint& paint = paint_[v];
      if (paint.low) return 0;
      if (!graph_[v].is_high) return 3;
      return paint.denied ? 1 : 2;
    };
    const auto vertices = graph_.OfNode(id);
    const auto it =
        std::min_element(vertices.begin(), vertices.end(), [&](VertexId a, VertexId b) { return rank(a) < rank(b); });
    return it == vertices.end() ? kNone : *it;
  }

  void ExplainWithoutVertex(const Node& node, NodeId id, NodeReport* report) const {
    const auto set = [&](absl::string_view kind, std::string why) {
      report->reason_kind = std::string(kind);
      report->reason = std::move(why);
    };
    if (model_.IsCallOfFunction(id)) return set(kFunctionCall, WhyCallStays(node));
    if (node.schema == nullptr && !model_.SignaturesOf(id).empty()) {
      return set("signature-misfit", absl::StrCat("does not fit the signature of ", Escaped(OperatorName(node))));
    }
    if (node.schema == nullptr && !node.domain().empty()) {
      return set("unknown-operator", absl::StrCat("no signature for ", Escaped(OperatorName(node)),
                                                  ": --op-signature says what it takes and gives"));
    }
    if (node.schema == nullptr) {
      return set("unknown-operator", absl::StrFormat("no schema for %s at opset %d", Escaped(OperatorName(node)),
                                                     model_.opset(node.domain())));
    }
    if (const NodeId owner = OpaqueOwner(id); owner != kNone) {
      return set("body", absl::StrCat("inside a body of ", Escaped(OperatorName(model_.node(owner))),
                                      ", which is no control flow of ai.onnx: left as it is"));
    }
    if (!node.bodies.empty()) return set("body", "holds a body, but is no control flow of ai.onnx: left as it is");
    report->type = "-";
    set(ReasonName(ReasonKind::kNotFloat32), "works on sequences, optionals or nothing");
  }

  void ExplainConstant(const Node& node, NodeReport* report) const {
    const bool is_float32 = ElementType(model_.value(node.Output(0))) == DType::kFloat32;
    if (!is_float32) report->type = LowTypeNow(node);
    report->reason_kind = "constant";
    report->reason = is_float32 ? absl::StrCat("a constant: low readers get it in ", DTypeName(graph_.low()))
                                : "a constant without float32";
  }

  std::string WhyCallStays(const Node& node) const {
    const bool has_reason = inlined_ != nullptr && inlined_->kept.contains(node.proto.get());
    return absl::StrCat(kCallStays, has_reason ? absl::StrCat(": ", inlined_->kept.at(node.proto.get()))
                                               : "; --functions inline looks into it");
  }

  // The outermost node around `id` whose bodies do not take part; kNone for none.
  NodeId OpaqueOwner(NodeId id) const {
    NodeId opaque = kNone;
    for (NodeId owner = model_.graph(model_.node(id).graph).owner; owner != kNone;
         owner = model_.graph(model_.node(owner).graph).owner) {
      if (!DescribeControlFlow(model_, owner).has_value()) opaque = owner;
    }
    return opaque;
  }

  std::string Label(VertexId v) const { return Escaped(model_.NodeLabel(graph_[v].node)); }

  // The first vertex of another node on the way from `v`, a vertex of `node` or of its bodies' ports, back to where its
  // paint came from.
  VertexId PredecessorOutside(NodeId node, VertexId v) const {
    while (graph_[v].node == node && paint_[v].reason.via != kNone) {
      v = paint_[v].reason.via;
    }
    return v;
  }

  // "a <- b <- c" from the neighbour back to the node that is denied itself, at most four names.
  std::string DenialPath(const PaintReason& reason) const {
    std::string path = Label(reason.via);
    NodeId last = graph_[reason.via].node;
    int shown = 1;
    for (VertexId v = paint_[reason.via].denied_by; v != kNone; v = paint_[v].denied_by) {
      if (graph_[v].node == last) continue;  // from port to port of control flow
      last = graph_[v].node;
      if (++shown == 3 && v != reason.root) return absl::StrCat(path, " <- ... <- ", Label(reason.root));
      absl::StrAppend(&path, " <- ", Label(v));
    }
    return path;
  }

  std::string Downstream(const PaintReason& reason) const {
    const bool is_guarded = paint_[reason.root].reason.kind == ReasonKind::kGuard;
    if (is_guarded) return absl::StrCat("downstream of ", DenialPath(reason), ", which a guard keeps float32");
    return absl::StrCat("downstream of a denied operator: ", DenialPath(reason));
  }

  // Returns the reason why a vertex is float32, in two or three words: "is denied".
  std::string InBrief(VertexId v) const {
    const PaintReason& reason = paint_[v].reason;
    if (paint_[v].low) return "is low for the sake of its norm's types alone";
    if (reason.kind == ReasonKind::kDenied) return "is denied";
    if (reason.kind == ReasonKind::kDeniedByPath) return absl::StrCat("is downstream of ", Label(reason.root));
    if (reason.kind == ReasonKind::kGuard) return "a guard keeps float32";
    if (reason.kind == ReasonKind::kUnlisted && IsCast(model_.node(graph_[v].node))) return "is the model's own cast";
    if (reason.kind == ReasonKind::kUnlisted) return "is on no list";
    if (reason.kind == ReasonKind::kSchemaForbids) return absl::StrCat("takes no ", DTypeName(graph_.low()));
    return absl::StrCat("stays float32: ", reason.detail.empty() ? ReasonName(reason.kind) : reason.detail);
  }

  // Explains an infer node that is not on a path between two allowed ones.
  std::string WhyNotBetween(const PaintReason& reason) const {
    if (reason.missing == MissingEnd::kUnknown) return "infer: not on a path between two allowed operators";
    const bool is_behind = reason.missing == MissingEnd::kBehind;
    if (reason.via == kNone) return absl::StrCat("infer: no path ", is_behind ? "to" : "from", " an allowed operator");
    return absl::StrCat("infer: no allowed operator ", is_behind ? "behind it before " : "ahead of it after ",
                        PortLabel(reason.via), ", which ", InBrief(reason.via));
  }

  std::string PortLabel(VertexId v) const {
    return absl::StrCat(graph_[v].body == kNone ? "" : "a port of the body of ", Label(v));
  }

  // Why a member closes its group; a short form of its own sentence.
  std::string WhyClosed(VertexId v) const {
    const PaintReason& reason = paint_[v].reason;
    if (reason.kind == ReasonKind::kDeniedByPath) return absl::StrCat("downstream of ", DenialPath(reason));
    if (reason.kind == ReasonKind::kPinned) return "a sequence or optional enters or leaves the graph there";
    if (!reason.detail.empty()) return reason.detail;
    return std::string(ReasonName(reason.kind));
  }

  // Returns a phrase on the cost of the other type.
  std::string Traffic(VertexId v, absl::string_view other) const {
    const PaintReason& reason = paint_[v].reason;
    if (model_.node(graph_[v].node).Has(Role::kReadsShape)) return "reads no element: has the type of what it reads";
    if (!reason.detail.empty()) return absl::StrCat(other, " ", reason.detail);
    if (reason.bytes == 0) return absl::StrCat(other, " would move no fewer bytes, casts included");
    return absl::StrCat(other, " would move ", reason.is_estimate ? "about " : "", ByteText(reason.bytes),
                        " more, casts included", reason.is_estimate ? " (some sizes are guessed)" : "");
  }

  std::string Sentence(VertexId v, const NodeReport& node) const {
    const PaintReason& reason = paint_[v].reason;
    const std::string from = node.class_origin.empty() ? "" : absl::StrCat(" (", Escaped(node.class_origin), ")");
    const std::string why = node.class_why.empty() ? "" : absl::StrCat(": ", Escaped(node.class_why));
    switch (reason.kind) {
      case ReasonKind::kSeeded:
        return absl::StrCat("allowed", why, from);
      case ReasonKind::kBetween:
        return absl::StrCat("between two allowed operators, on the way to ",
                            Label(PredecessorOutside(graph_[v].node, reason.via)));
      case ReasonKind::kFollows:
        return absl::StrCat("follows ", Label(reason.via));
      case ReasonKind::kClearNeighbour:
        return absl::StrCat("clear, beside ", Label(PredecessorOutside(graph_[v].node, reason.via)));
      case ReasonKind::kCastJoins:
        return "every reader of this cast is low";
      case ReasonKind::kMatches:
        return absl::StrCat("must have one type with ", Label(PredecessorOutside(graph_[v].node, reason.via)),
                            ", which is low");
      case ReasonKind::kForced:
        return "forced by --level unsafe-force-all";
      case ReasonKind::kSavesTraffic:
        return Traffic(v, "float32");
      case ReasonKind::kCostsTraffic:
        return Traffic(v, DTypeName(graph_.low()));
      case ReasonKind::kDenied:
        return absl::StrCat("denied", why, from);
      case ReasonKind::kLevel:
        return absl::StrCat(reason.detail, from);
      case ReasonKind::kDeniedByPath:
        return Downstream(reason);
      case ReasonKind::kGuard:
        return absl::StrCat("guard: ", reason.detail);
      case ReasonKind::kUnlisted:
        return absl::StrCat(node.class_why.empty() ? "on no list:" : absl::StrCat("unlisted", why, ";"),
                            " stays float32 and stops every propagation", from);
      case ReasonKind::kNotProcessed:
        return reason.detail;
      case ReasonKind::kTypeUnknown:
        return "the type of one of its values is not known";
      case ReasonKind::kSchemaForbids:
        if (model_.node(graph_[v].node).schema->is_signature()) {
          if (const Reason why = ObstacleToCasts(model_, graph_.low())) return why.sentence();
          return absl::StrCat("the signature of ", Escaped(node.op_type), " takes no ", DTypeName(graph_.low()));
        }
        return absl::StrCat(Escaped(node.op_type), " takes no ", DTypeName(graph_.low()), " at opset ",
                            model_.opset(model_.node(graph_[v].node).domain()), opset_obstacle_.empty() ? "" : "; ",
                            opset_obstacle_);
      case ReasonKind::kPinned:
        return "a sequence or optional that enters or leaves the graph: no cast can convert it";
      case ReasonKind::kGroup:
        return absl::StrCat("must have one type with ", PortLabel(reason.via),
                            ", which stays float32: ", WhyClosed(reason.via));
      case ReasonKind::kNoFastKernel:
        return absl::StrCat("no fast ", DTypeName(graph_.low()), " kernel on ", target_);
      case ReasonKind::kNoAllowedPath:
        if (ReadsShapeAlone(model_.node(graph_[v].node), 0)) {
          return absl::StrCat("reads the shape alone: it is the same in ", DTypeName(graph_.low()));
        }
        return node.op_class == OpClass::kClear ? "clear: no low operator beside it" : WhyNotBetween(reason);
      case ReasonKind::kNotFloat32:
        return node.type == "-" ? "no float32 in or out" : absl::StrCat("already ", node.type);
    }
    return "";
  }

  const Model& model_;
  const NodeClasses& classes_;
  const VertexGraph& graph_;
  const Paint& paint_;
  const std::string& opset_obstacle_;
  const std::string& target_;
  const InlinedFunctions* inlined_;
  NodePaths paths_;
};

}  // namespace

std::vector<std::pair<NodeId, NodeReport>> ExplainNodes(const ModelToExplain& decided) {
  Explainer explainer(decided);
  std::vector<std::pair<NodeId, NodeReport>> nodes;
  absl::flat_hash_map<NodeId, std::vector<const ReplacedNode*>> behind;
  for (const ReplacedNode& replaced : decided.replaced) behind[replaced.stand_in].push_back(&replaced);
  for (const GraphId graph : decided.model.AllGraphs()) {
    for (const NodeId id : decided.model.NodesInOrder(graph)) {
      const bool is_ours = decided.model.node(id).inserted;  // by lifting the opset, or in a node's stead
      if (!is_ours) nodes.emplace_back(id, explainer.Explain(id));
      const auto it = behind.find(id);
      if (it == behind.end()) continue;
      for (const ReplacedNode* replaced : it->second) {
        nodes.emplace_back(is_ours ? id : replaced->node, explainer.ExplainReplaced(*replaced));
      }
    }
  }
  return nodes;
}

std::string ShownClass(const Model& model, NodeId id, const Classification& c) {
  const Node& node = model.node(id);
  const bool is_named = c.rule != nullptr || c.row != nullptr;
  if (!is_named && IsCast(node)) return "cast";
  const bool is_constant = RolesOf(model, id).Has(Role::kConstant);
  if (!is_named && is_constant && node.Output(0) != kNone) return "constant";
  return std::string(OpClassName(c.op_class));
}

}  // namespace amp
