// The library as a program uses it: nothing but tools/library/amp.h.
#include "absl/strings/match.h"
#include "ir/file/text.h"
#include "tests/catch2.h"
#include "tests/model_from_text.h"
#include "tests/scratch_folder.h"
#include "tools/library/amp.h"

namespace {

onnx::ModelProto OneMatMul() {
  return ModelFromText(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[2,2] x) => (float[2,2] y) <float[2,2] w = {1, 2, 3, 4}> { [mm] y = MatMul (x, w) })");
}

TEST_CASE("in memory") {
  const onnx::ModelProto model = OneMatMul();

  absl::StatusOr<amp::RewriteResult> result = amp::Rewrite(model);
  REQUIRE(result.ok());
  onnx::ModelProto mixed = std::move(result->model);

  CHECK(mixed.graph().node_size() == 3);
  CHECK(mixed.graph().initializer(0).data_type() == onnx::TensorProto::FLOAT16);
  CHECK(model.graph().node_size() == 1);
  CHECK(result->summary.changed);
  CHECK(result->summary.line == "Converted 1 of 1 nodes to float16 with 2 casts; weights 16 B -> 8 B");
}

TEST_CASE("on paths") {
  const amp::ScratchFolder folder;
  const std::string in = folder.Write("in.onnx", OneMatMul().SerializeAsString());
  const std::string out = folder.File("out.onnx");

  absl::StatusOr<amp::RewriteSummary> summary = amp::RewriteFile(in, out);
  REQUIRE(summary.ok());
  REQUIRE(summary->changed);

  onnx::ModelProto mixed;
  REQUIRE(mixed.ParseFromString(folder.Read("out.onnx")));
  absl::StatusOr<amp::RewriteResult> in_memory = amp::Rewrite(OneMatMul());
  REQUIRE(in_memory.ok());
  CHECK(mixed.SerializeAsString() == in_memory->model.SerializeAsString());
}

TEST_CASE("options mirror the flags") {
  amp::RewriteOptions options;
  options.dtype = amp::RewriteOptions::Dtype::kBfloat16;
  options.keep_io = false;
  const absl::StatusOr<amp::RewriteResult> result = amp::Rewrite(OneMatMul(), options);
  REQUIRE(result.ok());
  const onnx::GraphProto& graph = result->model.graph();
  CHECK(graph.node_size() == 1);
  CHECK(graph.input(0).type().tensor_type().elem_type() == onnx::TensorProto::BFLOAT16);
  CHECK(graph.output(0).type().tensor_type().elem_type() == onnx::TensorProto::BFLOAT16);
  CHECK(result->model.opset_import(0).version() == 17);  // MatMul takes bfloat16 there
}

TEST_CASE("batch normalizations of a model that is to be trained stay") {
  onnx::ModelProto model = ModelFromText(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[1,2,2,2] x) => (float[1,2,2,2] y) <float[2,2,1,1] w = {1, 2, 3, 4}, float[2] s = {1, 1}> {
      a = Conv (x, w)
      n = BatchNormalization (a, s, s, s, s)
      y = Conv (n, w)
    })");
  const auto num_norms = [](const onnx::ModelProto& in) {
    const absl::StatusOr<amp::RewriteResult> result = amp::Rewrite(in);
    REQUIRE(result.ok());
    CHECK(result->summary.changed);
    int count = 0;
    for (const auto& node : result->model.graph().node()) count += node.op_type() == "BatchNormalization" ? 1 : 0;
    return count;
  };
  CHECK(num_norms(model) == 0);
  model.add_training_info()->mutable_algorithm()->set_name("step");
  CHECK(num_norms(model) == 1);
}

