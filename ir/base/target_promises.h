// Promises of a target's kernels that a rewrite asks for: filled by runtime/hardware, read by passes.
#ifndef AMP_IR_BASE_TARGET_PROMISES_H_
#define AMP_IR_BASE_TARGET_PROMISES_H_

#include <cstdint>
#include <optional>

namespace amp {

enum class Device : uint8_t { kCuda, kCpu, kXpu, kTpu };

struct TargetPromises {
  std::optional<Device> device = {};  // nothing: any
  bool float32_accumulation = false;  // reductions add up in float32
  bool float32_softmax = false;       // inside fused attention
  bool float32_statistics = false;    // of normalisations
  bool bfloat16_recurrence = false;   // there are kernels for LSTM, GRU and RNN in bfloat16
};

}  // namespace amp

#endif  // AMP_IR_BASE_TARGET_PROMISES_H_
