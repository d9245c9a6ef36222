// Step graphs: what they take and give, what of a model gets backward nodes, and what is refused. What they compute is
// for tests/judge/train/training.py.
#include "passes/train/make_step.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/catch2.h"
#include "tests/model_from_text.h"
#include "tests/tool_run.h"
#include "tools/library/amp.h"

namespace amp {
namespace {

constexpr char kTwoLayers[] = R"(<ir_version: 8, opset_import: ["" : 17]>
  g (float[N,4] x) => (float[N,2] y)
  <float[4,3] w0 = {1, 2, 3, 4, 5, 6, 7, -8, 9, 1, 2, 3}, float[3] b0 = {0, 0, 0}, float[3,2] w1 = {1, 2, 3, 4, 5, 6}> {
    [dense0] a = Gemm (x, w0, b0)
    [relu] r = Relu (a)
    [dense1] l = MatMul (r, w1)
    [softmax] y = Softmax (l)
  })";

constexpr char kImages[] = R"(<ir_version: 8, opset_import: ["" : 17]>
  g (float[N,2,5,5] x) => (float[N,3] y)
  <float[4,2,1,1] k = {1, 2, 3, 4, 5, 6, 7, 8}, float[4,3] w = {1, 2, 3, 4, 5, 6, 7, -8, 9, 1, 2, 3}> {
    [conv] c = Conv (x, k)
    [relu] features = Relu (c)
    [pool] p = GlobalAveragePool (features)
    [flat] f = Flatten (p)
    [dense] y = MatMul (f, w)
  })";

RewriteOptions Training() {
  RewriteOptions options;
  options.train.train = true;
  return options;
}

onnx::ModelProto StepOf(const char* model, const RewriteOptions& options) {
  absl::StatusOr<RewriteResult> result = Rewrite(ModelFromText(model), options);
  INFO(result.status());
  REQUIRE(result.ok());
  REQUIRE(result->summary.changed);
  return std::move(result->model);
}

std::string ErrorOf(const char* model, const RewriteOptions& options, absl::StatusCode code) {
  const absl::StatusOr<RewriteResult> result = Rewrite(ModelFromText(model), options);
  INFO(result.status());
  REQUIRE(result.status().code() == code);
  return std::string(result.status().message());
}

template <typename Infos>
std::vector<std::string> NamesOf(const Infos& infos) {
  std::vector<std::string> names;
  for (const auto& info : infos) names.push_back(info.name());
  return names;
}

std::vector<std::string> StatesOf(const onnx::ModelProto& model) {
  const absl::StatusOr<StepDescription> step = FindStep(model);
  REQUIRE(step.ok());
  std::vector<std::string> states;
  for (const StepState& state : step->states) states.push_back(state.input);
  return states;
}

bool HasOperator(const onnx::ModelProto& model, absl::string_view op_type) {
  const auto& nodes = model.graph().node();
  return std::any_of(nodes.begin(), nodes.end(), [&](const auto& node) { return node.op_type() == op_type; });
}

const onnx::TensorProto& Initializer(const onnx::ModelProto& model, const std::string& name) {
  for (const auto& tensor : model.graph().initializer()) {
    if (tensor.name() == name) return tensor;
  }
  FAIL("no initializer " << name);
  return model.graph().initializer(0);
}

TEST_CASE("a step keeps the model's inputs and outputs, and lists every state as an input and an output") {
  const onnx::ModelProto step = StepOf(kTwoLayers, Training());
  const std::vector<std::string> inputs = NamesOf(step.graph().input()), outputs = NamesOf(step.graph().output());
  REQUIRE(inputs.size() >= 2);
  CHECK(inputs[0] == "x");
  CHECK(inputs[1] == "labels");
  REQUIRE(outputs.size() >= 4);
  CHECK(std::vector<std::string>(outputs.begin(), outputs.begin() + 4) ==
        std::vector<std::string>{"y", "amp.loss", "l", "amp.all_finite"});
  const std::vector<std::string> states = StatesOf(step);
  CHECK(std::set<std::string>(states.begin(), states.end()) ==
        std::set<std::string>{"w0", "b0", "w1", "w0.rms", "b0.rms", "w1.rms", "amp.loss_scale", "amp.good_steps",
                              "amp.global_step"});
  for (const std::string& state : states) {
    INFO(state);
    CHECK(std::count(inputs.begin(), inputs.end(), state) == 1);
    CHECK(std::count(outputs.begin(), outputs.end(), NextName(state)) == 1);
    CHECK(Initializer(step, state).data_type() != onnx::TensorProto::FLOAT16);
  }
  const absl::StatusOr<StepDescription> described = FindStep(step);
  CHECK(described->logits == "l");
  CHECK(described->dtype == DType::kFloat16);
  CHECK(described->optimizer == "rmsprop");
}

