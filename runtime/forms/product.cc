#include "runtime/forms/product.h"

#include "ir/graph/attributes.h"

namespace amp {

MatrixProduct ReadMatrixProduct(const Node& node) {
  return {.transposes_a = GetInt(node, "transA", 0) != 0,
          .transposes_b = GetInt(node, "transB", 0) != 0,
          .moves_batch = GetInt(node, "transBatchA", 0) != 0 || GetInt(node, "transBatchB", 0) != 0,
          .alpha = GetFloat(node, "alpha", 1),
          .beta = GetFloat(node, "beta", 1)};
}

}  // namespace amp
