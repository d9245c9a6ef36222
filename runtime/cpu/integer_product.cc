#include "runtime/cpu/integer_product.h"

#include <algorithm>
#include <string>

#include "ir/base/status.h"
#include "runtime/cpu/make_primitive.h"
#include "runtime/kernel/parallel_for.h"
#include "runtime/loops/best_loops.h"
#include "runtime/onednn/open_library.h"

namespace amp {

void MoveBytes(absl::Span<const std::byte> from, absl::Span<std::byte> to) {
  std::transform(from.begin(), from.end(), to.begin(), [](std::byte b) { return b ^ std::byte{kHalfRange}; });
}

absl::StatusOr<std::shared_ptr<PreparedIntegers>> PrepareIntegers(const Tensor& b, int64_t rows) {
  auto prepared = std::make_shared<PreparedIntegers>();
  const int64_t k = b.dim(0), n = b.dim(1);
  prepared->k = static_cast<size_t>(k);
  prepared->n = static_cast<size_t>(n);
  prepared->moves_b = b.dtype() == DType::kUint8;
  onednn::MatMulSpec spec{.a = RowMajorOperand(DType::kUint8, {rows, k}),
                          .b = RowMajorOperand(DType::kInt8, {k, n}),
                          .y = RowMajorOperand(DType::kInt32, {rows, n}),
                          .bias = {},
                          .packs_b = true,
                          .post_ops = {}};
  AMP_ASSIGN_OR_RETURN(prepared->primitive, MakeMatMul(spec));
  AMP_ASSIGN_OR_RETURN(Tensor plain, Tensor::Create(DType::kInt8, b.dims()));
  if (prepared->moves_b) {
    MoveBytes(b.bytes(), plain.mutable_bytes());
  } else {
    std::copy(b.bytes().begin(), b.bytes().end(), plain.mutable_bytes().begin());
  }
  prepared->column_sums.assign(prepared->n, 0);
  const auto elements = plain.elements<int8_t>();
  for (size_t i = 0; i < elements.size(); ++i) {
    prepared->column_sums[i % prepared->n] += static_cast<uint32_t>(elements[i]);
  }
  prepared->weights = plain;
  if (prepared->primitive->packed_bytes() == 0) return prepared;
  AMP_ASSIGN_OR_RETURN(prepared->weights,
                       Tensor::Create(DType::kUint8, {static_cast<int64_t>(prepared->primitive->packed_bytes())}));
  if (!prepared->primitive->Pack(plain.bytes().data(), prepared->weights.mutable_bytes().data())) {
    return Refusal("the library does not pack the weights");
  }
  return prepared;
}

absl::Status PreparedIntegers::Multiply(const Operands& operands) const {
  onednn::Primitive::Arguments arguments;
  arguments.a = operands.a.data();
  arguments.b = weights.bytes().data();
  arguments.y = operands.y.data();
  arguments.scratch = operands.scratch;
  if (!primitive->Run(arguments)) return absl::InternalError("oneDNN failed");
  // The part of the sums that depends only on the row or only on the column.
  const auto a_zero = static_cast<uint32_t>(operands.a_zero);
  std::vector<uint32_t> b_zeros, of_columns(n);
  for (const int32_t zero : operands.b_zeros)
    b_zeros.push_back(static_cast<uint32_t>(zero - (moves_b ? kHalfRange : 0)));
  b_zeros.resize(n, b_zeros[0]);
  std::transform(column_sums.begin(), column_sums.end(), of_columns.begin(),
                 [a_zero](uint32_t sum) { return 0 - a_zero * sum; });
  const QuantizedLoops& loops = BestLoops().quantized;
  ParallelFor(operands.y.size() / n, k + n, [&](const Share& share) {
    for (size_t row = share.first; row < share.end; ++row) {
      const uint32_t of_row = static_cast<uint32_t>(k) * a_zero - loops.sum_of_bytes(operands.a.data() + row * k, k);
      loops.add_to_sums(of_columns.data(), b_zeros.data(), of_row, operands.y.data() + row * n, n);
    }
  });
  return absl::OkStatus();
}

}  // namespace amp
