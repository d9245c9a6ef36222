// Loops over elements in memory, compiled once for every instruction set: tables of functions, one table for each.
//
//   loops.convert.widen_float16(x, buffer, 1000);
//   loops.unary.exp(buffer, buffer, 1000, {});
//
// All arithmetic is done in float32; float16 and bfloat16 are converted in parts that stay in the nearest cache. Outputs
// may be the inputs themselves, but may not overlap them otherwise. NaN stays NaN everywhere unless it says otherwise.
//
// What implements this includes nothing that has functions of its own: what the compiler does not inline of them would be
// emitted with instructions that another processor lacks, and the linker might choose that copy for everybody.
#ifndef AMP_RUNTIME_LOOPS_RAW_LOOPS_H_
#define AMP_RUNTIME_LOOPS_RAW_LOOPS_H_

#include <cstddef>
#include <cstdint>

namespace amp {

// float16 and bfloat16 as bits. Rounding is to nearest, ties to even; what is too large becomes infinity.
struct ConvertLoops {
  using Widen = void (*)(const uint16_t* from, float* to, size_t count);
  using Narrow = void (*)(const float* from, uint16_t* to, size_t count);
  Widen widen_float16, widen_bfloat16;
  Narrow narrow_float16, narrow_bfloat16;
};

struct UnaryParameters {
  float a = 0, b = 0;
};
using UnaryLoop = void (*)(const float* x, float* y, size_t count, UnaryParameters parameters);
struct UnaryLoops {
  UnaryLoop abs, ceil, clip /* a ≤ x ≤ b */, exp, erf, floor, log, negate, reciprocal, round, sign, sqrt;
  UnaryLoop power_half, power_minus_half, square, cube;
  UnaryLoop celu, elu, gelu, gelu_tanh, hard_sigmoid, hard_swish, leaky_relu, mish, relu, selu, shrink, sigmoid,
      softplus, softsign, swish, tanh, thresholded_relu;  // parameters in the order of the schema's attributes
  UnaryLoop add, multiply;                                // a
};

// Of two operands, of which one may be a single element that meets all those of the other.
template <typename Result>
struct BinaryForms {
  using Loop = void (*)(const float* a, const float* b, Result* y, size_t count);
  Loop of_both, of_one_a, of_one_b;
};
using BinaryLoop = BinaryForms<float>;
using CompareLoop = BinaryForms<uint8_t>;  // 0 and 1
struct BinaryLoops {
  BinaryLoop add, subtract, multiply, divide, max, min, prelu /* a < 0 ? a * b : a */;
  CompareLoop equal, greater, greater_or_equal, less, less_or_equal;
};

// y = condition ? a : b, of elements of any type by their size. A step is 1, or 0 for a single element.
struct ChooseOperands {
  const uint8_t* condition;
  const void* a;
  const void* b;
  size_t step_condition, step_a, step_b;
};
using ChooseLoop = void (*)(const ChooseOperands& operands, void* y, size_t count);
struct ChooseLoops {
  ChooseLoop of_1_byte, of_2_bytes, of_4_bytes, of_8_bytes;
};

struct Loops {
  const char* name;  // of the instruction set
  const ConvertLoops& convert;
  const UnaryLoops& unary;
  const BinaryLoops& binary;
  const ChooseLoops& choose;
};

}  // namespace amp

#endif  // AMP_RUNTIME_LOOPS_RAW_LOOPS_H_
