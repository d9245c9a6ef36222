// --target, --dtype auto and --policy, through the tool.
#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "ir/file/text.h"
#include "nlohmann/json.hpp"
#include "runtime/device_run/open_device.h"
#include "runtime/hardware/compatibility.h"
#include "tests/catch2.h"
#include "tests/model_from_text.h"
#include "tests/tool_run.h"
#include "tools/library/amp.h"
#include "tools/rewrite/amp_rewrite.h"

namespace amp {
namespace {

constexpr absl::string_view kClassifier = R"(<ir_version: 8, opset_import: ["" : 17]>
  g (float[2,4] x) => (float[1,4] y) <float[4,2] w = {1, 2, 3, 4, 5, 6, 7, -8}, int64[2] shape = {1, 4}> {
    [mm] a = MatMul (x, w)
    [sm] b = Softmax (a)
    [rs] y = Reshape (b, shape)
  })";

struct Run : ToolFolder {
  ToolOutput output;

  explicit Run(std::vector<std::string> flags, absl::string_view model = kClassifier) : ToolFolder(model) {
    flags.insert(flags.begin(), {"--report", folder.File("r.json")});
    output = RunTool(flags);
  }
  nlohmann::json Report() const { return nlohmann::json::parse(folder.Read("r.json")); }
};

std::string ErrorOf(const std::vector<std::string>& flags) { return ErrorLine(Run(flags).output, 2); }

std::string ReasonOf(const nlohmann::json& report, const std::string& node) {
  for (const auto& entry : report["nodes"]) {
    if (entry["path"] == node) return entry["reason"];
  }
  return "no such node";
}

int ElemType(const onnx::ValueInfoProto& value) { return value.type().tensor_type().elem_type(); }

TEST_CASE("a target without fast kernels keeps everything float32 and says so") {
  const Run run({"--target", "cpu:avx2"});
  CHECK(run.output.exit_code == 0);
  CHECK(run.Report()["target"] == "cpu:avx2");
  CHECK(ReasonOf(run.Report(), "mm") == "no-fast-kernel");
  CHECK(run.Report()["nodes"][0]["because"] == "no fast float16 kernel on cpu:avx2");
  CHECK(run.folder.Read("out.onnx") == run.folder.Read("in.onnx"));
  CHECK(absl::StartsWith(run.output.err, "Mixed precision compatibility check (mixed_float16): WARNING\n"));
}

TEST_CASE("where a target closes the gate, the check says so, and how to open it") {
  const std::string way_out =
      ", so nothing is converted; for a machine that has them: --target cuda:8.0, or leave "
      "--target out.\n";
  for (const char* target : {"cpu:avx2", "cuda:5.0"}) {
    const Run run({"--target", target});
    CHECK(run.output.err == absl::StrCat("Mixed precision compatibility check (mixed_float16): WARNING\n  ", target,
                                         " has no fast float16 kernels", way_out));
    CHECK(absl::StartsWith(run.output.out, "Converted 0 of 3 nodes"));
  }
  CHECK(absl::StrContains(Run({"--target", "tpu"}).output.err,
                          "so nothing is converted; bfloat16 is fast there: --dtype bfloat16, or leave --target out."));
  CHECK(Run({"--target", "tpu", "--dtype", "bfloat16"}).Report()["changed"]);
  CHECK(Run({"--target", "cuda:8.0"}).Report()["changed"]);  // what it points to is open, to both types
  CHECK(Run({"--target", "cuda:8.0", "--dtype", "bfloat16"}).Report()["changed"]);
}

TEST_CASE("the gate is one of hardware: no flag that names nodes opens it") {
  CHECK_FALSE(Run({"--target", "cpu:avx2", "--allow-node", "mm"}).Report()["changed"]);
  CHECK_FALSE(Run({"--target", "cpu:avx2", "--level", "unsafe-force-all"}).Report()["changed"]);
}

TEST_CASE("a target with fast kernels, and none, decide alike") {
  const Run none({}), any({"--target", "any"}), fast({"--target", "cuda:7.0"});
  CHECK(none.Report()["changed"]);
  CHECK(none.Report()["target"] == "any");
  CHECK(none.output.err.empty());
  CHECK(any.output.err.empty());
  CHECK(fast.Report()["target"] == "cuda:7.0");
  CHECK(absl::StartsWith(fast.output.err, "Mixed precision compatibility check (mixed_float16): OK\n"));
  CHECK(none.folder.Read("out.onnx") == fast.folder.Read("out.onnx"));
  CHECK(none.folder.Read("out.onnx") == any.folder.Read("out.onnx"));
}

TEST_CASE("bfloat16 by target") {
  CHECK_FALSE(Run({"--target", "cuda:7.5", "--dtype", "bfloat16"}).Report()["changed"]);
  CHECK(Run({"--target", "cuda:8.0", "--dtype", "bfloat16"}).Report()["changed"]);
  CHECK(Run({"--target", "cpu:avx512_bf16", "--dtype", "bfloat16"}).Report()["changed"]);
  CHECK_FALSE(Run({"--target", "tpu"}).Report()["changed"]);
}

TEST_CASE("a target's promises decide conditions of list rows") {
  constexpr absl::string_view kNorm = R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[1,2,4,4] x, float[2,2,1,1] w) => (float[1,2,4,4] z) <float[2] s = {1, 1}, float[2] b = {0, 0}> {
      [c1] a = Conv (x, w)
      [n] y = InstanceNormalization (a, s, b)
      [c2] z = Conv (y, w)
    })";
  CHECK(Run({"--target", "cuda:7.0", "--profile", "tf-1.15"}, kNorm).Report()["nodes"][1]["class"] == "infer");
  CHECK(Run({"--target", "any", "--profile", "tf-1.15"}, kNorm).Report()["nodes"][1]["class"] != "infer");
}

