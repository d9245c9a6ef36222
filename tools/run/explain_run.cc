#include "tools/run/explain_run.h"

#include <algorithm>
#include <array>
#include <set>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "ir/base/status.h"
#include "ir/graph/graph.h"
#include "ir/graph/node_paths.h"
#include "runtime/plan/program.h"
#include "runtime/plan/widened.h"

namespace amp {
namespace {

constexpr char kNotRun[] = "not run";
using Row = std::array<std::string, 6>;

const KernelRow* RowThatRan(const Instruction& instruction) {
  const absl::MutexLock lock(&instruction.site->mutex);
  return instruction.site->row;
}

std::string TypesOf(const Model& model, const Instruction& instruction) {
  std::set<std::string> types;
  for (const ValueId output : instruction.outputs) {
    if (output != kNone) types.insert(std::string(DTypeName(model.value(output).dtype)));
  }
  return absl::StrJoin(types, ",");
}

// Returns the type in which the node computes. Nodes that move elements, or compute integers, do so in the type of
// their results.
std::string ComputeText(const Model& model, const Instruction& instruction) {
  const absl::MutexLock lock(&instruction.site->mutex);
  const KernelRow* row = instruction.site->row;
  if (row == nullptr) return "";
  const DType computed_in = instruction.site->computed_in;
  if (computed_in != DType::kUndefined) return std::string(DTypeName(computed_in));
  const std::string stored = TypesOf(model, instruction);
  const bool widens =
      row->family == kReferenceFamily && absl::StrContains(stored, "float") && Computes(model, instruction.node);
  return widens ? std::string(DTypeName(DType::kFloat64)) : stored;
}

// " (onednn: no elements)": why no better kernel ran; of what was widened always.
std::string Refusals(const Model& model, const Instruction& instruction) {
  const absl::MutexLock lock(&instruction.site->mutex);
  const KernelRow* row = instruction.site->row;
  const bool is_widened = row != nullptr && IsWidened(model, instruction, *row);
  const std::string& why_not = instruction.site->why_not_better;
  const std::string reason = is_widened ? WhyWidened(why_not) : why_not;
  return reason.empty() ? "" : absl::StrCat(" (", reason, ")");
}

// "cuda:0", "cpu, 2 copied": inputs that were elsewhere.
std::string DeviceText(const Session& session, const Instruction& instruction) {
  const absl::MutexLock lock(&instruction.site->mutex);
  const KernelRow* row = instruction.site->row;
  const std::string device = row != nullptr && row->runs_on_device ? session.DeviceName() : "cpu";
  const int num_copies = instruction.site->num_copies;
  return num_copies == 0 ? device : absl::StrCat(device, ", ", num_copies, " copied");
}

// With a device, what a run cost to copy.
std::string CopiesText(const Session& session) {
  constexpr double kKilobyte = 1e3;
  if (session.DeviceName() == "cpu") return "";
  const CopyCounts copies = session.LastCopies();
  return absl::StrFormat("copies of the run: %d to %s (%.4g kB), %d from it (%.4g kB); constants there: %.4g kB\n",
                         copies.in, session.DeviceName(), static_cast<double>(copies.in_bytes) / kKilobyte, copies.out,
                         static_cast<double>(copies.out_bytes) / kKilobyte,
                         static_cast<double>(session.DeviceConstantBytes()) / kKilobyte);
}

// Counts of nodes that ran.
struct LowNodes {
  int64_t all = 0, widened = 0;
};

void CountLowNodes(const Model& model, const Instruction& instruction, LowNodes& counts) {
  const KernelRow* const row = RowThatRan(instruction);
  const bool ran_in_parts = !instruction.unfused.empty() && row == nullptr;
  for (const Instruction& part : instruction.unfused) {
    if (ran_in_parts) {
      CountLowNodes(model, part, counts);
    } else if (HasLowResult(model, part)) {
      ++counts.all;
    }
  }
  if (row == nullptr || !instruction.unfused.empty()) return;
  if (HasLowResult(model, instruction)) ++counts.all;
  if (IsWidened(model, instruction, *row)) ++counts.widened;
}

// Empty where there are no 16-bit values.
std::string WidenedText(const Session& session) {
  LowNodes counts;
  for (const auto& block : session.program().blocks) {
    for (const Instruction& instruction : block) CountLowNodes(session.model(), instruction, counts);
  }
  if (counts.all == 0) return "";
  return absl::StrCat(counts.widened, " of ", counts.all,
                      " nodes on 16-bit values were widened, which is to compute them in float64\n");
}

void AppendRows(const Session& session, const NodePaths& paths, const Instruction& instruction,
                std::vector<Row>& rows) {
  const Model& model = session.model();
  const std::string kernel = KernelText(instruction);
  const bool ran_in_parts = !instruction.unfused.empty() && kernel == kNotRun;
  if (ran_in_parts) {
    for (const Instruction& part : instruction.unfused) AppendRows(session, paths, part, rows);
    return;
  }
  const std::string path = Escaped(paths.nodes[instruction.node]);
  rows.push_back({path, InstructionText(model, instruction), kernel + Refusals(model, instruction),
                  TypesOf(model, instruction), ComputeText(model, instruction), DeviceText(session, instruction)});
  for (const Instruction& part : instruction.unfused) {
    if (part.node == instruction.node && !instruction.is_fused_pattern) continue;
    rows.push_back({Escaped(paths.nodes[part.node]), OperatorText(model, part.node), absl::StrCat("part of ", path),
                    TypesOf(model, part), "", DeviceText(session, instruction)});
  }
}

std::vector<Row> Rows(const Session& session) {
  const NodePaths paths = FindNodePaths(session.model());
  std::vector<Row> rows = {{"node", "operator", "kernel", "stored as", "computed in", "device"}};
  for (const auto& block : session.program().blocks) {
    for (const Instruction& instruction : block) AppendRows(session, paths, instruction, rows);
  }
  return rows;
}

}  // namespace

std::string KernelText(const Instruction& instruction) {
  const absl::MutexLock lock(&instruction.site->mutex);
  const KernelRow* row = instruction.site->row;
  if (row == nullptr) return kNotRun;
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
  return text + WidenedText(session) + CopiesText(session);
}

}  // namespace amp
