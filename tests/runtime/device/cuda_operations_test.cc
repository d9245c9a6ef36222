// runtime/cuda/library_operations.cc with plans of our own instead of cuDNN's: what comes back, and what is said, where
// there is a plan, and where there is no memory for it.
#include <string>
#include <vector>

#include "runtime/cuda/library_operations.h"
#include "runtime/device/raw/device_table.h"
#include "tests/catch2.h"
#include "tests/runtime/device/fake_cuda_runtime.h"
#include "tests/runtime/device/kept_choices.h"

namespace amp::cuda {
namespace {

using Catch::Matchers::StartsWith;

// An engine that is proposed, and how long it takes; kNever: it does not run.
struct FakeEngine {
  std::string name;
  float milliseconds = 1;
  size_t workspace_bytes = 0;
};
constexpr float kNever = -1;

struct FakeCudnn {
  bool has_tensor_cores = true;
  std::vector<FakeEngine> engines = {{"eng7"}};  // the best in its eyes first
  CudnnFailure creates = {}, plans = {}, runs = {};
  void* given_workspace = nullptr;
  int planned = 0, runs_started = 0;
};
FakeCudnn fake;

class FakePlan : public CudnnPlan {
 public:
  explicit FakePlan(std::vector<FakeEngine> engines) : engines_(std::move(engines)) {}

  size_t num_candidates() const override { return engines_.size(); }
  void Take(size_t candidate) override { taken_ = candidate; }
  size_t workspace_bytes() const override { return engines_[taken_].workspace_bytes; }
  const std::string& engine() const override { return engines_[taken_].name; }
  bool uses_tensor_cores() const override { return fake.has_tensor_cores; }
  CudnnFailure Run(cudnnContext*, const CudnnPointers&, void* workspace) const override {
    ++fake.runs_started;
    fake.given_workspace = workspace;
    if (!fake.runs.text.empty()) return fake.runs;
    if (engines_[taken_].milliseconds == kNever) return {.text = "planted"};
    FakeCuda().now_ms += engines_[taken_].milliseconds;
    return {};
  }

