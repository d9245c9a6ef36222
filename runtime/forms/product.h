// The attributes of Gemm, of FusedMatMul of com.microsoft and of gradients of weights: y = alpha A B + beta C.
#ifndef AMP_RUNTIME_FORMS_PRODUCT_H_
#define AMP_RUNTIME_FORMS_PRODUCT_H_

#include "ir/graph/graph.h"

namespace amp {

struct MatrixProduct {
  bool transposes_a = false, transposes_b = false;
  bool moves_batch = false;  // of A or of B, a leading axis goes behind the matrices: transBatchA, transBatchB
  float alpha = 1, beta = 1;
};

MatrixProduct ReadMatrixProduct(const Node& node);

}  // namespace amp

#endif  // AMP_RUNTIME_FORMS_PRODUCT_H_
