#include "runtime/lock_step.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "ir/base/convert.h"
#include "ir/base/status.h"
#include "ir/operators/operator_facts.h"
#include "runtime/plan/program.h"
#include "runtime/rounding_sums.h"
#include "runtime/run/node_witness.h"

namespace amp {
namespace {

// Beyond so many inputs a node is run once with all of them changed, instead of once for each.
constexpr size_t kMostInputs = 8;

bool IsFinite(const Tensor& tensor) { return AreFinite(tensor.elements<float>()); }

// 0 where they are no float32 tensors of one shape: shapes may depend on values.
double SquaredChange(const Datum* from, const Datum* to) {
  const Tensor *const a = Float32Of(from), *const b = Float32Of(to);
  if (a == nullptr || b == nullptr || a->dims() != b->dims()) return 0;
  return amp::SquaredChange(a->elements<float>(), b->elements<float>());
}

absl::StatusOr<Tensor> Rounded(const Tensor& tensor, DType low) {
  AMP_ASSIGN_OR_RETURN(Tensor rounded, Tensor::Create(DType::kFloat32, tensor.dims()));
  constexpr size_t kBlock = 4096;
  uint16_t narrow[kBlock];
  const auto from = tensor.elements<float>();
  const auto to = rounded.mutable_elements<float>();
  for (size_t begin = 0; begin < from.size(); begin += kBlock) {
    const size_t count = std::min(kBlock, from.size() - begin);
    Narrow(from.subspan(begin, count), low, absl::MakeSpan(narrow, count));
    Widen(absl::MakeConstSpan(narrow, count), low, to.subspan(begin, count));
  }
  return rounded;
}

// Puts the elements of `high` where `low` is not finite and `high` is. Returns whether there were any.
bool MendNotFinite(const Tensor& high, Tensor& low) {
  if (IsFinite(low)) return false;
  bool has_mended = false;
  const auto right = high.elements<float>();
  const auto elements = low.mutable_elements<float>();
  for (size_t i = 0; i < elements.size(); ++i) {
    if (std::isfinite(elements[i]) || !std::isfinite(right[i])) continue;
    elements[i] = right[i];
    has_mended = true;
  }
  return has_mended;
}

const Derivatives kNothingKnown;

constexpr size_t kNumSources = std::size(kErrorSources);

// A value of the float32 run, and the same of the runs with rounded values and rounded weights. Holding the first keeps
// its elements from being overwritten, so that their place in memory tells which value a body has handed on.
struct Versions {
  Datum exact;
  std::array<Datum, kNumSources> rounded;

  Datum& Of(ErrorSource source) { return rounded[static_cast<size_t>(source)]; }
  const Datum& Of(ErrorSource source) const { return rounded[static_cast<size_t>(source)]; }
  static Versions Same(const Datum& datum) { return {datum, {datum, datum}}; }
};

const void* ElementsOf(const Datum& datum) { return datum.tensor() == nullptr ? nullptr : datum.tensor()->data(); }

// The tensor with elements of its own.
absl::StatusOr<Tensor> Copied(const Tensor& tensor) {
  AMP_ASSIGN_OR_RETURN(Tensor copy, Tensor::Create(tensor.dtype(), tensor.dims()));
  std::copy(tensor.bytes().begin(), tensor.bytes().end(), copy.mutable_bytes().begin());
  return copy;
}

}  // namespace

class LockStep::Witness : public NodeWitness {
 public:
  Witness(const Session& session, DType low_type, const IdVector<NodeId, LowPorts>& low, const Derivatives* known)
      : model_(session.model()),
        program_(session.program()),
        low_type_(low_type),
        low_(low),
        known_(known == nullptr ? kNothingKnown : *known),
        values_(model_.num_values()) {
    sums_.values.resize(model_.num_values());
    sums_.nodes.resize(model_.num_nodes());
    sums_.rounds.resize(model_.num_graphs(), 0);
  }

  const ErrorSums& sums() const { return sums_; }

  void ForgetValues() {
    values_.assign(model_.num_values(), Versions());
    given_.clear();
  }

