// Loops over elements in memory, compiled once for every instruction set: tables of functions, one table for each.
//
//   loops.convert.widen_float16(x, buffer, 1000);
//   loops.unary.exp(buffer, buffer, 1000, {});
//
// All arithmetic is done in float32; float16 and bfloat16 are converted in parts that stay in the nearest cache.
// Outputs may be the inputs themselves, but may not overlap them otherwise. NaN stays NaN everywhere unless it says
// otherwise.
//
// Files that implement this include nothing that has functions of its own. Functions that the compiler does not inline
// would be emitted with instructions that another processor lacks, and the linker might choose that copy for everybody.
#ifndef AMP_RUNTIME_LOOPS_RAW_LOOPS_H_
#define AMP_RUNTIME_LOOPS_RAW_LOOPS_H_

#include <cstddef>
#include <cstdint>

namespace amp {

// float16 and bfloat16 as bits. Rounding is to nearest, ties to even; what is too large becomes infinity.
struct ConvertLoops {
  template <typename T>
  using Widen = void (*)(const T* from, float* to, size_t count);
  template <typename T>
  using Narrow = void (*)(const float* from, T* to, size_t count);

  Widen<uint16_t> widen_float16, widen_bfloat16;
  Narrow<uint16_t> narrow_float16, narrow_bfloat16;
  // In place: each number becomes the one that it is when it is narrowed and widened again.
  using Round = void (*)(float* x, size_t count);
  Round round_float16, round_bfloat16;
  // Widens and transposes: from[r * from_step + c] goes to to[c * to_step + r].
  using WidenTurned = void (*)(const uint16_t* from, size_t from_step, size_t rows, size_t columns, float* to,
                               size_t to_step);
  WidenTurned widen_turned_float16, widen_turned_bfloat16;

  // Integers are rounded to float32. Numbers are cut towards zero; those that do not fit become the least int32, or for
  // int64 the least int64, of which the lowest bits are taken.
  Widen<int8_t> widen_int8;
  Widen<uint8_t> widen_uint8;
  Widen<int32_t> widen_int32;
  Widen<int64_t> widen_int64;
  Narrow<int8_t> narrow_int8;
  Narrow<uint8_t> narrow_uint8, narrow_bool /* 0 and 1 */;
  Narrow<int32_t> narrow_int32;
  Narrow<int64_t> narrow_int64;

