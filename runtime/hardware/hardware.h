// Describes what a machine offers for 16-bit arithmetic: its GPUs, found through the driver library, and its processor,
// found through CPUID.
//
// No toolkit is needed, and nothing fails because something is absent: a machine without a driver has no GPUs, and
// `no_gpu_why` says so. Descriptions are plain data, so that tests call every function that decides from them
// (targets.h, compatibility.h) with made-up machines. Only DetectHardware and DetectCpu look at the real one.
#ifndef AMP_RUNTIME_HARDWARE_HARDWARE_H_
#define AMP_RUNTIME_HARDWARE_HARDWARE_H_

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace amp {

// The compute capability of an NVIDIA GPU: 9.0 is Hopper.
struct ComputeCapability {
  int major = 0, minor = 0;
  auto operator<=>(const ComputeCapability&) const = default;  // NOLINT(modernize-use-nullptr): clang-tidy 14 errs
};
std::string CapabilityText(ComputeCapability capability);  // "9.0"
std::string CudaVersionText(int version);                  // "13.0" of 13000

struct Gpu {
  std::string name;
  std::optional<ComputeCapability> capability;  // nothing: unknown, probably not an NVIDIA GPU
  int ordinal = 0;                              // index among the machine's GPUs

  // Whether the GPU has Tensor Cores, as far as these matter for 16 bits: 7.0 and later have them, except the TU116 and
  // TU117 chips (GTX 16xx and relatives), which are 7.5.
  bool HasTensorCores() const;
};

// Instruction sets that the processor has and that the operating system lets a process use.
struct CpuFeatures {
  bool avx2 = false;    // with FMA and F16C
  bool avx512 = false;  // F, BW, DQ, VL
  bool avx512_bf16 = false, avx512_fp16 = false;
  bool amx_bf16 = false, amx_fp16 = false;
  bool tiles_refused = false;  // the processor has AMX, but the operating system does not allow it
  bool operator==(const CpuFeatures&) const = default;
};

struct Hardware {
  std::vector<Gpu> gpus;
  std::string no_gpu_why;  // "no NVIDIA driver", ...; empty where there are GPUs
  std::optional<int> cuda_driver_version =
      std::nullopt;  // the newest CUDA version that the driver supports, 13000 for 13.0; nothing: unknown
  CpuFeatures cpu;
};

// Describes the machine that this process runs on. Loads the driver library, and asks the operating system for the
// right to use AMX tiles, which costs a process nothing until it uses them. Creates no device context.
Hardware DetectHardware();
CpuFeatures DetectCpu();

// The input of FeaturesOf: CPUID words, and the register state that the operating system saves (XCR0).
struct CpuidWords {
  uint32_t leaf1_ecx = 0;
  uint32_t leaf7_ebx = 0, leaf7_edx = 0;
  uint32_t leaf7_1_eax = 0;
  uint64_t xcr0 = 0;           // 0 where XGETBV is not available
  bool may_use_tiles = false;  // the operating system granted AMX
};
CpuFeatures FeaturesOf(const CpuidWords& words);

}  // namespace amp

#endif  // AMP_RUNTIME_HARDWARE_HARDWARE_H_
