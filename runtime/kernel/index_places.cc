#include "runtime/kernel/index_places.h"

#include <algorithm>
#include <utility>

#include "ir/base/status.h"
#include "runtime/kernel/shape_math.h"

namespace amp {
namespace {

absl::Status CheckTupleDims(absl::Span<const int64_t> data, const Dims& indices, int64_t batch_dims) {
  const auto complain = [&] {
    return ModelError("expected tuples of coordinates in ", DimsText(data), " behind ", batch_dims,
                      " dimensions that are alike, found indices ", DimsText(indices));
  };
  const auto most = static_cast<int64_t>(std::min(data.size(), indices.empty() ? 0 : indices.size() - 1));
  if (indices.empty() || batch_dims < 0 || batch_dims > most) return complain();
  const auto batch = static_cast<size_t>(batch_dims);
  const bool alike = std::equal(data.begin(), data.begin() + batch_dims, indices.begin());
  const bool fits = indices.back() >= 1 && indices.back() <= static_cast<int64_t>(data.size() - batch);
  return alike && fits ? absl::OkStatus() : complain();
}

}  // namespace

absl::Status CheckElementDims(absl::Span<const int64_t> data, size_t axis, absl::Span<const int64_t> indices) {
  bool fits = indices.size() == data.size();
  for (size_t i = 0; fits && i < data.size(); ++i) fits = i == axis || indices[i] <= data[i];
  if (fits) return absl::OkStatus();
  return ModelError("expected indices of at most ", DimsText(data), " but for dimension ", axis, ", found ",
                    DimsText(indices));
}

absl::StatusOr<Places> ElementPlaces(absl::Span<const int64_t> data, int64_t axis, Indices indices) {
  AMP_ASSIGN_OR_RETURN(const size_t along, NormalizeAxis(axis, data.size()));
  AMP_RETURN_IF_ERROR(CheckElementDims(data, along, indices.dims));
  AMP_RETURN_IF_ERROR(NormalizeIndices(absl::MakeSpan(indices.elements), data[along]));
  Dims strides = RowStrides(data);
  const auto step = static_cast<size_t>(std::exchange(strides[along], 0));
  Places places;
  places.firsts.resize(indices.elements.size());
  if (places.firsts.empty()) return places;
  // Line by line of the last axis.
  const auto line = static_cast<size_t>(indices.dims.back()), next = static_cast<size_t>(strides.back());
  const int64_t* index = indices.elements.data();
  size_t* place = places.firsts.data();
  const Dims outer(indices.dims.begin(), indices.dims.end() - 1);
  strides.pop_back();
  for (StridedWalk walk(outer, {strides}); !walk.AtEnd(); walk.Next(), index += line, place += line) {
    for (size_t i = 0; i < line; ++i) place[i] = walk[0] + i * next + static_cast<size_t>(index[i]) * step;
  }
  return places;
}

absl::StatusOr<Places> TuplePlaces(absl::Span<const int64_t> data, const Indices& indices, int64_t batch_dims) {
  AMP_RETURN_IF_ERROR(CheckTupleDims(data, indices.dims, batch_dims));
  const auto batch = static_cast<size_t>(batch_dims);
  const auto length = static_cast<size_t>(indices.dims.back());
  const int64_t num_tuples = ElementsBetween(indices.dims, 0, indices.dims.size() - 1);
  const int64_t tuples_per_batch = ElementsBetween(indices.dims, batch, indices.dims.size() - 1);
  const Dims strides = RowStrides(data);
  const int64_t batch_stride = ElementsBetween(data, batch, data.size());
  Places places{.firsts = {}, .run = static_cast<size_t>(ElementsBetween(data, batch + length, data.size()))};
  places.firsts.reserve(static_cast<size_t>(num_tuples));
  const int64_t* index = indices.elements.data();
  for (int64_t tuple = 0, batch_start = 0; tuple < num_tuples; batch_start += batch_stride) {
    for (const int64_t end = tuple + tuples_per_batch; tuple < end; ++tuple) {
      int64_t place = batch_start;
      for (size_t i = 0; i < length; ++i, ++index) {
        const int64_t dim = data[batch + i], at = *index < 0 ? *index + dim : *index;
        if (at < 0 || at >= dim) {
          int64_t wrong = *index;
          return NormalizeIndices(absl::MakeSpan(&wrong, 1), dim);
        }
        place += at * strides[batch + i];
      }
      places.firsts.push_back(static_cast<size_t>(place));
    }
  }
  return places;
}

}  // namespace amp
