// Element types, and the one judge of whether casts may be dropped.
//
// float32 -> float16 -> float32 rounds and therefore means something; float16 -> float32 -> float16 does not.
// CastChainIsExact tells them apart by all three types. Nothing else in this code base may decide that a cast can go.
#ifndef AMP_IR_BASE_DTYPE_H_
#define AMP_IR_BASE_DTYPE_H_

#include <cstdint>
#include <optional>

#include "absl/strings/string_view.h"

namespace amp {

// The values are those of ONNX's TensorProto.DataType, so that the protobuf edge is a static_cast.
enum class DType : uint8_t {
  kUndefined = 0,
  kFloat32 = 1,
  kUint8 = 2,
  kInt8 = 3,
  kUint16 = 4,
  kInt16 = 5,
  kInt32 = 6,
  kInt64 = 7,
  kString = 8,
  kBool = 9,
  kFloat16 = 10,
  kFloat64 = 11,
  kUint32 = 12,
  kUint64 = 13,
  kComplex64 = 14,
  kComplex128 = 15,
  kBfloat16 = 16,
  kFloat8E4M3FN = 17,
  kFloat8E4M3FNUZ = 18,
  kFloat8E5M2 = 19,
  kFloat8E5M2FNUZ = 20,
  kUint4 = 21,
  kInt4 = 22,
  kFloat4E2M1 = 23,
  kFloat8E8M0 = 24,
  kUint2 = 25,
  kInt2 = 26,
  kFloat6E2M3 = 27,
  kFloat6E3M2 = 28,
};
inline constexpr int kNumDTypes = 29;

// "float32", "bfloat16", "int64"; "undefined" for kUndefined.
absl::string_view DTypeName(DType type);

// Accepts DTypeName's names and the habits "fp16", "half", "bf16", "float".
std::optional<DType> ParseDType(absl::string_view name);

// Bits of one element in raw_data; 0 for strings and kUndefined.
int BitsPerElement(DType type);

bool IsLowFloat(DType type);  // float16 or bfloat16

// Largest finite value of a float type (65504 for float16); 0 for other types.
double LargestFinite(DType type);

// Whole numbers up to this magnitude are exact in a float type (2048 for float16, 256 for bfloat16); 0 for other types.
int64_t CountsExactlyTo(DType type);

// Returns the largest magnitude of a finite value of a type of real numbers, bool included (int8: 128); 0 for other
// types.
double LargestMagnitude(DType type);

// True iff every value of `src`, NaN and signed zero and infinities included, survives src -> mid unchanged.
bool CastIsLossless(DType src, DType mid);

// True only if Cast(dst) of Cast(mid) of x equals Cast(dst) of x for every x of type `src`. Holds when src -> mid is
// lossless, when one of the two casts does nothing (mid == dst), for integers on their way to bool, and for integers on
// their way to float16: what float32 rounds is infinite there. False even so where ONNX leaves one side open: text of a
// number, integer -> float -> integer that does not fit.
bool CastChainIsExact(DType src, DType mid, DType dst);

}  // namespace amp

#endif  // AMP_IR_BASE_DTYPE_H_
