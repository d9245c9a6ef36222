// A loss scale for graphs that have gradients already: where it goes in, what is skipped, what is missing.
#include "passes/train/wrap_step.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "tests/catch2.h"
#include "tests/model_from_text.h"
#include "tools/library/amp.h"

namespace amp {
namespace {

// A seed, a product's gradient, an optimizer.
constexpr char kSeeded[] = R"(<ir_version: 8, opset_import: ["" : 17]>
  g (float[2,3] x) => (float[3,1] w_updated, float[2,1] y)
  <float[3,1] w = {1, 2, 3}, float[1] loss_grad = {1}> {
    [forward] y = MatMul (x, w)
    [spread] dy = Mul (y, loss_grad)
    [turn] xt = Transpose (x)
    [back] dw = MatMul (xt, dy)
    [update] w_updated = SGD <lr = 0.5> (w, dw)
  })";

constexpr char kGradientOperator[] = R"(<ir_version: 8, opset_import: ["" : 17, "ai.onnx.preview.training" : 1]>
  g (float[2,3] x, float rate, int64 count, float[3,1] v) => (float[3,1] w_new, float[3,1] v_new)
  <float[3,1] w = {1, 2, 3}> {
    [forward] y = MatMul (x, w)
    [sum] loss = ReduceSum <keepdims = 0> (y)
    [gradient] dw = ai.onnx.preview.training.Gradient <xs = ["w"], y = "loss"> (w)
    [update] w_new, v_new = ai.onnx.preview.training.Momentum <alpha = 0.5, beta = 1.0, mode = "standard", norm_coefficient = 0.0> (rate, count, w, dw, v)
  })";

RewriteOptions Scaling() {
  RewriteOptions options;
  options.train.loss_scale = "dynamic";
  return options;
}

onnx::ModelProto Wrapped(const char* model, const RewriteOptions& options) {
  absl::StatusOr<RewriteResult> result = Rewrite(ModelFromText(model), options);
  INFO(result.status());
  REQUIRE(result.ok());
  REQUIRE(result->summary.changed);
  CHECK(absl::StartsWith(result->summary.line, "Scaled the loss of a training graph, 1 gradient"));
  return std::move(result->model);
}

std::string ErrorOf(const onnx::ModelProto& model, const RewriteOptions& options, absl::StatusCode code) {
  const absl::StatusOr<RewriteResult> result = Rewrite(model, options);
  INFO(result.status());
  REQUIRE(result.status().code() == code);
  return std::string(result.status().message());
}

const onnx::NodeProto& NodeThatGives(const onnx::ModelProto& model, const std::string& value) {
  for (const auto& node : model.graph().node()) {
    if (std::count(node.output().begin(), node.output().end(), value) == 1) return node;
  }
  FAIL("nothing gives " << value);
  return model.graph().node(0);
}

const onnx::NodeProto& NodeNamed(const onnx::ModelProto& model, const std::string& name) {
  for (const auto& node : model.graph().node()) {
    if (node.name() == name) return node;
  }
  FAIL("no node " << name);
  return model.graph().node(0);
}

TEST_CASE("a seed is multiplied by the scale, gradients are divided by it, updates are chosen") {
  const onnx::ModelProto model = Wrapped(kSeeded, Scaling());
  const std::string seed = NodeNamed(model, "spread").input(1);
  CHECK(NodeThatGives(model, absl::StrReplaceAll(seed, {{"_to_float16", ""}})).op_type() == "ScaleSeed");
  const onnx::NodeProto& chosen = NodeThatGives(model, "w_updated");
  CHECK(chosen.op_type() == "Choose");
  CHECK(chosen.input(2) == "w");
  const onnx::NodeProto& update = NodeNamed(model, "update");
  CHECK(NodeThatGives(model, update.input(1)).op_type() == "ScaleGradient");
  const absl::StatusOr<std::vector<StepState>> states = FindStates(model);
  REQUIRE(states.ok());
  REQUIRE(states->size() == 3);
  CHECK((*states)[0] == StepState{"w", "w_updated", StateKind::kWeight});
  CHECK((*states)[1] == StepState{"amp.loss_scale", "amp.loss_scale.next", StateKind::kScale});
  CHECK((*states)[2] == StepState{"amp.good_steps", "amp.good_steps.next", StateKind::kCounter});
  // Low copies of weights are made in the step, not once in the file.
  REQUIRE(model.graph().input_size() == 4);
  CHECK(model.graph().input(3).name() == "w");
  CHECK(NodeThatGives(model, NodeNamed(model, "forward").input(1)).op_type() == "Cast");
}

