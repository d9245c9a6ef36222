#include "runtime/rounding_sites.h"

#include <algorithm>
#include <cmath>

#include "absl/algorithm/container.h"
#include "ir/graph/attributes.h"

namespace amp {
namespace {

constexpr int64_t kMostRounds = 64;

double MeanOf(double sum, int64_t count) { return count > 0 ? sum / static_cast<double>(count) : 0; }

class Backward {
 public:
  // Looks at errors of that source.
  Backward(const Model& model, const ErrorSums& sums, ErrorSource source, absl::Span<const size_t> outputs,
           const Derivatives& known)
      : model_(model),
        sums_(sums),
        source_(source),
        outputs_(outputs),
        known_(known),
        now_(model.num_values(), 0),
        total_(model.num_values(), 0) {}

  void Find(RoundingSites& sites) {
    std::vector<double> outputs(model_.graph(kMainGraph).outputs.size(), 0);
    for (const size_t output : outputs_) outputs[output] = OfOutput({.port = output});
    Go(kMainGraph, outputs);
    if (source_ == ErrorSource::kValues) {
      for (const ValueId value : model_.AllValues()) AddSites(value, sites);
    } else {
      for (const NodeId node : model_.AllNodes()) AddWeights(node, sites);
    }
  }

 private:
  double SquaredNorm(ValueId value) const {
    return MeanOf(sums_.values[value].squared_norm, sums_.values[value].rounds);
  }

  bool IsMeasured(ValueId value) const { return model_.value(value).dtype == DType::kFloat32; }

  // Whether an error of the input counts for results that nobody measures: the choice of ArgMax, a sum in float64.
  bool LeadsOn(NodeId id, size_t port) const {
    const Node& node = model_.node(id);
    const bool reads_elements = !node.Has(Role::kReadsShape) && node.bodies.empty() && node.Input(port) != kNone;
    return reads_elements && (port == 0 || IsMeasured(node.Input(port)));
  }

  // Returns the nearest value behind it that is measured; kNone if there is none a few nodes back.
  ValueId Measured(ValueId value) const {
    constexpr int kMostSteps = 8;
    for (int i = 0; i < kMostSteps && value != kNone && !IsMeasured(value); ++i) {
      const NodeId producer = model_.value(value).producer;
      if (producer == kNone || !LeadsOn(producer, 0)) return kNone;
      const Node& node = model_.node(producer);
      const auto measured = absl::c_find_if(node.inputs, [&](ValueId in) { return in != kNone && IsMeasured(in); });
      value = measured != node.inputs.end() ? *measured : node.inputs[0];
    }
    return value != kNone && IsMeasured(value) ? value : ValueId(kNone);
  }

  double SquaredGain(NodeId id, size_t port, size_t output) const {
    // Sequences hold what they are given.
    if (model_.node(id).Has(Role::kContains)) return 1;
    if (!IsMeasured(model_.node(id).outputs[output])) return LeadsOn(id, port) ? 1 : 0;
    const NodeErrors& errors = sums_.nodes[id];
    for (const ErrorSource source : {source_, ErrorSource::kValues}) {
      const GainsByPort& gains = errors.GainsOf(source);
      if (port >= gains.size() || output >= gains[port].size()) return 0;
      const GainSums& gain = gains[port][output];
      if (gain.squared_in > 0) return gain.squared_out / gain.squared_in;
    }
    const double from = SquaredNorm(model_.node(id).inputs[port]);
    return from > 0 ? SquaredNorm(model_.node(id).outputs[output]) / from : 0;
  }

  // Returns what an error of this input, squared, does to the output of the model by way of the node. `of`: what errors
  // of the node's outputs do.
  double SensitivityBy(NodeId id, size_t port, const IdVector<ValueId, double>& of) const {
    if (const auto known = known_.inputs.find({id, port}); known != known_.inputs.end()) return known->second;
    const Node& node = model_.node(id);
    double sum = 0;
    for (size_t output = 0; output < node.outputs.size(); ++output) {
      const ValueId given = node.outputs[output];
      if (given != kNone && of[given] > 0) sum += SquaredGain(id, port, output) * of[given];
    }
    return sum;
  }

