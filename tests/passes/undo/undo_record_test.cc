// Records of a rewrite with odd contents: files are edited, and records are as little to be trusted as they are.
#include <algorithm>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"
#include "onnx/checker.h"
#include "tests/passes/undo/undo_folder.h"
#include "tools/library/amp.h"

namespace amp {
namespace {

using Json = nlohmann::json;

// With every field that a record can have.
constexpr absl::string_view kModel = R"(<ir_version: 8, opset_import: ["" : 17, "local" : 1]>
  g (float[2,2] x, float16[2,2] h, bool c, int64[2] shape, float[2,2] over, float[2,2] x2)
      => (float[2,2] y, float16[2,2] z, float[2,2] u)
    <float[2,2] w = {1, 2, 3, 4}, float[2,2] b = {0.5, 2, 0.25, 1}, float[2,2] over = {1, 1, 1, 1},
     float[2] one = {1, 1}, float[2,2] tiny = {1e-8, 2e-8, 3e-8, 4e-8}> {
    [mm] a = MatMul (x, w)
    [narrow] p = Cast <to = 10> (a)
    [widen] q = Cast <to = 1> (p)
    [own] r = Cast <to = 1> (h)
    [stays] t = Cast <to = 1> (h)
    [call] d = local.f (q, r)
    [last] z = Cast <to = 10> (d)
    [fill] f = ConstantOfShape <value = float[1] {0.3}> (shape)
    [if] k = If (c) <
      then_branch = t () => (float[2,2] s) {
        i = Constant <value = float[2,2] {1, 2, 3, 4}> ()
        j = MatMul (i, d)
        n = Cast <to = 10> (j)
        s = Cast <to = 1> (n)
      },
      else_branch = e () => (float[2,2] o) {
        i = Constant <value = float[2,2] {5, 6, 7, 8}> ()
        n = MatMul (f, i)
        o = MatMul (n, over)
      }>
    [scan] m = Scan <num_scan_inputs = 1, body = body (float[2] row) => (float[2] out) { out = MatMul (row, w) }> (k)
    [used] n = MatMul (m, t)
    [norm] n2 = BatchNormalization (n, one, one, one, one)
    v = MatMul (n2, x2)
    small = MatMul (x2, tiny)
    [add] u = Add (v, b)
    [exp] e = Exp (b)
    [exp2] e2 = Exp (t)
    [mul] l = Mul (u, e)
    [mul2] y = Mul (l, e2)
  }
  <domain: "local", opset_import: ["" : 17]>
  f (a, b) => (c) { c = MatMul (a, b) })";

struct Recorded : Undo {
  onnx::ModelProto low;

