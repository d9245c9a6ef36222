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
#include "runtime/loops/best_loops.h"
#include "runtime/plan/program.h"
#include "runtime/run/node_witness.h"

namespace amp {
namespace {

// Beyond so many inputs a node is run once with all of them changed, instead of once for each.
constexpr size_t kMostInputs = 8;

const Tensor* Float32Of(const Datum* datum) {
  const Tensor* const tensor = datum == nullptr ? nullptr : datum->tensor();
  const bool is_float32 = tensor != nullptr && tensor->dtype() == DType::kFloat32 && tensor->num_elements() > 0;
  return is_float32 ? tensor : nullptr;
}

// Whether all are, by the loops for the processor at hand.
bool IsFinite(absl::Span<const float> elements) {
  constexpr uint32_t kInfinity = 0x7f800000;
  return BestLoops().rows.largest_magnitude(elements.data(), elements.size()) < kInfinity;
}
bool IsFinite(const Tensor& tensor) { return IsFinite(tensor.elements<float>()); }

// The sum of the squares of those that are finite. Loops add up in float32: blocks whose sum is too small or too large
// for that are added up here.
double SumOfSquares(absl::Span<const float> elements) {
  constexpr size_t kBlock = 4096;
  constexpr double kLeast = 1e-20, kMost = 1e30;
  double sum = 0;
  for (size_t begin = 0; begin < elements.size(); begin += kBlock) {
    const absl::Span<const float> block = elements.subspan(begin, kBlock);
    const double fast = BestLoops().rows.sum_of_squares(block.data(), block.size());
    if (fast > kLeast && fast < kMost) {
      sum += fast;
      continue;
    }
    for (const float element : block) sum += std::isfinite(element) ? static_cast<double>(element) * element : 0;
  }
  return sum;
}

// Over the elements that are finite in both.
double SquaredChange(absl::Span<const float> from, absl::Span<const float> to) {
  constexpr size_t kBlock = 4096;
  float changes[kBlock];
  double sum = 0;
  for (size_t begin = 0; begin < from.size(); begin += kBlock) {
    const size_t count = std::min(kBlock, from.size() - begin);
    BestLoops().binary.subtract.of_both(to.data() + begin, from.data() + begin, changes, count);
    sum += SumOfSquares(absl::MakeConstSpan(changes, count));
  }
  return sum;
}

// 0 where they are no float32 tensors of one shape: shapes may depend on values.
double SquaredChange(const Datum* from, const Datum* to) {
  const Tensor *const a = Float32Of(from), *const b = Float32Of(to);
  if (a == nullptr || b == nullptr || a->dims() != b->dims()) return 0;
  return SquaredChange(a->elements<float>(), b->elements<float>());
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
  Witness(const Session& session, DType low_type, const IdVector<NodeId, LowPorts>& low)
      : model_(session.model()),
        program_(session.program()),
        low_type_(low_type),
        low_(low),
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
    errors.elements = tensor->num_elements();
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
        AMP_RETURN_IF_ERROR(StepWith(source, id, inputs, outputs, rerun, given));
      }
    }
    for (size_t i = 0; i < outputs.size(); ++i) Keep(model_.node(id).outputs[i], std::move(given[i]));
    return absl::OkStatus();
  }

  absl::Status StepWith(ErrorSource source, NodeId id, Datums inputs, Datums outputs, Rerun rerun,
                        std::vector<Versions>& given) {
    AMP_ASSIGN_OR_RETURN(const RoundedInputs read, Read(id, inputs, source));
    std::vector<Datum> results;
    for (const Datum* const output : outputs) results.push_back(output == nullptr ? Datum() : *output);
    if (!read.is_exact) {
      AMP_ASSIGN_OR_RETURN(std::optional<std::vector<Datum>> again, TryAgain(rerun, PointersTo(read, inputs)));
      if (!again.has_value()) return absl::OkStatus();
      results = *std::move(again);
      if (read.has_weights) AMP_RETURN_IF_ERROR(CountWeights(id, inputs, outputs, read, rerun));
    }
    AMP_RETURN_IF_ERROR(CountGains(source, id, inputs, outputs, read, results, rerun));
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

  absl::Status CountWeights(NodeId id, Datums inputs, Datums outputs, const RoundedInputs& read, Rerun rerun) {
    Pointers mixed(inputs.begin(), inputs.end());
    for (size_t port = 0; port < inputs.size(); ++port) {
      if (inputs[port] != nullptr && IsConstant(model_.node(id).inputs[port])) mixed[port] = &read.datums[port];
    }
    AMP_ASSIGN_OR_RETURN(const std::optional<std::vector<Datum>> changed, TryAgain(rerun, mixed));
    for (size_t i = 0; changed.has_value() && i < outputs.size(); ++i) {
      sums_.nodes[id].squared_of_weights[i] += SquaredChange(outputs[i], &(*changed)[i]);
    }
    return absl::OkStatus();
  }

  // A change to the input: that of the rounded run or, where that has none of rounded values, the value's own rounding.
  absl::StatusOr<std::optional<Datum>> ChangeOf(ErrorSource source, const Datum& exact, const Datum& rounded) const {
    if (SquaredChange(&exact, &rounded) > 0) return std::optional(rounded);
    if (source == ErrorSource::kWeights) return std::nullopt;
    AMP_ASSIGN_OR_RETURN(Tensor own, Rounded(*exact.tensor(), low_type_));
    MendNotFinite(*exact.tensor(), own);
    Datum probe(std::move(own));
    return SquaredChange(&exact, &probe) > 0 ? std::optional(std::move(probe)) : std::nullopt;
  }

  void AddGain(ErrorSource source, NodeId id, size_t port, double squared_in, Datums outputs,
               const std::vector<Datum>& changed) {
    for (size_t i = 0; i < outputs.size(); ++i) {
      GainSums& gain = sums_.nodes[id].gains[static_cast<size_t>(source)][port][i];
      gain.squared_in += squared_in;
      gain.squared_out += SquaredChange(outputs[i], &changed[i]);
    }
  }

  // `results`: of the run on all that is rounded.
  absl::Status CountGains(ErrorSource source, NodeId id, Datums inputs, Datums outputs, const RoundedInputs& read,
                          const std::vector<Datum>& results, Rerun rerun) {
    const bool copies_several = read.variables.size() > 1 && CopiesElements(model_, id);
    if ((read.variables.size() > kMostInputs || copies_several) && !read.has_weights) {
      // The changes of all inputs together, as each of them would do it.
      double squared_in = 0;
      for (const size_t port : read.variables) squared_in += SquaredChange(inputs[port], &read.datums[port]);
      if (squared_in == 0) return absl::OkStatus();
      for (const size_t port : read.variables) AddGain(source, id, port, squared_in, outputs, results);
      return absl::OkStatus();
    }
    for (const size_t port : read.variables) {
      AMP_ASSIGN_OR_RETURN(const std::optional<Datum> change, ChangeOf(source, *inputs[port], read.datums[port]));
      if (!change.has_value()) continue;
      const double squared_in = SquaredChange(inputs[port], &*change);
      const bool is_all = read.variables.size() == 1 && !read.has_weights;
      if (is_all && ElementsOf(*change) == ElementsOf(read.datums[port])) {
        AddGain(source, id, port, squared_in, outputs, results);
        continue;
      }
      Pointers mixed(inputs.begin(), inputs.end());
      mixed[port] = &*change;
      AMP_ASSIGN_OR_RETURN(const std::optional<std::vector<Datum>> changed, TryAgain(rerun, mixed));
      if (changed.has_value()) AddGain(source, id, port, squared_in, outputs, *changed);
    }
    return absl::OkStatus();
  }

  const Model& model_;
  const Program& program_;
  const DType low_type_;
  const IdVector<NodeId, LowPorts>& low_;
  IdVector<ValueId, Versions> values_;
  absl::flat_hash_map<GraphId, std::vector<Versions>> given_;  // by body: the outputs of its last round
  ErrorSums sums_;
};

LockStep::LockStep(const Session& session, DType low_type, const IdVector<NodeId, LowPorts>& low)
    : session_(session), witness_(std::make_unique<Witness>(session, low_type, low)) {}
LockStep::~LockStep() = default;

absl::Status LockStep::Run(const NamedDatums& inputs, const NodeGate* may_go_on) {
  witness_->ForgetValues();
  const absl::Status status = session_.Run(inputs, {.may_go_on = may_go_on, .witness = witness_.get()}).status();
  witness_->ForgetValues();
  return status;
}

const ErrorSums& LockStep::sums() const { return witness_->sums(); }

}  // namespace amp
