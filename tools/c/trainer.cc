// Training: the functions of tools/c/amp_c.h.
#include "tools/library/trainer.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "ir/base/status.h"
#include "passes/record/metadata_json.h"
#include "tools/c/amp_c.h"
#include "tools/c/context.h"
#include "tools/c/options_json.h"
#include "tools/c/session.h"
#include "tools/c/values.h"
#include "tools/train/finite_states.h"

struct AmpTrainer {
  std::unique_ptr<amp::OpenedDevice> device;
  std::unique_ptr<amp::Trainer> trainer;
};

namespace amp {
namespace {

using Json = nlohmann::ordered_json;

absl::StatusOr<AmpTrainer*> NewTrainer(const char* json, const std::string& path, AmpBytes step) {
  AMP_ASSIGN_OR_RETURN(SessionChoices choices, SessionChoicesOfJson(json));
  auto made = std::make_unique<AmpTrainer>();
  AMP_ASSIGN_OR_RETURN(made->device, OpenedDevice::Open(choices, path));
  AMP_ASSIGN_OR_RETURN(made->trainer, path.empty()
                                          ? Trainer::CreateFromBytes(std::string(AsView(step)), choices.options)
                                          : Trainer::Create(path, choices.options));
  return made.release();
}

Overwrite OverwriteOf(int flags) { return (flags & AMP_FORCE) != 0 ? Overwrite::kAnyKind : Overwrite::kSameKind; }

absl::Status CheckFinite(const Trainer& trainer, StatesOf states, int flags, const char* path) {
  if ((flags & AMP_ALLOW_NAN) != 0) return absl::OkStatus();
  AMP_ASSIGN_OR_RETURN(const std::string found, FirstNotFinite(trainer, states));
  if (found.empty()) return absl::OkStatus();
  return RefusedError("'", Escaped(path), "' would get numbers that are not finite: ", found,
                      "; allow_nan writes them");
}

absl::Status SetOutput(Tensor tensor, AmpOutput& output) {
  Datum datum = tensor.dtype() == DType::kUndefined ? Datum() : Datum(std::move(tensor));
  return SetOutputs({&datum, 1}, {&output, 1});
}

}  // namespace
}  // namespace amp

