// Optimizers, loss scales and losses on a device against the processor's kernels.
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "absl/strings/str_cat.h"
#include "runtime/device/raw/optimizer.h"
#include "tests/catch2.h"
#include "tests/runtime/device/run_on_device.h"
#include "tests/runtime/run_session.h"

namespace amp {
namespace {

using Catch::Matchers::Contains;

constexpr float kInfinity = std::numeric_limits<float>::infinity(), kNan = std::numeric_limits<float>::quiet_NaN();

Tensor Number(float x) { return Tensor::Scalar(x); }

std::string RunAgainstLoops(const BothCase& each,
                            const std::vector<std::shared_ptr<Accelerator>>& devices = TestDevices()) {
  return RunOnDevice(each, devices, FindAllKernels);
}

// ---- optimizers -----------------------------------------------------------------------------------------------------

struct OptimizerCase {
  std::string name, attributes;
  size_t num_slots;
  bool decays = false;
};
const OptimizerCase kOptimizers[] = {
    {"Sgd", "", 0},
    {"Momentum", "<momentum = 0.9>", 1},
    {"NesterovMomentum", "<momentum = 0.9>", 1},
    {"Rmsprop", "<rho = 0.9, epsilon = 0.0001>", 1},
    {"Adam", "<beta1 = 0.9, beta2 = 0.99, epsilon = 0.001>", 2},
    {"AdamW", "<beta1 = 0.9, beta2 = 0.99, epsilon = 0.001, weight_decay = 0.1>", 2, true}};

// `applies`: of a conditional one.
BothCase CaseOf(const OptimizerCase& optimizer, const Dims& dims, std::optional<bool> applies,
                Values gradients = Values::kPlain) {
  BothCase each = {.node = "",
                   .inputs = {},
                   .outputs = std::vector<DType>(1 + optimizer.num_slots, DType::kFloat32),
                   .relative = 1e-6,
                   .absolute = 2e-6};
  if (applies.has_value()) each.inputs.push_back(Tensor::Scalar(*applies));
  each.inputs.push_back(RandomTensor(DType::kFloat32, dims));
  each.inputs.push_back(RandomTensor(DType::kFloat32, dims, gradients));
  for (size_t i = 0; i < optimizer.num_slots; ++i) {
    each.inputs.push_back(RandomTensor(DType::kFloat32, dims, Values::kPositive));
  }
  each.inputs.push_back(Number(0.125f));
  if (optimizer.decays) each.inputs.push_back(Number(0.03f));
  const char* const outputs[] = {"y", "y, z", "y, z, w"};
  std::string inputs = "a";
  for (size_t i = 1; i < each.inputs.size(); ++i)
    absl::StrAppend(&inputs, ", ", std::string(1, static_cast<char>('a' + i)));
  each.node = absl::StrCat(outputs[optimizer.num_slots], " = ai.amp.", applies.has_value() ? "Conditional" : "",
                           optimizer.name, " ", optimizer.attributes, " (", inputs, ")");
  return each;
}

TEST_CASE("device: steps of optimizers") {
  for (const OptimizerCase& optimizer : kOptimizers) {
    for (const std::optional<bool> applies : {std::optional<bool>(), std::optional(true), std::optional(false)}) {
      for (const Dims& dims : {Dims{}, Dims{3}, Dims{7, 130}, Dims{0, 4}}) {
        INFO(optimizer.name << " " << DimsText(dims));
        CHECK(RunAgainstLoops(CaseOf(optimizer, dims, applies)) == "");
      }
      CHECK(RunAgainstLoops(CaseOf(optimizer, {500}, applies, Values::kWithSpecial)) == "");
    }
  }
}

TEST_CASE("device: steps of optimizers are those of loops without fused multiply-add, bit for bit") {
  UseLoops(UsableLoops().front());
  for (const OptimizerCase& optimizer : kOptimizers) {
    INFO(UsableLoops().front()->name << " " << optimizer.name);
    BothCase each = CaseOf(optimizer, {1000}, true);
    each.relative = each.absolute = 0;
    CHECK(RunAgainstLoops(each, {TestDevices().front()}) == "");
  }
  UseLoops(nullptr);
}

TEST_CASE("device: a step that is skipped leaves weights and slots as they are, whatever the gradient") {
  for (const OptimizerCase& optimizer : kOptimizers) {
    BothCase each = CaseOf(optimizer, {50}, false, Values::kWithSpecial);
    each.relative = each.absolute = 0;
    CHECK(RunAgainstLoops(each) == "");
  }
}

TEST_CASE("device: a call of an optimizer may leave out the last outputs") {
  BothCase each = CaseOf(kOptimizers[4], {50}, true);
  each.node.erase(each.node.find(", z"), 6);
  each.outputs = {DType::kFloat32};
  CHECK(RunAgainstLoops(each) == "");
}

TEST_CASE("device: operands of optimizers that do not fit are the processor's error") {
  BothCase each = CaseOf(kOptimizers[1], {5}, std::nullopt);
  each.inputs[2] = RandomTensor(DType::kFloat32, {4});
  CHECK_THAT(WhyOnHost(each), Contains("expected float32[5], found float32[4]"));
  each = CaseOf(kOptimizers[0], {5}, std::nullopt);
  each.inputs[2] = RandomTensor(DType::kFloat64, {});
  CHECK_THAT(WhyOnHost(each), Contains("loops: device: a rate that is no float32 number"));
}

TEST_CASE("device: Adam's rate, corrected for what the first steps lack") {
  for (const int64_t updates : {int64_t{0}, int64_t{1}, int64_t{9}, int64_t{100000}}) {
    CHECK(RunAgainstLoops({.node = "y = ai.amp.AdamRate <beta1 = 0.9, beta2 = 0.999> (a, b)",
                           .inputs = {Number(0.003f), Tensor::Scalar(updates)},
                           .relative = 2e-7}) == "");
  }
}

// ---- all weights at once --------------------------------------------------------------------------------------------

struct Updates {
  std::vector<Tensor> results;
  int launches = 0;  // of a run
};

// The steps of weights of these sizes, in one model; run three times, of which the last are recorded and replayed.
Updates RunUpdates(const OptimizerCase& optimizer, std::optional<bool> applies, const std::vector<int64_t>& sizes,
                   const std::shared_ptr<FakeDeviceState>& state, const std::shared_ptr<Accelerator>& device,
                   bool is_fused_pattern) {
  std::string inputs = "float rate, float lr, bool apply", outputs, nodes;
  NamedDatums values = {
      {"rate", Number(0.125f)}, {"lr", Number(0.03f)}, {"apply", Tensor::Scalar(applies.value_or(true))}};
  for (size_t i = 0; i < sizes.size(); ++i) {
    std::string operands, results;
    for (const char* const name : {"w", "g", "s", "t"}) {
      if (name[0] == 's' && optimizer.num_slots < 1) continue;
      if (name[0] == 't' && optimizer.num_slots < 2) continue;
      const std::string full = absl::StrCat(name, i);
      absl::StrAppend(&inputs, ", float[", sizes[i], "] ", full);
      absl::StrAppend(&operands, full, ", ");
      Tensor value = *Tensor::Create(DType::kFloat32, {sizes[i]});
      for (size_t k = 0; k < static_cast<size_t>(sizes[i]); ++k) {
        const double wave = std::sin(static_cast<double>(k) * 0.7 + static_cast<double>(i) + name[0]);
        value.mutable_elements<float>()[k] = static_cast<float>(name[0] == 't' ? wave * wave : wave);
      }
      values[full] = value;
      if (name[0] == 'g') continue;
      absl::StrAppend(&outputs, outputs.empty() ? "" : ", ", "float[", sizes[i], "] ", full, "_next");
      absl::StrAppend(&results, results.empty() ? "" : ", ", full, "_next");
    }
    absl::StrAppend(&nodes, results, " = ai.amp.", applies.has_value() ? "Conditional" : "", optimizer.name, " ",
                    optimizer.attributes, " (", applies.has_value() ? "apply, " : "", operands, "rate",
                    optimizer.decays ? ", lr" : "", ")\n");
  }
  SessionOptions options;
  options.device = device;
  options.fuse_training = is_fused_pattern;
  const auto session = MakeSession({.text = absl::StrCat(R"(<ir_version: 10, opset_import: ["" : 21, "ai.amp" : 1]>
    g ()",
                                                         inputs, ") => (", outputs, ") {", nodes, "}")},
                                   options);
  const auto launches = [&] { return state->kernels[static_cast<size_t>(device::Kernel::kOptimize)]; };
  Updates updates;
  for (int run = 0; run < 3; ++run) {
    const int before = launches();
    updates.results = RunSession(*session, values);
    if (run == 0) updates.launches = launches() - before;
  }
  return updates;
}

// `fewest`: launches for all of them.
void CheckUpdates(const OptimizerCase& optimizer, std::optional<bool> applies, const std::vector<int64_t>& sizes,
                  int fewest) {
  INFO(optimizer.name << " of " << sizes.size());
  for (const std::shared_ptr<Accelerator>& tested : TestDevices()) {
    const auto state = std::make_shared<FakeDeviceState>();
    const bool is_double = tested == TestDevices().front();
    const std::shared_ptr<Accelerator> device = is_double ? OpenFakeDevice(state) : tested;
    const Updates together = RunUpdates(optimizer, applies, sizes, state, device, true),
                  one_by_one = RunUpdates(optimizer, applies, sizes, state, device, false);
    CHECK(DifferenceOf(together.results, one_by_one.results, 0) == "");
    if (!is_double) continue;
    CHECK(together.launches == fewest);
    CHECK(one_by_one.launches ==
          static_cast<int>(sizes.size()) - static_cast<int>(std::count(sizes.begin(), sizes.end(), 0)));
    CHECK(state->recordings == 0);  // sessions are gone
  }
}

TEST_CASE("device: one launch steps all weights of an optimizer, bit for bit as launches one by one") {
  const int64_t chunk = device::kOptimizedChunk;
  for (const OptimizerCase& optimizer : kOptimizers) {
    for (const std::optional<bool> applies : {std::optional<bool>(), std::optional(true), std::optional(false)}) {
      CheckUpdates(optimizer, applies, {1, 3, chunk - 1, 0, chunk, chunk + 1, 7, 5 * chunk + 77}, 1);
    }
  }
}

TEST_CASE("device: as many launches step 200 weights as it takes to hold their places") {
  std::vector<int64_t> sizes;
  for (int64_t i = 0; i < 200; ++i) sizes.push_back(i % 7 == 0 ? 1 : (i * 37) % 300);
  const auto count = static_cast<int>(200 - std::count(sizes.begin(), sizes.end(), 0));
  const auto held = static_cast<int>(device::kMostOptimized);
  for (const OptimizerCase& optimizer : {kOptimizers[0], kOptimizers[4]}) {
    CheckUpdates(optimizer, true, sizes, (count - 1) / held + 1);
  }
}

TEST_CASE(
    "device: weights that an optimizer steps otherwise, or whose next value somebody reads, have launches of their "
    "own") {
  const auto launches_of = [](const std::string& nodes, const std::string& more_outputs = "") {
    const auto state = std::make_shared<FakeDeviceState>();
    SessionOptions options;
    options.device = OpenFakeDevice(state);
    const SessionText text = {.text = absl::StrCat(R"(<ir_version: 10, opset_import: ["" : 21, "ai.amp" : 1]>
      g (float[8] w, float[8] v, float[8] g, float[8] h, float rate, float rate2, bool apply, bool apply2)
        => (float[8] a, float[8] b)",
                                                   more_outputs, ") {", nodes, "}")};
    const auto session = MakeSession(text, options), expected = MakeSession(text, OneByOne());
    NamedDatums inputs = {{"rate", Number(0.5f)},
                          {"rate2", Number(0.25f)},
                          {"apply", Tensor::Scalar(true)},
                          {"apply2", Tensor::Scalar(false)}};
    for (const char* const name : {"w", "v", "g", "h"}) inputs[name] = RandomTensor(DType::kFloat32, {8});
    CHECK(DifferenceOf(RunSession(*session, inputs), RunSession(*expected, inputs), 1e-6) == "");
    return state->kernels[static_cast<size_t>(device::Kernel::kOptimize)];
  };
  CHECK(launches_of("a = ai.amp.Sgd (w, g, rate) b = ai.amp.Sgd (v, h, rate)") == 1);
  CHECK(launches_of("a = ai.amp.Sgd (w, g, rate) b = ai.amp.Sgd (v, h, rate2)") == 2);
  CHECK(launches_of("a = ai.amp.Sgd (w, g, rate) b = ai.amp.Sgd (v, a, rate)") == 2);
  CHECK(launches_of("a = ai.amp.ConditionalSgd (apply, w, g, rate) b = ai.amp.ConditionalSgd (apply, v, h, rate)") ==
        1);
  CHECK(launches_of("a = ai.amp.ConditionalSgd (apply, w, g, rate) b = ai.amp.ConditionalSgd (apply2, v, h, rate)") ==
        2);
  CHECK(launches_of("a, c = ai.amp.Momentum <momentum = 0.9> (w, g, g, rate) b, d = ai.amp.Momentum <momentum = 0.9> "
                    "(v, h, h, rate)",
                    ", float[8] c, float[8] d") == 1);
  CHECK(launches_of("a, c = ai.amp.Momentum <momentum = 0.9> (w, g, g, rate) b, d = ai.amp.Momentum <momentum = 0.5> "
                    "(v, h, h, rate)",
                    ", float[8] c, float[8] d") == 2);
  CHECK(launches_of("a, c = ai.amp.Momentum <momentum = 0.9> (w, g, g, rate) b = ai.amp.Momentum <momentum = 0.9> (v, "
                    "h, h, rate)",
                    ", float[8] c") == 2);
  // A value that does not fit is one node's alone; the others are stepped one by one.
  CHECK(launches_of("s = Constant <value_ints = [8]> () k = Reshape (h, s) a = ai.amp.Sgd (w, g, rate) b = ai.amp.Sgd "
                    "(v, k, rate)") == 1);
}

// ---- loss scales ----------------------------------------------------------------------------------------------------

TEST_CASE("device: whether gradients are finite") {
  for (const float odd : {0.0f, -3e38f, 1e-42f, kInfinity, -kInfinity, kNan}) {
    for (const int64_t size : {int64_t{1}, int64_t{1000}}) {
      for (const int64_t place : {int64_t{0}, size - 1}) {
        Tensor x = RandomTensor(DType::kFloat32, {size});
        x.mutable_elements<float>()[static_cast<size_t>(place)] = odd;
        CHECK(RunAgainstLoops({.node = "y = ai.amp.AllFinite (a)", .inputs = {x}, .outputs = {DType::kBool}}) == "");
      }
    }
  }
  const Tensor none = *Tensor::Create(DType::kFloat32, {0});
  CHECK(RunAgainstLoops({.node = "y = ai.amp.AllFinite (a)", .inputs = {none}, .outputs = {DType::kBool}}) == "");
}

TEST_CASE("device: gradients times a number") {
  for (const Dims& dims : {Dims{}, Dims{70}, Dims{3, 5, 2}, Dims{0}}) {
    const Tensor x = RandomTensor(DType::kFloat32, dims, Values::kWithSpecial);
    CHECK(RunAgainstLoops({.node = "y = ai.amp.ScaleGradient (a, b)", .inputs = {x, Number(0.3f)}, .relative = 0}) ==
          "");
  }
}

TEST_CASE("device: the next loss scale") {
  const std::string node =
      "y, z = ai.amp.UpdateLossScale <interval = 3, growth = 2.0, backoff = 0.5, floor = 1.0, cap = 64.0> (a, b, c)";
  const Tensor scales = Tensor::Of<float>(DType::kFloat32, {8}, {8, 8, 8, 8, 1.5f, 1, 64, kInfinity});
  Tensor finite = *Tensor::Create(DType::kBool, {8});
  for (size_t i = 0; i < 8; ++i) finite.mutable_elements<bool>()[i] = i < 3 || i > 5;
  const auto check = [&](const Tensor& scale, const Tensor& steps, const Tensor& truths) {
    CHECK(RunAgainstLoops({.node = node,
                           .inputs = {scale, steps, truths},
                           .outputs = {DType::kFloat32, DType::kInt64},
                           .relative = 0}) == "");
  };
  check(scales, Tensor::OfInts({0, 1, 2, 2, 0, 1, 2, 7}), finite);
  check(Number(16), Tensor::Scalar(int64_t{2}), Tensor::Scalar(true));
}

// ---- losses ---------------------------------------------------------------------------------------------------------

// Gradients are of numbers around 1, times 512: the last bit of one is 6e-5.
void CheckLoss(const std::string& name, const Tensor& logits, const Tensor& wanted) {
  const auto run = [&](const std::string& node, std::vector<Tensor> inputs) {
    return RunOnDevice({.node = node,
                        .inputs = std::move(inputs),
                        .outputs = {DType::kFloat32},
                        .relative = 2e-6,
                        .absolute = 1.5e-4});
  };
  INFO(name << " " << logits.TypeText() << " " << wanted.TypeText());
  CHECK(run(absl::StrCat("y = ai.amp.", name, " (a, b)"), {logits, wanted}) == "");
  CHECK(run(absl::StrCat("y = ai.amp.", name, "Gradient (a, b, c)"), {logits, wanted, Number(512)}) == "");
  const Tensor low = Tensor::Of<uint16_t>(DType::kUint16, {}, {0x4400}).Reinterpreted(DType::kFloat16);
  CHECK(run(absl::StrCat("y = ai.amp.", name, "Gradient (a, b, c)"), {logits, wanted, low}) == "");
}

TEST_CASE("device: cross-entropies of labels, of all types, and of those that are no class") {
  for (const DType dtype : kLoopFloats) {
    const Tensor logits = RandomTensor(dtype, {5, 4});
    for (const std::vector<int64_t>& labels :
         {std::vector<int64_t>{3, 0, 1, 1, 2}, {3, 4, 1, 1, 2}, {-1, 0, 1, 1, 2}}) {
      CheckLoss("SparseSoftmaxCrossEntropy", logits, Tensor::OfInts(labels));
    }
    CheckLoss("SparseSoftmaxCrossEntropy", logits, Tensor::Of<int32_t>(DType::kInt32, {5}, {3, 0, 1, 1, 2}));
    CheckLoss("SparseSoftmaxCrossEntropy", logits, Tensor::Of<uint8_t>(DType::kUint8, {5}, {3, 0, 1, 1, 2}));
    CheckLoss("SparseSoftmaxCrossEntropy", logits, Tensor::Of<int8_t>(DType::kInt8, {5}, {3, 0, -1, 1, 2}));
    CheckLoss("SparseSoftmaxCrossEntropy", logits, Tensor::Of<float>(DType::kFloat32, {5}, {3.5f, 0, 1, 4, kNan}));
  }
  CheckLoss("SparseSoftmaxCrossEntropy", RandomTensor(DType::kFloat16, {2, 3, 700}, Values::kPlain, 10),
            Tensor::OfInts({3, 699, 1, 0, 5, 6}).Reshaped({2, 3}));
  CheckLoss("SparseSoftmaxCrossEntropy", *Tensor::Create(DType::kFloat32, {0, 4}), Tensor::OfInts({}));
  CheckLoss("SparseSoftmaxCrossEntropy", RandomTensor(DType::kFloat32, {4}), Tensor::Scalar(int64_t{2}));
  CheckLoss("SparseSoftmaxCrossEntropy", RandomTensor(DType::kFloat32, {9, 3}, Values::kWithSpecial),
            Tensor::OfInts({0, 1, 2, 0, 1, 2, 0, 1, 2}));
}

TEST_CASE("device: cross-entropies of targets, weights other than one among them") {
  const Tensor targets = Tensor::Of<float>(DType::kFloat32, {3, 4}, {1, 0, 0, 0, 0.5, 0.25, 0, 0.25, 0, 0, 2, 1});
  for (const DType dtype : kLoopFloats) {
    CheckLoss("SoftmaxCrossEntropy", RandomTensor(dtype, {3, 4}), targets);
    CheckLoss("SoftmaxCrossEntropy", RandomTensor(dtype, {2, 3, 300}), RandomTensor(dtype, {2, 3, 300}));
  }
  Tensor far = RandomTensor(DType::kFloat32, {3, 4});
  far.mutable_elements<float>()[2] = -kInfinity;  // of which nothing is wanted
  CheckLoss("SoftmaxCrossEntropy", far, targets);
  CheckLoss("SoftmaxCrossEntropy", *Tensor::Create(DType::kFloat32, {0, 4}), *Tensor::Create(DType::kFloat32, {0, 4}));
}

TEST_CASE("device: labels and targets that no kernel reads there are the processor's") {
  const Tensor logits = RandomTensor(DType::kFloat32, {3, 4});
  const auto why = [&](const std::string& name, const Tensor& wanted) {
    return WhyOnHost({.node = absl::StrCat("y = ai.amp.", name, " (a, b)"), .inputs = {logits, wanted}});
  };
  CHECK_THAT(why("SparseSoftmaxCrossEntropy", Tensor::Of<uint16_t>(DType::kUint16, {3}, {1, 2, 3})),
             Contains("labels of a type that is not read there"));
  CHECK_THAT(why("SparseSoftmaxCrossEntropy", Tensor::OfInts({1, 2})), Contains("expected shape [3]"));
  CHECK_THAT(why("SoftmaxCrossEntropy", RandomTensor(DType::kFloat64, {3, 4})),
             Contains("another type than float32, float16 and bfloat16"));
}

}  // namespace
}  // namespace amp
