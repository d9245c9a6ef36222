// Products of a few rows with a matrix: MatMul, Gemm, com.microsoft::FusedMatMul. The matrix is read once, from where
// it is and in the type in which it is stored; nothing is packed. Sums are float32.
//
//   x float16[1,4096], w float16[4096,4096]     32 MiB of w are read, and nothing else is
#include <algorithm>
#include <cstring>
#include <memory>

#include "ir/base/status.h"
#include "runtime/forms/product.h"
#include "runtime/kernel/parallel_for.h"
#include "runtime/kernel/product_shape.h"
#include "runtime/kernel/shape_math.h"
#include "runtime/loops/best_loops.h"
#include "runtime/loops/epilogue_loops.h"
#include "runtime/loops/families.h"
#include "runtime/loops/few_rows.h"
#include "runtime/loops/float_parts.h"

namespace amp {
namespace {

using Way = ProductShape::Way;

// ---- which products -------------------------------------------------------------------------------------------------

// Fewer columns, or a shallower transposed matrix, leave registers empty.
constexpr int64_t kLeastInARow = 8;

std::optional<ProductShape> ShapeOf(const KernelContext& context, const ProductForm& form) {
  return ShapeOfProduct(context.Input(0).dims(), context.Input(1).dims(), form.transposes_a, form.transposes_b);
}

// Whether sums run along B's rows in memory. A column is a row, transposed.
bool LiesTransposed(const ProductShape& shape) { return shape.transposes_b || shape.n == 1; }

// The rows that meet one matrix.
int64_t RowsOfMatrix(const ProductShape& shape) {
  return shape.FirstWay(Way::kFolded) == Way::kFolded ? ElementsBetween(shape.y, 0, shape.y.size() - 1) : shape.m;
}

// Whether even the fewest rows that there can be are too many: seen without the whole shape, which takes longer.
bool HasManyRows(const KernelContext& context) {
  const Tensor &a = context.Input(0), &b = context.Input(1);
  if (a.rank() < 2 || b.rank() == 0 || context.node().op_type() != "MatMul") return false;
  const int64_t rows = b.rank() == 2 ? ElementsBetween(a.dims(), 0, a.rank() - 1) : a.dims()[a.rank() - 2];
  return rows > MostFewRows(a.dtype(), b.dims().back() == 1, b.size_bytes());
}

std::vector<EpilogueStep> StepsOf(const KernelContext& context, const ProductForm& form) {
  std::vector<EpilogueStep> steps = form.steps;
  steps.insert(steps.end(), context.epilogue().steps.begin(), context.epilogue().steps.end());
  return steps;
}

constexpr char kManyRows[] = "many rows";

Refusal WhyNotFewRows(const KernelContext& context) {
  const Tensor &a = context.Input(0), &b = context.Input(1);
  if (HasManyRows(context)) return kManyRows;
  if (!IsLoopFloat(a.dtype())) return kNoLoopFloat;
  if (a.dtype() != b.dtype()) return "operands of two types";
  if (const Refusal refusal = WhyNotProductForm(context)) return refusal;
  const ProductForm form = ReadProductForm(context);
  const std::optional<ProductShape> shape = ShapeOf(context, form);
  if (!shape.has_value()) return "shapes that are no product";
  const bool is_transposed = LiesTransposed(*shape);
  if (RowsOfMatrix(*shape) > MostFewRows(a.dtype(), is_transposed, b.size_bytes())) return kManyRows;
  if (shape->has_vectors && !context.epilogue().steps.empty()) return "an epilogue behind a vector";
  if ((is_transposed ? shape->k : shape->n) < kLeastInARow) return "short rows of B";
  return EpilogueLoops::WhyNot(context, StepsOf(context, form), shape->y);
}

// ---- products -------------------------------------------------------------------------------------------------------

// Matrices, each with the rows that meet it.
struct Matrices {
  size_t rows = 0, depth = 0, columns = 0;
  size_t b_step = 0;
  bool transposed = false;
  struct Pair {
    size_t a_row = 0, b = 0;  // the first row of A; the first element of B
  };
  std::vector<Pair> pairs;
};

Matrices MatricesOf(const ProductShape& shape) {
  const size_t k = static_cast<size_t>(shape.k), n = static_cast<size_t>(shape.n);
  const bool is_transposed = LiesTransposed(shape);
  Matrices result{.rows = static_cast<size_t>(RowsOfMatrix(shape)),
                  .depth = k,
                  .columns = n,
                  .b_step = is_transposed ? k : n,
                  .transposed = is_transposed,
                  .pairs = {}};
  if (shape.FirstWay(Way::kFolded) == Way::kFolded) {
    result.pairs.push_back({});
    return result;
  }
  const auto batch_of = [](const Dims& dims) { return Dims(dims.begin(), dims.end() - 2); };
  const Dims batch = batch_of(shape.y);
  const std::vector<Dims> strides = {BroadcastStrides(batch_of(shape.a), batch),
                                     BroadcastStrides(batch_of(shape.b), batch)};
  for (StridedWalk walk(batch, strides); !walk.AtEnd(); walk.Next()) {
    result.pairs.push_back({walk[0] * result.rows, walk[1] * k * n});
  }
  return result;
}

// The rows of A that meet a matrix, as float32: where they lie, or in a buffer.
class RowsOfA {
 public:
  RowsOfA(const Tensor& a, bool is_transposed, const Matrices& matrices)
      : is_transposed_(is_transposed),
        rows_(matrices.rows),
        depth_(matrices.depth),
        lie_ready_(a.dtype() == DType::kFloat32 && !is_transposed && MayLieSo(matrices)),
        from_(BestLoops(), a) {}

