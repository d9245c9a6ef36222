// Models written as ONNX's text, run on the test double and on the processor.
//
//   OnDouble({.graph = "(T[2,8] x) => (T[] y) { h = MatMul (x, w) y = Relu (h) }", ...}, DType::kFloat16).kernels()
#ifndef AMP_TESTS_RUNTIME_DEVICE_ON_FAKE_DEVICE_H_
#define AMP_TESTS_RUNTIME_DEVICE_ON_FAKE_DEVICE_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/catch2.h"
#include "tests/runtime/device/fake_device.h"
#include "tests/runtime/fused_case.h"

namespace amp {

using Kernels = std::vector<std::string>;

// A session with the double, after two runs whose outputs are those of the processor.
struct OnDouble {
  std::shared_ptr<FakeDeviceState> state = std::make_shared<FakeDeviceState>();
  std::unique_ptr<Session> session;
  std::weak_ptr<Accelerator> device;

  OnDouble(const FuseCase& each, DType dtype, const FakeDeviceLimits& limits = {}, SessionOptions options = {}) {
    const SessionText text = TextOf(each, dtype);
    const NamedDatums inputs = InputsOf(each, dtype);
    options.device = OpenFakeDevice(state, limits);
    device = options.device;
    session = MakeSession(text, options);
    const std::vector<Tensor> expected = RunSession(*MakeSession(text), inputs);
    const double tolerance = dtype == DType::kFloat32 ? 1e-4 : dtype == DType::kFloat16 ? 4e-3 : 3e-2;
    for (int run = 0; run < 2; ++run) CHECK(DifferenceOf(RunSession(*session, inputs), expected, tolerance) == "");
  }

  Kernels kernels() const { return KernelsOf(*session); }
  // Returns the library's name for the first kernel that ran, and why no better one did.
  std::string How() const {
    const Instruction* instruction = session->program().blocks[kMainGraph].data();
    while (!instruction->unfused.empty() && KernelOf(*instruction) == nullptr)
      instruction = instruction->unfused.data();
    const absl::MutexLock lock(&instruction->site->mutex);
    return absl::StrCat(instruction->site->implementation, "; ", instruction->site->why_not_better);
  }

 private:
  static const KernelRow* KernelOf(const Instruction& instruction) {
    const absl::MutexLock lock(&instruction.site->mutex);
    return instruction.site->row;
  }
};

}  // namespace amp

#endif  // AMP_TESTS_RUNTIME_DEVICE_ON_FAKE_DEVICE_H_
