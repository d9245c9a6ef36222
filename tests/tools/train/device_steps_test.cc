// Training steps on a device: the same weights as on the processor, by kernels that run there, step after step from one
// recording. The device is a test double, and a GPU besides where there is one.
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ir/file/text.h"
#include "runtime/plan/program.h"
#include "tests/catch2.h"
#include "tests/runtime/device/run_on_device.h"
#include "tests/runtime/run_session.h"
#include "tests/scratch_folder.h"
#include "tools/library/trainer.h"
#include "tools/rewrite/amp_rewrite.h"

namespace amp {
namespace {

using Names = std::vector<std::string>;

// x is of symbolic batch; all other tensors are trained. Of int64: numbers of rows below 8.
struct Network {
  std::string nodes;  // x -> logits [n, 4]
  Dims x;             // of a batch
  std::vector<std::pair<std::string, Dims>> weights;
  DType type = DType::kFloat32;  // of x
  double deviation = 0.5;        // of weights: so small that logits are, whose roundings are what a loss is off by
};

const Network kDense = {.nodes = "h = Gemm <transB = 1> (x, w, b) r = Relu (h) logits = MatMul (r, v)",
                        .x = {6, 7},
                        .weights = {{"w", {9, 7}}, {"b", {9}}, {"v", {9, 4}}}};

std::string MakeStep(const ScratchFolder& folder, const Network& network, const Names& flags) {
  std::string dims = "n";
  for (size_t i = 1; i < network.x.size(); ++i) absl::StrAppend(&dims, ",", network.x[i]);
  const absl::StatusOr<std::string> text =
      ParseOnnxText(absl::StrCat(R"(<ir_version: 8, opset_import: ["" : 17]> g ()", TextType(network.type, "["), dims,
                                 "] x) => (float[n,4] logits) {", network.nodes, "}"));
  INFO(text.status().message());
  REQUIRE(text.ok());
  onnx::ModelProto model;
  REQUIRE(model.ParseFromString(*text));
  for (const auto& [name, shape] : network.weights) {
    *model.mutable_graph()->add_initializer() =
        ProtoOf(name, RandomTensor(DType::kFloat32, shape, Values::kPositive, network.deviation));
  }
  Names arguments = {folder.Write("m.onnx", model.SerializeAsString()), "-o", folder.File("step.onnx"), "--train"};
  arguments.insert(arguments.end(), flags.begin(), flags.end());
  const ToolOutput output = RunAmpRewrite(arguments);
  INFO(output.err);
  REQUIRE(output.exit_code == 0);
  return folder.File("step.onnx");
}

std::unique_ptr<Trainer> MakeTrainer(const std::string& path, const std::shared_ptr<Accelerator>& device) {
  SessionOptions options;
  options.device = device;
  absl::StatusOr<std::unique_ptr<Trainer>> trainer = Trainer::Create(path, options);
  INFO(trainer.status().message());
  REQUIRE(trainer.ok());
  return *std::move(trainer);
}

TrainStep TakeStep(Trainer& trainer, const NamedDatums& inputs) {
  const absl::StatusOr<TrainStep> step = trainer.Step(inputs);
  INFO(step.status().message());
  REQUIRE(step.ok());
  return *step;
}

// Returns the operators that the processor ran, but for arithmetic with shapes and views.
Names OnHost(const std::vector<Instruction>& instructions) {
  Names names;
  for (const Instruction& instruction : instructions) {
    const KernelRow* row = nullptr;
    {
      const absl::MutexLock lock(&instruction.site->mutex);
      row = instruction.site->row;
    }
    if (row == nullptr) {
      const Names of_parts = OnHost(instruction.unfused);
      names.insert(names.end(), of_parts.begin(), of_parts.end());
    } else if (!row->runs_on_device && row->host_inputs.Has(0) && instruction.why_on_host == nullptr) {
      names.emplace_back(row->op_type);
    }
  }
  return names;
}

NamedDatums BatchOf(const Network& network, const Tensor& labels, bool is_finite = true) {
  if (network.type == DType::kInt64) {
    Tensor x = *Tensor::Create(DType::kInt64, network.x);
    int64_t next = 3;
    for (int64_t& row : x.mutable_elements<int64_t>()) row = (next *= 5) % 8;
    return {{"x", x}, {"labels", labels}};
  }
  Tensor x = RandomTensor(DType::kFloat32, network.x, Values::kPlain, 0.5);
  if (!is_finite) x.mutable_elements<float>()[3] = std::numeric_limits<float>::infinity();
  return {{"x", x}, {"labels", labels}};
}

void CheckSame(const Network& network, const Names& flags, const Tensor& labels, double tolerance) {
  const ScratchFolder folder;
  const std::string path = MakeStep(folder, network, flags);
  for (const std::shared_ptr<Accelerator>& device : TestDevices()) {
    const auto there = MakeTrainer(path, device), here = MakeTrainer(path, nullptr);
    for (int i = 0; i < 4; ++i) {
      const NamedDatums inputs = BatchOf(network, labels, i != 2);
      const TrainStep a = TakeStep(*there, inputs), b = TakeStep(*here, inputs);
      INFO(network.nodes << " " << absl::StrJoin(flags, " ") << " step " << i);
      CHECK(a.finite == b.finite);
      CHECK(a.loss_scale == b.loss_scale);
      if (b.finite && i != 2) CHECK(a.loss == Approx(b.loss).epsilon(tolerance));
      if (i == 0) CHECK(OnHost(there->session().program().blocks[kMainGraph]) == Names());
    }
    for (const std::string& name : here->StateNames()) {
      INFO(network.nodes << " " << absl::StrJoin(flags, " ") << " " << name);
      CHECK(DifferenceOf(*there->State(name), *here->State(name), tolerance) == "");
    }
  }
}

Tensor LabelsOf(const Network& network) {
  std::vector<int64_t> labels;
  for (int64_t i = 0; i < network.x[0]; ++i) labels.push_back(i % 4);
  return Tensor::OfInts(labels);
}

// In float32 and in 16 bits with a loss scale, in which one step of four is skipped.
void CheckSame(const Network& network) {
  const Names all = {"--loss",
                     "softmax-cross-entropy",
                     "--optimizer",
                     "sgd",
                     "--learning-rate",
                     "0.01",
                     "--labels",
                     "labels:sparse",
                     "--loss-scale-initial",
                     "64",
                     "--loss-scale",
                     "dynamic",
                     "--loss-scale-interval",
                     "2"};
  for (const auto& [policy, tolerance] :
       {std::pair("float32", 1e-4), std::pair("mixed_float16", 1e-2), std::pair("mixed_bfloat16", 5e-2)}) {
    Names flags = all;
    flags.insert(flags.end(), {"--policy", policy});
    CheckSame(network, flags, LabelsOf(network), tolerance);
  }
}

TEST_CASE("device: steps of every optimizer, one of them skipped") {
  for (const char* const optimizer : {"sgd", "momentum", "rmsprop", "adam", "adamw"}) {
    CheckSame(kDense,
              {"--loss", "softmax-cross-entropy", "--optimizer", optimizer, "--policy", "mixed_float16",
               "--loss-scale-interval", "2", "--labels", "labels:sparse"},
              LabelsOf(kDense), 1e-2);
  }
  CheckSame(kDense,
            {"--loss", "softmax-cross-entropy", "--optimizer", "momentum", "--nesterov", "--policy", "mixed_float16",
             "--labels", "labels:sparse"},
            LabelsOf(kDense), 1e-2);
}

TEST_CASE("device: steps that clip and accumulate gradients") {
  CheckSame(kDense,
            {"--loss", "softmax-cross-entropy", "--optimizer", "adam", "--policy", "mixed_float16", "--clip-norm",
             "0.5", "--accumulate", "2", "--labels", "labels:sparse"},
            LabelsOf(kDense), 1e-2);
}

TEST_CASE("device: a step with targets in the place of labels") {
  CheckSame(kDense,
            {"--loss", "softmax-cross-entropy", "--optimizer", "sgd", "--policy", "mixed_float16", "--labels",
             "labels:onehot"},
            RandomTensor(DType::kFloat32, {6, 4}, Values::kPositive, 0.2), 1e-2);
}

TEST_CASE("device: a step with squared errors") {
  CheckSame(kDense, {"--loss", "mse", "--optimizer", "sgd", "--policy", "mixed_float16", "--labels", "labels"},
            RandomTensor(DType::kFloat32, {6, 4}), 1e-2);
}

// From the same state every time: what the optimizer and the loss scale look at stays on the device.
TEST_CASE("device: a step is done again from recordings alone, whatever the numbers are") {
  const ScratchFolder folder;
  const std::string path = MakeStep(folder, kDense,
                                    {"--loss", "softmax-cross-entropy", "--optimizer", "adamw", "--policy",
                                     "mixed_float16", "--labels", "labels:sparse"});
  const auto state = std::make_shared<FakeDeviceState>();
  SessionOptions options;
  const absl::StatusOr<std::unique_ptr<Session>> here = Session::Create(path, options);
  options.device = OpenFakeDevice(state);
  const absl::StatusOr<std::unique_ptr<Session>> there = Session::Create(path, options);
  REQUIRE(here.ok());
  REQUIRE(there.ok());
  constexpr int kOfInputs = 3;  // kernels that are the first to read what was copied in
  for (int run = 0; run < 8; ++run) {
    const NamedDatums inputs = BatchOf(kDense, LabelsOf(kDense), run != 6);
    const int launches = state->launches, replays = state->replays;
    const std::vector<Tensor> found = RunSession(**there, inputs);
    if (run != 6) CHECK(DifferenceOf(found, RunSession(**here, inputs), 2e-2) == "");
    if (run < 4) continue;  // records, until all lies where it will
    CHECK(state->launches - launches <= kOfInputs);
    CHECK(state->replays > replays);
  }
}

TEST_CASE("device: steps with convolutions, pools and norms") {
  CheckSame(kDense);
  CheckSame(
      {.nodes =
           "c = Conv <pads = [1,1,1,1]> (x, w, b) r = Relu (c) h = MaxPool <kernel_shape = [2,2], strides = [2,2]> (r) "
           "d = Conv <strides = [2,2]> (h, v) f = Flatten (d) logits = MatMul (f, u)",
       .x = {3, 2, 10, 10},
       .weights = {{"w", {5, 2, 3, 3}}, {"b", {5}}, {"v", {4, 5, 3, 3}}, {"u", {16, 4}}},
       .deviation = 0.1});
  CheckSame({.nodes = "c = Conv (x, w) n = BatchNormalization (c, s, t, m, q) r = Relu (n) "
                      "h = AveragePool <kernel_shape = [2,2], strides = [2,2]> (r) p = GlobalAveragePool (h) "
                      "f = Flatten (p) logits = MatMul (f, u)",
             .x = {3, 2, 10, 10},
             .weights = {{"w", {5, 2, 3, 3}}, {"s", {5}}, {"t", {5}}, {"m", {5}}, {"q", {5}}, {"u", {5, 4}}}});
}

TEST_CASE("device: a step of a block of a transformer") {
  CheckSame(
      {.nodes = "h = MatMul (x, w) n = LayerNormalization (h, s, t) q = MatMul (n, wq) k = MatMul (n, wk) "
                "v = MatMul (n, wv) kt = Transpose <perm = [0,2,1]> (k) a = MatMul (q, kt) "
                "p = Softmax <axis = -1> (a) o = MatMul (p, v) r = Add (o, h) f = Flatten (r) logits = MatMul (f, u)",
       .x = {4, 3, 6},
       .weights = {
           {"w", {6, 8}}, {"s", {8}}, {"t", {8}}, {"wq", {8, 8}}, {"wk", {8, 8}}, {"wv", {8, 8}}, {"u", {24, 4}}}});
}

TEST_CASE("device: a step with a table whose rows are picked") {
  CheckSame({.nodes = "h = Gather (t, x) m = ReduceMean <axes = [1], keepdims = 0> (h) logits = MatMul (m, u)",
             .x = {5, 3},
             .weights = {{"t", {8, 6}}, {"u", {6, 4}}},
             .type = DType::kInt64});
}

}  // namespace
}  // namespace amp
