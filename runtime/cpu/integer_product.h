// Products of matrices of 8-bit integers by oneDNN, which are exact.
//
//   sum over k of (a - a_zero) (b - b_zero) = sum a b - a_zero sum b - b_zero sum a + k a_zero b_zero
//
// The library multiplies unsigned by signed numbers: what is signed on the left, or unsigned on the right, is moved by
// 128, and its zero point with it. Sums wrap at 32 bits, as those of ONNX's operators do.
#ifndef AMP_RUNTIME_CPU_INTEGER_PRODUCT_H_
#define AMP_RUNTIME_CPU_INTEGER_PRODUCT_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/cpu/prepared.h"

namespace amp {

inline constexpr int32_t kHalfRange = 128;  // between signed and unsigned 8 bits

// Numbers of 8 bits moved by 128, from one of the two types to the other. REQUIRES: as many in both.
void MoveBytes(absl::Span<const std::byte> from, absl::Span<std::byte> to);

// A matrix b[k, n] of 8 bits, packed for left sides of some number of rows.
struct PreparedIntegers : PreparedOperation {
  size_t k = 0, n = 0;
  bool moves_b = false;
  std::vector<uint32_t> column_sums;  // of b as the library sees it

  struct Operands {
    absl::Span<const uint8_t> a;   // [rows, k]
    int32_t a_zero = 0;            // of these unsigned numbers
    std::vector<int32_t> b_zeros;  // one, or one per column, of b as it was given
    absl::Span<int32_t> y;         // [rows, n]
    void* scratch = nullptr;       // of primitive->scratch_bytes()
  };
  // Error: kInternal, the library failed.
  absl::Status Multiply(const Operands& operands) const;
};

// `b`: of int8 or uint8. Errors: kUnimplemented, the library does not multiply or pack it; kResourceExhausted.
absl::StatusOr<std::shared_ptr<PreparedIntegers>> PrepareIntegers(const Tensor& b, int64_t rows);

}  // namespace amp

#endif  // AMP_RUNTIME_CPU_INTEGER_PRODUCT_H_
