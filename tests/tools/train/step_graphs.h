// Small step graphs: softmax regression with SGD and a dynamic loss scale, written by hand, and those of new models.
#ifndef AMP_TESTS_TOOLS_TRAIN_STEP_GRAPHS_H_
#define AMP_TESTS_TOOLS_TRAIN_STEP_GRAPHS_H_

#include <string>
#include <vector>

#include "ir/file/text.h"
#include "onnx/onnx_pb.h"
#include "passes/train/step_metadata.h"
#include "tests/catch2.h"
#include "tests/scratch_folder.h"
#include "tools/rewrite/amp_rewrite.h"
#include "tools/train/amp_train.h"

namespace amp {

// Returns the step graph of a model x [n, 3] -> MatMul, Add -> logits [n, 2]. A step is skipped where x is not finite.
// `first` computes h, the input of the MatMul, from x.
inline std::string RegressionText(const std::string& first = "h = Identity (x)") {
  return R"(<ir_version: 8, opset_import: ["" : 17]>
    step (float[n,3] x, int64[n] labels, float rate, float[3,2] w, float[2] b, float scale, int64 count)
      => (float[n,2] logits, float loss, bool finite, float[3,2] w_next, float[2] b_next, float scale_next, int64 count_next)
      <float rate = {0.5}, float[3,2] w = {0.1, -0.1, 0.2, 0, 0, 0.3}, float[2] b = {0, 0}, float scale = {1024},
       int64 count = {0}, float half = {0.5}, float lowest = {1}, int64 one = {1},
       float[2] zero_one = {0, 1}, int64[1] first = {0}, int64 depth = {2}> {
    )" + first +
         R"(
    [forward] logits_0 = MatMul (h, w)
    logits = Add (logits_0, b)
    loss = SoftmaxCrossEntropyLoss (logits, labels)
    p = Softmax <axis = -1> (logits)
    wanted = OneHot (labels, depth, zero_one)
    d = Sub (p, wanted)
    scaled = Mul (d, scale)
    n_int = Shape <start = 0, end = 1> (x)
    n_float = Cast <to = 1> (n_int)
    dz = Div (scaled, n_float)
    turned = Transpose <perm = [1, 0]> (h)
    gw_scaled = MatMul (turned, dz)
    gb_scaled = ReduceSum <keepdims = 0> (dz, first)
    gw = Div (gw_scaled, scale)
    gb = Div (gb_scaled, scale)
    minus = Sub (gw, gw)
    none = Mul (minus, minus)
    sum = ReduceSum <keepdims = 0> (none)
    zero = Sub (lowest, lowest)
    finite = Equal (sum, zero)
    w_step = Mul (gw, rate)
    b_step = Mul (gb, rate)
    w_new = Sub (w, w_step)
    b_new = Sub (b, b_step)
    w_next = Where (finite, w_new, w)
    b_next = Where (finite, b_new, b)
    lower_scale = Mul (scale, half)
    lower = Max (lower_scale, lowest)
    scale_next = Where (finite, scale, lower)
    more = Add (count, one)
    count_next = Where (finite, more, count)
  })";
}

inline StepDescription RegressionDescription() {
  StepDescription step;
  step.loss = "loss";
  step.finite = "finite";
  step.labels = "labels";
  step.logits = "logits";
  step.learning_rate = "rate";
  step.scale = "scale";
  step.global_step = "count";
  step.optimizer = "sgd";
  step.states = {{"w", "w_next", StateKind::kWeight},
                 {"b", "b_next", StateKind::kWeight},
                 {"scale", "scale_next", StateKind::kScale},
                 {"count", "count_next", StateKind::kCounter}};
  return step;
}

// The model of the text, with that description in its metadata.
inline std::string StepGraph(const std::string& text = RegressionText(),
                             const StepDescription& step = RegressionDescription()) {
  const absl::StatusOr<std::string> bytes = ParseOnnxText(text);
  INFO(bytes.status().message());
  REQUIRE(bytes.ok());
  onnx::ModelProto model;
  REQUIRE(model.ParseFromString(*bytes));
  const auto add = [&](absl::string_view key, const std::string& value) {
    auto& entry = *model.add_metadata_props();
    entry.set_key(std::string(key));
    entry.set_value(value);
  };
  add(kStateKey, StateJson(step));
  add(kStepKey, StepJson(step));
  return model.SerializeAsString();
}

// The forward part alone, as somebody would have given it to be trained.
inline constexpr absl::string_view kForwardText = R"(<ir_version: 8, opset_import: ["" : 17]>
  forward (float[n,3] x) => (float[n,2] probabilities)
    <float[3,2] w = {0.1, -0.1, 0.2, 0, 0, 0.3}, float[2] b = {0, 0}> {
    [forward] logits_0 = MatMul (x, w)
    logits = Add (logits_0, b)
    probabilities = Softmax <axis = -1> (logits)
  })";

// The step graph of `amp-train new WORDS`, made with the flags; its path in the folder.
inline std::string MakeStep(const ScratchFolder& folder, std::vector<std::string> words,
                            const std::vector<std::string>& flags) {
  const std::string forward = folder.File("m.onnx");
  std::string step = folder.File("step.onnx");
  words.insert(words.begin(), "new");
  words.insert(words.end(), {"-o", forward, "--seed", "4"});
  REQUIRE(RunAmpTrain(words).exit_code == 0);
  std::vector<std::string> arguments = {forward, "-o", step, "--train", "--loss", "softmax-cross-entropy"};
  arguments.insert(arguments.end(), flags.begin(), flags.end());
  const ToolOutput output = RunAmpRewrite(arguments);
  INFO(output.err);
  REQUIRE(output.exit_code == 0);
  return step;
}

}  // namespace amp

#endif  // AMP_TESTS_TOOLS_TRAIN_STEP_GRAPHS_H_
