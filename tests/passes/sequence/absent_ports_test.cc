// Models whose nodes leave optional inputs and outputs out, and declarations of absurd sizes and equations: a result,
// never an abort or a run without end.
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "ir/graph/einsum_equation.h"
#include "tests/catch2.h"
#include "tests/model_from_text.h"
#include "tools/library/amp.h"

namespace amp {
namespace {

using Dtype = RewriteOptions::Dtype;

// Rewrites under all choices that lead to other code.
void CheckAll(const onnx::ModelProto& model) {
  for (const Dtype dtype : {Dtype::kFloat16, Dtype::kBfloat16}) {
    for (const auto level : {RewriteOptions::Level::kDefault, RewriteOptions::Level::kUnsafeForceAll}) {
      for (const auto functions : {RewriteOptions::Functions::kInline, RewriteOptions::Functions::kKeep}) {
        for (const auto guards : {RewriteOptions::Guards::kAll, RewriteOptions::Guards::kNone}) {
          RewriteOptions options;
          options.dtype = dtype;
          options.level = level;
          options.functions = functions;
          options.guards = guards;
          options.explain = options.report = options.diff = true;
          const absl::StatusOr<RewriteResult> result = Rewrite(model, options);
          INFO(result.status());
          CHECK(result.ok());
        }
      }
    }
  }
}

// A float32 product beside `node`, so that guards look at the graph.
onnx::ModelProto WithProduct(int opset, const std::string& node) {
  return ModelFromText(absl::StrCat("<ir_version: 10, opset_import: [\"\" : ", opset,
                                    ", \"com.microsoft\" : 1, \"own\" : 1]> g (float[4,4] x, int64[1] k, bool c, "
                                    "float[1,4,4] x3, float[1,1,4,4] x4) => (float[4,4] y) "
                                    "<float[4,4] w = {1,1,1,1, 1,1,1,1, 1,1,1,1, 1,1,1,1}, float low = {0}> {",
                                    node, " y = MatMul (x, w) }"));
}

TEST_CASE("nodes may leave any optional input out") {
  for (
      const char* node : {
          "p = Relu (x)",
          "p = Clip (x)",
          "p = Clip (x, \"\", low)",
          "p = Clip (x, low, \"\")",
          "p = Clip (x, \"\", \"\")",
          "p = Dropout (x, \"\", c)",
          "p = Pad (x3, k, \"\", k)",
          "p = ReduceSum (x, \"\")",
          "p = ReduceSum (x)",
          "p = ReduceMean (x, \"\")",
          "p = Squeeze (x3)",
          "p = Squeeze (x3, \"\")",
          "p = Trilu (x, \"\")",
          "p = Slice (x, k, k, \"\", k)",
          "p = QuantizeLinear (x, low)",
          "p = QuantizeLinear (x, low, \"\")",
          "p = Gemm (x, x, \"\")",
          "p = LayerNormalization (x, w, \"\")",
          "p = Resize (x4, \"\", \"\", \"\")",
          "p = Resize (x4)",
          "p = OptionalHasElement ()",
          "p = OptionalHasElement (\"\")",
          "p = NonMaxSuppression (x3, x3, \"\", low)",
          "p = RandomUniformLike (x)",
          R"(p = Loop ("", "") <body = t (int64 i, bool go) => (bool on, float[4,4] z) { on = Identity (go) z = Relu (x) }>)",
          R"(p = Loop ("", c, x) <body = t (int64 i, bool go, float[4,4] s) => (bool on, float[4,4] z) {
                on = Identity (go) z = Relu (s) }>)",
          "p = com.microsoft.FusedMatMul ()",
          "p = com.microsoft.FusedMatMul (\"\", x)",
          "p = com.microsoft.Attention (\"\", x)",
          "p = own.Thing ()",
          "p = own.Thing (\"\", x)",
      }) {
    CAPTURE(node);
    CheckAll(WithProduct(18, node));
  }
}

