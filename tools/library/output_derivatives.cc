#include "tools/library/output_derivatives.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <random>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "ir/base/status.h"
#include "ir/file/copy_model.h"
#include "ir/file/external_data.h"
#include "ir/graph/append_nodes.h"
#include "ir/graph/graph_ports.h"
#include "ir/graph/infer.h"
#include "passes/train/differentiate.h"
#include "passes/train/prepare_for_training.h"
#include "runtime/hardware/usable_memory.h"
#include "runtime/kernel/host_memory.h"
#include "runtime/plan/program.h"
#include "runtime/rounding_sums.h"

namespace amp {
namespace {

constexpr size_t kMostGroups = 8;
// Runs in all directions of all groups; the fewest directions of a group.
constexpr size_t kMostRuns = 8, kUsualDirections = 2;
constexpr uint64_t kSeed = 1;
constexpr size_t kMostCopiedBytes = 64 << 10;  // of an initializer; the session keeps larger ones
// Each node whose rule refuses it costs a copy of the model, or loading it once more.
constexpr size_t kMostRefused = 8;

// A place where a value or a weight is read, or all such places of a value.
struct Place {
  ValueId value = kNone;
  NodeId reader = kNone;  // kNone: all of them
  size_t port = 0;
  bool is_weight = false;
  std::string name = "";  // of the value in the differentiated model whose derivative this is
  // Sums over the directions of each group.
  struct Sums {
    RoundingEffect effect = {};
    double squared_of_weight = 0;
  };
  std::vector<Sums> sums = {};
  size_t seen = 0;  // in how many runs
};

class DerivativeFinder {
 public:
  explicit DerivativeFinder(const DerivativeTask& task)
      : task_(task), model_(task_.session.model()), groups_(GroupOutputs(task_.outputs.size())) {}

  absl::StatusOr<FoundDerivatives> Find() {
    const auto nothing = [&](const absl::Status& why) {
      return FoundDerivatives{std::vector<Derivatives>(groups_.size()), std::string(why.message())};
    };
    FindPlaces();
    absl::StatusOr<std::unique_ptr<Session>> session = absl::UnknownError("");
    for (size_t i = 0; i < kMostRefused && !session.ok(); ++i) {
      const size_t num_refused = refused_.size();
      session = Differentiate();
      if (!callers_error_.ok() || (!session.ok() && refused_.size() == num_refused)) break;
    }
    if (!callers_error_.ok()) return callers_error_;
    if (!session.ok()) return nothing(session.status());
    session_ = *std::move(session);
    for (Place& place : places_) place.sums.resize(groups_.size());
    const size_t directions = std::clamp<size_t>(kMostRuns / groups_.size(), 1, kUsualDirections);
    for (group_ = 0; group_ < groups_.size(); ++group_) {
      for (size_t i = 0; i < directions; ++i) {
        const absl::Status ran = RunAlong();
        if (!callers_error_.ok()) return callers_error_;
        if (!ran.ok()) return nothing(ran);
      }
    }
    FoundDerivatives found;
    for (size_t group = 0; group < groups_.size(); ++group) found.of_groups.push_back(Conclude(group, directions));
    if (!why_.ok()) {
      // The way from the loss to the node begins with nodes that were added here.
      found.why_not_all = std::string(why_.message().substr(0, why_.message().find("; the way to it")));
    } else if (!found.of_groups.front().is_whole) {
      found.why_not_all = "a derivative is not finite, or the outputs do not depend on what is rounded";
    }
    return found;
  }

 private:
  bool IsConstant(ValueId value) const { return !task_.session.program().constants[value].IsEmpty(); }

  // The places of the main graph where something is rounded if all that may be is low.
  void FindPlaces() {
    for (const ValueId id : model_.AllValues()) {
      const Value& value = model_.value(id);
      if (value.dtype != DType::kFloat32) continue;
      const bool is_constant = IsConstant(id);
      const bool is_given_low =
          value.producer != kNone && !is_constant && task_.low_ports[value.producer].HasOutput(value.producer_port);
      bool is_rounded = is_given_low;
      for (const Use& use : value.uses) {
        is_rounded = is_rounded || (!use.IsGraphOutput() && task_.low_ports[use.node].HasInput(use.port));
      }
      if (!is_rounded || (is_constant && !Changes(id))) continue;
      if (value.graph != kMainGraph) {
        IsInBody(value.graph);
        continue;
      }
      if (is_given_low) places_.push_back({.value = id, .name = value.name});
      if (!is_constant) wanted_.insert(value.name);
      for (const Use& use : value.uses) {
        if (use.IsModelOutput()) continue;
        if (use.graph != kMainGraph) {
          IsInBody(use.graph);
          continue;
        }
        if (is_constant && !task_.low_ports[use.node].HasInput(use.port)) continue;
        places_.push_back(
            {.value = id, .reader = use.node, .port = use.port, .is_weight = is_constant, .name = value.name});
      }
    }
  }