extern "C" {

AmpCode amp_trainer_new(AmpContext* context, AmpBytes step, const char* options, AmpTrainer** trainer) {
  return amp::Call(context, [&]() -> absl::Status {
    AMP_RETURN_IF_ERROR(amp::ExpectBytes("a step graph", step));
    AMP_RETURN_IF_ERROR(amp::Expect("a place for the trainer", trainer));
    AMP_ASSIGN_OR_RETURN(*trainer, amp::NewTrainer(options, "", step));
    return absl::OkStatus();
  });
}

AmpCode amp_trainer_new_file(AmpContext* context, const char* path, const char* options, AmpTrainer** trainer) {
  return amp::Call(context, [&]() -> absl::Status {
    AMP_RETURN_IF_ERROR(amp::Expect("a path to a step graph", path));
    AMP_RETURN_IF_ERROR(amp::Expect("a place for the trainer", trainer));
    if (*path == '\0') return amp::UsageError("expected a path to a step graph, found ''");
    AMP_ASSIGN_OR_RETURN(*trainer, amp::NewTrainer(options, path, {}));
    return absl::OkStatus();
  });
}

void amp_trainer_free(AmpTrainer* trainer) { delete trainer; }

AmpCode amp_trainer_step(AmpContext* context, AmpTrainer* trainer, const AmpInput* inputs, size_t num_inputs,
                         AmpStep* step) {
  return amp::Call(context, [&]() -> absl::Status {
    AMP_RETURN_IF_ERROR(amp::Expect("a trainer", trainer));
    AMP_RETURN_IF_ERROR(amp::Expect("a place for the step", step));
    // A state may be an input of this step, so that the elements are the trainer's own.
    AMP_ASSIGN_OR_RETURN(const amp::NamedDatums given, amp::InputsOf(inputs, num_inputs, amp::Elements::kCopy));
    const amp::CancelGate gate(*context);
    AMP_ASSIGN_OR_RETURN(amp::TrainStep done, trainer->trainer->Step(given, gate.get()));
    step->loss = done.loss;
    step->loss_scale = done.loss_scale;
    step->finite = done.finite ? 1 : 0;
    step->logits.tensor = {};
    return amp::SetOutput(std::move(done.logits), step->logits);
  });
}

int64_t amp_trainer_num_steps(const AmpTrainer* trainer) {
  return trainer == nullptr ? 0 : trainer->trainer->num_steps();
}
float amp_trainer_learning_rate(const AmpTrainer* trainer) {
  return trainer == nullptr ? 0 : trainer->trainer->learning_rate();
}
void amp_trainer_set_learning_rate(AmpTrainer* trainer, float rate) {
  if (trainer != nullptr) trainer->trainer->set_learning_rate(rate);
}

AmpCode amp_trainer_describe(AmpContext* context, const AmpTrainer* trainer, const char** json) {
  return amp::Call(context, [&]() -> absl::Status {
    AMP_RETURN_IF_ERROR(amp::Expect("a trainer", trainer));
    AMP_RETURN_IF_ERROR(amp::Expect("a place for the text", json));
    const amp::Trainer& of = *trainer->trainer;
    amp::Json states = amp::Json::array();
    for (const std::string& name : of.StateNames()) states.push_back(amp::TextOfBytes(name));
    const auto is_data = [&](const std::string& name) { return !of.IsState(name); };
    *json = context->Give(amp::Json{
        {"inputs", amp::DescribeValues(of.session(), of.session().inputs(), is_data)},
        {"states", states}}.dump());
    return absl::OkStatus();
  });
}

AmpCode amp_trainer_state(AmpContext* context, const AmpTrainer* trainer, const char* name, AmpOutput* state) {
  return amp::Call(context, [&]() -> absl::Status {
    AMP_RETURN_IF_ERROR(amp::Expect("a trainer", trainer));
    AMP_RETURN_IF_ERROR(amp::Expect("the name of a state", name));
    AMP_RETURN_IF_ERROR(amp::Expect("a place for the state", state));
    AMP_ASSIGN_OR_RETURN(amp::Tensor tensor, trainer->trainer->State(name));
    return amp::SetOutput(std::move(tensor), *state);
  });
}

AmpCode amp_trainer_set_state(AmpContext* context, AmpTrainer* trainer, const AmpInput* state) {
  return amp::Call(context, [&]() -> absl::Status {
    AMP_RETURN_IF_ERROR(amp::Expect("a trainer", trainer));
    AMP_RETURN_IF_ERROR(amp::Expect("a state", state));
    AMP_RETURN_IF_ERROR(amp::Expect("the name of a state", state->name));
    if (state->value != nullptr && state->value->datum.tensor() == nullptr) {
      return amp::UsageError("expected a tensor, found ", state->value->datum.TypeText());
    }
    AMP_ASSIGN_OR_RETURN(
        amp::Tensor tensor,
        amp::TensorOf(state->value != nullptr ? amp::ViewOf(*state->value) : state->tensor, amp::Elements::kCopy));
    return trainer->trainer->SetState(state->name, std::move(tensor));
  });
}

AmpCode amp_trainer_save_weights(AmpContext* context, const AmpTrainer* trainer, const char* path, const char* forward,
                                 int flags) {
  return amp::Call(context, [&]() -> absl::Status {
    AMP_RETURN_IF_ERROR(amp::Expect("a trainer", trainer));
    AMP_RETURN_IF_ERROR(amp::Expect("a path", path));
    AMP_RETURN_IF_ERROR(amp::CheckFinite(*trainer->trainer, amp::StatesOf::kModel, flags, path));
    return trainer->trainer->SaveWeights(path, forward == nullptr ? "" : forward, amp::OverwriteOf(flags));
  });
}

AmpCode amp_trainer_save_checkpoint(AmpContext* context, const AmpTrainer* trainer, const char* path, const char* note,
                                    int flags) {
  return amp::Call(context, [&]() -> absl::Status {
    AMP_RETURN_IF_ERROR(amp::Expect("a trainer", trainer));
    AMP_RETURN_IF_ERROR(amp::Expect("a path", path));
    AMP_RETURN_IF_ERROR(amp::CheckFinite(*trainer->trainer, amp::StatesOf::kCheckpoint, flags, path));
    return trainer->trainer->SaveCheckpoint(path, note == nullptr ? "" : note, amp::OverwriteOf(flags));
  });
}

AmpCode amp_trainer_load_checkpoint(AmpContext* context, AmpTrainer* trainer, const char* path, const char** note) {
  return amp::Call(context, [&]() -> absl::Status {
    AMP_RETURN_IF_ERROR(amp::Expect("a trainer", trainer));
    AMP_RETURN_IF_ERROR(amp::Expect("a path", path));
    AMP_ASSIGN_OR_RETURN(std::string kept, trainer->trainer->LoadCheckpoint(path));
    if (note != nullptr) *note = context->Give(std::move(kept));
    return absl::OkStatus();
  });
}

AmpCode amp_trainer_forward(AmpContext* context, const AmpTrainer* trainer, const char* forward, AmpSession** session) {
  return amp::Call(context, [&]() -> absl::Status {
    AMP_RETURN_IF_ERROR(amp::Expect("a trainer", trainer));
    AMP_RETURN_IF_ERROR(amp::Expect("a place for the session", session));
    auto made = std::make_unique<AmpSession>();
    AMP_ASSIGN_OR_RETURN(made->session, trainer->trainer->MakeForward(forward == nullptr ? "" : forward));
    *session = made.release();
    return absl::OkStatus();
  });
}

}  // extern "C"