  Recorded() : Undo(kModel) {
    Rewrite({"--allow", "Add", "--keep-io", "x,z", "--freeze-initializers", "--scale-weights"});
    low = Model("low.onnx");
  }
  void SetRecord(const std::string& record) {
    for (auto& entry : *low.mutable_metadata_props()) entry.set_value(record);
  }
  ToolOutput TakeBackWith(const std::string& record) {
    SetRecord(record);
    folder.Write("edited.onnx", low.SerializeAsString());
    return TakeBack("edited.onnx");
  }
};

// Either the model is taken back, to one that this library and ONNX's checker take, or one line says why it is not.
void CheckOutcome(Recorded& recorded, const std::string& record) {
  INFO(record.substr(0, 4000));
  recorded.SetRecord(record);
  RewriteOptions options;
  options.policy = RewriteOptions::Policy::kFloat32;
  const absl::StatusOr<RewriteResult> result = Rewrite(recorded.low, options);
  if (result.ok()) {
    CHECK_NOTHROW(onnx::checker::check_model(result->model, /*full_check=*/true));
    CHECK(Rewrite(result->model, options).ok());
    return;
  }
  INFO(result.status());
  CHECK(absl::IsDataLoss(result.status()));
  CHECK(absl::StartsWith(result.status().message(), "metadata 'amp.rewrite'"));
  CHECK_FALSE(absl::StrContains(result.status().message(), '\n'));
}

// Pointers to all values of a document, itself included.
std::vector<Json::json_pointer> Places(const Json& json) {
  std::vector<Json::json_pointer> places = {Json::json_pointer()};
  for (size_t next = 0; next < places.size(); ++next) {
    const Json::json_pointer place = places[next];
    const Json& at = json.at(place);
    for (size_t i = 0; at.is_array() && i < at.size(); ++i) places.push_back(place / i);
    for (auto it = at.begin(); at.is_object() && it != at.end(); ++it) places.push_back(place / it.key());
  }
  return places;
}

std::vector<Json> OddValues() {
  std::vector<Json> odd = {nullptr,
                           true,
                           -1,
                           0,
                           1,
                           2,
                           0.5,
                           1e30,
                           4294967296,
                           2147483647,
                           "",
                           "nobody",
                           "float16",
                           "float32",
                           "int64",
                           "!",
                           Json::array(),
                           Json::object(),
                           Json::array({"i", 1}),
                           Json::array({"i", 99}),
                           Json::array({0, 0}),
                           Json::array({"y", 0}),
                           Json::array({"b", "w"}),
                           Json::array({"f", "value", nullptr})};
  for (const char* name : {"x", "w", "over", "b_float16", "a", "c", "k", "m", "u", "y", "z", "h"}) odd.push_back(name);
  return odd;
}

TEST_CASE("the record that is made odd has every field, and is taken back whole") {
  Recorded recorded;
  const Json record = Json::parse(Record(recorded.low));
  for (const char* field :
       {"v", "types", "opset", "ir", "casts", "narrowed", "copies", "inputs", "outputs", "body_inputs", "inlined",
        "frozen", "replaced", "scaled", "attributes", "users_casts", "scopes"}) {
    INFO(field);
    CHECK(record.contains(field));
  }
  Json casts = record.at("users_casts");
  for (const char* field : {"cast", "name", "output", "to", "source", "was", "scope", "readers"}) {
    INFO(field);
    CHECK(std::any_of(casts.begin(), casts.end(), [&](const Json& cast) { return cast.contains(field); }));
  }
  const ToolOutput output = recorded.TakeBack();
  CHECK(output.exit_code == 0);
  CHECK_FALSE(absl::StrContains(output.err, "no longer fit"));
}

TEST_CASE("every value of a record made odd: taken back validly, or refused in one line") {
  Recorded recorded;
  const Json record = Json::parse(Record(recorded.low));
  for (const Json::json_pointer& place : Places(record)) {
    for (const Json& value : OddValues()) {
      if (record.at(place) == value) continue;
      Json edited = record;
      edited[place] = value;
      CheckOutcome(recorded, edited.dump());
    }
  }
}

TEST_CASE("a record with a part missing, twice or unknown: taken back validly, or refused in one line") {
  Recorded recorded;
  const Json record = Json::parse(Record(recorded.low));
  for (const Json::json_pointer& place : Places(record)) {
    if (place.empty()) continue;
    const Json::json_pointer around = place.parent_pointer();
    Json without = record, twice = record, more = record;
    if (record.at(around).is_array()) {
      without.at(around).erase(std::stoul(place.back()));
      twice.at(around).push_back(record.at(place));
    } else {
      without.at(around).erase(place.back());
      twice.at(around)["another"] = record.at(place);
    }
    if (more.at(place).is_object()) more.at(place)["unknown"] = 1;
    if (more.at(place).is_array()) more.at(place).push_back(nullptr);
    for (const Json& edited : {without, twice, more}) CheckOutcome(recorded, edited.dump());
  }
}

TEST_CASE("parts of records in each other's places: taken back validly, or refused in one line") {
  Recorded recorded;
  const Json record = Json::parse(Record(recorded.low));
  const std::vector<Json::json_pointer> places = Places(record);
  const std::vector<Json> odd = OddValues();
  constexpr int kRecords = 2000;
  std::mt19937 random(1);
  const auto below = [&](size_t count) { return random() % count; };
  for (int i = 0; i < kRecords; ++i) {
    Json edited = record;
    for (size_t edits = 1 + below(4); edits > 0; --edits) {
      const Json::json_pointer& place = places[below(places.size())];
      if (!edited.contains(place)) continue;
      const Json part = below(4) == 0 ? odd[below(odd.size())] : record.at(places[below(places.size())]);
      if (edited.at(place).is_array() && below(2) == 0) {
        edited.at(place).push_back(part);
      } else {
        edited[place] = part;
      }
    }
    CheckOutcome(recorded, edited.dump());
  }
}

TEST_CASE("records that lie about the model") {
  Recorded recorded;
  const Json record = Json::parse(Record(recorded.low));
  const auto with = [&](const char* field, const char* value) {
    Json edited = record;
    edited[field] = Json::parse(value);
    return edited.dump();
  };
  const auto error_of = [&](const std::string& text) {
    CheckOutcome(recorded, text);
    return recorded.TakeBackWith(text).err;
  };
  const auto with_casts = [&](const char* casts) {
    Json edited = record;
    for (const Json& cast : Json::parse(casts)) edited["users_casts"].push_back(cast);
    return edited.dump();
  };
  // A value would be read where nobody knows it, or before it is made.
  CHECK(absl::StrContains(
      error_of(with_casts(R"([{"name":"","output":"o","to":"float32","source":"h","scope":1,"readers":[["n",1]]}])")),
      "node 'used' reads 'o': expected a value that is made before, found none"));
  CHECK(absl::StrContains(
      error_of(with_casts(R"([{"name":"","output":"o","to":"float32","source":"n","readers":[["z",1]]}])")),
      "1 part of the record no longer fits"));
  // Casts that stand on each other.
  const size_t number = record.at("users_casts").size();
  CHECK(absl::StrContains(
      error_of(with_casts(absl::StrCat(R"([{"name":"","output":"o","to":"float16","source":)", number + 1,
                                       R"(,"readers":[]},{"name":"","output":"r","to":"float32","source":)", number,
                                       R"(,"readers":[]}])")
                              .c_str())),
      "2 parts of the record no longer fit"));
  // Casts that are not ours, nodes that are none, outputs that would have another type than they say.
  error_of(with("casts", R"(["a", "z", "k", "x", ["i", 1], ["n", 1], ["s", 1]])"));
  error_of(with("outputs", R"(["z"])"));
  error_of(with("inputs", R"(["x", "h", "c"])"));
  error_of(with("copies", R"([["b_float16", "b_float16"], ["w", "b"], ["b_float16", "u"]])"));
  error_of(with("copies", R"([["b_float16", ["i", 1]]])"));
  // Attributes: of another name, with a payload that does not fit, of a kind that means nothing here.
  error_of(with("attributes", R"([["f", "axis", "CgRheGlzGAA="]])"));
  error_of(with("attributes", R"([["f", "value", "CgV2YWx1ZSoICAIIAhABIgA="]])"));
  error_of(with("attributes", R"([["a", "to", null], ["z", "to", null], ["k", "then_branch", null]])"));
  Json without_type = record;
  without_type["attributes"].push_back({"t", "to", nullptr});
  CHECK(absl::StrContains(error_of(without_type.dump()),
                          "node 'stays': expected attributes that choose one type, found 'to' changed or gone"));
}

TEST_CASE("texts that are no record of this version") {
  Recorded recorded;
  const auto error_of = [&](const std::string& text) {
    const ToolOutput output = recorded.TakeBackWith(text);
    CHECK(output.exit_code == 3);
    CHECK(output.err.find('\n') == output.err.size() - 1);
    CheckOutcome(recorded, text);
    return output.err;
  };
  for (const char* text : {"", "{", "[]", "3", "{}", "nul", R"({"v":2})", R"({"v":2,"types":["float16"],"opset":17})",
                           R"({"v":2,"types":[],"opset":17,"ir":8})", R"({"v":2,"types":["int8"],"opset":17,"ir":8})",
                           R"({"v":2,"types":["float16"],"opset":1e30,"ir":8})", "{\"v\":2,\"types\":[\"\xff\"]}"}) {
    INFO(text);
    CHECK(absl::StrContains(error_of(text), ": metadata 'amp.rewrite': not a record of a rewrite: "));
  }
  CHECK(absl::StrContains(error_of(R"({"v":1,"opset":17,"ir":8})"), "expected version 2, found 1\n"));
  CHECK(absl::StrContains(error_of(R"({"v":"2"})"), "expected version 2, found string\n"));
  constexpr size_t kDeep = 1000000;
  CHECK(absl::StrContains(error_of(std::string(kDeep, '[')), "nested deeper than 16\n"));
  CHECK(absl::StrContains(error_of(absl::StrCat(R"({"v":)", std::string(kDeep, '['))), "nested deeper than 16\n"));
}

TEST_CASE("what is no record is left to whose it is by a rewrite, and advice says so") {
  const Undo undo(R"(<ir_version: 10, opset_import: ["" : 17, "local" : 1]>
    g (float[2,2] x) => (float[2,2] y) { [mm] m = MatMul (x, x) y = local.f (m) }
    <domain: "local", opset_import: ["" : 17]> f (a) => (b) { b = MatMul (a, a) })");
  for (const char* text : {"my own notes", R"({"v":1,"types":["float16"]})", R"({"v":2,"types":["float16"]})"}) {
    INFO(text);
    onnx::ModelProto model = undo.Model("in.onnx");
    auto* entry = model.add_metadata_props();
    entry->set_key("amp.rewrite");
    entry->set_value(text);
    undo.folder.Write("noted.onnx", model.SerializeAsString());
    const ToolOutput output = undo.RunTool("noted.onnx", "low.onnx", {});
    CHECK(output.exit_code == 0);
    CHECK(absl::StrContains(output.err, "--policy float32 cannot take this rewrite back: metadata 'amp.rewrite': "));
    CHECK(absl::EndsWith(output.err, "; it stays as it is\n"));
    CHECK(Record(undo.Model("low.onnx")) == text);
    CHECK(undo.TakeBack().exit_code == 3);
    REQUIRE(undo.RunTool("noted.onnx", "low.onnx", {"--functions", "specialise"}).exit_code == 0);
    CHECK(Record(undo.Model("low.onnx")) == text);
  }
}

TEST_CASE("a later rewrite of a model with an odd record goes its way") {
  Recorded recorded;
  const onnx::ModelProto low = recorded.low;
  const Json record = Json::parse(Record(recorded.low));
  for (const Json::json_pointer& place : Places(record)) {
    for (const Json& value : {Json("y"), Json("w"), Json(1), Json::array({"n", 1})}) {
      Json edited = record;
      edited[place] = value;
      recorded.SetRecord(edited.dump());
      INFO(edited.dump());
      RewriteOptions options;
      options.allow = {"Exp", "Mul"};
      const absl::StatusOr<RewriteResult> lower = Rewrite(recorded.low, options);
      INFO(lower.status());
      REQUIRE(lower.ok());
      recorded.low = lower->model;
      CheckOutcome(recorded, Record(lower->model));
      recorded.low = low;
    }
  }
}

}  // namespace
}  // namespace amp
