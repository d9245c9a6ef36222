// Floats of at most 16 bits, one at a time: decoding and encoding by their layouts.
//
//   DecodeMinifloat(0x7e, DType::kFloat8E4M3FN) == 448
//   EncodeMinifloat(1000, DType::kFloat8E4M3FN, Overflow::kSaturate) == 0x7e
//
// Obvious arithmetic for what is rare, and the measure for what is fast: ir/base/convert.h converts float16 and
// bfloat16 in bulk. Source: https://onnx.ai/onnx/technical/float8.html, the OCP microscaling formats (E8M0, FP4, FP6).
#ifndef AMP_IR_BASE_MINIFLOAT_H_
#define AMP_IR_BASE_MINIFLOAT_H_

#include <cstdint>

#include "ir/base/dtype.h"

namespace amp {

// The treatment of numbers beyond the largest finite one: they become that one, or infinity (NaN if the type has none).
enum class Overflow { kSaturate, kKeepInfinity };

// float16, bfloat16, and the types of 8, 6 and 4 bits.
bool IsMinifloat(DType type);

// REQUIRES of both: IsMinifloat(type). Bits above the type's own are not looked at.
double DecodeMinifloat(uint32_t bits, DType type);
// Rounds to nearest, ties to even. Types without NaN make zero of it; E8M0 rounds to the nearest power of two, ties
// away from zero, and takes no sign.
uint32_t EncodeMinifloat(double value, DType type, Overflow overflow);

}  // namespace amp

#endif  // AMP_IR_BASE_MINIFLOAT_H_