TEST_CASE("an operator that ONNX does not define, with its signature") {
  const onnx::ModelProto model = ModelFromText(R"(<ir_version: 8, opset_import: ["" : 17, "my.domain" : 1]>
    g (float[2] x) => (float[2] y) { y = my.domain.Gate (x) })");
  amp::RewriteOptions options;
  options.allow = {"my.domain::Gate"};
  const absl::StatusOr<amp::RewriteResult> unknown = amp::Rewrite(model, options);
  REQUIRE(unknown.ok());
  CHECK_FALSE(unknown->summary.changed);
  REQUIRE(unknown->summary.warnings.size() == 1);
  CHECK(absl::StrContains(unknown->summary.warnings[0], "--op-signature 'my.domain::Gate(T...) -> T'"));

  amp::RewriteOptions bare;
  bare.allow = {"Gate"};
  CHECK(amp::Rewrite(model, bare).status() ==
        absl::InvalidArgumentError("--allow: unknown operator 'Gate'; the model has 'my.domain::Gate'"));

  options.op_signatures = {"my.domain::Gate(T) -> T"};
  const absl::StatusOr<amp::RewriteResult> known = amp::Rewrite(model, options);
  REQUIRE(known.ok());
  CHECK(known->summary.changed);
  CHECK(known->summary.warnings.empty());
  options.op_signatures.clear();
  CHECK_FALSE(amp::Rewrite(model, options)->summary.changed);  // nothing is remembered from run to run

  options.op_signatures = {"MatMul(T, T) -> T"};
  CHECK(amp::Rewrite(model, options).status().code() == absl::StatusCode::kInvalidArgument);
}

TEST_CASE("a model without anything to convert comes back as it is") {
  amp::RewriteOptions options;
  options.deny_node = {"mm"};
  const absl::StatusOr<amp::RewriteResult> result = amp::Rewrite(OneMatMul(), options);
  REQUIRE(result.ok());
  CHECK_FALSE(result->summary.changed);
  CHECK(result->model.SerializeAsString() == OneMatMul().SerializeAsString());
}

using Options = amp::RewriteOptions;

std::vector<std::string> WarningsOf(std::vector<std::string> Options::*flag, std::vector<std::string> items,
                                    const Options& others = {}) {
  Options options = others;
  options.*flag = std::move(items);
  const onnx::ModelProto model = ModelFromText(R"(<ir_version: 8, opset_import: ["" : 17, "my" : 1]>
    g (float[2] x) => (float[2] z) {
      y = my.Gate (x)
      z = my.Block (y)
    }
    <domain: "my", opset_import: ["" : 17, "my" : 1]> Block (a) => (b) { c = my.Inner (a) b = Relu (c) })");
  const absl::StatusOr<amp::RewriteResult> result = amp::Rewrite(model, options);
  REQUIRE(result.ok());
  return result->summary.warnings;
}

TEST_CASE("names of operators that nobody knows get a warning, those that the model knows get none") {
  using Warnings = std::vector<std::string>;
  CHECK(WarningsOf(&Options::deny, {"my::Gate,my::Block,my::Inner"}) == Warnings{});
  CHECK(WarningsOf(&Options::allow, {"my::Block"}) == Warnings{});
  Options keep;
  keep.functions = Options::Functions::kKeep;
  CHECK(WarningsOf(&Options::deny, {"my::Block"}, keep) == Warnings{});
  CHECK(WarningsOf(&Options::infer, {"my::Inner"}) ==
        Warnings{"--infer: 'my::Inner' has no signature, so it stays as it is; to say what it takes and gives: "
                 "--op-signature 'my::Inner(T...) -> T'"});
  CHECK(WarningsOf(&Options::deny, {"com.microsft::Gelu"}) ==
        Warnings{"--deny: unknown operator 'com.microsft::Gelu'; did you mean 'com.microsoft::Gelu'?"});
  CHECK(WarningsOf(&Options::clear, {"my::Blok"}) ==
        Warnings{"--clear: unknown operator 'my::Blok'; did you mean 'my::Block'?"});
  CHECK(WarningsOf(&Options::allow, {"another::Xyzzy"}) ==
        Warnings{"--allow: unknown operator 'another::Xyzzy': neither ONNX, nor a signature, nor the model has one of "
                 "that name"});
}

