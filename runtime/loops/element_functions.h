// Operators that are one loop over their only input, with numbers from their attributes.
#ifndef AMP_RUNTIME_LOOPS_ELEMENT_FUNCTIONS_H_
#define AMP_RUNTIME_LOOPS_ELEMENT_FUNCTIONS_H_

#include "absl/strings/string_view.h"
#include "ir/graph/graph.h"
#include "runtime/loops/raw/loops.h"

namespace amp {

struct ElementFunction {
  absl::string_view op_type;
  UnaryLoop UnaryLoops::*loop;
  absl::string_view domain = "";
};

// Null where the operator is none. `domain`: "" for ai.onnx.
const ElementFunction* FindElementFunction(absl::string_view domain, absl::string_view op_type);
// By the node's attributes. `version`: of its operator.
UnaryParameters ParametersOf(const Node& node, int version);

// The loop for x to this power; null where there is none.
UnaryLoop UnaryLoops::*FindPowerLoop(double exponent);

}  // namespace amp

#endif  // AMP_RUNTIME_LOOPS_ELEMENT_FUNCTIONS_H_