  // round(x / scale) + zero point, held within the type; NaN becomes its lowest number.
  template <typename T>
  using Quantize = void (*)(const float* x, T* y, size_t count, float scale, float zero_point);
  Quantize<int8_t> quantize_int8;
  Quantize<uint8_t> quantize_uint8;
};

struct UnaryParameters {
  float a = 0, b = 0;
};
using UnaryLoop = void (*)(const float* x, float* y, size_t count, UnaryParameters parameters);
struct UnaryLoops {
  UnaryLoop abs, ceil, clip /* a ≤ x ≤ b */, exp, erf, floor, log, negate, reciprocal, round, sign, sqrt;
  UnaryLoop acos, acosh, asin, asinh, atan, atanh, cos, cosh, sin, sinh, tan;
  UnaryLoop power_half, power_minus_half, square, cube;
  UnaryLoop celu, elu, gelu, gelu_tanh, hard_sigmoid, hard_swish, leaky_relu, mish, relu, selu, shrink, sigmoid,
      softplus, softsign, swish, tanh, thresholded_relu;  // parameters in the order of the schema's attributes
  UnaryLoop add, multiply;                                // a
};

// Loops over two operands, of which one may be a single element that meets all those of the other.
template <typename Result>
struct BinaryForms {
  using Loop = void (*)(const float* a, const float* b, Result* y, size_t count);
  Loop of_both, of_one_a, of_one_b;
};
using BinaryLoop = BinaryForms<float>;
using CompareLoop = BinaryForms<uint8_t>;  // 0 and 1
struct BinaryLoops {
  BinaryLoop add, subtract, multiply, divide, max, min, power, prelu /* a < 0 ? a * b : a */;
  CompareLoop equal, unequal, greater, greater_or_equal, less, less_or_equal;
};

// Loops over operands of 16 bits, whose result is rounded once.
struct NarrowBinaryForms {
  using Loop = void (*)(const uint16_t* a, const uint16_t* b, uint16_t* y, size_t count);
  Loop of_both, of_one_a, of_one_b;
};
struct NarrowBinaryLoops {
  NarrowBinaryForms add, subtract, multiply, divide, max, min;
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

// (x - centre) * factor + shift
struct Affine {
  float centre, factor, shift;
};
// The sums of x - centre and of its square.
struct Deviations {
  double sum, squares;
};
// Rows of elements that belong together. Sums are taken of float32 in blocks, and of these in float64.
struct RowLoops {
  using Sum = double (*)(const float* x, size_t count);
  using Extreme = float (*)(const float* x, size_t count);
  Sum sum, sum_of_magnitudes;
  Sum sum_of_squares;
  Deviations (*deviations)(const float* x, size_t count, float centre);
  Extreme max, min;  // NaN where there is one; REQUIRES: count > 0
  // The bits of the largest element without its sign: those of infinity or more where there is NaN or an infinity; 0
  // for no elements. The second takes float16 and bfloat16.
  uint32_t (*largest_magnitude)(const float* x, size_t count);
  uint16_t (*largest_magnitude_of_16_bits)(const uint16_t* x, size_t count);
  // Sets largest[i] to x[i * step], and places[i] to its place, place + i * step, if it is larger than largest[i], not
  // a number, or the first one: places are -1 before that.
  void (*keep_largest)(const float* x, size_t step, int32_t place, float* largest, int32_t* places, size_t count);
  // For each of `count` places the gradient of the tap that is the largest there, as keep_largest would have it in this
  // order, grows by g. REQUIRES: num_taps > 0; gradients of different taps do not overlap.
  void (*give_to_largest)(const float* const* taps, float* const* gradients, size_t num_taps, const float* g,
                          size_t count);
  // Sets y[c * count + i] to the largest, or the sum, of taps[k][c * step + i] over k, for i < count and c < columns.
  // REQUIRES: num_taps > 0.
  using JoinTaps = void (*)(const float* const* taps, size_t num_taps, size_t step, float* y, size_t count,
                            size_t columns);
  JoinTaps largest_of_taps, sum_of_taps;
  // Compares a row, the one numbered `place` of several, with the best element of each column so far, and takes over
  // what is larger, or smaller: of equal ones the first, or the last. NaN is the largest and the smallest.
  using TakeExtremes = void (*)(const float* row, int32_t place, float* best, int32_t* places, size_t count);
  TakeExtremes take_first_largest, take_last_largest, take_first_smallest, take_last_smallest;
  // Sets even[i] to x[2 * i] and odd[i] to x[2 * i + 1].
  void (*split_pairs)(const float* x, float* even, float* odd, size_t count);
  double (*sum_of_powers)(const float* x, size_t count, float centre);     // of exp(x - centre)
  double (*powers)(const float* x, float* y, size_t count, float centre);  // the same, kept in y
  void (*add_to)(const float* x, double* sums, size_t count);
  void (*multiply_to)(const float* x, double* products, size_t count);
  void (*to_float)(const double* x, float* y, size_t count);
  void (*add_scaled)(const float* x, float factor, float* sums, size_t count);  // sums += factor * x