TEST_CASE("a signature for what is not in the model gets a warning") {
  using Warnings = std::vector<std::string>;
  CHECK(WarningsOf(&Options::op_signatures, {"my::Gate(T) -> T", "my::Inner(T) -> T"}) == Warnings{});
  CHECK(WarningsOf(&Options::op_signatures, {"my::Gat(T) -> T", "my::Gat(T, T) -> T"}) ==
        Warnings{"--op-signature: the model has no operator 'my::Gat'; did you mean 'my::Gate'?"});
  CHECK(WarningsOf(&Options::op_signatures, {"Gate(T) -> T"}) ==
        Warnings{"--op-signature: the model has no operator 'Gate'; did you mean 'my::Gate'?"});
  CHECK(WarningsOf(&Options::op_signatures, {"Xyzzy(T) -> T"}) ==
        Warnings{"--op-signature: the model has no operator 'Xyzzy'"});
  CHECK(WarningsOf(&Options::op_signatures, {"my::Block(T) -> T"}) ==
        Warnings{"--op-signature: the model defines 'my::Block' as a function, so its signature is not used"});
}

TEST_CASE("the report, the table and the diff come as text") {
  amp::RewriteOptions options;
  options.report = options.explain = options.diff = true;
  options.allow_node = {"nobody"};
  const absl::StatusOr<amp::RewriteResult> result = amp::Rewrite(OneMatMul(), options);
  REQUIRE(result.ok());
  CHECK(absl::StartsWith(result->summary.report, "{\n \"schema_version\": 1,"));
  CHECK(absl::StartsWith(result->summary.explanation, "node  operator  class"));
  CHECK(absl::StrContains(result->summary.diff, "+ x_to_float16: Cast("));
  CHECK(result->summary.warnings.size() == 1);
}

TEST_CASE("a dry run on paths writes nothing") {
  const amp::ScratchFolder folder;
  const std::string in = folder.Write("in.onnx", OneMatMul().SerializeAsString());
  amp::RewriteOptions options;
  options.dry_run = true;
  CHECK(amp::RewriteFile(in, folder.File("out.onnx"), options)->changed);
  CHECK_FALSE(folder.Has("out.onnx"));
}

TEST_CASE("errors by code") {
  amp::RewriteOptions options;
  options.profile = "none";
  CHECK(amp::Rewrite(OneMatMul(), options).status().code() == absl::StatusCode::kInvalidArgument);
  CHECK(amp::Rewrite(onnx::ModelProto()).status().code() == absl::StatusCode::kDataLoss);

  options = {};
  options.limits.nodes = 0;
  CHECK(amp::Rewrite(OneMatMul(), options).status().code() == absl::StatusCode::kResourceExhausted);

  const amp::ScratchFolder folder;
  const std::string in = folder.Write("in.onnx", OneMatMul().SerializeAsString());
  CHECK(amp::RewriteFile(folder.File("none"), in).status().code() == absl::StatusCode::kUnavailable);
  CHECK(amp::RewriteFile(in, in).status().code() == absl::StatusCode::kPermissionDenied);
}

TEST_CASE("limits that cannot be kept to are refused as the flags are") {
  amp::RewriteOptions options;
  options.limits.nesting = 101;
  CHECK(amp::Rewrite(OneMatMul(), options).status() ==
        absl::InvalidArgumentError("--max-nesting: expected a whole number from 0 to 100, found 101"));
  options.limits.nesting = 100;
  CHECK(amp::Rewrite(OneMatMul(), options).ok());
  options.limits.elements = -1;
  CHECK(amp::Rewrite(OneMatMul(), options).status().code() == absl::StatusCode::kInvalidArgument);
  CHECK(amp::RewriteFile("in.onnx", "out.onnx", options).status().code() == absl::StatusCode::kInvalidArgument);
}

TEST_CASE("external data cannot be resolved in memory") {
  onnx::ModelProto model = OneMatMul();
  onnx::TensorProto& w = *model.mutable_graph()->mutable_initializer(0);
  w.clear_float_data();
  w.clear_raw_data();
  w.set_data_location(onnx::TensorProto::EXTERNAL);
  auto* location = w.add_external_data();
  location->set_key("location");
  location->set_value("w.data");
  const absl::Status status = amp::Rewrite(model).status();
  INFO(status);
  CHECK(status.code() == absl::StatusCode::kInvalidArgument);
}

}  // namespace
