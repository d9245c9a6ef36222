// Models whose types break a rule of an operator, which runtimes load all the same: converted, with a warning, and what
// breaks the rule stays as it is.
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "ir/graph/check_types.h"
#include "ir/graph/infer.h"
#include "tests/catch2.h"
#include "tests/model_from_text.h"
#include "tools/library/amp.h"

namespace {

amp::RewriteResult Rewritten(const std::string& text, const amp::RewriteOptions& options = {}) {
  absl::StatusOr<amp::RewriteResult> result = amp::Rewrite(ModelFromText(text), options);
  INFO(result.status());
  REQUIRE(result.ok());
  CHECK(result->summary.changed);
  return *std::move(result);
}

amp::RewriteOptions As(amp::RewriteOptions::Dtype dtype) {
  amp::RewriteOptions options;
  options.dtype = dtype;
  return options;
}
const auto kFloat16 = As(amp::RewriteOptions::Dtype::kFloat16);
const auto kBfloat16 = As(amp::RewriteOptions::Dtype::kBfloat16);

std::string Warnings(const amp::RewriteResult& result) {
  std::string text;
  for (const std::string& warning : result.summary.warnings) absl::StrAppend(&text, warning, "\n");
  return text;
}

const onnx::NodeProto& Producer(const onnx::ModelProto& model, const std::string& output) {
  for (const auto& node : model.graph().node()) {
    if (node.output_size() > 0 && node.output(0) == output) return node;
  }
  FAIL("nobody gives " << output);
  return onnx::NodeProto::default_instance();
}

std::string Reshaping(int opset) {
  return absl::StrCat("<ir_version: 4, opset_import: [\"\" : ", opset, "]>", R"(
    g (float[2,4] x) => (float[4,2] y) <float[4,4] w> {
      a = MatMul (x, w)
      [s] s = Constant <value = int64[2] {4, 2}> ()
      y = Reshape (a, s)
    })");
}

std::string WithWeights(absl::string_view text) {
  return absl::StrReplaceAll(text, {{"float[4,4] w>", "float[4,4] w = {1,0,0,0, 0,1,0,0, 0,0,1,0, 0,0,0,1}>"}});
}

TEST_CASE("a Constant of int64 from opset 9 on is no matter") {
  CHECK(Warnings(Rewritten(WithWeights(Reshaping(9)))).empty());
}

TEST_CASE("a Constant of int64 before opset 9 is converted around, with a warning") {
  for (const int opset : {6, 7, 8}) {
    const amp::RewriteResult low = Rewritten(WithWeights(Reshaping(opset)));
    CHECK(low.model.opset_import(0).version() == opset);
    CHECK(Producer(low.model, "s").attribute(0).t().data_type() == onnx::TensorProto::INT64);
    CHECK(Warnings(low) == absl::StrCat("1 node has types that the operator does not allow at opset ", opset,
                                        ", first: node 's' (Constant) output 0: expected a type that its schema "
                                        "allows, found int64\n"));
  }
  CHECK(Rewritten(WithWeights(Reshaping(8)), kBfloat16).model.opset_import(0).version() == 13);
  amp::RewriteOptions keep;
  keep.keep_opset = true;
  Rewritten(WithWeights(Reshaping(8)), keep);
  amp::RewriteOptions lifted;
  lifted.opset = 13;
  CHECK(Rewritten(WithWeights(Reshaping(8)), lifted).model.opset_import(0).version() == 13);
}

TEST_CASE("Equal of float32 before opset 11 stays, and is lifted as it is") {
  const std::string text = R"(<ir_version: 4, opset_import: ["" : 8]>
    g (float[4,4] x) => (bool[4,4] y) { a = MatMul (x, x)  b = MatMul (x, a)  [same] y = Equal (a, b) })";
  const amp::RewriteResult low = Rewritten(text);
  CHECK(Producer(low.model, "y").input(0) == "a_to_float32");
  CHECK(absl::StrContains(Warnings(low), "node 'same' (Equal) input 0: expected a type that its schema allows"));
  CHECK(Rewritten(text, kBfloat16).model.opset_import(0).version() == 13);
}