  // Takes the sensitivities of the graph's outputs, and returns those of its inputs. Those of outer values grow.
  std::vector<double> Go(GraphId graph, const std::vector<double>& outputs) {  // NOLINT(misc-no-recursion)
    const std::vector<NodeId> nodes = model_.NodesInOrder(graph);
    const auto for_each_value = [&](const auto& act) {
      for (const ValueId input : model_.graph(graph).inputs) act(input);
      for (const NodeId node : nodes) {
        for (const ValueId output : model_.node(node).PresentOutputs()) act(output);
      }
    };
    for_each_value([&](ValueId value) { now_[value] = 0; });
    for (size_t i = 0; i < outputs.size(); ++i) {
      const ValueId output = model_.graph(graph).outputs[i];
      if (output != kNone) now_[output] += outputs[i];
    }
    for (auto it = nodes.rbegin(); it != nodes.rend(); ++it) {
      if (model_.node(*it).bodies.empty()) {
        GoThrough(*it);
      } else {
        GoIntoBodies(*it);
      }
    }
    for_each_value([&](ValueId value) { total_[value] += now_[value]; });
    std::vector<double> inputs;
    for (const ValueId input : model_.graph(graph).inputs) inputs.push_back(now_[input]);
    return inputs;
  }

  void GoThrough(NodeId id) {
    const Node& node = model_.node(id);
    for (size_t port = 0; port < node.inputs.size(); ++port) {
      if (node.inputs[port] != kNone) now_[node.inputs[port]] += SensitivityBy(id, port, now_);
    }
  }

  void GoIntoBodies(NodeId id) {  // NOLINT(misc-no-recursion)
    const Node& node = model_.node(id);
    std::vector<double> given;
    for (const ValueId output : node.outputs) given.push_back(output == kNone ? 0 : now_[output]);
    if (node.op_type() == "Loop" && node.bodies.size() == 1) {
      GoRound(id, given,
              {.first_input = 2, .body_skips = 2, .body_gives_condition = 1, .num_states = NumStatesOfLoop(node)});
    } else if (node.op_type() == "Scan" && node.bodies.size() == 1) {
      GoRound(id, given, {.num_states = NumStatesOfScan(node)});
    } else {
      for (const GraphId body : node.bodies) {
        const double share = MeanOf(static_cast<double>(sums_.rounds[body]), sums_.nodes[id].rounds);
        std::vector<double> outputs(model_.graph(body).outputs.size(), 0);
        for (size_t i = 0; i < std::min(outputs.size(), given.size()); ++i) outputs[i] = given[i] * share;
        if (share > 0) Go(body, outputs);
      }
    }
  }

  // How the ports of a Loop or a Scan are those of its body.
  struct Rounds {
    size_t first_input = 0;           // of the node, that is a state
    size_t body_skips = 0;            // inputs of the body ahead of the states
    size_t body_gives_condition = 0;  // outputs of the body ahead of the states
    size_t num_states = 0;
  };
  size_t NumStatesOfLoop(const Node& node) const { return model_.graph(node.bodies[0]).inputs.size() - 2; }
  size_t NumStatesOfScan(const Node& node) const {
    const auto num_scanned = static_cast<size_t>(std::max<int64_t>(GetInt(node, "num_scan_inputs", 0), 0));
    return node.inputs.size() - std::min(node.inputs.size(), num_scanned);
  }

  void GoRound(NodeId id, const std::vector<double>& given, const Rounds& how) {  // NOLINT(misc-no-recursion)
    const Node& node = model_.node(id);
    const GraphId body = node.bodies[0];
    const double mean = MeanOf(static_cast<double>(sums_.rounds[body]), sums_.nodes[id].rounds);
    if (mean == 0) return;
    const auto rounds = std::clamp<int64_t>(std::llround(mean), 1, kMostRounds);
    std::vector<double> outputs(model_.graph(body).outputs.size(), 0);
    for (size_t i = 0; i < given.size() && i + how.body_gives_condition < outputs.size(); ++i) {
      outputs[i + how.body_gives_condition] = given[i];
    }
    std::vector<double> inputs, of_inputs(node.inputs.size(), 0);
    for (int64_t round = 0; round < rounds; ++round) {
      inputs = Go(body, outputs);
      for (size_t state = 0; state < how.num_states; ++state) {
        if (state + how.body_gives_condition < outputs.size() && state + how.body_skips < inputs.size()) {
          outputs[state + how.body_gives_condition] = inputs[state + how.body_skips];
        }
      }
      for (size_t i = how.num_states + how.body_skips; i < inputs.size(); ++i) {
        const size_t port = i - how.body_skips + how.first_input;
        if (port < of_inputs.size()) of_inputs[port] += inputs[i] / static_cast<double>(rounds);
      }
    }
    for (size_t state = 0; state < how.num_states; ++state) {
      const size_t port = state + how.first_input;
      if (port < of_inputs.size() && state + how.body_skips < inputs.size())
        of_inputs[port] = inputs[state + how.body_skips];
    }
    for (size_t port = 0; port < node.inputs.size(); ++port) {
      if (node.inputs[port] != kNone) now_[node.inputs[port]] += of_inputs[port];
    }
  }

