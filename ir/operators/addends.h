// Operands that are added to what a node computes of the others, and who minds if such a sum comes near zero.
//
//   Conv (x, w, b), Gemm (x, w, b), LayerNormalization (x, scale, b), com.microsoft.BiasGelu (x, b)   add b
//   Add (x, b), Sub (b, x)                                                                            add either
#ifndef AMP_IR_OPERATORS_ADDENDS_H_
#define AMP_IR_OPERATORS_ADDENDS_H_

#include <cstddef>

#include "ir/graph/graph.h"

namespace amp {

bool IsAddend(const Model& model, NodeId node, size_t port);

// The factors of the node's addends, and of the products that they are added to: Gemm's beta and alpha.
double FactorOfAddends(const Node& node);
double FactorOfProducts(const Node& node);

// Whether the result of what reads a value there has no limit, or an infinite slope, where the value goes to zero: a
// division by it, its reciprocal, logarithm, root, or a power of it that is no square.
bool IsSingularAtZero(const Model& model, const Use& use);

// Whether what reads a value there gives something small where the value is small: moves, products, sums, squares.
// A sum with something else is none, nor is a bound that is a constant.
bool KeepsSmall(const Model& model, const Use& use);

}  // namespace amp

#endif  // AMP_IR_OPERATORS_ADDENDS_H_
