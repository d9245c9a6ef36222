// The type of a value as a tree, without shapes: for who has no ONNX messages.
//
//   seq(optional(tensor(float)))    sequence of optional of float32
#ifndef AMP_IR_GRAPH_VALUE_TYPE_H_
#define AMP_IR_GRAPH_VALUE_TYPE_H_

#include <vector>

#include "ir/base/dtype.h"
#include "ir/graph/graph.h"

namespace amp {

struct ValueType {
  enum class Kind { kUnknown, kTensor, kSequence, kOptional, kMap };

  Kind kind = Kind::kUnknown;
  DType dtype = DType::kUndefined;  // of a tensor's elements or a map's keys, where the model states it
  std::vector<ValueType> inside;    // one, of sequences, optionals and maps
};

ValueType TypeOf(const Model& model, ValueId value);

}  // namespace amp

#endif  // AMP_IR_GRAPH_VALUE_TYPE_H_