  void IsInBody(GraphId body) {
    is_whole_ = false;
    const NodeId owner = model_.graph(body).owner;
    if (!why_.ok() || owner == kNone) return;
    why_ = UsageError("no derivative goes into a body of node '", Escaped(model_.NodeLabel(owner)), "' (",
                      Escaped(model_.node(owner).op_type()), ")");
  }

  // Whether rounding changes a constant.
  bool Changes(ValueId constant) const {
    const Tensor* const tensor = Float32Of(&task_.session.program().constants[constant]);
    if (tensor == nullptr) return false;
    const auto elements = tensor->elements<float>();
    return EffectOfRounding(elements, task_.low, elements).squared_roundings > 0;
  }

  // Gives each reader of a value that has several a value of its own.
  void SplitReaders(Model& model) {
    absl::flat_hash_map<ValueId, size_t> readers;
    for (const Place& place : places_) readers[place.value] += place.reader == kNone ? 0 : 1;
    for (Place& place : places_) {
      if (place.reader == kNone || (readers[place.value] == 1 && model_.value(place.value).uses.size() == 1)) continue;
      const ValueId value = Find(model, place.name);
      const NodeId reader = ReaderIn(model, place);
      if (value == kNone || reader == kNone || model.node(reader).Input(place.port) != value) {
        place.name.clear();
        continue;
      }
      const NodeId producer = model.value(value).producer;
      place.name = model.UniqueName(absl::StrCat(place.name, "/read"));
      const NodeId copy =
          model.InsertAfter(kMainGraph, producer,
                            {.op_type = "Identity", .name = place.name, .inputs = {value}, .outputs = {place.name}});
      model.CopyType(value, model.node(copy).outputs[0]);
      model.SetInput(reader, place.port, model.node(copy).outputs[0]);
    }
  }

  static ValueId Find(const Model& model, const std::string& name) {
    const auto& names = model.graph(kMainGraph).names;
    const auto it = names.find(name);
    return it == names.end() ? ValueId(kNone) : it->second;
  }

  // The node that gives the same values.
  NodeId ReaderIn(const Model& model, const Place& place) const {
    return model.value(Find(model, model_.value(model_.node(place.reader).Output(0)).name)).producer;
  }

  // Rules may have to know shapes.
  void StateShapes(Model& model) const {
    for (const ValueId input : model.graph(kMainGraph).inputs) {
      const auto given = task_.sample.find(model.value(input).name);
      const Tensor* const tensor = given == task_.sample.end() ? nullptr : given->second.tensor();
      if (tensor != nullptr && tensor->dtype() == model.value(input).dtype) {
        StateType(model, input, tensor->dtype(), {tensor->dims().begin(), tensor->dims().end()});
      }
    }
  }

  // Returns the sum of all outputs, each element times an input of the model; kNone if there is no such output.
  ValueId AddLoss(Model& model) {
    NodeAppender append(model, "rounding");
    std::vector<ValueId> sums;
    directions_.resize(task_.outputs.size());
    for (size_t i = 0; i < task_.outputs.size(); ++i) {
      const Tensor* const output = Float32Of(&task_.outputs[i]);
      const ValueId value = model.graph(kMainGraph).outputs[i];
      if (output == nullptr || model.value(value).dtype != DType::kFloat32) continue;
      directions_[i] = model.UniqueName("direction");
      const ValueId direction =
          AddGraphInput(model, directions_[i], DType::kFloat32, {output->dims().begin(), output->dims().end()},
                        std::vector<std::string>(output->dims().size()));
      sums.push_back(append.Add("ReduceSum", {append.Add("Mul", {value, direction})}, {{"keepdims", int64_t{0}}}));
    }
    if (sums.empty()) return kNone;
    return sums.size() == 1 ? sums.front() : append.Add("Sum", sums);
  }

  // Whether an initializer's elements are to be the session's: its message may not have them any more.
  bool IsShared(ValueId id) const {
    const Tensor* const constant = task_.session.program().constants[id].tensor();
    if (!model_.value(id).IsInitializer() || constant == nullptr) return false;
    return constant->size_bytes() > kMostCopiedBytes || IsExternal(*model_.value(id).initializer);
  }

