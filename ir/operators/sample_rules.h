// The rules of FollowSamples (sample_axis.h), and what they ask of a node.
#ifndef AMP_IR_OPERATORS_SAMPLE_RULES_H_
#define AMP_IR_OPERATORS_SAMPLE_RULES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ir/graph/attributes.h"
#include "ir/graph/constant.h"
#include "ir/graph/shape.h"
#include "ir/operators/sample_axis.h"

namespace amp {

inline constexpr int64_t kMostAxes = 64;
inline constexpr char kOthers[] = "reads samples by another operand than its first";
inline constexpr char kUnknownShape[] = "works on shapes that are not known";
inline constexpr char kUnknownAxes[] = "takes its axes from a value that is computed";

using Dims = std::vector<int64_t>;

class Follower {
 public:
  Follower(const Model& model, NodeId id, const Samples& samples)
      : model_(model), node_(model.node(id)), samples_(samples) {}

  const Node& node() const { return node_; }
  const Model& model() const { return model_; }
  const Samples& samples() const { return samples_; }
  const SampleAxis* Axis(size_t port) const { return samples_.Of(node_.Input(port)); }
  std::optional<Dims> Shape(size_t port) const { return ShapeOf(model_, node_.Input(port)); }
  // The rank of an input; -1 where it is not known.
  int64_t Rank(size_t port) const {
    const auto shape = Shape(port);
    return shape.has_value() ? static_cast<int64_t>(shape->size()) : -1;
  }

  // Integers of a constant input, or, without the input, of an attribute; nothing where neither tells.
  std::optional<Dims> Integers(size_t port, const char* attribute) const {
    if (node_.Input(port) == kNone) return GetInts(node_, attribute);
    const auto elements = ConstantElements(model_, node_.Input(port), kMostAxes);
    if (!elements.has_value()) return std::nullopt;
    return Dims(elements->begin(), elements->end());
  }

  // The one operand with samples is input 0, or none of the others may have any.
  bool OnlyFirst() const {
    for (size_t port = 0; port < node_.inputs.size(); ++port) {
      if ((Axis(port) != nullptr) != (port == 0)) return false;
    }
    return true;
  }

  FollowedNode All(const SampleAxis& axis) const {
    FollowedNode followed;
    followed.outputs.assign(node_.outputs.size(), axis);
    return followed;
  }
  static FollowedNode No(std::string why) { return {.why = Reason(std::move(why))}; }

 private:
  const Model& model_;
  const Node& node_;
  const Samples& samples_;
};

// An axis as attributes and inputs give it; -1 for one that is none.
inline int64_t Resolved(int64_t axis, int64_t rank) {
  if (axis < 0) axis += rank;
  return axis < 0 || axis >= rank ? -1 : axis;
}
// All of them; false where one is none.
bool ResolveAll(Dims& axes, int64_t rank);
bool Holds(const Dims& axes, size_t axis);
// The axis when the dimensions `removed` go.
SampleAxis Without(SampleAxis axis, const Dims& removed);

// Element by element, or sample by sample.
FollowedNode FollowPointwise(const Follower& f);
FollowedNode FollowImages(const Follower& f);
FollowedNode FollowResize(const Follower& f);
FollowedNode FollowGridSample(const Follower& f);
// Products.
FollowedNode FollowMatMul(const Follower& f);
FollowedNode FollowGemm(const Follower& f);
FollowedNode FollowEinsum(const Follower& f);
FollowedNode FollowRecurrence(const Follower& f);
// Along one axis, or from an axis on to the last: the attribute `axis`, without it `fallback`.
FollowedNode FollowAlong(const Follower& f, int64_t fallback);
FollowedNode FollowFrom(const Follower& f, int64_t fallback);
FollowedNode FollowCumSum(const Follower& f);
FollowedNode FollowReduction(const Follower& f);
FollowedNode FollowArgument(const Follower& f);
FollowedNode FollowMoments(const Follower& f);
// Moves.
FollowedNode FollowTranspose(const Follower& f);
FollowedNode FollowConcat(const Follower& f);
FollowedNode FollowSlice(const Follower& f);
FollowedNode FollowGather(const Follower& f);
FollowedNode FollowGatherElements(const Follower& f);
FollowedNode FollowSqueeze(const Follower& f);
FollowedNode FollowUnsqueeze(const Follower& f);
FollowedNode FollowTile(const Follower& f);
FollowedNode FollowPad(const Follower& f);
FollowedNode FollowOneHot(const Follower& f);

}  // namespace amp

#endif  // AMP_IR_OPERATORS_SAMPLE_RULES_H_