TEST_CASE("bfloat16 has no loss scale unless it is asked for, a fixed one is no state") {
  RewriteOptions options = Training();
  options.dtype = RewriteOptions::Dtype::kBfloat16;
  const onnx::ModelProto without = StepOf(kTwoLayers, options);
  CHECK(FindStep(without)->scale.empty());
  CHECK(FindStep(without)->finite == "amp.all_finite");
  CHECK(FindStep(without)->dtype == DType::kBfloat16);
  options.train.loss_scale = "1024";
  const onnx::ModelProto fixed = StepOf(kTwoLayers, options);
  CHECK(FindStep(fixed)->scale.empty());
  CHECK(HasOperator(fixed, "InvertScale"));
  CHECK(HasOperator(fixed, "AllFinite"));
  options.train.finite_check = false;
  const onnx::ModelProto unchecked = StepOf(kTwoLayers, options);
  CHECK_FALSE(HasOperator(unchecked, "AllFinite"));
  CHECK(FindStep(unchecked)->finite.empty());
  options.train.finite_check.reset();
  options.train.loss_scale = "dynamic";
  CHECK(FindStep(StepOf(kTwoLayers, options))->scale == "amp.loss_scale");
}

TEST_CASE("a mean over ranks starts right behind its gradient, and is waited for behind the last of them") {
  RewriteOptions options = Training();
  CHECK_FALSE(HasOperator(StepOf(kTwoLayers, options), "StartMeanOverRanks"));
  options.train.data_parallel = true;
  const onnx::ModelProto step = StepOf(kTwoLayers, options);
  int num_started = 0, num_taken = 0, first_start = 0, last_start = 0, last_product = 0;
  for (int i = 0; i < step.graph().node_size(); ++i) {
    const onnx::NodeProto& node = step.graph().node(i);
    if (node.op_type() == "MatrixWeightGradient") last_product = i;
    num_taken += node.op_type() == "MeanOverRanks" ? 1 : 0;
    if (node.op_type() != "StartMeanOverRanks") continue;
    CHECK(num_taken == 0);
    CHECK(step.graph().node(i - 1).output(0) == node.input(0));
    if (num_started++ == 0) first_start = i;
    last_start = i;
  }
  CHECK(num_started == 3);
  CHECK(num_taken == 3);
  CHECK(first_start < last_product);  // the others are computed meanwhile
  CHECK(last_start > last_product);
  CHECK(std::any_of(step.graph().node().begin(), step.graph().node().end(), [](const onnx::NodeProto& node) {
    return node.op_type() == "TrueOnAllRanks" && node.output(0) == "amp.all_finite";
  }));
}

TEST_CASE("frozen weights are no states, and what they alone need gets no backward nodes") {
  RewriteOptions options = Training();
  options.train.freeze = {"?0"};
  const onnx::ModelProto step = StepOf(kTwoLayers, options);
  CHECK(StatesOf(step).front() == "w1");
  const std::vector<std::string> inputs = NamesOf(step.graph().input());
  CHECK(std::count(inputs.begin(), inputs.end(), "w0") == 0);
  int gradients = 0;
  for (const auto& node : step.graph().node()) {
    CHECK_FALSE(absl::StrContains(node.name(), "gradient/dense0"));
    CHECK_FALSE(absl::StrContains(node.name(), "gradient/relu"));
    gradients += absl::StrContains(node.name(), "gradient/dense1");
  }
  CHECK(gradients > 0);
}

TEST_CASE("a head replaces what is behind its tensor, and is the only part that is trained") {
  RewriteOptions options = Training();
  options.train.head = "features:dense=5";
  const onnx::ModelProto step = StepOf(kImages, options);
  const std::vector<std::string> outputs = NamesOf(step.graph().output());
  CHECK(std::count(outputs.begin(), outputs.end(), "y") == 0);
  CHECK(outputs.front() == "head.logits");
  const std::vector<std::string> states = StatesOf(step);
  CHECK(states[0] == "head.weight");
  CHECK(states[1] == "head.bias");
  CHECK(std::count(states.begin(), states.end(), "k") == 0);
  CHECK_FALSE(HasOperator(step, "ConvWeightGradient"));
  const auto& weight = Initializer(step, "head.weight");
  CHECK(std::vector<int64_t>(weight.dims().begin(), weight.dims().end()) == std::vector<int64_t>{4, 5});
  CHECK(weight.raw_data() == Initializer(StepOf(kImages, options), "head.weight").raw_data());
  options.train.seed = 1;
  CHECK(weight.raw_data() != Initializer(StepOf(kImages, options), "head.weight").raw_data());
  const std::vector<std::string> initializers = NamesOf(step.graph().initializer());
  CHECK(std::count(initializers.begin(), initializers.end(), "w") == 0);  // it went with its reader
}

