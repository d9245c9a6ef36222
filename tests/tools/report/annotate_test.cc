// --annotate: nodes say in their metadata what type they have, and why.
#include <map>

#include "absl/strings/match.h"
#include "onnx/onnx_pb.h"
#include "tests/catch2.h"
#include "tests/model_from_text.h"
#include "tests/tool_run.h"

namespace amp {
namespace {

using Entries = std::map<std::string, std::string>;

// By the node's operator.
std::map<std::string, Entries> MetadataOf(const onnx::ModelProto& model) {
  std::map<std::string, Entries> found;
  for (const onnx::NodeProto& node : model.graph().node()) {
    for (const auto& entry : node.metadata_props()) found[node.op_type()][entry.key()] = entry.value();
  }
  return found;
}

TEST_CASE("each node says its type and why, and the IR version is 10") {
  const ToolRun run({"--annotate"});
  INFO(run.output.err);
  REQUIRE(run.output.exit_code == 0);
  CHECK(absl::StrContains(run.output.out, "; IR version 8 -> 10"));
  const onnx::ModelProto model = run.Model();
  CHECK(model.ir_version() == 10);
  const auto metadata = MetadataOf(model);
  CHECK(metadata.at("MatMul").at("amp.type") == "float16");
  CHECK(absl::StartsWith(metadata.at("MatMul").at("amp.why"), "allowed: "));
  CHECK(metadata.at("Mul").at("amp.type") == "float32");
  CHECK(absl::StartsWith(metadata.at("Mul").at("amp.why"), "guard: constant 'epsilon'"));
  CHECK(metadata.at("Softmax").size() == 2);
}

TEST_CASE("without the flag the IR version stays, and no node has metadata") {
  const ToolRun run({});
  CHECK(run.Model().ir_version() == 8);
  CHECK(MetadataOf(run.Model()).empty());
}

TEST_CASE("a node's own metadata stay, and the same command gives the same model") {
  onnx::ModelProto model = ModelFromText(std::string(kThreeNodes));
  model.set_ir_version(11);
  auto& entry = *model.mutable_graph()->mutable_node(0)->add_metadata_props();
  entry.set_key("owner");
  entry.set_value("somebody");
  const ToolRun run({"--annotate"}, model);
  CHECK(run.Model().ir_version() == 11);
  CHECK(MetadataOf(run.Model()).at("MatMul").at("owner") == "somebody");
  CHECK(run.RunTool("out.onnx", "again.onnx", {"--annotate"}).exit_code == 0);
  CHECK(run.folder.Read("again.onnx") == run.folder.Read("out.onnx"));
}

TEST_CASE("taking a rewrite back takes the annotations away") {
  const ToolRun run({"--annotate"});
  REQUIRE(run.RunTool("out.onnx", "back.onnx", {"--policy", "float32"}).exit_code == 0);
  CHECK(MetadataOf(run.Model("back.onnx")).empty());
  CHECK(ErrorLine(run.RunTool("out.onnx", "no.onnx", {"--policy", "float32", "--annotate"}), 2) ==
        "--policy float32 takes a rewrite back as a whole; --annotate does not apply to that");
}

TEST_CASE("a rewrite without the flag removes what an earlier model was annotated with") {
  onnx::ModelProto model = ModelFromText(std::string(kThreeNodes));
  auto& entry = *model.mutable_graph()->mutable_node(1)->add_metadata_props();
  entry.set_key("amp.why");
  entry.set_value("of an earlier run");
  CHECK(MetadataOf(ToolRun({}, model).Model()).empty());
}

TEST_CASE("a model whose IR version cannot be raised is converted, and a warning says so") {
  onnx::ModelProto model = ModelFromText(std::string(kThreeNodes));
  model.set_ir_version(3);
  for (const onnx::TensorProto& tensor : model.graph().initializer()) {
    auto& input = *model.mutable_graph()->add_input();
    input.set_name(tensor.name());
    auto& type = *input.mutable_type()->mutable_tensor_type();
    type.set_elem_type(tensor.data_type());
    for (const int64_t dim : tensor.dims()) type.mutable_shape()->add_dim()->set_dim_value(dim);
    if (tensor.dims().empty()) type.mutable_shape();
  }
  const ToolRun run({"--annotate"}, model);
  INFO(run.output.err);
  REQUIRE(run.output.exit_code == 0);
  CHECK(absl::StrContains(run.output.err, "--annotate: the model has IR version 3"));
  CHECK(MetadataOf(run.Model()).empty());
}

}  // namespace
}  // namespace amp