  void AddSites(ValueId id, RoundingSites& sites) const {
    const Value& value = model_.value(id);
    const ValueErrors& errors = sums_.values[id];
    if (errors.rounds == 0 || value.dtype != DType::kFloat32) return;
    // A value that a body has given was rounded in the body.
    const bool is_of_body = value.producer != kNone && !model_.node(value.producer).bodies.empty();
    const double by_result = is_of_body ? 0 : MeanOf(errors.squared_result, errors.rounds);
    const double by_reading = MeanOf(errors.squared_rounding, errors.rounds);
    const size_t first = sites.values.size();
    bool are_known = known_.values.contains(id);
    for (const Use& use : value.uses) {
      const bool has_bodies = !use.IsGraphOutput() && !model_.node(use.node).bodies.empty();
      if (has_bodies) continue;  // the body's own inputs have sites
      const double sensitivity = use.IsGraphOutput() ? OfOutput(use) : SensitivityBy(use.node, use.port, total_);
      const bool is_known = use.IsGraphOutput() || known_.inputs.contains({use.node, use.port});
      are_known = are_known && is_known;
      if (sensitivity > 0) {
        sites.values.push_back(
            {id, value.producer, use.node, use.port, by_result * sensitivity, by_reading * sensitivity, is_known});
      }
    }
    if (!are_known) return;
    // A value that its producer has rounded is the same for all readers.
    const auto num_sites = static_cast<double>(sites.values.size() - first);
    for (size_t i = first; i < sites.values.size(); ++i) {
      sites.values[i].if_producer = by_result * known_.values.at(id) / num_sites;
    }
  }

  // Is 0 of the outputs of a body: the readers of the outer value have the sites.
  double OfOutput(const Use& use) const {
    if (!use.IsModelOutput() || absl::c_find(outputs_, use.port) == outputs_.end()) return 0;
    const ValueId measured = Measured(model_.graph(kMainGraph).outputs[use.port]);
    const double squared = measured != kNone ? SquaredNorm(measured) : 0;
    return squared > 0 ? 1 / squared : 0;
  }

  void AddWeights(NodeId id, RoundingSites& sites) const {
    const Node& node = model_.node(id);
    if (const auto known = known_.weights.find(id); known != known_.weights.end()) {
      if (known->second > 0) sites.weights.push_back({id, known->second, true});
      return;
    }
    const NodeErrors& errors = sums_.nodes[id];
    double sum = 0;
    for (size_t i = 0; i < errors.squared_of_weights.size(); ++i) {
      if (node.outputs[i] != kNone)
        sum += MeanOf(errors.squared_of_weights[i], errors.rounds) * total_[node.outputs[i]];
    }
    if (sum > 0) sites.weights.push_back({id, sum});
  }

  const Model& model_;
  const ErrorSums& sums_;
  const ErrorSource source_;
  const absl::Span<const size_t> outputs_;
  const Derivatives& known_;
  IdVector<ValueId, double> now_;    // squared relative error of the output, by squared error of the value, in a round
  IdVector<ValueId, double> total_;  // over all rounds
};

}  // namespace

RoundingSites FindRoundingSites(const Model& model, const ErrorSums& sums, absl::Span<const size_t> outputs,
                                const Derivatives* known) {
  const Derivatives none;
  RoundingSites sites;
  for (const ErrorSource source : kErrorSources) {
    Backward(model, sums, source, outputs, known == nullptr ? none : *known).Find(sites);
  }
  return sites;
}

}  // namespace amp
