// Targets, the machines that --target names, and how fast the kernels of each are with each low type.
//
//   cuda:7.5           float16 fast (Tensor Cores)     bfloat16 emulated
//   cpu:avx512_bf16    float16 emulated                bfloat16 somewhat faster (dot products)
//   cpu:amx            float16 emulated                bfloat16 fast (tiles)
//
// "Emulated" means stored in 16 bits and computed in float32: it saves memory, but no time. Source of the rows: the
// capability tables of CUDA's programming guide, Intel's instruction set extensions, the loss scaling notes of Keras.
#ifndef AMP_RUNTIME_HARDWARE_TARGETS_H_
#define AMP_RUNTIME_HARDWARE_TARGETS_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "ir/base/dtype.h"
#include "ir/base/target_promises.h"
#include "runtime/hardware/hardware.h"

namespace amp {

enum class KernelSpeed { kEmulated, kSlow, kSomewhatFast, kFast };

struct Target {
  std::string name;  // as --target takes it: "cuda:8.0", "cpu:amx"
  Device device = Device::kCpu;
  std::optional<ComputeCapability> capability;  // kCuda
  KernelSpeed float16 = KernelSpeed::kEmulated, bfloat16 = KernelSpeed::kEmulated;
  TargetPromises promises;

  KernelSpeed SpeedOf(DType low) const { return low == DType::kFloat16 ? float16 : bfloat16; }
  // Whether running low operators on this target is worth it.
  bool IsFastEnough(DType low) const { return SpeedOf(low) >= KernelSpeed::kSomewhatFast; }
  bool IsRewriteOnly() const { return device == Device::kXpu || device == Device::kTpu; }
};

// Returns names for help and completion: "any", "auto", "cuda:CC", "cpu:avx2" ...
std::vector<std::string> TargetNames();

// Finds a target by name; "cuda:8" is cuda:8.0. Returns nothing for unknown names, and for "any" and "auto", which are
// no targets of their own.
std::optional<Target> FindTarget(absl::string_view name);

// Return the target for a compute capability, and for a processor.
Target CudaTarget(ComputeCapability capability);
Target CpuTarget(const CpuFeatures& cpu);

}  // namespace amp

#endif  // AMP_RUNTIME_HARDWARE_TARGETS_H_
