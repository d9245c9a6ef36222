// Exact products of matrices of 8-bit integers by oneDNN.
//
//   sum over k of (a - a_zero) (b - b_zero) = sum a b - a_zero sum b - b_zero sum a + k a_zero b_zero
//
// oneDNN multiplies unsigned by signed numbers. A signed left matrix, or an unsigned right one, is shifted by 128
// together with its zero point. Sums wrap at 32 bits, as those of ONNX's operators do.
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

inline constexpr int32_t kHalfRange = 128;  // offset between unsigned and signed 8 bits

// Shifts 8-bit numbers by 128, which converts either of the two types to the other. REQUIRES: both spans have one size.
void MoveBytes(absl::Span<const std::byte> from, absl::Span<std::byte> to);

// A matrix b[k, n] of 8 bits, packed for products with left matrices of one number of rows.
struct PreparedIntegers : PreparedOperation {
  size_t k = 0, n = 0;
  bool moves_b = false;
  std::vector<uint32_t> column_sums;  // of b as it is packed

  struct Operands {
    absl::Span<const uint8_t> a;   // [rows, k]
    int32_t a_zero = 0;            // of a, as unsigned numbers
    std::vector<int32_t> b_zeros;  // one, or one per column, of b before the shift
    absl::Span<int32_t> y;         // [rows, n]
    void* scratch = nullptr;       // of primitive->scratch_bytes()
  };
  // Error: kInternal if the library fails.
  absl::Status Multiply(const Operands& operands) const;
};

// `b`: int8 or uint8. Errors: a refusal if the library cannot multiply or pack it; kResourceExhausted.
absl::StatusOr<std::shared_ptr<PreparedIntegers>> PrepareIntegers(const Tensor& b, int64_t rows);

}  // namespace amp

#endif  // AMP_RUNTIME_CPU_INTEGER_PRODUCT_H_