  size_t step() const { return lie_ready_ ? depth_ : FewRowsStep(depth_); }
  size_t buffer_size() const { return lie_ready_ ? 0 : rows_ * step(); }

  const float* Read(size_t first_row, float* buffer) const {
    const size_t first = first_row * depth_;
    if (lie_ready_) return from_.Read(first, rows_ * depth_, nullptr);
    for (size_t row = 0; row < rows_; ++row) {
      float* const to = buffer + row * step();
      if (is_transposed_) {
        ReadApart(first + row, to);
      } else if (const float* const found = from_.Read(first + row * depth_, depth_, to); found != to) {
        std::memcpy(to, found, depth_ * sizeof(float));
      }
      std::fill(to + depth_, to + step(), 0.0F);
    }
    return buffer;
  }

 private:
  // Loops over a transposed matrix read whole registers of rows, and several rows side by side.
  static bool MayLieSo(const Matrices& matrices) {
    constexpr size_t kPage = 1024;  // elements
    const bool lie_apart = matrices.rows == 1 || matrices.depth % kPage != 0;
    return !matrices.transposed || (matrices.depth % kVectorGranule == 0 && lie_apart);
  }

  void ReadApart(size_t first, float* to) const {
    for (size_t i = 0; i < depth_; ++i) {
      float element;
      to[i] = *from_.Read(first + i * rows_, 1, &element);
    }
  }

  const bool is_transposed_;
  const size_t rows_, depth_;
  const bool lie_ready_;
  const FloatSource from_;
};

// Columns are computed in stretches: of B, rows of a stretch are read side by side, and the longer they are the more
// memory gives; sums of a stretch stay in a near cache.
constexpr size_t kStretch = 4096, kMostSums = 16384;
// Threads share out so many columns, at the least; if those are too few for all threads, the smaller number.
constexpr size_t kColumnGranule = 64, kSmallGranule = 16;

class Product {
 public:
  Product(const Matrices& matrices, const RowsOfA& x, const Tensor& b, const EpilogueLoops& epilogue, Tensor& y)
      : matrices_(matrices), x_(x), b_(b), epilogue_(epilogue), out_(BestLoops(), y) {}

