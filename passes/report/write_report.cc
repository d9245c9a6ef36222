#include "passes/report/write_report.h"

#include <algorithm>
#include <tuple>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "ir/base/saturated.h"
#include "ir/base/status.h"
#include "ir/graph/control_flow.h"
#include "ir/graph/node_paths.h"
#include "ir/graph/shape.h"
#include "ir/operators/operator_facts.h"
#include "ir/operators/operator_roles.h"
#include "ir/schema/operator_label.h"
#include "ir/schema/schema.h"
#include "passes/record/rewrite_record.h"
#include "passes/report/annotate_nodes.h"
#include "passes/report/explain_nodes.h"

namespace amp {
namespace {

std::string OperatorName(const Node& node) { return OperatorLabel(node.domain(), node.op_type()); }

int64_t WeightBytes(const Model& model) {
  int64_t bytes = 0;
  for (const GraphId graph : model.AllGraphs()) {
    for (ValueId id : model.graph(graph).initializers) bytes = SaturatedSum(bytes, NumBytes(model, id));
    for (NodeId node : model.NodesInOrder(graph)) {
      for (const ValueId out : model.node(node).PresentOutputs()) {
        if (model.IsConstant(out)) bytes = SaturatedSum(bytes, NumBytes(model, out));
      }
    }
  }
  return bytes;
}

int64_t ActivationBytes(const Model& model) {
  int64_t bytes = 0;
  for (const GraphId graph : model.AllGraphs()) {
    for (NodeId node : model.NodesInOrder(graph)) {
      for (const ValueId out : model.node(node).PresentOutputs()) {
        if (!model.IsConstant(out)) bytes = SaturatedSum(bytes, NumBytes(model, out));
      }
    }
  }
  return bytes;
}

// Whether a rewrite gave the model that low type and can be taken back. A record that cannot be read has its own error.
bool IsRecorded(const Model& model, const std::string& type) {
  const auto record = ReadRecord(model);
  return record.ok() && record->has_value() && absl::c_linear_search((*record)->types, type);
}

// A clause on a model whose operators may all be in functions, so that the nodes beside their calls say little.
std::string BesideCalls(const Report& report) {
  std::vector<const NodeReport*> calls;
  for (const NodeReport& node : report.nodes) {
    if (node.reason_kind == kFunctionCall) calls.push_back(&node);
  }
  if (calls.empty()) return "";
  const absl::string_view why = absl::StripPrefix(calls.front()->reason, kCallStays);
  return absl::StrFormat(" beside %d call%s of model-local functions, left as they are%s", calls.size(),
                         calls.size() == 1 ? "" : "s", why);
}

// The commonest reason why no operator of the allow list is low.
std::string WhyUnchanged(const Model& model, const Report& report) {
  absl::flat_hash_map<std::string, int> counts;
  const NodeReport* telling = nullptr;
  for (const NodeReport& node : report.nodes) {
    const bool is_excluded = node.reason_kind == ReasonName(ReasonKind::kNotProcessed);
    if (node.op_class != OpClass::kAllow && !is_excluded) continue;
    const int count = ++counts[node.reason_kind];
    if (telling == nullptr || count > counts[telling->reason_kind]) telling = &node;
  }
  if (telling == nullptr) return absl::StrCat("it has no operator of class allow", BesideCalls(report));
  const int count = counts[telling->reason_kind];
  const bool is_of_other_run = telling->reason_kind == ReasonName(ReasonKind::kNotFloat32) &&
                               telling->type != DTypeName(report.low) && IsRecorded(model, telling->type);
  return absl::StrFormat(
      "no allowed operator can become low (%d node%s: %s)%s", count, count == 1 ? "" : "s", telling->reason,
      is_of_other_run ? "; to change its type, take the rewrite back first with --policy float32" : "");
}

}  // namespace

void ReportWriter::Begin(const Model& model, DType low, const std::string& target) {
  report_.low = low;
  report_.target = target;
  report_.opset_before = model.opset("");
  report_.ir_version_before = model.ir_version();
  report_.weight_bytes_before = WeightBytes(model);
  report_.activation_bytes_before = ActivationBytes(model);
}

void ReportWriter::SetOpsetObstacle(std::string obstacle) {
  AddAdvice(absl::StrCat("more operators could run in ", DTypeName(report_.low), ", but ", obstacle));
  opset_obstacle_ = std::move(obstacle);
}

void ReportWriter::ExplainNodes(const Model& model, const NodeClasses& classes, const VertexGraph& graph,
                                const Paint& paint) {
  node_index_.resize(model.num_nodes());
  for (auto& [id, node] :
       amp::ExplainNodes({model, classes, graph, paint, opset_obstacle_, report_.target, inlined_, gone_})) {
    node_index_[id] = report_.nodes.size();
    node_ids_.push_back(id);
    report_.nodes.push_back(std::move(node));
  }
}

void ReportWriter::DescribeGraph(const Model& model, const ObservedValues* observed) {
  report_.graph = amp::DescribeGraph(model, node_ids_, observed);
}

void ReportWriter::AddFunctions(const InlinedFunctions& inlined) {
  inlined_ = &inlined;
  if (inlined.opset_before > 0) report_.opset_before = inlined.opset_before;
  report_.inlined_calls = inlined.num_calls;
  report_.inlined_functions = inlined.functions;
}

void ReportWriter::AddOutlined(const OutlinedFunctions& outlined) {
  report_.specialised_functions = outlined.functions;
  report_.specialised_calls = outlined.num_calls;
  report_.original_calls = outlined.num_unchanged;
  // A cast in a function is in the file once, for all calls.
  std::vector<CastReport> casts;
  absl::flat_hash_map<std::string, size_t> position;
  for (CastReport& cast : report_.casts) {
    if (const auto it = outlined.moved.find(cast.name); it != outlined.moved.end()) {
      std::tie(cast.name, cast.value) = it->second;
    }
    const auto [it, is_new] = position.try_emplace(cast.name, casts.size());
    if (is_new) {
      casts.push_back(std::move(cast));
    } else {
      auto& readers = casts[it->second].readers;
      readers.insert(readers.end(), cast.readers.begin(), cast.readers.end());
      auto& nodes = casts[it->second].reading_nodes;
      nodes.insert(nodes.end(), cast.reading_nodes.begin(), cast.reading_nodes.end());
    }
  }
  report_.casts = std::move(casts);
}

void ReportWriter::AddIo(const Model& model, const VertexGraph& graph, const Paint& paint, const CastPlan& plan,
                         const ReleasedIo& released) {
  const absl::flat_hash_set<ValueId> low(plan.low_values.begin(), plan.low_values.end());
  const auto advise = [&](absl::string_view ports, const std::vector<std::string>& high) {
    if (high.empty()) return;
    AddAdvice(absl::StrCat("graph ", ports, " that may be ", DTypeName(report_.low), " stay float32: ", FirstOf(high),
                           "; --explain has the reasons"));
  };
  const Graph& main = model.graph(kMainGraph);
  std::vector<std::string> inputs, outputs;
  // "sm, Softmax: denied"
  const auto in_brief = [&](NodeId id, VertexId v) {
    const absl::string_view reason = v == kNone ? "" : ReasonName(paint[v].reason.kind);
    return absl::StrCat(Escaped(model.NodeLabel(id)), ", ", Escaped(OperatorName(model.node(id))),
                        reason.empty() ? "" : ": ", reason);
  };
  const auto stays = [&](ValueId id, bool is_released) {
    return is_released && ElementType(model.value(id)) == DType::kFloat32 && !low.contains(id);
  };
  for (size_t i = 0; i < main.outputs.size(); ++i) {
    const Value& value = model.value(main.outputs[i]);
    if (!stays(main.outputs[i], released.outputs[i])) continue;
    const std::string by =
        value.producer == kNone ? "no node" : in_brief(value.producer, graph.OfValue(main.outputs[i]));
    outputs.push_back(absl::StrCat(Escaped(value.name), " (given by ", by, ")"));
  }
  for (size_t i = 0; i < main.inputs.size(); ++i) {
    const Value& value = model.value(main.inputs[i]);
    const auto reader = absl::c_find_if(value.uses, [](const Use& use) { return !use.IsGraphOutput(); });
    if (!stays(main.inputs[i], released.inputs[i]) || reader == value.uses.end()) continue;
    const std::string by = in_brief(reader->node, graph.OfUse(*reader));
    inputs.push_back(absl::StrCat(Escaped(value.name), " (read by ", by, ")"));
  }
  advise("outputs", outputs);
  advise("inputs", inputs);
}

void ReportWriter::AddCasts(const Model& model, const std::vector<InsertedCast>& casts) {
  const auto count_for = [&](NodeId id) {
    if (node_index_.contains(id) && node_index_[id].has_value()) ++report_.nodes[*node_index_[id]].num_casts;
  };
  for (const InsertedCast& cast : casts) {
    const Node& node = model.node(cast.node);
    if (node.erased) continue;  // folded away
    CastReport& report = report_.casts.emplace_back(CastReport{std::string(node.name()),
                                                               model.value(cast.value).name,
                                                               cast.from,
                                                               cast.to,
                                                               cast.readers,
                                                               cast.num_elements,
                                                               {},
                                                               {}});
    count_for(model.value(cast.value).producer);
    for (const Use& use : model.value(node.Output(0)).uses) {
      count_for(use.node);
      if (report_.graph && node_index_.contains(use.node) && node_index_[use.node]) {
        report.reading_nodes.push_back(static_cast<uint32_t>(*node_index_[use.node]));
      }
    }
    if (!report_.graph || !report_.graph->index.contains(cast.value)) continue;
    const uint32_t value = report_.graph->index[cast.value];
    if (value < report_.graph->values.size()) report.graph_value = value;
  }
}

void ReportWriter::AdviseFreezing(const Model& model, const std::vector<InsertedCast>& casts) {
  std::vector<std::string> overridable;
  for (const InsertedCast& cast : casts) {
    const bool is_there = !model.node(cast.node).erased;
    if (is_there && model.value(cast.value).is_constant_default)
      overridable.push_back(Escaped(model.value(cast.value).name));
  }
  report_.num_casts_of_overridable = overridable.size();
  if (overridable.empty()) return;
  AddAdvice(absl::StrCat("weights that a caller may override are cast at run time: ", FirstOf(overridable),
                         "; --freeze-initializers makes constants of them"));
}

void ReportWriter::AddRemovedCasts(const Model& model, const std::vector<NodeId>& erased) {
  for (NodeId id : erased) {
    if (!model.node(id).inserted) report_.removed_casts.push_back(model.NodeLabel(id));
  }
}

void ReportWriter::Annotate(Model& model) const { AnnotateNodes(model, node_ids_, report_.nodes); }

Report ReportWriter::Finish(const Model& model, bool changed) {
  if (report_.graph.has_value()) {
    report_.graph->index = {};  // no more casts come
    for (const NodeId id : node_ids_) {
      const Node& node = model.node(id);
      report_.graph->first_outputs.push_back(node.erased ? absl::string_view() : model.value(node.Output(0)).name);
    }
    report_.graph->first_outputs.ShrinkToFit();
  }
  report_.changed = changed;
  report_.warnings = model.warnings();
  report_.opset_after = changed ? model.opset("") : report_.opset_before;
  report_.ir_version_after = changed ? model.ir_version() : report_.ir_version_before;
  report_.weight_bytes_after = changed ? WeightBytes(model) : report_.weight_bytes_before;
  report_.activation_bytes_after = changed ? ActivationBytes(model) : report_.activation_bytes_before;
  if (!report_.weights.empty() && report_.weight_bytes_after > report_.weight_bytes_before) {
    std::vector<std::string> readers;
    absl::flat_hash_set<absl::string_view> seen;
    for (const NarrowedWeight& weight : report_.weights) {
      for (const std::string& reader : weight.original_readers) {
        if (seen.insert(reader).second) readers.push_back(Escaped(reader));
      }
    }
    if (!readers.empty()) {  // else by what was made: the scale of a norm that had none
      AddAdvice(
          absl::StrCat("the weights grew: float32 originals stay for readers that are float32: ", FirstOf(readers)));
    }
  }
  if (!changed) report_.unchanged_because = WhyUnchanged(model, report_);
  return std::move(report_);
}

}  // namespace amp