  void Began(GraphId graph, absl::Span<const Datum> inputs) override {
    ++sums_.rounds[graph];
    const NodeId owner = model_.graph(graph).owner;
    for (size_t i = 0; i < inputs.size(); ++i) {
      const ValueId value = model_.graph(graph).inputs[i];
      Keep(value, owner == kNone ? Versions::Same(inputs[i]) : Find(owner, {&graph, 1}, inputs[i]));
    }
  }

  void Ended(GraphId graph, absl::Span<const Datum> outputs) override {
    std::vector<Versions> given;
    for (size_t i = 0; i < outputs.size(); ++i) {
      const ValueId value = model_.graph(graph).outputs[i];
      if (value != kNone && Float32Of(&outputs[i]) != nullptr) given.push_back(VersionsOf(value, outputs[i]));
    }
    given_[graph] = std::move(given);
  }

  void Freed(ValueId value) override { values_[value] = Versions(); }

  absl::Status Ran(NodeId id, Datums inputs, Datums outputs, Rerun rerun) override {
    const Node& node = model_.node(id);
    NodeErrors& errors = sums_.nodes[id];
    ++errors.rounds;
    if (!node.bodies.empty()) {
      for (size_t i = 0; i < outputs.size(); ++i) {
        if (outputs[i] != nullptr) Keep(node.outputs[i], Find(id, node.bodies, *outputs[i]));
      }
      return absl::OkStatus();
    }
    const bool gives_floats =
        std::any_of(outputs.begin(), outputs.end(), [](const Datum* each) { return Float32Of(each) != nullptr; });
    if (!gives_floats) return absl::OkStatus();
    for (GainsByPort& gains : errors.gains) gains.resize(inputs.size(), std::vector<GainSums>(outputs.size()));
    errors.squared_of_weights.resize(outputs.size(), 0);
    return Step(id, inputs, outputs, rerun);
  }

 private:
  using Pointers = absl::InlinedVector<const Datum*, 6>;

  // The inputs of a node in a rounded run.
  struct RoundedInputs {
    std::vector<Datum> datums;      // by port
    std::vector<size_t> variables;  // ports of float32 values that are no constants
    bool has_weights = false;       // a constant is rounded
    bool is_exact = true;           // nothing differs from the float32 run
  };

  bool IsConstant(ValueId value) const { return !program_.constants[value].IsEmpty(); }

  // REQUIRES: `exact` is what the value is in the float32 run.
  Versions VersionsOf(ValueId value, const Datum& exact) const {
    const Tensor *const known = values_[value].exact.tensor(), *const now = exact.tensor();
    const bool is_known = known != nullptr && now != nullptr && known->dims() == now->dims();
    return is_known ? values_[value] : Versions::Same(exact);
  }

  // Runs the node again. Nothing where its kernel takes no such inputs: a step of Range that was rounded to 0, say.
  static absl::StatusOr<std::optional<std::vector<Datum>>> TryAgain(Rerun rerun, Datums inputs) {
    absl::StatusOr<std::vector<Datum>> results = rerun(inputs);
    if (results.ok()) return std::optional(*std::move(results));
    const bool is_of_inputs = absl::IsDataLoss(results.status()) || absl::IsInvalidArgument(results.status());
    if (is_of_inputs) return std::nullopt;
    return results.status();
  }

  // Returns what the datum is in the rounded runs: one of the owner's inputs, or what one of these bodies has given.
  Versions Find(NodeId owner, absl::Span<const GraphId> bodies, const Datum& exact) const {
    if (Float32Of(&exact) == nullptr) return Versions::Same(exact);
    const auto is_it = [&](const Versions& versions) {
      return ElementsOf(versions.exact) == ElementsOf(exact) &&
             versions.exact.tensor()->dims() == exact.tensor()->dims();
    };
    for (const GraphId body : bodies) {
      const auto given = given_.find(body);
      if (given == given_.end()) continue;
      const auto found = std::find_if(given->second.begin(), given->second.end(), is_it);
      if (found != given->second.end()) return *found;
    }
    for (const ValueId input : model_.node(owner).PresentInputs()) {
      if (!values_[input].exact.IsEmpty() && is_it(values_[input])) return values_[input];
    }
    return Versions::Same(exact);
  }

