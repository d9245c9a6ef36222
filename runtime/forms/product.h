// Products of matrices as their nodes state them: y = alpha A B + beta C. MatMul, Gemm, FusedMatMul of com.microsoft
// and gradients of weights.
#ifndef AMP_RUNTIME_FORMS_PRODUCT_H_
#define AMP_RUNTIME_FORMS_PRODUCT_H_

#include <vector>

#include "ir/graph/graph.h"
#include "runtime/kernel/epilogue.h"
#include "runtime/kernel/kernel.h"

namespace amp {

struct MatrixProduct {
  bool transposes_a = false, transposes_b = false;
  bool moves_batch = false;  // of A or of B, a leading axis goes behind the matrices: transBatchA, transBatchB
  float alpha = 1, beta = 1;
};

MatrixProduct ReadMatrixProduct(const Node& node);

// A product and the steps behind it, which come before those of the node's epilogue.
struct ProductForm {
  bool transposes_a = false, transposes_b = false;
  std::vector<EpilogueStep> steps = {};
};
// REQUIRES: WhyNotProductForm takes the node.
ProductForm ReadProductForm(const KernelContext& context);
// Why the node is no product with steps behind it.
Refusal WhyNotProductForm(const KernelContext& context);

}  // namespace amp

#endif  // AMP_RUNTIME_FORMS_PRODUCT_H_
