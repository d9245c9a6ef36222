#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "ir/file/model_file.h"
#include "ir/graph/constant.h"
#include "ir/graph/graph.h"
#include "tests/catch2.h"
#include "tests/ir/file/fixtures.h"
#include "tests/model_from_text.h"

namespace amp {
namespace {

// Whether what a pointer or reference leads to can be changed.
template <typename Reached>
constexpr bool kIsConst = std::is_const_v<std::remove_reference_t<Reached>>;

constexpr char kThreeInARow[] = R"(
    <ir_version: 9, opset_import: ["" : 17]>
    g (float[4] x) => (float[4] y) { a = Relu (x) b = Neg (a) y = Abs (b) })";

TEST_CASE("a const model hands out nothing that can be changed") {
  const auto owned = GraphFromText(kThreeInARow);
  const Model& model = *owned;
  STATIC_REQUIRE(kIsConst<decltype(model.proto())>);
  STATIC_REQUIRE(kIsConst<decltype(model.weights())>);
  STATIC_REQUIRE(kIsConst<decltype(*model.graph(kMainGraph).proto)>);
  STATIC_REQUIRE(kIsConst<decltype(*model.node(NodeId(0)).proto)>);
  STATIC_REQUIRE(kIsConst<decltype(*model.node(NodeId(0)).proto.get())>);
  STATIC_REQUIRE(kIsConst<decltype(*model.value(ValueId(0)).type)>);
  STATIC_REQUIRE(kIsConst<decltype(*model.value(ValueId(0)).initializer)>);
  // A copy would not be const.
  STATIC_REQUIRE_FALSE(std::is_copy_constructible_v<Node>);
  STATIC_REQUIRE_FALSE(std::is_copy_constructible_v<Value>);
  STATIC_REQUIRE_FALSE(std::is_copy_constructible_v<Graph>);
}

std::vector<std::string> Operators(const Model& model) {
  std::vector<std::string> found;
  for (const NodeId id : model.AllNodes()) found.emplace_back(model.node(id).op_type());
  return found;
}

TEST_CASE("the walk over all nodes leaves out those that are inserted meanwhile") {
  const auto model = GraphFromText(kThreeInARow);
  int visited = 0;
  for (const NodeId id : model->AllNodes()) {
    const ValueId out = model->node(id).Output(0);
    model->InsertAfter(kMainGraph, id, {"Identity", "", "", {out}, {model->UniqueName("copy")}});
    ++visited;
  }
  CHECK(visited == 3);
  CHECK(Operators(*model) == std::vector<std::string>{"Relu", "Neg", "Abs", "Identity", "Identity", "Identity"});
}

TEST_CASE("the walk over all nodes skips those that are erased, meanwhile or before") {
  const auto model = GraphFromText(kThreeInARow);
  const auto erase = [&](NodeId id) {
    const ValueId in = model->node(id).Input(0);
    model->ReplaceUses(model->node(id).Output(0), in, [](const Use&) { return true; });
    model->Erase(id);
  };
  std::vector<NodeId> visited;
  for (const NodeId id : model->AllNodes()) {
    visited.push_back(id);
    if (id == NodeId(0)) erase(NodeId(1));
  }
  CHECK(visited == std::vector<NodeId>{NodeId(0), NodeId(2)});
  erase(NodeId(0));
  CHECK(Operators(*model) == std::vector<std::string>{"Abs"});
}

TEST_CASE("present ports leave out absent ones, in the middle and at the end") {
  const auto model = GraphFromText(R"(
    <ir_version: 9, opset_import: ["" : 17]>
    g (float[4] x, float high) => (float[4] y) { y = Clip (x, , high) })");
  const auto& names = model->graph(kMainGraph).names;
  std::vector<ValueId> present;
  for (const ValueId in : model->node(NodeId(0)).PresentInputs()) present.push_back(in);
  CHECK(model->node(NodeId(0)).inputs.size() == 3);
  CHECK(present == std::vector<ValueId>{names.at("x"), names.at("high")});
}

TEST_CASE("a model reads constants beside its file if it was told where they are") {
  ScratchFolder dir;
  onnx::ModelProto message = SmallModel();
  onnx::TensorProto* tensor = message.mutable_graph()->add_initializer();
  *tensor = FloatTensor("beside", {3}, 7);
  WriteText(dir.File("m.bin"), tensor->raw_data());
  MakeExternal(tensor, "m.bin");
  WriteText(dir.File("m.onnx"), message.SerializeAsString());
  const auto elements = [&](Weights (*weights_of)(const LoadedFile&)) {
    LoadedFile file = *LoadModel(dir.File("m.onnx"));
    Weights weights = weights_of(file);
    const auto model = *Model::Create(std::move(file.arena), file.model, nullptr, std::move(weights));
    return ConstantElements(*model, model->graph(kMainGraph).names.at("beside"), 3);
  };
  CHECK(elements([](const LoadedFile&) { return Weights(); }) == std::nullopt);
  CHECK(elements([](const LoadedFile& file) { return file.weights(); }).value_or(std::vector<double>()).at(0) == 7);
}

}  // namespace
}  // namespace amp
