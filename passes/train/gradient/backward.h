// One node of the forward graph on the way back: what a gradient rule reads, and where it leaves its results.
//
//   y = Tanh (x):    backward.Give(0, g * (1 - y * y))      with g = backward.Gradient(), y = backward.Output(0)
#ifndef AMP_PASSES_TRAIN_GRADIENT_BACKWARD_H_
#define AMP_PASSES_TRAIN_GRADIENT_BACKWARD_H_

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "ir/graph/attributes.h"
#include "ir/graph/graph.h"
#include "ir/graph/shape.h"
#include "passes/train/gradient/term.h"

namespace amp {

class Backward {
 public:
  // `gradients`: of the node's outputs, none where the loss does not depend on one. `wanted`: which inputs' gradients
  // somebody reads.
  Backward(TermWriter& write, NodeId node, std::vector<Term> gradients, std::vector<bool> wanted)
      : write_(write),
        id_(node),
        gradients_(std::move(gradients)),
        wanted_(std::move(wanted)),
        given_(wanted_.size()) {}

  TermWriter& write() { return write_; }
  const Model& model() const { return write_.model(); }
  const Node& node() const { return model().node(id_); }
  int opset() const { return model().opset(""); }

  size_t num_inputs() const { return node().inputs.size(); }
  bool HasInput(size_t port) const { return node().Input(port) != kNone; }
  ValueId InputId(size_t port) const { return node().Input(port); }
  ValueId OutputId(size_t port = 0) const { return node().Output(port); }
  Term Input(size_t port) { return write_.Of(InputId(port)); }
  Term Output(size_t port = 0) { return write_.Of(OutputId(port)); }
  // The gradient of an output, in its shape; none if the loss does not depend on it.
  const Term& Gradient(size_t port = 0) const { return gradients_[port]; }
  bool Wants(size_t port) const { return port < wanted_.size() && wanted_[port]; }

  // The gradient of an input that somebody wants (others are thrown away), in its shape and type.
  void Give(size_t port, const Term& gradient) {
    if (Wants(port)) given_[port] = gradient;
  }
  // Gives the gradient of an operand that was broadcast to output 0: a gradient of that shape is summed down to the
  // input's.
  void GiveBroadcast(size_t port, const Term& gradient) { Give(port, SumTo(gradient, OutputId(), InputId(port))); }
  const std::vector<Term>& given() const { return given_; }

  // `x`, which has the shape of the value `from`, summed along the axes along which `to` was broadcast to `from`. The
  // last `trailing` axes are no matter of it: in them `x` has the shape of `to`.
  Term SumTo(const Term& x, ValueId from, ValueId to, size_t trailing = 0);

  // Attributes, with the default that holds at the opset in question.
  int64_t Int(absl::string_view name, int64_t fallback) const { return GetInt(node(), name, fallback); }
  double Float(absl::string_view name, float fallback) const { return GetFloat(node(), name, fallback); }
  std::string String(absl::string_view name, absl::string_view fallback) const {
    return GetString(node(), name, fallback);
  }
  std::optional<Axes> Ints(absl::string_view name) const { return GetInts(node(), name); }

  // kUnknownDim where a dimension is not known; nothing where the rank is not.
  std::optional<Axes> Shape(ValueId value) const { return ShapeOf(model(), value); }
  std::optional<int64_t> Rank(ValueId value) const;
  // Counted from the front; nothing where the rank is not known, or has no such axis.
  std::optional<int64_t> AxisFromFront(ValueId value, int64_t axis) const;
  std::optional<Axes> AxesFromFront(ValueId value, Axes axes) const;

  // kDataLoss: "no gradient of this node: <why>"; the caller says which node.
  static absl::Status Refuse(absl::string_view why);

 private:
  TermWriter& write_;
  NodeId id_;
  std::vector<Term> gradients_;
  std::vector<bool> wanted_;
  std::vector<Term> given_;
};

}  // namespace amp

#endif  // AMP_PASSES_TRAIN_GRADIENT_BACKWARD_H_
