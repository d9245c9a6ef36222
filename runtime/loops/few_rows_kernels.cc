// Products of a few rows with a matrix: MatMul, Gemm, com.microsoft::FusedMatMul. The matrix is read once, from where
// it is and in the type in which it is stored; nothing is packed. Sums are float32.
//
//   x float16[1,4096], w float16[4096,4096]     32 MiB of w are read, and nothing else is
#include <algorithm>
#include <cstring>

#include "ir/base/status.h"
#include "runtime/forms/product.h"
#include "runtime/hardware/hardware.h"
#include "runtime/kernel/parallel_for.h"
#include "runtime/kernel/product_shape.h"
#include "runtime/kernel/shape_math.h"
#include "runtime/loops/best_loops.h"
#include "runtime/loops/epilogue_loops.h"
#include "runtime/loops/families.h"
#include "runtime/loops/float_parts.h"

namespace amp {
namespace {

using Way = ProductShape::Way;

// ---- which products -------------------------------------------------------------------------------------------------

// The most rows with which these loops are as fast as oneDNN's products, of matrices that no cache holds. Measured with
// AVX2. With AVX-512 they are an estimate: more rows are bound by arithmetic, which oneDNN is faster with, above all
// where the processor has arithmetic in 16 bits.
constexpr int64_t kMostRows = 16, kMostRowsWithAvx512 = 8, kMostRowsOf16Bits = 4;
// Fewer columns, or a shallower transposed matrix, leave registers empty.
constexpr int64_t kLeastInARow = 8;

int64_t MostRows(DType dtype) {
  static const CpuFeatures cpu = DetectCpu();
  const bool has_arithmetic = dtype == DType::kFloat16 ? cpu.amx_fp16 : cpu.avx512_bf16;
  if (dtype != DType::kFloat32 && has_arithmetic) return kMostRowsOf16Bits;
  return cpu.avx512 && dtype != DType::kFloat16 ? kMostRowsWithAvx512 : kMostRows;
}

std::optional<ProductShape> ShapeOf(const KernelContext& context, const ProductForm& form) {
  return ShapeOfProduct(context.Input(0).dims(), context.Input(1).dims(), form.transposes_a, form.transposes_b);
}

// The rows that meet one matrix.
int64_t RowsOfMatrix(const ProductShape& shape) {
  return shape.FirstWay(Way::kFolded) == Way::kFolded ? ElementsBetween(shape.y, 0, shape.y.size() - 1) : shape.m;
}

// The least that there can be, seen without looking at the whole shape.
bool HasManyRows(const KernelContext& context) {
  const Tensor& a = context.Input(0);
  if (a.rank() < 2 || context.node().op_type() != "MatMul") return false;
  const int64_t rows =
      context.Input(1).rank() == 2 ? ElementsBetween(a.dims(), 0, a.rank() - 1) : a.dims()[a.rank() - 2];
  return rows > MostRows(a.dtype());
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
  if (RowsOfMatrix(*shape) > MostRows(a.dtype())) return kManyRows;
  if (shape->has_vectors && !context.epilogue().steps.empty()) return "an epilogue behind a vector";
  if ((shape->transposes_b || shape->n == 1 ? shape->k : shape->n) < kLeastInARow) return "short rows of B";
  return EpilogueLoops::WhyNot(context, StepsOf(context, form), shape->y);
}

// ---- the rows of A --------------------------------------------------------------------------------------------------

// All rows of A as float32, with zeros behind each of them.
struct FloatRows {
  Tensor padded;
  const float* elements = nullptr;
  size_t step = 0;
};

// `depth` elements, `step` apart, to float32.
void ReadStrided(const FloatSource& from, size_t first, size_t step, float* to, size_t depth) {
  for (size_t i = 0; i < depth; ++i) {
    float element;
    to[i] = *from.Read(first + i * step, 1, &element);
  }
}

absl::StatusOr<FloatRows> ReadRows(const KernelContext& context, const ProductShape& shape) {
  const Tensor& a = context.Input(0);
  const auto depth = static_cast<size_t>(shape.k), m = static_cast<size_t>(shape.m);
  const bool is_transposed = shape.transposes_a && m > 1;
  if (a.dtype() == DType::kFloat32 && depth % kVectorGranule == 0 && a.num_elements() == shape.k) {
    return FloatRows{.padded = {}, .elements = a.elements<float>().data(), .step = depth};
  }
  // Rows that lie a multiple of 4 KiB apart would push each other out of the nearest cache.
  const size_t step = (depth / kVectorGranule + 2) * kVectorGranule;
  const size_t rows = static_cast<size_t>(a.num_elements()) / depth;
  FloatRows read{.padded = {}, .elements = nullptr, .step = step};
  AMP_ASSIGN_OR_RETURN(read.padded,
                       context.MakeScratch(DType::kFloat32, {static_cast<int64_t>(rows), static_cast<int64_t>(step)}));
  float* const to = read.padded.mutable_elements<float>().data();
  const FloatSource from(BestLoops(), a);
  for (size_t row = 0; row < rows; ++row) {
    float* const begin = to + row * step;
    if (is_transposed) {
      ReadStrided(from, row / m * m * depth + row % m, m, begin, depth);
    } else if (const float* const found = from.Read(row * depth, depth, begin); found != begin) {
      std::memcpy(begin, found, depth * sizeof(float));
    }
    std::fill(begin + depth, begin + step, 0.0F);
  }
  read.elements = to;
  return read;
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
  // A column is a row, transposed.
  Matrices result{.rows = static_cast<size_t>(RowsOfMatrix(shape)),
                  .depth = k,
                  .columns = n,
                  .b_step = shape.transposes_b || n == 1 ? k : n,
                  .transposed = shape.transposes_b || n == 1,
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

template <typename T>
ProductLoops::Loop<T> LoopFor(DType dtype, bool transposed) {
  const ProductLoops& loops = BestLoops().products;
  if constexpr (std::is_same_v<T, float>) {
    return transposed ? loops.of_transposed_float32 : loops.of_float32;
  } else if (dtype == DType::kFloat16) {
    return transposed ? loops.of_transposed_float16 : loops.of_float16;
  } else {
    return transposed ? loops.of_transposed_bfloat16 : loops.of_bfloat16;
  }
}

// Columns are computed in stretches: of B, rows of a stretch are read side by side, and the longer they are the more
// memory gives; sums of a stretch stay in a near cache.
constexpr size_t kStretch = 4096, kMostSums = 16384;
// Threads share out so many columns, at the least.
constexpr size_t kColumnGranule = 64;

class Product {
 public:
  Product(const Matrices& matrices, const FloatRows& x, const Tensor& b, const EpilogueLoops& epilogue, Tensor& y)
      : matrices_(matrices), x_(x), b_(b), epilogue_(epilogue), out_(BestLoops(), y) {}

  void Run() const {
    const size_t granules = (matrices_.columns + kColumnGranule - 1) / kColumnGranule;
    const size_t cost = matrices_.rows * matrices_.depth * std::min(matrices_.columns, kColumnGranule);
    ParallelFor(matrices_.pairs.size() * granules, cost, [&](const Share& share) {
      std::vector<float> sums(matrices_.rows * SumsStep());
      for (size_t at = share.first; at < share.end;) {
        const size_t pair = at / granules, first = at % granules;
        const size_t end = std::min(granules, first + (share.end - at));
        RunColumns(pair, first * kColumnGranule, std::min(end * kColumnGranule, matrices_.columns), sums.data());
        at += end - first;
      }
    });
  }

 private:
  size_t StretchColumns() const {
    const size_t most = std::min(kStretch, kMostSums / matrices_.rows / kColumnGranule * kColumnGranule);
    return std::min(most, (matrices_.columns + kVectorGranule - 1) / kVectorGranule * kVectorGranule);
  }
  // Between rows of sums, which would push each other out of the nearest cache a multiple of 4 KiB apart.
  size_t SumsStep() const { return StretchColumns() + kVectorGranule; }

  void RunColumns(size_t pair, size_t first, size_t end, float* sums) const {
    const size_t most = StretchColumns();
    for (size_t column = first; column < end; column += most) {
      RunStretch(pair, column, std::min(most, end - column), sums);
    }
  }

  template <typename T>
  void Multiply(const Matrices::Pair& pair, size_t column, size_t count, float* sums) const {
    const T* const b = reinterpret_cast<const T*>(b_.bytes().data()) + pair.b;
    LoopFor<T>(b_.dtype(), matrices_.transposed)({.x = x_.elements + pair.a_row * x_.step,
                                                  .b = b + column * (matrices_.transposed ? matrices_.b_step : 1),
                                                  .y = sums,
                                                  .rows = matrices_.rows,
                                                  .depth = matrices_.depth,
                                                  .columns = count,
                                                  .x_step = x_.step,
                                                  .b_step = matrices_.b_step,
                                                  .y_step = SumsStep()});
  }

  void RunStretch(size_t pair, size_t column, size_t count, float* sums) const {
    const Matrices::Pair& of = matrices_.pairs[pair];
    if (b_.dtype() == DType::kFloat32) {
      Multiply<float>(of, column, count, sums);
    } else {
      Multiply<uint16_t>(of, column, count, sums);
    }
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
  const FloatRows& x_;
  const Tensor& b_;
  const EpilogueLoops& epilogue_;
  const FloatSink out_;
};

absl::Status FewRowsProduct(KernelContext& context) {
  const Tensor& a = context.Input(0);
  const ProductForm form = ReadProductForm(context);
  const ProductShape shape = *ShapeOf(context, form);
  AMP_ASSIGN_OR_RETURN(const FloatRows x, ReadRows(context, shape));
  const DType stored = context.epilogue().stores_as == DType::kUndefined ? a.dtype() : context.epilogue().stores_as;
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutput(0, stored, shape.y_final));
  context.Report(BestLoops().name, DType::kFloat32);
  const EpilogueLoops epilogue(context, StepsOf(context, form), shape.y);
  Product(MatricesOf(shape), x, context.Input(1), epilogue, *y).Run();
  return absl::OkStatus();
}

constexpr KernelRow Row(absl::string_view op_type, absl::string_view domain = "", int first_version = 1) {
  return {.op_type = op_type,
          .function = FewRowsProduct,
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
