#include "passes/classify/classify_nodes.h"

#include <memory>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "google/protobuf/arena.h"
#include "ir/file/text.h"
#include "ir/functions/inline_functions.h"
#include "onnx/onnx_pb.h"
#include "tests/catch2.h"
#include "tests/scratch_folder.h"

namespace amp {
namespace {

std::unique_ptr<Model> MustParse(absl::string_view text) {
  const absl::StatusOr<std::string> bytes = ParseOnnxText(text);
  INFO(bytes.status());
  REQUIRE(bytes.ok());
  auto arena = std::make_unique<google::protobuf::Arena>();
  auto* proto = google::protobuf::Arena::CreateMessage<onnx::ModelProto>(arena.get());
  REQUIRE(proto->ParseFromString(*bytes));
  absl::StatusOr<std::unique_ptr<Model>> model = Model::Create(std::move(arena), proto);
  INFO(model.status());
  REQUIRE(model.ok());
  return *std::move(model);
}

// "Resize clear by Resize[mode=nearest]", one line per node in id order.
std::string Classes(const Model& model, const OpListOptions& options, const TargetPromises& promises = {}) {
  const absl::StatusOr<OpLists> lists = OpLists::Load(options);
  INFO(lists.status());
  REQUIRE(lists.ok());
  const NodeClasses classes = ClassifyNodes(model, *lists, promises);
  std::string out;
  for (const NodeId id : model.AllNodes()) {
    const Classification& c = classes.nodes[id];
    const std::string by = c.rule != nullptr ? c.rule->origin : c.row != nullptr ? c.row->Label() : "nobody";
    absl::StrAppend(&out, std::string(model.node(id).op_type()), " ", OpClassName(c.op_class), " by ", by, "\n");
  }
  return out;
}

TEST_CASE("conditions use the schema's defaults") {
  const auto model = MustParse(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[1, 1, 4, 4] x, float[4] s, float[4] w) => (float[N, C, H, W] a, float[N, C, H, W] b, float[1, 1, 4, 4] n) {
      a = Resize (x, , s)
      b = Resize <mode = "linear"> (x, , s)
      n = LayerNormalization (x, w)
    })");
  CHECK(Classes(*model, {}) ==
        "Resize clear by Resize[mode=nearest]\nResize infer by Resize\n"
        "LayerNormalization infer by LayerNormalization[stash_type=1]\n");
  CHECK(Classes(*model, {.profile = "tf-1.15-bfloat16"}) ==
        "Resize clear by Resize\nResize clear by Resize\n"
        "LayerNormalization infer by LayerNormalization[stash_type=1]\n");
}

TEST_CASE("an attribute that the opset does not have yet has its later default") {
  const auto model = MustParse(R"(<ir_version: 8, opset_import: ["" : 13]>
    g (float[4, 4] x, int64[2, 1] i, float[2, 4] u) => (float[4, 4] y) { y = ScatterND (x, i, u) })");
  CHECK(Classes(*model, {}) == "ScatterND clear by ScatterND[reduction=none]\n");
}

TEST_CASE("a set attribute overrides the default") {
  const auto model = MustParse(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[4, 4] x, float[4] w, int64[2, 1] i, float[2, 4] u) => (float[4, 4] y, float[4, 4] n) {
      y = ScatterND <reduction = "add"> (x, i, u)
      n = LayerNormalization <stash_type = 10> (x, w)
    })");
  CHECK(Classes(*model, {}) == "ScatterND infer by ScatterND\nLayerNormalization deny by LayerNormalization\n");
}

TEST_CASE("depthwise convolutions are recognised by groups and weights") {
  const auto model = MustParse(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[1, 8, 9, 9] x, float[8, 1, 3, 3] w, float[8, 4, 3, 3] v, float[8, 8, 3, 3] u, float[8, 1, 3, 3] t)
      => (float[N, C, H, W] a, float[N, C, H, W] b, float[N, C, H, W] c, float[N, C, H, W] d) {
      a = Conv <group = 8> (x, w)
      b = Conv <group = 2> (x, v)
      c = Conv (x, u)
      d = ConvTranspose <group = 8> (x, t)
    })");
  CHECK(Classes(*model, {.edits = {{OpClass::kInfer, "Conv[depthwise],ConvTranspose[depthwise]"}}}) ==
        "Conv infer by Conv[depthwise]\nConv allow by Conv\nConv allow by Conv\n"
        "ConvTranspose infer by ConvTranspose[depthwise]\n");
}