TEST_CASE("a Gradient operator differentiates the scaled loss") {
  const onnx::ModelProto model = Wrapped(kGradientOperator, Scaling());
  for (const auto& attribute : NodeNamed(model, "gradient").attribute()) {
    if (attribute.name() == "y") CHECK(NodeThatGives(model, attribute.s()).op_type() == "ScaleSeed");
  }
  CHECK(NodeThatGives(model, "w_new").input(2) == "w");
  CHECK(NodeThatGives(model, "v_new").input(2) == "v");
}

TEST_CASE("gradients by name are outputs without the scale") {
  const std::string text = absl::StrReplaceAll(
      kSeeded, {{"float[3,1] w_updated", "float[3,1] dw"}, {"[update] w_updated = SGD <lr = 0.5> (w, dw)", ""}});
  RewriteOptions options = Scaling();
  options.train.loss = "loss";
  options.train.gradients = {"w=dw"};
  const onnx::ModelProto model = Wrapped(text.c_str(), options);
  CHECK(NodeThatGives(model, "dw").op_type() == "ScaleGradient");
  options.train.gradients = {"w=dv"};
  CHECK(
      absl::StrContains(ErrorOf(ModelFromText(text), options, absl::StatusCode::kInvalidArgument),
                        "--gradient 'dv': expected the name of a tensor, found none called that; did you mean 'dw'?"));
  options.train.gradients = {"w"};
  CHECK(absl::StrContains(ErrorOf(ModelFromText(text), options, absl::StatusCode::kInvalidArgument),
                          "--gradient: expected WEIGHT=GRAD, found 'w'"));
}

TEST_CASE("a fixed scale is no state, and without the finite check skips nothing") {
  RewriteOptions options = Scaling();
  options.train.loss_scale = "1024";
  CHECK(NodeThatGives(Wrapped(kSeeded, options), "w_updated").op_type() == "Choose");
  options.train.finite_check = false;
  const onnx::ModelProto model = Wrapped(kSeeded, options);
  CHECK(NodeThatGives(model, "w_updated").op_type() == "SGD");
  REQUIRE(FindStates(model)->size() == 1);
  CHECK(FindStates(model)->front() == StepState{"w", "w_updated", StateKind::kWeight});
}