  void Run() const {
    const size_t pairs = matrices_.pairs.size();
    const size_t granule = pairs * Granules(kColumnGranule) < MostShares() ? kSmallGranule : kColumnGranule;
    const size_t granules = Granules(granule);
    const size_t cost = matrices_.rows * matrices_.depth * std::min(matrices_.columns, granule);
    ParallelFor(pairs * granules, cost, [&](const Share& share) {
      const Buffers buffers{std::make_unique_for_overwrite<float[]>(x_.buffer_size()),
                            std::make_unique_for_overwrite<float[]>(matrices_.rows * SumsStep())};
      for (size_t at = share.first; at < share.end;) {
        const size_t pair = at / granules, first = at % granules;
        const size_t end = std::min(granules, first + (share.end - at));
        RunColumns(pair, first * granule, std::min(end * granule, matrices_.columns), buffers);
        at += end - first;
      }
    });
  }

 private:
  struct Buffers {
    std::unique_ptr<float[]> x, sums;
  };

  size_t Granules(size_t granule) const { return (matrices_.columns + granule - 1) / granule; }
  size_t StretchColumns() const {
    const size_t most = std::min(kStretch, kMostSums / matrices_.rows / kColumnGranule * kColumnGranule);
    return std::min(most, (matrices_.columns + kVectorGranule - 1) / kVectorGranule * kVectorGranule);
  }
  size_t SumsStep() const { return FewRowsStep(StretchColumns()); }

  void RunColumns(size_t pair, size_t first, size_t end, const Buffers& buffers) const {
    const size_t most = StretchColumns();
    const float* const x = x_.Read(matrices_.pairs[pair].a_row, buffers.x.get());
    for (size_t column = first; column < end; column += most) {
      RunStretch(pair, x, column, std::min(most, end - column), buffers.sums.get());
    }
  }

  void RunStretch(size_t pair, const float* x, size_t column, size_t count, float* sums) const {
    const std::byte* const b = b_.bytes().data() + matrices_.pairs[pair].b * ElementBytes(b_.dtype());
    const StoredMatrix matrix = {b_.dtype(), matrices_.transposed, b, matrices_.b_step};
    const FewRowsProduct product = {.x = x,
                                    .x_step = x_.step(),
                                    .b = matrix.From(column),
                                    .y = sums,
                                    .y_step = SumsStep(),
                                    .rows = matrices_.rows,
                                    .depth = matrices_.depth,
                                    .columns = count};
    product.Run();
    for (size_t m = 0; m < matrices_.rows; ++m) {
      const size_t row = pair * matrices_.rows + m, first = row * matrices_.columns + column;
      float* const of_row = sums + m * SumsStep();
      epilogue_.Apply(row, column, of_row, count);
      float* const to = out_.Begin(first, of_row);
      if (to != of_row) std::memcpy(to, of_row, count * sizeof(float));
      out_.End(first, count, of_row);
    }
  }

  const Matrices& matrices_;
  const RowsOfA& x_;
  const Tensor& b_;
  const EpilogueLoops& epilogue_;
  const FloatSink out_;
};

absl::Status ComputeProduct(KernelContext& context) {
  const Tensor& a = context.Input(0);
  const ProductForm form = ReadProductForm(context);
  const ProductShape shape = *ShapeOf(context, form);
  const DType stored = context.epilogue().stores_as == DType::kUndefined ? a.dtype() : context.epilogue().stores_as;
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutput(0, stored, shape.y_final));
  context.Report(BestLoops().name, DType::kFloat32);
  const EpilogueLoops epilogue(context, StepsOf(context, form), shape.y);
  const Matrices matrices = MatricesOf(shape);
  const RowsOfA x(a, shape.transposes_a && shape.m > 1, matrices);
  Product(matrices, x, context.Input(1), epilogue, *y).Run();
  return absl::OkStatus();
}

constexpr KernelRow Row(absl::string_view op_type, absl::string_view domain = "", int first_version = 1) {
  return {.op_type = op_type,
          .function = ComputeProduct,
          .domain = domain,
          .first_version = first_version,
          .refusal = WhyNotFewRows,
          .family = "few-rows",
          .takes_epilogue = true};
}

constexpr KernelRow kRows[] = {Row("MatMul"), Row("Gemm", "", 7), Row("FusedMatMul", "com.microsoft")};

}  // namespace

absl::Span<const KernelRow> FewRowsKernels() { return kRows; }

}  // namespace amp
