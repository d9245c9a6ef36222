#include "runtime/forms/scatter.h"

#include <utility>
#include <vector>

#include "ir/base/status.h"
#include "runtime/kernel/shape_math.h"

namespace amp {
namespace {

constexpr size_t kData = 0, kIndices = 1;  // inputs

bool HasTuples(const KernelContext& context) { return context.node().op_type() == "ScatterND"; }

}  // namespace

absl::StatusOr<Places> ReadScatterPlaces(const KernelContext& context) {
  AMP_ASSIGN_OR_RETURN(std::vector<int64_t> elements, context.InputInts(kIndices));
  const Dims& data = context.Input(kData).dims();
  Indices indices = {context.Input(kIndices).dims(), std::move(elements)};
  if (HasTuples(context)) return TuplePlaces(data, indices, /*batch_dims=*/0);
  return ElementPlaces(data, GetInt(context.node(), "axis", 0), std::move(indices));
}

absl::StatusOr<Dims> ReadScatterUpdateDims(const KernelContext& context) {
  const Dims &data = context.Input(kData).dims(), &indices = context.Input(kIndices).dims();
  if (!HasTuples(context)) return indices;
  if (indices.empty() || indices.back() < 1 || indices.back() > static_cast<int64_t>(data.size())) {
    return ModelError("expected tuples of 1 to ", data.size(), " indices, found indices ", DimsText(indices));
  }
  Dims dims(indices.begin(), indices.end() - 1);
  dims.insert(dims.end(), data.begin() + indices.back(), data.end());
  return dims;
}

std::string ReadScatterReduction(const KernelContext& context) {
  return GetString(context.node(), "reduction", "none");
}

}  // namespace amp
