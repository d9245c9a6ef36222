// Steps of several ranks, which are threads of this process (tests/runtime/parallel/thread_transport.h): trainers whose
// replicas are compared bit by bit, and with one trainer that does the whole batch.
#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>

#include "absl/strings/match.h"
#include "ir/file/text.h"
#include "tests/catch2.h"
#include "tests/runtime/parallel/thread_transport.h"
#include "tests/scratch_folder.h"
#include "tests/tools/train/step_graphs.h"
#include "tools/library/trainer.h"
#include "tools/rewrite/amp_rewrite.h"
#include "tools/train/amp_train.h"
#include "tools/train/batch_plan.h"
#include "tools/train/ranks.h"

namespace amp {
namespace {

using Catch::Matchers::Contains;
using States = std::map<std::string, std::vector<std::byte>>;

constexpr int64_t kBatch = 12;

constexpr absl::string_view kNormed = R"(<ir_version: 8, opset_import: ["" : 17]>
  g (float[N,9] x) => (float[N,3] y)
  <float[9] scale = {1, 1, 1, 1, 1, 1, 1, 1, 1}, float[9] shift = {0, 0, 0, 0, 0, 0, 0, 0, 0},
   float[9] mean = {0, 0, 0, 0, 0, 0, 0, 0, 0}, float[9] variance = {1, 1, 1, 1, 1, 1, 1, 1, 1},
   float[9,3] weight = {1, 2, 3, 4, 5, 6, 7, 8, 9, -1, 2, -3, 4, -5, 6, -7, 8, -9, 1, 2, 3, 3, 2, 1, 0, 0, 1}> {
    n = BatchNormalization (x, scale, shift, mean, variance)
    y = MatMul (n, weight)
  })";

// `model`: as text; empty: a dense network.
std::string MakeStep(const ScratchFolder& folder, const std::vector<std::string>& flags, absl::string_view model = "") {
  if (model.empty()) {
    REQUIRE(RunAmpTrain({"new", "mlp", "9-37-3", "-o", folder.File("m.onnx"), "--seed", "4"}).exit_code == 0);
  } else {
    folder.Write("m.onnx", *ParseOnnxText(model));
  }
  std::vector<std::string> arguments = {folder.File("m.onnx"), "-o", folder.File("step.onnx"), "--train"};
  arguments.insert(arguments.end(), flags.begin(), flags.end());
  const ToolOutput output = RunAmpRewrite(arguments);
  INFO(output.err);
  REQUIRE(output.exit_code == 0);
  return folder.File("step.onnx");
}

// The share of a rank, of one that is all of the batch where there is one rank.
NamedDatums ShareOf(int step, int rank, int num_ranks) {
  const int64_t count = kBatch / num_ranks, first = rank * count;
  Tensor x = *Tensor::Create(DType::kFloat32, {count, 9});
  std::vector<int64_t> labels;
  for (int64_t i = 0; i < count * 9; ++i) {
    x.mutable_elements<float>()[static_cast<size_t>(i)] =
        static_cast<float>(std::sin(static_cast<double>(first * 9 + i) * 1.7 + step));
  }
  for (int64_t i = 0; i < count; ++i) labels.push_back((first + i + step) % 3);
  return {{"x", x}, {"labels", Tensor::OfInts(labels)}};
}

States StatesOf(const Trainer& trainer) {
  States states;
  for (const std::string& name : trainer.StateNames()) {
    const Tensor state = *trainer.State(name);
    states[name] = {state.bytes().begin(), state.bytes().end()};
  }
  return states;
}

std::unique_ptr<Trainer> MakeTrainer(const std::string& path, RankGroup* ranks) {
  SessionOptions options;
  options.ranks = ranks;
  options.threads = 1;
  absl::StatusOr<std::unique_ptr<Trainer>> trainer = Trainer::Create(path, options);
  AMP_CHECK(trainer.ok());
  return *std::move(trainer);
}

// Returns the states of each rank after `num_steps`. `spoil` may change the inputs of a rank.
std::vector<States> Train(const std::string& path, int num_ranks, int num_steps,
                          const std::function<void(int step, int rank, NamedDatums&)>& spoil = nullptr) {
  std::vector<States> states(static_cast<size_t>(num_ranks));
  ThreadWorld(num_ranks).Run([&](RankGroup& ranks) {
    const std::unique_ptr<Trainer> trainer = MakeTrainer(path, &ranks);
    for (int step = 0; step < num_steps; ++step) {
      NamedDatums inputs = ShareOf(step, ranks.rank(), num_ranks);
      if (spoil) spoil(step, ranks.rank(), inputs);
      AMP_CHECK(trainer->Step(inputs).ok());
    }
    states[static_cast<size_t>(ranks.rank())] = StatesOf(*trainer);
    return true;
  });
  return states;
}

float FloatOf(const States& states, const std::string& name) {
  float value = 0;
  std::memcpy(&value, states.at(name).data(), sizeof value);
  return value;
}

// The largest difference of float32 states, over the largest magnitude.
double Difference(const States& a, const States& b) {
  double largest = 0, magnitude = 0;
  for (const auto& [name, bytes] : a) {
    if (name.find("weight") == std::string::npos && name.find("bias") == std::string::npos) continue;
    for (size_t i = 0; i < bytes.size(); i += sizeof(float)) {
      float x = 0, y = 0;
      std::memcpy(&x, bytes.data() + i, sizeof x);
      std::memcpy(&y, b.at(name).data() + i, sizeof y);
      largest = std::max(largest, std::fabs(static_cast<double>(x) - y));
      magnitude = std::max(magnitude, std::fabs(static_cast<double>(x)));
    }
  }
  REQUIRE(magnitude > 0);
  return largest / magnitude;
}

TEST_CASE("replicas are equal, bit for bit, and do what one trainer does with the whole batch") {
  const ScratchFolder folder;
  for (const char* const policy : {"float32", "mixed_float16", "mixed_bfloat16"}) {
    const std::string path = MakeStep(folder, {"--data-parallel", "--optimizer", "adam", "--policy", policy});
    const std::vector<States> one = Train(path, 1, 40), two = Train(path, 2, 40), four = Train(path, 4, 40);
    INFO(policy);
    CHECK(two[0] == two[1]);
    for (const States& states : four) CHECK(states == four[0]);
    CHECK(Difference(one[0], Train(path, 1, 0)[0]) > 0.05);  // something was learnt
    CHECK(Difference(one[0], two[0]) < (policy == std::string("float32") ? 1e-4 : 0.05));
    CHECK(Difference(one[0], four[0]) < (policy == std::string("float32") ? 1e-4 : 0.05));
  }
}

TEST_CASE("an infinity of one rank skips the step of all, and halves the scale once") {
  const ScratchFolder folder;
  const std::string path = MakeStep(folder, {"--data-parallel", "--optimizer", "momentum"});
  const auto spoil = [](int step, int rank, NamedDatums& inputs) {
    if (step != 3 || rank != 1) return;
    inputs["x"].mutable_tensor()->mutable_elements<float>()[5] = std::numeric_limits<float>::infinity();
  };
  const std::vector<States> before = Train(path, 2, 3), after = Train(path, 2, 4, spoil);
  CHECK(after[0] == after[1]);
  CHECK(FloatOf(after[0], "amp.loss_scale") == FloatOf(before[0], "amp.loss_scale") / 2);
  for (const auto& [name, bytes] : before[0]) {
    INFO(name);
    if (name != "amp.loss_scale" && name != "amp.good_steps") CHECK(after[0].at(name) == bytes);
  }
}

TEST_CASE("running statistics are those of all ranks") {
  const ScratchFolder folder;
  const std::string path = MakeStep(folder, {"--data-parallel", "--optimizer", "sgd", "--policy", "float32"}, kNormed);
  const std::vector<States> one = Train(path, 1, 5), two = Train(path, 2, 5);
  CHECK(two[0] == two[1]);
  CHECK(FloatOf(two[0], "mean") != 0);
  CHECK(FloatOf(two[0], "mean") == Approx(FloatOf(one[0], "mean")).epsilon(1e-4));
  CHECK(FloatOf(two[0], "variance") != 1);
}

TEST_CASE("clipping and accumulating see the means") {
  const ScratchFolder folder;
  const std::string path = MakeStep(folder, {"--data-parallel", "--optimizer", "sgd", "--learning-rate", "0.5",
                                             "--clip-norm", "0.1", "--accumulate", "2", "--policy", "float32"});
  const std::vector<States> one = Train(path, 1, 20), two = Train(path, 2, 20);
  CHECK(two[0] == two[1]);
  CHECK(Difference(one[0], two[0]) < 1e-4);
}

void ChangeLastBit(Trainer& trainer, const std::string& what) {
  for (const std::string& name : trainer.StateNames()) {
    if (name.find(what) == std::string::npos) continue;
    const Tensor state = *trainer.State(name);
    Tensor changed = *Tensor::Create(state.dtype(), state.dims());
    std::copy(state.bytes().begin(), state.bytes().end(), changed.mutable_bytes().begin());
    changed.mutable_bytes()[0] ^= std::byte{1};
    AMP_CHECK(trainer.SetState(name, changed).ok());
    return;
  }
  AMP_CHECK(false);
}

TEST_CASE("replicas that differ in one bit are an error that all ranks know of") {
  const ScratchFolder folder;
  const std::string path = MakeStep(folder, {"--data-parallel", "--policy", "mixed_float16"});
  std::vector<std::string> errors(2);
  for (const char* const what : {"amp.loss_scale", "amp.good_steps", "weight"}) {
    ThreadWorld(2).Run([&](RankGroup& given) {
      Ranks ranks(std::shared_ptr<RankGroup>(&given, [](RankGroup*) {}));
      const std::unique_ptr<Trainer> trainer = MakeTrainer(path, ranks.group());
      AMP_CHECK(trainer->Step(ShareOf(0, ranks.rank(), 2)).ok());
      AMP_CHECK(ranks.CompareReplicas(*trainer).ok());
      const auto rank = static_cast<size_t>(ranks.rank());
      if (ranks.rank() == 1) ChangeLastBit(*trainer, what);
      const absl::Status status = ranks.CompareReplicas(*trainer);
      AMP_CHECK(absl::IsFailedPrecondition(status) && ranks.AllKnow());
      errors[rank] = std::string(status.message());
      return true;
    });
    INFO(what);
    CHECK(errors[0] == errors[1]);
    CHECK_THAT(errors[0], Contains("replicas differ after step 1: expected on rank 1 as on rank 0: loss scale"));
  }
}

TEST_CASE("a step graph that averages nothing is refused where there are several ranks") {
  const ScratchFolder folder;
  const std::string path = MakeStep(folder, {"--policy", "float32"});
  ThreadWorld(2).Run([&](RankGroup& ranks) {
    SessionOptions options;
    options.ranks = &ranks;
    const auto trainer = Trainer::Create(path, options);
    AMP_CHECK(absl::IsInvalidArgument(trainer.status()));
    AMP_CHECK(absl::StrContains(trainer.status().message(), "--data-parallel, as there are 2 ranks"));
    return true;
  });
}

// ---- shares

TEST_CASE("ranks share each batch; of the last one, samples that they cannot share are left out") {
  const std::vector<int64_t> order = {8, 7, 6, 5, 4, 3, 2, 1, 0};
  const absl::StatusOr<BatchPlan> plan = PlanBatches(9, 4, /*drop_last=*/false, 2);
  REQUIRE(plan.ok());
  CHECK(plan->count == 2);
  CHECK(plan->left_out == 1);
  const auto rows = [&](int64_t step, int rank) {
    const auto of_rank = plan->RowsOf(order, step, rank);
    return std::vector<int64_t>(of_rank.begin(), of_rank.end());
  };
  CHECK(rows(0, 0) == std::vector<int64_t>{8, 7});
  CHECK(rows(0, 1) == std::vector<int64_t>{6, 5});
  CHECK(rows(1, 1) == std::vector<int64_t>{2, 1});
}

TEST_CASE("a last batch is as small as it is, and shared") {
  const absl::StatusOr<BatchPlan> plan = PlanBatches(10, 8, /*drop_last=*/false, 2);
  REQUIRE(plan.ok());
  CHECK(plan->count == 2);
  CHECK(plan->UsualShare() == 4);
  CHECK(plan->LastShare() == 1);
  CHECK(PlanBatches(10, 8, /*drop_last=*/true, 2)->count == 1);
  CHECK(PlanBatches(3, 8, /*drop_last=*/false, 2)->UsualShare() == 1);
}

TEST_CASE("batches that ranks cannot share are errors") {
  CHECK_THAT(std::string(PlanBatches(9, 5, false, 2).status().message()),
             Contains("--batch: expected a multiple of 2, the number of ranks, found 5"));
  CHECK_THAT(std::string(PlanBatches(2, 6, false, 3).status().message()),
             Contains("expected a sample for each of 3 ranks, found 2"));
  CHECK_THAT(std::string(PlanBatches(9, 12, true, 2).status().message()),
             Contains("--drop-last: expected 12 samples for a batch, found 9"));
}

}  // namespace
}  // namespace amp
