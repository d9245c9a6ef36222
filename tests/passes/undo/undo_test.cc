// --policy float32, and the record of a rewrite that it works from.
#include <cstring>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "ir/base/convert.h"
#include "nlohmann/json.hpp"
#include "tests/catch2.h"
#include "tests/passes/undo/undo_folder.h"

namespace amp {
namespace {

// Weights that float16 holds exactly, so that taking back is exact too.
constexpr absl::string_view kModel = R"(<ir_version: 8, opset_import: ["" : 17]>
  g (float[2,4] x) => (float[2,2] y, float[2,2] z) <float[4,2] w = {1, 2, 3, 4, 5, 6, 7, -8}, float[2] b = {0.5, 2}> {
    [mm] a = MatMul (x, w)
    [add] y = Add (a, b)
    [exp] e = Exp (b)
    [mul] z = Mul (y, e)
  })";

TEST_CASE("a model without a record is left alone, with that reason") {
  const Undo undo(kModel);
  const ToolOutput output = undo.TakeBack("in.onnx");
  CHECK(output.exit_code == 0);
  CHECK(undo.folder.Read("back.onnx") == undo.folder.Read("in.onnx"));
  CHECK(absl::StrContains(output.out, "Nothing to take back; wrote "));
  CHECK(absl::EndsWith(output.out, " (the input as it is: it has no record of a rewrite by this tool)\n"));
}

TEST_CASE("a model of 16 bits without a record: a warning, and no claim about its types") {
  const auto taken_back = [](absl::string_view model) { return Undo(model).TakeBack("in.onnx"); };
  const ToolOutput half = taken_back(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[2,2] x) => (float[2,2] y) {
      h = Cast <to = 10> (x)
      p = MatMul (h, h)
      y = Cast <to = 1> (p)
    })");
  CHECK(half.exit_code == 0);
  CHECK(absl::StartsWith(half.out, "Nothing to take back; "));
  CHECK(absl::StrContains(half.err,
                          "in.onnx: the model computes in float16 and stays so: it has no record of a rewrite (none is "
                          "kept with --functions specialise)\n"));
  const ToolOutput both = taken_back(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (bool c, bfloat16[2] b, float16[2] h) => (float16[2] y) {
      y = If (c) <
        then_branch = t () => (float16[2] s) { s = Relu (h) },
        else_branch = e () => (float16[2] o) { d = Add (b, b)  o = Cast <to = 10> (d) }>
    })");
  CHECK(absl::StrContains(both.err, "the model computes in float16 and bfloat16 and stays so"));
  const ToolOutput stored = taken_back(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[2] x, float16[2] h) => (float[2] y) { w = Cast <to = 1> (h)  y = Add (x, w) })");
  CHECK(stored.err.empty());
}

TEST_CASE("what became a function again cannot be taken back, and is left alone") {
  const Undo undo(R"(<ir_version: 10, opset_import: ["" : 17, "local" : 1]>
    g (float[2,2] x) => (float[2,2] y) { y = local.f (x) }
    <domain: "local", opset_import: ["" : 17]>
    f (a) => (b) { k = Constant <value = float[2,2] {1, 2, 3, 4}> ()  b = MatMul (a, k) })");
  undo.Rewrite({"--functions", "specialise"});
  CHECK(Record(undo.Model("low.onnx")).empty());
  const ToolOutput output = undo.TakeBack();
  CHECK(absl::StrContains(output.out, "it has no record of a rewrite"));
  CHECK(absl::StrContains(output.err, "the model computes in float16 and stays so"));
  CHECK(undo.folder.Read("back.onnx") == undo.folder.Read("low.onnx"));
}

