// Which values of a model leave float16's range for what they are: powers, energies, exponentials.
//
//   s = Pow(re, 2) + Pow(im, 2)      the squares, and their sum, a power
//   Transpose(s), s * 0.5, s + 1e-9  are what s is; MatMul(s, bank) too, one product behind it
//   Sqrt(s)                          a magnitude, which fits; its square is a power again
//   Exp(x - ReduceMax(x))            at most 1: fits
#ifndef AMP_PASSES_GUARD_WIDE_VALUES_H_
#define AMP_PASSES_GUARD_WIDE_VALUES_H_

#include "passes/guard/guarded_graph.h"

namespace amp {

enum class Wideness : uint8_t {
  kNone,
  kSquare,       // of anything: an activation may be squared
  kMagnitude,    // root of a power
  kPower,        // of a complex number: re * re + im * im
  kEnergy,       // another sum of squares
  kExponential,  // of what may be large
};

struct WideValue {
  Wideness wideness = Wideness::kNone;
  int products = 0;       // between the source and this value
  NodeId source = kNone;  // the node that gave it its wideness

  bool IsWide() const { return wideness != Wideness::kNone; }
  bool LeavesRange() const { return wideness >= Wideness::kPower; }
};

// A product of any operator: MatMul, Conv, ConvTranspose.
bool IsProduct(const GuardedGraph& graph, NodeId id);

class WideValues {
 public:
  // Linear in nodes and uses.
  explicit WideValues(const GuardedGraph& graph);

  const WideValue& Of(ValueId value) const { return values_[graph_.Slot(value)]; }

 private:
  void Follow(NodeId id);
  WideValue Judge(const Node& node, NodeId id) const;
  WideValue OfSquare(NodeId id, Wideness of) const;
  WideValue OfSumOfSquares(NodeId id) const;
  WideValue OfAddition(const Node& node, NodeId id, const WideValue& widest) const;
  WideValue Widest(const Node& node) const;
  size_t CountVariables(const Node& node) const;
  bool IsBounded(ValueId exponent) const;

  const GuardedGraph& graph_;
  IdVector<ValueId, WideValue> values_;
};

}  // namespace amp

#endif  // AMP_PASSES_GUARD_WIDE_VALUES_H_
