// Will 16 bits be fast here? The verdict that a user reads once per run, and the choices made by it.
//
//   Mixed precision compatibility check (mixed_float16): OK
//     Likely fast on NVIDIA H200, compute capability 9.0 (x3).
//
// Everything is decided from a description; nothing looks at the machine. The wording of the verdicts follows what
// Keras' users know from its device check.
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
  // Both as the lines that are printed.
  std::string Text(DType low) const;
};

// Whether anything is converted where the low type is not fast: --target auto closes the gate, as named targets do.
enum class Gate { kOpen, kClosed };

// The verdict over a machine / over a target that was named instead.
Compatibility CheckCompatibility(const Hardware& hardware, DType low, Gate gate = Gate::kOpen);
Compatibility CheckCompatibility(const Target& target, DType low);

// --dtype auto on --target auto: float16 with Tensor Cores, bfloat16 where the CPU computes in it (AMX, AVX512_BF16),
// else float16.
DType ChooseLowType(const Hardware& hardware);

// --target auto: the best GPU that is fast with the low type, else the processor if that is, else the best GPU, else
// the processor.
Target ChooseTarget(const Hardware& hardware, DType low);
// The GPU that this target is; nothing where it is the processor.
std::optional<Gpu> ChooseGpu(const Hardware& hardware, DType low);

}  // namespace amp

#endif  // AMP_RUNTIME_HARDWARE_COMPATIBILITY_H_