TEST_CASE("a step made of a rewritten model has a record of its own rewrite alone") {
  const Undo undo(R"(<ir_version: 8, opset_import: ["" : 17, "local" : 1]>
    g (float[n,4] x) => (float[n,2] y) <float[4,2] w = {1, 2, 3, 4, 5, 6, 7, -8}, float[2] b = {0.5, 2}> {
      a = local.f (x)
      y = Gemm (a, w, b)
    }
    <domain: "local", opset_import: ["" : 17]>
    f (p) => (q) { q = Relu (p) })");
  undo.Rewrite();
  const ToolOutput made = undo.RunTool("low.onnx", "step.onnx", {"--train"});
  CHECK(made.exit_code == 0);
  CHECK(absl::StrContains(made.err, "is taken back before the training step is made"));
  REQUIRE(undo.RunTool("in.onnx", "own.onnx", {"--train"}).exit_code == 0);
  nlohmann::json record = nlohmann::json::parse(Record(undo.Model("step.onnx")));
  nlohmann::json own = nlohmann::json::parse(Record(undo.Model("own.onnx")));
  CHECK(own["inlined"].size() == 1);
  CHECK_FALSE(record.contains("inlined"));  // what it was made of has no functions
  own.erase("inlined");
  CHECK(record == own);
  CHECK_FALSE(absl::StrContains(undo.TakeBack("step.onnx").err, "no longer fit"));
}

TEST_CASE("an input that is an output too is taken back as both") {
  const Undo undo(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[2,2] x) => (float[2,2] x, float[2,2] y) { y = MatMul (x, x) })");
  undo.Rewrite({"--keep-io", "none"});
  REQUIRE(undo.TakeBack().exit_code == 0);
  const onnx::GraphProto graph = undo.Model("back.onnx").graph();
  CHECK(graph.output(0).type().tensor_type().elem_type() == onnx::TensorProto::FLOAT);
  CHECK(graph.input(0).type().tensor_type().elem_type() == onnx::TensorProto::FLOAT);
}

TEST_CASE("casts that a user called like ours are the user's") {
  constexpr absl::string_view kLookalike = R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[2,2] x) => (float16[2,2] x_to_float16) { [x_to_float16] x_to_float16 = Cast <to = 10> (x) })";
  const Undo undo(kLookalike);
  REQUIRE(undo.TakeBack("in.onnx").exit_code == 0);
  CHECK(undo.folder.Read("back.onnx") == undo.folder.Read("in.onnx"));
}

TEST_CASE("the record says what was done, compactly") {
  const Undo undo(kModel);
  undo.Rewrite({"--keep-io", "y", "--allow", "Add"});
  CHECK(Record(undo.Model("low.onnx")) ==
        R"({"v":2,"types":["float16"],"opset":17,"ir":8,"casts":["y"],"narrowed":["w"],)"
        R"("copies":[["b_float16","b"]],"inputs":["x"]})");
}

TEST_CASE("the record does not keep a second run from changing nothing") {
  const Undo undo(kModel);
  undo.Rewrite();
  REQUIRE(undo.RunTool("low.onnx", "again.onnx", {}).exit_code == 0);
  CHECK(undo.folder.Read("again.onnx") == undo.folder.Read("low.onnx"));
}

TEST_CASE("taking back gives the original") {
  const Undo undo(kModel);
  for (const char* policy : {"mixed_float16", "float16", "bfloat16"}) {
    INFO(policy);
    std::vector<std::string> flags = {"--policy", policy, "--opset", "keep"};
    undo.Rewrite(flags);
    const ToolOutput output = undo.TakeBack();
    REQUIRE(output.exit_code == 0);
    CHECK(
        absl::StartsWith(output.out, "Compute dtype: float32\nVariable dtype: float32\nTook back the conversion to "));
    CHECK(undo.Text("back.onnx") == undo.Text("in.onnx"));
    REQUIRE(undo.RunTool("back.onnx", "again.onnx", {"--policy", "float32"}).exit_code == 0);
    CHECK(undo.folder.Read("again.onnx") == undo.folder.Read("back.onnx"));
  }
}

TEST_CASE("what is said about weights: exact with --weights cast, rounded after a conversion") {
  const Undo undo(kModel);
  undo.Rewrite({"--weights", "cast", "--profile", "tf-1.15"});
  const ToolOutput exact = undo.TakeBack();
  CHECK(exact.err.empty());
  CHECK(absl::StrContains(exact.out, "Took back the conversion to float16: removed 3 casts, widened 0 weights; "));
  undo.Rewrite();
  const ToolOutput rounded = undo.TakeBack();
  CHECK(absl::StrContains(rounded.err,
                          "advice: 1 weight keeps the rounding of float16: the float32 values are not in "
                          "the file\n"));
  CHECK(absl::StrContains(rounded.out, "removed 2 casts, widened 1 weight; weights "));
}

