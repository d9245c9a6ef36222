// The reasons that are given where no GPU can be used, in the order in which they are looked for, and libamp_cuda.so
// itself, which loads without a driver.
#include "runtime/device_run/open_device.h"

#include "ir/base/status.h"
#include "runtime/device/accelerator.h"
#include "runtime/hardware/open_shared_object.h"
#include "tests/catch2.h"

namespace amp {
namespace {

using Catch::Matchers::Contains;

std::string Why(const Hardware& hardware, int ordinal = 0) {
  const absl::Status status = CheckCudaDevice(hardware, ordinal);
  if (!status.ok()) CHECK(ExitCode(status) == 8);
  return std::string(status.message());
}

Hardware Machine(std::vector<Gpu> gpus) {
  for (size_t i = 0; i < gpus.size(); ++i) gpus[i].ordinal = static_cast<int>(i);
  return {.gpus = std::move(gpus), .no_gpu_why = "", .cuda_driver_version = 99000, .cpu = {}};
}

// "" where kernels were built.
bool IsBuilt(absl::string_view why) { return why.find("built without CUDA") == absl::string_view::npos; }

TEST_CASE("the first reason is said, one line each") {
  Hardware none = {.gpus = {}, .no_gpu_why = "no NVIDIA driver", .cuda_driver_version = {}, .cpu = {}};
  CHECK(Why(none) == "no NVIDIA driver");
  const Hardware good = Machine({{"NVIDIA H200", ComputeCapability{9, 0}}, {"Odd", {}}});
  CHECK(Why(good, 2) == "expected a GPU of number 0, 1, found none of number 2");
  CHECK_THAT(Why(good, 1), Contains("Odd has compute capability unknown; expected 7."));
  if (!IsBuilt(Why(good))) {
    WARN("built without CUDA: an old driver and an old GPU are not looked at");
    return;
  }
  CHECK(Why(good) == "");
  CHECK(Why(Machine({{"RTX 5090", ComputeCapability{12, 0}}})) == "");  // from PTX
  CHECK_THAT(Why(Machine({{"Tesla\nP4", ComputeCapability{6, 1}}})),
             Contains("Tesla\\x0aP4 has compute capability 6.1; expected 7."));
  none.cuda_driver_version = 9020;
  none.no_gpu_why = "the NVIDIA driver finds no GPU";
  CHECK_THAT(Why(none), Contains("the NVIDIA driver knows CUDA up to 9.2, and this was built with "));
}

TEST_CASE("a GPU that the driver does not tell of leaves the others their numbers") {
  Hardware broken_first = Machine({{"NVIDIA H200", ComputeCapability{9, 0}}});
  broken_first.gpus[0].ordinal = 1;
  CHECK(Why(broken_first, 0) == "expected a GPU of number 1, found none of number 0");
  CHECK(UsableHardware(broken_first).gpus.size() == (IsBuilt(Why(broken_first, 1)) ? 1 : 0));
}

TEST_CASE("libamp_cuda.so opens without a driver, and says why it has no device") {
  const SharedObject object = OpenSharedObject("libamp_cuda.so", "AmpCudaOpen");
  if (object.entry == nullptr) {
    WARN("no libamp_cuda.so, built without CUDA: " << object.why_not);
    return;
  }
  device::DeviceTable table;
  char why_not[device::kMaxWhyNot] = "";
  const int error = reinterpret_cast<decltype(&AmpCudaOpen)>(object.entry)(977, &table, why_not);
  CHECK(error != 0);
  CHECK(table.self == nullptr);
  for (const device::Launch launch : table.kernels.launches) CHECK(launch != nullptr);
  CHECK_THAT(why_not, Contains("cuda"));
  CHECK_THAT(why_not, Contains("(error "));
}

TEST_CASE("what is opened has every kernel, or there is a reason") {
  const absl::StatusOr<std::shared_ptr<Accelerator>> device = OpenCudaDevice(0);
  if (!device.ok()) {
    WARN("no GPU: " << device.status().message());
    CHECK(ExitCode(device.status()) == 8);
    return;
  }
  const Tensor x = Tensor::OfInts({1, 2, 3});
  const Tensor there = *(*device)->CopyIn(x, nullptr);
  CHECK((*device)->CopyOut(there, nullptr)->elements<int64_t>() == x.elements<int64_t>());
}

}  // namespace
}  // namespace amp
