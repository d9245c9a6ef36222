#include "passes/report/give_hints.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ir/base/status.h"
#include "ir/operators/matrix_dims.h"
#include "ir/opset/opset_adapters.h"
#include "ir/schema/schema.h"

namespace amp {
namespace {

constexpr int64_t kTile = 8;
constexpr int64_t kSmall = 256;
constexpr size_t kMostExamples = 3;

// Also sizes that a file may declare but that nothing can hold, padded or not.
bool Fits(int64_t size) {
  return size % kTile == 0 || (size < kSmall && (size & (size - 1)) == 0) || size > INT64_MAX - kTile;
}

// REQUIRES: the size does not fit.
int64_t PadTo(int64_t size) { return (size + kTile - 1) / kTile * kTile; }

// Nodes with the same misfit, in the order of the graph.
struct WastefulSize {
  std::string operator_name, dim;
  int64_t size = 0;
  std::vector<std::string> nodes;
  double Waste() const { return 1.0 - static_cast<double>(size) / static_cast<double>(PadTo(size)); }
};

std::string Describe(const WastefulSize& misfit) {
  const size_t count = misfit.nodes.size();
  const std::string nodes =
      count == 1 ? misfit.nodes[0] : absl::StrCat(count, " ", misfit.operator_name, " (", misfit.nodes[0], ", ...)");
  return absl::StrCat(misfit.dim, " = ", misfit.size, " in ", nodes, ", padded to ", PadTo(misfit.size));
}

// The lowest opset above the model's at which the operator takes the low type where `v` is; 0 if there is none.
int OpsetThatAllows(const Model& model, const VertexGraph& graph, VertexId v) {
  const Vertex& vertex = graph[v];
  const Node& node = model.node(vertex.node);
  if (node.schema == nullptr || !node.domain().empty()) return 0;
  const auto port_of = [&](size_t count, const auto& variable_at) -> std::optional<size_t> {
    for (size_t port = 0; port < count; ++port) {
      if (variable_at(port) == vertex.variable) return port;
    }
    return std::nullopt;
  };
  const auto input = port_of(node.schema->num_inputs() == 0 ? 0 : node.inputs.size(),
                             [&](size_t port) { return node.schema->InputVariable(port); });
  const auto output = port_of(node.schema->num_outputs() == 0 ? 0 : node.outputs.size(),
                              [&](size_t port) { return node.schema->OutputVariable(port); });
  for (int opset = model.opset("") + 1; opset <= NewestOpset(); ++opset) {
    const OpSchema* newer = FindOpSchema("", node.op_type(), opset);
    if (newer == nullptr || newer->since_version() == node.schema->since_version() || newer->deprecated()) continue;
    int variable = -1;
    if (input.has_value() && newer->num_inputs() > 0) variable = newer->InputVariable(*input);
    if (!input.has_value() && output.has_value() && newer->num_outputs() > 0) variable = newer->OutputVariable(*output);
    if (variable >= 0 && newer->Allows(variable, graph.low()) && newer->Allows(variable, DType::kFloat32)) return opset;
  }
  return 0;
}

}  // namespace

std::vector<std::string> HintAtDimensions(const Model& model, const VertexGraph& graph, const Paint& paint) {
  std::map<std::tuple<std::string, std::string, int64_t>, size_t> index;
  std::vector<WastefulSize> misfits;
  std::set<NodeId> matrix_nodes, misfit_nodes;
  for (const VertexId v : graph.ids()) {
    const NodeId node = graph[v].node;
    if (!paint[v].low || matrix_nodes.contains(node)) continue;
    const std::vector<MatrixDim> dims = MatrixDims(model, node);
    if (dims.empty()) continue;
    matrix_nodes.insert(node);
    for (const MatrixDim& dim : dims) {
      if (Fits(dim.size)) continue;
      misfit_nodes.insert(node);
      const std::string name(model.node(node).op_type());
      const auto [it, is_new] = index.try_emplace({name, dim.name, dim.size}, misfits.size());
      if (is_new) misfits.push_back({name, dim.name, dim.size, {}});
      misfits[it->second].nodes.push_back(Escaped(model.NodeLabel(node)));
    }
  }
  if (misfits.empty()) return {};
  std::stable_sort(misfits.begin(), misfits.end(),
                   [](const WastefulSize& a, const WastefulSize& b) { return a.Waste() > b.Waste(); });
  std::vector<std::string> examples;
  for (size_t i = 0; i < std::min(misfits.size(), kMostExamples); ++i) examples.push_back(Describe(misfits[i]));
  const size_t more = misfits.size() - examples.size();
  return {absl::StrCat(misfit_nodes.size(), " of ", matrix_nodes.size(),
                       " low matrix operators have sizes that waste Tensor Cores (neither a multiple of 8 nor, under "
                       "256, a power of two): ",
                       absl::StrJoin(examples, "; "), more > 0 ? absl::StrCat("; and ", more, " more sizes") : "")};
}

std::vector<std::string> HintAtOpset(const Model& model, const VertexGraph& graph, const Paint& paint) {
  std::map<int, std::pair<std::set<NodeId>, std::set<std::string>>> gains;  // by opset: nodes, operators
  for (const VertexId v : graph.ids()) {
    if (paint[v].reason.kind != ReasonKind::kSchemaForbids) continue;
    const int opset = OpsetThatAllows(model, graph, v);
    if (opset == 0) continue;
    gains[opset].first.insert(graph[v].node);
    gains[opset].second.emplace(model.node(graph[v].node).op_type());
  }
  std::vector<std::string> hints;
  for (const auto& [opset, gain] : gains) {
    const size_t count = gain.first.size();
    const absl::string_view low = DTypeName(graph.low());
    const std::string operators = absl::StrJoin(gain.second, ", ");
    OpsetReach reach = ReachableOpset(model, opset);
    if (reach.opset == opset) {
      hints.push_back(absl::StrCat("opset ", opset, " would let ", count, " more node", count == 1 ? "" : "s",
                                   " run in ", low, ": ", operators));
      continue;
    }
    if (opset > NewestAdaptedOpset())
      reach.blocking = absl::StrCat("this program lifts to ", NewestAdaptedOpset(), " at most");
    const absl::string_view nodes = count == 1 ? "node" : "nodes", stay = count == 1 ? "stays" : "stay";
    const std::string which = gain.second.size() == 1 ? absl::StrCat(count, " ", operators, " ", nodes)
                                                      : absl::StrCat(count, " ", nodes, " (", operators, ")");
    hints.push_back(absl::StrCat(which, " ", stay, " float32: ONNX allows ", low, " there from opset ", opset,
                                 " on, and ", reach.blocking.sentence()));
  }
  return hints;
}

}  // namespace amp