TEST_CASE("a rounded weight keeps its rounding, an original that stayed does not") {
  constexpr absl::string_view kOdd = R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[2] x, float[2,2] m) => (float[2] y, float[2] z) <float[2] w = {0.1, 0.3}, float[2] v = {0.1, 0.3}> {
      a = Mul (x, w)
      b = MatMul (m, a)
      c = Mul (b, v)
      y = MatMul (m, c)
      z = Exp (v)
    })";
  const Undo undo(kOdd);
  undo.Rewrite({"--allow", "Mul"});
  REQUIRE(undo.TakeBack().exit_code == 0);
  const auto values = [&](const std::string& name) {
    const onnx::ModelProto model = undo.Model("back.onnx");
    for (const auto& tensor : model.graph().initializer()) {
      if (tensor.name() != name) continue;
      std::vector<float> floats(tensor.float_data().begin(), tensor.float_data().end());
      if (floats.empty()) {
        floats.resize(2);
        std::memcpy(floats.data(), tensor.raw_data().data(), 8);
      }
      return floats;
    }
    return std::vector<float>();
  };
  CHECK(values("w") == std::vector<float>{0.0999755859375f, 0.300048828125f});
  CHECK(values("v") == std::vector<float>{0.1f, 0.3f});
}

TEST_CASE("attributes that followed the type come back as they were") {
  constexpr absl::string_view kAttributes = R"(<ir_version: 8, opset_import: ["" : 17]>
    g (int64[2,2] n, int64[2] shape) => (float[2,2] y) {
      a = Cast <to = 1> (n)
      zeros = ConstantOfShape (shape)
      third = ConstantOfShape <value = float[1] {0.3}> (shape)
      half = Constant <value_float = 0.1> ()
      list = Constant <value_floats = [0.1, 0.2]> ()
      b = MatMul (a, zeros)
      c = MatMul (b, third)
      d = Mul (c, half)
      e = Add (d, list)
      y = MatMul (e, a)
    })";
  const Undo undo(kAttributes);
  undo.Rewrite();
  REQUIRE(absl::StrContains(undo.Text("low.onnx"), "half = Constant <value: tensor = float16"));
  const ToolOutput output = undo.TakeBack();
  REQUIRE(output.exit_code == 0);
  CHECK(undo.Text("back.onnx") == undo.Text("in.onnx"));
  CHECK_FALSE(absl::StrContains(output.err, "rounding"));
}

TEST_CASE("a cast of the user's that was folded away is there again") {
  constexpr absl::string_view kUsersCast = R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float16[2,2] h, float[2,2] w) => (float[2,2] y) {
      [own] f = Cast <to = 1> (h)
      y = MatMul (f, w)
    })";
  const Undo undo(kUsersCast);
  undo.Rewrite();
  REQUIRE_FALSE(absl::StrContains(undo.Text("low.onnx"), "[own]"));
  REQUIRE(undo.TakeBack().exit_code == 0);
  CHECK(undo.Text("back.onnx") == undo.Text("in.onnx"));
}

TEST_CASE("long chains of a user's casts are there again") {
  std::string nodes, from = "h";
  for (int i = 0; i < 40; ++i) {
    const std::string to = absl::StrCat("c", i);
    absl::StrAppend(&nodes, "[own", i, "] ", to, " = Cast <to = ", i % 2 == 0 ? 1 : 10, "> (", from, ")\n");
    from = to;
  }
  const Undo undo(absl::StrCat(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float16[2,2] h, float[2,2] w) => (float[2,2] y) {)",
                               nodes, "f = Cast <to = 1> (", from, ") y = MatMul (f, w) }"));
  undo.Rewrite();
  REQUIRE_FALSE(absl::StrContains(undo.Text("low.onnx"), "f = Cast"));
  REQUIRE(undo.TakeBack().exit_code == 0);
  CHECK(undo.Text("back.onnx") == undo.Text("in.onnx"));
}

