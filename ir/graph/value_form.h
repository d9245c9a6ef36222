// The form of a value by its type: tensor, sequence, optional or map, down to the tensors that it is made of.
//
//   seq(map(int64, float32))   ->   a sequence of maps
//   optional(float32[n])       ->   a tensor: what an optional holds
#ifndef AMP_IR_GRAPH_VALUE_FORM_H_
#define AMP_IR_GRAPH_VALUE_FORM_H_

#include <vector>

#include "ir/graph/graph.h"

namespace amp {

struct ValueForm {
  enum class Kind { kTensor, kSequence, kMap, kUnknown };
  Kind kind = Kind::kUnknown;
  std::vector<ValueForm> element;  // of a sequence: one, its elements' form
};

// Linear in the depth of the type.
ValueForm FormOf(const Model& model, ValueId value);

}  // namespace amp

#endif  // AMP_IR_GRAPH_VALUE_FORM_H_
