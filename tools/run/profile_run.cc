#include "tools/run/profile_run.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <utility>

#include "absl/strings/str_format.h"
#include "ir/base/status.h"
#include "ir/graph/graph.h"
#include "ir/graph/node_paths.h"
#include "passes/record/metadata_json.h"
#include "runtime/plan/program.h"
#include "tools/library/version.h"
#include "tools/report/run_page.h"
#include "tools/run/explain_run.h"

namespace amp {
namespace {

using Clock = std::chrono::steady_clock;

double Microseconds(std::chrono::nanoseconds time) { return std::chrono::duration<double, std::micro>(time).count(); }

// Takes from each node's time that of the nodes inside it, which ended before it and began after it.
void FindOwnTimes(std::vector<ProfiledNode>& nodes) {
  std::vector<const ProfiledNode*> outermost;  // of those that have ended
  for (ProfiledNode& node : nodes) {
    node.own_us = node.duration_us;
    for (; !outermost.empty() && outermost.back()->start_us >= node.start_us; outermost.pop_back()) {
      node.own_us -= outermost.back()->duration_us;
    }
    outermost.push_back(&node);
  }
}

struct NodeText {
  std::string op, kernel;
};

IdVector<NodeId, NodeText> FindNodeTexts(const Session& session) {
  const Model& model = session.model();
  IdVector<NodeId, NodeText> texts(model.num_nodes());
  for (const NodeId id : model.AllNodes()) texts[id].op = OperatorText(model, id);  // also of those that ran unfused
  for (const auto& block : session.program().blocks) {
    for (const Instruction& instruction : block) {
      texts[instruction.node] = {InstructionText(model, instruction), KernelText(instruction)};
    }
  }
  return texts;
}

struct OperatorTime {
  std::string op;
  int64_t calls = 0;
  double us = 0;
};

std::vector<OperatorTime> SumByOperator(const std::vector<ProfiledNode>& nodes) {
  std::map<std::string, OperatorTime> sums;
  for (const ProfiledNode& node : nodes) {
    OperatorTime& sum = sums[node.op];
    sum.op = node.op;
    ++sum.calls;
    sum.us += node.own_us;
  }
  std::vector<OperatorTime> sorted;
  sorted.reserve(sums.size());
  for (auto& [op, sum] : sums) sorted.push_back(std::move(sum));
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.us > b.us; });
  return sorted;
}

int64_t BytesOf(const Datum& datum) {
  return datum.tensor() == nullptr ? 0 : static_cast<int64_t>(datum.tensor()->size_bytes());
}

// Runs once more, for the sizes of values. Those of bodies end with the body, and are left out.
absl::StatusOr<std::vector<AliveBytes>> FindAliveBytes(const Session& session, const NamedDatums& inputs,
                                                       const NodePaths& paths) {
  std::vector<AliveBytes> found;
  if (session.DeviceName() != "cpu") return found;
  IdVector<ValueId, int64_t> bytes(session.model().num_values(), 0);
  const ValueObserver observe = [&](ValueId id, const Datum& datum) { bytes[id] = BytesOf(datum); };
  AMP_RETURN_IF_ERROR(session.Run(inputs, {.observer = &observe}).status());
  const IdVector<ValueId, Datum>& constants = session.program().constants;
  const auto bytes_of = [&](ValueId id) { return id == kNone || !constants[id].IsEmpty() ? 0 : bytes[id]; };
  IdVector<ValueId, bool> is_alive(session.model().num_values(), false);  // not values inside of fused nodes
  int64_t alive = 0;
  const auto begin = [&](ValueId id) {
    alive += bytes_of(id);
    if (id != kNone) is_alive[id] = true;
  };
  for (const ValueId input : session.inputs()) begin(input);
  for (const Instruction& instruction : session.program().blocks[kMainGraph]) {
    for (const ValueId output : instruction.outputs) begin(output);
    found.push_back({paths.nodes[instruction.node], alive});
    for (const ValueId freed : instruction.frees) {
      if (is_alive[freed]) alive -= bytes_of(freed);
    }
  }
  return found;
}

}  // namespace

