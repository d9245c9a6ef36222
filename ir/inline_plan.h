// Which calls of model-local functions can be replaced by the functions' nodes, and what that would cost. Decided
// before anything is copied: 30 functions that each call the next one twice are 2^30 nodes.
//
//   f (x) imports opset 17, the model opset 17            -> its calls can be inlined
//   g (x) imports opset 11 and uses Squeeze, which changed -> its calls stay, and the obstacle says why
//
// A function is known by (domain, name, overload); a standard operator of the same name gives way to it.
#ifndef AMP_IR_INLINE_PLAN_H_
#define AMP_IR_INLINE_PLAN_H_

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace onnx {
class FunctionProto;
class ModelProto;
class NodeProto;
}  // namespace onnx

namespace amp {

using FunctionKey = std::tuple<absl::string_view, absl::string_view, absl::string_view>;
FunctionKey FunctionKeyOf(const onnx::FunctionProto& function);
FunctionKey FunctionKeyOf(const onnx::NodeProto& call);

// Visits the nodes of a list and of all graphs within them, owners first.
template <typename Nodes, typename Visit>
void ForEachNodeWithin(const Nodes& nodes, const Visit& visit) {
  for (const auto& node : nodes) {
    visit(node);
    for (const auto& attribute : node.attribute()) {
      if (attribute.has_g()) ForEachNodeWithin(attribute.g().node(), visit);
      for (const auto& graph : attribute.graphs()) ForEachNodeWithin(graph.node(), visit);
    }
  }
}

class InlinePlan {
 public:
  // Calls of functions of `opaque_domains` stay. The model must outlive the plan and keep its functions.
  // REQUIRES: ValidateModel passed, so that no function calls itself.
  InlinePlan(const onnx::ModelProto& model, const std::vector<std::string>& opaque_domains);

  // Index of the function that the node calls; -1 if it calls none.
  int Callee(const onnx::NodeProto& node) const;
  // Why the call stays one; empty when it can be inlined. REQUIRES: Callee(call) >= 0.
  std::string ObstacleTo(const onnx::NodeProto& call) const;
  const onnx::FunctionProto& function(int index) const;

  // Calls in the main graph, bodies included, that can be inlined.
  int64_t num_calls() const { return num_calls_; }

  // Bytes that inlining adds, from above; saturates. Nodes are counted by ValidateModel.
  int64_t AddedBytes() const;

 private:
  struct Facts {
    std::string obstacle;
    // Of the function with all that it calls.
    int64_t bytes = -1;
    int64_t names = 0;       // that get the call's label in front
    int64_t references = 0;  // to attributes: each may be a copy of what the call passes
  };
  std::string FindObstacle(const onnx::FunctionProto& function, const std::vector<std::string>& opaque_domains);
  std::string ObstacleOfOperator(const onnx::NodeProto& node, const onnx::FunctionProto& function);
  const Facts& Measure(int index);
  void AddCall(const onnx::NodeProto& call, Facts& total);

  const onnx::ModelProto& model_;
  absl::flat_hash_map<FunctionKey, int> index_;
  absl::flat_hash_map<std::string, int64_t> imports_;  // the model's, and those that inlined nodes bring along
  std::vector<Facts> facts_;
  Facts main_;
  int64_t num_calls_ = 0;
};

}  // namespace amp

#endif  // AMP_IR_INLINE_PLAN_H_