  // Returns the session's model with shared initializers as inputs, so that no weight is in memory twice. A body cannot
  // have inputs of its own: a model with large weights there, or external ones in its nodes, is loaded once more.
  absl::StatusOr<LoadedFile> LoadSharing() {
    shared_.clear();
    absl::flat_hash_set<std::string> names;
    bool can_share = true;
    for (const ValueId id : model_.AllValues()) {
      if (!IsShared(id)) continue;
      can_share = can_share && model_.value(id).graph == kMainGraph;
      names.insert(model_.value(id).name);
      shared_.emplace(model_.value(id).name, task_.session.program().constants[id]);
    }
    if (can_share) {
      absl::StatusOr<LoadedFile> file = CopyWithInputs(model_.proto(), names);
      if (file.ok()) return file;
    }
    shared_.clear();
    absl::StatusOr<LoadedFile> file = task_.load();
    callers_error_ = file.status();
    return file;
  }

  // Returns a session that computes the model and its derivatives.
  // A node whose rule refuses it comes into refused_, which is an error, too.
  absl::StatusOr<std::unique_ptr<Session>> Differentiate() {
    for (Place& place : places_) place.name = model_.value(place.value).name;
    is_of_.clear();
    AMP_ASSIGN_OR_RETURN(LoadedFile file, LoadSharing());
    AMP_ASSIGN_OR_RETURN(std::unique_ptr<Model> model,
                         Model::Create(std::move(file.arena), file.model, nullptr, file.weights()));
    StateShapes(*model);
    InferTypes(*model);
    SplitReaders(*model);
    AMP_ASSIGN_OR_RETURN(model, PrepareForTraining(std::move(model), nullptr, task_.limits));
    if (model->graph(kMainGraph).outputs.size() != task_.outputs.size()) return UsageError("other outputs");
    const ValueId loss = AddLoss(*model);
    if (loss == kNone) return UsageError("no float32 output");
    InferTypes(*model);
    std::vector<ValueId> asked;
    absl::flat_hash_set<ValueId> seen;
    for (const Place& place : places_) {
      const ValueId value = Find(*model, place.name);
      if (value != kNone && seen.insert(value).second) asked.push_back(value);
    }
    absl::flat_hash_set<NodeId> refused;
    for (const std::string& name : refused_) refused.insert(model->value(Find(*model, name)).producer);
    const std::vector<ValueId> of = DifferentiableFrom(*model, loss, asked, refused);
    NodeAppender append(*model, "rounding");
    const ValueId one = append.Scalar(1, DType::kFloat32);
    const std::vector<ValueId> reached = ReachedFrom(*model, loss, asked);
    if (of.size() < reached.size() && refused.empty() && why_.ok()) {
      why_ = Gradients(*model, loss, one, reached).status();
    }
    if (of.empty()) return why_.ok() ? UsageError("no output depends on what is rounded") : why_;
    NodeId node = kNone;
    const absl::StatusOr<std::vector<ValueId>> gradients = Gradients(*model, loss, one, of, &node);
    if (node != kNone) refused_.insert(model->value(model->node(node).Output(0)).name);
    if (!gradients.ok() && why_.ok()) why_ = gradients.status();
    AMP_RETURN_IF_ERROR(gradients.status());
    absl::flat_hash_map<std::string, std::vector<size_t>> places_of;
    for (size_t i = 0; i < places_.size(); ++i) places_of[places_[i].name].push_back(i);
    for (size_t i = 0; i < of.size(); ++i) {
      std::vector<size_t>& same = is_of_[model->value((*gradients)[i]).name];
      for (const size_t place : places_of[model->value(of[i]).name]) same.push_back(place);
    }
    model->Commit();
    file.model = &model->LendProto();
    file.arena = model->ReleaseArena();
    SessionOptions how;
    how.limits = task_.limits;
    return Session::Create(std::move(file), OneByOne(how));
  }

  // Runs forward and backward, with random signs for the outputs of the group at hand.
  absl::Status RunAlong() {
    NamedDatums inputs = task_.sample;
    inputs.insert(shared_.begin(), shared_.end());  // a sample's own weight stays
    for (size_t i = 0; i < directions_.size(); ++i) {
      if (directions_[i].empty()) continue;
      const Tensor& output = *task_.outputs[i].tensor();
      AMP_ASSIGN_OR_RETURN(Tensor direction, Tensor::Create(DType::kFloat32, output.dims()));
      const bool is_in = i % groups_.size() == group_;
      const auto inverse = static_cast<float>(1 / std::sqrt(SumOfSquares(output.elements<float>())));
      const float size = is_in && std::isfinite(inverse) ? inverse : 0.0F;
      for (float& element : direction.mutable_elements<float>()) element = (random_() & 1) != 0 ? size : -size;
      inputs[directions_[i]] = Datum(std::move(direction));
    }
    const Model& model = session_->model();
    values_.clear();
    int64_t kept_bytes = 0;
    const int64_t most_bytes = UsableMemory() / 2;
    const ValueObserver observe = [&](ValueId id, const Datum& datum) {
      const std::string& name = model.value(id).name;
      if (wanted_.contains(name)) {
        values_[name] = datum;
        kept_bytes += datum.tensor() == nullptr ? 0 : static_cast<int64_t>(datum.tensor()->size_bytes());
      }
      const auto places = is_of_.find(name);
      if (places != is_of_.end()) {
        for (const size_t place : places->second) Add(places_[place], datum);
      }
    };
    const NodeGate gate = [&](const Node& node, absl::Span<const Datum* const> given) {
      if (kept_bytes > most_bytes) return absl::ResourceExhaustedError("values take too much memory");
      return task_.may_go_on == nullptr ? absl::OkStatus() : callers_error_ = (*task_.may_go_on)(node, given);
    };
    const absl::Status status = session_->Run(inputs, {.observer = &observe, .may_go_on = &gate}).status();
    values_.clear();
    GiveBackFreedMemory();  // of all values, in blocks that the next run takes in another order
    return status;
  }

