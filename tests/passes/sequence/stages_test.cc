// --print-after and --stop-after.
#include "passes/report/stages.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "ir/file/text.h"
#include "tests/catch2.h"
#include "tests/model_from_text.h"
#include "tests/tool_run.h"
#include "tools/library/amp.h"
#include "tools/rewrite/amp_rewrite.h"

namespace amp {
namespace {

struct Run : ToolRun {
  using ToolRun::ToolRun;
  // Returns the output ahead of the summary.
  std::string Shown() const { return output.out.substr(0, output.out.rfind("Converted ")); }
};

TEST_CASE("stages show the model or what was decided") {
  CHECK(absl::StartsWith(Run({"--print-after", "load"}).Shown(), "---- after load\n<\n   ir_version: 8,"));
  CHECK(Run({"--print-after", "infer"}).Shown() ==
        "---- after infer\na: float32[2,2]\nb: float32[2,2]\ny: float32[2,2]\n");
  CHECK(absl::StrContains(Run({"--print-after", "classify"}).Shown(), "\nmul: infer, tf-1.15-float16.list:"));
  const Run casts_and_constants({"--print-after", "classify"},
                                R"(<ir_version: 8, opset_import: ["" : 17]>
    g (int64[2] i) => (float[2] y) {
      [c] f = Cast <to = 1> (i)
      [k] k = Constant <value_float = 2.0> ()
      [mul] y = Mul (f, k)
    })");
  CHECK(absl::StartsWith(casts_and_constants.Shown(),
                         "---- after classify\nc: cast, on no list\nk: constant, on no list\nmul: infer, tf-1.15-"));
  CHECK(absl::StartsWith(Run({"--print-after", "guard"}).Shown(),
                         "---- after guard\nmul T: constant 'epsilon' holds 1e-12"));
  CHECK(Run({"--print-after", "guard", "--guards", "none"}).Shown() == "---- after guard\nno veto\n");
  CHECK(Run({"--print-after", "paint", "--profile", "tf-1.15"}).Shown() ==
        "---- after paint\nmm T: float16, seeded\nmul T: float32, guard\nSoftmax#0 T: float32, denied\n");
  const std::string casts = Run({"--print-after", "casts"}).Shown();
  CHECK(absl::StrContains(casts, "x_to_float16 = Cast"));
  CHECK(absl::StrContains(casts, "<float[4,2] w"));
  CHECK(absl::StrContains(Run({"--print-after", "weights"}).Shown(), "<float16[4,2] w"));
  CHECK(absl::StrContains(Run({"--print-after", "fold"}).Shown(), "<float16[4,2] w"));
}

TEST_CASE("ports of bodies are shown by their names") {
  constexpr absl::string_view kBodies = R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[2,2] x, bool c, int64 n) => (float[2,2] y) {
      [if] a = If (c) <then_branch = t () => (float[2,2] p) { [mm] p = MatMul (x, x) },
                       else_branch = e () => (float[2,2] q) { [exp] q = Exp (x) }>
      [loop] y = Loop (n, c, a) <body = l (int64 i, bool go, float[2,2] s) => (bool on, float[2,2] t) {
        on = Identity (go)
        [mm2] t = MatMul (s, s)
      }>
    })";
  const std::string shown = Run({"--print-after", "paint"}, kBodies).Shown();
  CHECK(absl::StrContains(shown, "\nif output q of its else_branch: "));
  CHECK(absl::StrContains(shown, "\nloop input s of its body: "));
  CHECK(absl::StrContains(Run({"--print-after", "guard"}, kBodies).Shown(), "---- after guard\n"));
}

TEST_CASE("control characters of names do not reach the terminal") {
  const std::string text =
      "<ir_version: 8, opset_import: [\"\" : 17]>\n"
      "g (float[2,2] x) => (float[2,2] y) { [\"m\x1b[31m\"] y = MatMul (x, x) }";
  const std::string shown = Run({"--print-after", "all"}, text).output.out;
  CHECK(absl::StrContains(shown, "m\\x1b[31m"));
  CHECK_FALSE(absl::StrContains(shown, "\x1b"));
}

TEST_CASE("several stages are printed in their order, all of them with 'all'") {
  CHECK(absl::StartsWith(Run({"--print-after", "paint", "--print-after", "infer"}).Shown(), "---- after infer"));
  const std::string all = Run({"--print-after", "all"}).Shown();
  size_t at = 0;
  for (const std::string& name : StageNames()) {
    INFO(name);
    const size_t found = all.find(absl::StrCat("---- after ", name, "\n"), at);
    REQUIRE(found != std::string::npos);
    at = found;
  }
}