TEST_CASE("a head on rows needs no pool") {
  RewriteOptions options = Training();
  options.train.head = "r:dense=7";
  const onnx::ModelProto step = StepOf(kTwoLayers, options);
  CHECK_FALSE(HasOperator(step, "GlobalAveragePool"));
}

TEST_CASE("a head on what is no tensor, or another one, is an error that names those that fit") {
  const auto error = [](const char* model, const std::string& head) {
    RewriteOptions options = Training();
    options.train.head = head;
    return ErrorOf(model, options, absl::StatusCode::kInvalidArgument);
  };
  const std::string expected = "expected the name of a tensor float32[N, C] or float32[N, C, H, W] with C known, ";
  CHECK(error(kTwoLayers, "rr:dense=7") == "--head 'rr': " + expected + "found none called that; did you mean 'r'?");
  CHECK(error(kTwoLayers, "nothing:dense=7") ==
        "--head 'nothing': " + expected + "found none called that; there are 'y', 'l', 'r' and 2 more");
  CHECK(error(kTwoLayers, "relu:dense=7") ==
        "--head 'relu': " + expected + "found that of a node (Relu); did you mean its output 'r'?");
  CHECK(error(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[N,4] x) => (float[N,2,3] y) <float[4,6] w = {1, 2, 3, 4, 5, 6, 7, -8, 9, 1, 2, 3, 1, 2, 3, 4, 5, 6, 7, -8, 9,
        1, 2, 3}, int64[3] shape = {0, 2, 3}> {
      [dense] d = MatMul (x, w)
      [rows] y = Reshape (d, shape)
    })",
              "y:dense=7") ==
        "--head 'y': expected a tensor float32[N, C] or float32[N, C, H, W] with C known, found float32[N,2,3]; there "
        "are "
        "'d', 'x'");
}

TEST_CASE("masters that are not float32 are refused, in a model and in a step graph") {
  const std::string line = ErrorOf(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float16[N,2] x) => (float16[N,2] y) <float16[2,2] w = {1, 2, 3, 4}> { [dense] y = MatMul (x, w) })",
                                   Training(), absl::StatusCode::kDataLoss);
  CHECK(absl::StrContains(line, "weight 'w': expected float32, found float16"));
  const auto low = GraphFromText(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float16[2] w, int64 count) => (float16[2] n) { n = Neg (w) })");
  StepDescription step;
  step.global_step = "";
  step.states = {{"count", "count.next", StateKind::kCounter}};
  SetStep(*low, step);
  CHECK(CheckMasters(*low).ok());
  step.states.push_back({"w", "n", StateKind::kWeight});
  SetStep(*low, step);
  CHECK(absl::StrContains(CheckMasters(*low).message(), "state 'w': expected float32, found float16"));
  step.states.back().input = "v";
  SetStep(*low, step);
  CHECK(absl::StrContains(CheckMasters(*low).message(), "the graph has no input 'v'"));
}

TEST_CASE("states stay float32 where inputs and outputs may become low") {
  RewriteOptions released;
  released.keep_io = false;
  RewriteOptions float32 = Training();
  float32.policy = RewriteOptions::Policy::kFloat32;
  const absl::StatusOr<RewriteResult> mixed = Rewrite(StepOf(kTwoLayers, float32), released);
  REQUIRE(mixed.ok());
  CHECK(mixed->summary.changed);
  CHECK(FindStep(mixed->model)->dtype == DType::kFloat16);
  for (const std::string& state : StatesOf(mixed->model)) {
    CHECK(Initializer(mixed->model, state).data_type() != onnx::TensorProto::FLOAT16);
  }
}

