// Runs a node on a device, and with the reference kernels, and compares what comes out.
//
//   RunOnDevice({.node = "y = Add(a, b)", .inputs = {RandomTensor(DType::kFloat16, {2, 3}), ...}}) == ""
//
// The device is the test double, and a GPU besides where there is one. Differences come back as text. So does a node
// that no kernel of the device took, with the reason.
#ifndef AMP_TESTS_RUNTIME_DEVICE_RUN_ON_DEVICE_H_
#define AMP_TESTS_RUNTIME_DEVICE_RUN_ON_DEVICE_H_

#include <memory>
#include <string>
#include <vector>

#include "runtime/device_run/open_device.h"
#include "runtime/plan/all_kernels.h"
#include "tests/runtime/device/fake_device.h"
#include "tests/runtime/loops/run_both.h"

namespace amp {

// The double first.
inline const std::vector<std::shared_ptr<Accelerator>>& TestDevices() {
  static const auto& devices = *[] {
    auto* const all = new std::vector<std::shared_ptr<Accelerator>>{OpenFakeDevice()};
    if (absl::StatusOr<std::shared_ptr<Accelerator>> gpu = OpenCudaDevice(0); gpu.ok()) all->push_back(*std::move(gpu));
    return all;
  }();
  return devices;
}

inline absl::StatusOr<std::vector<Datum>> RunCaseOn(const BothCase& each, const std::shared_ptr<Accelerator>& device,
                                                    std::string& how) {
  AMP_ASSIGN_OR_RETURN(const std::string bytes, ParseOnnxText(ModelText(each)));
  AMP_ASSIGN_OR_RETURN(LoadedFile file, ParseModel(bytes));
  SessionOptions options;
  options.device = device;
  AMP_ASSIGN_OR_RETURN(const auto session, Session::Create(std::move(file), options));
  NamedDatums inputs;
  for (size_t i = 0; i < each.inputs.size(); ++i) inputs[std::string(1, static_cast<char>('a' + i))] = each.inputs[i];
  AMP_ASSIGN_OR_RETURN(std::vector<Datum> outputs, session->Run(inputs));
  // Once more, in the arena that was planned, and recorded; then replayed.
  for (int run = 1; run < 3; ++run) {
    AMP_ASSIGN_OR_RETURN(outputs, session->Run(inputs));
  }
  for (const auto& block : session->program().blocks) {
    for (const Instruction& instruction : block) {
      const absl::MutexLock lock(&instruction.site->mutex);
      const KernelRow* const row = instruction.site->row;
      how = row->runs_on_device ? "" : absl::StrCat(row->family, ": ", instruction.site->why_not_better);
    }
  }
  return outputs;
}

// `find`: the kernels of the processor that say what is right.
inline std::string RunOnDevice(const BothCase& each,
                               const std::vector<std::shared_ptr<Accelerator>>& devices = TestDevices(),
                               FindKernels find = FindReferenceKernels) {
  const absl::StatusOr<Ran> expected = RunCase(each, find);
  if (!expected.ok()) return absl::StrCat("reference: ", expected.status().message());
  for (const std::shared_ptr<Accelerator>& device : devices) {
    std::string how;
    const absl::StatusOr<std::vector<Datum>> found = RunCaseOn(each, device, how);
    if (!found.ok()) return absl::StrCat(device->name(), ": ", found.status().message());
    if (!how.empty()) return absl::StrCat(device->name(), ": ran on the processor: ", how);
    for (size_t i = 0; i < found->size(); ++i) {
      const std::string difference = Difference(*(*found)[i].tensor(), *expected->outputs[i].tensor(), each);
      if (!difference.empty()) return absl::StrCat(device->name(), ": ", each.node, ": output ", i, ": ", difference);
    }
  }
  return "";
}

// Why the processor ran it, "loops: device: operands of different types"; "" where the device did.
inline std::string WhyOnHost(const BothCase& each) {
  std::string how;
  const absl::StatusOr<std::vector<Datum>> found = RunCaseOn(each, TestDevices()[0], how);
  return found.ok() ? how : absl::StrCat("error: ", found.status().message());
}

}  // namespace amp

#endif  // AMP_TESTS_RUNTIME_DEVICE_RUN_ON_DEVICE_H_
