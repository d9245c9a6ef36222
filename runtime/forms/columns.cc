#include "runtime/forms/columns.h"

#include <algorithm>
#include <optional>

#include "absl/strings/string_view.h"
#include "ir/base/status.h"
#include "runtime/kernel/shape_math.h"

namespace amp {
namespace {

// One number per axis, in [lowest, kMaxElements].
absl::Status CheckPerAxis(absl::string_view name, absl::Span<const int64_t> numbers, size_t size, int64_t lowest) {
  const bool fits = std::all_of(numbers.begin(), numbers.end(),
                                [lowest](int64_t number) { return number >= lowest && number <= kMaxElements; });
  if (fits && numbers.size() == size) return absl::OkStatus();
  return ModelError("expected ", size, " ", name, " of at least ", lowest, ", found ", DimsText(numbers));
}

// Errors: the product does not fit.
absl::StatusOr<int64_t> Product(absl::Span<const int64_t> factors) {
  int64_t product = 1;
  for (const int64_t factor : factors) {
    AMP_ASSIGN_OR_RETURN(product, CheckedProduct(product, factor));
  }
  return product;
}

// Where along axis i of its image a block at `place` has its pixel `within`; outside of the image in the padding.
int64_t PositionAlong(const ColumnsForm& form, size_t i, int64_t place, int64_t within) {
  return place * form.strides[i] + within * form.dilations[i] - form.pads_before[i];
}

// Returns the first pixel of the row of the image in which blocks at `place`, which has all axes but the last, have the
// pixel `within`; nothing in the padding.
std::optional<int64_t> FirstOfRow(const ColumnsForm& form, const Dims& place, const Dims& within) {
  int64_t row = 0;
  for (size_t i = 0; i < place.size(); ++i) {
    const int64_t at = PositionAlong(form, i, place[i], within[i]);
    if (at < 0 || at >= form.image[i]) return std::nullopt;
    row = row * form.image[i] + at;
  }
  return row * form.image.back();
}

// The places along the last axis at which a block's pixel is in the image.
struct PlacesInside {
  int64_t first, end;
};
PlacesInside PlacesAlong(int64_t start, int64_t stride, int64_t count, int64_t width) {
  const int64_t first = start < 0 ? (-start + stride - 1) / stride : 0;
  const int64_t end = start < width ? (width - start + stride - 1) / stride : 0;
  return {std::min(first, count), std::min(end, count)};
}

}  // namespace

absl::StatusOr<ColumnsForm> ReadColumns(const KernelContext& context) {
  ColumnsForm form;
  AMP_ASSIGN_OR_RETURN(form.image, context.InputInts(1));
  AMP_ASSIGN_OR_RETURN(form.block, context.InputInts(2));
  const size_t rank = form.image.size();
  if (rank == 0) return ModelError("expected an image of at least one axis, found none");
  form.strides = GetInts(context.node(), "strides").value_or(std::vector<int64_t>(rank, 1));
  form.dilations = GetInts(context.node(), "dilations").value_or(std::vector<int64_t>(rank, 1));
  form.pads_before = GetInts(context.node(), "pads").value_or(std::vector<int64_t>(2 * rank, 0));
  AMP_RETURN_IF_ERROR(CheckPerAxis("image sizes", form.image, rank, 0));
  AMP_RETURN_IF_ERROR(CheckPerAxis("block sizes", form.block, rank, 1));
  AMP_RETURN_IF_ERROR(CheckPerAxis("strides", form.strides, rank, 1));
  AMP_RETURN_IF_ERROR(CheckPerAxis("dilations", form.dilations, rank, 1));
  AMP_RETURN_IF_ERROR(CheckPerAxis("pads", form.pads_before, 2 * rank, 0));
  for (size_t i = 0; i < rank; ++i) {
    const int64_t padded = form.image[i] + form.pads_before[i] + form.pads_before[rank + i];
    const int64_t rest = padded - form.dilations[i] * (form.block[i] - 1) - 1;
    if (rest < 0) return ModelError("expected a block within the padded image, found ", DimsText(form.block));
    form.count.push_back(rest / form.strides[i] + 1);
  }
  AMP_ASSIGN_OR_RETURN(const int64_t block_size, Product(form.block));
  AMP_ASSIGN_OR_RETURN(const int64_t count, Product(form.count));
  const Tensor& x = context.Input(0);
  if (x.rank() != 3 || x.dim(1) % block_size != 0 || x.dim(2) != count) {
    return ModelError("expected [N, C * ", block_size, ", ", count, "], found ", x.TypeText());
  }
  form.dims = {x.dim(0), x.dim(1) / block_size};
  form.dims.insert(form.dims.end(), form.image.begin(), form.image.end());
  if (std::find(form.dims.begin(), form.dims.end(), 0) != form.dims.end()) return form;
  AMP_ASSIGN_OR_RETURN(const int64_t image_size, Product(form.image));
  form.image_size = static_cast<size_t>(image_size);
  form.columns_size = static_cast<size_t>(block_size * count);
  return form;
}

void ForEachRow(const ColumnsForm& form, absl::FunctionRef<void(const ColumnsRow&)> visit) {
  const Dims outer(form.count.begin(), form.count.end() - 1);
  const size_t last = outer.size();
  const int64_t count = form.count.back(), stride = form.strides.back();
  int64_t from = 0;
  for (StridedWalk within(form.block, {}); !within.AtEnd(); within.Next()) {
    const int64_t start = PositionAlong(form, last, 0, within.index()[last]);
    const PlacesInside inside = PlacesAlong(start, stride, count, form.image.back());
    for (StridedWalk place(outer, {}); !place.AtEnd(); place.Next(), from += count) {
      const std::optional<int64_t> row = FirstOfRow(form, place.index(), within.index());
      if (!row.has_value() || inside.first >= inside.end) continue;
      visit({.from = static_cast<size_t>(from + inside.first),
             .to = static_cast<size_t>(*row + start + inside.first * stride),
             .count = static_cast<size_t>(inside.end - inside.first)});
    }
  }
}

}  // namespace amp