  void (*transform)(const float* x, float* y, size_t count, Affine affine);
  // Transforms, multiplies by scale and adds bias, unless that is null.
  void (*transform_scaled)(const float* x, float* y, size_t count, Affine affine, const float* scale,
                           const float* bias);
  // With numbers for every element.
  void (*transform_each)(const float* x, float* y, size_t count, const float* centre, const float* factor,
                         const float* shift);
};

// The meaning of a quantised number: (q - zero_point) * scale.
struct Quantized {
  double scale = 1, zero_point = 0;
};
struct QuantizedPair {
  Quantized a, b, y;
};
// A step is 1, or 0 for a single element.
template <typename T>
struct QuantizedOperands {
  const T *a, *b;
  size_t step_a, step_b;
};
// y = round(of(a, b) / scale) + zero point, held within the type, in float64 but for the quotient, which is rounded to
// float32. REQUIRES: scales above 0 that are finite; zero points of the type.
struct QuantizedLoops {
  template <typename T>
  using Loop = void (*)(const QuantizedOperands<T>& operands, T* y, size_t count, const QuantizedPair& pair);
  Loop<uint8_t> add_uint8, multiply_uint8;
  Loop<int8_t> add_int8, multiply_int8;
  // y = table[x], of 256 elements.
  void (*look_up)(const uint8_t* x, uint8_t* y, size_t count, const uint8_t* table);
  // Terms of sums of products, which wrap at 32 bits: sums += addends + factor * factors.
  uint32_t (*sum_of_bytes)(const uint8_t* x, size_t count);
  void (*add_to_sums)(const uint32_t* addends, const uint32_t* factors, uint32_t factor, int32_t* sums, size_t count);
  // Sets y to round(sum * factor) + zero point, held within the type; the product is rounded to float32. REQUIRES:
  // factors are numbers.
  template <typename T>
  using Requantize = void (*)(const int32_t* sums, const double* factors, T* y, size_t count, float zero_point);
  Requantize<uint8_t> requantize_uint8;
  Requantize<int8_t> requantize_int8;
};

// y[n] = bias[n] + x[k] times matrix [k, n]. REQUIRES: n is a multiple of kVectorGranule.
inline constexpr size_t kVectorGranule = 16;
struct VectorLoops {
  void (*multiply)(const float* x, size_t k, const float* matrix, const float* bias, float* y, size_t n);
};

// A few rows times a matrix that is read once, as it lies in memory: y = x times b. Steps are elements from one row to
// the next. Sums are taken in float32, the same way for every column, whatever columns there are beside it.
//
// x has zeros, and y has room, up to the next multiple of kVectorGranule behind every row.
template <typename T>
struct FewRows {
  const float* x;  // [rows, depth]
  const T* b;      // [depth, columns]; for a transposed matrix [columns, depth]
  float* y;        // [rows, columns]
  size_t rows, depth, columns;
  size_t x_step, b_step, y_step;
};
struct ProductLoops {
  template <typename T>
  using Loop = void (*)(const FewRows<T>& of);
  Loop<float> of_float32, of_transposed_float32;
  Loop<uint16_t> of_float16, of_transposed_float16, of_bfloat16, of_transposed_bfloat16;
};

// The tensors of one weight. The next values may be written over the present ones.
struct OptimizerTensors {
  const float *weight, *gradient, *slots[2];
  float *next_weight, *next_slots[2];
};
struct OptimizerParameters {
  float rate = 0;
  float keep_first = 0, keep_second = 0;  // of the slots
  float epsilon = 0;
  float decay = 0;  // of the weight, in this step
};
using OptimizerLoop = void (*)(const OptimizerTensors& tensors, size_t count, OptimizerParameters parameters);
struct TrainLoops {
  OptimizerLoop sgd, momentum, nesterov, rmsprop, adam;
  bool (*all_finite)(const float* x, size_t count);
};

struct Loops {
  const char* name;  // of the instruction set
  const ConvertLoops& convert;
  const UnaryLoops& unary;
  const BinaryLoops& binary;
  const BinaryLoops &rounded_float16, &rounded_bfloat16;  // whose numbers are rounded to those of the type
  const NarrowBinaryLoops &narrow_float16, &narrow_bfloat16;
  const ChooseLoops& choose;
  const RowLoops& rows;
  const QuantizedLoops& quantized;
  const TrainLoops& train;
  const VectorLoops& vector;
  const ProductLoops& products;
};

}  // namespace amp

#endif  // AMP_RUNTIME_LOOPS_RAW_LOOPS_H_