 private:
  std::vector<FakeEngine> engines_;
  size_t taken_ = 0;
};

std::unique_ptr<CudnnPlan> MakeFakePlan(const CudnnWish& wish, CudnnFailure& failure) {
  ++fake.planned;
  failure = fake.plans;
  std::vector<FakeEngine> engines;
  for (const FakeEngine& engine : fake.engines) {
    const bool is_wished = wish.engine.empty() || wish.engine == engine.name;
    if (is_wished && engines.size() < wish.most_candidates) engines.push_back(engine);
  }
  if (engines.empty()) failure.text = "'" + wish.engine + "' is not proposed";
  return failure.text.empty() ? std::make_unique<FakePlan>(std::move(engines)) : nullptr;
}

struct Answer {
  int error = 0;
  std::string text;
};
Answer Convolve(LibraryOperations& operations, device::Storage storage = device::Storage::kFloat16) {
  device::LibraryConvolution convolution = {};
  convolution.storage = convolution.stored_as = storage;
  char text[device::kMaxOperationText] = "";
  const int error = operations.Convolve(convolution, nullptr, text);
  return {error, text};
}

TEST_CASE("convolutions in 16 bits say whether they run on Tensor Cores") {
  fake = {};
  LibraryOperations operations(0);
  CHECK(Convolve(operations).error == 0);
  CHECK(Convolve(operations).text == "cuDNN 9.19.0 eng7, Tensor Cores");
  LibraryOperations others(0);
  fake.has_tensor_cores = false;
  CHECK(Convolve(others).error == device::kWithoutTensorCores);
  CHECK(Convolve(others).text == "cuDNN 9.19.0 eng7, no Tensor Cores");
  CHECK(Convolve(others, device::Storage::kFloat32).error == 0);
  CHECK(Convolve(others, device::Storage::kFloat32).text ==
        "cuDNN 9.19.0 eng7, strict float32: no TF32, no BF16x9 emulation");
  fake = {.plans = {.text = "planted"}};
  LibraryOperations none(0);
  CHECK(Convolve(none).error == device::kNotTaken);
  CHECK(Convolve(none).text == "planted");
}

TEST_CASE("no memory for cuDNN's workspace is that, for nobody else to take over, and does not last") {
  fake = {.engines = {{.name = "eng7", .workspace_bytes = 5000}}};
  FakeCuda() = {.room_bytes = 1000};
  {
    LibraryOperations operations(0);
    const Answer answer = Convolve(operations);
    CHECK(answer.error == device::kOutOfMemory);
    CHECK(answer.text == "no workspace of 5000 bytes for cuDNN");
    CHECK(FakeCuda().last_error == 0);
    FakeCuda().room_bytes = 5000;
    CHECK(Convolve(operations).error == 0);
    CHECK(fake.given_workspace != nullptr);
    CHECK(FakeCuda().live_blocks == 1);
  }
  CHECK(FakeCuda().live_blocks == 0);
  FakeCuda() = {};
}

TEST_CASE("no memory for cuDNN itself, for planning or for a run is that, and does not last") {
  const CudnnFailure no_memory = {.text = "planted", .is_out_of_memory = true};
  for (CudnnFailure FakeCudnn::*const place : {&FakeCudnn::creates, &FakeCudnn::plans, &FakeCudnn::runs}) {
    fake = {};
    LibraryOperations operations(0);
    fake.*place = no_memory;
    FakeCuda().last_error = cudaErrorMemoryAllocation;
    const Answer answer = Convolve(operations);
    CHECK(answer.error == device::kOutOfMemory);
    CHECK(answer.text == "planted");
    CHECK(FakeCuda().last_error == 0);
    fake.*place = {};
    CHECK(Convolve(operations).error == 0);
  }
  fake = {.creates = {.text = "planted"}};
  LibraryOperations others(0);
  CHECK(Convolve(others).error == device::kNotTaken);
}

// ---- choosing by time -----------------------------------------------------------------------------------------------

const std::vector<FakeEngine> kEngines = {{"eng1", 3}, {"eng2_k2=4", 2, 5000}, {"eng3", kNever}, {"eng4", 4}};

TEST_CASE("with choices the fastest engine is taken and kept, and known the next time") {
  fake = {.engines = kEngines};
  KeptChoices kept;
  {
    LibraryOperations operations(0);
    operations.UseChoices(&kept.choices);
    CHECK(Convolve(operations).text == "cuDNN 9.19.0 eng2_k2=4, Tensor Cores, fastest of 4");
    CHECK(kept.by_key.size() == 1);
    CHECK_THAT(kept.by_key.begin()->first, StartsWith("cudnn 91900 NVIDIA H200 9.0 0 "));
    CHECK(kept.by_key.begin()->second == "eng2_k2=4");
    CHECK(FakeCuda().live_blocks == 1);  // the workspaces that were for timing are gone
    const int runs = fake.runs_started;
    CHECK(Convolve(operations).error == 0);
    CHECK(fake.runs_started == runs + 1);
  }
  CHECK(FakeCuda().live_blocks == 0);
  LibraryOperations next(0);
  next.UseChoices(&kept.choices);
  fake.planned = fake.runs_started = 0;
  CHECK(Convolve(next).text == "cuDNN 9.19.0 eng2_k2=4, Tensor Cores, chosen by time before");
  CHECK(fake.planned == 1);
  CHECK(fake.runs_started == 1);
  CHECK(Convolve(next, device::Storage::kFloat32).text == "cuDNN 9.19.0 eng2_k2=4, TF32, fastest of 4");
  CHECK(kept.by_key.size() == 2);
  CHECK(kept.refused.empty());
}

TEST_CASE(
    "an engine that was kept and is no name, or not proposed any more, is refused, and the fastest is found anew") {
  for (const std::string& value :
       {std::string("eng9"), std::string("a b"), std::string(3, '\0'), std::string(500, 'x')}) {
    fake = {.engines = kEngines};
    KeptChoices kept;
    LibraryOperations first(0), second(0);
    first.UseChoices(&kept.choices);
    CHECK(Convolve(first).error == 0);
    kept.by_key.begin()->second = value;
    second.UseChoices(&kept.choices);
    CHECK(Convolve(second).text == "cuDNN 9.19.0 eng2_k2=4, Tensor Cores, fastest of 4");
    CHECK(kept.by_key.begin()->second == "eng2_k2=4");
    CHECK(kept.refused ==
          std::vector<std::string>{value == "eng9" ? "'eng9' is not proposed" : "it is no engine of cuDNN"});
  }
}

TEST_CASE("engines without room for their workspace are not timed, and what runs nowhere is not kept") {
  KeptChoices kept;
  fake = {.engines = kEngines};
  FakeCuda() = {.room_bytes = 1000};
  LibraryOperations small(0);
  small.UseChoices(&kept.choices);
  CHECK(Convolve(small).text == "cuDNN 9.19.0 eng1, Tensor Cores, fastest of 4");
  CHECK(FakeCuda().last_error == 0);
  FakeCuda() = {};
  kept.by_key.clear();
  fake = {.engines = {{"eng1", kNever}, {"eng2", kNever}}};
  LibraryOperations failing(0);
  failing.UseChoices(&kept.choices);
  CHECK(Convolve(failing).error == device::kNotTaken);
  for (const auto& [unused, value] : kept.by_key) CHECK(value.empty());
}

TEST_CASE("what is recorded is not timed, and without choices nothing is") {
  fake = {.engines = kEngines};
  KeptChoices kept;
  FakeCuda().is_capturing = true;
  LibraryOperations recorded(0), plain(0);
  recorded.UseChoices(&kept.choices);
  CHECK(Convolve(recorded).text == "cuDNN 9.19.0 eng1, Tensor Cores");
  FakeCuda() = {};
  CHECK(Convolve(plain).text == "cuDNN 9.19.0 eng1, Tensor Cores");
  CHECK(fake.runs_started == 2);
}

TEST_CASE("what an old cuDNN is not asked for has a reason") {
  CHECK(WhyTooOld(90701) == "cuDNN 9.7.1 is too old: expected 9.8.0 or newer");
  CHECK(WhyTooOld(90800).empty());
  device::LibraryConvolution convolution = {};
  convolution.channels = convolution.filters = 32;
  convolution.gives_weights = true;
  for (const int64_t groups : {1, 4}) {
    convolution.groups = groups;
    CHECK(WhyTooOld(convolution, 90800).empty());
  }
  convolution.groups = 32;
  CHECK(WhyTooOld(convolution, 92302) ==
        "cuDNN 9.23.2 is too old for depthwise convolutions: expected 9.24.0 or newer");
  CHECK(WhyTooOld(convolution, 92400).empty());
}

TEST_CASE("attention whose operands are parts of larger tensors is for a newer cuDNN than that of whole ones") {
  // Steps of 2 x 3 heads of 5 rows and 8 columns: in row-major order, transposed, and beside each other in one tensor.
  const device::HeadSteps apart = {{3 * 5 * 8, 5 * 8, 8, 1}}, transposed = {{5 * 3 * 8, 8, 3 * 8, 1}},
                          beside = {{5 * 3 * 3 * 8, 8, 3 * 3 * 8, 1}};
  device::LibraryAttention attention = {};
  attention.batch = 2;
  attention.heads = attention.key_heads = 3;
  attention.queries = attention.keys = 5;
  attention.size = attention.value_size = 8;
  attention.q_steps = attention.y_steps = transposed;
  attention.k_steps = attention.v_steps = apart;
  CHECK(WhyTooOld(attention, 91500) == "cuDNN 9.15.0 is too old for attention: expected 9.15.1 or newer");
  CHECK(WhyTooOld(attention, 91501).empty());
  attention.k_steps = beside;
  CHECK(WhyTooOld(attention, 91500) == "cuDNN 9.15.0 is too old for attention: expected 9.15.1 or newer");
  CHECK(WhyTooOld(attention, 92399) ==
        "cuDNN 9.23.99 is too old for attention to parts of tensors: expected 9.24.0 or newer");
  CHECK(WhyTooOld(attention, 92400).empty());
  attention.k_steps = transposed;
  attention.batch = 1;  // whose step is any
  attention.q_steps.steps[0] = 7;
  CHECK(WhyTooOld(attention, 91501).empty());
}

}  // namespace

const CudnnLibrary& OpenCudnn() {
  static const CudnnLibrary library = {.handle = nullptr, .version = 91900, .why_not = ""};
  return library;
}
cudnnContext* MakeCudnnHandle(CUstream_st*, CudnnFailure& failure) {
  failure = fake.creates;
  return failure.text.empty() ? reinterpret_cast<cudnnContext*>(&fake) : nullptr;
}
void DestroyCudnnHandle(cudnnContext*) {}
CudnnPointers PointersOf(const device::LibraryConvolution&) { return {}; }
CudnnPointers PointersOf(const device::LibraryAttention&) { return {}; }

std::unique_ptr<CudnnPlan> PlanConvolution(const device::LibraryConvolution&, const CudnnTarget&, const CudnnWish& wish,
                                           CudnnFailure& failure) {
  return MakeFakePlan(wish, failure);
}
std::unique_ptr<CudnnPlan> PlanAttention(const device::LibraryAttention&, const CudnnTarget&, const CudnnWish& wish,
                                         CudnnFailure& failure) {
  return MakeFakePlan(wish, failure);
}

}  // namespace amp::cuda
