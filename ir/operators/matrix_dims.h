// The sizes that a matrix unit sees: what MatMul, Gemm and convolutions multiply.
#ifndef AMP_IR_OPERATORS_MATRIX_DIMS_H_
#define AMP_IR_OPERATORS_MATRIX_DIMS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "ir/graph/graph.h"

namespace amp {

struct MatrixDim {
  std::string name;  // "M", "N", "K"; of convolutions "input channels" and "output channels", per group
  int64_t size = 0;
};

// The known ones of the node, in that order; none for other operators.
std::vector<MatrixDim> MatrixDims(const Model& model, NodeId id);

}  // namespace amp

#endif  // AMP_IR_OPERATORS_MATRIX_DIMS_H_