absl::StatusOr<Profile> ProfileRun(const Session& session, const NamedDatums& inputs, int64_t warmup,
                                   bool finds_alive) {
  for (int64_t i = 0; i < warmup; ++i) AMP_RETURN_IF_ERROR(session.Run(inputs).status());
  std::vector<InstructionTiming> timings;
  const Clock::time_point start = Clock::now();
  AMP_RETURN_IF_ERROR(session.Run(inputs, {.timings = &timings}).status());
  Profile profile;
  profile.run_us = Microseconds(Clock::now() - start);
  const NodePaths paths = FindNodePaths(session.model());
  const IdVector<NodeId, NodeText> texts = FindNodeTexts(session);
  for (const InstructionTiming& timing : timings) {
    profile.nodes.push_back({.path = paths.nodes[timing.node],
                             .op = texts[timing.node].op,
                             .kernel = texts[timing.node].kernel,
                             .start_us = Microseconds(timing.start - start.time_since_epoch()),
                             .duration_us = Microseconds(timing.duration)});
  }
  FindOwnTimes(profile.nodes);
  if (!finds_alive) return profile;
  absl::StatusOr<std::vector<AliveBytes>> alive = FindAliveBytes(session, inputs, paths);
  if (alive.ok()) profile.alive = *std::move(alive);
  return profile;
}

std::string ProfileTable(const Profile& profile) {
  constexpr double kUsPerMs = 1e3;
  const std::vector<OperatorTime> sums = SumByOperator(profile.nodes);
  size_t width = std::string("operator").size();
  double in_nodes_us = 0;
  for (const OperatorTime& sum : sums) {
    width = std::max(width, sum.op.size());
    in_nodes_us += sum.us;
  }
  const int column = static_cast<int>(width);
  std::string text = absl::StrFormat("%-*s  %7s  %10s  %6s\n", column, "operator", "calls", "ms", "share");
  for (const OperatorTime& sum : sums) {
    absl::StrAppendFormat(&text, "%-*s  %7d  %10.4g  %5.1f%%\n", column, sum.op, sum.calls, sum.us / kUsPerMs,
                          profile.run_us > 0 ? 100 * sum.us / profile.run_us : 0);
  }
  absl::StrAppendFormat(&text, "the whole run: %.4g ms, %.3g of them between nodes\n", profile.run_us / kUsPerMs,
                        (profile.run_us - in_nodes_us) / kUsPerMs);
  return text;
}

std::string ProfileTrace(const Profile& profile) {
  nlohmann::ordered_json events = nlohmann::ordered_json::array();
  for (const ProfiledNode& node : profile.nodes) {
    events.push_back({{"name", node.op},
                      {"ph", "X"},
                      {"ts", node.start_us},
                      {"dur", node.duration_us},
                      {"pid", 1},
                      {"tid", 1},
                      {"args", {{"node", TextOfBytes(node.path)}, {"kernel", node.kernel}}}});
  }
  return nlohmann::ordered_json{{"traceEvents", std::move(events)}}.dump(1) + "\n";
}

std::string ProfilePage(const Profile& profile, const Session& session, const std::string& model) {
  using Json = nlohmann::ordered_json;
  Json nodes = Json::array(), alive = Json::array();
  for (const ProfiledNode& node : profile.nodes) {
    nodes.push_back({TextOfBytes(node.path), node.op, node.kernel, node.start_us, node.own_us});
  }
  for (const AliveBytes& each : profile.alive) alive.push_back({TextOfBytes(each.path), each.bytes});
  return RunPage({{"kind", "profile"},
                  {"model", TextOfBytes(model)},
                  {"version", kVersion},
                  {"run_us", profile.run_us},
                  {"weight_bytes", StatedConstantBytes(session.model(), session.program())},
                  {"nodes", std::move(nodes)},
                  {"alive", std::move(alive)}});
}

}  // namespace amp
