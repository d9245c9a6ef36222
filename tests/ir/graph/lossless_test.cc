// Fields that the graph in memory does not model must survive it: unknown fields, metadata, annotations, training
// information.
#include <memory>
#include <string>

#include "google/protobuf/arena.h"
#include "google/protobuf/unknown_field_set.h"
#include "ir/graph/graph.h"
#include "onnx/onnx_pb.h"
#include "tests/catch2.h"
#include "tools/library/amp.h"

namespace amp {
namespace {

// A MatMul with something in every corner of the message that the rewrite has no interest in.
onnx::ModelProto ModelWithExtras() {
  onnx::ModelProto model;
  model.set_ir_version(10);
  model.set_producer_name("exporter");
  model.set_doc_string("model text");
  auto* import = model.add_opset_import();
  import->set_version(21);
  auto* property = model.add_metadata_props();
  property->set_key("author");
  property->set_value("somebody");
  onnx::GraphProto& graph = *model.mutable_graph();
  graph.set_name("g");
  for (const char* name : {"x", "w"}) {
    auto* input = graph.add_input();
    input->set_name(name);
    input->set_doc_string("an input");
    auto* type = input->mutable_type()->mutable_tensor_type();
    type->set_elem_type(onnx::TensorProto::FLOAT);
    for (int i = 0; i < 2; ++i) type->mutable_shape()->add_dim()->set_dim_value(4);
  }
  auto* output = graph.add_output();
  output->set_name("y");
  *output->mutable_type() = graph.input(0).type();
  auto* node = graph.add_node();
  node->set_op_type("MatMul");
  node->set_name("mm");
  node->add_input("x");
  node->add_input("w");
  node->add_output("y");
  node->set_doc_string("node text");
  auto* node_property = node->add_metadata_props();
  node_property->set_key("layer");
  node_property->set_value("7");
  onnx::NodeProto::GetReflection()->MutableUnknownFields(node)->AddLengthDelimited(4000, "from the future");
  onnx::ModelProto::GetReflection()->MutableUnknownFields(&model)->AddVarint(4001, 42);
  auto* annotation = graph.add_quantization_annotation();
  annotation->set_tensor_name("x");
  auto* parameter = annotation->add_quant_parameter_tensor_names();
  parameter->set_key("SCALE_TENSOR");
  parameter->set_value("s");
  auto* sparse = graph.add_sparse_initializer();
  sparse->mutable_values()->set_name("s");
  sparse->mutable_values()->set_data_type(onnx::TensorProto::FLOAT);
  sparse->mutable_values()->add_dims(1);
  sparse->mutable_values()->add_float_data(3.0f);
  sparse->mutable_indices()->set_data_type(onnx::TensorProto::INT64);
  sparse->mutable_indices()->add_dims(1);
  sparse->mutable_indices()->add_int64_data(2);
  sparse->add_dims(5);
  return model;
}

std::unique_ptr<Model> Load(const onnx::ModelProto& message) {
  auto arena = std::make_unique<google::protobuf::Arena>();
  auto* copy = google::protobuf::Arena::CreateMessage<onnx::ModelProto>(arena.get());
  copy->CopyFrom(message);
  auto model = Model::Create(std::move(arena), copy);
  REQUIRE(model.ok());
  return *std::move(model);
}

TEST_CASE("loading and committing without an edit changes no field") {
  const onnx::ModelProto message = ModelWithExtras();
  const auto model = Load(message);
  model->CheckConsistency();
  model->Commit();
  CHECK_FALSE(model->edited());
  CHECK(model->proto().SerializeAsString() == message.SerializeAsString());
}

TEST_CASE("a rewrite keeps what it does not understand") {
  const onnx::ModelProto message = ModelWithExtras();
  const auto result = Rewrite(message);
  REQUIRE(result.ok());
  CHECK(result->summary.changed);
  const onnx::ModelProto& model = result->model;
  CHECK(model.producer_name() == "exporter");
  CHECK(model.doc_string() == "model text");
  REQUIRE(model.metadata_props_size() == 2);  // and the record of the rewrite
  CHECK(model.metadata_props(0).value() == "somebody");
  CHECK(onnx::ModelProto::GetReflection()->GetUnknownFields(model).field_count() == 1);
  CHECK(model.graph().quantization_annotation(0).SerializeAsString() ==
        message.graph().quantization_annotation(0).SerializeAsString());
  CHECK(model.graph().sparse_initializer(0).SerializeAsString() ==
        message.graph().sparse_initializer(0).SerializeAsString());
  CHECK(model.graph().input(0).SerializeAsString() == message.graph().input(0).SerializeAsString());
  const onnx::NodeProto* node = nullptr;
  for (const auto& candidate : model.graph().node()) {
    if (candidate.op_type() == "MatMul") node = &candidate;
  }
  REQUIRE(node != nullptr);
  CHECK(node->name() == "mm");
  CHECK(node->doc_string() == "node text");
  CHECK(node->metadata_props(0).value() == "7");
  const auto& unknown = onnx::NodeProto::GetReflection()->GetUnknownFields(*node);
  REQUIRE(unknown.field_count() == 1);
  CHECK(unknown.field(0).length_delimited() == "from the future");
}

}  // namespace
}  // namespace amp