TEST_CASE("the automatic type is what the target is fast with") {
  CHECK(Run({"--dtype", "auto", "--target", "cpu:amx"}).Report()["dtype"] == "bfloat16");
  CHECK(Run({"--dtype", "auto", "--target", "tpu"}).Report()["dtype"] == "bfloat16");
  CHECK(Run({"--dtype", "auto", "--target", "cuda:8.0"}).Report()["dtype"] == "float16");
  CHECK(Run({"--dtype", "auto", "--target", "cpu:avx2"}).Report()["dtype"] == "float16");
}

TEST_CASE("without a target the automatic type is one that every runtime loads") {
  CHECK(Run({"--dtype", "auto"}).Report()["dtype"] == "float16");
}

TEST_CASE("auto looks at this machine, and as a target at what models can run on here") {
  const Hardware found = DetectHardware(), hardware = UsableHardware(found);
  const Run by_type({"--dtype", "auto"});
  CHECK(by_type.Report()["target"] == "any");
  CHECK(by_type.Report()["changed"]);
  CHECK(by_type.output.err == CheckCompatibility(found, DType::kFloat16).Text(DType::kFloat16));

  const Run by_both({"--dtype", "auto", "--target", "auto"});
  CHECK(by_both.Report()["dtype"] == std::string(DTypeName(ChooseLowType(hardware))));

  const Run by_target({"--target", "auto"});
  CHECK(by_target.Report()["target"] == ChooseTarget(hardware, DType::kFloat16).name);
  const Gate gate = by_target.Report()["changed"] ? Gate::kOpen : Gate::kClosed;
  CHECK(by_target.output.err == CheckCompatibility(hardware, DType::kFloat16, gate).Text(DType::kFloat16));
  CHECK(Run({"--target", "auto", "--quiet"}).output.err.empty());
}

