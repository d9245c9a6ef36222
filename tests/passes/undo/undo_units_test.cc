// Taking back what one operator stands for, and what a record may claim of it.
#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "nlohmann/json.hpp"
#include "onnx/checker.h"
#include "tests/passes/undo/undo_folder.h"
#include "tools/library/amp.h"

namespace amp {
namespace {

using Json = nlohmann::json;

// Weights that float16 holds exactly, so that taking back is exact too.
// A LayerNorm without scale and shift between a product and `behind`, which makes y of the normalised n.
std::string NormBefore(absl::string_view outputs, absl::string_view behind) {
  return absl::StrCat(R"(<ir_version: 8, opset_import: ["" : 17]>
  g (float[2,4] x) => ()",
                      outputs, R"()
    <float[4,4] w = {1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 5, 6, 7, -8}, float[4] b = {0.5, 2, 1, 4}, float two = {2}> {
    [mm0] a = MatMul (x, w)
    [mean] m = ReduceMean <axes = [-1]> (a)
    [sub] d = Sub (a, m)
    [square] q = Pow (d, two)
    [mean2] v = ReduceMean <axes = [-1]> (q)
    [constant] eps = Constant <value = float {0.01}> ()
    [eps] e = Add (v, eps)
    [sqrt] s = Sqrt (e)
    [div] n = Div (d, s)
)",
                      behind, "}");
}
const std::string kLayerNorm =
    NormBefore("float[2,4] y", "[scale] t = Mul (b, n) [shift] u = Add (t, b) [mm1] y = MatMul (u, w)");
constexpr absl::string_view kBare = R"(<ir_version: 8, opset_import: ["" : 17]>
  g (float[2,4] x, bool c) => (float[2,4] y) <float[4,4] w = {1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 5, 6, 7, -8}> {
    a = MatMul (x, w)
    y = If (c) <
      then_branch = t () => (float[2,4] o) {
        m = ReduceMean <axes = [-1]> (a)
        d = Sub (a, m)
        q = Mul (d, d)
        v = ReduceMean <axes = [-1]> (q)
        eps = Constant <value = float {0.01}> ()
        e = Add (v, eps)
        s = Sqrt (e)
        n = Div (d, s)
        o = MatMul (n, w)
      },
      else_branch = e () => (float[2,4] p) { m = MatMul (a, w)  p = Identity (m) }>
  })";
constexpr absl::string_view kSpread = R"(<ir_version: 8, opset_import: ["" : 17]>
  g (float[2,4] x) => (float[2,4] y)
    <float[4,4] w = {1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 5, 6, 7, -8}, float[4] b = {0.5, 2, 1, 4}, float eps = {0.01},
     float quarter = {0.25}, int64[1] last = {-1}> {
    [mm0] a = MatMul (x, w)
    [sum0] n = ReduceSum (a, last)
    [mean0] m = Mul (n, quarter)
    [square0] q = Mul (a, a)
    [sum1] t = ReduceSum (q, last)
    [mean1] v = Mul (quarter, t)
    [square1] k = Mul (m, m)
    [variance] h = Sub (v, k)
    [eps] e = Add (h, eps)
    [sqrt] s = Sqrt (e)
    [inverse] r = Reciprocal (s)
    [scale] f = Mul (r, b)
    [product] p = Mul (a, f)
    [of_mean] o = Mul (m, f)
    [shift] c = Sub (b, o)
    [norm] u = Add (p, c)
    [mm1] y = MatMul (u, w)
  })";
// The number of elements is computed, and what lost its axes reshaped and expanded.
constexpr absl::string_view kCounted = R"(<ir_version: 8, opset_import: ["" : 17]>
  g (float[2,4] x) => (float[2,4] y)
    <float[4,4] w = {1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 5, 6, 7, -8}, float[4] b = {0.5, 2, 1, 4}, float eps = {0.01},
     int64 place = {-1}, int64[1] last = {-1}, int64[2] ones = {2, 1}, int64[2] full = {2, 4}> {
    [mm0] a = MatMul (x, w)
    [shape] h = Shape (a)
    [dim] k = Gather (h, place)
    [count] n = Cast <to = 1> (k)
    [sum0] g0 = ReduceSum <keepdims = 0> (a, last)
    [mean0] m0 = Div (g0, n)
    [back] m = Reshape (m0, ones)
    [wide] p = Expand (m, full)
    [sub] d = Sub (a, p)
    [square] q = Mul (d, d)
    [sum1] g1 = ReduceSum (q, last)
    [mean1] v = Div (g1, n)
    [eps] e = Add (v, eps)
    [sqrt] s = Sqrt (e)
    [div] t = Div (d, s)
    [scale] u = Mul (t, b)
    [mm1] y = MatMul (u, w)
  })";
