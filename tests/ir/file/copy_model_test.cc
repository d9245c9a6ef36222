// Copies of a model whose initializers are inputs.
#include "ir/file/copy_model.h"

#include "onnx/onnx_pb.h"
#include "tests/catch2.h"
#include "tests/model_from_text.h"

namespace amp {
namespace {

onnx::ModelProto ThreeWeights() {
  return ModelFromText(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[2] x, float[2] b) => (float[2] y) <float[2] a = {1, 2}, float[2] b = {3, 4}, float[2] c = {5, 6}>
    { p = Add (x, a) q = Add (p, b) y = Add (q, c) })");
}

TEST_CASE("initializers become inputs of their type, and those that are inputs stay") {
  const absl::StatusOr<LoadedFile> copy = CopyWithInputs(ThreeWeights(), {"a", "b"});
  REQUIRE(copy.ok());
  const onnx::GraphProto& graph = copy->model->graph();
  REQUIRE(graph.initializer_size() == 1);
  CHECK(graph.initializer(0).name() == "c");
  REQUIRE(graph.input_size() == 3);
  CHECK(graph.input(1).name() == "b");
  CHECK(graph.input(2).name() == "a");
  CHECK(graph.input(2).type().tensor_type().elem_type() == onnx::TensorProto::FLOAT);
  REQUIRE(graph.input(2).type().tensor_type().shape().dim_size() == 1);
  CHECK(graph.input(2).type().tensor_type().shape().dim(0).dim_value() == 2);
}

TEST_CASE("external elements that nobody shares cannot be left behind") {
  onnx::ModelProto model = ThreeWeights();
  onnx::TensorProto& c = *model.mutable_graph()->mutable_initializer(2);
  c.clear_float_data();
  c.set_data_location(onnx::TensorProto::EXTERNAL);
  CHECK_FALSE(CopyWithInputs(model, {"a", "b"}).ok());
  CHECK(CopyWithInputs(model, {"c"}).ok());
}

}  // namespace
}  // namespace amp
