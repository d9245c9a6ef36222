#include "tools/library/part_errors.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "ir/base/status.h"
#include "ir/graph/node_paths.h"
#include "passes/decide/find_units.h"
#include "runtime/kernel/host_memory.h"
#include "runtime/lock_step.h"
#include "runtime/plan/program.h"
#include "runtime/rounding_sites.h"
#include "tools/library/output_derivatives.h"
#include "tools/library/take_model.h"
#include "tools/library/verify_cost.h"

namespace amp {
namespace {

// Norms alone are kept of a run in lock step, and they hardly differ from sample to sample.
constexpr size_t kMostInStep = 2;

}  // namespace

class PartErrorFinder {
 public:
  PartErrorFinder(const SensitivityTask& task, const SampleRuns& samples)
      : task_(task), options_(task.options), samples_(samples) {}

  absl::StatusOr<PartErrors> Find(const std::vector<double>& sample_errors) {
    GiveBackFreedMemory();  // of the sessions that have run the samples
    AMP_ASSIGN_OR_RETURN(DecidedModel decided, task_.decide());
    ReadDecision(*decided.model, decided.decision);
    AMP_ASSIGN_OR_RETURN(LoadedFile file, TakeModel(std::move(decided.model), task_.external));
    AMP_ASSIGN_OR_RETURN(const std::unique_ptr<Session> session, samples_.MakeSession(std::move(file)));
    const Model& run = session->model();
    FindSamePlaces(run);
    const size_t num_runs = std::min(kMostInStep, sample_errors.size());
    const NodeGate gate = [&](const Node& node, absl::Span<const Datum* const> inputs) {
      if (node.Has(Role::kHeavy)) flops_[&node] += FlopsOfNode(node, inputs) / static_cast<double>(num_runs);
      return options_.may_go_on ? options_.may_go_on() : absl::OkStatus();
    };
    std::vector<size_t> worst(sample_errors.size());
    std::iota(worst.begin(), worst.end(), size_t{0});
    std::stable_sort(worst.begin(), worst.end(),
                     [&](size_t a, size_t b) { return sample_errors[a] > sample_errors[b]; });
    const NodeGate may_go_on = [&](const Node&, absl::Span<const Datum* const>) {
      return options_.may_go_on ? options_.may_go_on() : absl::OkStatus();
    };
    const DerivativeTask task = {
        .session = *session,
        .load = [&]() -> absl::StatusOr<LoadedFile> {
          AMP_ASSIGN_OR_RETURN(DecidedModel again, task_.decide());
          return TakeModel(std::move(again.model), task_.external);
        },
        .limits = options_.limits,
        .low = task_.low,
        .low_ports = low_ports_,
        .sample = samples_.sample(worst[0]),
        .outputs = samples_.expected(worst[0]),
        .may_go_on = &may_go_on,
    };
    AMP_ASSIGN_OR_RETURN(FoundDerivatives derivatives, FindDerivatives(task));
    const std::vector<Derivatives>& known = derivatives.of_groups;
    LockStep in_step(*session, task_.low, low_ports_, &known.front());
    for (size_t i = 0; i < num_runs; ++i) {
      if (options_.on_progress) {
        AMP_RETURN_IF_ERROR(
            options_.on_progress({"lock step", static_cast<int64_t>(i), static_cast<int64_t>(num_runs)}));
      }
      AMP_RETURN_IF_ERROR(in_step.Run(samples_.sample(worst[i]), &gate));
    }
    Describe(run, in_step.sums());
    const std::vector<ValueId>& all_outputs = run.graph(kMainGraph).outputs;
    const auto is_float32 = [&](size_t output) { return run.value(all_outputs[output]).dtype == DType::kFloat32; };
    const std::vector<std::vector<size_t>> groups = GroupOutputs(all_outputs.size());
    // Others are predicted by gains alone, which are worse: they count where there is nothing else.
    const bool has_float32 =
        absl::c_any_of(groups, [&](const auto& group) { return absl::c_any_of(group, is_float32); });
    for (size_t i = 0; i < groups.size(); ++i) {
      std::vector<size_t> outputs = groups[i];
      if (has_float32) std::erase_if(outputs, [&](size_t output) { return !is_float32(output); });
      if (outputs.empty()) continue;
      AddSites(run, FindRoundingSites(run, in_step.sums(), outputs, has_float32 ? &known[i] : nullptr));
    }
    found_.why_gains_ = std::move(derivatives.why_not_all);
    AddTraffic(*session, in_step.sums(), static_cast<double>(num_runs));
    FindPlaces();
    return std::move(found_);
  }

