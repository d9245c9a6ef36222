// metadata_props["amp.calls"]: which nodes came from which function, for a second run.
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/catch2.h"
#include "tests/model_from_text.h"
#include "tools/library/amp.h"

namespace amp {
namespace {

using Options = RewriteOptions;

onnx::ModelProto OneCall() {
  return ModelFromText(R"(<ir_version: 10, opset_import: ["" : 17, "my" : 1]>
    g (float[2, 2] x) => (float[2, 2] y) { [mm] m = MatMul (x, x) [call] y = my.Block (m) }
    <domain: "my", opset_import: ["" : 17]> Block (a) => (b) { [inner] b = MatMul (a, a) })");
}

RewriteResult Rewritten(const onnx::ModelProto& model, const Options& options) {
  absl::StatusOr<RewriteResult> result = Rewrite(model, options);
  INFO(result.status());
  REQUIRE(result.ok());
  return *std::move(result);
}

std::string Calls(const onnx::ModelProto& model) {
  for (const auto& entry : model.metadata_props()) {
    if (entry.key() == "amp.calls") return entry.value();
  }
  return "";
}

void SetCalls(onnx::ModelProto& model, const std::string& text) {
  auto* entry = model.add_metadata_props();
  entry->set_key("amp.calls");
  entry->set_value(text);
}

TEST_CASE("a second run knows the functions that the first one inlined") {
  Options options;
  options.deny = {"my::Block"};
  for (const auto functions : {Options::Functions::kInline, Options::Functions::kSpecialise}) {
    options.functions = functions;
    const RewriteResult once = Rewritten(OneCall(), options);
    CHECK(once.summary.changed);
    const RewriteResult twice = Rewritten(once.model, options);
    CHECK(twice.model.SerializeAsString() == once.model.SerializeAsString());
    CHECK(twice.summary.warnings.empty());
  }
}

TEST_CASE("what is no record of calls stays as it is, with a warning") {
  constexpr size_t kDeep = 300'000;
  const std::string open(kDeep, '['), close(kDeep, ']');
  Options options;
  options.deny = {"my::Block"};
  for (const std::string& text :
       {std::string("my notes"), std::string("{"), std::string("[]"), std::string(R"({"v":2})"),
        std::string(R"({"v":1,"copies":{},"calls":[{"label":[]}]})"),
        std::string(R"({"v":1,"copies":{"a":["b"]},"calls":[]})"), std::string(R"({"v":1,"copies":{},"calls":{}})"),
        std::string("{\"v\":1,\"\xff\":0}"), open, absl::StrCat(R"({"v":)", open, close, "}"),
        absl::StrCat(R"({"v":1,"calls":)", open, close, R"(,"copies":{}})")}) {
    INFO(text.substr(0, 100));
    onnx::ModelProto model = OneCall();
    SetCalls(model, text);
    const RewriteResult result = Rewritten(model, options);
    CHECK(result.summary.changed);
    REQUIRE(result.summary.warnings.size() == 1);
    CHECK(absl::StartsWith(result.summary.warnings[0], "metadata 'amp.calls' is ignored and stays: expected "));
    CHECK(Calls(result.model) == text);
  }
}

TEST_CASE("brackets in names are no nesting") {
  onnx::ModelProto model = OneCall();
  model.mutable_graph()->mutable_node(1)->set_name(R"([[[[[[[[[[[[[[[[[[[[ \" {{{{{{{{{{{{{{{{{{{{{ \)");
  Options options;
  options.deny = {"my::Block"};
  const RewriteResult once = Rewritten(model, options);
  const RewriteResult twice = Rewritten(once.model, options);
  CHECK(twice.summary.warnings.empty());
  CHECK(twice.model.SerializeAsString() == once.model.SerializeAsString());
}

TEST_CASE("a second run knows calls and nodes whose names are not UTF-8, or look like what stands for those") {
  for (const std::string& name : {std::string("q\xff\xfe"), std::string("base64:cQ=="), std::string("base64:")}) {
    onnx::ModelProto call = OneCall(), node = OneCall();
    call.mutable_graph()->mutable_node(1)->set_name(name);
    node.mutable_functions(0)->mutable_node(0)->set_name(name);
    for (const onnx::ModelProto& model : {call, node}) {
      Options options;
      options.deny = {"my::Block"};
      const RewriteResult once = Rewritten(model, options);
      REQUIRE_FALSE(Calls(once.model).empty());
      const RewriteResult twice = Rewritten(once.model, options);
      CHECK(twice.summary.warnings.empty());
      CHECK(twice.model.SerializeAsString() == once.model.SerializeAsString());
    }
  }
}

TEST_CASE("a record that would say nothing is not written, and goes when all that it said is gone") {
  Options options;
  options.functions = Options::Functions::kSpecialise;
  options.deny_node = {"call"};
  onnx::ModelProto model = OneCall();
  const RewriteResult result = Rewritten(model, options);
  CHECK(result.summary.changed);
  CHECK(Calls(result.model).empty());
  SetCalls(model, R"({"v":1,"calls":[],"copies":{}})");
  CHECK(Calls(Rewritten(model, options).model).empty());
}

}  // namespace
}  // namespace amp