  // Counts the value's own rounding, and remembers it in all runs.
  void Keep(ValueId value, Versions versions) {
    if (value == kNone) return;
    values_[value] = Versions();  // of an earlier round
    const Tensor* const tensor = Float32Of(&versions.exact);
    if (tensor == nullptr) return;
    const auto elements = tensor->elements<float>();
    NarrowingStats stats;
    SurveyNarrowing(elements, low_type_, stats);
    ValueErrors& errors = sums_.values[value];
    ++errors.rounds;
    errors.elements += tensor->num_elements();
    errors.squared_norm += SumOfSquares(elements);
    errors.squared_rounding += stats.squared_error;
    errors.overflows = errors.overflows || stats.overflow > 0;
    values_[value] = std::move(versions);
  }

  // Values are rounded where they are read low, or weights are.
  absl::StatusOr<RoundedInputs> Read(NodeId id, Datums inputs, ErrorSource source) const {
    const Node& node = model_.node(id);
    RoundedInputs read;
    for (size_t port = 0; port < inputs.size(); ++port) {
      read.datums.emplace_back();
      if (inputs[port] == nullptr) continue;
      const bool is_constant = IsConstant(node.inputs[port]);
      Datum datum = is_constant ? *inputs[port] : VersionsOf(node.inputs[port], *inputs[port]).Of(source);
      if (Float32Of(&datum) != nullptr) {
        const bool is_rounded = low_[id].HasInput(port) && is_constant == (source == ErrorSource::kWeights);
        if (is_rounded) {
          AMP_ASSIGN_OR_RETURN(Tensor rounded, Rounded(*datum.tensor(), low_type_));
          MendNotFinite(*inputs[port]->tensor(), rounded);
          datum = Datum(std::move(rounded));
        }
        read.has_weights = read.has_weights || (is_constant && is_rounded);
        if (!is_constant) read.variables.push_back(port);
        read.is_exact = read.is_exact && ElementsOf(datum) == ElementsOf(*inputs[port]);
      }
      read.datums.back() = std::move(datum);
    }
    return read;
  }

  static Pointers PointersTo(const RoundedInputs& read, Datums inputs) {
    Pointers pointers(inputs.begin(), inputs.end());
    for (size_t port = 0; port < inputs.size(); ++port) {
      if (inputs[port] != nullptr) pointers[port] = &read.datums[port];
    }
    return pointers;
  }

  absl::Status Step(NodeId id, Datums inputs, Datums outputs, Rerun rerun) {
    std::vector<Versions> given;
    for (const Datum* const output : outputs) given.push_back(output == nullptr ? Versions() : Versions::Same(*output));
    // Numbers that are drawn anew say nothing of errors.
    if (!model_.node(id).Has(Role::kRandom)) {
      for (const ErrorSource source : kErrorSources) {
        // Only gains are learnt from rounded weights.
        if (source == ErrorSource::kWeights && known_.is_whole) continue;
        AMP_RETURN_IF_ERROR(StepWith(source, id, inputs, outputs, rerun, given));
      }
    }
    for (size_t i = 0; i < outputs.size(); ++i) Keep(model_.node(id).outputs[i], std::move(given[i]));
    return absl::OkStatus();
  }