  void Add(Place& place, const Datum& derivative) {
    const Tensor* const factors = Float32Of(&derivative);
    const std::string& name = model_.value(place.value).name;
    const auto known = values_.find(name);
    const Datum& datum = place.is_weight          ? task_.session.program().constants[place.value]
                         : known == values_.end() ? nothing_
                                                  : known->second;
    const Tensor* const elements = Float32Of(&datum);
    if (factors == nullptr || elements == nullptr || factors->dims() != elements->dims()) return;
    const auto all_factors = factors->elements<float>();
    if (!AreFinite(all_factors)) return;  // the root of 0 has no derivative, and its rule divides by it
    const RoundingEffect effect = EffectOfRounding(elements->elements<float>(), task_.low, all_factors);
    Place::Sums& sums = place.sums[group_];
    sums.effect.squared_roundings += effect.squared_roundings;
    sums.effect.squared_factors += effect.squared_factors / static_cast<double>(elements->num_elements());
    sums.effect.squared_products += effect.squared_products;
    sums.squared_of_weight += (effect.product * effect.product + effect.squared_products) / 2;
    ++place.seen;
  }

  Derivatives Conclude(size_t group, size_t directions) const {
    Derivatives found;
    found.is_whole = is_whole_;
    absl::flat_hash_set<NodeId> lacks_weight;
    for (const Place& place : places_) {
      const bool is_known = place.seen == directions * groups_.size();
      found.is_whole = found.is_whole && is_known;
      const Place::Sums& sums = place.sums[group];
      if (place.is_weight) {
        found.weights[place.reader] += sums.squared_of_weight / static_cast<double>(directions);
        if (!is_known) lacks_weight.insert(place.reader);
        continue;
      }
      if (!is_known) continue;
      const double sensitivity = sums.effect.squared_roundings > 0
                                     ? sums.effect.squared_products / sums.effect.squared_roundings
                                     : sums.effect.squared_factors / static_cast<double>(directions);
      if (place.reader == kNone) {
        found.values[place.value] = sensitivity;
      } else {
        found.inputs[{place.reader, place.port}] = sensitivity;
      }
    }
    for (const NodeId node : lacks_weight) found.weights.erase(node);
    return found;
  }

  const DerivativeTask& task_;
  const Model& model_;
  const std::vector<std::vector<size_t>> groups_;
  bool is_whole_ = true;
  std::vector<Place> places_;
  absl::flat_hash_set<std::string> wanted_;  // values whose roundings count
  NamedDatums shared_;                       // weights that are the session's, by name
  std::vector<std::string> directions_;      // by output: an input of the differentiated model, or ""
  absl::flat_hash_map<std::string, std::vector<size_t>> is_of_;  // by derivative: places
  absl::flat_hash_set<std::string> refused_;                     // first outputs of nodes whose rules refuse them
  absl::Status why_;                                             // some cannot be found; OK where none was refused
  std::unique_ptr<Session> session_;
  size_t group_ = 0;                                // at hand
  absl::flat_hash_map<std::string, Datum> values_;  // of the run
  std::mt19937 random_{kSeed};
  absl::Status callers_error_;
  const Datum nothing_;
};

}  // namespace

std::vector<std::vector<size_t>> GroupOutputs(size_t num_outputs) {
  std::vector<std::vector<size_t>> groups(std::min(num_outputs, kMostGroups));
  for (size_t i = 0; i < num_outputs; ++i) groups[i % groups.size()].push_back(i);
  return groups;
}

absl::StatusOr<FoundDerivatives> FindDerivatives(const DerivativeTask& task) { return DerivativeFinder(task).Find(); }

}  // namespace amp
