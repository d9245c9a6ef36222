// The supplies of all float values of a model: one walk forward over its nodes, with a few rules per family of
// operators. An operator without a rule passes nothing on.
//
// Bodies of Loop and Scan begin with what is put in, less what a round may change. A second walk corrects what the
// first one assumed of their states.
#ifndef AMP_PASSES_DEMAND_SUPPLIES_H_
#define AMP_PASSES_DEMAND_SUPPLIES_H_

#include <tuple>

#include "absl/container/node_hash_map.h"
#include "ir/base/observed_values.h"
#include "ir/graph/graph.h"
#include "passes/demand/carried_sums.h"
#include "passes/demand/product_weights.h"
#include "passes/demand/supply.h"
#include "passes/guard/guarded_graph.h"

namespace amp {

class Supplies {
 public:
  // Linear in nodes and uses. Reads constants of at most 2^18 elements, and weights of at most 2^16. `observed` may be
  // null. All references must outlive this object.
  Supplies(const GuardedGraph& graph, const CarriedSums& sums, const ObservedValues* observed);

  // The supply of a float value, constants included.
  Supply Of(ValueId value) const;

  // The largest 2-norm of the weights behind one output of a product by a constant, which is its operand `port`; 0 if
  // it is too large to be read.
  double Gain(NodeId product, size_t port) const;
  bool IsNonNegativeOperand(NodeId product, size_t port) const;

 private:
  void Walk();
  void Observe(ValueId value);
  void Enter(NodeId id);
  Supply OfState(const Supply& first, const CarriedState& state) const;
  const Supply& OfConstant(ValueId value) const;
  Supply OfResult(NodeId id, size_t port) const;
  Supply OfCast(const Node& node) const;
  Supply OfMoved(const Node& node, size_t port) const;
  Supply OfSelection(const Node& node) const;
  Supply OfChoice(const Node& node) const;
  Supply OfSum(const Node& node, bool subtracts) const;
  Supply OfArithmetic(NodeId id) const;
  Supply OfQuotient(const Node& node) const;
  Supply OfFunction(const Node& node) const;
  Supply OfPower(const Node& node) const;
  Supply OfSaturating(const Node& node) const;
  Supply OfReduction(const Node& node) const;
  Supply OfProduct(NodeId id) const;
  Supply OfProductOfVariables(const Node& node) const;
  const ProductWeights& WeightsOf(NodeId product, size_t port) const;

  const GuardedGraph& graph_;
  const CarriedSums& sums_;
  const ObservedValues* const observed_;
  bool knows_states_ = false;  // a first walk has found what rounds leave
  IdVector<ValueId, Supply> supplies_;
  mutable absl::node_hash_map<ValueId, Supply> constants_;
  mutable absl::node_hash_map<std::tuple<ValueId, size_t, size_t>, ProductWeights> weights_;
};

}  // namespace amp

#endif  // AMP_PASSES_DEMAND_SUPPLIES_H_
