// Which calls of model-local functions can be replaced by the functions' nodes, and what that would cost. Decided
// before anything is copied: 30 functions that each call the next one twice are 2^30 nodes.
//
//   f (x) imports opset 17, the model opset 17             -> its calls can be inlined
//   g (x) imports opset 11 and uses Squeeze, which changed -> the adapters lift a copy, whose nodes are inlined
//   h (x) the same with an attribute that is a reference   -> its calls stay, and the obstacle says why
//
// A function is known by (domain, name, overload); a standard operator of the same name gives way to it.
#ifndef AMP_IR_FUNCTIONS_INLINE_PLAN_H_
#define AMP_IR_FUNCTIONS_INLINE_PLAN_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "ir/base/reason.h"
#include "ir/file/model_walk.h"

namespace onnx {
class FunctionProto;
class ModelProto;
class NodeProto;
}  // namespace onnx

namespace amp {

class InlinePlan {
 public:
  // Calls of functions of `opaque_domains` stay. The model must outlive the plan and keep its functions.
  // REQUIRES: ValidateModel passed, so that no function calls itself.
  // `model_stays_because`: why the model was not lifted to its functions (ir/functions/lift_function.h), if that was
  // tried.
  InlinePlan(const onnx::ModelProto& model, const std::vector<std::string>& opaque_domains,
             Reason model_stays_because = Reason::None());

  // Index of the function that the node calls; -1 if it calls none.
  int Callee(const onnx::NodeProto& node) const;
  // Why the call stays one. REQUIRES: Callee(call) >= 0.
  Reason ObstacleTo(const onnx::NodeProto& call) const;
  // Returns the function that is inlined for a call, or its copy lifted to the model's opset.
  const onnx::FunctionProto& function(int index) const;

  // Calls in the main graph, bodies included, that can be inlined.
  int64_t num_calls() const { return num_calls_; }

  // By index: whether nodes of graphs call the function, directly or through others. Of the model as it is now.
  std::vector<bool> CalledFunctions() const;
  // The highest version of ai.onnx for whose sake calls stay, because the model's is older; 0 if there is none.
  int WantedOpset() const;

  // Bytes that inlining adds, from above; saturates. Nodes are counted by ValidateModel.
  int64_t AddedBytes() const;

 private:
  struct Facts {
    Reason obstacle = Reason::None();
    std::shared_ptr<const onnx::FunctionProto> lifted;  // null: the function itself will do
    int64_t wanted_opset = 0;                           // of the model, to be inlined
    // The bytes of the function with all that it calls.
    int64_t bytes = -1;
    int64_t names = 0;       // that get the call's label in front
    int64_t references = 0;  // to attributes: each may be a copy of what the call passes
  };
  void Judge(int index, const std::vector<std::string>& opaque_domains);
  Reason ObstacleOfVersions(const onnx::FunctionProto& function);
  Reason ObstacleOfOperator(const onnx::NodeProto& node, const onnx::FunctionProto& function);
  const Facts& Measure(int index);
  void AddCall(const onnx::NodeProto& call, Facts& total);

  const onnx::ModelProto& model_;
  Reason model_stays_because_;
  absl::flat_hash_map<FunctionKey, int> index_;
  absl::flat_hash_map<std::string, int64_t> imports_;  // the model's, and those that inlined nodes bring along
  std::vector<Facts> facts_;
  Facts main_;
  int64_t num_calls_ = 0;
};

}  // namespace amp

#endif  // AMP_IR_FUNCTIONS_INLINE_PLAN_H_
