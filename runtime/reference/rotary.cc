#include "runtime/reference/rotary.h"

#include <algorithm>
#include <utility>

#include "ir/base/status.h"
#include "runtime/kernel/shape_math.h"
#include "runtime/reference/accumulator.h"

namespace amp {

absl::StatusOr<Tensor> Rotate(const Tensor& x, const Rotation& rotation) {
  const size_t half = rotation.half(), size = static_cast<size_t>(x.dim(3));
  if (2 * half > size) {
    return ModelError("expected caches of at most ", size / 2, " angles for a token of ", size, " elements, found ",
                      half);
  }
  AMP_ASSIGN_OR_RETURN(Tensor result, Tensor::Create(DType::kFloat64, x.dims()));
  const auto out = result.mutable_elements<double>();
  std::copy(Doubles(x).begin(), Doubles(x).end(), out.begin());
  const bool neighbours = rotation.pairs == RotaryPairs::kNeighbours;
  const size_t tokens = x.num_elements() == 0 ? 0 : out.size() / size;
  const auto heads = static_cast<size_t>(x.dim(1)), length = static_cast<size_t>(x.dim(2));
  for (size_t token = 0; token < tokens; ++token) {
    const size_t row = rotation.rows[token / (heads * length) * length + token % length];
    for (size_t i = 0; i < half; ++i) {
      const size_t first = token * size + (neighbours ? 2 * i : i), second = first + (neighbours ? 1 : half);
      const double cosine = Doubles(rotation.cosines)[row * half + i], sine = Doubles(rotation.sines)[row * half + i];
      const double real = out[first], imaginary = out[second];
      out[first] = cosine * real - sine * imaginary;
      out[second] = sine * real + cosine * imaginary;
    }
  }
  return result;
}

absl::Status ReadRotaryCaches(const KernelContext& context, size_t cosines, size_t sines, Rotation& rotation) {
  const Tensor &first = context.Input(cosines), &second = context.Input(sines);
  if (first.rank() == 0 || first.dims() != second.dims()) {
    return ModelError("expected two caches of one shape, found ", first.TypeText(), " and ", second.TypeText());
  }
  AMP_ASSIGN_OR_RETURN(rotation.cosines, ToFloat64(first));
  AMP_ASSIGN_OR_RETURN(rotation.sines, ToFloat64(second));
  return absl::OkStatus();
}

absl::Status SetRotaryPositions(const std::vector<int64_t>& positions, Rotation& rotation) {
  const int64_t count = rotation.cosines.dim(0);
  for (const int64_t position : positions) {
    if (position < 0 || position >= count) {
      return ModelError("position_ids: expected numbers in [0, ", count, "), found ", position);
    }
    rotation.rows.push_back(static_cast<size_t>(position));
  }
  return absl::OkStatus();
}

}  // namespace amp
