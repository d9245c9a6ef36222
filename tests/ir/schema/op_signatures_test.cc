// The grammar of signatures, their choice for a node, and what a mistake is told.
#include "ir/schema/op_signatures.h"

#include <memory>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "google/protobuf/arena.h"
#include "ir/base/status.h"
#include "ir/graph/infer.h"
#include "ir/operators/operator_facts.h"
#include "ir/schema/contrib_signatures.h"
#include "tests/catch2.h"
#include "tests/model_from_text.h"

namespace amp {
namespace {

OpSchema MustParse(absl::string_view text) {
  absl::StatusOr<OpSchema> schema = ParseOpSignature(text);
  INFO(text << ": " << schema.status());
  REQUIRE(schema.ok());
  return *std::move(schema);
}

std::string ErrorOf(absl::string_view text) {
  const absl::StatusOr<OpSchema> schema = ParseOpSignature(text);
  INFO(text);
  CHECK(ExitCode(schema.status()) == 2);
  return std::string(schema.status().message());
}

TEST_CASE("ports share the type variable of the same name") {
  const OpSchema schema = MustParse("my.domain::Gate(x: T, gate: T, scale: float, rest: U...) -> (y: T, mask: bool?)");
  CHECK(schema.domain() == "my.domain");
  CHECK(schema.name() == "Gate");
  CHECK(schema.is_signature());
  REQUIRE(schema.num_inputs() == 4);
  REQUIRE(schema.num_outputs() == 2);
  CHECK(schema.InputVariable(0) == schema.InputVariable(1));
  CHECK(schema.InputVariable(0) == schema.OutputVariable(0));
  CHECK(schema.InputVariable(2) != schema.InputVariable(0));
  CHECK(schema.InputVariable(3) == schema.InputVariable(9));
  CHECK(schema.inputs()[3].presence == OpSchema::Presence::kVariadic);
  CHECK(schema.outputs()[1].presence == OpSchema::Presence::kOptional);
  CHECK(schema.inputs()[2].name == "scale");
}

TEST_CASE("a fixed port takes its type alone, a free variable every type") {
  const OpSchema schema = MustParse("a::B(T, double) -> float32");
  CHECK(schema.Allows(schema.InputVariable(0), DType::kBfloat16));
  CHECK(schema.Allows(schema.InputVariable(0), DType::kString));
  CHECK_FALSE(schema.Allows(schema.InputVariable(0), DType::kUndefined));
  CHECK(schema.Allows(schema.InputVariable(1), DType::kFloat64));
  CHECK_FALSE(schema.Allows(schema.InputVariable(1), DType::kFloat32));
  CHECK(schema.Allows(schema.OutputVariable(0), DType::kFloat32));
  CHECK_FALSE(schema.Allows(schema.OutputVariable(0), DType::kFloat16));
}

TEST_CASE("nothing tells the type of a variable that is at outputs alone") {
  CHECK(ErrorOf("my::Src() -> T") ==
        "column 14: type variable 'T' is at no input, so nothing tells which type it is; expected a variable of the "
        "inputs or a type, such as float");
  CHECK(absl::StrContains(ErrorOf("my::Op(T) -> (T, U)"), "column 18: type variable 'U' is at no input"));
  CHECK(MustParse("my::Src() -> float").num_outputs() == 1);
  CHECK(MustParse("my::Op(T?, U...) -> (U, T)").num_outputs() == 2);
}

TEST_CASE("a limit says which types a variable takes") {
  const OpSchema schema = MustParse("a::B(T, U) -> T where T in {float, float16}, U in {integers, bool, complex}");
  const int t = schema.InputVariable(0), u = schema.InputVariable(1);
  CHECK(schema.Allows(t, DType::kFloat16));
  CHECK_FALSE(schema.Allows(t, DType::kBfloat16));
  for (DType type : {DType::kInt8, DType::kUint64, DType::kBool, DType::kComplex128}) CHECK(schema.Allows(u, type));
  CHECK_FALSE(schema.Allows(u, DType::kInt4));
  CHECK_FALSE(schema.Allows(u, DType::kFloat32));
}

TEST_CASE("blanks and line ends are free, names of ports too") {
  CHECK(MustParse("a::B( T ,T? )\n  ->( T,bool )where T in{float}").num_outputs() == 2);
  CHECK(MustParse("Own() -> float").num_inputs() == 0);
  CHECK(MustParse("ai.onnx::Own(T)->T").domain().empty());
  CHECK(MustParse("a::b.c-d::E(T) -> T").name() == "E");
}

TEST_CASE("a mistake is told with its column") {
  CHECK(ErrorOf("") == "column 1: expected the name of an operator, found the end");
  CHECK(ErrorOf("::B(T) -> T") == "column 1: expected a domain before '::'");
  CHECK(ErrorOf("a:B(T) -> T") == "column 1: expected DOMAIN::OPERATOR");
  CHECK(ErrorOf("a::B T -> T") == "column 6: expected '(' before the inputs, found 'T -> T'");
  CHECK(ErrorOf("a::B(T, flaot) -> T") ==
        "column 9: 'flaot' is no element type; a type variable begins with a capital");
  CHECK(ErrorOf("a::B(T; T) -> T") == "column 7: expected ',' or ')' after an input, found '; T) -> T'");
  CHECK(ErrorOf("a::B(T,) -> T") == "column 8: expected a type, found ') -> T'");
  CHECK(ErrorOf("a::B(x:, T) -> T") == "column 8: expected a type, found ', T) -> T'");
  CHECK(ErrorOf("a::B(x: T, x: T) -> T") == "column 12: a second input 'x'");
  CHECK(ErrorOf("a::B(T..., T) -> T") == "column 12: no input can follow one with '...'");
  CHECK(ErrorOf("a::B(T...?) -> T") == "column 10: expected ',' or ')' after an input, found '?) -> T'");
  CHECK(ErrorOf("a::B(T)") == "column 8: expected '->' before the outputs, found the end");
  CHECK(ErrorOf("a::B(T) -> ()") == "column 14: expected at least one output");
  CHECK(ErrorOf("a::B(T) -> T, T") == "column 13: expected 'where' or the end, found ', T'");
  CHECK(ErrorOf("a::B(T) -> T if T") == "column 14: expected 'where' or the end, found 'if T'");
  CHECK(ErrorOf("a::B(T) -> T where U in {float}") == "column 20: no port has the type variable 'U'");
  CHECK(ErrorOf("a::B(T) -> T where T in float") == "column 25: expected '{' before the types, found 'float'");
  CHECK(ErrorOf("a::B(T) -> T where T = {bool}") == "column 22: expected 'in {TYPES}', found '= {bool}'");
  CHECK(ErrorOf("a::B(T) -> T where T in {}") == "column 26: expected an element type, found '}'");
  CHECK(ErrorOf("a::B(T) -> T where T in {float, T}") == "column 33: 'T' is no element type");
  CHECK(ErrorOf("a::B(T) -> T where T in {float} T") == "column 33: expected ',' or the end, found 'T'");
  CHECK(ErrorOf("a::B(T) -> T where T in {float}, T in {bool}") == "column 34: a second limit of 'T'");
  CHECK(ErrorOf("a::B(\x01) -> T") == "column 6: expected a type, found '\\x01) -> T'");
}

TEST_CASE("ONNX's own operators keep ONNX's types") {
  CHECK(ErrorOf("MatMul(T, T) -> T") ==
        "column 1: 'MatMul' is ONNX's own operator ai.onnx::MatMul, whose types no signature can change");
  CHECK(absl::StrContains(ErrorOf("ai.onnx::Swish(T) -> T"), "ai.onnx::Swish"));
  CHECK(absl::StrContains(ErrorOf("ai.onnx.ml::Scaler(T) -> T"), "ai.onnx.ml::Scaler"));
}

TEST_CASE("a given signature replaces the built-in ones of its operator alone") {
  const auto built_in = OpSignatures::BuiltIn();
  const auto given = OpSignatures::WithBuiltIn({"com.microsoft::MatMulNBits(T, uint8, float) -> T"});
  REQUIRE(given.ok());
  CHECK(built_in->Find("com.microsoft", "MatMulNBits").size() == 2);
  CHECK((*given)->Find("com.microsoft", "MatMulNBits").size() == 1);
  CHECK((*given)->Find("com.microsoft", "BiasGelu").size() == 1);
  CHECK((*given)->Find("my.domain", "BiasGelu").empty());
  const absl::Status twice = OpSignatures::WithBuiltIn({"a::B(T) -> T", "a::B(T) -> T"}).status();
  CHECK(twice.message() == "'a::B(T) -> T' is given twice");
  const absl::Status mistake = OpSignatures::WithBuiltIn({"a::B(T)"}).status();
  CHECK(mistake.message() == "'a::B(T)': column 8: expected '->' before the outputs, found the end");
}

TEST_CASE("no damaged signature is more than an error") {
  int errors = 0;
  for (const absl::string_view text : ContribSignatures()) {
    for (size_t i = 0; i < text.size(); ++i) {
      for (const std::string& middle : {std::string(), std::string("("), std::string(1, '\0'), std::string("\xff")}) {
        const std::string damaged = absl::StrCat(text.substr(0, i), middle, text.substr(i + 1));
        const absl::Status status = ParseOpSignature(damaged).status();
        if (status.ok()) continue;
        ++errors;
        if (ExitCode(status) != 2 || !absl::StartsWith(status.message(), "column ")) FAIL(damaged << ": " << status);
      }
    }
  }
  CHECK(errors > 10000);
}

TEST_CASE("a domain and an operator are told apart where both have colons") {
  const auto given = OpSignatures::WithBuiltIn({"a::b::C(T) -> T"});
  REQUIRE(given.ok());
  CHECK((*given)->Find("a::b", "C").size() == 1);
  CHECK((*given)->Find("a", "b::C").empty());
}

// The model's only node of a.Op, inferred with these signatures.
struct Chosen {
  std::unique_ptr<Model> model;
  NodeId node = NodeId(0);
  const OpSchema* schema() const { return model->node(node).schema; }
  DType output(size_t i) const { return model->value(model->node(node).outputs[i]).dtype; }
};

Chosen Choose(const std::string& graph, const std::vector<std::string>& signatures) {
  const auto loaded = OpSignatures::WithBuiltIn(signatures);
  REQUIRE(loaded.ok());
  auto arena = std::make_unique<google::protobuf::Arena>();
  auto* proto = google::protobuf::Arena::CreateMessage<onnx::ModelProto>(arena.get());
  *proto = ModelFromText("<ir_version: 8, opset_import: [\"\" : 17, \"a\" : 1, \"com.microsoft\" : 1]>\n" + graph);
  auto model = Model::Create(std::move(arena), proto, *loaded);
  INFO(model.status());
  REQUIRE(model.ok());
  Chosen chosen{*std::move(model)};
  InferTypes(*chosen.model);
  return chosen;
}

TEST_CASE("a node has the first signature that it fits") {
  const std::vector<std::string> signatures = {"a::Op(T, T) -> T", "a::Op(T, int64) -> T"};
  const Chosen second = Choose("g (float[2] x, int64[2] i) => (float[2] y) { y = a.Op (x, i) }", signatures);
  REQUIRE(second.schema() != nullptr);
  CHECK(second.schema()->InputVariable(1) != second.schema()->InputVariable(0));
  CHECK(second.model->warnings().empty());
  const Chosen first = Choose("g (float[2] x) => (float[2] y) { y = a.Op (x, x) }", signatures);
  CHECK(first.schema()->InputVariable(1) == first.schema()->InputVariable(0));
}

std::string WarningOf(const std::string& graph, const std::string& signature) {
  const Chosen chosen = Choose(graph, {signature});
  CHECK(chosen.schema() == nullptr);
  REQUIRE(chosen.model->warnings().size() == 1);
  const std::string& warning = chosen.model->warnings()[0];
  const std::string prefix = "node 'Op#0' does not fit the signature of a::Op and is taken as unknown: ";
  CHECK(absl::StartsWith(warning, prefix));
  return warning.substr(std::min(prefix.size(), warning.size()));
}

TEST_CASE("a node that fits no signature is unknown, with a warning") {
  const std::string unary = "g (float[2] x) => (float[2] y) { y = a.Op (x) }";
  const std::string binary = "g (float[2] x, int64[2] i) => (float[2] y) { y = a.Op (x, i) }";
  CHECK(WarningOf(binary, "a::Op(T) -> T") == "it has 2 inputs, expected at most 1");
  CHECK(WarningOf(unary, "a::Op(T, w: T) -> T") == "input 1 'w' is absent");
  CHECK(WarningOf(unary, "a::Op(T) -> T where T in {float16}") ==
        "input 0 is float32, which the signature does not take there");
  CHECK(WarningOf(binary, "a::Op(T, i: T) -> T") ==
        "input 1 'i' is int64, expected float32 as of the other ports of T");
  CHECK(WarningOf(unary, "a::Op(T) -> (y: int64)") ==
        "output 0 'y' is float32, which the signature does not take there");
  CHECK(WarningOf("g (float[2] x) => (float[2] y) { y, z = a.Op (x) }", "a::Op(T) -> T") ==
        "it has 2 outputs, expected at most 1");
  CHECK(WarningOf("g (seq(float[2]) x) => (float[2] y) { y = a.Op (x) }", "a::Op(T) -> float") ==
        "input 0 is no tensor");
}

TEST_CASE("an output has the type of its variable, and the shape that the file states") {
  const Chosen chosen =
      Choose("g (float[2] x) => (int64[2] z) <float[2,7] y> { y, m = a.Op (x)\n z = Cast <to = 7> (m) }",
             {"a::Op(T) -> (T, bool)"});
  CHECK(chosen.output(0) == DType::kFloat32);
  CHECK(chosen.output(1) == DType::kBool);
  const Value& y = chosen.model->value(chosen.model->node(chosen.node).outputs[0]);
  REQUIRE(y.type != nullptr);
  CHECK(y.type->tensor_type().shape().dim_size() == 2);
}

TEST_CASE("fused matrix work counts as heavy") {
  const auto is_heavy = [](const std::string& node) {
    const Chosen chosen = Choose("g (float[2,2] x) => (float[2,2] y) { y = " + node + " (x, x) }", {});
    return IsHeavy(chosen.model->node(chosen.node));
  };
  CHECK(is_heavy("MatMul"));
  CHECK(is_heavy("com.microsoft.FusedMatMul"));
  CHECK(is_heavy("com.microsoft.MultiHeadAttention"));
  CHECK_FALSE(is_heavy("com.microsoft.BiasGelu"));
  CHECK_FALSE(is_heavy("a.FusedMatMul"));
}

TEST_CASE("a function of the model needs no signature and takes none") {
  const auto loaded = OpSignatures::WithBuiltIn({"a::Op(T) -> T"});
  auto arena = std::make_unique<google::protobuf::Arena>();
  auto* proto = google::protobuf::Arena::CreateMessage<onnx::ModelProto>(arena.get());
  *proto = ModelFromText(
      "<ir_version: 8, opset_import: [\"\" : 17, \"a\" : 1]>\n"
      "g (float[2] x) => (float[2] y) { y = a.Op (x) }\n"
      "<domain: \"a\", opset_import: [\"\" : 17]> Op (u) => (v) { v = Relu (u) }");
  auto model = Model::Create(std::move(arena), proto, *loaded);
  REQUIRE(model.ok());
  InferTypes(**model);
  CHECK((*model)->node(NodeId(0)).schema == nullptr);
  CHECK((*model)->SignaturesOf(NodeId(0)).empty());
}

}  // namespace
}  // namespace amp
