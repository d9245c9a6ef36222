// Operators that ONNX Runtime puts in the place of others for the processor that it runs on, when it saves a model that
// it has optimised as far as it can (ORT_ENABLE_ALL): their weights are laid out in blocks whose size is that
// processor's and stands nowhere in the file, so that nothing but ONNX Runtime on such a processor can read them.
#ifndef AMP_IR_OPERATORS_PRIVATE_LAYOUT_H_
#define AMP_IR_OPERATORS_PRIVATE_LAYOUT_H_

#include <string>

#include "absl/strings/string_view.h"
#include "ir/graph/graph.h"

namespace amp {

bool IsPrivateLayout(absl::string_view domain);

// "13 nodes of com.microsoft.nchwc, 'c1' first, are laid out for one processor ...": with what to do instead; empty
// where there are none.
std::string DescribePrivateLayout(const Model& model);

}  // namespace amp

#endif  // AMP_IR_OPERATORS_PRIVATE_LAYOUT_H_