TEST_CASE("the weights of a depthwise convolution may be an initializer") {
  const auto model = MustParse(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[1, 2, 9, 9] x) => (float[1, 2, 9, 9] y) <float[2, 1, 1, 1] w = {1, 2}> { y = Conv <group = 2> (x, w) })");
  CHECK(Classes(*model, {.edits = {{OpClass::kInfer, "Conv[depthwise]"}}}) == "Conv infer by Conv[depthwise]\n");
}

TEST_CASE("one input channel alone is not depthwise") {
  const auto model = MustParse(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[1, 1, 9, 9] x, float[8, 1, 3, 3] w) => (float[1, 8, 7, 7] y) { y = Conv (x, w) })");
  CHECK(Classes(*model, {.edits = {{OpClass::kInfer, "Conv[depthwise]"}}}) == "Conv allow by Conv\n");
}

TEST_CASE("a target's promise decides where the lists ask for it") {
  const auto model = MustParse(R"(<ir_version: 10, opset_import: ["" : 22]>
    g (float[1, 8, 9] x, float[8] s, float[3, 1, 32, 9] w, float[3, 1, 32, 8] r) => (float[N, C, L] y, float[S, D, B, H] z) {
      y = InstanceNormalization (x, s, s)
      z = LSTM <hidden_size = 8> (x, w, r)
    })");
  const OpListOptions tf = {.profile = "tf-1.15-float16"};
  CHECK(Classes(*model, tf) == "InstanceNormalization deny by InstanceNormalization\nLSTM allow by LSTM\n");
  CHECK(Classes(*model, tf, {.float32_statistics = true}) ==
        "InstanceNormalization infer by InstanceNormalization[stats=float32]\nLSTM allow by LSTM\n");
  CHECK(Classes(*model, {.profile = "tf-1.15-bfloat16"}) ==
        "InstanceNormalization deny by InstanceNormalization\nLSTM unlisted by LSTM\n");
  CHECK(Classes(*model, {.profile = "tf-1.15-bfloat16"}, {.bfloat16_recurrence = true}) ==
        "InstanceNormalization deny by InstanceNormalization\nLSTM allow by LSTM[rnn=bfloat16]\n");
}

TEST_CASE("every property of a target has its value once it is promised") {
  const TargetPromises all = {.device = Device::kXpu,
                              .float32_accumulation = true,
                              .float32_softmax = true,
                              .float32_statistics = true,
                              .bfloat16_recurrence = true};
  std::string values;
  for (const absl::string_view name : TargetPropertyNames()) {
    INFO(name);
    const std::optional<TargetProperty> property = FindTargetProperty(name);
    REQUIRE(property.has_value());
    CHECK_FALSE(PromisedValue({}, *property).has_value());
    absl::StrAppend(&values, name, "=", PromisedValue(all, *property).value_or("nothing"), " ");
  }
  CHECK(values == "accumulate=float32 device=xpu rnn=bfloat16 softmax=float32 stats=float32 ");
  CHECK_FALSE(FindTargetProperty("speed").has_value());
}

TEST_CASE("names and outputs override the operator's class, unnamed nodes by their label") {
  const auto model = MustParse(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[4] x) => (float[4] c) {
      [encoder_exp] a = Exp (x)
      b = Relu (a)
      c = Relu (b)
    })");
  CHECK(Classes(*model, {.allow_nodes = {"encoder_*"}, .deny_nodes = {"Relu#0"}, .deny_tensors = {"c"}}) ==
        "Exp allow by --allow-node\nRelu deny by --deny-node\nRelu deny by --deny-tensor\n");
  CHECK(Classes(*model, {.edits = {{OpClass::kInfer, "Relu"}}, .deny_nodes = {"Relu#[02]"}}) ==
        "Exp deny by Exp\nRelu deny by --deny-node\nRelu infer by Relu\n");
}

TEST_CASE("a pattern that is a name as it stands means that name alone, and comes before patterns") {
  const auto model = MustParse(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[4] x) => (float[4] d) {
      ["layers[0]/*"] "out[0]" = Exp (x)
      ["layers0/a"] out0 = Relu ("out[0]")
      ["layers1/a"] c = Relu (out0)
      ["what?"] d = Relu (c)
    })");
  CHECK(Classes(*model, {.deny_nodes = {"layers[0]/*", "what?"}}) ==
        "Exp deny by --deny-node\nRelu clear by Relu\nRelu clear by Relu\nRelu deny by --deny-node\n");
  CHECK(Classes(*model, {.deny_nodes = {"layers[01]/*"}}) ==
        "Exp deny by Exp\nRelu deny by --deny-node\nRelu deny by --deny-node\nRelu clear by Relu\n");
  CHECK(Classes(*model, {.deny_tensors = {"out[0]"}}) ==
        "Exp deny by --deny-tensor\nRelu clear by Relu\nRelu clear by Relu\nRelu clear by Relu\n");
  CHECK(Classes(*model, {.deny_tensors = {"out[01]"}}) ==
        "Exp deny by Exp\nRelu deny by --deny-tensor\nRelu clear by Relu\nRelu clear by Relu\n");
  CHECK(Classes(*model, {.allow_nodes = {"layers[0]/*"}, .deny_nodes = {"*"}}) ==
        "Exp allow by --allow-node\nRelu deny by --deny-node\nRelu deny by --deny-node\nRelu deny by --deny-node\n");
}

