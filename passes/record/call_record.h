// The record of inlined calls in the model's metadata. A rewrite leaves it if rules for functions or calls decided
// about nodes that it inlined. A second run knows by it which nodes came from which function, and decides as the first
// one did.
//
//   metadata_props["amp.calls"] = {"v":1,"calls":[{"label":"call","function":["my.domain","Block"],
//       "facts":{},"nodes":["call/mm","call/Relu#0"]}],"copies":{"my.domain::Block_low":["my.domain","Block"]}}
//
// "copies" are functions that --functions specialise made, and what they were made of. Names are bytes: see
// TextOfBytes.
#ifndef AMP_PASSES_RECORD_CALL_RECORD_H_
#define AMP_PASSES_RECORD_CALL_RECORD_H_

#include <set>
#include <string>
#include <utility>

#include "ir/functions/outline_functions.h"
#include "ir/graph/graph.h"
#include "passes/classify/classify_nodes.h"

namespace amp {

// Writes down the calls that gave nodes their class, if there are any, and the copies made since. `outlined` may be
// null. What has that key and is no such record stays as it is, and nothing is written.
void RecordCalls(Model& model, const NodeClasses& classes, const OutlinedFunctions* outlined);

// Gives functions that were copied their old names in Model::calls(). What is no such record is ignored with a warning.
// REQUIRES: MarkCalls.
void RestoreFunctionNames(Model& model);

// Adds the calls that are written down to Model::calls(); names of nodes that are gone are passed over. REQUIRES:
// MarkCalls, and that nothing will be outlined.
void RestoreCalls(Model& model);

// Functions, by domain and name, that the record speaks of: they may be gone from the model.
std::set<std::pair<std::string, std::string>> RecordedFunctions(const onnx::ModelProto& model);

}  // namespace amp

#endif  // AMP_PASSES_RECORD_CALL_RECORD_H_