TEST_CASE("the last line says where the machine computes no faster in float16, once") {
  const ToolFolder model(kThreeNodes);
  const auto last_line = [&](std::vector<std::string> flags, bool is_fast) {
    flags.insert(flags.begin(), {model.in, "-o", model.out, "--verify=off"});
    return RunAmpRewrite(flags, {}, [&] { return is_fast; }).out;
  };
  const std::string clause = "; this machine computes no faster in float16\n";
  CHECK(absl::EndsWith(last_line({}, false), "wrote " + model.out + clause));
  CHECK(absl::EndsWith(last_line({}, true), "wrote " + model.out + "\n"));
  CHECK(absl::EndsWith(last_line({"--policy", "mixed_float16"}, false), clause));
  CHECK(last_line({"--quiet"}, false).empty());
  using Flags = std::vector<std::string>;
  for (const Flags& flags :
       {Flags{"--dtype", "bfloat16"}, Flags{"--dtype", "auto"}, Flags{"--target", "cuda:8.0"},
        Flags{"--policy", "mixed_bfloat16"}, Flags{"--policy", "float32"}, Flags{"--deny", "MatMul"}}) {
    INFO(flags[0] << " " << flags[1]);
    CHECK_FALSE(absl::StrContains(last_line(flags, false), "no faster"));
  }
}

TEST_CASE("an unknown target lists the known ones") {
  CHECK(absl::StartsWith(ErrorOf({"--target", "cpu:amd"}), "--target: expected any, auto, cuda:CC, cpu:avx2, "));
  CHECK(absl::EndsWith(ErrorOf({"--target", "cpu:amd"}), "found 'cpu:amd'; did you mean 'cpu:amx'?"));
  const auto hint = [](const char* target) {
    const std::string error = ErrorOf({"--target", target});
    return error.substr(std::min(error.find("; did you mean"), error.size()));
  };
  CHECK(hint("gpu").empty());
  CHECK(hint("cpu") == "; did you mean 'cpu:avx2'?");
  CHECK(hint("cuda") == "; did you mean 'cuda:8.0'?");
  CHECK(hint("cuda:80") == "; did you mean 'cuda:8.0'?");  // sm_80 is 8.0
  CHECK(hint("cuda:CC") == "; did you mean 'cuda:8.0'?");
  CHECK(hint("tpv") == "; did you mean 'tpu'?");
  CHECK(hint("pdp:11").empty());
}

TEST_CASE("mixed_float16: low compute, float32 variables, inputs, outputs and last Softmax") {
  const Run run({"--policy", "mixed_float16", "--allow", "Softmax"});
  CHECK(absl::StartsWith(run.output.out, "Compute dtype: float16\nVariable dtype: float32\nConverted "));
  const onnx::ModelProto model = run.Model();
  CHECK(model.graph().initializer(0).data_type() == onnx::TensorProto::FLOAT);
  CHECK(ElemType(model.graph().input(0)) == onnx::TensorProto::FLOAT);
  CHECK(ElemType(model.graph().output(0)) == onnx::TensorProto::FLOAT);
  CHECK(ReasonOf(run.Report(), "mm") == "seeded");
  CHECK(ReasonOf(run.Report(), "sm") == "not-processed");
  CHECK(ReasonOf(Run({"--allow", "Softmax"}).Report(), "sm") == "seeded");
  CHECK(ReasonOf(Run({"--policy", "mixed_float16", "--allow-node", "sm"}).Report(), "sm") == "seeded");
}

TEST_CASE("a Softmax in the middle is not the last one") {
  constexpr absl::string_view kAttention = R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[4,4] x, float[4,4] w) => (float[4,4] z) {
      [m1] a = MatMul (x, w)
      [sm] b = Softmax (a)
      [m2] z = MatMul (b, w)
    })";
  CHECK(ReasonOf(Run({"--policy", "mixed_float16", "--allow", "Softmax"}, kAttention).Report(), "sm") == "seeded");
}

TEST_CASE("mixed_bfloat16") {
  const Run run({"--policy", "mixed_bfloat16"});
  CHECK(absl::StartsWith(run.output.out, "Compute dtype: bfloat16\nVariable dtype: float32\n"));
  CHECK(run.Report()["dtype"] == "bfloat16");
  CHECK(run.Model().graph().initializer(0).data_type() == onnx::TensorProto::FLOAT);
}