  absl::Status StepWith(ErrorSource source, NodeId id, Datums inputs, Datums outputs, Rerun rerun,
                        std::vector<Versions>& given) {
    AMP_ASSIGN_OR_RETURN(const RoundedInputs read, Read(id, inputs, source));
    std::vector<Datum> results = CopiesOf(outputs), of_weights = results;
    if (!read.is_exact) {
      AMP_ASSIGN_OR_RETURN(std::optional<std::vector<Datum>> again, TryAgain(rerun, PointersTo(read, inputs)));
      if (!again.has_value()) return absl::OkStatus();
      results = *std::move(again);
      if (read.has_weights && !IsAllKnown(id)) {
        AMP_ASSIGN_OR_RETURN(of_weights, CountWeights(id, inputs, outputs, read, rerun));
      }
    }
    if (!IsAllKnown(id)) {
      AMP_RETURN_IF_ERROR(CountGains(source, id, inputs, read, {CopiesOf(outputs), of_weights, results}, rerun));
    }
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (outputs[i] == nullptr) continue;
      AMP_ASSIGN_OR_RETURN(given[i].Of(source), HandOn(source, id, i, *outputs[i], results[i]));
    }
    return absl::OkStatus();
  }

  // Returns what readers get of an output in a rounded run: it is finite where the float32 run is.
  absl::StatusOr<Datum> HandOn(ErrorSource source, NodeId id, size_t port, const Datum& exact, const Datum& result) {
    const Tensor *const right = Float32Of(&exact), *const found = Float32Of(&result);
    if (right == nullptr || found == nullptr || found->dims() != right->dims()) return exact;
    const bool is_rounded = source == ErrorSource::kValues && low_[id].HasOutput(port);
    if (is_rounded) {
      NarrowingStats stats;
      SurveyNarrowing(found->elements<float>(), low_type_, stats);
      sums_.values[model_.node(id).outputs[port]].squared_result += stats.squared_error;
    } else if (IsFinite(*found)) {
      return result;
    }
    AMP_ASSIGN_OR_RETURN(Tensor handed, is_rounded ? Rounded(*found, low_type_) : Copied(*found));
    if (MendNotFinite(*right, handed)) sums_.nodes[id].overflows = true;
    return Datum(std::move(handed));
  }

  // Whether derivatives tell all about the node that gains would.
  bool IsAllKnown(NodeId id) const {
    if (known_.is_whole) return true;
    const Node& node = model_.node(id);
    for (size_t port = 0; port < node.inputs.size(); ++port) {
      const ValueId value = node.inputs[port];
      const bool is_of_interest = value != kNone && model_.value(value).dtype == DType::kFloat32;
      if (!is_of_interest) continue;
      if (!(IsConstant(value) ? known_.weights.contains(id) : known_.inputs.contains({id, port}))) return false;
    }
    return true;
  }

  static std::vector<Datum> CopiesOf(Datums datums) {
    std::vector<Datum> copies;
    for (const Datum* const datum : datums) copies.push_back(datum == nullptr ? Datum() : *datum);
    return copies;
  }

  // Returns the outputs for rounded weights, all else exact.
  absl::StatusOr<std::vector<Datum>> CountWeights(NodeId id, Datums inputs, Datums outputs, const RoundedInputs& read,
                                                  Rerun rerun) {
    AMP_ASSIGN_OR_RETURN(std::optional<std::vector<Datum>> changed,
                         TryAgain(rerun, PointersToWeights(id, inputs, read)));
    if (!changed.has_value()) return CopiesOf(outputs);
    for (size_t i = 0; i < outputs.size(); ++i) {
      sums_.nodes[id].squared_of_weights[i] += SquaredChange(outputs[i], &(*changed)[i]);
    }
    return *std::move(changed);
  }

  Pointers PointersToWeights(NodeId id, Datums inputs, const RoundedInputs& read) const {
    Pointers mixed(inputs.begin(), inputs.end());
    for (size_t port = 0; port < inputs.size(); ++port) {
      if (inputs[port] != nullptr && IsConstant(model_.node(id).inputs[port])) mixed[port] = &read.datums[port];
    }
    return mixed;
  }

  void AddGain(ErrorSource source, NodeId id, size_t port, double squared_in, const std::vector<Datum>& from,
               const std::vector<Datum>& to) {
    for (size_t i = 0; i < from.size(); ++i) {
      GainSums& gain = sums_.nodes[id].gains[static_cast<size_t>(source)][port][i];
      gain.squared_in += squared_in;
      gain.squared_out += SquaredChange(&from[i], &to[i]);
    }
  }

