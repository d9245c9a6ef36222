// metadata_props["amp.state"] and ["amp.step"]: what is written is read again, and damaged text is refused.
#include "passes/train/step_metadata.h"

#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_replace.h"
#include "tests/catch2.h"
#include "tests/model_from_text.h"

namespace amp {
namespace {

StepDescription Example() {
  StepDescription step;
  step.finite = "amp.all_finite";
  step.labels = "labels";
  step.label_kind = LabelKind::kOneHot;
  step.logits = "y";
  step.scale = "amp.loss_scale";
  step.good_steps = "amp.good_steps";
  step.optimizer = "rmsprop";
  step.dtype = DType::kFloat16;
  step.states = {{"w", "w.next", StateKind::kWeight},
                 {"w.rms", "w.rms.next", StateKind::kSlot},
                 {"mean", "mean.next", StateKind::kRunning},
                 {"amp.loss_scale", "amp.loss_scale.next", StateKind::kScale},
                 {"amp.good_steps", "amp.good_steps.next", StateKind::kCounter},
                 {"amp.global_step", "amp.global_step.next", StateKind::kCounter}};
  return step;
}

absl::StatusOr<StepDescription> ParseChanged(const std::string& from, const std::string& to) {
  const std::string state = StateJson(Example()), step = StepJson(Example());
  const std::string new_state = absl::StrReplaceAll(state, {{from, to}});
  const std::string new_step = absl::StrReplaceAll(step, {{from, to}});
  REQUIRE((new_state != state || new_step != step));
  return ParseStep(new_state, new_step);
}

void ExpectRefused(const std::string& from, const std::string& to, const std::string& message) {
  const auto parsed = ParseChanged(from, to);
  INFO(from << " -> " << to << ": " << parsed.status());
  REQUIRE(parsed.status().code() == absl::StatusCode::kDataLoss);
  CHECK(absl::StrContains(parsed.status().message(), message));
  CHECK(!absl::StrContains(parsed.status().message(), "\n"));
}

TEST_CASE("a step graph's description survives its metadata") {
  auto model =
      GraphFromText("<ir_version: 8, opset_import: [\"\" : 17]> g (float[2] x) => (float[2] y) { y = Abs(x) }");
  CHECK(!IsStepGraph(model->proto()));
  CHECK(FindStep(model->proto()).status().code() == absl::StatusCode::kDataLoss);
  SetStep(*model, Example());
  CHECK(IsStepGraph(model->proto()));
  REQUIRE(FindStep(model->proto()).ok());
  CHECK(*FindStep(model->proto()) == Example());
}

TEST_CASE("states alone are those of a graph with a loss scale put into it, which amp-train does not run") {
  const auto model = GraphFromText(R"(<ir_version: 8, opset_import: ["" : 17], metadata_props: ["amp.state" : "[]"]>
    g (float x) => (float y) { y = Abs (x) })");
  CHECK(FindStep(model->proto()).status().message() ==
        "no step graph: expected metadata 'amp.state' and 'amp.step', found the first alone: a loss scale was "
        "put into this graph, which a loop of its own runs");
}

TEST_CASE("fields that a step graph lacks, and names that are no UTF-8, survive too") {
  StepDescription step;
  step.optimizer = "sgd";
  step.loss_kind = LossKind::kGraph;
  step.states = {{"\xff weight", "\xff.next", StateKind::kWeight},
                 {"amp.global_step", "amp.global_step.next", StateKind::kCounter}};
  const auto parsed = ParseStep(StateJson(step), StepJson(step));
  REQUIRE(parsed.ok());
  CHECK(*parsed == step);
}

TEST_CASE("a damaged description is refused in one line that says where") {
  ExpectRefused("\"version\":1", "\"version\":2", "metadata 'amp.step': expected version 1, found 2");
  ExpectRefused("\"weight\"", "\"wight\"", "metadata 'amp.state': expected weight, slot, running");
  ExpectRefused("\"float16\"", "\"int8\"", "found 'int8'");
  ExpectRefused("\"onehot\"", "7", "expected a string");
  ExpectRefused("w.rms.next", "w.next", "output 'w.next' is there twice");
  ExpectRefused("\"input\":\"w.rms\"", "\"input\":\"w\"", "input 'w' is there twice");
  ExpectRefused("\"scale\":\"amp.loss_scale\"", "\"scale\":\"other\"", "'other' is no state of kind scale");
  ExpectRefused("\"loss\":\"amp.loss\"", "\"loss\":\"\"", "expected a name");
  ExpectRefused("\"optimizer\"", "\"optimiser\"", "expected a field 'optimizer'");
  ExpectRefused("{", "[", "metadata 'amp.state'");
  ExpectRefused("]", "", "metadata 'amp.state'");
}

}  // namespace
}  // namespace amp
