// Where calls are made by OutlineFunctions: the nodes of one function, or the model. What is needed only until a call
// is made lies here, and goes with it.
#ifndef AMP_IR_FUNCTIONS_CALL_WORKPLACE_H_
#define AMP_IR_FUNCTIONS_CALL_WORKPLACE_H_

#include <vector>

#include "ir/file/weights.h"
#include "ir/functions/function_maker.h"

namespace amp {

struct CallWorkplace {
  google::protobuf::Arena* arena;
  Weights* weights;                                   // null: none is converted when it is saved
  std::vector<const onnx::TensorProto*> copies = {};  // that are converted then, as their originals are
  FunctionMaker::CallForms calls = {};                // that were made here

  onnx::NodeProto* Copy(onnx::NodeProto& node);
  onnx::FunctionProto* Copy(onnx::FunctionProto& function);
  // Before the arena goes.
  void ForgetCopies();

 private:
  void CopyConversions(onnx::NodeProto& from, onnx::NodeProto& to);
};

}  // namespace amp

#endif  // AMP_IR_FUNCTIONS_CALL_WORKPLACE_H_
