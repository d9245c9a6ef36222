// Models that are valid but rarely seen: sparse constants, training_info, functions that shadow operators, old opsets.
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "ir/file/text.h"
#include "tests/catch2.h"
#include "tests/model_from_text.h"
#include "tools/library/amp.h"

namespace {

using onnx::TensorProto;

onnx::ModelProto Rewritten(const onnx::ModelProto& model) {
  absl::StatusOr<amp::RewriteResult> result = amp::Rewrite(model);
  INFO(result.status());
  REQUIRE(result.ok());
  CHECK(result->summary.changed);
  return std::move(result->model);
}

const onnx::NodeProto* Producer(const onnx::ModelProto& model, const std::string& output) {
  for (const auto& node : model.graph().node()) {
    if (node.output_size() > 0 && node.output(0) == output) return &node;
  }
  return nullptr;
}

// Two ones in a matrix of 2 x 2.
void FillSparse(onnx::SparseTensorProto& sparse) {
  for (int64_t dim : {2, 2}) sparse.add_dims(dim);
  sparse.mutable_values()->set_data_type(TensorProto::FLOAT);
  sparse.mutable_values()->add_dims(2);
  for (float x : {1.0f, 1.0f}) sparse.mutable_values()->add_float_data(x);
  sparse.mutable_indices()->set_data_type(TensorProto::INT64);
  sparse.mutable_indices()->add_dims(2);
  for (int64_t i : {0, 3}) sparse.mutable_indices()->add_int64_data(i);
}

TEST_CASE("a sparse Constant keeps its elements and is cast at run time") {
  onnx::ModelProto model = ModelFromText(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[2,2] x) => (float[2,2] y) { w = Constant () y = MatMul (x, w) })");
  auto* attribute = model.mutable_graph()->mutable_node(0)->add_attribute();
  attribute->set_name("sparse_value");
  attribute->set_type(onnx::AttributeProto::SPARSE_TENSOR);
  FillSparse(*attribute->mutable_sparse_tensor());

  const onnx::ModelProto mixed = Rewritten(model);
  REQUIRE(Producer(mixed, "w") != nullptr);
  CHECK(Producer(mixed, "w")->SerializeAsString() == model.graph().node(0).SerializeAsString());
  REQUIRE(Producer(mixed, "w_to_float16") != nullptr);
  CHECK(Producer(mixed, "w_to_float16")->op_type() == "Cast");
}

TEST_CASE("a sparse initializer is cast at run time") {
  onnx::ModelProto model = ModelFromText(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[2,2] x, float[2,2] w) => (float[2,2] y) { y = MatMul (x, w) })");
  model.mutable_graph()->mutable_input()->RemoveLast();
  auto* sparse = model.mutable_graph()->add_sparse_initializer();
  FillSparse(*sparse);
  sparse->mutable_values()->set_name("w");

  const onnx::ModelProto mixed = Rewritten(model);
  CHECK(mixed.graph().sparse_initializer(0).SerializeAsString() == sparse->SerializeAsString());
  REQUIRE(Producer(mixed, "w_to_float16") != nullptr);
}

TEST_CASE("an initializer that training_info updates stays float32") {
  onnx::ModelProto model = ModelFromText(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[2,2] x) => (float[2,2] y) <float[2,2] w = {1, 2, 3, 4}, float[2,2] v = {1, 2, 3, 4}> {
      a = MatMul (x, w)
      y = MatMul (a, v)
    })");
  auto* training = model.add_training_info();
  auto* update = training->mutable_algorithm()->add_node();
  update->set_op_type("Neg");
  update->add_input("w");
  update->add_output("w_new");
  training->mutable_algorithm()->set_name("step");
  training->mutable_algorithm()->add_output()->set_name("w_new");
  auto* binding = training->add_update_binding();
  binding->set_key("w");
  binding->set_value("w_new");

  const onnx::ModelProto mixed = Rewritten(model);
  REQUIRE(mixed.graph().initializer_size() == 2);
  CHECK(mixed.graph().initializer(0).data_type() == TensorProto::FLOAT);
  CHECK(mixed.graph().initializer(1).data_type() == TensorProto::FLOAT16);
  CHECK(Producer(mixed, "w_to_float16") != nullptr);
}

TEST_CASE("an initializer of another type than its graph input is malformed") {
  onnx::ModelProto model = ModelFromText(R"(<ir_version: 3, opset_import: ["" : 8]>
    g (float[2,2] x, float[2,2] w) => (float[2,2] y) <float[2,2] w = {1, 2, 3, 4}> { y = MatMul (x, w) })");
  auto* tensor = model.mutable_graph()->mutable_initializer(0);
  tensor->clear_float_data();
  tensor->set_data_type(TensorProto::INT8);
  tensor->set_raw_data("abcd");
  const absl::StatusOr<amp::RewriteResult> result = amp::Rewrite(model);
  CHECK(result.status().code() == absl::StatusCode::kDataLoss);
  CHECK(absl::StrContains(result.status().message(), "expected float32"));
}