TEST_CASE("long constants are left out of the text") {
  const std::string text = R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[1,65] x) => (float[1,65] y, float[64] z) <float[65] w = {1.5}, float[64] v = {2.5}> {
      y = Mul (x, w)
      z = Exp (v)
    })";
  onnx::ModelProto model = ModelFromText(text);
  for (auto& tensor : *model.mutable_graph()->mutable_initializer()) {
    const float value = tensor.float_data(0);
    while (tensor.float_data_size() < tensor.dims(0)) tensor.add_float_data(value);
  }
  const Run run({"--print-after", "load", "--allow", "Mul"}, model);
  CHECK(absl::StrContains(run.Shown(), R"(float[65] w = ["location": "left out"])"));
  CHECK(absl::StrContains(run.Shown(), "float[64] v =  {2.5,2.5"));
  CHECK(run.folder.Read("out.onnx") == Run({"--allow", "Mul"}, model).folder.Read("out.onnx"));
}

TEST_CASE("printing has no effect on the result") {
  onnx::ModelProto model = ModelFromText(std::string(kThreeNodes));
  for (const char* name : {"b", "a"}) {
    auto* info = model.mutable_graph()->add_value_info();
    info->set_name(name);
    info->mutable_type()->mutable_tensor_type()->set_elem_type(onnx::TensorProto::FLOAT);
  }
  for (const std::vector<std::string>& flags :
       {std::vector<std::string>{}, {"--weights", "cast"}, {"--dtype", "bfloat16"}, {"--target", "cpu:avx2"}}) {
    std::vector<std::string> printing = flags;
    printing.insert(printing.end(), {"--print-after", "all"});
    const Run quiet(flags, model), loud(printing, model);
    CHECK(quiet.folder.Read("out.onnx") == loud.folder.Read("out.onnx"));
  }
}

TEST_CASE("a stage that is not reached is said to be so") {
  const Run run({"--target", "cpu:avx2", "--print-after", "casts"});
  CHECK(absl::StartsWith(run.output.out, "---- casts was not reached\nConverted 0 of 3 nodes"));
}

TEST_CASE("stopping before the edits writes the model as it is then") {
  for (const char* stage : {"load", "infer", "lift", "classify", "guard", "paint"}) {
    INFO(stage);
    const Run run({"--stop-after", stage});
    CHECK(run.folder.Read("out.onnx") == run.folder.Read("in.onnx"));
    CHECK(absl::StartsWith(run.output.out, absl::StrCat("Stopped after ", stage, "; wrote ")));
    CHECK(absl::EndsWith(run.output.out, " (the input as it is: nothing was changed up to there)\n"));
  }
  for (const char* stage : {"lift", "paint"}) {
    const Run lifted({"--stop-after", stage, "--opset", "22"});
    CHECK(lifted.Model().opset_import(0).version() == 22);
    CHECK(lifted.Model().graph().node_size() == 3);
    CHECK(lifted.Model().metadata_props_size() == 0);
  }
  CHECK(Run({"--stop-after", "infer", "--opset", "22"}).Model().opset_import(0).version() == 17);
}

// A call, a function that nobody calls, an initializer that callers may override, a cast that folding takes away.
constexpr absl::string_view kWithCall = R"(<ir_version: 8, opset_import: ["" : 17, "f" : 1]>
  g (float16[2,2] h, float[2,2] w = {1, 2, 3, 4}) => (float[2,2] y) {
    x = Cast <to = 1> (h)
    a = f.twice (x)
    y = MatMul (a, w)
  }
  <domain: "f", opset_import: ["" : 17]>
  twice (x) => (y) { y = Add (x, x) }
  <domain: "f", opset_import: ["" : 17]>
  idle (x) => (y) { y = Neg (x) })";

// Returns what --print-after would print for the model of a file. The record of the rewrite is left out after stage
// `weights`: it is no part of the graph, and is written last.
std::string TextAfter(absl::string_view stage, onnx::ModelProto model) {
  if (stage == "weights") model.clear_metadata_props();
  return absl::StrCat("---- after ", stage, "\n", *PrintOnnxText(model));
}