 private:
  struct DecidedNode {
    LowPorts low;
    std::vector<bool> has_own_type;  // by input
    size_t part = 0;
  };

  size_t NoPart() const { return found_.parts_.size(); }

  // Keeps what is asked of the decision later: the model itself becomes that of the session.
  void ReadDecision(const Model& model, const Decision& decision) {
    const NodePaths paths = FindNodePaths(model);
    const std::vector<Unit> units = FindUnits(model, decision);
    IdVector<NodeId, size_t> part_of(model.num_nodes(), units.size());
    for (size_t i = 0; i < units.size(); ++i) {
      Part& part = found_.parts_.emplace_back();
      part.name = paths.nodes[units[i].head];
      for (const NodeId id : units[i].nodes) {
        part_of[id] = i;
        if (!samples_.HasNode(paths.nodes[id])) continue;
        part.nodes.push_back(paths.nodes[id]);
        if (model.node(id).bodies.empty()) part.plain_nodes.push_back(paths.nodes[id]);
      }
    }
    const auto is_low = [&](VertexId v) { return v != kNone && decision.paint[v].low; };
    for (const NodeId id : decision.graph.order()) {
      const Node& node = model.node(id);
      DecidedNode& decided = decided_[paths.nodes[id]];
      decided.part = part_of[id];
      for (size_t port = 0; port < node.inputs.size(); ++port) {
        decided.low.inputs.push_back(is_low(decision.graph.OfInput(id, port)));
        decided.has_own_type.push_back(HasTypeOfItsOwn(model, decision.graph, id, port));
      }
      for (size_t port = 0; port < node.outputs.size(); ++port) {
        decided.low.outputs.push_back(is_low(decision.graph.OfOutput(id, port)));
      }
    }
  }

  // The session numbers nodes anew, and inlines calls that are kept: a path says which node is which.
  void FindSamePlaces(const Model& run) {
    low_ports_.resize(run.num_nodes());
    has_own_type_.resize(run.num_nodes());
    part_of_.resize(run.num_nodes(), NoPart());
    const NodePaths paths = FindNodePaths(run);
    for (const NodeId id : run.AllNodes()) {
      const auto it = decided_.find(paths.nodes[id]);
      if (it == decided_.end()) continue;
      part_of_[id] = it->second.part;
      low_ports_[id] = it->second.low;
      has_own_type_[id] = it->second.has_own_type;
    }
  }

  void Describe(const Model& run, const ErrorSums& sums) {
    for (const NodeId id : run.AllNodes()) {
      if (part_of_[id] == NoPart()) continue;
      Part& part = found_.parts_[part_of_[id]];
      part.overflows = part.overflows || sums.nodes[id].overflows || ReadsOverflow(run.node(id), low_ports_[id], sums);
      part.has_run = part.has_run || sums.nodes[id].rounds > 0;
      const auto flops = flops_.find(&run.node(id));
      if (flops != flops_.end()) part.macs += flops->second / 2;
    }
  }

  // Whether the node reads a value in the low type that is not finite there.
  static bool ReadsOverflow(const Node& node, const LowPorts& low, const ErrorSums& sums) {
    for (size_t port = 0; port < node.inputs.size(); ++port) {
      const bool is_read = node.inputs[port] != kNone && low.HasInput(port);
      if (is_read && sums.values[node.inputs[port]].overflows) return true;
    }
    return false;
  }