// Nothing is converted, and a warning says why.
void CheckUnchanged(const onnx::ModelProto& model, const std::string& why, const amp::RewriteOptions& options = {}) {
  const absl::StatusOr<amp::RewriteResult> result = amp::Rewrite(model, options);
  INFO(result.status());
  REQUIRE(result.ok());
  CHECK_FALSE(result->summary.changed);
  REQUIRE_FALSE(result->summary.warnings.empty());
  CHECK(absl::StrContains(result->summary.warnings.back(), why));
}

TEST_CASE("a function named Cast takes the place of the operator: no casts") {
  onnx::ModelProto model = ModelFromText(R"(<ir_version: 10, opset_import: ["" : 17]>
    g (float[2,2] x) => (float[2,2] y) { y = MatMul (x, x) })");
  model.mutable_graph()->add_node()->set_op_type("Cast");  // without any port
  auto* function = model.add_functions();
  function->set_name("Cast");
  function->add_opset_import()->set_version(17);
  amp::RewriteOptions options;
  options.functions = amp::RewriteOptions::Functions::kKeep;
  CheckUnchanged(model, "function of its own named Cast", options);
}

TEST_CASE("before opset 6 there are no casts whose type is known") {
  for (int opset : {1, 5}) {
    CheckUnchanged(
        ModelFromText(absl::StrCat(
            "<ir_version: 3, opset_import: [\"\" : ", opset, "]>",
            "g (float[2,2] x, float[2,2] w) => (float[2,2] y) <float[2,2] w = {1, 2, 3, 4}> { y = MatMul (x, w) }")),
        "too old for casts");
  }
}

// A graph that MatMul does not declare and that reads the weight `w`.
void AddUndeclaredGraph(onnx::NodeProto& node) {
  auto* attribute = node.add_attribute();
  attribute->set_name("body");
  attribute->set_type(onnx::AttributeProto::GRAPH);
  attribute->mutable_g()->set_name("body");
  auto* inner = attribute->mutable_g()->add_node();
  inner->set_op_type("Exp");
  inner->add_input("w");
  inner->add_output("e");
  attribute->mutable_g()->add_output()->set_name("e");
}

TEST_CASE("a graph that its operator does not declare stays where nothing is converted") {
  onnx::ModelProto model = ModelFromText(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (double[2,2] x) => (double[2,2] y) <double[2,2] w = {1, 2, 3, 4}> { y = MatMul (x, w) })");
  AddUndeclaredGraph(*model.mutable_graph()->mutable_node(0));
  const absl::StatusOr<amp::RewriteResult> result = amp::Rewrite(model);
  REQUIRE(result.ok());
  CHECK_FALSE(result->summary.changed);
  CHECK(result->summary.warnings.empty());
  CHECK(result->model.SerializeAsString() == model.SerializeAsString());
}

TEST_CASE("a graph that its operator does not declare goes with all that it reads, and a second run changes nothing") {
  onnx::ModelProto model = ModelFromText(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[2,2] x) => (float[2,2] y) <float[2,2] w = {1, 2, 3, 4}> { a = MatMul (x, w)  y = MatMul (a, w) })");
  AddUndeclaredGraph(*model.mutable_graph()->mutable_node(0));
  const onnx::ModelProto mixed = Rewritten(model);
  REQUIRE(mixed.graph().initializer_size() == 1);  // a float32 original would have no reader
  CHECK(mixed.graph().initializer(0).data_type() == onnx::TensorProto::FLOAT16);
  const absl::StatusOr<amp::RewriteResult> again = amp::Rewrite(mixed);
  REQUIRE(again.ok());
  CHECK(again->model.SerializeAsString() == mixed.SerializeAsString());
}

TEST_CASE("a ConstantOfShape whose value has no single element stays as it is") {
  const onnx::ModelProto mixed = Rewritten(ModelFromText(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[2,2] x, int64[2] s) => (float[2,2] y) {
      fill = ConstantOfShape <value = float[2] {1, 2}> (s)
      y = MatMul (x, fill)
    })"));
  REQUIRE(Producer(mixed, "fill") != nullptr);
  CHECK(Producer(mixed, "fill")->attribute(0).t().data_type() == onnx::TensorProto::FLOAT);
  CHECK(Producer(mixed, "fill_to_float16") != nullptr);
}

}  // namespace
