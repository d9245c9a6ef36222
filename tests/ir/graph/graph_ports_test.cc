// Inputs, outputs and functions that a main graph gets or loses, and types of what calls of own functions give.
#include "ir/graph/graph_ports.h"

#include <memory>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "ir/functions/add_functions.h"
#include "ir/graph/append_nodes.h"
#include "ir/graph/constant.h"
#include "ir/graph/infer.h"
#include "ir/graph/shape.h"
#include "tests/catch2.h"
#include "tests/model_from_text.h"

namespace amp {
namespace {

constexpr char kTwoOutputs[] = R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[N,4] x) => (float[N,4] y, float[N,4] z, float[N,4] v) <float[4] w = {1, 2, 3, 4}> {
      y = Mul (x, w)
      z = Neg (y)
      v = Abs (y)
    })";

ValueId Named(const Model& model, const std::string& name) { return model.graph(kMainGraph).names.at(name); }

TEST_CASE("an initializer becomes a default that callers may override, once") {
  const auto model = GraphFromText(kTwoOutputs);
  const ValueId w = Named(*model, "w");
  CHECK(model->IsConstant(w));
  MakeOverridable(*model, w);
  MakeOverridable(*model, w);
  CHECK_FALSE(model->IsConstant(w));
  CHECK(model->graph(kMainGraph).inputs.size() == 2);
  REQUIRE(model->proto().graph().input_size() == 2);
  CHECK(model->proto().graph().input(1).name() == "w");
  CHECK(model->proto().graph().initializer_size() == 1);
  model->CheckConsistency();
}

TEST_CASE("an output goes, and those behind it keep their readers") {
  const auto model = GraphFromText(kTwoOutputs);
  InferTypes(*model);
  RemoveGraphOutput(*model, 1);
  CHECK(model->graph(kMainGraph).outputs == std::vector<ValueId>{Named(*model, "y"), Named(*model, "v")});
  CHECK_FALSE(model->IsModelOutput(Named(*model, "z")));
  model->CheckConsistency();
  RemoveGraphOutput(*model, 0);
  CHECK(model->value(Named(*model, "y")).uses.size() == 2);
  model->CheckConsistency();
  AddGraphOutput(*model, Named(*model, "y"));
  CHECK(model->proto().graph().output(1).name() == "y");
  model->CheckConsistency();
}

constexpr absl::string_view kHalf = R"(<domain: "ai.amp", opset_import: ["" : 13]>
  Half <by> (x) => (y, n) {
    h = Constant <value_float: float = @by> ()
    y = Mul (x, h)
    n = Shape (x)
  })";

TEST_CASE("functions are added once, at the model's opset") {
  const auto model = GraphFromText(kTwoOutputs);
  AddFunction(*model, kHalf);
  AddFunction(*model, kHalf);
  REQUIRE(model->proto().functions_size() == 1);
  CHECK(model->proto().functions(0).opset_import(0).version() == 17);
  CHECK(model->opset("ai.amp") == 1);
}

TEST_CASE("what calls of own functions give has the types that their bodies say") {
  const auto model = GraphFromText(kTwoOutputs);
  InferTypes(*model);
  AddFunction(*model, kHalf);
  NodeAppender append(*model, "step");
  const auto results = append.AddMany(kOwnDomain, "Half", {Named(*model, "y")}, 2, {{"by", 0.5f}});
  const ValueId behind = append.Add("Relu", {results[0]});
  InferTypes(*model);
  CHECK(TypeText(*model, results[0]) == "float32[N,4]");
  CHECK(TypeText(*model, results[1]) == "int64[2]");
  CHECK(TypeText(*model, behind) == "float32[N,4]");
}

TEST_CASE("bodies that ONNX's inference cannot be trusted with are not looked into") {
  for (const char* const body : {"y = Einsum <equation = \"i...-\"> (x)", "y = my.Op (x)"}) {
    INFO(body);
    const auto model = GraphFromText(absl::StrCat(R"(<ir_version: 8, opset_import: ["" : 17, "ai.amp" : 1]>
      g (float[4] x) => (y) { y = ai.amp.Own (x) }
      <domain: "ai.amp", opset_import: ["" : 17, "my" : 1]> Own (x) => (y) { )",
                                                  body, " }"));
    InferTypes(*model);
    CHECK(model->value(Named(*model, "y")).dtype == DType::kUndefined);
  }
}

absl::StatusOr<FunctionPorts> AddToModel(const char* text) {
  const auto model = GraphFromText(kTwoOutputs);
  const onnx::ModelProto around = ModelFromText(
      absl::StrCat("<ir_version: 8, opset_import: [\"\" : 17]> g (float x) => (float y) { y = Abs (x) }\n", text));
  return AddCallersFunction(*model, around.functions(0).SerializeAsString());
}

TEST_CASE("a caller's function fits the model's imports") {
  const auto ports = AddToModel("<domain: \"mine\", opset_import: [\"\" : 17]> F (a, b) => (c) { c = Add (a, b) }");
  REQUIRE(ports.ok());
  CHECK(ports->domain == "mine");
  CHECK(ports->num_inputs == 2);
  CHECK(ports->num_outputs == 1);
  const auto other = AddToModel("<domain: \"mine\", opset_import: [\"\" : 13]> F (a, b) => (c) { c = Add (a, b) }");
  CHECK(
      absl::StrContains(other.status().message(), "function 'F': expected opset 17 of '', as the model has, found 13"));
  const auto model = GraphFromText(kTwoOutputs);
  CHECK(AddCallersFunction(*model, "no message").status().code() == absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace amp