TEST_CASE("nodes may leave any optional output out") {
  for (const char* node : {
           "p, q = Dropout (x)",
           "p, \"\" = Dropout (x)",
           "p, \"\" = MaxPool <kernel_shape = [2, 2]> (x4)",
           "p, \"\", q = LayerNormalization (x, w)",
           "\"\", p = GRU <hidden_size = 2> (x3, x3, x3)",
           "\"\", \"\", p = LSTM <hidden_size = 1> (x3, x3, x3)",
           "p, \"\" = Unique (x)",
           "\"\", p = own.Thing (x)",
           "\"\", p = com.microsoft.SkipLayerNormalization (x3, x3, w)",
       }) {
    CAPTURE(node);
    CheckAll(WithProduct(18, node));
  }
}

TEST_CASE("nodes without any output") {
  for (const char* op_type : {"LSTM", "GRU", "RNN"}) {
    onnx::ModelProto model = WithProduct(18, "");
    auto* node = model.mutable_graph()->add_node();
    node->set_op_type(op_type);
    for (int i = 0; i < 3; ++i) node->add_input("x3");
    CheckAll(model);
    node->add_output("");
    CheckAll(model);
  }
}

TEST_CASE("an Optional without input has a type of its own") {
  onnx::ModelProto model = WithProduct(18, "");
  auto* node = model.mutable_graph()->add_node();
  node->set_op_type("Optional");
  node->add_output("o");
  auto* type = node->add_attribute();
  type->set_name("type");
  type->set_type(onnx::AttributeProto::TYPE_PROTO);
  type->mutable_tp()->mutable_tensor_type()->set_elem_type(onnx::TensorProto::FLOAT);
  CheckAll(model);
  node->clear_attribute();  // neither an input nor a type: of no use, and still no crash
  CheckAll(model);
  auto* info = model.mutable_graph()->add_value_info();  // what it is not: the file's fault, told in a warning
  info->set_name("o");
  info->mutable_type()->mutable_tensor_type()->set_elem_type(onnx::TensorProto::INT64);
  CheckAll(model);
}

// A function takes the place of an operator of its name, and need not have its ports.
TEST_CASE("functions that are called what operators are called") {
  for (const char* op_type : {"Clip", "Shape", "Sub", "Mul", "Div", "Pow", "Sqrt", "ReduceMean", "Optional", "Softmax",
                              "SequenceAt", "Constant", "EyeLike", "Gather", "Range", "TopK", "Identity", "CastLike"}) {
    CAPTURE(op_type);
    onnx::ModelProto model = WithProduct(18, "");
    auto* function = model.add_functions();
    function->set_name(op_type);
    function->add_opset_import()->set_version(18);
    model.mutable_graph()->add_node()->set_op_type(op_type);
    CheckAll(model);
    model.mutable_graph()->mutable_node()->rbegin()->add_output("");
    function->add_output("o");
    auto* node = function->add_node();
    node->set_op_type("Abs");
    node->add_input("i");
    node->add_output("o");
    function->add_input("i");
    model.mutable_graph()->mutable_node()->rbegin()->add_input("x");
    CheckAll(model);
  }
}

TEST_CASE("element counts of declared dimensions saturate") {
  for (const char* dims : {"4611686018427387904", "4611686018427387904,4", "9223372036854775807,9223372036854775807",
                           "0,4611686018427387904,4"}) {
    CAPTURE(dims);
    CheckAll(
        ModelFromText(absl::StrCat("<ir_version: 10, opset_import: [\"\" : 18]> g (float[", dims, "] x) => (float[",
                                   dims, "] y) { a = Relu (x) b = MatMul (a, a) c = Exp (a) y = ReduceSum (c) }")));
  }
}

TEST_CASE("equations with spaces, and equations that are none, end") {
  for (const char* equation : {"ij,jk->ik", "ij, jk -> ik", " ij ,jk", "...j,jk->...k", "ij,jk-", "ij;jk", "ij,j..k",
                               "", "i1,1k->ik", "......,ij"}) {
    CAPTURE(equation);
    CheckAll(WithProduct(18, absl::StrCat("p = Einsum <equation = \"", equation, "\"> (x, w)")));
  }
  for (const char* equation : {" ij, jk -> i k", "b...ij,...j"}) CHECK(IsEquation(equation));
  for (const char* equation : {"ij,jk-", "......", "i1"}) CHECK_FALSE(IsEquation(equation));
}

}  // namespace
}  // namespace amp
