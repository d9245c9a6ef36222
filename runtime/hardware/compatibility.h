// Judges whether 16 bits will be fast on a machine: the verdict that a user reads once per run, and the choices by it.
//
//   Mixed precision compatibility check (mixed_float16): OK
//     Likely fast on NVIDIA H200, compute capability 9.0 (x3).
//
// All functions decide from a description; none looks at the machine. The wording of the verdicts follows Keras' device
// check, which its users know.
#ifndef AMP_RUNTIME_HARDWARE_COMPATIBILITY_H_
#define AMP_RUNTIME_HARDWARE_COMPATIBILITY_H_

#include <optional>
#include <string>

#include "ir/base/dtype.h"
#include "runtime/hardware/hardware.h"
#include "runtime/hardware/targets.h"

namespace amp {

struct Compatibility {
  enum class Level { kOk, kWarning };
  Level level = Level::kOk;
  std::string explanation;  // one or two sentences
  // Returns verdict and explanation as the lines that are printed.
  std::string Text(DType low) const;
};

// Whether nodes are converted although the low type is not fast. --target auto and named targets close the gate.
enum class Gate { kOpen, kClosed };

// Return the verdict on a machine, and on a target that was named instead.
Compatibility CheckCompatibility(const Hardware& hardware, DType low, Gate gate = Gate::kOpen);
Compatibility CheckCompatibility(const Target& target, DType low);

// Chooses for --dtype auto on --target auto: float16 with Tensor Cores, bfloat16 if the processor computes in it (AMX,
// AVX512_BF16), else float16.
DType ChooseLowType(const Hardware& hardware);

// Chooses for --target auto: the best GPU if it is fast with the low type, else the processor if that is fast, else the
// best GPU, else the processor.
Target ChooseTarget(const Hardware& hardware, DType low);
// Returns the GPU that ChooseTarget chooses; nothing if it chooses the processor.
std::optional<Gpu> ChooseGpu(const Hardware& hardware, DType low);

}  // namespace amp

#endif  // AMP_RUNTIME_HARDWARE_COMPATIBILITY_H_
