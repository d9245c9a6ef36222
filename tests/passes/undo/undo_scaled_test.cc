// Weights that were multiplied by a power of two (--scale-weights), rewritten again and taken back.
#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "nlohmann/json.hpp"
#include "tests/passes/undo/undo_folder.h"

namespace amp {
namespace {

using Json = nlohmann::json;

// Weights of few bits, so that 16 bits hold them exactly once they are multiplied.
constexpr absl::string_view kLast = R"(<ir_version: 8, opset_import: ["" : 17]>
  g (float[2,2] x) => (float[2,2] y) <float[2,2] w = {1.4901161e-08, 2.9802322e-08, 4.4703484e-08, 5.9604645e-08}> {
    [mm] y = MatMul (x, w)
  })";
constexpr absl::string_view kReaders = R"(<ir_version: 8, opset_import: ["" : 17]>
  g (float[1,1,2,2] x) => (float[1,2,2,2] r, float[1,2,2,2] a)
    <float[2,1,1,1] w = {1.4901161e-08, 2.9802322e-08}, float[2] b = {4.4703484e-08, 1.4901161e-08}> {
    [conv] a = Conv (x, w, b)
    [exp] e = Exp (a)
    [relu] r = Relu (e)
  })";
constexpr absl::string_view kHuge = R"(<ir_version: 3, opset_import: ["" : 9]>
  g (float[2,2] x, float[2,2] w) => (float[2,2] y) <float[2,2] w = {131072, 262144, 393216, 524288}> {
    [mm] a = MatMul (w, x)
    [relu] y = Relu (a)
  })";
constexpr absl::string_view kAlpha = R"(<ir_version: 8, opset_import: ["" : 17]>
  g (float[2,2] x) => (float[2,2] y)
    <float[2,2] w = {1.2218952e-06, 2.3841858e-07, 4.7683716e-07, 2.3841858e-07}, float[2] b = {0.5, 1}> {
    [gemm] y = Gemm <alpha = 0.5> (x, w, b)
  })";
constexpr absl::string_view kBody = R"(<ir_version: 8, opset_import: ["" : 17]>
  g (float[2,2] x, bool c) => (float[2,2] y) <float[2,2] v = {1, 2, 3, 4}> {
    [if] y = If (c) <
      then_branch = t () => (float[2,2] p) <float[2,2] w = {1.4901161e-08, 2.9802322e-08, 4.4703484e-08, 5.9604645e-08}> {
        [mm0] p = MatMul (x, w)
      },
      else_branch = e () => (float[2,2] q) { [mm1] q = MatMul (x, v) }>
  })";
// float16 loses one of its bits, and holds the power of two that brings it back.
constexpr absl::string_view kFewBits = R"(<ir_version: 8, opset_import: ["" : 17]>
  g (float[2,2] x) => (float[2,2] y) <float[2,2] w = {1.2218952e-06, 1.2218952e-06, 1.2218952e-06, 1.2218952e-06}> {
    [mm] a = MatMul (x, w)
    [mm1] y = MatMul (a, x)
  })";

bool HasScaled(const onnx::ModelProto& model) { return absl::StrContains(Record(model), "\"scaled\""); }

int CountOf(const onnx::ModelProto& model, const std::string& op_type) {
  int count = 0;
  for (const auto& node : model.graph().node()) count += node.op_type() == op_type ? 1 : 0;
  return count;
}

TEST_CASE("weights times a power of two come back exactly, and what takes it off goes") {
  const std::string without_alpha = absl::StrReplaceAll(kAlpha, {{"<alpha = 0.5>", ""}});
  for (const std::string& text : {std::string(kLast), std::string(kReaders), std::string(kHuge), std::string(kAlpha),
                                  without_alpha, std::string(kBody)}) {
    INFO(text);
    const Undo undo(text);
    undo.Rewrite({"--scale-weights"});
    REQUIRE(HasScaled(undo.Model("low.onnx")));
    const ToolOutput output = undo.TakeBack();
    CHECK(output.exit_code == 0);
    CHECK_FALSE(absl::StrContains(output.err, "no longer fit"));
    CHECK(undo.Lines("back.onnx") == undo.Lines("in.onnx"));
  }
}

TEST_CASE("what takes a power of two off stays float32 in a second rewrite, also where 16 bits hold it") {
  const Undo undo(kFewBits);
  undo.Rewrite({"--scale-weights", "--deny-node", "mm1"});
  REQUIRE(HasScaled(undo.Model("low.onnx")));
  for (const std::vector<std::string>& more : {std::vector<std::string>{"--scale-weights"}, {}, {"--allow", "Mul"}}) {
    std::vector<std::string> flags = {"--report", "-"};
    flags.insert(flags.end(), more.begin(), more.end());
    const Json report = Json::parse(undo.RunTool("low.onnx", "again.onnx", flags).out);
    const auto is_mul = [](const Json& node) { return node["path"] == "a_unscaled"; };
    const auto mul = std::find_if(report["nodes"].begin(), report["nodes"].end(), is_mul);
    REQUIRE(mul != report["nodes"].end());
    CHECK((*mul)["low"] == false);
    CHECK((*mul)["because"] ==
          "guard: weight 'w' is times 2^18 to fit into 16 bits; what takes that off again may not fit");
    const ToolOutput output = undo.TakeBack("again.onnx");
    CHECK(output.exit_code == 0);
    CHECK_FALSE(absl::StrContains(output.err, "no longer fit"));
    CHECK(undo.Model("back.onnx").graph().node_size() == 2);
  }
}

