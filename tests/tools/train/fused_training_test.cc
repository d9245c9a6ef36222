// Step graphs give the same with kernels for functions of domain ai.amp and with their bodies run node by node.
#include <cmath>
#include <limits>

#include "runtime/loops/best_loops.h"
#include "runtime/plan/program.h"
#include "tests/catch2.h"
#include "tests/runtime/session_text.h"
#include "tests/scratch_folder.h"
#include "tests/tools/train/step_graphs.h"
#include "tools/library/trainer.h"

namespace amp {
namespace {

NamedDatums BatchOf(int step) {
  Tensor x = *Tensor::Create(DType::kFloat32, {6, 9});
  float* const elements = x.mutable_elements<float>().data();
  for (int i = 0; i < 54; ++i) elements[i] = static_cast<float>(std::sin(i * 1.7 + step));
  if (step == 3) elements[5] = std::numeric_limits<float>::infinity();  // skipped where that is checked
  return {{"x", x}, {"labels", Tensor::OfInts({step % 3, 1, 2, 0, 2, 1})}};
}

std::unique_ptr<Trainer> MakeTrainer(const std::string& path, bool fuses) {
  SessionOptions options;
  options.fuse_training = fuses;
  absl::StatusOr<std::unique_ptr<Trainer>> trainer = Trainer::Create(path, options);
  INFO(trainer.status().message());
  REQUIRE(trainer.ok());
  return *std::move(trainer);
}

size_t NumInstructions(const Trainer& trainer) { return trainer.session().program().blocks[kMainGraph].size(); }

void CheckSame(const std::vector<std::string>& flags) {
  const ScratchFolder folder;
  const std::string path = MakeStep(folder, {"mlp", "9-37-3"}, flags);
  const auto fused = MakeTrainer(path, true), plain = MakeTrainer(path, false);
  CHECK(NumInstructions(*fused) < NumInstructions(*plain));
  for (int i = 0; i < 8; ++i) {
    const absl::StatusOr<TrainStep> a = fused->Step(BatchOf(i)), b = plain->Step(BatchOf(i));
    INFO(a.status().message());
    REQUIRE(a.ok());
    REQUIRE(b.ok());
    CHECK(a->finite == b->finite);
    CHECK(a->loss_scale == b->loss_scale);
    if (i != 3) CHECK(a->loss == Approx(b->loss).epsilon(1e-4));
  }
  for (const std::string& name : fused->StateNames()) {
    INFO(name);
    CHECK(DifferenceOf(*fused->State(name), *plain->State(name), 1e-4).empty());
  }
}

TEST_CASE("optimizers that may skip a step") {
  for (const Loops* loops : UsableLoops()) {
    UseLoops(loops);
    for (const char* optimizer : {"sgd", "momentum", "rmsprop", "adam", "adamw"}) {
      INFO(loops->name << " " << optimizer);
      CheckSame({"--optimizer", optimizer, "--policy", "mixed_float16", "--loss-scale-interval", "3"});
    }
  }
  UseLoops(nullptr);
}

TEST_CASE("in what is no step, functions of domain ai.amp are run as their bodies say") {
  const auto run = [](const std::string& metadata) {
    const auto session = CreateSession({R"(<ir_version: 8, opset_import: ["" : 17, "ai.amp" : 1])" + metadata + R"(>
        g (float[2] x) => (bool y) { y = ai.amp.AllFinite (x) }
        <domain: "ai.amp", opset_import: ["" : 17]>
        AllFinite (x) => (y) { size = Size (x)  three = Constant <value_int = 3> ()  y = Equal (size, three) })"},
                                       {});
    REQUIRE(session.ok());
    const auto outputs = TryToRun(**session, {{"x", Tensor::Of<float>(DType::kFloat32, {2}, {1, -1})}});
    REQUIRE(outputs.ok());
    return bool{outputs->front().elements<bool>()[0]};
  };
  CHECK_FALSE(run(""));
  CHECK(run(R"(, metadata_props: ["amp.state" : "[]"])"));
}

// Runs a model whose y is the result of `call`, with the kernels for functions of domain ai.amp and without them.
std::vector<absl::StatusOr<std::vector<Tensor>>> RunBothWays(const std::string& call) {
  const std::string text =
      R"(<ir_version: 8, opset_import: ["" : 17, "ai.amp" : 1], metadata_props: ["amp.state" : "[]"]>
    g (float[2] w, float[2] d) => (float[2] y) <float[2] m = {0.5, 1}, float[2] v = {0.25, 4}, float rate = {0.1},
       float[1] odd = {1}> { )" +
      call + R"( }
    <domain: "ai.amp", opset_import: ["" : 17]>
    Adam <beta1, beta2, epsilon> (weight, gradient, moment1, moment2, rate) => (next_weight, next_moment1, next_moment2) {
      keep1 = Constant <value_float: float = @beta1> ()
      keep2 = Constant <value_float: float = @beta2> ()
      least = Constant <value_float: float = @epsilon> ()
      change1 = Sub (gradient, moment1)
      one = Constant <value_float = 1.0> ()
      take1 = Sub (one, keep1)
      taken1 = Mul (change1, take1)
      next_moment1 = Add (moment1, taken1)
      square = Mul (gradient, gradient)
      change2 = Sub (square, moment2)
      take2 = Sub (one, keep2)
      taken2 = Mul (change2, take2)
      next_moment2 = Add (moment2, taken2)
      root = Sqrt (next_moment2)
      shifted = Add (root, least)
      scaled = Mul (next_moment1, rate)
      step = Div (scaled, shifted)
      next_weight = Sub (weight, step)
    })";
  std::vector<absl::StatusOr<std::vector<Tensor>>> results;
  for (const bool fuses : {true, false}) {
    SessionOptions options;
    options.fuse_training = fuses;
    const auto session = CreateSession({text}, options);
    INFO(session.status().message());
    REQUIRE(session.ok());
    const Tensor w = Tensor::Of<float>(DType::kFloat32, {2}, {1, -1}),
                 d = Tensor::Of<float>(DType::kFloat32, {2}, {3, 2});
    results.push_back(TryToRun(**session, {{"w", w}, {"d", d}}));
  }
  return results;
}

TEST_CASE("a call may leave out the last outputs of a function") {
  const auto results = RunBothWays("y = ai.amp.Adam <beta1 = 0.9, beta2 = 0.99, epsilon = 0.001> (w, d, m, v, rate)");
  REQUIRE(results[0].ok());
  REQUIRE(results[1].ok());
  CHECK(DifferenceOf(*results[0], *results[1], 1e-6).empty());
}

TEST_CASE("operands that do not fit are an error of the node") {
  const auto results =
      RunBothWays("[odd] y = ai.amp.Adam <beta1 = 0.9, beta2 = 0.99, epsilon = 0.001> (w, d, odd, v, rate)");
  CHECK(results[0].status().message() == "odd (ai.amp::Adam-1): input 2: expected float32[2], found float32[1]");
}

TEST_CASE("a step that is skipped leaves every weight and slot as it was, bit for bit") {
  const ScratchFolder folder;
  const std::string path = MakeStep(folder, {"mlp", "9-37-3"}, {"--optimizer", "adam", "--policy", "mixed_float16"});
  const auto trainer = MakeTrainer(path, true);
  REQUIRE(trainer->Step(BatchOf(0)).ok());
  std::vector<Tensor> before;
  for (const std::string& name : trainer->StateNames()) before.push_back(*trainer->State(name));
  const absl::StatusOr<TrainStep> step = trainer->Step(BatchOf(3));
  REQUIRE(step.ok());
  CHECK_FALSE(step->finite);
  CHECK(step->loss_scale == 16384);
  for (size_t i = 0; i < before.size(); ++i) {
    const std::string name = trainer->StateNames()[i];
    if (name == "amp.loss_scale" || name == "amp.good_steps") continue;
    INFO(name);
    CHECK(DifferenceOf(*trainer->State(name), before[i], 0).empty());
  }
}

}  // namespace
}  // namespace amp