constexpr absl::string_view kGroupNorm = R"(<ir_version: 10, opset_import: ["" : 21]>
  g (float[2,4,3,3] x) => (float[2,4,3,3] y)
    <float[4,4,1,1] w = {1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 5, 6, 7, -8}, float[4,1,1] gain = {1, 2, 3, 4},
     float[2] ones = {1, 1}, float[2] zeros = {0, 0}, int64[3] groups = {0, 2, -1}> {
    [conv0] a = Conv (x, w)
    [group] r = Reshape (a, groups)
    [norm] i = InstanceNormalization <epsilon = 0.01> (r, ones, zeros)
    [shape] h = Shape (a)
    [back] n = Reshape (i, h)
    [scale] t = Mul (n, gain)
    [conv1] y = Conv (t, w)
  })";

// Without the order of nodes and initializers, which is not taken back.
std::vector<std::string> Parts(const std::string& text) {
  std::vector<std::string> parts =
      absl::StrSplit(absl::StrReplaceAll(text, {{"}, ", "\n"}, {"}>", "\n"}, {"<", "\n"}}), '\n');
  for (std::string& part : parts) absl::StripAsciiWhitespace(&part);
  std::erase(parts, "");
  std::sort(parts.begin(), parts.end());
  return parts;
}

bool HasUnit(const onnx::ModelProto& model) { return absl::StrContains(Record(model), "\"units\""); }

TEST_CASE("the nodes of a norm come back as they were") {
  for (const absl::string_view text : {absl::string_view(kLayerNorm), kBare, kSpread, kCounted, kGroupNorm}) {
    const Undo undo(text);
    undo.Rewrite();
    REQUIRE(HasUnit(undo.Model("low.onnx")));
    const ToolOutput output = undo.TakeBack();
    CHECK(output.exit_code == 0);
    CHECK_FALSE(absl::StrContains(output.err, "no longer fit"));
    if (text == kBare) CHECK(absl::StrContains(output.err, "1 weight keeps"));  // w: what the operator got is gone
    CHECK(Parts(undo.Text("back.onnx")) == Parts(undo.Text("in.onnx")));
  }
}

TEST_CASE("a norm that stays has nothing to be taken back") {
  const Undo undo(kLayerNorm);
  undo.Rewrite({"--keep-decomposed"});
  CHECK_FALSE(HasUnit(undo.Model("low.onnx")));
}

TEST_CASE("taken back after a second rewrite, which renames what the norm reads") {
  const Undo undo(NormBefore("float[2,4] y, float[2,4] a", "[exp] r = Exp (n) [mm1] y = MatMul (r, w)"));
  undo.Rewrite();
  REQUIRE(undo.RunTool("low.onnx", "lower.onnx", {"--allow", "Exp"}).exit_code == 0);
  REQUIRE(undo.folder.Read("lower.onnx") != undo.folder.Read("low.onnx"));
  const ToolOutput output = undo.TakeBack("lower.onnx");
  CHECK(output.exit_code == 0);
  CHECK(Parts(undo.Text("back.onnx")) == Parts(undo.Text("in.onnx")));
}

TEST_CASE("at a higher opset the nodes would be others: the operator stays, and advice says so") {
  const Undo undo(kLayerNorm);
  undo.Rewrite();
  REQUIRE(undo.RunTool("low.onnx", "lower.onnx", {"--opset", "18", "--allow", "Identity", "--freeze-initializers"})
              .exit_code == 0);
  onnx::ModelProto lifted = undo.Model("low.onnx");
  lifted.mutable_opset_import(0)->set_version(18);
  undo.folder.Write("lifted.onnx", lifted.SerializeAsString());
  const ToolOutput output = undo.TakeBack("lifted.onnx");
  CHECK(output.exit_code == 0);
  CHECK(absl::StrContains(output.err, "1 norm stays one operator: written out, they were of an opset below 18"));
  CHECK(absl::StrContains(undo.Text("back.onnx"), "LayerNormalization"));
}

struct Edited {
  onnx::ModelProto low;
  Json record;

  explicit Edited(absl::string_view text) {
    RewriteOptions options;
    low = Rewrite(ModelFromText(std::string(text)), options)->model;
    record = Json::parse(Record(low));
  }
  // Either the model is taken back, to one that ONNX's checker takes, or one line says why it is not.
  absl::StatusOr<RewriteResult> TakeBackWith(const Json& edited) {
    for (auto& entry : *low.mutable_metadata_props()) entry.set_value(edited.dump());
    RewriteOptions options;
    options.policy = RewriteOptions::Policy::kFloat32;
    absl::StatusOr<RewriteResult> result = Rewrite(low, options);
    INFO(edited.dump());
    INFO(result.status());
    if (result.ok()) {
      CHECK_NOTHROW(onnx::checker::check_model(result->model, /*full_check=*/true));
    } else {
      CHECK(absl::IsDataLoss(result.status()));
      CHECK(absl::StartsWith(result.status().message(), "metadata 'amp.rewrite'"));
      CHECK_FALSE(absl::StrContains(result.status().message(), '\n'));
    }
    return result;
  }
};

