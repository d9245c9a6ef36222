// Blocks of images: DepthToSpace and SpaceToDepth move them between channels and pixels, Col2Im adds up columns that
// are overlapping blocks.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/kernel/move_elements.h"
#include "runtime/kernel/shape_math.h"
#include "runtime/reference/families.h"
#include "runtime/reference/wide_arithmetic.h"

namespace amp {
namespace {

// Whether blocks are what channels count first (depth, column, row), or what they count last.
absl::StatusOr<bool> BlocksComeFirst(const Node& node) {
  const std::string mode = GetString(node, "mode", "DCR");
  if (mode != "DCR" && mode != "CRD") return ModelError("expected mode DCR or CRD, found ", Escaped(mode));
  return mode == "DCR";
}

absl::StatusOr<int64_t> BlockSize(const KernelContext& context) {
  const Tensor& x = context.Input(0);
  if (x.rank() != 4) return ModelError("expected [N, C, H, W], found ", x.TypeText());
  const int64_t size = GetInt(context.node(), "blocksize", 0);
  if (size < 1 || size > (1 << 15)) return ModelError("expected a blocksize of at least 1, found ", size);
  return size;
}

// Input 0 seen as [split], its axes in another order.
absl::StatusOr<Tensor> Permuted(KernelContext& context, const Dims& split, absl::Span<const size_t> order) {
  const Tensor& x = context.Input(0);
  Dims dims, strides;
  for (const size_t axis : order) dims.push_back(split[axis]);
  AMP_ASSIGN_OR_RETURN(Tensor y, context.MakeScratch(x.dtype(), std::move(dims)));
  const Dims from = RowStrides(split);
  for (const size_t axis : order) strides.push_back(from[axis]);
  AMP_RETURN_IF_ERROR(CopyStrided(x, 0, strides, y));
  return y;
}

absl::Status DepthToSpace(KernelContext& context) {
  const Tensor& x = context.Input(0);
  AMP_ASSIGN_OR_RETURN(const int64_t size, BlockSize(context));
  AMP_ASSIGN_OR_RETURN(const bool blocks_first, BlocksComeFirst(context.node()));
  const int64_t n = x.dim(0), c = x.dim(1) / (size * size), h = x.dim(2), w = x.dim(3);
  if (x.dim(1) % (size * size) != 0) {
    return ModelError("expected channels in multiples of ", size * size, ", found ", x.TypeText());
  }
  AMP_ASSIGN_OR_RETURN(const Tensor y, blocks_first ? Permuted(context, {n, size, size, c, h, w}, {0, 3, 4, 1, 5, 2})
                                                    : Permuted(context, {n, c, size, size, h, w}, {0, 1, 4, 2, 5, 3}));
  context.SetOutput(0, y.Reshaped({n, c, h * size, w * size}));
  return absl::OkStatus();
}

absl::Status SpaceToDepth(KernelContext& context) {
  const Tensor& x = context.Input(0);
  AMP_ASSIGN_OR_RETURN(const int64_t size, BlockSize(context));
  AMP_ASSIGN_OR_RETURN(const bool blocks_first, BlocksComeFirst(context.node()));
  const int64_t n = x.dim(0), c = x.dim(1), h = x.dim(2) / size, w = x.dim(3) / size;
  if (x.dim(2) % size != 0 || x.dim(3) % size != 0) {
    return ModelError("expected height and width in multiples of ", size, ", found ", x.TypeText());
  }
  const Dims split = {n, c, h, size, w, size};
  AMP_ASSIGN_OR_RETURN(const Tensor y, blocks_first ? Permuted(context, split, {0, 3, 5, 1, 2, 4})
                                                    : Permuted(context, split, {0, 1, 3, 5, 2, 4}));
  context.SetOutput(0, y.Reshaped({n, c * size * size, h, w}));
  return absl::OkStatus();
}

// The blocks of an image and the column that each of them is.
struct Columns {
  Dims image, block, count;  // per spatial axis; `count`: places that the block takes
  std::vector<int64_t> strides, dilations, pads_before;
};

// One number per axis, in [lowest, kMaxElements].
absl::Status CheckPerAxis(absl::string_view name, absl::Span<const int64_t> numbers, size_t size, int64_t lowest) {
  const bool fits = std::all_of(numbers.begin(), numbers.end(),
                                [lowest](int64_t number) { return number >= lowest && number <= kMaxElements; });
  if (fits && numbers.size() == size) return absl::OkStatus();
  return ModelError("expected ", size, " ", name, " of at least ", lowest, ", found ", DimsText(numbers));
}

absl::StatusOr<Columns> ReadColumns(const KernelContext& context) {
  Columns columns;
  AMP_ASSIGN_OR_RETURN(columns.image, context.InputInts(1));
  AMP_ASSIGN_OR_RETURN(columns.block, context.InputInts(2));
  const size_t rank = columns.image.size();
  columns.strides = GetInts(context.node(), "strides").value_or(std::vector<int64_t>(rank, 1));
  columns.dilations = GetInts(context.node(), "dilations").value_or(std::vector<int64_t>(rank, 1));
  columns.pads_before = GetInts(context.node(), "pads").value_or(std::vector<int64_t>(2 * rank, 0));
  AMP_RETURN_IF_ERROR(CheckPerAxis("image sizes", columns.image, rank, 0));
  AMP_RETURN_IF_ERROR(CheckPerAxis("block sizes", columns.block, rank, 1));
  AMP_RETURN_IF_ERROR(CheckPerAxis("strides", columns.strides, rank, 1));
  AMP_RETURN_IF_ERROR(CheckPerAxis("dilations", columns.dilations, rank, 1));
  AMP_RETURN_IF_ERROR(CheckPerAxis("pads", columns.pads_before, 2 * rank, 0));
  for (size_t i = 0; i < rank; ++i) {
    const int64_t padded = columns.image[i] + columns.pads_before[i] + columns.pads_before[rank + i];
    const int64_t rest = padded - columns.dilations[i] * (columns.block[i] - 1) - 1;
    if (rest < 0) return ModelError("expected a block within the padded image, found ", DimsText(columns.block));
    columns.count.push_back(rest / columns.strides[i] + 1);
  }
  return columns;
}

// Errors: the product does not fit.
absl::StatusOr<int64_t> Product(absl::Span<const int64_t> factors) {
  int64_t product = 1;
  for (const int64_t factor : factors) {
    AMP_ASSIGN_OR_RETURN(product, CheckedProduct(product, factor));
  }
  return product;
}

// Where in its image a block at `place` has the pixel `within`; nothing in the padding.
std::optional<size_t> Pixel(const Columns& columns, const Dims& place, const Dims& within) {
  int64_t pixel = 0;
  for (size_t i = 0; i < place.size(); ++i) {
    const int64_t at = place[i] * columns.strides[i] + within[i] * columns.dilations[i] - columns.pads_before[i];
    if (at < 0 || at >= columns.image[i]) return std::nullopt;
    pixel = pixel * columns.image[i] + at;
  }
  return static_cast<size_t>(pixel);
}

// Adds [block size, places] to an image.
template <typename T>
void AddBlocks(const Columns& columns, const T*& in, WideType<T>* image) {
  for (StridedWalk within(columns.block, {}); !within.AtEnd(); within.Next()) {
    for (StridedWalk place(columns.count, {}); !place.AtEnd(); place.Next(), ++in) {
      const std::optional<size_t> pixel = Pixel(columns, place.index(), within.index());
      if (pixel.has_value()) image[*pixel] += Widen(*in);
    }
  }
}

absl::Status Col2Im(KernelContext& context) {
  const Tensor& x = context.Input(0);
  AMP_ASSIGN_OR_RETURN(const Columns columns, ReadColumns(context));
  AMP_ASSIGN_OR_RETURN(const int64_t block_size, Product(columns.block));
  AMP_ASSIGN_OR_RETURN(const int64_t count, Product(columns.count));
  if (x.rank() != 3 || x.dim(1) % block_size != 0 || x.dim(2) != count) {
    return ModelError("expected [N, C * ", block_size, ", ", count, "], found ", x.TypeText());
  }
  Dims dims = {x.dim(0), x.dim(1) / block_size};
  dims.insert(dims.end(), columns.image.begin(), columns.image.end());
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutput(0, x.dtype(), dims));
  if (y->num_elements() == 0) return absl::OkStatus();
  const auto image_size = static_cast<size_t>(ElementsBetween(dims, 2, dims.size()));
  const bool known = VisitWidened(x.dtype(), [&]<typename T>(TypeTag<T>) {
    const auto out = y->mutable_elements<T>();
    const T* in = x.elements<T>().data();
    std::vector<WideType<T>> wide(out.size());
    for (size_t first = 0; first < wide.size(); first += image_size) AddBlocks<T>(columns, in, wide.data() + first);
    std::transform(wide.begin(), wide.end(), out.begin(), Narrow<T>);
  });
  return known ? absl::OkStatus() : context.TypeError(x.dtype());
}

constexpr KernelRow kRows[] = {
    {"DepthToSpace", DepthToSpace},
    {"SpaceToDepth", SpaceToDepth},
    Refusing({DType::kString}, {0}, {"Col2Im", Col2Im}),
};

}  // namespace

absl::Span<const KernelRow> RearrangeKernels() { return kRows; }

}  // namespace amp
