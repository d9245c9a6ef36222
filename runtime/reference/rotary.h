// Rotary position embedding on float64 tensors: pairs of elements of a token turned by angles of its position.
#ifndef AMP_RUNTIME_REFERENCE_ROTARY_H_
#define AMP_RUNTIME_REFERENCE_ROTARY_H_

#include <cstddef>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/kernel/kernel.h"
#include "runtime/kernel/tensor.h"

namespace amp {

// Which elements make a pair: i and i + half, or 2 i and 2 i + 1.
enum class RotaryPairs { kHalves, kNeighbours };

struct Rotation {
  Tensor cosines, sines;     // float64, rows of `half` numbers
  std::vector<size_t> rows;  // the row of every token, [B, L]
  RotaryPairs pairs = RotaryPairs::kHalves;

  size_t half() const { return static_cast<size_t>(cosines.dims().back()); }
};

// Turns the first 2 * half elements of each token of x [B, H, L, E]. Errors: E below 2 * half.
absl::StatusOr<Tensor> Rotate(const Tensor& x, const Rotation& rotation);

// Fills in the caches at ports `cosines` and `sines`. Errors: caches of different shapes, or without an axis.
absl::Status ReadRotaryCaches(const KernelContext& context, size_t cosines, size_t sines, Rotation& rotation);

// Rows by position. Errors: a position that the caches do not have.
absl::Status SetRotaryPositions(const std::vector<int64_t>& positions, Rotation& rotation);

}  // namespace amp

#endif  // AMP_RUNTIME_REFERENCE_ROTARY_H_
