// Operators of other domains take bfloat16 at any opset; Cast does from 13 on.
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "onnx/checker.h"
#include "tests/catch2.h"
#include "tests/model_from_text.h"
#include "tools/library/amp.h"

namespace amp {
namespace {

onnx::ModelProto ContribOnly(const std::string& onnx_import) {
  return ModelFromText(absl::StrCat("<ir_version: 7, opset_import: [", onnx_import, R"("com.microsoft" : 1]>
    g (float[4,4] x) => (float[4,4] y) { [fm] y = com.microsoft.FusedMatMul (x, x) })"));
}

absl::StatusOr<RewriteResult> RewriteTo(RewriteOptions::Dtype dtype, const onnx::ModelProto& model,
                                        bool keep_opset = false) {
  RewriteOptions options;
  options.dtype = dtype;
  options.keep_opset = keep_opset;
  options.explain = true;
  return Rewrite(model, options);
}
constexpr auto kBfloat16 = RewriteOptions::Dtype::kBfloat16;
constexpr auto kFloat16 = RewriteOptions::Dtype::kFloat16;

int64_t OpsetOf(const onnx::ModelProto& model) {
  for (const auto& import : model.opset_import()) {
    if (import.domain().empty()) return import.version();
  }
  return 0;
}

// Converted, at this opset, and valid there.
void CheckLifted(const absl::StatusOr<RewriteResult>& result, int64_t opset) {
  INFO(result.status());
  REQUIRE(result.ok());
  CHECK(result->summary.changed);
  CHECK(OpsetOf(result->model) == opset);
  CHECK_NOTHROW(onnx::checker::check_model(result->model));
}

// Converts nothing, and says why.
void CheckKept(const onnx::ModelProto& model, const std::string& why) {
  const auto result = RewriteTo(kBfloat16, model, true);
  INFO(result.status());
  REQUIRE(result.ok());
  CHECK_FALSE(result->summary.changed);
  REQUIRE_FALSE(result->summary.warnings.empty());
  CHECK(absl::StrContains(result->summary.warnings.back(), why));
  CHECK(absl::StrContains(result->summary.explanation, why));
}

TEST_CASE("an input that is left out says nothing about types") {
  onnx::ModelProto model = ModelFromText(R"(<ir_version: 7, opset_import: ["" : 12, "com.microsoft" : 1]>
    g (float[2,4,8] x, float[8] k) => (float[2,4,8] y) {
      [fm] a = com.microsoft.FusedMatMul <transB = 1> (x, x)
      [sl] y = com.microsoft.SkipLayerNormalization (x, x, k, k, k)
    })");
  model.mutable_graph()->mutable_node(1)->set_input(3, "");
  model.mutable_graph()->mutable_node()->DeleteSubrange(0, 1);
  const auto result = RewriteTo(kBfloat16, model);
  INFO(result.status());
  CHECK(result.ok());
}

TEST_CASE("bfloat16 lifts a model of contrib operators alone to where Cast takes it") {
  const onnx::ModelProto model = ContribOnly(R"("" : 12, )");
  CheckLifted(RewriteTo(kBfloat16, model), 13);
  CheckLifted(RewriteTo(kFloat16, model), 12);  // near miss
  CheckLifted(RewriteTo(kBfloat16, ContribOnly(R"("" : 13, )"), true), 13);
  CheckKept(model, "opset 12 is too old for casts to bfloat16, which came with 13");
}

TEST_CASE("casts of a model without an import of ai.onnx bring one along") {
  const onnx::ModelProto model = ContribOnly("");
  CheckLifted(RewriteTo(kBfloat16, model), 13);
  CheckLifted(RewriteTo(kFloat16, model), 13);
  CheckKept(model, "imports no opset of ai.onnx");
}

TEST_CASE("a model is not lifted for casts that nothing needs") {
  onnx::ModelProto model = ContribOnly(R"("" : 12, )");
  model.mutable_graph()->mutable_node(0)->set_op_type("Unknown");
  const auto result = RewriteTo(kBfloat16, model);
  REQUIRE(result.ok());
  CHECK_FALSE(result->summary.changed);
  CHECK(OpsetOf(result->model) == 12);
}

// Converts nothing, and not for want of casts.
void CheckSilent(const std::string& model) {
  const auto result = RewriteTo(kBfloat16, ModelFromText(model), true);
  INFO(result.status());
  REQUIRE(result.ok());
  CHECK_FALSE(result->summary.changed);
  CHECK(result->summary.warnings.empty());
}

TEST_CASE("an opset without casts is named only where an allowed operator waits for them") {
  CheckSilent(R"(<ir_version: 7, opset_import: ["" : 12]>
    g (float16[4,4] x) => (float16[4,4] y) { m = MatMul (x, x) y = Relu (m) })");
  CheckSilent(R"(<ir_version: 7, opset_import: ["" : 12]> g (float[4,4] x) => (float[4,4] y) { y = Relu (x) })");
  CheckSilent(R"(<ir_version: 7, opset_import: ["" : 12]> g (double[4,4] x) => (double[4,4] y) { y = MatMul (x, x) })");
  const auto result = RewriteTo(kBfloat16, ModelFromText(R"(<ir_version: 7, opset_import: ["" : 12]>
    g (float[4,4] x, float16[4,4] h) => (float[4,4] y, float16[4,4] z) { y = MatMul (x, x) z = MatMul (h, h) })"),
                                true);
  REQUIRE(result.ok());
  REQUIRE(result->summary.warnings.size() == 1);
  CHECK(absl::StrContains(result->summary.warnings[0], "opset 12 is too old for casts to bfloat16"));
}

TEST_CASE("where the lift ends below 13, nothing becomes bfloat16") {
  onnx::ModelProto model = ModelFromText(R"(<ir_version: 7, opset_import: ["" : 12, "com.microsoft" : 1]>
    g (float[4,4] x) => (float[4,4] y, z) {
      z = Squeeze <own = 1> (x, x, x)
      [fm] y = com.microsoft.FusedMatMul (x, x) })");
  model.mutable_graph()->mutable_node(0)->set_op_type("NotYetKnown");
  model.mutable_graph()->mutable_node(0)->clear_attribute();
  const auto result = RewriteTo(kBfloat16, model);
  INFO(result.status());
  REQUIRE(result.ok());
  CHECK_FALSE(result->summary.changed);
}

TEST_CASE("an Unsqueeze of no axes keeps a list of none") {
  onnx::ModelProto model = ModelFromText(R"(<ir_version: 7, opset_import: ["" : 12]>
    g (float[4,4] x) => (float[4,4] y) { m = MatMul (x, x) y = Unsqueeze <axes = [0]> (m) })");
  model.mutable_graph()->mutable_node(1)->mutable_attribute(0)->clear_ints();
  const auto result = RewriteTo(kBfloat16, model);
  CheckLifted(result, 13);
  for (const auto& made : result->model.graph().node()) {
    if (made.op_type() == "Unsqueeze") CHECK(made.input_size() == 2);
  }
}

}  // namespace
}  // namespace amp
