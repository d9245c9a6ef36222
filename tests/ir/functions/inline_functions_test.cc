// Inlining by itself: what it costs, what it calls things, what it leaves. Whole rewrites are in golden/functions.
#include "ir/functions/inline_functions.h"

#include "absl/strings/match.h"
#include "google/protobuf/arena.h"
#include "ir/base/limits.h"
#include "ir/file/validate.h"
#include "ir/functions/inline_plan.h"
#include "onnx/checker.h"
#include "tests/catch2.h"
#include "tests/model_from_text.h"
#include "tests/scratch_folder.h"
#include "tools/library/amp.h"

namespace amp {
namespace {

constexpr absl::string_view kLeaf = R"(
  <domain: "local", opset_import: ["" : 17]> f0 (a) => (b) { [add] b = Add (a, a) })";

// `levels` functions above kLeaf, each of which calls the next one twice.
onnx::ModelProto Doubling(int levels) {
  std::string text = absl::StrCat(R"(<ir_version: 8, opset_import: ["" : 17, "local" : 1]>
    g (float[2] x) => (float[2] y) { [call] y = local.f)",
                                  levels, " (x) }", kLeaf);
  for (int i = 1; i <= levels; ++i) {
    absl::StrAppend(&text, R"( <domain: "local", opset_import: ["" : 17, "local" : 1]> f)", i,
                    " (a) => (b) { c = local.f", i - 1, " (a) b = local.f", i - 1, " (c) }");
  }
  return ModelFromText(text);
}

TEST_CASE("two to the thirtieth nodes are refused before anything is copied") {
  const onnx::ModelProto model = Doubling(30);
  std::vector<std::string> warnings;
  const absl::Status status = ValidateModel(model, Limits(), &warnings);
  CHECK(status.code() == absl::StatusCode::kResourceExhausted);
  CHECK(absl::StrContains(status.message(), "after inlining functions"));

  const InlinePlan plan(model, {});
  CHECK(plan.AddedBytes() > int64_t{1} << 34);
}

TEST_CASE("the bytes that inlining adds have a limit too") {
  onnx::ModelProto model = Doubling(10);
  InlineOptions options;
  const int64_t bytes = InlinePlan(model, {}).AddedBytes();
  options.max_bytes = bytes - 1;
  const std::string before = model.SerializeAsString();
  CHECK(InlineFunctions(model, options).status().code() == absl::StatusCode::kResourceExhausted);
  CHECK(model.SerializeAsString() == before);

  options.max_bytes = bytes;
  const int64_t size_before = static_cast<int64_t>(model.ByteSizeLong());
  REQUIRE(InlineFunctions(model, options).ok());
  CHECK(model.graph().node_size() == 1024);
  CHECK(static_cast<int64_t>(model.ByteSizeLong()) <= size_before + bytes);
}

TEST_CASE("the flag moves the limit on nodes") {
  RewriteOptions options;
  options.limits.inlined_nodes = 1000;
  CHECK(Rewrite(Doubling(10), options).status().code() == absl::StatusCode::kResourceExhausted);
  options.limits.inlined_nodes = 5000;
  CHECK(Rewrite(Doubling(10), options).ok());
}

TEST_CASE("the flag moves the limit on bytes, and the refusal names it") {
  const int64_t bytes = InlinePlan(Doubling(5), {}).AddedBytes();
  RewriteOptions options;
  for (const int64_t above : {-1, 0, 1}) {
    options.limits.inlined_bytes = bytes + above;
    const absl::Status status = Rewrite(Doubling(5), options).status();
    CHECK(status.code() == (above < 0 ? absl::StatusCode::kResourceExhausted : absl::StatusCode::kOk));
    if (above >= 0) continue;
    CHECK(status.message() == absl::StrCat("the model: expected inlining functions to add at most ", bytes - 1,
                                           " bytes, found ", bytes,
                                           "; --max-inlined-bytes raises that, --functions keep inlines none"));
    options.functions = RewriteOptions::Functions::kKeep;
    CHECK(Rewrite(Doubling(5), options).ok());
    options.functions = RewriteOptions::Functions::kInline;
  }
}

TEST_CASE("calls that were inlined leave nothing on the model's arena") {
  google::protobuf::Arena inlined_arena, plain_arena;
  auto* inlined = google::protobuf::Arena::CreateMessage<onnx::ModelProto>(&inlined_arena);
  auto* plain = google::protobuf::Arena::CreateMessage<onnx::ModelProto>(&plain_arena);
  *inlined = Doubling(12);
  REQUIRE(InlineFunctions(*inlined, {}).ok());
  *plain = *inlined;
  CHECK(inlined_arena.SpaceUsed() < plain_arena.SpaceUsed() * 5 / 4);
}

TEST_CASE("a Constant takes the one of two references that the call binds") {
  const auto called_with = [](absl::string_view attributes) {
    return ModelFromText(absl::StrCat(R"(<ir_version: 8, opset_import: ["" : 17, "local" : 1]>
      g (float[2,2] x) => (float[2,2] y) { [call] y = local.f )",
                                      attributes, R"( (x) }
      <domain: "local", opset_import: ["" : 17]> f <one, several> (a) => (b) {
        [k] c = Constant <value_float: float = @one, value_floats: floats = @several> ()
        m = MatMul (a, a)
        z = Mul (m, c)
        b = MatMul (z, a)
      })"));
  };
  CHECK(Rewrite(called_with("<one = 2.0>")).ok());
  CHECK(Rewrite(called_with("<several = [2.0, 3.0]>")).ok());
  const absl::Status both = Rewrite(called_with("<one = 2.0, several = [2.0, 3.0]>")).status();
  CHECK(both.code() == absl::StatusCode::kDataLoss);
  CHECK(absl::StrContains(both.message(), "function 'f'"));
  CHECK(absl::StrContains(both.message(), "expected one value, found 'value_float' and 'value_floats'"));
}

TEST_CASE("a tensor passed as an attribute counts as often as it is copied") {
  onnx::ModelProto model = ModelFromText(R"(<ir_version: 8, opset_import: ["" : 17, "local" : 1]>
    g (float[4] x) => (float[4] y) { [call] y = local.f <k = float[4] {1, 2, 3, 4}> (x) }
    <domain: "local", opset_import: ["" : 17]> f <k> (a) => (b) {
      c = Constant <value: tensor = @k> ()
      d = Constant <value: tensor = @k> ()
      e = Add (c, d)
      b = Add (a, e)
    })");
  onnx::TensorProto* tensor = model.mutable_graph()->mutable_node(0)->mutable_attribute(0)->mutable_t();
  tensor->clear_float_data();
  tensor->set_dims(0, 1 << 20);
  tensor->set_raw_data(std::string(size_t{4} << 20, 'x'));
  CHECK(InlinePlan(model, {}).AddedBytes() > int64_t{8} << 20);
}

TEST_CASE("many calls of one name get names in linear time") {
  onnx::ModelProto model = ModelFromText(absl::StrCat(
      R"(<ir_version: 8, opset_import: ["" : 17, "local" : 1]> g (float[2] x) => (float[2] y) { [call] y = local.f0 (x) })",
      kLeaf));
  const onnx::NodeProto call = model.graph().node(0);
  constexpr int kCalls = 100'000;
  for (int i = 1; i < kCalls; ++i) {
    *model.mutable_graph()->add_node() = call;
    model.mutable_graph()->mutable_node(i)->set_output(0, absl::StrCat("y", i));
  }
  REQUIRE(InlineFunctions(model, {}).ok());
  REQUIRE(model.graph().node_size() == kCalls);
  CHECK(model.graph().node(0).name() == "call/add");
  CHECK(model.graph().node(kCalls - 1).name() == "call/add_99999");
}

TEST_CASE("names that a function does not define are malformed, not captured") {
  onnx::ModelProto model = ModelFromText(R"(<ir_version: 8, opset_import: ["" : 17, "local" : 1]>
    g (float[2] x, float[2] outside) => (float[2] y) { [call] y = local.f (x) }
    <domain: "local", opset_import: ["" : 17]> f (a) => (b) { b = Add (a, outside) })");
  const absl::Status status = InlineFunctions(model, {}).status();
  CHECK(status.code() == absl::StatusCode::kDataLoss);
  CHECK(status.message() == "function 'f': expected a defined value, found unknown name 'outside'");
}

TEST_CASE("what is defined twice, or not at all, is malformed") {
  const auto inlined = [](const std::string& body) {
    onnx::ModelProto model = ModelFromText(absl::StrCat(
        R"(<ir_version: 8, opset_import: ["" : 17, "local" : 1]> g (float[2] x) => (float[2] y) { y = local.f (x) }
           <domain: "local", opset_import: ["" : 17]> f (a) => (b) )",
        body));
    return std::string(InlineFunctions(model, {}).status().message());
  };
  CHECK(inlined("{ b = Relu (a) b = Exp (a) }") == "function 'f': found two definitions of 'b'");
  CHECK(inlined("{ a = Relu (a) b = Exp (a) }") == "function 'f': found two definitions of 'a'");
  CHECK(inlined("{ c = Relu (a) }") == "function 'f': expected a node that produces the output 'b'");
}

TEST_CASE("nodes keep doc strings and metadata, bodies their annotations") {
  onnx::ModelProto model = ModelFromText(R"(<ir_version: 10, opset_import: ["" : 17, "local" : 1]>
    g (float[2] x, bool c) => (float[2] y) { [call] y = local.f (x, c) }
    <domain: "local", opset_import: ["" : 17]> f (a, c) => (b) {
      [if] b = If (c) <then_branch = yes () => (float[2] e) <float[2] d> { d = Relu (a) e = Exp (d) },
                       else_branch = no () => (float[2] e) <float[2] k = {1, 2}> { e = Add (a, k) }>
    })");
  onnx::NodeProto* node = model.mutable_functions(0)->mutable_node(0);
  node->set_doc_string("said");
  auto* entry = node->add_metadata_props();
  entry->set_key("k");
  entry->set_value("v");
  auto* annotation = node->mutable_attribute(1)->mutable_g()->add_quantization_annotation();
  annotation->set_tensor_name("k");
  auto* parameter = annotation->add_quant_parameter_tensor_names();
  parameter->set_key("SCALE_TENSOR");
  parameter->set_value("a");

  REQUIRE(InlineFunctions(model, {}).ok());
  const onnx::NodeProto& made = model.graph().node(0);
  CHECK(made.doc_string() == "said");
  REQUIRE(made.metadata_props_size() == 1);
  CHECK(made.metadata_props(0).value() == "v");
  const onnx::GraphProto& yes = made.attribute(0).g();
  CHECK(yes.value_info(0).name() == yes.node(0).output(0));
  const onnx::GraphProto& no = made.attribute(1).g();
  CHECK(no.quantization_annotation(0).tensor_name() == no.initializer(0).name());
  CHECK(no.quantization_annotation(0).quant_parameter_tensor_names(0).value() == "x");
  CHECK_NOTHROW(onnx::checker::check_model(model));
}

TEST_CASE("a value that no schema types brings its value_info along") {
  onnx::ModelProto model = ModelFromText(R"(<ir_version: 10, opset_import: ["" : 17, "local" : 1, "other" : 1]>
    g (float[2] x) => (float[2] y) { [call] y = local.f (x) }
    <domain: "local", opset_import: ["" : 17, "other" : 1]>
    f (a) => (b) <float[N, 2] c, float[2] d> { c = other.Mystery (a) d = Relu (c) b = Exp (d) })");
  REQUIRE(model.functions(0).value_info_size() == 2);
  REQUIRE(InlineFunctions(model, {}).ok());
  REQUIRE(model.graph().value_info_size() == 1);
  CHECK(model.graph().value_info(0).name() == "call/c");
  const auto& shape = model.graph().value_info(0).type().tensor_type().shape();
  CHECK(shape.dim(0).value_case() == onnx::TensorShapeProto_Dimension::VALUE_NOT_SET);
  CHECK(shape.dim(1).dim_value() == 2);
}

TEST_CASE("graphs passed as attributes keep the call") {
  onnx::ModelProto model = ModelFromText(R"(<ir_version: 8, opset_import: ["" : 17, "local" : 1]>
    g (float[2] x, bool c) => (float[2] y) {
      [call] y = local.f <branch = yes () => (float[2] e) { e = Relu (x) }> (x, c)
    }
    <domain: "local", opset_import: ["" : 17]> f <branch> (a, c) => (b) {
      b = If (c) <then_branch: graph = @branch, else_branch: graph = @branch>
    })");
  const std::string before = model.SerializeAsString();
  const absl::StatusOr<InlinedFunctions> inlined = InlineFunctions(model, {});
  REQUIRE(inlined.ok());
  CHECK(inlined->num_calls == 0);
  REQUIRE(inlined->kept.size() == 1);
  CHECK(inlined->kept.begin()->second == "its attribute 'branch' is a graph");
  CHECK(model.SerializeAsString() == before);
}

TEST_CASE("functions that training graphs call stay") {
  onnx::ModelProto model = ModelFromText(absl::StrCat(
      R"(<ir_version: 8, opset_import: ["" : 17, "local" : 1]> g (float[2] x) => (float[2] y) { y = local.f0 (x) })",
      kLeaf, R"(<domain: "local", opset_import: ["" : 17]> f1 (a) => (b) { b = Relu (a) })"));
  *model.add_training_info()->mutable_algorithm() = model.graph();
  const std::string function = model.functions(0).SerializeAsString();
  REQUIRE(InlineFunctions(model, {}).ok());
  REQUIRE(model.functions_size() == 1);
  CHECK(model.functions(0).SerializeAsString() == function);
}

TEST_CASE("a model that was edited in vain is written as it was, its external data included") {
  onnx::ModelProto model = ModelFromText(absl::StrCat(
      R"(<ir_version: 8, opset_import: ["" : 17, "local" : 1]>
         g (float[512] x) => (float[512] y) <float[512] w> { [add] z = Add (x, w) [call] y = local.f0 (z) })",
      kLeaf));
  auto* tensor = model.mutable_graph()->add_initializer();
  tensor->set_name("w");
  tensor->set_data_type(onnx::TensorProto::FLOAT);
  tensor->add_dims(512);
  tensor->set_data_location(onnx::TensorProto::EXTERNAL);
  auto* location = tensor->add_external_data();
  location->set_key("location");
  location->set_value("w.bin");
  const ScratchFolder from, to;
  from.Write("w.bin", std::string(2048, '\0'));
  const std::string in = from.Write("in.onnx", model.SerializeAsString());
  for (const auto dtype : {RewriteOptions::Dtype::kFloat16, RewriteOptions::Dtype::kBfloat16}) {
    RewriteOptions options;
    options.dtype = dtype;
    const absl::StatusOr<RewriteSummary> summary = RewriteFile(in, to.File("out.onnx"), options);
    REQUIRE(summary.ok());
    CHECK(!summary->changed);
    onnx::ModelProto written;
    REQUIRE(written.ParseFromString(to.Read("out.onnx")));
    CHECK(written.opset_import(0).version() == 17);
    REQUIRE(written.functions_size() == 1);
    REQUIRE(written.graph().node_size() == 2);
    CHECK(written.graph().node(1).op_type() == "f0");
  }
}

