#include "tools/program/describe_devices.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "ir/base/status.h"
#include "runtime/hardware/compatibility.h"
#include "runtime/hardware/usable_threads.h"
#include "runtime/loops/best_loops.h"
#include "runtime/onednn/open_library.h"
#include "tools/library/version.h"

namespace amp {
namespace {

std::string DescribeCpu(const CpuFeatures& cpu) {
  const std::pair<const char*, bool> features[] = {{"avx2", cpu.avx2},
                                                   {"avx512", cpu.avx512},
                                                   {"avx512_bf16", cpu.avx512_bf16},
                                                   {"avx512_fp16", cpu.avx512_fp16},
                                                   {"amx_bf16", cpu.amx_bf16},
                                                   {"amx_fp16", cpu.amx_fp16}};
  std::string text = "cpu:";
  for (const auto& [name, is_there] : features) {
    if (is_there) absl::StrAppend(&text, " ", name);
  }
  if (cpu.tiles_refused) text += "; AMX, but the operating system refuses its tiles (arch_prctl)";
  return text + "\n";
}

std::string DescribeGpus(const Hardware& hardware) {
  std::string text;
  for (const Gpu& gpu : hardware.gpus) {
    absl::StrAppend(&text, "gpu: ", Escaped(gpu.name));
    if (gpu.capability) absl::StrAppend(&text, ", compute capability ", CapabilityText(*gpu.capability));
    text += '\n';
  }
  if (hardware.gpus.empty()) absl::StrAppend(&text, "gpu: none, ", hardware.no_gpu_why, "\n");
  if (const std::optional<int> version = hardware.cuda_driver_version; version.has_value()) {
    absl::StrAppend(&text, "gpu driver: for CUDA up to ", CudaVersionText(*version), "\n");
  }
  return text;
}

}  // namespace

std::string DescribeKernels() {
  const onednn::OpenedLibrary& opened = onednn::OpenLibrary();
  const std::string library = opened.library == nullptr ? absl::StrCat("no oneDNN (", Escaped(opened.why_not), ")")
                                                        : absl::StrCat("oneDNN ", opened.library->Version());
  return absl::StrCat(library, " and ", BestLoops().name, " loops, ", UsableThreads(), " threads");
}

std::string DescribeDevices(const Hardware& hardware, const std::string& program) {
  std::string text =
      absl::StrCat(DescribeCpu(hardware.cpu), DescribeGpus(hardware), "models run on: cpu, ", DescribeKernels(), "\n");
  for (const DType low : {DType::kFloat16, DType::kBfloat16}) text += CheckCompatibility(hardware, low).Text(low);
  return absl::StrCat(text, VersionText(program), "\n");
}

}  // namespace amp
