// runtime/cuda/library_operations.cc with plans of our own instead of cuDNN's: what comes back, and what is said, where
// there is a plan, and where there is no memory for it.
#include "runtime/cuda/library_operations.h"
#include "runtime/device/raw/device_table.h"
#include "tests/catch2.h"
#include "tests/runtime/device/fake_cuda_runtime.h"

namespace amp::cuda {
namespace {

struct FakeCudnn {
  bool has_tensor_cores = true;
  size_t workspace_bytes = 0;
  std::string why_not = {};  // there is no plan
  void* given_workspace = nullptr;
};
FakeCudnn fake;

class FakePlan : public CudnnPlan {
 public:
  size_t workspace_bytes() const override { return fake.workspace_bytes; }
  const std::string& engine() const override { return engine_; }
  bool uses_tensor_cores() const override { return fake.has_tensor_cores; }
  std::string Run(cudnnContext*, const CudnnPointers&, void* workspace) const override {
    fake.given_workspace = workspace;
    return "";
  }

 private:
  const std::string engine_ = "eng7";
};

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
  fake = {.why_not = "planted"};
  LibraryOperations none(0);
  CHECK(Convolve(none).error == device::kNotTaken);
  CHECK(Convolve(none).text == "planted");
}

TEST_CASE("no memory for cuDNN's workspace is that, for nobody else to take over, and does not last") {
  fake = {.workspace_bytes = 5000};
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
  // Of 2 x 3 heads of 8 columns, 5 rows: as they are written, transposed, and beside each other in one tensor.
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
cudnnContext* MakeCudnnHandle(CUstream_st*, std::string&) { return reinterpret_cast<cudnnContext*>(&fake); }
void DestroyCudnnHandle(cudnnContext*) {}
CudnnPointers PointersOf(const device::LibraryConvolution&) { return {}; }
CudnnPointers PointersOf(const device::LibraryAttention&) { return {}; }

std::unique_ptr<CudnnPlan> PlanConvolution(const device::LibraryConvolution&, const CudnnTarget&,
                                           std::string& why_not) {
  why_not = fake.why_not;
  return why_not.empty() ? std::make_unique<FakePlan>() : nullptr;
}
std::unique_ptr<CudnnPlan> PlanAttention(const device::LibraryAttention&, const CudnnTarget&, std::string&) {
  return std::make_unique<FakePlan>();
}

}  // namespace amp::cuda