TEST_CASE("of training_info the algorithm changes, and binds the states") {
  onnx::ModelProto model = ModelFromText(R"(<ir_version: 8, opset_import: ["" : 17, "ai.onnx.preview.training" : 1]>
    g (float[2,3] x) => (float loss) <float[3,1] w = {1, 2, 3}> {
      [forward] y = MatMul (x, w)
      [sum] loss = ReduceSum <keepdims = 0> (y)
    })");
  const onnx::ModelProto algorithm = ModelFromText(R"(<ir_version: 8, opset_import: ["" : 17]>
    a () => (float[3,1] w_new) <float[1] unused = {1}> {
      [gradient] dw = ai.onnx.preview.training.Gradient <xs = ["w"], y = "loss"> (w)
      [update] w_new = SGD (w, dw)
    })");
  auto* info = model.add_training_info();
  *info->mutable_algorithm() = algorithm.graph();
  auto* binding = info->add_update_binding();
  binding->set_key("w");
  binding->set_value("w_new");
  const absl::StatusOr<RewriteResult> result = Rewrite(model, Scaling());
  INFO(result.status());
  REQUIRE(result.ok());
  const onnx::ModelProto& scaled = result->model;
  REQUIRE(scaled.training_info_size() == 1);
  const auto& bindings = scaled.training_info(0).update_binding();
  REQUIRE(bindings.size() == 3);
  CHECK(bindings[0].key() == "w");
  CHECK(bindings[1].key() == "amp.loss_scale");
  CHECK(bindings[1].value() == "amp.loss_scale.next");
  CHECK(bindings[2].key() == "amp.good_steps");
  onnx::ModelProto view;
  *view.mutable_graph() = scaled.training_info(0).algorithm();
  CHECK(NodeThatGives(view, "w_new").op_type() == "Choose");
  CHECK(NodeThatGives(view, "w_new").input(2) == "w");
  CHECK(NodeNamed(view, "gradient").op_type() == "Gradient");
  CHECK(view.graph().initializer_size() == 3);
  CHECK(scaled.graph().input_size() == 1);
  for (const auto& node : scaled.graph().node()) CHECK(node.domain() != "ai.amp");
  CHECK(absl::StrContains(ErrorOf(scaled, Scaling(), absl::StatusCode::kDataLoss), "already wrapped"));
  RewriteOptions training;
  training.train.train = true;
  CHECK(absl::StrContains(ErrorOf(model, training, absl::StatusCode::kDataLoss), "is bound by training_info"));
}

TEST_CASE("what is missing is listed") {
  const std::string no_seed = absl::StrReplaceAll(kSeeded, {{"float[1] loss_grad = {1}", "float[1] loss_grad = {2}"}});
  CHECK(absl::StrContains(ErrorOf(ModelFromText(no_seed), Scaling(), absl::StatusCode::kDataLoss),
                          "missing: what gradients begin with: an initializer LOSS_grad with the value 1"));
  const std::string no_update = absl::StrReplaceAll(kSeeded, {{"SGD <lr = 0.5> (w, dw)", "Sub (w, dw)"}});
  CHECK(absl::StrContains(ErrorOf(ModelFromText(no_update), Scaling(), absl::StatusCode::kDataLoss),
                          "missing: gradients of weights"));
  const std::string no_loss = absl::StrReplaceAll(kGradientOperator, {{"y = \"loss\"", "y = \"lost\""}});
  CHECK(absl::StrContains(ErrorOf(ModelFromText(no_loss), Scaling(), absl::StatusCode::kDataLoss),
                          "missing: the loss that node 'gradient' (Gradient) names"));
  const std::string two = absl::StrReplaceAll(
      kSeeded, {{"float[1] loss_grad = {1}>", "float[1] loss_grad = {1}, float[1] other_grad = {1}>"},
                {"(y, loss_grad)", "(y, loss_grad)\n [more] z = Mul (y, other_grad)"}});
  CHECK(absl::StrContains(ErrorOf(ModelFromText(two), Scaling(), absl::StatusCode::kDataLoss),
                          "expected one seed of gradients, found 2: loss_grad, other_grad; --loss NAME"));
  RewriteOptions named = Scaling();
  named.train.loss = "other";
  Wrapped(two.c_str(), named);
}

TEST_CASE("a model without gradients is pointed to --train") {
  constexpr char kForward[] = R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[2,3] x) => (float[2,1] y) <float[3,1] w = {1, 2, 3}> { [forward] y = MatMul (x, w) })";
  CHECK(absl::StrContains(ErrorOf(ModelFromText(kForward), Scaling(), absl::StatusCode::kDataLoss),
                          "the model has no gradients; --train makes a training step"));
}

TEST_CASE("what is scaled already is not scaled again") {
  const onnx::ModelProto model = Wrapped(kSeeded, Scaling());
  CHECK(absl::StrContains(ErrorOf(model, Scaling(), absl::StatusCode::kDataLoss), "already wrapped"));
  RewriteOptions training;
  training.train.train = true;
  CHECK(Rewrite(model, training).status().code() == absl::StatusCode::kDataLoss);
}

}  // namespace
}  // namespace amp
