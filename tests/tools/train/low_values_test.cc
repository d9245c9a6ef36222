// The values that a mixed step of training holds in 16 bits while it runs, and the effect of a loss scale that is too
// large.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "absl/strings/match.h"
#include "ir/graph/graph.h"
#include "passes/train/step_metadata.h"
#include "tests/catch2.h"
#include "tests/tools/train/step_graphs.h"
#include "tools/library/trainer.h"

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

// The 16-bit values of a model.
size_t CountLowValues(const std::string& path) {
  const absl::StatusOr<std::unique_ptr<Session>> session = Session::Create(path, OneByOne());
  INFO(session.status().message());
  REQUIRE(session.ok());
  const Model& model = (*session)->model();
  size_t count = 0;
  for (const ValueId value : model.AllValues()) count += IsLowFloat(model.value(value).dtype) ? 1 : 0;
  return count;
}

TEST_CASE("what a mixed step saves as its forward model is float32, and is trained on without a word") {
  const ScratchFolder folder;
  const std::string path = MakeStep(folder, {"mlp", "784-33-3"}, {"--policy", "mixed_float16"});
  const absl::StatusOr<std::unique_ptr<Trainer>> trainer = Trainer::Create(path);
  REQUIRE(trainer.ok());
  REQUIRE((*trainer)->Step(Batch({kSamples, kPixels})).ok());
  const std::string saved = folder.File("saved.onnx"), next = folder.File("next.onnx");
  const absl::StatusOr<std::vector<std::string>> notes = (*trainer)->SaveForward(saved, "", Overwrite::kSameKind);
  INFO(notes.status().message());
  REQUIRE(notes.ok());
  CHECK(notes->empty());
  CHECK(CountLowValues(saved) == 0);
  CHECK(CountLowValues(path) > 0);
  onnx::ModelProto model;
  REQUIRE(model.ParseFromString(folder.Read("saved.onnx")));
  CHECK(model.metadata_props().empty());
  for (const auto& weight : model.graph().initializer()) {
    const Tensor trained = *(*trainer)->State(weight.name());
    CHECK(weight.raw_data() ==
          absl::string_view(reinterpret_cast<const char*>(trained.bytes().data()), trained.size_bytes()));
  }
  const ToolOutput trained = RunAmpRewrite({saved, "-o", next, "--train", "--policy", "mixed_float16"});
  INFO(trained.out);
  CHECK(trained.exit_code == 0);
  CHECK(trained.err == "");
  CHECK_FALSE(absl::StrContains(trained.out, "Converted 0 of"));
}

TEST_CASE("what cannot be taken back when a mixed step's forward model is saved is said") {
  const ScratchFolder folder;
  MakeStep(folder, {"mlp", "8-16-4"}, {"--dtype", "float16", "--freeze", "dense_1_*"});
  const auto notes_of = [&](std::string bytes) {
    const absl::StatusOr<std::unique_ptr<Trainer>> trainer = Trainer::CreateFromBytes(std::move(bytes));
    REQUIRE(trainer.ok());
    const absl::StatusOr<std::vector<std::string>> notes =
        (*trainer)->SaveForward(folder.File("saved.onnx"), "", Overwrite::kSameKind);
    INFO(notes.status().message());
    REQUIRE(notes.ok());
    return *notes;
  };
  const std::string step = folder.Read("step.onnx");
  CHECK(notes_of(step) ==
        std::vector<std::string>{"2 weights keep the rounding of float16: the float32 values are not in the file"});
  CHECK(CountLowValues(folder.File("saved.onnx")) == 0);
  onnx::ModelProto model;
  REQUIRE(model.ParseFromString(step));
  auto& entries = *model.mutable_metadata_props();
  entries.erase(
      std::remove_if(entries.begin(), entries.end(), [](const auto& entry) { return entry.key() == "amp.rewrite"; }),
      entries.end());
  const std::vector<std::string> unrecorded = notes_of(model.SerializeAsString());
  REQUIRE(unrecorded.size() == 1);
  CHECK(absl::StrContains(unrecorded[0], "the model computes in float16 and stays so: it has no record of a rewrite"));
  CHECK(CountLowValues(folder.File("saved.onnx")) > 0);
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