TEST_CASE("a node of one of two bodies is addressed by its path") {
  const auto model = MustParse(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (bool c, float[4] x) => (float[4] y) {
      [if] y = If (c) <
        then_branch = t () => (float[4] p) { [n] p = Relu (x) },
        else_branch = e () => (float[4] q) { [n] q = Relu (x) }>
    })");
  const std::string both = Classes(*model, {.deny_nodes = {"n"}});
  CHECK(absl::StrContains(both, "Relu deny by --deny-node\nRelu deny by --deny-node\n"));
  const std::string one = Classes(*model, {.deny_nodes = {"if/else_branch/n"}});
  CHECK(absl::StrContains(one, "Relu deny by --deny-node\n"));
  CHECK(absl::StrContains(one, "Relu clear by Relu\n"));
}

TEST_CASE("rules that match nothing are reported, shadowed ones are not") {
  const auto model = MustParse(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[4] x) => (float[4] y) { [n] y = Relu (x) })");
  const OpListOptions options = {.allow_nodes = {"n", "m*"}, .deny_nodes = {"n"}, .deny_tensors = {"x", "y"}};
  const absl::StatusOr<OpLists> lists = OpLists::Load(options);
  REQUIRE(lists.ok());
  const NodeClasses classes = ClassifyNodes(*model, *lists, {});
  CHECK(classes.nodes[NodeId(0)].op_class == OpClass::kDeny);
  CHECK(DescribeUnmatchedRules(*model, *lists, classes) ==
        std::vector<std::string>{"--deny-tensor: pattern 'x' matches no output of a node",
                                 "--allow-node: pattern 'm*' matches no node"});
}

TEST_CASE("a rule that matches nothing says what may have been meant") {
  const auto model = MustParse(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (bool c, float[4] x) => (float[4] y) {
      [head] h = Relu (x)
      [if] y = If (c) <then_branch = t () => (float[4] p) { [probs] p = Softmax (h) },
                       else_branch = e () => (float[4] q) { q = Relu (h) }>
    })");
  const auto sentence = [&](const OpListOptions& options) {
    const absl::StatusOr<OpLists> lists = OpLists::Load(options);
    REQUIRE(lists.ok());
    const std::vector<std::string> sentences =
        DescribeUnmatchedRules(*model, *lists, ClassifyNodes(*model, *lists, {}));
    REQUIRE(sentences.size() == 1);
    return sentences[0];
  };
  const auto of_node = [&](const std::string& pattern) { return sentence({.deny_nodes = {pattern}}); };
  CHECK(of_node("then_branch/probs") ==
        "--deny-node: pattern 'then_branch/probs' matches no node; did you mean 'if/then_branch/probs'?");
  CHECK(of_node("heed") == "--deny-node: pattern 'heed' matches no node; did you mean 'head'?");
  CHECK(of_node("Softmax") == "--deny-node: pattern 'Softmax' matches no node; an operator: --deny Softmax");
  CHECK(of_node("head,probs") ==
        "--deny-node: pattern 'head,probs' matches no node; a comma is part of a name; repeat the flag");
  const std::string regex = "; * stands for any text, and this is no regular expression: did you mean ";
  CHECK(of_node("/head/.*") == "--deny-node: pattern '/head/.*' matches no node" + regex + "'/head/*'?");
  CHECK(of_node("^/head/.+$") == "--deny-node: pattern '^/head/.+$' matches no node" + regex + "'/head/*'?");
  CHECK(of_node("layer\\d+") == "--deny-node: pattern 'layer\\x5cd+' matches no node" + regex + "'layer*'?");
  CHECK(of_node("(a|b)") ==
        "--deny-node: pattern '(a|b)' matches no node; this is no regular expression: repeat the flag for each name");
  CHECK(of_node("xyzzy*") == "--deny-node: pattern 'xyzzy*' matches no node");
  CHECK(sentence({.allow_nodes = {"Softmax"}}) ==
        "--allow-node: pattern 'Softmax' matches no node; an operator: --allow Softmax");
}