TEST_CASE("a node whose inputs are of two types stays as it is") {
  for (const auto& options : {kFloat16, kBfloat16}) {
    const amp::RewriteResult low = Rewritten(R"(<ir_version: 8, opset_import: ["" : 17]>
      g (float[2,2] x, double[2,2] d) => (float[2,2] y) {
        a = MatMul (x, x)
        [mixed] b = Add (a, d)
        y = MatMul (a, x)
        [bad] z = Gather (x, x)
      })",
                                             options);
    CHECK(absl::StrContains(Producer(low.model, "b").input(0), "a_to_float32"));
    CHECK(absl::StrContains(Warnings(low), "2 nodes have types that the operator does not allow at opset "));
  }
}

TEST_CASE("ONNX Runtime's LayerNormalization before opset 17 holds no lift and is what it is from 17 on") {
  const auto text = [](int opset) {
    return WithWeights(absl::StrCat("<ir_version: 4, opset_import: [\"\" : ", opset, "]>", R"(
      g (float[2,4] x) => (float[2,4] y) <float[4] s = {1, 1, 1, 1}, float[4,4] w> {
        a = MatMul (x, w)
        [norm] n = LayerNormalization (a, s)
        y = MatMul (n, w)
      })"));
  };
  const amp::RewriteResult low = Rewritten(text(13));
  CHECK(low.model.opset_import(0).version() == 13);
  CHECK(Producer(low.model, "n").input(0) == "a");  // between two allowed operators, as at opset 17
  CHECK(Warnings(low).empty());
  CHECK(Rewritten(text(11), kBfloat16).model.opset_import(0).version() == 13);
  for (amp::RewriteOptions lifted : {kFloat16, kBfloat16}) {
    for (const int opset : {13, 16, 17, 22}) {
      lifted.opset = opset;
      const amp::RewriteResult result = Rewritten(text(11), lifted);
      CHECK(result.model.opset_import(0).version() == opset);
      CHECK(Producer(result.model, "n").op_type() == "LayerNormalization");
    }
  }
}

TEST_CASE("ONNX Runtime's LayerNormalization with a scale of another type is unknown to ONNX") {
  const std::string text = R"(<ir_version: 8, opset_import: ["" : 13]>
    g (float[2,4] x, float[4] s) => (float[2,4] y) {
      h = Cast <to = 10> (x)
      [norm] n = LayerNormalization (h, s)
      y = MatMul (n, x)
    })";
  const std::unique_ptr<amp::Model> model = GraphFromText(text);
  amp::InferTypes(*model);
  CHECK(amp::FindTypeFaults(*model).empty());
  for (amp::NodeId id : model->NodesInOrder(amp::kMainGraph)) {
    if (model->node(id).name() == "norm") CHECK(model->node(id).schema == nullptr);
  }
}

TEST_CASE("faults that were there are no reason to refuse, new ones are") {
  const auto model = GraphFromText(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[2,2] x, double[2,2] d) => (float[2,2] y) { [bad] b = Add (x, d)  [good] y = Add (x, x) })");
  amp::InferTypes(*model);
  const std::vector<amp::TypeFault> known = amp::FindTypeFaults(*model);
  REQUIRE(known.size() == 1);
  CHECK(amp::Describe(*model, known[0]) ==
        "node 'bad' (Add) input 1: expected float32 as at the other ports of its type variable, found float64");
  CHECK(amp::CheckTypes(*model).code() == absl::StatusCode::kInternal);
  CHECK(amp::CheckTypes(*model, known).ok());

  const amp::ValueId d = model->graph(amp::kMainGraph).inputs[1], x = model->graph(amp::kMainGraph).inputs[0];
  model->SetTensorType(d, amp::DType::kFloat16);  // the same port of the same node, another fault
  CHECK(absl::StrContains(amp::CheckTypes(*model, known).message(), "node 'bad' (Add) input 1"));
  model->SetTensorType(d, amp::DType::kFloat64);
  CHECK(amp::CheckTypes(*model, known).ok());
  model->SetTensorType(x, amp::DType::kBool);  // another node
  CHECK(absl::StrContains(amp::CheckTypes(*model, known).message(), "input 0"));
}

}  // namespace
