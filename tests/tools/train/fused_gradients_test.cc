// One training step gives the same weights with kernels for the functions of gradients, with their bodies run node by
// node, and with the reference kernels of the functions.
#include "absl/strings/str_cat.h"
#include "ir/file/text.h"
#include "runtime/plan/program.h"
#include "runtime/reference/reference_kernels.h"
#include "tests/catch2.h"
#include "tests/runtime/run_session.h"
#include "tests/scratch_folder.h"
#include "tools/library/trainer.h"
#include "tools/rewrite/amp_rewrite.h"

namespace amp {
namespace {

// x is of symbolic batch; all other tensors are trained.
struct Network {
  std::string nodes;  // x -> y
  Dims x;             // of a batch
  std::vector<std::pair<std::string, Dims>> weights;
  std::vector<std::string> kernels;  // that the step runs, by family and operator
};

std::string MakeStep(const ScratchFolder& folder, const Network& network, const std::string& policy) {
  std::string dims = "n";
  for (size_t i = 1; i < network.x.size(); ++i) absl::StrAppend(&dims, ",", network.x[i]);
  const absl::StatusOr<std::string> text = ParseOnnxText(
      absl::StrCat(R"(<ir_version: 8, opset_import: ["" : 17]> g (float[)", dims, "] x) => (float[] loss) {",
                   network.nodes, "s = Mul (y, y) loss = ReduceSum <keepdims = 0> (s) }"));
  INFO(text.status().message());
  REQUIRE(text.ok());
  onnx::ModelProto model;
  REQUIRE(model.ParseFromString(*text));
  for (const auto& [name, shape] : network.weights) {
    *model.mutable_graph()->add_initializer() =
        ProtoOf(name, RandomTensor(DType::kFloat32, shape, Values::kPlain, 0.5));
  }
  const ToolOutput output =
      RunAmpRewrite({folder.Write("m.onnx", model.SerializeAsString()), "-o", folder.File("step.onnx"), "--train",
                     "--loss", "graph:loss", "--optimizer", "sgd", "--learning-rate", "1", "--policy", policy});
  INFO(output.err);
  REQUIRE(output.exit_code == 0);
  return folder.File("step.onnx");
}

std::unique_ptr<Trainer> MakeTrainer(const std::string& path, const SessionOptions& options) {
  absl::StatusOr<std::unique_ptr<Trainer>> trainer = Trainer::Create(path, options);
  INFO(trainer.status().message());
  REQUIRE(trainer.ok());
  return *std::move(trainer);
}

void TakeStep(Trainer& trainer, const Tensor& x) {
  const absl::StatusOr<TrainStep> step = trainer.Step({{"x", x}});
  INFO(step.status().message());
  REQUIRE(step.ok());
}

void CheckSame(const Network& network, const std::string& policy, double tolerance) {
  const ScratchFolder folder;
  const std::string path = MakeStep(folder, network, policy);
  SessionOptions plain_options, reference_options;
  plain_options.fuse_training = false;
  reference_options.find_kernels = FindReferenceKernels;
  const auto fused = MakeTrainer(path, {}), plain = MakeTrainer(path, plain_options),
             reference = MakeTrainer(path, reference_options);
  const Tensor x = RandomTensor(DType::kFloat32, network.x, Values::kPlain, 0.5);
  for (Trainer* trainer : {fused.get(), plain.get(), reference.get()}) TakeStep(*trainer, x);
  const std::vector<std::string> ran = KernelsOf(fused->session());
  for (const std::string& kernel : network.kernels) {
    INFO(kernel);
    CHECK(std::find(ran.begin(), ran.end(), kernel) != ran.end());
  }
  for (const auto& [name, shape] : network.weights) {
    INFO(network.nodes << " " << policy << " " << name);
    CHECK(DifferenceOf(*fused->State(name), *plain->State(name), tolerance) == "");
    CHECK(DifferenceOf(*fused->State(name), *reference->State(name), tolerance) == "");
  }
}

void CheckEmptyBatch(const Network& network, const std::string& policy, const SessionOptions& options) {
  const ScratchFolder folder;
  const auto trainer = MakeTrainer(MakeStep(folder, network, policy), options);
  Dims dims = network.x;
  dims[0] = 0;
  std::vector<Tensor> before;
  for (const auto& [name, shape] : network.weights) before.push_back(*trainer->State(name));
  TakeStep(*trainer, *Tensor::Create(DType::kFloat32, dims));
  for (size_t i = 0; i < before.size(); ++i) {
    INFO(network.nodes << " " << policy);
    CHECK(DifferenceOf(*trainer->State(network.weights[i].first), before[i], 0) == "");
  }
}

void CheckSame(const Network& network) {
  CheckSame(network, "float32", 2e-5);
  // Sums in another order are rounded to other neighbours in 16 bits.
  CheckSame(network, "mixed_float16", 4e-3);
  CheckSame(network, "mixed_bfloat16", 3e-2);
}

void CheckSameAndEmpty(const Network& network) {
  CheckSame(network);
  SessionOptions bodies, reference;
  bodies.fuse_training = false;
  reference.find_kernels = FindReferenceKernels;
  for (const std::string policy : {"float32", "mixed_float16", "mixed_bfloat16"}) {
    for (const SessionOptions& options : {SessionOptions(), bodies, reference}) {
      CheckEmptyBatch(network, policy, options);
    }
  }
}

TEST_CASE("a step with convolutions: strides, dilations, pads, groups, one and three axes") {
  const std::vector<std::string> kernels = {"onednn ConvWeightGradient"};
  CheckSameAndEmpty({.nodes = "y = Conv <pads = [1,1,1,1]> (x, w)",
                     .x = {3, 4, 7, 9},
                     .weights = {{"w", {5, 4, 3, 3}}},
                     .kernels = kernels});
  CheckSameAndEmpty({.nodes = "y = Conv <strides = [2,3], pads = [0,1,2,1], group = 2> (x, w)",
                     .x = {2, 4, 11, 10},
                     .weights = {{"w", {6, 2, 3, 2}}},
                     .kernels = kernels});
  CheckSameAndEmpty({.nodes = "h = Conv <auto_pad = \"SAME_UPPER\", strides = [2,2], dilations = [1,1]> (x, w) "
                              "y = Conv <dilations = [2,1]> (h, v)",
                     .x = {2, 3, 12, 9},
                     .weights = {{"w", {8, 3, 3, 4}}, {"v", {4, 8, 2, 3}}},
                     .kernels = kernels});
  CheckSameAndEmpty({.nodes = "h = Conv (x, w, b) y = Conv (h, v)",
                     .x = {2, 3, 14},
                     .weights = {{"w", {4, 3, 3}}, {"b", {4}}, {"v", {2, 4, 5}}},
                     .kernels = kernels});
  CheckSameAndEmpty({.nodes = "y = Conv <group = 3> (x, w)",
                     .x = {2, 3, 4, 5, 6},
                     .weights = {{"w", {3, 1, 2, 2, 3}}},
                     .kernels = kernels});
  CheckSameAndEmpty({.nodes = "y = ConvTranspose <strides = [2,2], output_padding = [1,0], pads = [1,0,0,1]> (x, w)",
                     .x = {2, 3, 5, 4},
                     .weights = {{"w", {3, 4, 3, 2}}},
                     .kernels = kernels});
}

TEST_CASE("a step with products") {
  CheckSameAndEmpty({.nodes = "h = Gemm <transB = 1> (x, w, b) r = Relu (h) y = MatMul (r, v)",
                     .x = {6, 7},
                     .weights = {{"w", {9, 7}}, {"b", {9}}, {"v", {9, 4}}},
                     .kernels = {"onednn MatrixWeightGradient"}});
  CheckSameAndEmpty({.nodes = "y = MatMul (x, w)",
                     .x = {2, 5, 7},
                     .weights = {{"w", {7, 3}}},
                     .kernels = {"onednn MatrixWeightGradient"}});
}

TEST_CASE("a step with MaxPool") {
  const std::vector<std::string> kernels = {"loops MaxPoolGradient"};
  for (const std::string attributes :
       {"kernel_shape = [2,2], strides = [2,2]", "kernel_shape = [3,2], pads = [1,1,0,0]",
        "kernel_shape = [3,3], strides = [2,2], ceil_mode = 1", "kernel_shape = [2,2], dilations = [2,3]",
        "kernel_shape = [3,3], strides = [2,2], auto_pad = \"SAME_LOWER\""}) {
    CheckSameAndEmpty({.nodes = absl::StrCat("h = Mul (x, k) y = MaxPool <", attributes, "> (h)"),
                       .x = {3, 5, 8, 9},
                       .weights = {{"k", {1, 5, 8, 9}}},
                       .kernels = kernels});
  }
  CheckSameAndEmpty(
      {.nodes = "c = Conv (x, w) r = Relu (c) h = MaxPool <kernel_shape = [2,2], strides = [2,2]> (r) y = Conv (h, v)",
       .x = {3, 2, 10, 10},
       .weights = {{"w", {16, 2, 3, 3}}, {"v", {4, 16, 3, 3}}},
       .kernels = kernels});
}

TEST_CASE("a step with AveragePool") {
  for (const std::string attributes :
       {"kernel_shape = [2,2], strides = [2,2]", "kernel_shape = [3,2], pads = [1,1,0,0]",
        "kernel_shape = [3,2], pads = [1,1,1,0], count_include_pad = 1, strides = [1,2]",
        "kernel_shape = [3,3], strides = [2,2], ceil_mode = 1", "kernel_shape = [3,3], strides = [4,3]",
        "kernel_shape = [3,3], strides = [2,2], auto_pad = \"SAME_LOWER\""}) {
    CheckSameAndEmpty({.nodes = absl::StrCat("h = Mul (x, k) y = AveragePool <", attributes, "> (h)"),
                       .x = {3, 5, 8, 9},
                       .weights = {{"k", {1, 5, 8, 9}}},
                       .kernels = {"loops AveragePoolGradient"}});
  }
  CheckSameAndEmpty(
      {.nodes = "c = Conv (x, w) h = AveragePool <kernel_shape = [2,2], strides = [2,2]> (c) y = Conv (h, v)",
       .x = {3, 2, 10, 10},
       .weights = {{"w", {16, 2, 3, 3}}, {"v", {4, 16, 3, 3}}},
       .kernels = {"loops AveragePoolGradient"}});
}

TEST_CASE("a step with a table, some of whose rows are picked more than once, some from the end") {
  CheckSameAndEmpty({.nodes = "i = Cast <to = 7> (x) y = Gather (t, i)",
                     .x = {9, 4},
                     .weights = {{"t", {3, 5}}},
                     .kernels = {"loops GatherGradient"}});
}

TEST_CASE("a step with norms") {
  CheckSameAndEmpty({.nodes = "h = Mul (x, k) y = LayerNormalization <axis = -1> (h, w, b)",
                     .x = {3, 4, 10},
                     .weights = {{"k", {4, 10}}, {"w", {10}}, {"b", {10}}},
                     .kernels = {"loops LayerNormalizationGradient"}});
  CheckSameAndEmpty({.nodes = "h = Mul (x, k) y = InstanceNormalization (h, w, b)",
                     .x = {3, 4, 5, 6},
                     .weights = {{"k", {4, 5, 6}}, {"w", {4}}, {"b", {4}}},
                     .kernels = {"loops InstanceNormalizationGradient"}});
}

// Statistics of nothing are not numbers.
TEST_CASE("a step with a BatchNormalization, whose statistics are those of the batch") {
  CheckSame(
      {.nodes = "c = Conv (x, v) h = BatchNormalization (c, w, b, m, q) r = Relu (h) y = Conv (r, u)",
       .x = {4, 3, 8, 9},
       .weights = {{"v", {18, 3, 3, 3}}, {"w", {18}}, {"b", {18}}, {"m", {18}}, {"q", {18}}, {"u", {2, 18, 2, 2}}},
       .kernels = {"loops BatchNormalizationGradient", "loops BatchNormalization"}});
}

// ---- losses ---------------------------------------------------------------------------------------------------------

std::string MakeClassifier(const ScratchFolder& folder, const std::string& labels, const std::string& policy) {
  const std::string text = R"(<ir_version: 8, opset_import: ["" : 17]> g (float[n,5] x) => (float[n,4] p)
      <float[5,4] w = {0.1,-0.2,0.3,0.4, 0.5,0.6,-0.7,0.8, 0.9,1,-1.1,0.2, 0.3,-0.4,0.5,0.6, 0.7,-0.8,0.9,0.1}> {
      z = MatMul (x, w) p = Softmax <axis = -1> (z) })";
  const ToolOutput output = RunAmpRewrite({folder.Write("m.onnx", *ParseOnnxText(text)), "-o", folder.File("step.onnx"),
                                           "--train", "--loss", "softmax-cross-entropy", "--labels", labels,
                                           "--optimizer", "sgd", "--learning-rate", "1", "--policy", policy});
  INFO(output.err);
  REQUIRE(output.exit_code == 0);
  return folder.File("step.onnx");
}

void CheckSameLoss(const std::string& kind, const std::string& policy, const Tensor& labels, bool is_number = true) {
  const ScratchFolder folder;
  const std::string path = MakeClassifier(folder, "labels:" + kind, policy);
  SessionOptions plain_options;
  plain_options.fuse_training = false;
  const auto fused = MakeTrainer(path, {}), plain = MakeTrainer(path, plain_options);
  const NamedDatums inputs = {{"x", RandomTensor(DType::kFloat32, {labels.dim(0), 5})}, {"labels", labels}};
  const absl::StatusOr<TrainStep> a = fused->Step(inputs), b = plain->Step(inputs);
  INFO(kind << " " << policy << " " << a.status().message() << b.status().message());
  REQUIRE(a.ok());
  REQUIRE(b.ok());
  CHECK(std::isnan(a->loss) == !is_number);
  if (is_number) CHECK(a->loss == Approx(b->loss).epsilon(1e-5));
  CHECK(DifferenceOf(*fused->State("w"), *plain->State("w"), policy == "float32" ? 1e-5 : 1e-2) == "");
  const std::vector<std::string> ran = KernelsOf(fused->session());
  const std::string name = kind == "sparse" ? "loops SparseSoftmaxCrossEntropy" : "loops SoftmaxCrossEntropy";
  CHECK(std::find(ran.begin(), ran.end(), name) != ran.end());
  CHECK(std::find(ran.begin(), ran.end(), name + "Gradient") != ran.end());
}

TEST_CASE("cross-entropies of labels and of targets") {
  const Tensor targets = Tensor::Of<float>(DType::kFloat32, {3, 4}, {1, 0, 0, 0, 0.5, 0.25, 0, 0.25, 0, 0, 2, 1});
  for (const Loops* loops : UsableLoops()) {
    UseLoops(loops);
    for (const std::string policy : {"float32", "mixed_float16", "mixed_bfloat16"}) {
      CheckSameLoss("sparse", policy, Tensor::OfInts({3, 0, 1, 1, 2}));
      CheckSameLoss("sparse", policy, Tensor::OfInts({}));
      CheckSameLoss("onehot", policy, targets);
    }
  }
  UseLoops(nullptr);
}

TEST_CASE("a label that is no class makes the loss not a number") {
  CheckSameLoss("sparse", "float32", Tensor::OfInts({3, 4, 1}), false);
  CheckSameLoss("sparse", "float32", Tensor::OfInts({-1, 0, 1}), false);
}

}  // namespace
}  // namespace amp
