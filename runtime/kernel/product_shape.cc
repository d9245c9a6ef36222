#include "runtime/kernel/product_shape.h"

#include <algorithm>

#include "ir/base/status.h"
#include "runtime/kernel/shape_math.h"

namespace amp {
namespace {

constexpr size_t kMostAxes = 6;

Dims BatchOf(const Dims& dims) { return {dims.begin(), dims.end() - 2}; }

bool AreOnes(absl::Span<const int64_t> dims) {
  return std::all_of(dims.begin(), dims.end(), [](int64_t dim) { return dim == 1; });
}

// Leading dims in one: `whole` if they are those of the result, 1 if all are 1.
std::optional<int64_t> InOne(absl::Span<const int64_t> dims, absl::Span<const int64_t> result) {
  if (dims == result) return ElementsBetween(dims, 0, dims.size());
  if (AreOnes(dims)) return 1;
  return std::nullopt;
}

}  // namespace

std::optional<ProductShape> ShapeOfProduct(Dims a, Dims b, bool transposes_a, bool transposes_b) {
  if (a.empty() || b.empty()) return std::nullopt;
  ProductShape shape{.transposes_a = transposes_a && a.size() > 1, .transposes_b = transposes_b && b.size() > 1};
  const bool is_row = a.size() == 1, is_column = b.size() == 1;
  if (is_row) a.insert(a.begin(), 1);
  if (is_column) b.push_back(1);
  shape.has_vectors = is_row || is_column;
  const auto rows = [](const Dims& dims, bool transposes) { return dims[dims.size() - (transposes ? 1 : 2)]; };
  shape.m = rows(a, shape.transposes_a);
  shape.k = rows(a, !shape.transposes_a);
  shape.n = rows(b, !shape.transposes_b);
  if (rows(b, shape.transposes_b) != shape.k) return std::nullopt;
  const absl::StatusOr<Dims> batch = BroadcastDims(BatchOf(a), BatchOf(b));
  if (!batch.ok() || batch->size() + 2 > kMostAxes) return std::nullopt;
  shape.y = *batch;
  shape.y.insert(shape.y.end(), {shape.m, shape.n});
  if (shape.k == 0 || std::count(shape.y.begin(), shape.y.end(), 0) > 0) return std::nullopt;
  a.insert(a.begin(), shape.y.size() - a.size(), 1);
  b.insert(b.begin(), shape.y.size() - b.size(), 1);
  shape.a = std::move(a);
  shape.b = std::move(b);
  shape.y_final = shape.y;
  if (is_column) shape.y_final.pop_back();
  if (is_row) shape.y_final.erase(shape.y_final.end() - (is_column ? 1 : 2));
  return shape;
}

ProductShape::Way ProductShape::FirstWay(Way way) const {
  const Dims batch_b = BatchOf(b), batch_a = BatchOf(a), batch = BatchOf(y);
  const bool folds = AreOnes(batch_b) && !transposes_a;
  if (way == Way::kFolded && folds) return Way::kFolded;
  const bool is_one = InOne(batch_a, batch).has_value() && InOne(batch_b, batch).has_value();
  if (way <= Way::kOneBatch && is_one) return Way::kOneBatch;
  return Way::kAsIs;
}

Dims ProductShape::View(const Dims& dims, Way way) const {
  switch (way) {
    case Way::kFolded:
      return {ElementsBetween(dims, 0, dims.size() - 1), dims.back()};
    case Way::kOneBatch:
      return {InOne(BatchOf(dims), BatchOf(y)).value_or(1), dims[dims.size() - 2], dims.back()};
    case Way::kAsIs:
      return dims;
  }
  return dims;
}

Dims ProductShape::ViewOfB(Way way) const {
  if (way == Way::kFolded) return {b[b.size() - 2], b.back()};
  return View(b, way);
}

std::optional<Dims> ProductShape::ViewOfOperand(const Dims& operand, Way way) const {
  if (operand.size() > y.size()) return std::nullopt;
  Dims aligned(y.size() - operand.size(), 1);
  aligned.insert(aligned.end(), operand.begin(), operand.end());
  for (size_t i = 0; i < y.size(); ++i) {
    if (aligned[i] != 1 && aligned[i] != y[i]) return std::nullopt;
  }
  if (way == Way::kAsIs) return aligned;
  const size_t kept = way == Way::kFolded ? 1 : 2;
  const auto leading = [&](const Dims& dims) { return Dims(dims.begin(), dims.end() - static_cast<int>(kept)); };
  const std::optional<int64_t> one = InOne(leading(aligned), leading(y));
  if (!one.has_value()) return std::nullopt;
  Dims result = {*one};
  result.insert(result.end(), aligned.end() - static_cast<int>(kept), aligned.end());
  return result;
}

}  // namespace amp
