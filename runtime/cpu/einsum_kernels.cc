// Einsum of two operands that is a batch of matrix products, by oneDNN.
//
//   "bhid,bhjd->bhij"     batch b h, rows i, columns j, summed over d: each a times the transpose of b
//
// Axes are brought into the order batch, rows, sum and batch, sum, columns, where they are not; everything else is the
// reference's.
#include <algorithm>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "ir/base/status.h"
#include "ir/graph/attributes.h"
#include "runtime/cpu/families.h"
#include "runtime/cpu/prepared.h"
#include "runtime/kernel/move_elements.h"
#include "runtime/kernel/shape_math.h"
#include "runtime/onednn/open_library.h"

namespace amp {
namespace {

struct Contraction {
  std::string a, b, y;                    // labels of the operands and the result
  std::string batch, rows, columns, sum;  // the four kinds of labels
};

bool AreDistinct(std::string labels) {
  std::sort(labels.begin(), labels.end());
  return std::adjacent_find(labels.begin(), labels.end()) == labels.end();
}

bool Has(const std::string& labels, char label) { return labels.find(label) != std::string::npos; }

// Nothing where the equation is no such product.
std::optional<Contraction> ReadEquation(const Node& node) {
  const std::string dense = absl::StrReplaceAll(GetString(node, "equation", ""), {{" ", ""}});
  const std::vector<std::string> sides = absl::StrSplit(dense, "->");
  const std::vector<std::string> terms = absl::StrSplit(sides[0], ',');
  if (sides.size() != 2 || terms.size() != 2 || Has(dense, '.')) return std::nullopt;
  Contraction result{.a = terms[0], .b = terms[1], .y = sides[1], .batch = {}, .rows = {}, .columns = {}, .sum = {}};
  if (!AreDistinct(result.a) || !AreDistinct(result.b) || !AreDistinct(result.y)) return std::nullopt;
  for (const char label : result.y) {
    const bool in_a = Has(result.a, label), in_b = Has(result.b, label);
    if (!in_a && !in_b) return std::nullopt;
    (in_a && in_b ? result.batch : in_a ? result.rows : result.columns) += label;
  }
  for (const char label : result.a) {
    if (Has(result.y, label)) continue;
    if (!Has(result.b, label)) return std::nullopt;
    result.sum += label;
  }
  const bool sums_alone = std::any_of(result.b.begin(), result.b.end(),
                                      [&](char label) { return !Has(result.y, label) && !Has(result.a, label); });
  if (sums_alone || result.sum.empty()) return std::nullopt;
  return result;
}

// Labels must agree on their sizes; broadcasting a size of one is the reference's.
bool DoSizesAgree(const Contraction& contraction, const Tensor& a, const Tensor& b) {
  if (contraction.a.size() != a.rank() || contraction.b.size() != b.rank()) return false;
  for (size_t i = 0; i < contraction.a.size(); ++i) {
    const size_t at = contraction.b.find(contraction.a[i]);
    if (at != std::string::npos && b.dim(at) != a.dim(i)) return false;
  }
  return true;
}

const char* WhyNotEinsum(const KernelContext& context) {
  if (onednn::OpenLibrary().library == nullptr) return "oneDNN is not there";
  if (context.num_inputs() != 2) return "not of two operands";
  const Tensor &a = context.Input(0), &b = context.Input(1);
  if (!IsFloatOfLibrary(a.dtype()) || a.dtype() != b.dtype()) return "not two of float32, float16 or bfloat16";
  if (a.num_elements() == 0 || b.num_elements() == 0) return "no elements";
  const std::optional<Contraction> contraction = ReadEquation(context.node());
  if (!contraction.has_value()) return "no product of matrices";
  return DoSizesAgree(*contraction, a, b) ? nullptr : "sizes that differ";
}

// The tensor with its axes in another order; itself where they are in that.
absl::StatusOr<Tensor> Ordered(const KernelContext& context, const Tensor& x, const std::string& labels,
                               const std::string& wanted) {
  if (labels == wanted) return x;
  const Dims strides = RowStrides(x.dims());
  Dims dims, wanted_strides;
  for (const char label : wanted) {
    dims.push_back(x.dim(labels.find(label)));
    wanted_strides.push_back(strides[labels.find(label)]);
  }
  AMP_ASSIGN_OR_RETURN(Tensor result, context.MakeScratch(x.dtype(), std::move(dims)));
  AMP_RETURN_IF_ERROR(CopyStrided(x, 0, wanted_strides, result));
  return result;
}

int64_t SizeOf(const std::string& labels, const std::string& of, const Tensor& x) {
  int64_t size = 1;
  for (const char label : labels) size *= x.dim(of.find(label));
  return size;
}

struct Sizes {
  int64_t batch, m, k, n;
};

PreparedOperations::Made Prepare(const Sizes& sizes, bool transposes_b, DType compute, DType result) {
  auto operation = std::make_shared<PreparedOperation>();
  onednn::MatMulSpec spec{.a = RowMajorOperand(compute, {sizes.batch, sizes.m, sizes.k}),
                          .b = RowMajorOperand(compute, {sizes.batch, sizes.k, sizes.n}),
                          .y = RowMajorOperand(result, {sizes.batch, sizes.m, sizes.n}),
                          .bias = {},
                          .post_ops = {}};
  if (transposes_b) spec.b.strides = {sizes.k * sizes.n, 1, sizes.k};
  std::string why_not;
  operation->primitive = onednn::OpenLibrary().library->MakeMatMul(spec, &why_not);
  if (operation->primitive == nullptr) return absl::UnimplementedError(why_not);
  return operation;
}

absl::StatusOr<Tensor> Multiply(KernelContext& context, const Tensor& a, const Tensor& b, const Sizes& sizes,
                                bool transposes_b) {
  const DType compute = ComputeTypeFor(context, a.dtype());
  const DType computed_as = compute == a.dtype() ? compute : DType::kFloat32;
  AMP_ASSIGN_OR_RETURN(const auto operation, context.State<PreparedOperations>().Get(
                                                 {sizes.batch, sizes.m, sizes.k, sizes.n, transposes_b ? 1 : 0},
                                                 [&] { return Prepare(sizes, transposes_b, compute, computed_as); }));
  AMP_ASSIGN_OR_RETURN(const Tensor left, Converted(a, compute, context.memory()));
  AMP_ASSIGN_OR_RETURN(const Tensor right, Converted(b, compute, context.memory()));
  AMP_ASSIGN_OR_RETURN(Tensor product, context.MakeScratch(computed_as, {sizes.batch, sizes.m, sizes.n}));
  AMP_ASSIGN_OR_RETURN(
      Tensor scratch,
      context.MakeScratch(DType::kUint8, {static_cast<int64_t>(operation->primitive->scratch_bytes())}));
  onednn::Primitive::Arguments arguments;
  arguments.a = left.bytes().data();
  arguments.b = right.bytes().data();
  arguments.y = product.mutable_bytes().data();
  arguments.scratch = scratch.mutable_bytes().data();
  if (!operation->primitive->Run(arguments)) return absl::InternalError("oneDNN failed");
  context.Report(operation->primitive->implementation(), compute);
  return Converted(product, a.dtype(), context.memory());
}

absl::Status Einsum(KernelContext& context) {
  const Contraction form = *ReadEquation(context.node());
  const Tensor &a = context.Input(0), &b = context.Input(1);
  const Sizes sizes{SizeOf(form.batch, form.a, a), SizeOf(form.rows, form.a, a), SizeOf(form.sum, form.a, a),
                    SizeOf(form.columns, form.b, b)};
  const bool transposes_b = form.b == form.batch + form.columns + form.sum;
  AMP_ASSIGN_OR_RETURN(const Tensor left, Ordered(context, a, form.a, form.batch + form.rows + form.sum));
  AMP_ASSIGN_OR_RETURN(const Tensor right,
                       Ordered(context, b, form.b, transposes_b ? form.b : form.batch + form.sum + form.columns));
  AMP_ASSIGN_OR_RETURN(const Tensor product, Multiply(context, left, right, sizes, transposes_b));
  const std::string labels = form.batch + form.rows + form.columns;
  Dims dims;
  for (const char label : labels) {
    dims.push_back(Has(form.a, label) ? a.dim(form.a.find(label)) : b.dim(form.b.find(label)));
  }
  AMP_ASSIGN_OR_RETURN(Tensor y, Ordered(context, product.Reshaped(std::move(dims)), labels, form.y));
  context.SetOutput(0, std::move(y));
  return absl::OkStatus();
}

constexpr KernelRow kRows[] = {
    {.op_type = "Einsum", .function = Einsum, .why_not = WhyNotEinsum, .family = "onednn"},
};

}  // namespace

absl::Span<const KernelRow> LibraryEinsumKernels() { return kRows; }

}  // namespace amp
