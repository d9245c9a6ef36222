// Steps on every element of a node's result before it is stored, in place of nodes of their own.
//
//   c = Conv (x, W)   s = Add (c, residual)   y = Relu (s)      =>   Conv with the steps add(residual), relu
#ifndef AMP_RUNTIME_KERNEL_EPILOGUE_H_
#define AMP_RUNTIME_KERNEL_EPILOGUE_H_

#include <cstddef>
#include <vector>

#include "ir/base/dtype.h"

namespace amp {

enum class EpilogueKind {
  kRelu,  // alpha * x below 0
  kClip,  // to [alpha, beta]
  kSigmoid,
  kTanh,
  kGeluErf,
  kGeluTanh,
  kSwish,  // x * sigmoid(alpha * x)
  kHardSwish,
  kHardSigmoid,  // clip(alpha * x + beta, 0, 1)
  kElu,          // alpha * (exp(x) - 1) below 0
  kLinear,       // alpha * x + beta
  kAdd,          // x + operand, broadcast
  kMul,          // x * operand, broadcast
};

struct EpilogueStep {
  EpilogueKind kind = EpilogueKind::kRelu;
  float alpha = 0, beta = 0;
  size_t input = 0;  // kAdd, kMul: the operand, by its port behind those of the node itself
};

struct Epilogue {
  std::vector<EpilogueStep> steps;
  DType stores_as = DType::kUndefined;  // the type of the result, where a Cast at the end makes it another one
};

}  // namespace amp

#endif  // AMP_RUNTIME_KERNEL_EPILOGUE_H_