// Whether w is read in an If alone, or beside another weight.
constexpr char kWeightInIf[] = R"(<ir_version: 8, opset_import: ["" : 17]>
  g (float[N,4] x, bool c) => (float[N,3] y) <float[4,3] w = {1, 2, 3, 4, 5, 6, 7, -8, 9, 1, 2, 3}> {
    [choice] y = If (c) <then_branch = t () => (float[N,3] a) { a = MatMul (x, w) },
                         else_branch = e () => (float[N,3] b) { z = MatMul (x, w)  b = Relu (z) }>
  })";
constexpr char kWeightsInAndOutOfIf[] = R"(<ir_version: 8, opset_import: ["" : 17]>
  g (float[N,4] x, bool c) => (float[N,2] y)
  <float[4,3] w = {1, 2, 3, 4, 5, 6, 7, -8, 9, 1, 2, 3}, float[3,2] v = {1, 2, 3, 4, 5, 6}> {
    [choice] h = If (c) <then_branch = t () => (float[N,3] a) { a = MatMul (x, w) },
                         else_branch = e () => (float[N,3] b) { z = MatMul (x, w)  b = Relu (z) }>
    y = MatMul (h, v)
  })";

TEST_CASE("weights that are read in an If: the If is named") {
  const std::string what = "weight 'w' is read in a body of node 'choice' (If), through which no gradient goes";
  CHECK_THAT(ErrorOf(kWeightInIf, Training(), absl::StatusCode::kDataLoss),
             Catch::Matchers::EndsWith("--train: the loss depends on no weight that could be trained; " + what));
  const absl::StatusOr<RewriteResult> made = Rewrite(ModelFromText(kWeightsInAndOutOfIf), Training());
  REQUIRE(made.ok());
  CHECK(made->summary.warnings == std::vector<std::string>{"--train: not trained: " + what});
  CHECK(Rewrite(ModelFromText(kTwoLayers), Training())->summary.warnings.empty());
}

TEST_CASE("a step graph is no forward model") {
  const onnx::ModelProto step = StepOf(kTwoLayers, Training());
  const absl::StatusOr<RewriteResult> again = Rewrite(step, Training());
  REQUIRE(again.status().code() == absl::StatusCode::kDataLoss);
  CHECK(absl::StrContains(again.status().message(), "the model is a step graph already"));
}

TEST_CASE("taking a mixed step back gives the float32 step") {
  const onnx::ModelProto mixed = StepOf(kTwoLayers, Training());
  CHECK(HasOperator(mixed, "Cast"));
  RewriteOptions undo;
  undo.policy = RewriteOptions::Policy::kFloat32;
  const absl::StatusOr<RewriteResult> undone = Rewrite(mixed, undo);
  REQUIRE(undone.ok());
  CHECK_FALSE(HasOperator(undone->model, "Cast"));
  REQUIRE(FindStep(undone->model).ok());
  CHECK(FindStep(undone->model)->dtype == DType::kFloat32);
  CHECK(FindStep(undone->model)->states == FindStep(mixed)->states);
}

TEST_CASE("rewriting a mixed step once more changes nothing") {
  const onnx::ModelProto mixed = StepOf(kTwoLayers, Training());
  const absl::StatusOr<RewriteResult> again = Rewrite(mixed);
  REQUIRE(again.ok());
  CHECK_FALSE(again->summary.changed);
}

TEST_CASE("the forward model's part of a step is painted, everything behind the gradients is not") {
  const onnx::ModelProto step = StepOf(kTwoLayers, Training());
  std::set<std::string> low;
  for (const auto& node : step.graph().node()) {
    if (node.op_type() == "Cast" && node.attribute(0).i() == onnx::TensorProto::FLOAT16) low.insert(node.input(0));
  }
  CHECK(low.count("w0") == 1);
  CHECK(low.count("w1") == 1);
  CHECK(low.count("x") == 1);
  // Gradients of weights are float32 of 16-bit operands.
  for (const auto& node : step.graph().node()) {
    if (node.name() == "gradient/dense0/MatrixWeightGradient") CHECK(node.input(0) == "x_to_float16");
  }
  CHECK(HasOperator(step, "MatrixWeightGradient"));
  for (const auto& function : step.functions()) CHECK(function.domain() == "ai.amp");
}

onnx::FunctionProto Rule(const char* text) {
  const onnx::ModelProto model = ModelFromText(
      absl::StrCat("<ir_version: 8, opset_import: [\"\" : 17]> g (float x) => (float y) { y = Identity (x) }\n", text));
  return model.functions(0);
}

