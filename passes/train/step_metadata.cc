#include "passes/train/step_metadata.h"

#include <optional>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_join.h"
#include "ir/base/status.h"
#include "passes/record/metadata_json.h"

namespace amp {
namespace {

using Json = nlohmann::json;

constexpr int kVersion = 1;

template <typename Kind>
struct Word {
  Kind kind;
  absl::string_view word;
};
constexpr Word<StateKind> kStateKinds[] = {{StateKind::kWeight, "weight"},
                                           {StateKind::kSlot, "slot"},
                                           {StateKind::kRunning, "running"},
                                           {StateKind::kScale, "scale"},
                                           {StateKind::kCounter, "counter"}};
constexpr Word<LabelKind> kLabelKinds[] = {
    {LabelKind::kSparse, "sparse"}, {LabelKind::kOneHot, "onehot"}, {LabelKind::kTarget, "target"}};
constexpr Word<LossKind> kLossKinds[] = {
    {LossKind::kSoftmaxCrossEntropy, "softmax-cross-entropy"}, {LossKind::kMse, "mse"}, {LossKind::kGraph, "graph"}};

template <typename Kind, size_t size>
absl::string_view WordOf(const Word<Kind> (&words)[size], Kind kind) {
  for (const Word<Kind>& each : words) {
    if (each.kind == kind) return each.word;
  }
  return "";
}

template <typename Kind, size_t size>
Kind KindOf(const Word<Kind> (&words)[size], const std::string& word, MetadataReader& reader) {
  std::vector<absl::string_view> known;
  for (const Word<Kind>& each : words) {
    if (each.word == word) return each.kind;
    known.push_back(each.word);
  }
  reader.Fail("expected ", absl::StrJoin(known, ", "), "; found '", word, "'");
  return words[0].kind;
}

Json NameOrNull(const std::string& name) { return name.empty() ? Json() : Json(TextOfBytes(name)); }

std::string TakeNameOrNull(MetadataReader& reader, Json& from, const char* key) {
  const Json taken = reader.Take(from, key);
  return taken.is_null() ? "" : BytesOfText(reader.Name(taken));
}

std::string TakeName(MetadataReader& reader, Json& from, const char* key) {
  return BytesOfText(reader.Name(reader.Take(from, key)));
}

absl::Status InKey(absl::string_view key, const absl::Status& status) {
  return status.ok() ? status : ModelError("metadata '", key, "': ", Escaped(status.message()));
}

absl::StatusOr<std::vector<StepState>> ParseStates(absl::string_view text) {
  AMP_ASSIGN_OR_RETURN(Json json, ParseMetadataJson(text));
  MetadataReader reader;
  if (!json.is_array()) reader.Fail("expected a list, found ", json.type_name());
  std::vector<StepState> states;
  absl::flat_hash_set<std::string> names;
  for (size_t i = 0; reader.status().ok() && i < json.size(); ++i) {
    StepState state;
    state.input = TakeName(reader, json[i], "input");
    state.output = TakeName(reader, json[i], "output");
    state.kind = KindOf(kStateKinds, reader.Text(reader.Take(json[i], "kind")), reader);
    reader.ExpectNothingIn(json[i]);
    if (!names.insert("i" + state.input).second) reader.Fail("input '", state.input, "' is there twice");
    if (!names.insert("o" + state.output).second) reader.Fail("output '", state.output, "' is there twice");
    states.push_back(std::move(state));
  }
  if (!reader.status().ok()) return reader.status();
  return states;
}

DType TakeDType(MetadataReader& reader, Json& from) {
  const std::string word = reader.Text(reader.Take(from, "dtype"));
  const std::optional<DType> type = ParseDType(word);
  const bool is_known = type.has_value() && (IsLowFloat(*type) || *type == DType::kFloat32);
  if (!is_known) reader.Fail("expected float16, bfloat16 or float32; found '", word, "'");
  return type.value_or(DType::kFloat32);
}

void ExpectState(const StepDescription& step, const std::string& name, StateKind kind, MetadataReader& reader) {
  if (name.empty()) return;
  for (const StepState& state : step.states) {
    if (state.input == name && state.kind == kind) return;
  }
  reader.Fail("'", name, "' is no state of kind ", StateKindName(kind));
}

absl::StatusOr<StepDescription> ParseFields(absl::string_view text, std::vector<StepState> states) {
  AMP_ASSIGN_OR_RETURN(Json json, ParseMetadataJson(text));
  MetadataReader reader;
  const int version = reader.Integer(reader.Take(json, "version"));
  if (version != kVersion) reader.Fail("expected version ", kVersion, ", found ", version);
  StepDescription step;
  step.loss = TakeName(reader, json, "loss");
  step.finite = TakeNameOrNull(reader, json, "finite");
  step.labels = TakeNameOrNull(reader, json, "labels");
  step.label_kind = KindOf(kLabelKinds, reader.Text(reader.Take(json, "label_kind")), reader);
  step.logits = TakeNameOrNull(reader, json, "logits");
  step.learning_rate = TakeNameOrNull(reader, json, "learning_rate");
  step.scale = TakeNameOrNull(reader, json, "scale");
  step.good_steps = TakeNameOrNull(reader, json, "good_steps");
  step.global_step = TakeNameOrNull(reader, json, "global_step");
  step.optimizer = reader.Text(reader.Take(json, "optimizer"));
  step.dtype = TakeDType(reader, json);
  step.loss_kind = KindOf(kLossKinds, reader.Text(reader.Take(json, "loss_kind")), reader);
  reader.ExpectNothingIn(json);
  step.states = std::move(states);
  ExpectState(step, step.scale, StateKind::kScale, reader);
  ExpectState(step, step.good_steps, StateKind::kCounter, reader);
  ExpectState(step, step.global_step, StateKind::kCounter, reader);
  if (!reader.status().ok()) return reader.status();
  return step;
}

}  // namespace

std::string NextName(absl::string_view state) { return absl::StrCat(state, ".next"); }

absl::string_view StateKindName(StateKind kind) { return WordOf(kStateKinds, kind); }
absl::string_view LabelKindName(LabelKind kind) { return WordOf(kLabelKinds, kind); }
absl::string_view LossKindName(LossKind kind) { return WordOf(kLossKinds, kind); }

std::string StateJson(const StepDescription& step) {
  Json states = Json::array();
  for (const StepState& state : step.states) {
    states.push_back({{"input", TextOfBytes(state.input)},
                      {"output", TextOfBytes(state.output)},
                      {"kind", std::string(StateKindName(state.kind))}});
  }
  return states.dump();
}

std::string StepJson(const StepDescription& step) {
  const Json json = {{"version", kVersion},
                     {"loss", TextOfBytes(step.loss)},
                     {"finite", NameOrNull(step.finite)},
                     {"labels", NameOrNull(step.labels)},
                     {"label_kind", std::string(LabelKindName(step.label_kind))},
                     {"logits", NameOrNull(step.logits)},
                     {"learning_rate", NameOrNull(step.learning_rate)},
                     {"scale", NameOrNull(step.scale)},
                     {"good_steps", NameOrNull(step.good_steps)},
                     {"global_step", NameOrNull(step.global_step)},
                     {"optimizer", step.optimizer},
                     {"dtype", std::string(DTypeName(step.dtype))},
                     {"loss_kind", std::string(LossKindName(step.loss_kind))}};
  return json.dump();
}

absl::StatusOr<StepDescription> ParseStep(absl::string_view state_json, absl::string_view step_json) {
  absl::StatusOr<std::vector<StepState>> states = ParseStates(state_json);
  if (!states.ok()) return InKey(kStateKey, states.status());
  absl::StatusOr<StepDescription> step = ParseFields(step_json, *std::move(states));
  if (!step.ok()) return InKey(kStepKey, step.status());
  return step;
}

bool IsStepGraph(const onnx::ModelProto& model) {
  return FindMetadata(model, kStateKey).has_value() || FindMetadata(model, kStepKey).has_value();
}

absl::StatusOr<std::vector<StepState>> FindStates(const onnx::ModelProto& model) {
  const std::optional<std::string> text = FindMetadata(model, kStateKey);
  if (!text) return std::vector<StepState>();
  absl::StatusOr<std::vector<StepState>> states = ParseStates(*text);
  if (!states.ok()) return InKey(kStateKey, states.status());
  return states;
}

absl::StatusOr<StepDescription> FindStep(const onnx::ModelProto& model) {
  const std::optional<std::string> states = FindMetadata(model, kStateKey), step = FindMetadata(model, kStepKey);
  if (!states || !step) {
    return ModelError("no step graph: expected metadata '", kStateKey, "' and '", kStepKey, "', found ",
                      states ? "the first alone: a loss scale was put into this graph, which a loop of its own runs"
                      : step ? "the second alone"
                             : "neither; amp-rewrite --train makes one of a model");
  }
  return ParseStep(*states, *step);
}

void SetStep(Model& model, const StepDescription& step) {
  SetMetadata(model, kStateKey, StateJson(step));
  SetMetadata(model, kStepKey, StepJson(step));
}

void SetStepType(Model& model, DType dtype) {
  absl::StatusOr<StepDescription> step = FindStep(model.proto());
  if (!step.ok() || step->dtype == dtype) return;
  step->dtype = dtype;
  SetStep(model, *step);
}

}  // namespace amp
