// What a mixed step of training holds in 16 bits while it runs, and what a loss scale that is too large does to it.
#include <cmath>
#include <map>
#include <set>

#include "absl/strings/match.h"
#include "ir/graph/graph.h"
#include "passes/train/step_metadata.h"
#include "tests/catch2.h"
#include "tests/tools/train/step_graphs.h"
#include "tools/train/trainer.h"

namespace amp {
namespace {

constexpr int64_t kSamples = 6, kPixels = 28 * 28;

NamedDatums Batch(Dims dims) {
  Tensor x = *Tensor::Create(DType::kFloat32, std::move(dims));
  int64_t i = 0;
  for (float& element : x.mutable_elements<float>()) element = std::sin(static_cast<float>(i++) * 1.7F);
  return {{"x", x}, {"labels", Tensor::OfInts({0, 1, 2, 0, 2, 1})}};
}

// Results of layers and of what is between them, forward and backward; the loss is float32 by design.
bool IsOfLayer(const Model& step, const Value& value) {
  static const std::set<absl::string_view> kOperators = {"MatMul", "Gemm",  "Conv",    "ConvTranspose",
                                                         "Relu",   "Where", "MaxPool", "MaxPoolGradient"};
  return kOperators.contains(step.node(value.producer).op_type()) && !absl::StartsWith(value.name, "loss/") &&
         !absl::StartsWith(value.name, "gradient/loss/");
}

// How many of them a step computes; each must be of type `low`.
size_t CountLow(const std::vector<std::string>& model, const Dims& x, const std::string& policy, DType low) {
  const ScratchFolder folder;
  SessionOptions options = OneByOne();
  options.fuse_training = true;  // the bodies of gradients are another form of what their kernels compute
  const absl::StatusOr<std::unique_ptr<Session>> session =
      Session::Create(MakeStep(folder, model, {"--policy", policy}), options);
  REQUIRE(session.ok());
  const Model& step = (*session)->model();
  size_t count = 0;
  const ValueObserver observer = [&](ValueId id, const Datum& datum) {
    const Value& value = step.value(id);
    if (datum.tensor() == nullptr || value.producer == kNone) return;
    const Tensor& tensor = *datum.tensor();
    INFO(value.name << " of " << step.NodeLabel(value.producer) << " is " << tensor.TypeText());
    CHECK(tensor.dtype() == value.dtype);
    if (tensor.rank() < 2 || !IsOfLayer(step, value)) return;
    CHECK(tensor.dtype() == low);
    ++count;
  };
  const absl::StatusOr<std::vector<Datum>> outputs = (*session)->Run(Batch(x), {.observer = &observer});
  INFO(outputs.status().message());
  REQUIRE(outputs.ok());
  return count;
}

TEST_CASE("every activation and every gradient of one is a 16-bit value when a mixed step runs") {
  // Forward: three products and two activations; backward: two products and two masks.
  for (const auto& [policy, low] :
       {std::pair("mixed_float16", DType::kFloat16), std::pair("mixed_bfloat16", DType::kBfloat16)}) {
    CHECK(CountLow({"mlp", "784-33-21-3"}, {kSamples, kPixels}, policy, low) == 9);
    CHECK(CountLow({"cnn"}, {kSamples, 1, 28, 28}, policy, low) == 17);  // nine and eight
  }
}

TEST_CASE("what a mixed step saves as its forward model can be taken back to float32, and trained on") {
  const ScratchFolder folder;
  const std::string path = MakeStep(folder, {"mlp", "784-33-3"}, {"--policy", "mixed_float16"});
  const absl::StatusOr<std::unique_ptr<Trainer>> trainer = Trainer::Create(path);
  REQUIRE(trainer.ok());
  REQUIRE((*trainer)->Step(Batch({kSamples, kPixels})).ok());
  const std::string saved = folder.File("saved.onnx"), back = folder.File("back.onnx"), next = folder.File("next.onnx");
  REQUIRE((*trainer)->SaveWeights(saved).ok());
  const ToolOutput taken_back = RunAmpRewrite({saved, "-o", back, "--policy", "float32"});
  INFO(taken_back.out << taken_back.err);
  CHECK(absl::StrContains(taken_back.out, "Took back the conversion to float16"));
  const absl::StatusOr<std::unique_ptr<Session>> session = Session::Create(back, OneByOne());
  REQUIRE(session.ok());
  const Model& model = (*session)->model();
  for (const ValueId value : model.AllValues()) CHECK(model.value(value).dtype != DType::kFloat16);
  const ToolOutput trained = RunAmpRewrite({saved, "-o", next, "--train", "--policy", "mixed_float16"});
  INFO(trained.out << trained.err);
  CHECK(trained.exit_code == 0);
  CHECK_FALSE(absl::StrContains(trained.out, "Converted 0 of"));
}

TEST_CASE("a loss scale of 2^24 overflows by itself: the step is skipped and the scale halves until a step is taken") {
  const ScratchFolder folder;
  const std::string path = MakeStep(folder, {"mlp", "784-33-3"}, {"--loss-scale-initial", "16777216"});
  const absl::StatusOr<std::unique_ptr<Trainer>> trainer = Trainer::Create(path);
  REQUIRE(trainer.ok());
  std::map<std::string, std::vector<std::byte>> before;
  const auto bytes_of = [&](const std::string& state) {
    const absl::Span<const std::byte> bytes = (*trainer)->State(state)->bytes();
    return std::vector<std::byte>(bytes.begin(), bytes.end());
  };
  for (const std::string& state : (*trainer)->StateNames()) before[state] = bytes_of(state);
  float scale = 16777216;
  int skipped = 0;
  for (bool finite = false; !finite && skipped < 24;) {
    const absl::StatusOr<TrainStep> step = (*trainer)->Step(Batch({kSamples, kPixels}));
    REQUIRE(step.ok());
    CHECK(std::isfinite(step->loss));
    finite = step->finite;
    if (finite) break;
    ++skipped;
    scale /= 2;
    CHECK(step->loss_scale == scale);
    for (const auto& [state, bytes] : before) {
      INFO(state);
      if (state != (*trainer)->description().scale) CHECK(bytes_of(state) == bytes);
    }
  }
  CHECK(skipped >= 2);  // a logit's gradient is up to 1 / 6 of the scale
  CHECK(scale >= 65504);
}

}  // namespace
}  // namespace amp