TEST_CASE("two rewrites with different flags are taken back at once") {
  const Undo undo(kModel);
  undo.Rewrite({"--deny-node", "add"});
  REQUIRE(undo.RunTool("low.onnx", "lower.onnx", {"--allow", "Add,Mul", "--keep-io", "none"}).exit_code == 0);
  REQUIRE(undo.folder.Read("lower.onnx") != undo.folder.Read("low.onnx"));
  const ToolOutput output = undo.TakeBack("lower.onnx");
  INFO(output.err);
  REQUIRE(output.exit_code == 0);
  CHECK(undo.Text("back.onnx") == undo.Text("in.onnx"));
}

TEST_CASE("weights in external data are widened while they are saved") {
  const Undo undo(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[1,512] x, int64[2] shape) => (float[1,512] y) <float[512] w = {0.1}> {
      m = Expand (w, shape)
      y = MatMul (x, m)
    })");
  onnx::ModelProto model = undo.Model("in.onnx");
  auto* weight = model.mutable_graph()->mutable_initializer(0);
  std::vector<float> values(512);
  for (size_t i = 0; i < values.size(); ++i) values[i] = 1.0f + static_cast<float>(i) / 7;
  weight->clear_float_data();
  weight->set_raw_data(std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)));
  undo.folder.Write("in.onnx", model.SerializeAsString());
  undo.Rewrite({"--external-data", "always"});
  REQUIRE(undo.Model("low.onnx").graph().initializer(0).external_data_size() > 0);
  REQUIRE(undo.TakeBack().exit_code == 0);
  const onnx::ModelProto back = undo.Model("back.onnx");
  CHECK(back.graph().initializer(0).external_data_size() > 0);
  CHECK(back.graph().initializer(0).data_type() == onnx::TensorProto::FLOAT);
  REQUIRE(
      undo.RunTool("back.onnx", "inside.onnx", {"--external-data", "never", "--policy", "mixed_float16"}).exit_code ==
      0);
  const std::string raw = undo.Model("inside.onnx").graph().initializer(0).raw_data();
  REQUIRE(raw.size() == values.size() * sizeof(float));
  for (size_t i = 0; i < values.size(); ++i) {
    float widened;
    std::memcpy(&widened, raw.data() + i * sizeof(float), sizeof(float));
    REQUIRE(widened == WidenOne(NarrowOne(values[i], DType::kFloat16), DType::kFloat16));
  }
}

TEST_CASE("what cannot be taken back is said") {
  const Undo undo(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[2,2] x, float[2,2] w) => (float[2,2] y) <float[2,2] w = {1, 2, 3, 4}> { y = MatMul (x, w) })");
  undo.Rewrite({"--freeze-initializers", "--dtype", "bfloat16"});
  const ToolOutput output = undo.TakeBack();
  CHECK(output.exit_code == 0);
  CHECK(absl::StrContains(output.err, "advice: 1 initializer stays frozen: callers can no longer override w\n"));
  if (undo.Model("back.onnx").opset_import(0).version() != 17) {
    CHECK(absl::StrContains(output.err, "advice: the opset stays 22: lifting it from 17 is not taken back\n"));
  }
}

constexpr absl::string_view kNorms = R"(<ir_version: 8, opset_import: ["" : 17]>
  g (float[1,2,2,2] x) => (float[1,2,2,2] y)
    <float[2,2,1,1] w = {1, 2, 3, 4}, float[2] s = {2, 3}, float[2] b = {1, 0.5}, float[2] m = {0.5, -1},
     float[2] v = {4, 1}> {
    [c1] a = Conv (x, w)
    [bn] n = BatchNormalization <epsilon = 0.0> (a, s, b, m, v)
    [c2] k = Conv (n, w)
    [relu] r = Relu (k)
    [bn2] l = BatchNormalization <epsilon = 0.0> (r, s, b, m, v)
    [c3] y = Conv (l, w)
  })";

