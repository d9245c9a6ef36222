// Training on a device, by its test double, and on a GPU, where there is one. The steps are the same as on the
// processor, and the states stay on the device.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "absl/strings/match.h"
#include "runtime/device_run/open_device.h"
#include "runtime/plan/program.h"
#include "tests/catch2.h"
#include "tests/runtime/device/fake_device.h"
#include "tests/runtime/parallel/thread_transport.h"
#include "tests/runtime/run_session.h"
#include "tests/scratch_folder.h"
#include "tests/tools/train/step_graphs.h"
#include "tools/data/data_column.h"
#include "tools/library/trainer.h"

namespace amp {
namespace {

using Catch::Matchers::Contains;

constexpr int64_t kBatch = 6, kSpoiled = 3;  // of steps, one whose gradients are not finite

NamedDatums BatchOf(const Dims& dims, int step) {
  Tensor x = *Tensor::Create(DType::kFloat32, dims);
  const auto elements = x.mutable_elements<float>();
  for (size_t i = 0; i < elements.size(); ++i) {
    elements[i] = static_cast<float>(std::sin(static_cast<double>(i) * 1.7 + step));
  }
  if (step == kSpoiled) elements[5] = std::numeric_limits<float>::infinity();
  return {{"x", x}, {"labels", Tensor::OfInts({step % 3, 1, 2, 0, 2, 1})}};
}

std::unique_ptr<Trainer> MakeTrainer(const std::string& path, const std::shared_ptr<Accelerator>& device) {
  SessionOptions options;
  options.device = device;
  absl::StatusOr<std::unique_ptr<Trainer>> trainer = Trainer::Create(path, options);
  INFO(trainer.status().message());
  REQUIRE(trainer.ok());
  return *std::move(trainer);
}

TrainStep StepOf(Trainer& trainer, const NamedDatums& batch) {
  absl::StatusOr<TrainStep> step = trainer.Step(batch);
  INFO(step.status().message());
  REQUIRE(step.ok());
  return *std::move(step);
}

// Returns the first state that differs and its difference, or "" where all states agree.
std::string Difference(const Trainer& a, const Trainer& b, double tolerance) {
  for (const std::string& name : a.StateNames()) {
    const std::string difference = DifferenceOf(*a.State(name), *b.State(name), tolerance);
    if (!difference.empty()) return absl::StrCat(name, ": ", difference);
  }
  return "";
}

// Instructions that the processor ran, but for what is made of shapes.
std::vector<std::string> OnProcessor(const Trainer& trainer) {
  std::vector<std::string> names;
  for (const auto& block : trainer.session().program().blocks) {
    for (const Instruction& instruction : block) {
      const absl::MutexLock lock(&instruction.site->mutex);
      const KernelRow* const row = instruction.site->row;
      const bool looks = row != nullptr && row->host_inputs.Has(0);  // Reshape and the like do not
      if (!looks || row->runs_on_device || instruction.why_on_host != nullptr) continue;
      names.push_back(absl::StrCat(row->family, " ", row->op_type, ": ", instruction.site->why_not_better));
    }
  }
  return names;
}

void CheckSameOn(const std::shared_ptr<Accelerator>& device, const std::string& path, const Dims& dims,
                 double tolerance) {
  INFO(device->name());
  const auto there = MakeTrainer(path, device), here = MakeTrainer(path, nullptr);
  for (int i = 0; i < 8; ++i) {
    const NamedDatums batch = BatchOf(dims, i);
    const TrainStep a = StepOf(*there, batch), b = StepOf(*here, batch);
    INFO("step " << i);
    CHECK(a.finite == b.finite);
    CHECK(a.loss_scale == b.loss_scale);
    if (i != kSpoiled) CHECK(a.loss == Approx(b.loss).epsilon(tolerance));
    // The batch and the learning rate go in. The loss, the logits, the forward model's outputs, the scale, and whether
    // the step was taken come out.
    CHECK(there->session().LastCopies().in <= 3);
    CHECK(there->session().LastCopies().out <= 5);
  }
  CHECK(Difference(*there, *here, tolerance) == "");
  CHECK(OnProcessor(*there) == std::vector<std::string>{});
}

void CheckSame(const std::vector<std::string>& model, const Dims& dims, const std::vector<std::string>& flags,
               double tolerance) {
  const ScratchFolder folder;
  const std::string path = MakeStep(folder, model, flags);
  const auto state = std::make_shared<FakeDeviceState>();
  CheckSameOn(OpenFakeDevice(state), path, dims, tolerance);
  CHECK(state->replays > 3);
  const absl::StatusOr<std::shared_ptr<Accelerator>> gpu = OpenCudaDevice(0);
  if (gpu.ok()) CheckSameOn(*gpu, path, dims, tolerance);
}

TEST_CASE("a dense network trains as on the processor, with every optimizer and policy") {
  for (const char* optimizer : {"sgd", "momentum", "rmsprop", "adam", "adamw"}) {
    for (const char* policy : {"float32", "mixed_float16", "mixed_bfloat16"}) {
      INFO(optimizer << " " << policy);
      const double tolerance = policy == std::string("float32") ? 1e-4 : 2e-2;
      CheckSame({"mlp", "9-37-3"}, {kBatch, 9},
                {"--optimizer", optimizer, "--policy", policy, "--loss-scale", "dynamic", "--loss-scale-interval", "3"},
                tolerance);
    }
  }
}

TEST_CASE("a step on a device launches its optimizer once, copies no weights or slots, and waits once") {
  for (const char* optimizer : {"sgd", "momentum", "rmsprop", "adam", "adamw"}) {
    for (const char* policy : {"float32", "mixed_float16"}) {
      INFO(optimizer << " " << policy);
      const ScratchFolder folder;
      const std::string path = MakeStep(folder, {"mlp", "9-7-5-3"}, {"--optimizer", optimizer, "--policy", policy});
      const auto state = std::make_shared<FakeDeviceState>();
      const auto trainer = MakeTrainer(path, OpenFakeDevice(state));
      const auto launches = [&](device::Kernel kernel) { return state->kernels[static_cast<size_t>(kernel)]; };
      const auto copied = [&] { return launches(device::Kernel::kCopyBlocks); };
      const int before = copied();
      for (int i = 0; i < 6; ++i) {
        const int waits = state->waits;
        StepOf(*trainer, BatchOf({kBatch, 9}, i));
        CHECK(state->waits == waits + 1);
        if (i > 0) continue;
        CHECK(launches(device::Kernel::kOptimize) == 1);
        // The counter of steps alone, where Adam's rate reads it behind the choice.
        CHECK(copied() == before + (absl::StartsWith(optimizer, "adam") ? 1 : 0));
      }
      CHECK(state->replays > 3);
    }
  }
}

TEST_CASE("a network of convolutions trains as on the processor") {
  for (const char* policy : {"float32", "mixed_float16"}) {
    INFO(policy);
    CheckSame({"cnn"}, {kBatch, 1, 28, 28},
              {"--optimizer", "momentum", "--policy", policy, "--loss-scale", "dynamic", "--loss-scale-interval", "3"},
              policy == std::string("float32") ? 1e-3 : 5e-2);
  }
}

// The states of all ranks after some steps, each with its share of the batch.
std::vector<std::map<std::string, Tensor>> TrainRanks(const std::string& path, bool on_devices, bool joins) {
  constexpr int kRanks = 2;
  std::vector<std::map<std::string, Tensor>> states(kRanks);
  ThreadWorld(kRanks).Run([&](RankGroup& ranks) {
    SessionOptions options;
    options.ranks = &ranks;
    options.threads = 1;
    const auto state = std::make_shared<FakeDeviceState>();
    if (on_devices) options.device = OpenFakeDevice(state, {.has_ranks = joins});
    if (on_devices) AMP_CHECK(options.device->JoinRanks(ranks).ok() == joins);
    const auto trainer = Trainer::Create(path, options);
    AMP_CHECK(trainer.ok());
    for (int i = 0; i < 6; ++i) {
      NamedDatums batch = BatchOf({kBatch, 9}, i + 10 * ranks.rank());
      AMP_CHECK((*trainer)->Step(batch).ok());
    }
    AMP_CHECK((state->folds > 0) == (on_devices && joins));
    AMP_CHECK((state->replays > 0) == (on_devices && joins));
    for (const std::string& name : (*trainer)->StateNames()) {
      states[static_cast<size_t>(ranks.rank())][name] = *(*trainer)->State(name);
    }
    return true;
  });
  return states;
}

TEST_CASE("ranks with a device each keep equal replicas, as ranks on the processor do") {
  const ScratchFolder folder;
  const std::string path =
      MakeStep(folder, {"mlp", "9-37-3"}, {"--optimizer", "momentum", "--loss-scale", "dynamic", "--data-parallel"});
  const auto expected = TrainRanks(path, false, false);
  for (const bool joins : {true, false}) {
    const auto found = TrainRanks(path, true, joins);
    for (const auto& [name, value] : expected[0]) {
      INFO(name);
      CHECK(DifferenceOf(found[0].at(name), found[1].at(name), 0).empty());
      CHECK(DifferenceOf(found[0].at(name), value, 1e-3) == "");
    }
  }
}

TEST_CASE("batches are gathered on the device, as they would be on the processor") {
  const auto device = OpenFakeDevice();
  Tensor bytes = *Tensor::Create(DType::kUint8, {5, 2, 3});
  for (size_t i = 0; i < 30; ++i) bytes.mutable_elements<uint8_t>()[i] = static_cast<uint8_t>(8 * i);
  const Tensor floats = RandomTensor(DType::kFloat32, {5, 4});
  const std::vector<int64_t> rows = {4, 0, 0, 3};
  for (const auto& [data, dims] : {std::pair{bytes, std::vector<int64_t>{-1, 6}}, {floats, {-1, 2, 2}}}) {
    const InputType input{"x", DType::kFloat32, dims};
    const DataColumn here = *DataColumn::OfData(input, data, {});
    DataColumn there = *DataColumn::OfData(input, data, {});
    REQUIRE(there.MoveTo(*device).ok());
    CHECK_THAT(there.description(), Contains(", on double"));
    for (const size_t count : {size_t{4}, size_t{2}, size_t{4}}) {
      const absl::Span<const int64_t> some = absl::MakeConstSpan(rows).subspan(4 - count);
      const Tensor batch = *there.Batch(some);
      CHECK(device->Has(batch));
      CHECK(DifferenceOf(*device->CopyOut(batch, nullptr), *here.Batch(some), 0).empty());
    }
  }
  // Data that is converted in another way stays on the processor.
  DataColumn doubles = *DataColumn::OfData({"x", DType::kFloat16, {-1, 4}}, floats, {});
  REQUIRE(doubles.MoveTo(*device).ok());
  CHECK((*doubles.Batch(rows)).IsOnHost());
  const auto small = OpenFakeDevice(nullptr, {.memory_bytes = 16});
  DataColumn large = *DataColumn::OfData({"x", DType::kFloat32, {-1, 4}}, floats, {});
  REQUIRE(large.MoveTo(*small).ok());
  CHECK((*large.Batch(rows)).IsOnHost());
}

TEST_CASE("the learning rate of a step is that of its replay, too") {
  const ScratchFolder folder;
  const std::string path = MakeStep(folder, {"mlp", "9-5-3"}, {"--optimizer", "adam", "--policy", "float32"});
  const auto there = MakeTrainer(path, OpenFakeDevice()), here = MakeTrainer(path, nullptr);
  for (int i = 0; i < 8; ++i) {
    const float rate = i < 3 ? there->learning_rate() : 0.1F / static_cast<float>(i);
    there->set_learning_rate(rate);
    here->set_learning_rate(rate);
    StepOf(*there, BatchOf({kBatch, 9}, i + 4));
    StepOf(*here, BatchOf({kBatch, 9}, i + 4));
    CHECK(Difference(*there, *here, 1e-3) == "");
  }
}

TEST_CASE("a step graph for several ranks runs on the device of one") {
  const ScratchFolder folder;
  const std::string path = MakeStep(folder, {"mlp", "9-5-3"}, {"--optimizer", "sgd", "--data-parallel"});
  const auto there = MakeTrainer(path, OpenFakeDevice());
  for (int i = 0; i < 3; ++i) StepOf(*there, BatchOf({kBatch, 9}, i + 4));
  CHECK(OnProcessor(*there) == std::vector<std::string>{});
  CHECK(there->session().LastCopies().out <= 5);
}

TEST_CASE("states are read, set, kept in a checkpoint and saved from the device") {
  const ScratchFolder folder;
  const std::string path = MakeStep(folder, {"mlp", "9-5-3"}, {"--optimizer", "momentum"});
  const auto there = MakeTrainer(path, OpenFakeDevice()), again = MakeTrainer(path, OpenFakeDevice());
  const auto here = MakeTrainer(path, nullptr);
  for (int i = 0; i < 3; ++i) StepOf(*there, BatchOf({kBatch, 9}, i));
  REQUIRE(there->SaveCheckpoint(folder.File("run.npz"), "note").ok());
  REQUIRE(*again->LoadCheckpoint(folder.File("run.npz")) == "note");
  REQUIRE(*here->LoadCheckpoint(folder.File("run.npz")) == "note");
  CHECK(Difference(*there, *again, 0) == "");
  CHECK(Difference(*there, *here, 0) == "");
  for (int i = 4; i < 7; ++i) {
    CHECK(StepOf(*there, BatchOf({kBatch, 9}, i)).loss == StepOf(*again, BatchOf({kBatch, 9}, i)).loss);
  }
  CHECK(Difference(*there, *again, 0) == "");

  const std::string name = there->StateNames().front();
  Tensor value = *there->State(name);
  std::fill(value.mutable_elements<float>().begin(), value.mutable_elements<float>().end(), 0.25F);
  REQUIRE(there->SetState(name, value).ok());
  CHECK(DifferenceOf(*there->State(name), value, 0).empty());
  StepOf(*there, BatchOf({kBatch, 9}, 1));
  CHECK_FALSE(DifferenceOf(*there->State(name), value, 0).empty());

  REQUIRE(there->SaveWeights(folder.File("trained.onnx"), folder.File("m.onnx")).ok());
  const auto session = there->MakeForward(folder.File("m.onnx"));
  REQUIRE(session.ok());
  CHECK((*session)->DeviceName() == "double");
  CHECK((*session)->Run({{"x", *BatchOf({kBatch, 9}, 1)["x"].tensor()}}).ok());
}

TEST_CASE("a device that fails in a step, or has no memory for the states, is an error") {
  const ScratchFolder folder;
  const std::string path = MakeStep(folder, {"mlp", "9-37-3"}, {"--optimizer", "momentum"});
  const auto trainer = MakeTrainer(path, OpenFakeDevice(nullptr, {.launches = 30}));
  absl::Status status;
  for (int i = 0; i < 8 && status.ok(); ++i) status = trainer->Step(BatchOf({kBatch, 9}, i)).status();
  CHECK(absl::IsAborted(status));
  SessionOptions options;
  options.device = OpenFakeDevice(nullptr, {.memory_bytes = 2000});
  CHECK(absl::IsResourceExhausted(Trainer::Create(path, options).status()));
}

TEST_CASE("amp-train trains, tests and goes on with --device") {
  const ScratchFolder folder;
  const std::string step = MakeStep(folder, {"mlp", "9-5-3"}, {"--optimizer", "momentum"});
  const NamedDatums batch = BatchOf({kBatch, 9}, 0);
  const std::string data = folder.File("data.npz");
  folder.Write("data.npz", *NpzBytes({{"x", *batch.at("x").tensor()}, {"labels", *batch.at("labels").tensor()}}));
  const auto state = std::make_shared<FakeDeviceState>();
  std::vector<int> ordinals;
  const TrainHost host = {.devices = {.open = [&](int ordinal) {
                            ordinals.push_back(ordinal);
                            return OpenFakeDevice(state);
                          }}};
  const std::string trained = folder.File("t.onnx"), forward = folder.File("m.onnx"), kept = folder.File("run.npz");
  const std::string x = "x=" + data + ":x", labels = "labels=" + data + ":labels";
  const std::vector<std::string> arguments = {step,    "--data",       x,      "--data",         labels, "--eval-data",
                                              x,       "--eval-data",  labels, "--batch",        "2",    "--forward",
                                              forward, "--checkpoint", kept,   "--save-weights", trained};
  const auto run = [&](std::vector<std::string> flags) {
    flags.insert(flags.begin(), arguments.begin(), arguments.end());
    return RunAmpTrain(flags, {}, ResultsGoTo::kFile, host);
  };
  const ToolOutput first = run({"--device", "cuda:2", "--epochs", "4"});
  INFO(first.err);
  CHECK(first.exit_code == 0);
  CHECK_THAT(first.out, Contains("epoch 4/4"));
  CHECK_THAT(first.out, Contains("test accuracy"));
  CHECK(ordinals == std::vector<int>{2});
  CHECK(state->launches > 0);
  CHECK(state->live_bytes == 0);
  const ToolOutput more = run({"--resume", kept, "--epochs", "5"});
  CHECK(more.exit_code == 0);
  CHECK_THAT(more.err, Contains("goes on with other flags: --device cpu (was cuda)"));
  CHECK(ordinals.size() == 1);
}

TEST_CASE("amp-train --autotune times each product once, and knows it the next time") {
  const ScratchFolder folder;
  const std::string step = MakeStep(folder, {"mlp", "9-5-3"}, {"--optimizer", "momentum"});
  const NamedDatums batch = BatchOf({kBatch, 9}, 0);
  const std::string data = folder.File("data.npz");
  folder.Write("data.npz", *NpzBytes({{"x", *batch.at("x").tensor()}, {"labels", *batch.at("labels").tensor()}}));
  const auto run = [&](const std::string& device, const std::string& file,
                       const std::shared_ptr<FakeDeviceState>& state) {
    return RunAmpTrain({step, "--data", "x=" + data + ":x", "--data", "labels=" + data + ":labels", "--batch", "3",
                        "--epochs", "3", "--device", device, "--autotune", file},
                       {}, ResultsGoTo::kFile, {.devices = {.open = [&](int) { return OpenFakeDevice(state); }}});
  };
  const std::string file = folder.File("t.json");
  for (int time = 0; time < 2; ++time) {
    const auto state = std::make_shared<FakeDeviceState>();
    const ToolOutput output = run("cuda", file, state);
    INFO(output.err);
    CHECK(output.exit_code == 0);
    CHECK((state->timed > 0) == (time == 0));
  }
  CHECK_THAT(folder.Read("t.json"), Contains("double 3 5 9"));
  CHECK(run("cpu", file, nullptr).err == "amp-train: error: --autotune is for --device cuda, which is not there\n");
  const ToolOutput other = run("cuda", folder.Write("notes.json", "notes"), nullptr);
  CHECK(other.exit_code == 2);
  CHECK_THAT(other.err, Contains("notes.json: expected a file that --autotune wrote"));
}

TEST_CASE("amp-train: a convolution in 16 bits without Tensor Cores is said once") {
  const ScratchFolder folder;
  const std::string step = MakeStep(folder, {"cnn"}, {"--policy", "mixed_float16"});
  folder.Write("data.npz", *NpzBytes({{"x", *Tensor::Create(DType::kUint8, {4, 28, 28})},
                                      {"labels", Tensor::OfInts({0, 1, 2, 3})}}));
  const std::string data = folder.File("data.npz");
  const TrainHost host = {.devices = {.open = [](int) { return OpenFakeDevice(nullptr, {.has_operations = false}); }}};
  const ToolOutput output = RunAmpTrain({step, "--data", "x=" + data + ":x", "--data", "labels=" + data + ":labels",
                                         "--batch", "2", "--epochs", "2", "--device", "cuda"},
                                        {}, ResultsGoTo::kFile, host);
  CHECK(output.exit_code == 0);
  CHECK(output.err ==
        "amp-train: warning: a convolution in 16 bits runs without Tensor Cores: the double has no library\n");
}

TEST_CASE("amp-train without a GPU is one line") {
  const TrainHost host = {.devices = {.open = [](int) -> absl::StatusOr<std::shared_ptr<Accelerator>> {
                            return absl::UnimplementedError("no NVIDIA driver");
                          }}};
  const ToolOutput output =
      RunAmpTrain({"none.onnx", "--data", "x=x.npy", "--device", "cuda"}, {}, ResultsGoTo::kFile, host);
  CHECK(output.exit_code == 8);
  CHECK(output.err == "amp-train: error: --device cuda:0: no NVIDIA driver\n");
}

}  // namespace
}  // namespace amp