TEST_CASE("taken back after a second rewrite to another type") {
  const Undo undo(kReaders);
  undo.Rewrite({"--scale-weights"});
  REQUIRE(undo.RunTool("low.onnx", "lower.onnx", {"--dtype", "bfloat16", "--allow", "Exp,Relu"}).exit_code == 0);
  REQUIRE(undo.folder.Read("lower.onnx") != undo.folder.Read("low.onnx"));
  const ToolOutput output = undo.TakeBack("lower.onnx");
  CHECK(output.exit_code == 0);
  CHECK_FALSE(absl::StrContains(output.err, "no longer fit"));
  const onnx::ModelProto back = undo.Model("back.onnx");
  CHECK(back.graph().node_size() == 3);
  CHECK(CountOf(back, "Mul") == 0);
}

TEST_CASE("weights in external data come back too") {
  std::string elements = "1.4901161e-08";
  for (int i = 1; i < 64 * 64; ++i) absl::StrAppend(&elements, i % 2 ? ", 2.9802322e-08" : ", 4.4703484e-08");
  const Undo undo(absl::StrCat(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[2,64] x) => (float[2,64] y) <float[64,64] w = {)",
                               elements, "}> { [mm] y = MatMul (x, w) }"));
  undo.Rewrite({"--scale-weights", "--external-data", "always"});
  REQUIRE(undo.Model("low.onnx").graph().initializer(0).data_location() == onnx::TensorProto::EXTERNAL);
  REQUIRE(undo.RunTool("low.onnx", "back.onnx", {"--policy", "float32", "--external-data", "never"}).exit_code == 0);
  REQUIRE(undo.RunTool("in.onnx", "same.onnx", {"--deny-node", "*"}).exit_code == 0);
  const auto bytes_of = [](const onnx::TensorProto& tensor) {
    std::string bytes = tensor.raw_data();
    if (bytes.empty()) {
      bytes.assign(reinterpret_cast<const char*>(tensor.float_data().data()), sizeof(float) * 64 * 64);
    }
    return bytes;
  };
  const onnx::ModelProto back = undo.Model("back.onnx"), before = undo.Model("in.onnx");
  CHECK(CountOf(back, "Mul") == 0);
  REQUIRE(back.graph().initializer_size() == 1);
  CHECK(bytes_of(back.graph().initializer(0)) == bytes_of(before.graph().initializer(0)));
}

TEST_CASE("what somebody changed since stays as it is, and that is said") {
  const Undo undo(kLast);
  undo.Rewrite({"--scale-weights"});
  const onnx::ModelProto low = undo.Model("low.onnx");
  const auto taken_back = [&](const std::function<void(onnx::ModelProto&)>& change) {
    onnx::ModelProto edited = low;
    change(edited);
    undo.folder.Write("edited.onnx", edited.SerializeAsString());
    const ToolOutput output = undo.TakeBack("edited.onnx");
    CHECK(output.exit_code == 0);
    const bool stays = CountOf(undo.Model("back.onnx"), "Mul") == 1;
    CHECK(absl::StrContains(output.err, "no longer fit") == stays);
    return !stays;
  };
  const auto find = [](onnx::ModelProto& model, const std::string& op_type) -> onnx::NodeProto& {
    for (auto& node : *model.mutable_graph()->mutable_node()) {
      if (node.op_type() == op_type) return node;
    }
    FAIL("no " << op_type);
    return *model.mutable_graph()->mutable_node(0);
  };
  CHECK(taken_back([](onnx::ModelProto&) {}));
  CHECK_FALSE(taken_back([&](onnx::ModelProto& model) {  // another factor
    for (auto& constant : *model.mutable_graph()->mutable_initializer()) {
      const float half = 0.5f;
      if (constant.name() == "y_factor") constant.set_raw_data(&half, sizeof(half));
    }
  }));
  CHECK_FALSE(taken_back([&](onnx::ModelProto& model) {  // another reader of the weights
    onnx::NodeProto& node = *model.mutable_graph()->add_node();
    node.set_op_type("Relu");
    node.add_input("w");
    node.add_output("also");
  }));
  CHECK_FALSE(taken_back([&](onnx::ModelProto& model) {  // another reader of the product
    onnx::NodeProto& node = *model.mutable_graph()->add_node();
    node.set_op_type("Relu");
    node.add_input(find(model, "MatMul").output(0));
    node.add_output("also");
  }));
  CHECK_FALSE(taken_back([&](onnx::ModelProto& model) {  // it multiplies something else
    onnx::NodeProto& mul = find(model, "Mul");
    mul.set_input(0, mul.input(1));
  }));
}

}  // namespace
}  // namespace amp
