// Replaces calls of model-local functions by the functions' nodes, in the main graph and in every body.
//
//   [call] y = local.scale <by = 2.0> (x)            [call/c] call/c = Constant <value_float = 2.0> ()
//   local.scale <by> (a) => (b) {             ->     [call/Mul#0] y = Mul (x, call/c)
//     [c] c = Constant <value_float: float = @by> ()
//     b = Mul (a, c)
//   }
//
// Names of the function get the call's label (Model::NodeLabel) in front, and a number behind where that is taken; a
// node without a name is named after its operator and its position among those, so that it can be found. References
// to attributes take the call's value, else the function's default, else go. Messages keep their doc strings, metadata
// and unknown fields.
//
// ONNX's own inliner is not used: it asks no budget, names by number, says nothing about what it leaves, and lifts
// functions of older opsets with adapters that are not ours.
#ifndef AMP_IR_FUNCTIONS_INLINE_FUNCTIONS_H_
#define AMP_IR_FUNCTIONS_INLINE_FUNCTIONS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "ir/base/limits.h"
#include "ir/base/reason.h"
#include "ir/graph/graph.h"

namespace onnx {
class ModelProto;
class NodeProto;
}  // namespace onnx

namespace amp {

struct InlineOrigins;

enum class KeepOrigins { kNo, kYes };

struct InlineOptions {
  std::vector<std::string> opaque_domains;      // calls of their functions stay; "domain::name": of that one
  int64_t max_bytes = Limits().inlined_bytes;   // what inlining may add; nodes are counted by ValidateModel
  Reason model_stays_because = Reason::None();  // what LiftModelToFunctions said
  KeepOrigins keep_origins = KeepOrigins::kNo;
};

struct InlinedFunctions {
  int opset_before = 0;                                           // of ai.onnx, before LiftModelToFunctions
  int num_calls = 0;                                              // that were inlined
  bool model_edited = false;                                      // lifted, inlined, or rid of functions
  IdVector<CallId, InlinedCall> calls;                            // the same, outer ones first
  absl::flat_hash_map<const onnx::NodeProto*, CallId> call_of;    // of inlined nodes
  std::vector<std::string> functions;                             // whose calls were, in the model's order
  absl::flat_hash_map<const onnx::NodeProto*, std::string> kept;  // calls that stay, and why
  std::shared_ptr<const InlineOrigins> origins;                   // for OutlineFunctions; null unless asked for
};

// Inlines what InlinePlan allows, then removes the functions that no node calls any more; those that stay keep their
// bytes. Inlined nodes are to be validated (ir/file/validate.h) before they are trusted: only now do their attributes
// have values. REQUIRES: ValidateModel(model) passed. Errors: kDataLoss (a name that its function does not define, or
// defines twice), kResourceExhausted (max_bytes, before anything is copied).
absl::StatusOr<InlinedFunctions> InlineFunctions(onnx::ModelProto& model, const InlineOptions& options);

// Tells the model, which was made of the message after inlining, its calls and which of them each node comes from.
// `inlined.calls` is the model's then.
void MarkCalls(Model& model, InlinedFunctions& inlined);

// Removes the functions that no node of a graph calls, directly or through others.
void KeepCalledFunctions(onnx::ModelProto& model);

}  // namespace amp

#endif  // AMP_IR_FUNCTIONS_INLINE_FUNCTIONS_H_