TEST_CASE("a caller's own loss scale takes the place of the rule") {
  RewriteOptions options = Training();
  options.train.loss_scale_function = Rule(R"(<domain: "mine", opset_import: ["" : 17]>
    Halve (scale, good_steps, finite) => (next_scale, next_good_steps) {
      half = Constant <value_float = 0.5> ()
      next_scale = Mul (scale, half)
      next_good_steps = Identity (good_steps)
    })");
  const onnx::ModelProto step = StepOf(kTwoLayers, options);
  CHECK(HasOperator(step, "Halve"));
  CHECK_FALSE(HasOperator(step, "UpdateLossScale"));
  options.train.loss_scale_growth = 4;
  CHECK(absl::StrContains(ErrorOf(kTwoLayers, options, absl::StatusCode::kInvalidArgument),
                          "--loss-scale-growth has no effect beside loss_scale_function"));
  options.train.loss_scale_growth.reset();
  options.train.loss_scale = "none";
  CHECK(absl::StrContains(ErrorOf(kTwoLayers, options, absl::StatusCode::kInvalidArgument),
                          "loss_scale_function is about --loss-scale dynamic"));
  options.train.loss_scale.clear();
  options.train.loss_scale_function = Rule(R"(<domain: "mine", opset_import: ["" : 17]>
    Half (scale) => (next) { next = Identity (scale) })");
  CHECK(absl::StrContains(ErrorOf(kTwoLayers, options, absl::StatusCode::kInvalidArgument),
                          "found 1 inputs and 1 outputs"));
  options.train.loss_scale_function = Rule(R"(<domain: "mine", opset_import: ["" : 9]>
    Old (scale, good_steps, finite) => (scale, good_steps) { a = Identity (scale) })");
  CHECK(absl::StrContains(ErrorOf(kTwoLayers, options, absl::StatusCode::kInvalidArgument), "expected opset 17"));
  options.train.loss_scale_function = Rule(R"(<domain: "ai.amp", opset_import: ["" : 17]>
    UpdateLossScale (scale, good_steps, finite) => (scale_2, good_steps_2) {
      scale_2 = Identity (scale)
      good_steps_2 = Identity (good_steps)
    })");
  CHECK(absl::StrContains(ErrorOf(kTwoLayers, options, absl::StatusCode::kInvalidArgument),
                          "expected another domain than ai.amp"));
}

TEST_CASE("a pool with ceil_mode behind a GroupNormalization knows the sizes of its images") {
  const onnx::ModelProto step = StepOf(R"(<ir_version: 10, opset_import: ["" : 21]>
    g (float[n,2,7,7] x) => (float[n,m] y) <float[4,2,1,1] w = {1,2,3,4,5,6,7,8}, float[4] s = {1,1,1,1}, float[4] b = {0,0,0,0}> {
      c = Conv (x, w)
      h = GroupNormalization <num_groups = 2> (c, s, b)
      p = AveragePool <kernel_shape = [2,2], strides = [2,2], ceil_mode = 1> (h)
      y = Flatten (p)
    })",
                                       Training());
  CHECK(HasOperator(step, "AveragePoolGradient"));
}

TEST_CASE("a forward model with functions of domain ai.amp is refused: a step has its own of these names") {
  const std::string text = R"(<ir_version: 8, opset_import: ["" : 17, "ai.amp" : 1]>
    g (float[n,4] x) => (float[n,4] y) <float[4,4] w = {1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16}> {
      h = MatMul (x, w)  y = ai.amp.AllFinite (h)
    }
    <domain: "ai.amp", opset_import: ["" : 17]> AllFinite (a) => (b) { b = Neg (a) })";
  CHECK(absl::StrContains(ErrorOf(text.c_str(), Training(), absl::StatusCode::kDataLoss),
                          "--train: the model has a function ai.amp::AllFinite; expected other domains than ai.amp"));
}

TEST_CASE("the report and the line say what was made") {
  RewriteOptions options = Training();
  options.report = options.explain = options.diff = true;
  const absl::StatusOr<RewriteResult> result = Rewrite(ModelFromText(kTwoLayers), options);
  REQUIRE(result.ok());
  CHECK(absl::StartsWith(result->summary.line,
                         "Made a training step of 3 weights: softmax-cross-entropy, rmsprop, "
                         "dynamic loss scale; Converted "));
  CHECK(absl::StrContains(result->summary.report, "\"--train\""));
  CHECK(absl::StrContains(result->summary.explanation, "dense0"));
  CHECK(absl::StrContains(result->summary.diff, "Cast"));
  CHECK_FALSE(absl::StrContains(result->summary.line, "--freeze-initializers"));
}

}  // namespace
}  // namespace amp
