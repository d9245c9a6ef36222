// The inputs of com.microsoft's operators on 8-bit quantised numbers: where they are, what they stand for, and which of
// them kernels take.
#ifndef AMP_RUNTIME_LOOPS_QUANTIZED_NUMBERS_H_
#define AMP_RUNTIME_LOOPS_QUANTIZED_NUMBERS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "runtime/kernel/kernel.h"
#include "runtime/loops/raw/loops.h"
#include "runtime/reference/fused_activation.h"

namespace amp {

// Input ports. Behind each tensor come its scale and its zero point; those of the result come last, except for
// QLinearConcat, where they come first.
struct QuantizedPorts {
  static constexpr size_t kX = 0, kScaleOfOne = 3;           // of functions of one number
  static constexpr size_t kA = 0, kB = 3, kScaleY = 6;       // of two
  static constexpr size_t kFirstPart = 2, kPortsOfPart = 3;  // of what is joined
};

inline constexpr char kNoBytes[] = "another type than 8 bits";
inline constexpr char kOtherScales[] = "scales or zero points of another kind";

inline bool IsByte(DType type) { return type == DType::kInt8 || type == DType::kUint8; }

// Inputs `scale_port` and the one behind it, for numbers of `dtype`; nothing where they are no such.
std::optional<Quantized> ReadQuantized(const KernelContext& context, size_t scale_port, DType dtype);

Refusal WhyNotQuantizedPair(const KernelContext& context);
Refusal WhyNotQuantizedOne(const KernelContext& context);
Refusal WhyNotQuantizedConcat(const KernelContext& context);
Refusal WhyNotQuantizedMean(const KernelContext& context);

// The nearest number of `dtype`, an integer of 8 bits, by its bits.
uint8_t QuantizeTo(double x, const Quantized& y, DType dtype);

// The result of a function for every number, quantised again.
using QuantizedTable = std::array<uint8_t, 256>;
QuantizedTable TableOf(const Quantized& from, const Quantized& to, DType dtype, const Activation& of);
// Makes the table of QLinearLeakyRelu or QLinearSigmoid. REQUIRES: WhyNotQuantizedOne does not refuse.
QuantizedTable TableOfNode(const KernelContext& context);

}  // namespace amp

#endif  // AMP_RUNTIME_LOOPS_QUANTIZED_NUMBERS_H_
