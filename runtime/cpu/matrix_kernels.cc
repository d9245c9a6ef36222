// Products of matrices by oneDNN: MatMul, Gemm, com.microsoft::FusedMatMul.
#include <algorithm>
#include <utility>

#include "ir/base/status.h"
#include "runtime/cpu/families.h"
#include "runtime/cpu/library_epilogue.h"
#include "runtime/cpu/prepared.h"
#include "runtime/cpu/product_shape.h"
#include "runtime/kernel/shape_math.h"
#include "runtime/onednn/open_library.h"

namespace amp {
namespace {

using Way = ProductShape::Way;

// What an operator asks for besides its epilogue.
struct ProductForm {
  bool transposes_a = false, transposes_b = false;
  std::vector<EpilogueStep> steps = {};  // before those of the epilogue
};

struct PreparedProduct : PreparedOperation {
  LibraryEpilogue epilogue;
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

onednn::Operand MatrixOperand(DType dtype, const Dims& dims, bool transposes) {
  onednn::Operand operand = RowMajorOperand(dtype, dims);
  if (!transposes) return operand;
  std::swap(operand.dims[dims.size() - 1], operand.dims[dims.size() - 2]);
  std::swap(operand.strides[dims.size() - 1], operand.strides[dims.size() - 2]);
  return operand;
}

// One that is as long as y's row, or a scalar, whatever Gemm's C and a MatMul's addend look like.
FitOperand Fitter(const ProductShape& shape, Way way, DType compute) {
  return [&shape, way, compute](const Tensor& operand) -> std::optional<onednn::Operand> {
    const std::optional<Dims> view = shape.ViewOfOperand(operand.dims(), way);
    if (!view.has_value()) return std::nullopt;
    return RowMajorOperand(compute, *view);
  };
}

struct ProductTypes {
  DType compute, result;
};

PreparedOperations::Made Prepare(KernelContext& context, const ProductShape& shape,
                                 const std::vector<EpilogueStep>& steps, const ProductTypes& types) {
  auto product = std::make_shared<PreparedProduct>();
  product->y_dims = shape.y_final;
  std::string why_not = "an operand does not fit the result";
  for (Way way = shape.FirstWay(Way::kFolded);; way = shape.FirstWay(static_cast<Way>(static_cast<int>(way) + 1))) {
    const Dims y = shape.ViewOfY(way);
    std::optional<LibraryEpilogue> epilogue =
        FitEpilogue(context, steps, y.size() - 1, Fitter(shape, way, types.compute));
    if (epilogue.has_value()) {
      product->epilogue = *std::move(epilogue);
      const onednn::MatMulSpec spec{.a = MatrixOperand(types.compute, shape.ViewOfA(way), shape.transposes_a),
                                    .b = MatrixOperand(types.compute, shape.ViewOfB(way), shape.transposes_b),
                                    .y = RowMajorOperand(types.result, y),
                                    .bias = product->epilogue.bias,
                                    .packs_b = context.IsConstantInput(1),
                                    .post_ops = product->epilogue.post_ops};
      product->primitive = onednn::OpenLibrary().library->MakeMatMul(spec, &why_not);
    }
    if (product->primitive != nullptr || way == Way::kAsIs) break;
  }
  if (product->primitive == nullptr) return absl::UnimplementedError(why_not);
  if (!context.IsConstantInput(1)) return product;
  AMP_ASSIGN_OR_RETURN(product->weights, context.State<PreparedOperations>().Packed(*product->primitive,
                                                                                    context.Input(1), types.compute));
  return product;
}

template <FormOf form_of>
absl::Status Product(KernelContext& context) {
  const ProductForm form = form_of(context);
  const std::optional<ProductShape> shape = ShapeOf(context, form);
  std::vector<EpilogueStep> steps = form.steps;
  steps.insert(steps.end(), context.epilogue().steps.begin(), context.epilogue().steps.end());
  const Tensor &a = context.Input(0), &b = context.Input(1);
  const DType compute = ComputeTypeFor(context, a.dtype());
  const ProductTypes types{compute, ResultTypeOf(compute, StoredType(context))};
  std::vector<int64_t> key;
  AppendShapes(context, key);
  AMP_ASSIGN_OR_RETURN(const auto prepared, context.State<PreparedOperations>().Get(
                                                key, [&] { return Prepare(context, *shape, steps, types); }));
  const auto& product = static_cast<const PreparedProduct&>(*prepared);

  AMP_ASSIGN_OR_RETURN(const Tensor left, Converted(a, compute, context.memory()));
  Tensor right = product.weights;
  if (right.dtype() == DType::kUndefined) {
    AMP_ASSIGN_OR_RETURN(right, Converted(b, compute, context.memory()));
  }
  AMP_ASSIGN_OR_RETURN(LibraryResult result, MakeResult(context, types.result, product.y_dims, Layout::kRowMajor));
  onednn::Primitive::Arguments arguments;
  arguments.a = left.bytes().data();
  arguments.b = right.bytes().data();
  arguments.y = result.data();
  AMP_RETURN_IF_ERROR(
      RunPrepared(context, product, product.epilogue, std::move(arguments), compute, Layout::kRowMajor));
  result.Store();
  return absl::OkStatus();
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
};

}  // namespace

absl::Span<const KernelRow> LibraryMatrixKernels() { return kRows; }

}  // namespace amp
