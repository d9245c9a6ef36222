// amp::Trainer on small step graphs: what a step changes, what it leaves alone, and what is kept in files.
#include "tools/library/trainer.h"

#include <malloc.h>

#include <cmath>
#include <limits>

#include "absl/strings/match.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "ir/file/text.h"
#include "runtime/values/npy.h"
#include "tests/catch2.h"
#include "tests/damaged_archive.h"
#include "tests/scratch_folder.h"
#include "tests/tools/train/step_graphs.h"

namespace amp {
namespace {

using Catch::Matchers::Contains;

Tensor Floats(const Dims& dims, const std::vector<float>& elements) {
  return Tensor::Of<float>(DType::kFloat32, dims, elements);
}

NamedDatums Batch(float first = 1) {
  return {{"x", Floats({2, 3}, {first, 2, -1, 0.5F, 0, 1})},
          {"labels", Tensor::Of<int64_t>(DType::kInt64, {2}, {0, 1})}};
}

std::unique_ptr<Trainer> MakeTrainer(const std::string& model = StepGraph(), const SessionOptions& options = {}) {
  absl::StatusOr<std::unique_ptr<Trainer>> trainer = Trainer::CreateFromBytes(model, options);
  INFO(trainer.status().message());
  REQUIRE(trainer.ok());
  return *std::move(trainer);
}

std::string CreateError(const StepDescription& step, const std::string& text = RegressionText()) {
  const auto trainer = Trainer::CreateFromBytes(StepGraph(text, step));
  REQUIRE_FALSE(trainer.ok());
  CHECK(absl::IsDataLoss(trainer.status()));
  return std::string(trainer.status().message());
}

std::vector<float> State(const Trainer& trainer, const std::string& name) {
  const auto elements = trainer.State(name)->elements<float>();
  return {elements.begin(), elements.end()};
}

TEST_CASE("a step gives the loss and moves the weights against the gradient") {
  const auto trainer = MakeTrainer();
  const absl::StatusOr<TrainStep> step = trainer->Step(Batch());
  REQUIRE(step.ok());
  // Row 0: scores 0.5 and -0.4; row 1: 0.05 and 0.25; in float64 by hand.
  const double p0 = 1 / (1 + std::exp(-0.9)), p1 = 1 / (1 + std::exp(-0.2));
  CHECK(step->loss == Approx((-std::log(p0) - std::log(p1)) / 2));
  CHECK(step->finite);
  CHECK(step->loss_scale == 1024);
  CHECK(step->logits.dims() == Dims{2, 2});
  const double d0 = (p0 - 1) / 2, d1 = (1 - p1) / 2;  // of the first class
  CHECK(State(*trainer, "b")[0] == Approx(-0.5 * (d0 + d1)));
  CHECK(State(*trainer, "w")[0] == Approx(0.1 - 0.5 * (d0 * 1 + d1 * 0.5)));
  CHECK(trainer->State("count")->elements<int64_t>()[0] == 1);
  CHECK(trainer->num_steps() == 1);
}

TEST_CASE("a skipped step leaves all but the loss scale as it was, bit for bit") {
  const auto trainer = MakeTrainer();
  REQUIRE(trainer->Step(Batch()).ok());
  const std::vector<float> w = State(*trainer, "w"), b = State(*trainer, "b");
  for (const float wrong : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    const absl::StatusOr<TrainStep> step = trainer->Step(Batch(wrong));
    REQUIRE(step.ok());
    CHECK_FALSE(step->finite);
  }
  CHECK(State(*trainer, "w") == w);
  CHECK(State(*trainer, "b") == b);
  CHECK(State(*trainer, "scale")[0] == 256);
  CHECK(trainer->State("count")->elements<int64_t>()[0] == 1);
  CHECK(trainer->Step(Batch())->finite);
}

TEST_CASE("a step that fails leaves the state as it was") {
  const auto trainer = MakeTrainer();
  const std::vector<float> w = State(*trainer, "w");
  NamedDatums batch = Batch();
  batch["labels"] = Tensor::Of<int64_t>(DType::kInt64, {2}, {0, 7});
  CHECK_FALSE(trainer->Step(batch).ok());
  batch.erase("labels");
  CHECK_THAT(std::string(trainer->Step(batch).status().message()), Contains("expected input 'labels', found 'x'"));
  batch = Batch();
  batch["w"] = Floats({3, 2}, {0, 0, 0, 0, 0, 0});
  CHECK_THAT(std::string(trainer->Step(batch).status().message()), Contains("input 'w' is state"));
  CHECK(State(*trainer, "w") == w);
  CHECK(trainer->num_steps() == 0);
}

TEST_CASE("the learning rate is the model's until another is set") {
  const auto trainer = MakeTrainer();
  CHECK(trainer->learning_rate() == 0.5F);
  const std::vector<float> w = State(*trainer, "w");
  trainer->set_learning_rate(0);
  REQUIRE(trainer->Step(Batch()).ok());
  CHECK(State(*trainer, "w") == w);
  CHECK(trainer->learning_rate() == 0);
}

TEST_CASE("states are read and set by name, of their own type and shape alone") {
  const auto trainer = MakeTrainer();
  CHECK(trainer->StateNames() == std::vector<std::string>{"w", "b", "scale", "count"});
  REQUIRE(trainer->SetState("b", Floats({2}, {3, 4})).ok());
  CHECK(State(*trainer, "b") == std::vector<float>{3, 4});
  CHECK(trainer->SetState("b", Floats({1}, {3})).message() == "state 'b': expected float32[2], found float32[1]");
  CHECK(trainer->SetState("rate", Tensor::Scalar(1.0F)).message() ==
        "'rate' is no state of the step graph, which has 'w', 'b', 'scale' and 1 more");
  CHECK(trainer->State("x").status().message() ==
        "'x' is no state of the step graph, which has 'w', 'b', 'scale' and 1 more");
}

TEST_CASE("memory is flat over 10,000 steps") {
  const auto trainer = MakeTrainer();
  const NamedDatums batch = Batch();
  for (int i = 0; i < 100; ++i) REQUIRE(trainer->Step(batch).ok());
  const size_t before = ::mallinfo2().uordblks;
  for (int i = 0; i < 10'000; ++i) REQUIRE(trainer->Step(batch).ok());
  CHECK(::mallinfo2().uordblks <= before + 16'384);
}

TEST_CASE("a checkpoint goes on bit for bit") {
  const ScratchFolder folder;
  const auto whole = MakeTrainer(), first = MakeTrainer(), second = MakeTrainer();
  const auto run = [](Trainer& trainer, int from, int to) {
    for (int i = from; i < to; ++i) REQUIRE(trainer.Step(Batch(static_cast<float>(i) * 0.37F)).ok());
  };
  run(*whole, 0, 20);
  first->set_learning_rate(0.5F);
  run(*first, 0, 7);
  REQUIRE(first->SaveCheckpoint(folder.File("c.npz"), "a note \xff").ok());
  const absl::StatusOr<std::string> note = second->LoadCheckpoint(folder.File("c.npz"));
  REQUIRE(note.ok());
  CHECK(*note == "a note \xff");
  CHECK(second->num_steps() == 7);
  run(*second, 7, 20);
  for (const char* const name : {"w", "b", "scale"}) CHECK(State(*whole, name) == State(*second, name));
}

TEST_CASE("a checkpoint of another step graph, and what is none, is refused; nothing changes") {
  const ScratchFolder folder;
  const std::string path = folder.File("c.npz");
  const auto other = MakeTrainer(StepGraph(RegressionText("h = Neg (x)"))), trainer = MakeTrainer();
  const auto error = [&] {
    const absl::StatusOr<std::string> loaded = trainer->LoadCheckpoint(path);
    REQUIRE_FALSE(loaded.ok());
    CHECK_FALSE(absl::IsInternal(loaded.status()));
    CHECK(absl::StartsWith(loaded.status().message(), path + ": "));
    return std::string(loaded.status().message().substr(path.size() + 2));
  };
  CHECK(error() == "expected a file that can be read, found none");
  REQUIRE(other->Step(Batch()).ok());
  REQUIRE(other->SaveCheckpoint(path).ok());
  CHECK_THAT(error(), Contains("expected a checkpoint of this step graph"));
  folder.Write("c.npz", *NpzBytes({{"x", Floats({1}, {1})}}));
  CHECK(error() == "expected a checkpoint, found an archive with an array 'x'");
  folder.Write("c.npz", *NpzBytes({{"amp.checkpoint", Floats({1}, {1})}}));
  CHECK_THAT(error(), Contains("array 'amp.checkpoint': expected uint8"));
  REQUIRE(trainer->SaveCheckpoint(path).ok());
  // Names of states are looked at before any is unpacked.
  const absl::StatusOr<NamedTensors> saved = ReadNpz(path);
  REQUIRE(saved.ok());
  folder.Write("c.npz", ArchiveWithADamagedArray("state/more", *saved));
  CHECK(error() == "expected 4 states, found 5");
  NamedTensors renamed(saved->begin(), saved->end() - 1);
  folder.Write("c.npz", ArchiveWithADamagedArray("state/more", renamed));
  CHECK_THAT(error(), Contains("'more' is no state of the step graph"));
  folder.Write("c.npz", absl::StrReplaceAll(*NpzBytes(*saved), {{"state/b.npy", "state/w.npy"}}));
  CHECK(error() == "a state is there twice");
  REQUIRE(trainer->SaveCheckpoint(path).ok());
  const std::string bytes = folder.Read("c.npz");
  for (size_t size = 0; size < bytes.size(); size += 61) {
    folder.Write("c.npz", bytes.substr(0, size));
    CHECK_FALSE(trainer->LoadCheckpoint(path).ok());
  }
  CHECK(State(*trainer, "b") == std::vector<float>{0, 0});
}

TEST_CASE("trained weights go into the forward model, or into what the step graph does up to the logits") {
  const ScratchFolder folder;
  const std::string forward = folder.Write("forward.onnx", *ParseOnnxText(kForwardText));
  const auto trainer = MakeTrainer();
  for (int i = 0; i < 5; ++i) REQUIRE(trainer->Step(Batch()).ok());
  const std::vector<float> w = State(*trainer, "w");
  for (const std::string& model : {forward, std::string()}) {
    REQUIRE(trainer->SaveWeights(folder.File("out.onnx"), model).ok());
    onnx::ModelProto saved;
    REQUIRE(saved.ParseFromString(folder.Read("out.onnx")));
    REQUIRE(saved.graph().initializer_size() == 2);
    CHECK(saved.graph().input_size() == 1);
    CHECK(saved.metadata_props().empty());
    CHECK(saved.graph().node_size() == 3);
    CHECK(saved.graph().initializer(0).raw_data() ==
          std::string(reinterpret_cast<const char*>(w.data()), w.size() * sizeof(float)));
    const auto session = trainer->MakeForward(model);
    REQUIRE(session.ok());
    CHECK((*session)->InputNames() == std::vector<std::string>{"x"});
    CHECK((*session)->Run({{"x", Batch()["x"]}}).ok());
  }
}

TEST_CASE("a forward model that lacks a weight, or has it otherwise, is refused") {
  const ScratchFolder folder;
  const auto trainer = MakeTrainer();
  const auto error = [&](const std::string& text) {
    const std::string path = folder.Write("f.onnx", *ParseOnnxText(text));
    const absl::Status status = trainer->SaveWeights(folder.File("out.onnx"), path);
    CHECK_FALSE(folder.Has("out.onnx"));
    return std::string(absl::StripPrefix(status.message(), path + ": "));
  };
  const std::string what_fits =
      "; --forward takes the float32 model that the step was made of (amp-rewrite --policy float32 takes a conversion "
      "back)";
  CHECK(error(R"(<ir_version: 8, opset_import: ["" : 17]> f (float[n,3] x) => (float[n,3] y) { y = Relu (x) })") ==
        "expected an initializer 'w', found none" + what_fits);
  CHECK(error(R"(<ir_version: 8, opset_import: ["" : 17]> f (float[n,3] x) => (float[n,1] y)
                 <float[3,1] w = {1, 2, 3}> { y = MatMul (x, w) })") ==
        "initializer 'w': expected float32[3,2], found float32[3,1]" + what_fits);
}

TEST_CASE("what runs as in training needs a forward model") {
  const auto trainer = MakeTrainer(StepGraph(RegressionText(R"(
    yes = Equal (lowest, lowest)
    [drop] h = Dropout (x, half, yes))")));
  CHECK(
      trainer->MakeForward().status().message() ==
      "node 'drop' (Dropout) of the step graph runs as in training; expected --forward MODEL.onnx, the model that the "
      "step was made of");
}

TEST_CASE("Dropout drops something else in each step, and the same when a run is done again") {
  const std::string model = StepGraph(RegressionText(R"(
    yes = Equal (lowest, lowest)
    h = Dropout <seed = 5> (x, half, yes))"));
  const auto losses = [&](uint64_t seed) {
    SessionOptions options;
    options.seed = seed;
    const auto trainer = MakeTrainer(model, options);
    trainer->set_learning_rate(0);
    std::vector<float> found(8);
    for (float& loss : found) loss = trainer->Step(Batch())->loss;
    return found;
  };
  const std::vector<float> first = losses(1);
  CHECK(first == losses(1));
  CHECK(first != losses(2));
  CHECK(std::vector<float>(8, first[0]) != first);
}

TEST_CASE("what the metadata says is checked against the graph") {
  StepDescription step = RegressionDescription();
  step.loss = "nothing";
  CHECK(CreateError(step) ==
        "expected an output 'nothing', as the metadata says; found 'logits', 'loss', 'finite' and 4 more");
  step = RegressionDescription();
  step.states[0].output = "w_new";
  CHECK(CreateError(step) ==
        "expected an output 'w_new', as the metadata says; found 'logits', 'loss', 'finite' and 4 more");
  step = RegressionDescription();
  step.states[0].input = "half";
  CHECK(CreateError(step) == "expected an input 'half' with an initializer, as the metadata says; found none");
  step = RegressionDescription();
  step.learning_rate = "count";
  CHECK(CreateError(step) == "input 'count': expected float32[], found int64[]");
  CHECK_THAT(std::string(Trainer::CreateFromBytes(*ParseOnnxText(kForwardText)).status().message()),
             Contains("no step graph"));
}

TEST_CASE("a state whose next value has another shape is an error of the step") {
  StepDescription step = RegressionDescription();
  std::swap(step.states[0].output, step.states[1].output);
  const auto trainer = MakeTrainer(StepGraph(RegressionText(), step));
  CHECK(trainer->Step(Batch()).status().message() == "state 'w': expected float32[3,2], found float32[2]");
}

}  // namespace
}  // namespace amp
