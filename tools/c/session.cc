#include "tools/c/session.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "ir/base/status.h"
#include "ir/graph/shape.h"
#include "ir/graph/value_form.h"
#include "passes/record/metadata_json.h"
#include "runtime/device_run/use_device.h"
#include "tools/c/context.h"
#include "tools/c/values.h"
#include "tools/library/amp.h"
#include "tools/library/made_up_inputs.h"
#include "tools/program/device_flag.h"
#include "tools/run/compare_runs.h"

namespace amp {
namespace {

using Json = nlohmann::ordered_json;

const char* KindName(ValueForm::Kind kind) {
  switch (kind) {
    case ValueForm::Kind::kTensor:
      return "tensor";
    case ValueForm::Kind::kSequence:
      return "sequence";
    case ValueForm::Kind::kMap:
      return "map";
    case ValueForm::Kind::kUnknown:
      return "unknown";
  }
  return "unknown";
}

// Numbers, names, and null for what is neither; null where the rank is unknown.
Json ShapeJson(const Model& model, ValueId value) {
  const auto shape = ShapeOf(model, value);
  if (!shape.has_value()) return nullptr;
  const std::vector<std::string> symbols = DimSymbols(model, value);
  Json json = Json::array();
  for (size_t axis = 0; axis < shape->size(); ++axis) {
    if ((*shape)[axis] != kUnknownDim) {
      json.push_back((*shape)[axis]);
    } else if (axis < symbols.size() && !symbols[axis].empty()) {
      json.push_back(TextOfBytes(symbols[axis]));
    } else {
      json.push_back(nullptr);
    }
  }
  return json;
}

absl::StatusOr<size_t> OutputOf(const Session& session, const AmpOutput& output, size_t at) {
  const std::vector<ValueId>& outputs = session.outputs();
  if (output.name == nullptr) {
    if (at < outputs.size()) return at;
    return UsageError("expected at most ", outputs.size(), " outputs without a name, found ", at + 1);
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (session.model().value(outputs[i]).name == output.name) return i;
  }
  return UsageError("output '", Escaped(output.name), "': no such output; there are ",
                    QuotedFirstOf(session.OutputNames()));
}

absl::Status Run(AmpContext& context, const Session& session, const AmpInput* inputs, size_t num_inputs,
                 AmpOutput* outputs, size_t num_outputs) {
  absl::InlinedVector<size_t, 4> wanted;
  for (size_t i = 0; i < num_outputs; ++i) {
    AMP_ASSIGN_OR_RETURN(wanted.emplace_back(), OutputOf(session, outputs[i], i));
  }
  AMP_ASSIGN_OR_RETURN(const NamedDatums given, InputsOf(inputs, num_inputs, Elements::kLend));
  const CancelGate gate(context);
  AMP_ASSIGN_OR_RETURN(std::vector<Datum> found, session.Run(given, {.may_go_on = gate.get()}));
  absl::InlinedVector<Datum, 4> datums;
  for (size_t i = 0; i < num_outputs; ++i) {
    const bool is_last_use =
        std::find(wanted.begin() + static_cast<std::ptrdiff_t>(i) + 1, wanted.end(), wanted[i]) == wanted.end();
    datums.push_back(is_last_use ? std::move(found[wanted[i]]) : found[wanted[i]]);
  }
  return SetOutputs(absl::MakeSpan(datums), {outputs, num_outputs});
}

absl::StatusOr<AmpSession*> NewSession(const char* json, const std::string& path, AmpBytes model) {
  AMP_ASSIGN_OR_RETURN(SessionChoices choices, SessionChoicesOfJson(json));
  auto made = std::make_unique<AmpSession>();
  AMP_ASSIGN_OR_RETURN(made->device, OpenedDevice::Open(choices, path));
  AMP_ASSIGN_OR_RETURN(made->session, path.empty() ? MakeSessionOfBytes(AsView(model), choices.options)
                                                   : Session::Create(path, choices.options));
  return made.release();
}

// Returns what `amp-run --compare --json` prints, and what differs by too much.
absl::StatusOr<std::string> ComparisonJson(const Session& session, const Session& other, const NamedDatums& inputs,
                                           const char* options, const NodeGate* may_go_on) {
  AMP_ASSIGN_OR_RETURN(const std::optional<double> tolerance, ToleranceOfJson(options));
  AMP_ASSIGN_OR_RETURN(const RunComparison comparison,
                       CompareRuns(session, other, "other", inputs, {.tolerance = tolerance, .may_go_on = may_go_on}));
  Json json = Json::parse(comparison.Json("model", "other"));
  json["difference"] = TextOfBytes(std::string(comparison.verdict.message()));
  return json.dump();
}

}  // namespace

absl::StatusOr<std::unique_ptr<OpenedDevice>> OpenedDevice::Open(SessionChoices& choices, const std::string& model) {
  const DeviceHost host;
  const ChosenDevice chosen = ChooseDevice(choices.device, host, model, choices.options.limits);
  auto opened = std::unique_ptr<OpenedDevice>(new OpenedDevice);
  AMP_ASSIGN_OR_RETURN(opened->device_, OpenFlaggedDevice(chosen.ordinal, host.open));
  choices.options.device = opened->device_;
  if (opened->device_ == nullptr || choices.autotune.empty()) return opened;
  AMP_ASSIGN_OR_RETURN(opened->tuning_, TuningFile::Open(choices.autotune));
  UseChoices(*opened->device_, &opened->tuning_->choices());
  return opened;
}

OpenedDevice::~OpenedDevice() {
  if (tuning_ == nullptr) return;
  UseChoices(*device_, nullptr);
  tuning_->Save().IgnoreError();  // without the file the next session times again
}

CancelGate::CancelGate(AmpContext& context) {
  if (!context.AsksWhetherToGoOn()) return;
  context.BeginToAsk();
  gate_ = [&context](const Node&, absl::Span<const Datum* const>) { return context.MayGoOn(); };
}

Json DescribeValues(const Session& session, const std::vector<ValueId>& values,
                    const std::function<bool(const std::string&)>& shows) {
  Json json = Json::array();
  const Model& model = session.model();
  for (const ValueId id : values) {
    const Value& value = model.value(id);
    if (!shows(value.name)) continue;
    json.push_back({{"name", TextOfBytes(value.name)},
                    {"kind", KindName(FormOf(model, id).kind)},
                    {"dtype", DTypeName(value.dtype)},
                    {"type", TypeText(model, id)},
                    {"shape", ShapeJson(model, id)}});
  }
  return json;
}

}  // namespace amp