std::string Encoded(const onnx::NodeProto& node) { return absl::Base64Escape(node.SerializeAsString()); }

TEST_CASE("every value of what stands for a norm made odd: taken back validly, or refused in one line") {
  for (const absl::string_view text : {absl::string_view(kLayerNorm), kBare, kGroupNorm}) {
    Edited edited(text);
    std::vector<Json::json_pointer> places = {Json::json_pointer("/units")};
    for (size_t next = 0; next < places.size(); ++next) {
      const Json::json_pointer place = places[next];
      const Json& at = edited.record.at(place);
      for (size_t i = 0; at.is_array() && i < at.size(); ++i) places.push_back(place / i);
      for (auto it = at.begin(); at.is_object() && it != at.end(); ++it) places.push_back(place / it.key());
    }
    const std::vector<Json> odd = {nullptr,
                                   true,
                                   -1,
                                   0,
                                   1,
                                   3,
                                   99,
                                   4294967296,
                                   "",
                                   "a",
                                   "w",
                                   "y",
                                   "n",
                                   "!",
                                   "AAAA",
                                   Json::array(),
                                   Json::object(),
                                   Json::array({"n", 1}),
                                   Json::array({"x", "x"}),
                                   Json::array({"q", 0})};
    for (const Json::json_pointer& place : places) {
      for (const Json& value : odd) {
        Json changed = edited.record;
        changed[place] = value;
        (void)edited.TakeBackWith(changed);
      }
      if (place.empty()) continue;
      Json without = edited.record, twice = edited.record;
      Json& around = without.at(place.parent_pointer());
      around.is_array() ? around.erase(std::stoul(place.back())) : (void)around.erase(place.back());
      if (edited.record.at(place.parent_pointer()).is_array()) {
        twice.at(place.parent_pointer()).push_back(edited.record.at(place));
      }
      (void)edited.TakeBackWith(without);
      (void)edited.TakeBackWith(twice);
    }
  }
}

TEST_CASE("nodes that no norm has are not put into a model") {
  Edited edited(kLayerNorm);
  const auto outcome = [&](const std::function<void(std::vector<onnx::NodeProto>&)>& change) {
    Json changed = edited.record;
    std::vector<onnx::NodeProto> nodes;
    for (const Json& text : changed["units"][0]["nodes"]) {
      std::string bytes;
      REQUIRE(absl::Base64Unescape(text.get<std::string>(), &bytes));
      REQUIRE(nodes.emplace_back().ParseFromString(bytes));
    }
    change(nodes);
    changed["units"][0]["nodes"] = Json::array();
    for (const onnx::NodeProto& node : nodes) changed["units"][0]["nodes"].push_back(Encoded(node));
    const absl::StatusOr<RewriteResult> result = edited.TakeBackWith(changed);
    if (!result.ok()) return std::string("refused");
    for (const auto& node : result->model.graph().node()) {
      if (node.op_type() == "LayerNormalization") return std::string("stays");
    }
    return std::string("back");
  };
  using Nodes = std::vector<onnx::NodeProto>;
  CHECK(outcome([](Nodes&) {}) == "back");
  CHECK(outcome([](Nodes& nodes) { nodes[1].set_op_type("Nobody"); }) == "stays");
  CHECK(outcome([](Nodes& nodes) { nodes[1].set_op_type(""); }) == "stays");
  CHECK(outcome([](Nodes& nodes) { nodes[1].set_domain("custom"); }) == "stays");
  CHECK(outcome([](Nodes& nodes) { nodes[1].add_input("m"); }) == "stays");
  CHECK(outcome([](Nodes& nodes) { nodes[1].mutable_attribute(0)->set_type(onnx::AttributeProto::FLOAT); }) == "stays");
  CHECK(outcome([](Nodes& nodes) { nodes[2].set_input(0, "nobody"); }) == "stays");
  CHECK(outcome([](Nodes& nodes) { nodes[2].set_input(0, "t"); }) == "stays");   // made later
  CHECK(outcome([](Nodes& nodes) { nodes[2].set_output(0, "a"); }) == "stays");  // there is one
  CHECK(outcome([](Nodes& nodes) { nodes.back().add_output("second"); }) == "stays");
  CHECK(outcome([](Nodes& nodes) { nodes.resize(100, nodes[0]); }) == "stays");
  CHECK(outcome([](Nodes& nodes) { nodes.clear(); }) == "stays");
  CHECK(outcome([](Nodes& nodes) {
          onnx::AttributeProto& body = *nodes[1].add_attribute();
          body.set_name("body");
          body.set_type(onnx::AttributeProto::GRAPH);
          body.mutable_g()->set_name("b");
        }) == "stays");
  CHECK(outcome([](Nodes& nodes) {
          onnx::TensorProto& tensor = *nodes[0].mutable_attribute(0)->mutable_t();
          tensor.set_data_location(onnx::TensorProto::EXTERNAL);
        }) == "stays");
}

}  // namespace
}  // namespace amp