  size_t PartOfOutput(const Model& run, ValueId value) const {
    const NodeId producer = run.value(value).producer;
    const bool is_low = producer != kNone && low_ports_[producer].HasOutput(run.value(value).producer_port);
    return is_low ? part_of_[producer] : NoPart();
  }
  // An operand with a type of its own is low where the part that gives it is.
  size_t PartOfInput(NodeId reader, size_t port, size_t producer) const {
    if (reader == kNone || !low_ports_[reader].HasInput(port)) return NoPart();
    return producer != NoPart() && has_own_type_[reader][port] ? producer : part_of_[reader];
  }

  void AddSites(const Model& run, const RoundingSites& sites) {
    std::vector<PartErrors::Site>& added = found_.sites_.emplace_back();
    for (const RoundingSite& site : sites.values) {
      const size_t producer = PartOfOutput(run, site.value);
      const size_t reader = PartOfInput(site.reader, site.port, producer);
      if (producer == NoPart() && reader == NoPart()) continue;
      for (const size_t part : {producer, reader}) {
        if (part != NoPart() && !site.by_derivatives) found_.parts_[part].by_derivatives = false;
      }
      added.push_back({producer, reader, site.if_producer, site.if_reader});
    }
    for (const WeightSite& site : sites.weights) {
      const size_t part = part_of_[site.node];
      if (part == NoPart()) continue;
      if (!site.by_derivatives) found_.parts_[part].by_derivatives = false;
      added.push_back({NoPart(), part, 0, site.squared_error});
    }
  }

  void AddTraffic(const Session& session, const ErrorSums& sums, double num_runs) {
    const Model& run = session.model();
    for (const ValueId id : run.AllValues()) {
      const Value& value = run.value(id);
      if (value.dtype != DType::kFloat32) continue;
      PartErrors::Traffic traffic;
      traffic.is_weight = !session.program().constants[id].IsEmpty();
      traffic.producer = PartOfOutput(run, id);
      absl::flat_hash_set<size_t> low_readers;
      for (const Use& use : value.uses) {
        // A body hands on what it gives, as it is.
        if (use.IsGraphOutput() && !use.IsModelOutput()) continue;
        const size_t reader = use.IsGraphOutput() ? NoPart() : PartOfInput(use.node, use.port, traffic.producer);
        traffic.readers.push_back(reader);
        if (reader != NoPart()) low_readers.insert(reader);
      }
      if (traffic.producer == NoPart() && low_readers.empty()) continue;
      const Tensor* const constant = session.program().constants[id].tensor();
      traffic.elements = constant == nullptr ? static_cast<double>(sums.values[id].elements) / num_runs
                                             : static_cast<double>(constant->num_elements());
      if (traffic.is_weight) {
        for (const size_t reader : low_readers) {
          found_.parts_[reader].weight_bytes += static_cast<int64_t>(traffic.HighBytes());
        }
      } else {
        CountCasts(traffic, low_readers);
      }
      found_.traffic_.push_back(std::move(traffic));
    }
  }

  void FindPlaces() {
    const auto add = [&](std::vector<std::vector<size_t>>& places, size_t part, size_t place) {
      if (part != NoPart() && (places[part].empty() || places[part].back() != place)) places[part].push_back(place);
    };
    for (const std::vector<PartErrors::Site>& sites : found_.sites_) {
      std::vector<std::vector<size_t>>& places = found_.sites_of_.emplace_back(NoPart());
      for (size_t place = 0; place < sites.size(); ++place) {
        add(places, sites[place].producer, place);
        add(places, sites[place].reader, place);
      }
    }
    found_.traffic_of_.resize(NoPart());
    for (size_t place = 0; place < found_.traffic_.size(); ++place) {
      add(found_.traffic_of_, found_.traffic_[place].producer, place);
      for (const size_t reader : found_.traffic_[place].readers) add(found_.traffic_of_, reader, place);
    }
  }

