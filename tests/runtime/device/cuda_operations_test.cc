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

}  // namespace

const CudnnLibrary& OpenCudnn() {
  static const CudnnLibrary library = {.handle = nullptr, .version = 91900, .why_not = ""};
  return library;
}
std::string CudnnVersionText(size_t) { return "9.19.0"; }
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
