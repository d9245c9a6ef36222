// ai.amp::MatrixWeightGradient by oneDNN, for operands stored in another type than the library computes in. They are
// cut along the rows of the batch, and the products of all parts are added up in the result.
//
//   a float16[8192,784], g float16[8192,64]        dw float32[784,64] += a[0:256]^T g[0:256]        32 times
#include <algorithm>
#include <utility>

#include "ir/base/status.h"
#include "runtime/cpu/families.h"
#include "runtime/cpu/library_epilogue.h"
#include "runtime/cpu/make_primitive.h"
#include "runtime/cpu/parts.h"
#include "runtime/cpu/prepared.h"
#include "runtime/forms/product.h"

namespace amp {
namespace {

constexpr int64_t kRowGranule = 256;

struct PreparedGradient : PreparedOperation {
  Parts parts;
  std::unique_ptr<onednn::Primitive> adds, adds_last;  // add to the result; null if there is no such part
};

Refusal WhyNot(const KernelContext& context) {
  if (const Refusal refusal = WhyNotForLibrary(context)) return refusal;
  const Node& node = context.node();
  const Tensor &a = context.Input(0), &g = context.Input(1);
  if (a.rank() != 2 || g.rank() != 2) return "no matrices";
  if (a.dim(0) != g.dim(0)) return "shapes that the library does not multiply";
  const MatrixProduct form = ReadMatrixProduct(node);
  if (!form.transposes_a || form.transposes_b) return "not cut along the batch";
  if (form.alpha != 1) return "alpha is not 1";
  if (GetDType(node, "to") != DType::kFloat32) return "another type than float32";
  return ComputeTypeFor(context, a.dtype()) == a.dtype() ? "nothing to convert" : nullptr;
}

MadePrimitive MakeProduct(const Dims& y, DType compute, int64_t rows, bool adds) {
  return MakeMatMul({.a = {.dtype = compute, .dims = {y[0], rows}, .strides = {1, y[0]}},
                     .b = RowMajorOperand(compute, {rows, y[1]}),
                     .y = RowMajorOperand(DType::kFloat32, y),
                     .adds_to_y = adds});
}

PreparedOperations::Made Prepare(const Dims& y, DType compute, int64_t rows) {
  auto gradient = std::make_shared<PreparedGradient>();
  gradient->y_dims = y;
  const Parts& parts = gradient->parts =
      CutAxis(rows, {.of_index = y[0] + y[1], .of_all = (y[0] + y[1]) * rows}, kRowGranule);
  AMP_ASSIGN_OR_RETURN(gradient->primitive, MakeProduct(y, compute, parts.size, false));
  if (parts.count() == 1) return gradient;
  AMP_ASSIGN_OR_RETURN(gradient->adds, MakeProduct(y, compute, parts.size, true));
  if (parts.last() == parts.size) return gradient;
  AMP_ASSIGN_OR_RETURN(gradient->adds_last, MakeProduct(y, compute, parts.last(), true));
  return gradient;
}

// Reads rows of an operand in the type that the library computes in.
class Rows {
 public:
  static absl::StatusOr<Rows> Create(const KernelContext& context, const Tensor& tensor, DType compute, int64_t most) {
    Rows rows;
    rows.tensor_ = &tensor;
    AMP_ASSIGN_OR_RETURN(rows.scratch_, context.MakeScratch(compute, {most, tensor.dim(1)}));
    return rows;
  }
  const void* Read(int64_t first, int64_t count) {
    const auto row = static_cast<size_t>(tensor_->dim(1));
    const std::byte* const from =
        tensor_->bytes().data() + static_cast<size_t>(first) * row * ElementBytes(tensor_->dtype());
    ConvertElements(from, tensor_->dtype(), scratch_.mutable_bytes().data(), scratch_.dtype(),
                    static_cast<size_t>(count) * row);
    return scratch_.bytes().data();
  }

 private:
  const Tensor* tensor_ = nullptr;
  Tensor scratch_;
};

absl::Status WeightGradient(KernelContext& context) {
  const Tensor &a = context.Input(0), &g = context.Input(1);
  const DType compute = ComputeTypeFor(context, a.dtype());
  const int64_t total = a.dim(0);
  AMP_ASSIGN_OR_RETURN(const auto prepared, context.State<PreparedOperations>().Get({total, a.dim(1), g.dim(1)}, [&] {
    return Prepare({a.dim(1), g.dim(1)}, compute, total);
  }));
  const auto& gradient = static_cast<const PreparedGradient&>(*prepared);
  const int64_t size = gradient.parts.size;
  AMP_ASSIGN_OR_RETURN(Rows rows_of_a, Rows::Create(context, a, compute, size));
  AMP_ASSIGN_OR_RETURN(Rows rows_of_g, Rows::Create(context, g, compute, size));
  size_t scratch_bytes = 0;
  for (const auto* primitive : {&gradient.primitive, &gradient.adds, &gradient.adds_last}) {
    if (*primitive != nullptr) scratch_bytes = std::max(scratch_bytes, (*primitive)->scratch_bytes());
  }
  AMP_ASSIGN_OR_RETURN(Tensor scratch, context.MakeScratch(DType::kUint8, {static_cast<int64_t>(scratch_bytes)}));
  AMP_ASSIGN_OR_RETURN(Tensor * dw, context.MakeOutput(0, DType::kFloat32, gradient.y_dims));
  for (int64_t first = 0; first < total; first += size) {
    const int64_t count = std::min(size, total - first);
    const onednn::Primitive& primitive =
        first == 0 ? *gradient.primitive : *(count == size ? gradient.adds : gradient.adds_last);
    if (!primitive.Run({.a = rows_of_a.Read(first, count),
                        .b = rows_of_g.Read(first, count),
                        .y = dw->mutable_bytes().data(),
                        .scratch = scratch.mutable_bytes().data()})) {
      return absl::InternalError(absl::StrCat("oneDNN failed (", primitive.implementation(), ")"));
    }
  }
  context.Report(gradient.primitive->implementation(), compute);
  return absl::OkStatus();
}

constexpr KernelRow kRows[] = {{.op_type = "MatrixWeightGradient",
                                .function = WeightGradient,
                                .domain = "ai.amp",
                                .refusal = WhyNot,
                                .family = "onednn"}};

}  // namespace

absl::Span<const KernelRow> LibraryWeightGradientKernels() { return kRows; }

}  // namespace amp
