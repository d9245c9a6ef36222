// Einsum as batches of matrix products, once axes are in order; of more than two operands one after another.
//
//   "bhid,bhjd->bhij"     batch b h, rows i, columns j, summed over d: each a times the transpose of b
#ifndef AMP_RUNTIME_KERNEL_CONTRACTION_H_
#define AMP_RUNTIME_KERNEL_CONTRACTION_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/kernel/kernel.h"

namespace amp {

struct Contraction {
  std::string a, b, y;                    // labels of the operands and the result
  std::string batch, rows, columns, sum;  // the four kinds of labels

  // Labels in the order that the product has them; b is as it is where it is a batch of transposed matrices.
  bool TransposesB() const { return b == batch + columns + sum; }
  std::string OrderOfA() const { return batch + rows + sum; }
  std::string OrderOfB() const { return TransposesB() ? b : batch + sum + columns; }
};

// Returns the products that the equation is, one after another: the first of operands 0 and 1, each other one of the
// result of the one before and the next operand. Empty if one of them is no such product.
std::vector<Contraction> ReadEquation(const Node& node);

// Whether labels have one size each in all inputs; broadcasting a size of one is the reference's. REQUIRES: the
// products are those of the node's equation.
bool DoSizesAgree(absl::Span<const Contraction> products, const KernelContext& context);

struct ContractionSizes {
  int64_t batch, m, k, n;
};
ContractionSizes SizesOf(const Contraction& form, const Tensor& a, const Tensor& b);
// Returns the dims of a tensor with these labels, which are some of the operands'.
Dims DimsOf(const Contraction& form, const std::string& labels, const Tensor& a, const Tensor& b);

// The tensor with its axes in another order; itself where they are in that.
absl::StatusOr<Tensor> Ordered(const KernelContext& context, const Tensor& x, const std::string& labels,
                               const std::string& wanted);

}  // namespace amp

#endif  // AMP_RUNTIME_KERNEL_CONTRACTION_H_