  // Where all parts are low.
  void CountCasts(const PartErrors::Traffic& traffic, const absl::flat_hash_set<size_t>& low_readers) {
    if (traffic.producer == NoPart()) {
      for (const size_t reader : low_readers) ++found_.parts_[reader].casts;
    } else if (std::find(traffic.readers.begin(), traffic.readers.end(), NoPart()) != traffic.readers.end()) {
      ++found_.parts_[traffic.producer].casts;
    }
  }

  const SensitivityTask& task_;
  const RewriteOptions& options_;
  const SampleRuns& samples_;
  absl::flat_hash_map<std::string, DecidedNode> decided_;  // by path
  IdVector<NodeId, LowPorts> low_ports_;                   // of the session's nodes
  IdVector<NodeId, std::vector<bool>> has_own_type_;       // of the session's nodes
  IdVector<NodeId, size_t> part_of_;                       // of the session's nodes
  absl::flat_hash_map<const Node*, double> flops_;
  PartErrors found_;
};

absl::StatusOr<PartErrors> PartErrors::Find(const SensitivityTask& task, const SampleRuns& samples,
                                            const std::vector<double>& sample_errors) {
  return PartErrorFinder(task, samples).Find(sample_errors);
}

LowParts PartErrors::Alone(size_t part) const {
  LowParts low(parts_.size(), false);
  low[part] = true;
  return low;
}

double PartErrors::ErrorAt(const Site& site, const LowParts& low) const {
  const auto is_low = [&](size_t part) { return part < low.size() && low[part]; };
  return is_low(site.producer) ? site.if_producer : is_low(site.reader) ? site.if_reader : 0;
}

double PartErrors::SavedBy(const Traffic& traffic, const LowParts& low) const {
  const auto is_low = [&](size_t part) { return part < low.size() && low[part]; };
  const auto num_low = std::count_if(traffic.readers.begin(), traffic.readers.end(), is_low);
  const bool is_given_low = is_low(traffic.producer), is_given_high = !traffic.is_weight && !is_given_low;
  const bool has_low = is_given_low || num_low > 0;
  const bool has_high = is_given_high || num_low < std::ssize(traffic.readers);
  return traffic.HighBytes() - (has_high ? traffic.HighBytes() : 0) - (has_low ? traffic.LowBytes() : 0);
}

double PartErrors::Choice::SquaredError() const {
  return squared.empty() ? 0 : *std::max_element(squared.begin(), squared.end());
}

PartErrors::Choice PartErrors::Evaluate(const LowParts& low) const {
  Choice choice = {low, std::vector<double>(sites_.size(), 0), 0};
  for (size_t output = 0; output < sites_.size(); ++output) {
    for (const Site& site : sites_[output]) choice.squared[output] += ErrorAt(site, low);
  }
  for (const Traffic& traffic : traffic_) choice.saved += SavedBy(traffic, low);
  return choice;
}

PartErrors::Choice PartErrors::Changed(const Choice& from, size_t part) const {
  Choice to = from;
  to.low[part] = !to.low[part];
  for (size_t output = 0; output < sites_.size(); ++output) {
    for (const size_t place : sites_of_[output][part]) {
      const Site& site = sites_[output][place];
      to.squared[output] += ErrorAt(site, to.low) - ErrorAt(site, from.low);
    }
  }
  for (const size_t place : traffic_of_[part]) {
    to.saved += SavedBy(traffic_[place], to.low) - SavedBy(traffic_[place], from.low);
  }
  return to;
}

double PartErrors::SquaredError(const LowParts& low) const { return Evaluate(low).SquaredError(); }
double PartErrors::SavedBytes(const LowParts& low) const { return Evaluate(low).saved; }

}  // namespace amp