TEST_CASE("nodes of bodies are classified too") {
  const auto model = MustParse(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (bool c, float[4] x) => (float[4] y) {
      y = If (c) <then_branch = t () => (float[4] p) { p = Exp (x) }, else_branch = e () => (float[4] q) { q = Relu (x) }>
    })");
  const std::string classes = Classes(*model, {});
  CHECK(absl::StrContains(classes, "If clear by If\n"));
  CHECK(absl::StrContains(classes, "Exp deny by Exp\n"));
  CHECK(absl::StrContains(classes, "Relu clear by Relu\n"));
}

TEST_CASE("of several sources the strongest decides over inlined nodes, whatever is nested in what") {
  const absl::StatusOr<std::string> bytes = ParseOnnxText(R"(<ir_version: 8, opset_import: ["" : 17, "my" : 1]>
    g (float[2,2] x) => (float[2,2] y) { [call] y = my.Outer (x) }
    <domain: "my", opset_import: ["" : 17, "my" : 1]> Outer (a) => (b) { c = my.Inner (a) b = Exp (c) }
    <domain: "my", opset_import: ["" : 17]> Inner (a) => (b) { b = Softmax (a) })");
  REQUIRE(bytes.ok());
  auto arena = std::make_unique<google::protobuf::Arena>();
  auto* proto = google::protobuf::Arena::CreateMessage<onnx::ModelProto>(arena.get());
  REQUIRE(proto->ParseFromString(*bytes));
  absl::StatusOr<InlinedFunctions> inlined = InlineFunctions(*proto, {});
  REQUIRE(inlined.ok());
  const auto model = *Model::Create(std::move(arena), proto);
  MarkCalls(*model, *inlined);
  const ScratchFolder folder;
  const std::string inner = folder.Write("inner.list", "my::Inner allow\nExp infer\n");
  const std::string names = folder.Write("names.list", "node \"call\" deny\n");
  CHECK(Classes(*model, {}) == "Softmax infer by Softmax\nExp deny by Exp\n");
  CHECK(Classes(*model, {.files = {inner}}) == "Softmax allow by my::Inner\nExp infer by Exp\n");
  CHECK(Classes(*model, {.files = {inner}, .edits = {{OpClass::kClear, "my::Outer"}}}) ==
        "Softmax clear by my::Outer\nExp clear by my::Outer\n");
  CHECK(Classes(*model, {.files = {inner}, .edits = {{OpClass::kInfer, "Softmax"}}}) ==
        "Softmax infer by Softmax\nExp infer by Exp\n");
  CHECK(Classes(*model, {.files = {names, inner}}) == "Softmax allow by my::Inner\nExp infer by Exp\n");
  CHECK(Classes(*model, {.files = {inner, names}}) ==
        absl::StrCat("Softmax deny by ", names, ":1\nExp deny by ", names, ":1\n"));
  CHECK(Classes(*model, {.edits = {{OpClass::kDeny, "-my::Inner"}}}) ==
        "Softmax unlisted by my::Inner\nExp deny by Exp\n");
}

TEST_CASE("unknown operators and functions are barriers unless a row names them") {
  const auto model = MustParse(R"(<ir_version: 8, opset_import: ["" : 17, "my.domain" : 1, "com.microsoft" : 1]>
    g (float[4] x) => (float[4] c) {
      a = my.domain.Softmax (x)
      b = my.domain.Gelu (a)
      c = com.microsoft.QGemm (b)
    }
    <domain: "my.domain", opset_import: ["" : 17]> Softmax (x) => (y) { y = Relu (x) })");
  CHECK(Classes(*model, {}) == "Softmax unlisted by nobody\nGelu unlisted by nobody\nQGemm unlisted by nobody\n");
  CHECK(Classes(*model, {.edits = {{OpClass::kDeny, "my.domain::Softmax"}}}) ==
        "Softmax deny by my.domain::Softmax\nGelu unlisted by nobody\nQGemm unlisted by nobody\n");
}

TEST_CASE("a function that takes the name of an operator is not that operator") {
  const auto model = MustParse(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[4] x) => (float[4] y) { y = Softmax (x) }
    <domain: "", opset_import: ["" : 17]> Softmax (x) => (y) { y = Relu (x) })");
  CHECK(Classes(*model, {}) == "Softmax unlisted by nobody\n");
}

}  // namespace
}  // namespace amp
