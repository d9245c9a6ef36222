// Matrix products by oneDNN: MatMul, Gemm, com.microsoft::FusedMatMul, ai.amp::MatrixWeightGradient.
#include <algorithm>
#include <utility>

#include "ir/base/status.h"
#include "runtime/cpu/families.h"
#include "runtime/cpu/hidden_numbers.h"
#include "runtime/cpu/library_epilogue.h"
#include "runtime/cpu/make_primitive.h"
#include "runtime/cpu/parts.h"
#include "runtime/cpu/prepared.h"
#include "runtime/cpu/tiled_product.h"
#include "runtime/forms/product.h"
#include "runtime/kernel/product_shape.h"
#include "runtime/kernel/shape_math.h"

namespace amp {
namespace {

using Way = ProductShape::Way;

struct PreparedProduct : PartedOperation {
  int64_t a_step = 0, b_step = 0;
  std::shared_ptr<const TiledProduct> tiles;  // null: the product is computed in parts
};

std::optional<ProductShape> ShapeOf(const KernelContext& context, const ProductForm& form) {
  return ShapeOfProduct(context.Input(0).dims(), context.Input(1).dims(), form.transposes_a, form.transposes_b);
}

Refusal WhyNotProduct(const KernelContext& context) {
  if (const Refusal refusal = WhyNotForLibrary(context)) return refusal;
  if (const Refusal refusal = WhyNotProductForm(context)) return refusal;
  const std::optional<ProductShape> shape = ShapeOf(context, ReadProductForm(context));
  if (!shape.has_value()) return "shapes that the library does not multiply";
  if (shape->has_vectors && !context.epilogue().steps.empty()) return "an epilogue behind a vector";
  return {};
}

Refusal WhyNotWeightGradient(const KernelContext& context) {
  if (const Refusal refusal = WhyNotProduct(context)) return refusal;
  if (context.Input(0).rank() != 2 || context.Input(1).rank() != 2) return "no matrices";
  return GetDType(context.node(), "to") == DType::kFloat32 ? nullptr : "another type than float32";
}

onednn::Operand MatrixOperand(DType dtype, const Dims& dims, bool transposes) {
  onednn::Operand operand = RowMajorOperand(dtype, dims);
  if (!transposes) return operand;
  std::swap(operand.dims[dims.size() - 1], operand.dims[dims.size() - 2]);
  std::swap(operand.strides[dims.size() - 1], operand.strides[dims.size() - 2]);
  return operand;
}

// ---- parts: along the first axis of the matrices that the library gets

constexpr int64_t kRowGranule = 16;
// Every part reads all weights, from memory again if they are large, so parts then have more rows.
constexpr int64_t kLargeWeightsBytes = 16 << 20, kRowGranuleOfLargeWeights = 64;
// If large weights are widened at every run, they are widened in blocks, and again for every part. Parts are then fewer
// and larger.
constexpr int64_t kBlocks = 4, kRowGranuleOfBlocks = 512;

// Returns the number of elements between successive indices of the first axis if the result is cut along that axis,
// else 0.
int64_t StepOf(const Dims& view, const Parts& parts) {
  return parts.count() > 1 && view[0] == parts.total ? ElementsBetween(view, 1, view.size()) : 0;
}
Dims CutTo(Dims view, const Parts& parts, int64_t size) {
  if (StepOf(view, parts) != 0) view[0] = size;
  return view;
}

struct ProductTypes {
  DType compute, result, stored;  // stored: the result's type
  bool converts;                  // whether operands or the result are converted
};

bool HasLargeWeights(const ProductShape& shape) {
  return shape.k * shape.n * static_cast<int64_t>(sizeof(float)) > kLargeWeightsBytes;
}

// Returns the number of blocks of the result's columns. Large weights stored in 16 bits that are not constant, as in a
// step of training, are widened in blocks.
int64_t BlocksOf(const KernelContext& context, const ProductShape& shape, Way way,
                 const std::vector<EpilogueStep>& steps, const ProductTypes& types) {
  const bool is_cut = way == Way::kFolded && shape.transposes_b && steps.empty() && shape.n % kBlocks == 0;
  const bool is_widened = types.compute != context.Input(1).dtype() && !context.IsConstantInput(1);
  return is_cut && is_widened && HasLargeWeights(shape) ? kBlocks : 1;
}

// Returns the number of operands of steps that have the result's shape.
int64_t NumResiduals(const KernelContext& context, const std::vector<EpilogueStep>& steps, int64_t y_elements) {
  return std::count_if(steps.begin(), steps.end(), [&](const EpilogueStep& step) {
    const bool reads = step.kind == EpilogueKind::kAdd || step.kind == EpilogueKind::kMul;
    return reads && context.Input(step.input).num_elements() == y_elements;
  });
}

Parts PartsOf(const KernelContext& context, const ProductShape& shape, Way way, const std::vector<EpilogueStep>& steps,
              const ProductTypes& types, int64_t blocks) {
  const Dims y = shape.ViewOfY(way), b = shape.ViewOfB(way);
  const Parts whole{y[0], y[0]};
  const bool cuts_b = way != Way::kFolded && b[0] > 1;
  if (!types.converts || (cuts_b && context.IsConstantInput(1))) return whole;
  const int64_t y_elements = ElementsBetween(y, 0, y.size()), of_y = y_elements / y[0];
  PartElements elements{.of_index = of_y * (1 + NumResiduals(context, steps, y_elements))};
  int64_t granule = 1;
  if (way == Way::kFolded) {
    elements.of_index += shape.k;
    granule = blocks > 1 ? kRowGranuleOfBlocks : HasLargeWeights(shape) ? kRowGranuleOfLargeWeights : kRowGranule;
  } else {
    elements.of_index += (shape.m + shape.n) * shape.k * (of_y / (shape.m * shape.n));
  }
  elements.of_all = elements.of_index * y[0];
  return CutAxis(y[0], elements, granule);
}

// ---- tiles: for products with constant weights

// Returns the bytes of the result if it can reuse the memory of the input, else 0.
int64_t SavedBytes(const KernelContext& context, size_t port, const ProductShape& shape, const ProductTypes& types) {
  const Tensor& x = context.Input(port);
  const bool is_free = context.MayReuseInput(port) && x.dims() == shape.y_final && x.dtype() == types.stored;
  return is_free ? static_cast<int64_t>(x.size_bytes()) : 0;
}

Tiling TilingOf(KernelContext& context, const ProductSize& size, const ProductShape& shape,
                const std::vector<EpilogueStep>& steps, const ProductTypes& types) {
  // The budget as a share of the bytes that all operands and the result would take in float32, with bounds.
  constexpr int64_t kPartOfAll = 6, kLeastBytes = 96 << 10, kMostBytes = 2 << 20;
  const int64_t all = size.m * (size.k + size.n * (1 + size.residuals)) * static_cast<int64_t>(sizeof(float));
  int64_t of_residual = 0;
  for (const EpilogueStep& step : steps) {
    if (step.kind == EpilogueKind::kAdd || step.kind == EpilogueKind::kMul) {
      of_residual = std::max(of_residual, SavedBytes(context, step.input, shape, types));
    }
  }
  const int64_t of_x = SavedBytes(context, 0, shape, types), bytes = std::max(all / kPartOfAll, kLeastBytes);
  // Tiles read x several times, so the result cannot reuse its memory. If x saves more than a residual would, only
  // whole rows are considered, and they may take half of the saved bytes on top.
  const TileBudget budget{.of_tiles = of_x > of_residual ? 0 : std::min(bytes, kMostBytes),
                          .of_rows = std::min(bytes + of_x / 2, kMostBytes)};
  const std::optional<Tiling> kept = KeptTiling(context);
  return ChooseTiling(size, budget, kept.has_value() ? &*kept : nullptr);
}

// Fits operands of the epilogue: a row of the result's length, a scalar, or an operand of the result's shape.
FitOperand Fitter(const ProductShape& shape, Way way, DType compute, const Parts& parts, int64_t size) {
  return [&shape, way, compute, parts, size](const Tensor& operand) -> std::optional<FittedOperand> {
    const std::optional<Dims> view = shape.ViewOfOperand(operand.dims(), way);
    if (!view.has_value()) return std::nullopt;
    return FittedOperand{RowMajorOperand(compute, CutTo(*view, parts, size)), StepOf(*view, parts)};
  };
}

// Prepares a product in one of its ways, with its parts or tiles.
absl::Status PrepareWay(KernelContext& context, const ProductShape& shape, Way way,
                        const std::vector<EpilogueStep>& steps, const ProductTypes& types, PreparedProduct& product) {
  const Dims a = shape.ViewOfA(way), y = shape.ViewOfY(way);
  const int64_t blocks = product.blocks = BlocksOf(context, shape, way, steps, types);
  Dims b = shape.ViewOfB(way);
  b[b.size() - 2] /= blocks;
  Parts parts = PartsOf(context, shape, way, steps, types, blocks);
  if (way == Way::kFolded && types.converts && context.IsConstantInput(1)) {
    const ProductSize size{shape.ViewOfY(way)[0], shape.k, shape.n,
                           NumResiduals(context, steps, ElementsBetween(y, 0, y.size()))};
    const auto view = [&](const Tensor& operand) { return shape.ViewOfOperand(operand.dims(), way); };
    const auto prepare = [&](const Tiling& tiling, bool packs) -> absl::Status {
      AMP_ASSIGN_OR_RETURN(
          product.tiles, PrepareTiles(context, {size, tiling, types.compute, shape.transposes_b, packs, steps, view}));
      return absl::OkStatus();
    };
    if (types.compute != context.Input(1).dtype() && IsBetterWidenedInRuns(size)) {
      absl::Status status = prepare(ChooseWidenedTiling(size), false);
      if (!IsRefusal(status)) return status;
    }
    const Tiling tiling = TilingOf(context, size, shape, steps, types);
    if (tiling.HasWholeRows(size)) {
      parts.size = tiling.rows;
    } else {
      absl::Status status = prepare(tiling, true);
      if (!IsRefusal(status)) return status;
    }
  }
  product.parts = parts;
  const bool cuts_b = way != Way::kFolded;
  product.a_step = StepOf(a, parts);
  product.b_step = cuts_b ? StepOf(b, parts) : 0;
  product.y_step = ElementsBetween(y, 1, y.size());
  return PrepareParts(
      context, types.compute, types.compute,
      [&](int64_t size) -> MadePrimitive {
        std::optional<LibraryEpilogue> epilogue =
            FitEpilogue(context, steps, y.size() - 1, Fitter(shape, way, types.compute, parts, size));
        if (!epilogue.has_value()) return Refusal("an operand does not fit the result");
        onednn::Operand result = RowMajorOperand(types.result, CutTo(y, parts, size));
        result.dims.back() /= blocks;
        AMP_ASSIGN_OR_RETURN(
            std::unique_ptr<onednn::Primitive> primitive,
            MakeMatMul({.a = MatrixOperand(types.compute, CutTo(a, parts, size), shape.transposes_a),
                        .b = MatrixOperand(types.compute, cuts_b ? CutTo(b, parts, size) : b, shape.transposes_b),
                        .y = result,
                        .bias = epilogue->bias,
                        .packs_b = context.IsConstantInput(1),
                        .post_ops = epilogue->post_ops}));
        product.epilogue = *std::move(epilogue);
        return primitive;
      },
      product);
}

PreparedOperations::Made Prepare(KernelContext& context, const ProductShape& shape,
                                 const std::vector<EpilogueStep>& steps, const ProductTypes& types) {
  absl::Status status;
  for (Way way = shape.FirstWay(Way::kFolded);; way = shape.FirstWay(static_cast<Way>(static_cast<int>(way) + 1))) {
    auto product = std::make_shared<PreparedProduct>();
    product->y_dims = shape.y_final;
    product->computed_as = types.result;
    product->stored_as = types.stored;
    status = PrepareWay(context, shape, way, steps, types, *product);
    if (status.ok()) {
      product->steps = steps;
      return product;
    }
    if (way == Way::kAsIs || !IsRefusal(status)) return status;
  }
}

// Returns how many products a sum has at most, whichever of the last two axes is summed over.
int64_t MostTerms(const Tensor& b) {
  const Dims& dims = b.dims();
  const size_t rank = dims.size();
  return rank < 2 ? b.num_elements()
                  : b.num_elements() / std::max<int64_t>(std::min(dims[rank - 1], dims[rank - 2]), 1);
}

// `gives`: the result's type where the operator sets it.
absl::Status ProductOf(KernelContext& context, DType gives) {
  const Tensor &a = context.Input(0), &b = context.Input(1);
  const DType compute = ComputeTypeFor(context, a.dtype());
  std::vector<int64_t> key;
  AppendShapes(context, key);
  AMP_ASSIGN_OR_RETURN(const auto prepared, context.State<PreparedOperations>().Get(key, [&] {
    const ProductForm form = ReadProductForm(context);
    const DType stored = gives == DType::kUndefined ? StoredType(context) : gives;
    const DType result = ResultTypeOf(compute, stored);
    const ProductTypes types{compute, result, stored, compute != a.dtype() || result != stored};
    std::vector<EpilogueStep> steps = form.steps;
    steps.insert(steps.end(), context.epilogue().steps.begin(), context.epilogue().steps.end());
    return Prepare(context, *ShapeOf(context, form), steps, types);
  }));
  const auto& product = static_cast<const PreparedProduct&>(*prepared);
  AMP_ASSIGN_OR_RETURN(const double bound, BoundOfResult(context, {product.steps, MostTerms(b), product.y_dims}));
  if (product.tiles != nullptr) {
    const bool reads_plain = product.tiles->weights == nullptr;
    ConstantHold hold;
    if (reads_plain) {
      AMP_ASSIGN_OR_RETURN(hold, context.HoldConstant(1, ConstantUse::kInRuns));
    }
    AMP_RETURN_IF_ERROR(RunTiles(context, *product.tiles, product.stored_as, product.y_dims));
    context.SetMagnitudeBound(0, bound);
    return absl::OkStatus();
  }
  AMP_ASSIGN_OR_RETURN(const ConstantHold hold, HoldPlainWeights(context, product));
  const bool is_constant = product.weights.dtype() != DType::kUndefined;
  AMP_RETURN_IF_ERROR(RunInParts(context, {.operation = product,
                                           .compute = compute,
                                           .layout = Layout::kRowMajor,
                                           .y_layout = Layout::kRowMajor,
                                           .a = {.tensor = &a, .step = product.a_step},
                                           .b = {.tensor = &b, .step = product.b_step, .blocks = product.blocks},
                                           .weights = is_constant ? &product.weights : nullptr,
                                           .weights_of_last = &product.weights_of_last}));
  context.SetMagnitudeBound(0, bound);
  return absl::OkStatus();
}

absl::Status Product(KernelContext& context) { return ProductOf(context, DType::kUndefined); }
// The operands may be stored in 16 bits; the result is float32.
absl::Status WeightGradient(KernelContext& context) { return ProductOf(context, DType::kFloat32); }

constexpr KernelRow kRows[] = {
    {.op_type = "MatMul",
     .function = Product,
     .refusal = WhyNotProduct,
     .family = "onednn",
     .takes_epilogue = true,
     .packs_weights = true},
    {.op_type = "Gemm",
     .function = Product,
     .first_version = 7,
     .refusal = WhyNotProduct,
     .family = "onednn",
     .takes_epilogue = true,
     .packs_weights = true},
    {.op_type = "FusedMatMul",
     .function = Product,
     .domain = "com.microsoft",
     .refusal = WhyNotProduct,
     .family = "onednn",
     .packs_weights = true},
    {.op_type = "MatrixWeightGradient",
     .function = WeightGradient,
     .domain = "ai.amp",
     .refusal = WhyNotWeightGradient,
     .family = "onednn"},
};

}  // namespace

absl::Span<const KernelRow> LibraryMatrixKernels() { return kRows; }

}  // namespace amp
