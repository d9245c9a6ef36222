#include "passes/report/stages.h"

#include "absl/strings/str_join.h"
#include "ir/base/status.h"
#include "ir/graph/node_paths.h"
#include "ir/graph/print_model.h"
#include "ir/graph/shape.h"
#include "ir/schema/schema.h"
#include "passes/classify/suggest.h"
#include "passes/report/explain_nodes.h"

namespace amp {
namespace {

struct Row {
  Stage stage;
  const char* name;
};

constexpr Row kRows[] = {
    {Stage::kLoad, "load"},         {Stage::kInfer, "infer"},     {Stage::kLift, "lift"},
    {Stage::kClassify, "classify"}, {Stage::kGuard, "guard"},     {Stage::kPaint, "paint"},
    {Stage::kCasts, "casts"},       {Stage::kWeights, "weights"}, {Stage::kFold, "fold"},
};

std::string Heading(Stage stage) { return absl::StrCat("---- after ", StageName(stage), "\n"); }

// "output y of its then_branch"
std::string PortLabel(const Model& model, const VertexGraph& graph, VertexId v) {
  const Graph& body = model.graph(graph[v].body);
  const std::string of_body = absl::StrCat(" of its ", Escaped(BodyLabel(model, graph[v].body)));
  for (size_t i = 0; i < body.inputs.size(); ++i) {
    if (graph.OfBodyInput(graph[v].body, i) == v)
      return absl::StrCat("input ", Escaped(model.value(body.inputs[i]).name), of_body);
  }
  for (size_t i = 0; i < body.outputs.size(); ++i) {
    if (graph.OfBodyOutput(graph[v].body, i) == v)
      return absl::StrCat("output ", Escaped(model.value(body.outputs[i]).name), of_body);
  }
  return absl::StrCat("a port", of_body);
}

// "mm T", the node and the type variable; "if output y of its then_branch".
std::string VertexLabel(const Model& model, const VertexGraph& graph, VertexId v) {
  const Vertex& vertex = graph[v];
  if (vertex.body != kNone) {
    return absl::StrCat(Escaped(model.NodeLabel(vertex.node)), " ", PortLabel(model, graph, v));
  }
  const OpSchema* schema = model.node(vertex.node).schema;
  const bool is_named = schema != nullptr && vertex.variable < static_cast<int>(schema->variables().size());
  return absl::StrCat(
      Escaped(model.NodeLabel(vertex.node)), " ",
      is_named ? schema->variables()[static_cast<size_t>(vertex.variable)].name : absl::StrCat("#", vertex.variable));
}

}  // namespace

absl::string_view StageName(Stage stage) {
  for (const Row& row : kRows) {
    if (row.stage == stage) return row.name;
  }
  return "";
}

std::vector<std::string> StageNames() {
  std::vector<std::string> names;
  for (const Row& row : kRows) names.emplace_back(row.name);
  return names;
}

absl::StatusOr<Stage> FindStage(absl::string_view flag, absl::string_view name) {
  for (const Row& row : kRows) {
    if (name == row.name) return row.stage;
  }
  return UsageError(flag, ": expected ", absl::StrJoin(StageNames(), ", "), "; found '", Escaped(name), "'",
                    DidYouMean(name, StageNames()));
}

Reason ObstacleToStopping(Stage stage) {
  if (stage != Stage::kCasts) return Reason::None();
  return "after 'casts' low nodes still read float32 weights, which is no valid model; stop after 'weights', or look "
         "at it with --print-after casts";
}

absl::StatusOr<std::string> ShowModel(Stage stage, Model& model) {
  AMP_ASSIGN_OR_RETURN(const std::string text, PrintModel(model));
  return absl::StrCat(Heading(stage), text);
}

std::string ShowTypes(const Model& model) {
  std::string text = Heading(Stage::kInfer);
  for (const GraphId graph : model.AllGraphs()) {
    for (NodeId node : model.NodesInOrder(graph)) {
      for (const ValueId out : model.node(node).PresentOutputs()) {
        absl::StrAppend(&text, Escaped(model.value(out).name), ": ", TypeText(model, out), "\n");
      }
    }
  }
  return text;
}

std::string ShowClasses(const Model& model, const NodeClasses& classes) {
  std::string text = Heading(Stage::kClassify);
  for (const GraphId graph : model.AllGraphs()) {
    for (NodeId node : model.NodesInOrder(graph)) {
      const Classification& c = classes.nodes[node];
      const std::string origin = OriginOf(model, c).origin;
      absl::StrAppend(&text, Escaped(model.NodeLabel(node)), ": ", ShownClass(model, node, c), ", ",
                      origin.empty() ? "on no list" : Escaped(origin), "\n");
    }
  }
  return text;
}

std::string ShowVetoes(const Model& model, const VertexGraph& graph, const std::vector<Veto>& vetoes) {
  std::string text = Heading(Stage::kGuard);
  for (const Veto& veto : vetoes) absl::StrAppend(&text, VertexLabel(model, graph, veto.vertex), ": ", veto.why, "\n");
  if (vetoes.empty()) text += "no veto\n";
  return text;
}

std::string ShowPaint(const Model& model, const VertexGraph& graph, const Paint& paint) {
  std::string text = Heading(Stage::kPaint);
  for (const VertexId v : graph.ids()) {
    const VertexPaint& p = paint[v];
    const bool is_float32 = graph[v].is_high;
    absl::StrAppend(&text, VertexLabel(model, graph, v), ": ",
                    p.low        ? DTypeName(graph.low())
                    : is_float32 ? "float32"
                                 : "-",
                    ", ", ReasonName(p.reason.kind));
    if (p.reason.via != kNone) absl::StrAppend(&text, " ", VertexLabel(model, graph, p.reason.via));
    text += '\n';
  }
  return text;
}

}  // namespace amp
