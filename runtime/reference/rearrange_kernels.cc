// Blocks of images: DepthToSpace and SpaceToDepth move them between channels and pixels, Col2Im adds up columns that
// are overlapping blocks.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "runtime/forms/columns.h"
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

absl::Status Col2Im(KernelContext& context) {
  const Tensor& x = context.Input(0);
  AMP_ASSIGN_OR_RETURN(const ColumnsForm form, ReadColumns(context));
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutput(0, x.dtype(), form.dims));
  if (y->num_elements() == 0) return absl::OkStatus();
  const auto stride = static_cast<size_t>(form.strides.back());
  const bool known = VisitWidened(x.dtype(), [&]<typename T>(TypeTag<T>) {
    const auto out = y->mutable_elements<T>();
    const T* in = x.elements<T>().data();
    std::vector<WideType<T>> wide(out.size());
    for (size_t first = 0; first < wide.size(); first += form.image_size, in += form.columns_size) {
      ForEachRow(form, [&](const ColumnsRow& row) {
        for (size_t i = 0; i < row.count; ++i) wide[first + row.to + i * stride] += Widen(in[row.from + i]);
      });
    }
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
