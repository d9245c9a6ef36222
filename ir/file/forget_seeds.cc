#include "ir/file/forget_seeds.h"

#include <algorithm>

#include "ir/file/model_walk.h"
#include "onnx/onnx_pb.h"

namespace amp {
namespace {

void ForgetSeedsOf(google::protobuf::RepeatedPtrField<onnx::NodeProto>& nodes) {
  for (onnx::NodeProto& node : nodes) {
    if (node.domain().empty() || node.domain() == "ai.onnx") {
      auto& attributes = *node.mutable_attribute();
      attributes.erase(std::remove_if(attributes.begin(), attributes.end(),
                                      [](const auto& attribute) { return attribute.name() == "seed"; }),
                       attributes.end());
    }
    ForEachMutableBody(node, [](onnx::GraphProto& body) { ForgetSeedsOf(*body.mutable_node()); });
  }
}

}  // namespace

void ForgetSeeds(onnx::ModelProto& model) {
  ForgetSeedsOf(*model.mutable_graph()->mutable_node());
  for (onnx::FunctionProto& function : *model.mutable_functions()) ForgetSeedsOf(*function.mutable_node());
}

}  // namespace amp
