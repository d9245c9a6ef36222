// The reverse of InlineFunctions, after a rewrite: the nodes of every inlined call become a function again.
//
//   [call/mm] b16 = MatMul (a16, a16)   ->   [call] b16 = local.square_low (a16)
//                                            local.square_low (a) => (b) { [mm] b = MatMul (a, a) }
//
// Bodies are written in the names of the function that they come from, inner calls first, so that calls whose bodies
// came out alike share one function: one copy per signature of types, square_low, square_low_1, ... A body that did not
// change goes back to the original function. Casts at the border of a call stay outside, where they are the caller's
// affair: a cast of something inside that is read on both sides is there twice.
#ifndef AMP_IR_FUNCTIONS_OUTLINE_FUNCTIONS_H_
#define AMP_IR_FUNCTIONS_OUTLINE_FUNCTIONS_H_

#include <map>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "ir/graph/graph.h"

namespace amp {

struct InlineOrigins;

// Writes into origins.calls what each call's body is right after inlining. The model stays as it is.
absl::Status RecordBodies(onnx::ModelProto& model, InlineOrigins& origins);

struct OutlinedFunctions {
  std::vector<std::string> functions;                                    // the new ones, "domain::name"
  std::map<std::string, std::pair<std::string, std::string>> originals;  // of those: domain, name
  // Where nodes are that the rewrite inserted and that are in new functions now, by the name they had: "F_low/name",
  // and what they read, "F_low/value".
  absl::flat_hash_map<std::string, std::pair<std::string, std::string>> moved;
  int num_calls = 0;      // of them
  int num_unchanged = 0;  // calls that went back to their original function
};

// Edits model.proto(), which `model` no longer describes afterwards. REQUIRES: AssignCasts
// (ir/functions/assign_calls.h), and Commit since.
absl::StatusOr<OutlinedFunctions> OutlineFunctions(Model& model, const InlineOrigins& origins);

}  // namespace amp

#endif  // AMP_IR_FUNCTIONS_OUTLINE_FUNCTIONS_H_
