// Thousands of damaged models through everything that loading does: an error or a model, never a crash.
#include <random>

#include "ir/file/external_data.h"
#include "ir/file/model_file.h"
#include "ir/file/validate.h"
#include "ir/graph/graph.h"
#include "ir/schema/opset_imports.h"
#include "tests/catch2.h"
#include "tests/ir/file/fixtures.h"

namespace amp {
namespace {

onnx::ModelProto RichModel() {
  onnx::ModelProto model = SmallModel();
  onnx::GraphProto* graph = model.mutable_graph();
  *graph->add_initializer() = FloatTensor("big", {200, 100});
  onnx::TensorProto external = FloatTensor("out", {4});
  MakeExternal(&external, "w.bin", 16);
  *graph->add_initializer() = external;
  auto* sparse = graph->add_sparse_initializer();
  *sparse->mutable_values() = FloatTensor("s", {2});
  sparse->add_dims(9);
  sparse->mutable_indices()->set_data_type(onnx::TensorProto::INT64);
  sparse->mutable_indices()->add_dims(2);
  sparse->mutable_indices()->add_int64_data(1);
  sparse->mutable_indices()->add_int64_data(7);
  onnx::NodeProto* branch = AddNode(graph, "If", {"condition"}, {"i"});
  for (const char* name : {"then_branch", "else_branch"}) {
    auto* attribute = branch->add_attribute();
    attribute->set_name(name);
    attribute->set_type(onnx::AttributeProto::GRAPH);
    attribute->mutable_g()->set_name(name);
    AddNode(attribute->mutable_g(), "Identity", {"x"}, {std::string(name) + "_out"});
    attribute->mutable_g()->add_output()->set_name(std::string(name) + "_out");
  }
  auto* function = model.add_functions();
  function->set_name("f");
  function->set_domain("local");
  function->add_input("a");
  function->add_output("b");
  function->add_opset_import()->set_version(17);
  auto* node = function->add_node();
  node->set_op_type("Relu");
  node->add_input("a");
  node->add_output("b");
  AddNode(graph, "f", {"x"}, {"z"})->set_domain("local");
  auto* import = model.add_opset_import();
  import->set_domain("local");
  import->set_version(1);
  model.add_metadata_props()->set_key("k");
  return model;
}

std::string Damage(std::string bytes, std::mt19937& random) {
  const auto below = [&](size_t n) { return std::uniform_int_distribution<size_t>(0, n - 1)(random); };
  for (size_t edits = 1 + below(2); edits > 0 && !bytes.empty(); --edits) {
    // Mostly near the structure: the head and the tail, past the large payload.
    const size_t at = below(2) == 0 ? below(std::min<size_t>(bytes.size(), 1200))
                                    : bytes.size() - 1 - below(std::min<size_t>(bytes.size(), 1200));
    switch (below(12)) {
      case 0:
        bytes[at] = static_cast<char>(bytes[at] ^ (1 << below(8)));
        break;
      case 1:
        bytes[at] = static_cast<char>(below(256));
        break;
      case 2:
        bytes.resize(at);
        break;
      case 3:
        bytes.erase(at, 1 + below(8));
        break;
      case 4:
        bytes.insert(at, std::string(1 + below(8), static_cast<char>(below(256))));
        break;
      case 5:
        bytes.replace(at, 1, "\xff\xff\xff\xff\x07");
        break;  // a length of 2 GiB
      default:
        bytes[at] = static_cast<char>(bytes[at] ^ (1 << below(3)));
        break;  // a small number becomes another
    }
  }
  return bytes;
}

TEST_CASE("damaged models are refused or loaded") {
  ScratchFolder dir;
  WriteText(dir.File("w.bin"), std::string(32, '\0'));
  const std::string good = RichModel().SerializeAsString();
  std::mt19937 random(7);
  int parsed = 0, valid = 0, refused = 0;
  for (int i = 0; i < 6000; ++i) {
    const std::string bytes = Damage(good, random);
    auto file = ParseModel(bytes);
    if (!file.ok()) {
      ++refused;
      CHECK(file.status().message().find('\n') == std::string::npos);
      continue;
    }
    ++parsed;
    std::vector<std::string> warnings;
    RepairOpsetImports(*file->model, &warnings);
    const absl::Status status = ValidateModel(*file->model, {}, &warnings);
    CHECK(status.message().find('\n') == std::string::npos);
    if (!status.ok()) continue;
    auto external = ExternalData::Open(dir.File("m.onnx"));
    REQUIRE(external.ok());
    if (!(*external)->Check(*file->model, &warnings).ok()) continue;
    ++valid;
    (void)Model::Create(std::move(file->arena), file->model);
  }
  WARN("6000 damaged models: " << refused << " did not parse, " << parsed - valid << " did not validate, " << valid
                               << " loaded");
  CHECK(refused > 500);
  CHECK(parsed > 500);
  CHECK(valid > 100);
}

}  // namespace
}  // namespace amp
