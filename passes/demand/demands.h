// The errors that readers bear of values: one walk backward over the nodes, with a rule per family of operators.
//
//   Log(x), y / x, x ^ -1      2 % of x, however small x is
//   Log(1 - x)                 2 % of the distance from 1
//   Log(x + 1e-6), x >= 0      2 % of x or of 1e-6, whichever is more
//   Log(Sigmoid(x))            an absolute error of 2 % of x
//   Sin(x)                     0.05 radians
//   GridSample(image, x)       a sixteenth of a pixel
//
// A demand arises at a reader and moves back through producers until something absorbs it: sums of generic values, most
// products, norms. Operators without a rule demand nothing.
#ifndef AMP_PASSES_DEMAND_DEMANDS_H_
#define AMP_PASSES_DEMAND_DEMANDS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"
#include "passes/demand/supplies.h"
#include "passes/demand/tolerance.h"
#include "passes/guard/guarded_graph.h"

namespace amp {

struct Demand {
  enum class Kind : uint8_t {
    kNearPole,  // error <= bound * max(|value - pole|, floor)
    kAbsolute,  // error <= bound
    kArgument,  // error <= bound, of what has passed a function or a layer: only sizes that are sure break it
  };
  static constexpr int32_t kNoDemand = -1;

  Kind kind = Kind::kNearPole;
  double pole = 0;
  double bound = 0;
  double floor = 0;
  bool is_of_result = false;      // the model gives it, or something made of it
  bool passes_masks = false;      // values from 1e4 on are fills of masks, and no size of the others
  bool is_of_order = false;       // of displacements of a constant: what is added to it is compared as any other value
  NodeId reader = kNone;          // that made it; of a demand on a result of the model, the node that gives that
  NodeId via = kNone;             // the node that reads the value and hands the demand on; kNone for a result
  int32_t handed_on = kNoDemand;  // the demand on the result of `via` that this one comes of
  ValueId value = kNone;          // that it is made of
};

class Demands {
 public:
  // Linear in nodes and uses. All references but `sums` must outlive this object.
  Demands(const GuardedGraph& graph, const Supplies& supplies, const CarriedSums& sums, const Tolerance& tolerance);

  const std::vector<Demand>& all() const { return all_; }
  const Demand& operator[](int32_t index) const { return all_[static_cast<size_t>(index)]; }
  // The demands that hold: a stronger one of the same kind takes the place of another.
  absl::Span<const int32_t> On(ValueId value) const { return of_value_[value]; }

 private:
  void Walk();
  void Visit(NodeId id);
  // Makes a demand on operand `port`; no effect on constants of the file and on what is no float.
  void Put(NodeId id, size_t port, Demand demand);
  void PutOn(ValueId value, const Demand& demand);
  void PassBack(ValueId found, ValueId left);
  void MakePole(NodeId id, size_t port, double pole, double floor = 0);
  void MakeAbsolute(NodeId id, size_t port, double bound, Demand::Kind kind = Demand::Kind::kAbsolute);

  void MakeOwn(NodeId id);
  void MakeOfLogarithmNearOne(NodeId id);
  void MakeOfRoot(NodeId id);
  void MakeOfResult(ValueId out);
  void MakeOfSampling(NodeId id);
  void MakeOfSteps(NodeId id);
  void MakeOfDifference(NodeId id);

  void HandOn(NodeId id, const Demand& demand);
  Interval BoundsOf(const Node& node) const;
  void HandOnMoved(NodeId id, const Demand& demand);
  void HandOnSum(NodeId id, const Demand& demand);
  void HandOnProduct(NodeId id, const Demand& demand);
  void HandOnRoot(NodeId id, const Demand& demand);
  void HandOnSquare(NodeId id, const Demand& demand);
  void HandOnMatrixProduct(NodeId id, const Demand& demand);

  const GuardedGraph& graph_;
  const Supplies& supplies_;
  const Tolerance& tolerance_;
  std::vector<Demand> all_;
  IdVector<ValueId, absl::InlinedVector<int32_t, 2>> of_value_;
};

// The error that it allows: "2 % of the distance from 1", "2 % of its values, or of 1e-06", "0.05".
std::string Describe(const Demand& demand);

}  // namespace amp

#endif  // AMP_PASSES_DEMAND_DEMANDS_H_