TEST_CASE("pure policies convert weights, inputs and outputs") {
  for (const char* type : {"float16", "bfloat16"}) {
    const Run run({"--policy", type, "--allow", "Softmax"});
    CHECK(absl::StartsWith(run.output.out, absl::StrCat("Compute dtype: ", type, "\nVariable dtype: ", type, "\n")));
    const int low = std::string(type) == "float16" ? onnx::TensorProto::FLOAT16 : onnx::TensorProto::BFLOAT16;
    CHECK(run.Model().graph().initializer(0).data_type() == low);
    CHECK(ElemType(run.Model().graph().input(0)) == low);
    CHECK(ElemType(run.Model().graph().output(0)) == low);
  }
}

TEST_CASE("a policy is the flags that it stands for") {
  const Run policy({"--policy", "float16"}), flags({"--dtype", "float16", "--weights", "convert", "--keep-io", "none"});
  CHECK(policy.folder.Read("out.onnx") == flags.folder.Read("out.onnx"));
  CHECK(
      Run({"--policy", "mixed_float16", "--dtype", "fp16", "--keep-io", "all", "--weights", "cast"}).output.exit_code ==
      0);
}

TEST_CASE("a policy and a flag that say different things: both are named") {
  CHECK(ErrorOf({"--policy", "mixed_float16", "--dtype", "bf16"}) ==
        "--policy mixed_float16 and --dtype bfloat16 contradict each other: the policy computes in float16");
  CHECK(Run({"--policy", "mixed_float16", "--dtype", "auto"}).output.exit_code == 2);
  CHECK(ErrorOf({"--policy", "mixed_bfloat16", "--keep-io", "none"}) ==
        "--policy mixed_bfloat16 and --keep-io none contradict each other: the policy keeps inputs and outputs in "
        "float32");
  CHECK(ErrorOf({"--policy", "float16", "--keep-io", "x"}) ==
        "--policy float16 and --keep-io x contradict each other: the policy makes inputs and outputs float16");
  CHECK(ErrorOf({"--policy", "mixed_float16", "--weights", "convert"}) ==
        "--policy mixed_float16 and --weights convert contradict each other: the policy keeps weights in float32");
  CHECK(Run({"--policy", "bfloat16", "--weights", "cast"}).output.exit_code == 2);
}

TEST_CASE("an unknown policy lists the valid ones") {
  CHECK(ErrorOf({"--policy", "mixed_float"}) ==
        "--policy: expected mixed_float16|mixed_bfloat16|float32|float16|bfloat16, found 'mixed_float'; did you mean "
        "'mixed_float16'?");
}

TEST_CASE("a printed list says for which type it is, and is refused for another") {
  const ScratchFolder folder;
  const std::string lists = RunAmpRewrite({"--print-lists"}).out;
  CHECK(absl::StartsWith(lists, "# effective lists of profile default for float16\ntype float16\nfollow on"));
  const std::string brain = RunAmpRewrite({"--print-lists", "--dtype", "bfloat16", "--profile", "tf-latest"}).out;
  CHECK(absl::StartsWith(brain, "# effective lists of profile tf-latest for bfloat16\ntype bfloat16\nfollow on"));
  const std::string path = folder.Write("p.list", lists);
  CHECK(Run({"--lists", path}).folder.Read("out.onnx") == Run({}).folder.Read("out.onnx"));
  CHECK(ErrorOf({"--lists", path, "--dtype", "bfloat16"}) ==
        absl::StrCat(path,
                     ":2: the list is for float16, but the low type is bfloat16; expected --dtype float16, or a list "
                     "without that line"));
}

TEST_CASE("policy and target through the library") {
  const onnx::ModelProto model = ModelFromText(std::string(kClassifier));
  RewriteOptions options;
  options.policy = RewriteOptions::Policy::kMixedFloat16;
  options.target = "cuda:8.0";
  const absl::StatusOr<RewriteResult> result = Rewrite(model, options);
  REQUIRE(result.ok());
  CHECK(result->summary.policy_dtypes == "Compute dtype: float16\nVariable dtype: float32\n");
  CHECK(absl::StrContains(result->summary.compatibility, "Likely fast on cuda:8.0."));
  options.dtype = RewriteOptions::Dtype::kBfloat16;
  CHECK(Rewrite(model, options).status().code() == absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace amp