TEST_CASE("the file after a stage is the model that printing shows after it") {
  const auto with = [](std::vector<std::string> flags, const std::string& flag, const std::string& stage) {
    flags.insert(flags.end(), {"--freeze-initializers", flag, stage});
    return flags;
  };
  const std::vector<std::string> lifting = {"--opset", "18"}, plain;
  struct Row {
    const char* stage;
    const char* shows;  // the model, where the stage itself shows what it decided
    const std::vector<std::string>& flags;
  };
  for (const Row& row : {Row{"load", "load", lifting},
                         {"infer", "lift", plain},
                         {"lift", "lift", lifting},
                         {"classify", "lift", lifting},
                         {"guard", "lift", lifting},
                         {"paint", "lift", lifting},
                         {"weights", "weights", lifting},
                         {"fold", "fold", lifting}}) {
    INFO(row.stage);
    const Run stopped(with(row.flags, "--stop-after", row.stage), kWithCall);
    REQUIRE(stopped.output.exit_code == 0);
    CHECK(absl::StrContains(stopped.output.out, absl::StrCat("Stopped after ", row.stage)));
    CHECK_FALSE(absl::StrContains(stopped.output.out, "the input as it is"));
    const std::string shown = Run(with(row.flags, "--print-after", row.shows), kWithCall).Shown();
    CHECK(TextAfter(row.shows, stopped.Model()) == shown);
  }
  const Run infer(with(lifting, "--stop-after", "infer"), kWithCall);
  CHECK(infer.Model().graph().input_size() == 1);
  CHECK(infer.Model().opset_import(0).version() == 17);
  CHECK(infer.Model().functions_size() == 0);
  CHECK(Run(with(lifting, "--stop-after", "load"), kWithCall).Model().graph().input_size() == 2);
}

TEST_CASE("the library stops where the program does") {
  RewriteOptions options;
  options.stop_after = "load";
  const absl::StatusOr<RewriteResult> result = Rewrite(ModelFromText(std::string(kWithCall)), options);
  REQUIRE(result.ok());
  CHECK(result->summary.changed);
  CHECK(result->model.functions_size() == 0);
}

TEST_CASE("a function that nobody calls is not there after loading") {
  const std::string uncalled = R"(<ir_version: 8, opset_import: ["" : 17, "f" : 1]>
    g (float[2,2] x) => (float[2,2] y) { y = MatMul (x, x) }
    <domain: "f", opset_import: ["" : 17]>
    idle (x) => (y) { y = Neg (x) })";
  const Run run({"--stop-after", "load"}, uncalled);
  CHECK(run.Model().functions_size() == 0);
  CHECK(TextAfter("load", run.Model()) == Run({"--print-after", "load"}, uncalled).Shown());
  CHECK(Run({"--stop-after", "load", "--functions", "keep"}, uncalled).Model().functions_size() == 1);
}

TEST_CASE("the help says which stage can only be looked at") {
  CHECK(absl::StrContains(RunAmpRewrite({"--help"}).out, "casts: with --dry-run alone"));
}

TEST_CASE("stopping after the weights leaves superfluous casts in, after folding is the whole rewrite") {
  const std::string users = R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float16[2,2] h, float[2,2] w) => (float[2,2] y) {
      f = Cast <to = 1> (h)
      y = MatMul (f, w)
    })";
  const Run weights({"--stop-after", "weights"}, users), fold({"--stop-after", "fold"}, users), whole({}, users);
  CHECK(weights.Model().graph().node_size() == 5);
  CHECK(whole.Model().graph().node_size() == 3);
  CHECK(fold.folder.Read("out.onnx") == whole.folder.Read("out.onnx"));
}

TEST_CASE("a stage whose model is not valid cannot be written, only looked at") {
  const Run run({"--stop-after", "casts"});
  CHECK(run.output.exit_code == 2);
  CHECK_FALSE(run.folder.Has("out.onnx"));
  CHECK(absl::StrContains(run.output.err, "--stop-after casts: after 'casts' low nodes still read float32 weights"));
  const Run dry({"--stop-after", "casts", "--dry-run", "--print-after", "casts"});
  CHECK(dry.output.exit_code == 0);
  CHECK(absl::StrContains(dry.output.out, "Stopped after casts; dry run, wrote nothing\n"));
  RewriteOptions options;
  options.stop_after = "casts";
  CHECK(Rewrite(ModelFromText(std::string(kThreeNodes)), options).status().code() ==
        absl::StatusCode::kInvalidArgument);
}

TEST_CASE("specialised functions are not written half made") {
  const Run run({"--functions", "specialise", "--stop-after", "fold"});
  CHECK(run.output.exit_code == 2);
  CHECK(absl::StrContains(run.output.err, "calls are functions again only after the last stage"));
  CHECK_FALSE(run.folder.Has("out.onnx"));
}

TEST_CASE("an unknown stage") {
  for (const char* flag : {"--stop-after", "--print-after"}) {
    const Run run({flag, "pain"});
    CHECK(run.output.exit_code == 2);
    CHECK(absl::EndsWith(run.output.err, absl::StrCat(flag,
                                                      ": expected load, infer, lift, classify, guard, paint, "
                                                      "casts, weights, fold; found 'pain'; did you mean 'paint'?\n")));
  }
}

}  // namespace
}  // namespace amp