TEST_CASE("batch normalizations stay folded, which is said") {
  const Undo undo(kNorms);
  undo.Rewrite();
  const ToolOutput output = undo.TakeBack();
  CHECK(output.exit_code == 0);
  CHECK(absl::StrContains(
      output.err, "advice: 2 batch normalizations stay folded or a Mul and an Add, in float32: bn and others\n"));
  const onnx::ModelProto back = undo.Model("back.onnx");
  std::string operators;
  for (const auto& node : back.graph().node()) absl::StrAppend(&operators, node.op_type(), " ");
  CHECK(operators == "Conv Conv Relu Mul Add Conv ");
  for (const auto& constant : back.graph().initializer()) CHECK(constant.data_type() == onnx::TensorProto::FLOAT);
}

TEST_CASE("a batch normalization that was kept comes back") {
  const Undo undo(kNorms);
  undo.Rewrite({"--keep-batch-norm"});
  const ToolOutput output = undo.TakeBack();
  CHECK(output.exit_code == 0);
  CHECK_FALSE(absl::StrContains(output.err, "batch normalization"));
  CHECK(undo.Model("back.onnx").graph().node(1).op_type() == "BatchNormalization");
}

TEST_CASE("an earlier rewrite's copies stay what they were made of") {
  const Undo undo(kNorms);
  undo.Rewrite({"--deny-node", "bn"});
  REQUIRE(undo.RunTool("low.onnx", "again.onnx", {"--allow", "BatchNormalization"}).exit_code == 0);
  const onnx::ModelProto again = undo.Model("again.onnx");
  int num_norms = 0;
  for (const auto& node : again.graph().node()) num_norms += node.op_type() == "BatchNormalization" ? 1 : 0;
  CHECK(num_norms == 1);
  const ToolOutput output = undo.TakeBack("again.onnx");
  CHECK(output.exit_code == 0);
  CHECK_FALSE(absl::StrContains(output.err, "no longer fit"));
}

TEST_CASE("a model that was edited since: what fits is taken back, the rest is counted") {
  const Undo undo(kModel);
  undo.Rewrite();
  onnx::ModelProto model = undo.Model("low.onnx");
  for (auto& node : *model.mutable_graph()->mutable_node()) {
    if (node.name() == "x_to_float16") node.set_name("renamed");
  }
  undo.folder.Write("renamed.onnx", model.SerializeAsString());
  const ToolOutput renamed = undo.TakeBack("renamed.onnx");  // nodes are known by what they give
  CHECK(renamed.exit_code == 0);
  CHECK_FALSE(absl::StrContains(renamed.err, "no longer fit"));
  for (auto& node : *model.mutable_graph()->mutable_node()) {
    for (auto* names : {node.mutable_input(), node.mutable_output()}) {
      for (std::string& name : *names) name = name == "x_to_float16" ? "other" : name;
    }
  }
  undo.folder.Write("edited.onnx", model.SerializeAsString());
  const ToolOutput output = undo.TakeBack("edited.onnx");
  CHECK(output.exit_code == 3);  // the MatMul would read float16 and float32
  CHECK(absl::StrContains(output.err,
                          "metadata 'amp.rewrite' does not fit the model, which was edited since: node 'mm'"));
}

TEST_CASE("flags that steer a rewrite do not apply to taking one back") {
  const Undo undo(kModel);
  const auto error = [&](std::vector<std::string> flags) {
    flags.insert(flags.end(), {"--policy", "float32"});
    const ToolOutput output = undo.RunTool("in.onnx", "back.onnx", flags);
    CHECK(output.exit_code == 2);
    return output.err;
  };
  CHECK(absl::EndsWith(error({"--deny", "Add"}),
                       "--policy float32 takes a rewrite back as a whole; --deny does not apply to that\n"));
  CHECK(absl::EndsWith(error({"--target", "cuda:8.0"}), "--target does not apply to that\n"));
  CHECK(absl::EndsWith(error({"--dtype", "float16"}),
                       "--policy float32 and --dtype float16 contradict each other: the "
                       "policy computes in float32\n"));
  CHECK(absl::StrContains(error({"--keep-io", "none"}), "--policy float32 and --keep-io none contradict each other"));
}

}  // namespace
}  // namespace amp
