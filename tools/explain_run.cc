#include "tools/explain_run.h"

#include <algorithm>
#include <array>
#include <set>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ir/base/status.h"
#include "ir/graph/graph.h"
#include "ir/graph/node_paths.h"
#include "runtime/program.h"

namespace amp {
namespace {

using Row = std::array<std::string, 6>;

std::string TypesOf(const Model& model, const Node& node) {
  std::set<std::string> types;
  for (const ValueId output : node.outputs) {
    if (output != kNone) types.insert(std::string(DTypeName(model.value(output).dtype)));
  }
  return absl::StrJoin(types, ",");
}

// Reference kernels compute floats in float64 and everything else in its own type.
std::string ComputeText(const Model& model, const Instruction& instruction) {
  const absl::MutexLock lock(&instruction.site->mutex);
  const DType computed_in = instruction.site->computed_in;
  if (computed_in != DType::kUndefined) return std::string(DTypeName(computed_in));
  return TypesOf(model, model.node(instruction.node));
}

std::vector<Row> Rows(const Session& session) {
  const Model& model = session.model();
  const NodePaths paths = FindNodePaths(model);
  std::vector<Row> rows = {{"node", "operator", "kernel", "stored as", "computed in", "device"}};
  for (const auto& block : session.program().blocks) {
    for (const Instruction& instruction : block) {
      const Node& node = model.node(instruction.node);
      rows.push_back({Escaped(paths.nodes[instruction.node]), OperatorText(model, instruction.node),
                      KernelText(instruction), TypesOf(model, node), ComputeText(model, instruction), "cpu"});
    }
  }
  return rows;
}

}  // namespace

std::string KernelText(const Instruction& instruction) {
  const absl::MutexLock lock(&instruction.site->mutex);
  const KernelRow* row = instruction.site->row;
  if (row == nullptr) return "not run";
  const std::string& implementation = instruction.site->implementation;
  return absl::StrCat(row->family, implementation.empty() ? "" : " ", implementation);
}

std::string ExplainRun(const Session& session) {
  const std::vector<Row> rows = Rows(session);
  std::array<size_t, 6> widths = {};
  for (const Row& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const Row& row : rows) {
    for (size_t i = 0; i + 1 < row.size(); ++i) {
      absl::StrAppend(&text, row[i], std::string(widths[i] - row[i].size() + 2, ' '));
    }
    absl::StrAppend(&text, row.back(), "\n");
  }
  return text;
}

}  // namespace amp
