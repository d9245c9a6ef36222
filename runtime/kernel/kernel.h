// The interface of kernels: functions that compute the outputs of one node.
//
//   absl::Status Neg(KernelContext& context) {
//     const Tensor& x = context.Input(0);
//     AMP_ASSIGN_OR_RETURN(Tensor* y, context.MakeOutput(0, x.dtype(), x.dims()));
//     ...
//   }
//   KernelRow{"Neg", Neg}
//
// Kernels judge the shapes, attributes and indices that they are given: a model's author may have got them wrong, and
// what is wrong is a Status that says what was expected and what was found; whoever runs the kernel adds which node it
// is. Inputs are never written to, and may share their elements with other values.
#ifndef AMP_RUNTIME_KERNEL_KERNEL_H_
#define AMP_RUNTIME_KERNEL_KERNEL_H_

#include <limits>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "ir/base/status.h"
#include "ir/graph/attributes.h"
#include "ir/graph/graph.h"
#include "runtime/kernel/tensor.h"

namespace amp {

// Runs the bodies of the node at hand, with values of the outer scopes as they are now.
class BodyRunner {
 public:
  virtual ~BodyRunner() = default;
  virtual size_t NumInputs(GraphId body) const = 0;
  // One datum per input of the body; gives one per output. Errors: those of the body's nodes.
  virtual absl::StatusOr<std::vector<Datum>> Run(GraphId body, std::vector<Datum> inputs) = 0;
};

// What a run lends to all its kernels.
struct RunResources {
  std::mt19937_64 random;  // for nodes without a seed of their own
  int64_t max_loop_iterations = 1'000'000;
};

class KernelContext {
 public:
  // `inputs`: null where absent. `outputs`: one per port of the node.
  KernelContext(const Model& model, NodeId node, absl::Span<const Datum* const> inputs, absl::Span<Datum> outputs,
                RunResources& resources, BodyRunner& bodies)
      : model_(model), node_(node), inputs_(inputs), outputs_(outputs), resources_(resources), bodies_(bodies) {}

  const Node& node() const { return model_.node(node_); }
  // The version of the operator: the opset that it was last changed in, as far as the model's import goes.
  int version() const;

  size_t num_inputs() const { return inputs_.size(); }
  size_t num_outputs() const { return outputs_.size(); }
  bool HasInput(size_t port) const { return port < inputs_.size() && inputs_[port] != nullptr; }
  // Whether the node names that output: whether anybody may read it.
  bool HasOutput(size_t port) const { return node().Output(port) != kNone; }

  // An absent input, or one that is no tensor, is an empty tensor of type kUndefined, which fits nothing.
  const Tensor& Input(size_t port) const;
  // Nothing held: an absent input is an empty optional.
  const Datum& InputDatum(size_t port) const;
  // The elements of a small input that holds integers of any type, in order; `fallback` when it is absent.
  // Errors: it holds something else.
  absl::StatusOr<std::vector<int64_t>> InputInts(size_t port) const;
  // The only element of an input with one.
  absl::StatusOr<int64_t> InputInt(size_t port) const;
  absl::StatusOr<double> InputNumber(size_t port) const;

  // An attribute that a later version made an input: whichever the node has, nothing if neither.
  absl::StatusOr<std::optional<std::vector<int64_t>>> IntsOfInputOrAttribute(size_t port, absl::string_view name) const;

  // Makes the tensor that output `port` will be; where the node has no such output, one that nobody sees. Errors: those
  // of Tensor::Create. The pointer is good until the kernel ends.
  absl::StatusOr<Tensor*> MakeOutput(size_t port, DType dtype, Dims dims);
  void SetOutput(size_t port, Datum datum);

  // "no kernel for float8e5m2": for element types that a kernel does not cover.
  absl::Status TypeError(DType dtype) const;

  // The body in the attribute of this name; kNone if there is none.
  GraphId Body(absl::string_view attribute) const { return GetBody(model_, node(), attribute); }
  BodyRunner& bodies() { return bodies_; }
  RunResources& resources() { return resources_; }
  const Model& model() const { return model_; }

 private:
  const Model& model_;
  NodeId node_;
  absl::Span<const Datum* const> inputs_;
  absl::Span<Datum> outputs_;
  RunResources& resources_;
  BodyRunner& bodies_;
  Tensor unseen_;  // an output that the node does not have
};

using KernelFunction = absl::Status (*)(KernelContext&);

// A kernel for all types that the operator's schema allows, from one version of it to another.
struct KernelRow {
  absl::string_view op_type;
  KernelFunction function;
  absl::string_view domain = "";
  int first_version = 1, last_version = std::numeric_limits<int>::max();
};

}  // namespace amp

#endif  // AMP_RUNTIME_KERNEL_KERNEL_H_