TEST_CASE("a model that was lifted in vain to its functions' opset is written at its own") {
  const ScratchFolder folder;
  folder.Write("in.onnx", ModelFromText(R"(<ir_version: 8, opset_import: ["" : 12, "local" : 1, "com.microsoft" : 1]>
    g (float[1,2] x) => (float[2] y) <float[2] w = {1, 2}> { [call] y = local.f (x) }
    <domain: "local", opset_import: ["" : 13, "com.microsoft" : 2]> f (a) => (b) {
      axes = Constant <value: tensor = int64[1] {0}> ()
      c = com.microsoft.Gelu (a)
      b = Squeeze (c, axes)
    })")
                              .SerializeAsString());
  RewriteOptions options;
  options.external_data = ExternalDataPolicy::kAlways;  // then the bytes of the file will not do
  const absl::StatusOr<RewriteSummary> summary = RewriteFile(folder.File("in.onnx"), folder.File("out.onnx"), options);
  REQUIRE(summary.ok());
  CHECK(absl::StrContains(summary->unchanged_because, "it uses Gelu of com.microsoft 2"));
  onnx::ModelProto written;
  REQUIRE(written.ParseFromString(folder.Read("out.onnx")));
  CHECK(written.opset_import(0).version() == 12);
}

// Inlined, the two halves of the function stand apart, and nothing goes round.
onnx::ModelProto ReadsItself(const std::string& second) {
  return ModelFromText(absl::StrCat(R"(<ir_version: 8, opset_import: ["" : 17, "local" : 1]>
    g (float[2,2] x) => (float[2,2] y) {
      [call] p, y = local.Halves (x, )",
                                    second, R"()
      [between] q = Relu (p)
    }
    <domain: "local", opset_import: ["" : 17]> Halves (a, b) => (c, d) { c = MatMul (a, a) d = MatMul (b, b) })"));
}

TEST_CASE("a call that reads what it gives cannot be specialised") {
  RewriteOptions options;
  options.functions = RewriteOptions::Functions::kSpecialise;
  const absl::StatusOr<RewriteResult> result = Rewrite(ReadsItself("q"), options);
  CHECK(result.status().code() == absl::StatusCode::kDataLoss);
  CHECK(absl::StrContains(result.status().message(), "depends on its own output"));
  CHECK(Rewrite(ReadsItself("x"), options).ok());
}

}  // namespace
}  // namespace amp
