// Products of matrices by oneDNN: MatMul, Gemm, com.microsoft::FusedMatMul, ai.amp::MatrixWeightGradient.
#include <algorithm>
#include <utility>

#include "ir/base/status.h"
#include "runtime/cpu/families.h"
#include "runtime/cpu/library_epilogue.h"
#include "runtime/cpu/parts.h"
#include "runtime/cpu/prepared.h"
#include "runtime/kernel/product_shape.h"
#include "runtime/kernel/shape_math.h"
#include "runtime/onednn/open_library.h"

namespace amp {
namespace {

using Way = ProductShape::Way;

// What an operator asks for besides its epilogue.
struct ProductForm {
  bool transposes_a = false, transposes_b = false;
  std::vector<EpilogueStep> steps = {};  // before those of the epilogue
  DType gives = DType::kUndefined;       // the result's type, where that is not as usual
};

struct PreparedProduct : PartedOperation {
  int64_t a_step = 0, b_step = 0;
};

// Behind the node's own inputs come those of its epilogue.
bool HasC(const KernelContext& context) { return context.node().Input(2) != kNone; }

ProductForm FormOfMatMul(const KernelContext&) { return {}; }

ProductForm FormOfFusedMatMul(const KernelContext& context) {
  const Node& node = context.node();
  ProductForm form{.transposes_a = GetInt(node, "transA", 0) != 0, .transposes_b = GetInt(node, "transB", 0) != 0};
  const float alpha = GetFloat(node, "alpha", 1);
  if (alpha != 1) form.steps.push_back({.kind = EpilogueKind::kLinear, .alpha = alpha});
  return form;
}

ProductForm FormOfGemm(const KernelContext& context) {
  ProductForm form = FormOfFusedMatMul(context);
  if (HasC(context) && GetFloat(context.node(), "beta", 1) == 1) {
    form.steps.push_back({.kind = EpilogueKind::kAdd, .input = 2});
  }
  return form;
}

// The operands may be stored in 16 bits.
ProductForm FormOfWeightGradient(const KernelContext& context) {
  ProductForm form = FormOfFusedMatMul(context);
  form.gives = DType::kFloat32;
  return form;
}

using FormOf = ProductForm (*)(const KernelContext&);

std::optional<ProductShape> ShapeOf(const KernelContext& context, const ProductForm& form) {
  return ShapeOfProduct(context.Input(0).dims(), context.Input(1).dims(), form.transposes_a, form.transposes_b);
}

template <FormOf form_of>
const char* WhyNotProduct(const KernelContext& context) {
  if (const char* reason = WhyNotForLibrary(context)) return reason;
  const std::optional<ProductShape> shape = ShapeOf(context, form_of(context));
  if (!shape.has_value()) return "shapes that the library does not multiply";
  if (shape->has_vectors && !context.epilogue().steps.empty()) return "an epilogue behind a vector";
  return nullptr;
}

const char* WhyNotGemm(const KernelContext& context) {
  if (const char* reason = WhyNotProduct<FormOfGemm>(context)) return reason;
  if (context.Input(0).rank() != 2 || context.Input(1).rank() != 2) return "no matrices";
  if (!HasC(context)) return nullptr;
  const float beta = GetFloat(context.node(), "beta", 1);
  if (beta != 1 && beta != 0) return "beta is neither 1 nor 0";
  const std::optional<ProductShape> shape = ShapeOf(context, FormOfGemm(context));
  if (!shape->ViewOfOperand(context.Input(2).dims(), Way::kAsIs).has_value()) return "C does not fit the result";
  return context.Input(2).dtype() == context.Input(0).dtype() ? nullptr : "C has another type";
}

const char* WhyNotFusedMatMul(const KernelContext& context) {
  const Node& node = context.node();
  if (GetInt(node, "transBatchA", 0) != 0 || GetInt(node, "transBatchB", 0) != 0) return "moves the batch";
  return WhyNotProduct<FormOfFusedMatMul>(context);
}

const char* WhyNotWeightGradient(const KernelContext& context) {
  if (const char* reason = WhyNotProduct<FormOfWeightGradient>(context)) return reason;
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

// ---- parts: along the first axis of what the library sees

constexpr int64_t kRowGranule = 64;
// Every part reads all weights, once more from memory where they are large.
constexpr int64_t kLargeWeightsBytes = 16 << 20, kRowGranuleOfLargeWeights = 128;
// Those that are widened at every run are so in blocks, again for every part: fewer, larger parts.
constexpr int64_t kBlocks = 4, kRowGranuleOfBlocks = 512;

// Elements from one index of the first axis to the next, where that is the axis that the result is cut along.
int64_t StepOf(const Dims& view, const Parts& parts) {
  return parts.count() > 1 && view[0] == parts.total ? ElementsBetween(view, 1, view.size()) : 0;
}
Dims CutTo(Dims view, const Parts& parts, int64_t size) {
  if (StepOf(view, parts) != 0) view[0] = size;
  return view;
}

struct ProductTypes {
  DType compute, result, stored;  // `stored`: of the result
  bool converts;                  // operands or the result
};

bool HasLargeWeights(const ProductShape& shape) {
  return shape.k * shape.n * static_cast<int64_t>(sizeof(float)) > kLargeWeightsBytes;
}

// Of large weights that are stored in 16 bits and computed by a step of training, columns of the result each.
int64_t BlocksOf(const KernelContext& context, const ProductShape& shape, Way way,
                 const std::vector<EpilogueStep>& steps, const ProductTypes& types) {
  const bool is_cut = way == Way::kFolded && shape.transposes_b && steps.empty() && shape.n % kBlocks == 0;
  const bool is_widened = types.compute != context.Input(1).dtype() && !context.IsConstantInput(1);
  return is_cut && is_widened && HasLargeWeights(shape) ? kBlocks : 1;
}

Parts PartsOf(const KernelContext& context, const ProductShape& shape, Way way, const ProductTypes& types,
              int64_t blocks) {
  const Dims y = shape.ViewOfY(way), b = shape.ViewOfB(way);
  const Parts whole{y[0], y[0]};
  const bool cuts_b = way != Way::kFolded && b[0] > 1;
  if (!types.converts || (cuts_b && context.IsConstantInput(1))) return whole;
  if (way == Way::kFolded) {
    const int64_t granule = blocks > 1               ? kRowGranuleOfBlocks
                            : HasLargeWeights(shape) ? kRowGranuleOfLargeWeights
                                                     : kRowGranule;
    return CutAxis(y[0], std::max(shape.k, shape.n), granule);
  }
  const int64_t widest = std::max({shape.m * shape.k, shape.k * shape.n, shape.m * shape.n});
  return CutAxis(y[0], widest * ElementsBetween(y, 1, y.size() - 2), 1);
}

// One that is as long as y's row, or a scalar, whatever Gemm's C and a MatMul's addend look like.
FitOperand Fitter(const ProductShape& shape, Way way, DType compute, const Parts& parts, int64_t size) {
  return [&shape, way, compute, parts, size](const Tensor& operand) -> std::optional<FittedOperand> {
    const std::optional<Dims> view = shape.ViewOfOperand(operand.dims(), way);
    if (!view.has_value()) return std::nullopt;
    return FittedOperand{RowMajorOperand(compute, CutTo(*view, parts, size)), StepOf(*view, parts)};
  };
}

// A product done one way, with its parts.
absl::Status PrepareWay(KernelContext& context, const ProductShape& shape, Way way,
                        const std::vector<EpilogueStep>& steps, const ProductTypes& types, PreparedProduct& product) {
  const Dims a = shape.ViewOfA(way), y = shape.ViewOfY(way);
  const int64_t blocks = product.blocks = BlocksOf(context, shape, way, steps, types);
  Dims b = shape.ViewOfB(way);
  b[b.size() - 2] /= blocks;
  const Parts parts = product.parts = PartsOf(context, shape, way, types, blocks);
  const bool cuts_b = way != Way::kFolded;
  product.a_step = StepOf(a, parts);
  product.b_step = cuts_b ? StepOf(b, parts) : 0;
  product.y_step = ElementsBetween(y, 1, y.size());
  return PrepareParts(
      context, types.compute,
      [&](int64_t size) -> absl::StatusOr<std::unique_ptr<onednn::Primitive>> {
        std::optional<LibraryEpilogue> epilogue =
            FitEpilogue(context, steps, y.size() - 1, Fitter(shape, way, types.compute, parts, size));
        if (!epilogue.has_value()) return absl::UnimplementedError("an operand does not fit the result");
        std::string why_not;
        onednn::Operand result = RowMajorOperand(types.result, CutTo(y, parts, size));
        result.dims.back() /= blocks;
        std::unique_ptr<onednn::Primitive> primitive = onednn::OpenLibrary().library->MakeMatMul(
            {.a = MatrixOperand(types.compute, CutTo(a, parts, size), shape.transposes_a),
             .b = MatrixOperand(types.compute, cuts_b ? CutTo(b, parts, size) : b, shape.transposes_b),
             .y = result,
             .bias = epilogue->bias,
             .packs_b = context.IsConstantInput(1),
             .post_ops = epilogue->post_ops},
            &why_not);
        if (primitive == nullptr) return absl::UnimplementedError(why_not);
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
    if (status.ok()) return product;
    if (way == Way::kAsIs || !absl::IsUnimplemented(status)) return status;
  }
}

template <FormOf form_of>
absl::Status Product(KernelContext& context) {
  const Tensor &a = context.Input(0), &b = context.Input(1);
  const DType compute = ComputeTypeFor(context, a.dtype());
  std::vector<int64_t> key;
  AppendShapes(context, key);
  AMP_ASSIGN_OR_RETURN(const auto prepared, context.State<PreparedOperations>().Get(key, [&] {
    const ProductForm form = form_of(context);
    const DType stored = form.gives == DType::kUndefined ? StoredType(context) : form.gives;
    const DType result = ResultTypeOf(compute, stored);
    const ProductTypes types{compute, result, stored, compute != a.dtype() || result != stored};
    std::vector<EpilogueStep> steps = form.steps;
    steps.insert(steps.end(), context.epilogue().steps.begin(), context.epilogue().steps.end());
    return Prepare(context, *ShapeOf(context, form), steps, types);
  }));
  const auto& product = static_cast<const PreparedProduct&>(*prepared);
  const bool is_constant = product.weights.dtype() != DType::kUndefined;
  return RunInParts(context, {.operation = product,
                              .compute = compute,
                              .layout = Layout::kRowMajor,
                              .y_layout = Layout::kRowMajor,
                              .a = {.tensor = &a, .step = product.a_step},
                              .b = {.tensor = &b, .step = product.b_step, .blocks = product.blocks},
                              .weights = is_constant ? &product.weights : nullptr,
                              .weights_of_last = &product.weights_of_last});
}

constexpr KernelRow kRows[] = {
    {.op_type = "MatMul",
     .function = Product<FormOfMatMul>,
     .why_not = WhyNotProduct<FormOfMatMul>,
     .family = "onednn",
     .takes_epilogue = true},
    {.op_type = "Gemm",
     .function = Product<FormOfGemm>,
     .first_version = 7,
     .why_not = WhyNotGemm,
     .family = "onednn",
     .takes_epilogue = true},
    {.op_type = "FusedMatMul",
     .function = Product<FormOfFusedMatMul>,
     .domain = "com.microsoft",
     .why_not = WhyNotFusedMatMul,
     .family = "onednn"},
    {.op_type = "MatrixWeightGradient",
     .function = Product<FormOfWeightGradient>,
     .domain = "ai.amp",
     .why_not = WhyNotWeightGradient,
     .family = "onednn"},
};

}  // namespace

absl::Span<const KernelRow> LibraryMatrixKernels() { return kRows; }

}  // namespace amp