  // The outputs of a node where nothing is rounded, its weights are, and all of its inputs are.
  struct Results {
    std::vector<Datum> exact;
    const std::vector<Datum>& of_weights;
    const std::vector<Datum>& of_all;
  };

  // Inputs change one after the other, so that the last change is that to the results of all.
  absl::Status CountGains(ErrorSource source, NodeId id, Datums inputs, const RoundedInputs& read,
                          const Results& results, Rerun rerun) {
    const bool copies_several = read.variables.size() > 1 && CopiesElements(model_, id);
    if ((read.variables.size() > kMostInputs || copies_several) && !read.has_weights) {
      // The changes of all inputs together, as each of them would do it.
      double squared_in = 0;
      for (const size_t port : read.variables) squared_in += SquaredChange(inputs[port], &read.datums[port]);
      if (squared_in == 0) return absl::OkStatus();
      for (const size_t port : read.variables) AddGain(source, id, port, squared_in, results.exact, results.of_all);
      return absl::OkStatus();
    }
    std::vector<size_t> moved;
    for (const size_t port : read.variables) {
      if (SquaredChange(inputs[port], &read.datums[port]) > 0) {
        moved.push_back(port);
      } else if (source == ErrorSource::kValues) {
        AMP_RETURN_IF_ERROR(ProbeGain(id, port, inputs, results.exact, rerun));
      }
    }
    Pointers mixed = PointersToWeights(id, inputs, read);
    std::vector<Datum> before = results.of_weights;
    for (const size_t port : moved) {
      mixed[port] = &read.datums[port];
      std::optional<std::vector<Datum>> after = results.of_all;
      if (port != moved.back()) {
        AMP_ASSIGN_OR_RETURN(after, TryAgain(rerun, mixed));
        if (!after.has_value()) return absl::OkStatus();
      }
      AddGain(source, id, port, SquaredChange(inputs[port], &read.datums[port]), before, *after);
      before = *std::move(after);
    }
    return absl::OkStatus();
  }

  // Adds the gain of an input that is exact in the run with rounded values: that of its own rounding.
  absl::Status ProbeGain(NodeId id, size_t port, Datums inputs, const std::vector<Datum>& exact, Rerun rerun) {
    AMP_ASSIGN_OR_RETURN(Tensor own, Rounded(*inputs[port]->tensor(), low_type_));
    MendNotFinite(*inputs[port]->tensor(), own);
    const Datum probe(std::move(own));
    const double squared_in = SquaredChange(inputs[port], &probe);
    if (squared_in == 0) return absl::OkStatus();
    Pointers mixed(inputs.begin(), inputs.end());
    mixed[port] = &probe;
    AMP_ASSIGN_OR_RETURN(const std::optional<std::vector<Datum>> changed, TryAgain(rerun, mixed));
    if (changed.has_value()) AddGain(ErrorSource::kValues, id, port, squared_in, exact, *changed);
    return absl::OkStatus();
  }

  const Model& model_;
  const Program& program_;
  const DType low_type_;
  const IdVector<NodeId, LowPorts>& low_;
  const Derivatives& known_;
  IdVector<ValueId, Versions> values_;
  absl::flat_hash_map<GraphId, std::vector<Versions>> given_;  // by body: the outputs of its last round
  ErrorSums sums_;
};

LockStep::LockStep(const Session& session, DType low_type, const IdVector<NodeId, LowPorts>& low,
                   const Derivatives* known)
    : session_(session), witness_(std::make_unique<Witness>(session, low_type, low, known)) {}
LockStep::~LockStep() = default;

absl::Status LockStep::Run(const NamedDatums& inputs, const NodeGate* may_go_on) {
  witness_->ForgetValues();
  const absl::Status status = session_.Run(inputs, {.may_go_on = may_go_on, .witness = witness_.get()}).status();
  witness_->ForgetValues();
  return status;
}

const ErrorSums& LockStep::sums() const { return witness_->sums(); }

}  // namespace amp