extern "C" {

AmpCode amp_session_new(AmpContext* context, AmpBytes model, const char* options, AmpSession** session) {
  return amp::Call(context, [&]() -> absl::Status {
    AMP_RETURN_IF_ERROR(amp::ExpectBytes("a model", model));
    AMP_RETURN_IF_ERROR(amp::Expect("a place for the session", session));
    AMP_ASSIGN_OR_RETURN(*session, amp::NewSession(options, "", model));
    return absl::OkStatus();
  });
}

AmpCode amp_session_new_file(AmpContext* context, const char* path, const char* options, AmpSession** session) {
  return amp::Call(context, [&]() -> absl::Status {
    AMP_RETURN_IF_ERROR(amp::Expect("a path to a model", path));
    AMP_RETURN_IF_ERROR(amp::Expect("a place for the session", session));
    if (*path == '\0') return amp::UsageError("expected a path to a model, found ''");
    AMP_ASSIGN_OR_RETURN(*session, amp::NewSession(options, path, {}));
    return absl::OkStatus();
  });
}

void amp_session_free(AmpSession* session) { delete session; }

AmpCode amp_session_describe(AmpContext* context, const AmpSession* session, const char** json) {
  return amp::Call(context, [&]() -> absl::Status {
    AMP_RETURN_IF_ERROR(amp::Expect("a session", session));
    AMP_RETURN_IF_ERROR(amp::Expect("a place for the text", json));
    const amp::Session& described = *session->session;
    const auto all = [](const std::string&) { return true; };
    *json = context->Give(amp::Json{{"device", described.DeviceName()},
                                    {"inputs", amp::DescribeValues(described, described.inputs(), all)},
                                    {"outputs", amp::DescribeValues(described, described.outputs(), all)}}
                              .dump());
    return absl::OkStatus();
  });
}

AmpCode amp_session_run(AmpContext* context, const AmpSession* session, const AmpInput* inputs, size_t num_inputs,
                        AmpOutput* outputs, size_t num_outputs) {
  return amp::Call(context, [&]() -> absl::Status {
    AMP_RETURN_IF_ERROR(amp::Expect("a session", session));
    if (num_outputs > 0) AMP_RETURN_IF_ERROR(amp::Expect("outputs", outputs));
    return amp::Run(*context, *session->session, inputs, num_inputs, outputs, num_outputs);
  });
}

AmpCode amp_session_random_inputs(AmpContext* context, const AmpSession* session, const char* options,
                                  AmpOutput* outputs, size_t num_outputs) {
  return amp::Call(context, [&]() -> absl::Status {
    AMP_RETURN_IF_ERROR(amp::Expect("a session", session));
    const amp::Session& of = *session->session;
    if (num_outputs != of.inputs().size()) {
      return amp::UsageError("expected places for ", of.inputs().size(), " inputs, found ", num_outputs);
    }
    if (num_outputs > 0) AMP_RETURN_IF_ERROR(amp::Expect("places for the inputs", outputs));
    AMP_ASSIGN_OR_RETURN(const amp::RandomInputChoices choices, amp::RandomInputChoicesOfJson(options));
    const amp::RandomInputOptions making = {.seed = choices.seed, .dims = choices.dims};
    const amp::CancelGate gate(*context);
    absl::StatusOr<amp::MadeUpInputs> made = amp::MakeFittingInputs(of, making, {.may_go_on = gate.get()});
    if (!made.ok()) return amp::ExplainMadeUp(made.status(), of, making, "inputs of your own");
    std::vector<amp::Datum> datums;
    for (size_t i = 0; i < num_outputs; ++i) {
      datums.push_back(std::move(made->inputs[of.model().value(of.inputs()[i]).name]));
    }
    return amp::SetOutputs(absl::MakeSpan(datums), {outputs, num_outputs});
  });
}

AmpCode amp_compare(AmpContext* context, const AmpSession* model, const AmpSession* other, const AmpInput* inputs,
                    size_t num_inputs, const char* options, const char** json) {
  return amp::Call(context, [&]() -> absl::Status {
    AMP_RETURN_IF_ERROR(amp::Expect("a session", model));
    AMP_RETURN_IF_ERROR(amp::Expect("another session", other));
    AMP_RETURN_IF_ERROR(amp::Expect("a place for the text", json));
    AMP_ASSIGN_OR_RETURN(const amp::NamedDatums given, amp::InputsOf(inputs, num_inputs, amp::Elements::kLend));
    const amp::CancelGate gate(*context);
    AMP_ASSIGN_OR_RETURN(std::string text,
                         amp::ComparisonJson(*model->session, *other->session, given, options, gate.get()));
    *json = context->Give(std::move(text));
    return absl::OkStatus();
  });
}

}  // extern "C"
