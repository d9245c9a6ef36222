// Units: heavy nodes with the light ones that are low because of them.
#include "passes/decide/find_units.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ir/file/model_file.h"
#include "tests/catch2.h"
#include "tests/model_from_text.h"
#include "tools/library/set_up.h"

namespace amp {
namespace {

// "m1: m1 add1; m2: t m2": heads, and the nodes of each.
std::string UnitsOf(const std::string& graph) {
  const onnx::ModelProto text = ModelFromText(absl::StrCat("<ir_version: 8, opset_import: [\"\" : 17]> g ", graph));
  absl::StatusOr<LoadedFile> file = ParseModel(text.SerializeAsString());
  const absl::StatusOr<Setup> setup = SetUp({});
  REQUIRE((file.ok() && setup.ok()));
  const absl::StatusOr<DecidedModel> decided = DecideModel(*file, setup->signatures, setup->lists, setup->settings);
  INFO(decided.status().message());
  REQUIRE(decided.ok());
  const Model& model = *decided->model;
  std::vector<std::string> texts;
  for (const Unit& unit : FindUnits(model, decided->decision)) {
    std::vector<std::string> names;
    for (const NodeId id : unit.nodes) names.push_back(model.NodeLabel(id));
    texts.push_back(absl::StrCat(model.NodeLabel(unit.head), ": ", absl::StrJoin(names, " ")));
  }
  return absl::StrJoin(texts, "; ");
}

TEST_CASE("a model that stays float32 has no units") {
  CHECK(UnitsOf("(float[4,4] x) => (float[4,4] y) { [s] y = Softmax (x) }").empty());
}

TEST_CASE("light nodes belong to the heavy one ahead") {
  CHECK(UnitsOf(R"((float[64,64] x, float[64,64] w) => (float[64,64] y) {
      [m1] a = MatMul (x, w)  [r] b = Relu (a)  [m2] c = MatMul (b, w)  [n] y = Neg (c) })") == "m1: m1 r; m2: m2 n");
}

TEST_CASE("of two ahead the last one counts, and without one the next behind") {
  CHECK(UnitsOf(R"((float[64,64] x, float[64,64] w) => (float[64,64] y) {
      [t] u = Transpose (x)  [m1] a = MatMul (u, w)  [m2] b = MatMul (a, w)
      [sum] c = Add (a, b)  [m3] y = MatMul (c, w) })") == "m1: t m1; m2: m2 sum; m3: m3");
}

TEST_CASE("what gives an operand with a type of its own is a unit without the reader") {
  CHECK(UnitsOf(R"((float[1,4,8,8] x, float[4,4,1,1] w, float[2,4,1,1] v) => (float[1,4,8,8] y) {
      [picture] a = Conv (x, w)  [flow] b = Conv (x, v)  [bound] c = Tanh (b)
      [grid] d = Transpose <perm = [0, 2, 3, 1]> (c)
      [sample] e = GridSample (a, d)  [last] y = Conv (e, w) })") ==
        "picture: picture sample; flow: flow bound grid; last: last");
  CHECK(UnitsOf(R"((float[1,4,8,8] x, float[4,4,1,1] w, float[2,4,1,1] v) => (float[1,4,8,8] y) {
      [flow] b = Conv (x, v)  [bound] c = Tanh (b)  [grid] d = Transpose <perm = [0, 2, 3, 1]> (c)
      [sample] e = GridSample (x, d)  [last] y = Conv (e, w) })") == "flow: flow bound grid; last: sample last");
}

}  // namespace
}  // namespace amp
