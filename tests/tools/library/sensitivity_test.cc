// --sensitivity, through the tool: which part loses the most, and what is written.
#include <algorithm>
#include <filesystem>
#include <random>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "nlohmann/json.hpp"
#include "runtime/values/npy.h"
#include "tests/catch2.h"
#include "tests/runtime/loops/run_both.h"
#include "tests/tool_run.h"
#include "tools/library/amp.h"

namespace amp {
namespace {

using nlohmann::json;

struct SensitivityFolder : ToolFolder {
  explicit SensitivityFolder(absl::string_view model) : ToolFolder(model) {
    const Tensor x = RandomTensor(DType::kFloat32, {8, 32}, Values::kPlain, 1);
    const absl::StatusOr<std::string> bytes = NpzBytes({{"x", x}});
    REQUIRE(bytes.ok());
    sample = folder.Write("sample.npz", *bytes);
  }
  json Report(std::vector<std::string> flags) const {
    flags.insert(flags.end(), {"--calibration", sample, "--report", folder.File("r.json")});
    const ToolOutput output = RunTool(flags);
    INFO(output.err);
    REQUIRE(output.exit_code == 0);
    return json::parse(folder.Read("r.json"))["sensitivity"];
  }

  std::string sample;
};

// Two products of one input, the result of one a hundred times that of the other.
const std::string& LoudAndQuiet() {
  static const std::string text = [] {
    std::string weight;
    for (int i = 0; i < 32 * 32; ++i) absl::StrAppend(&weight, i == 0 ? "" : ", ", 0.01 * ((i * 7) % 23 - 11));
    return absl::StrCat(R"(<ir_version: 8, opset_import: ["" : 17]>
  g (float[8,32] x) => (float[8,32] y) <float[32,32] w = {)",
                        weight, R"(}, float k = {100}> {
    [quiet] a = MatMul (x, w)
    [loud] b = MatMul (x, w)
    [much] c = Mul (b, k)
    [sum] y = Add (a, c)
  })");
  }();
  return text;
}

TEST_CASE("the part that loses the most comes first, with what it costs") {
  const SensitivityFolder run(LoudAndQuiet());
  const json found = run.Report({"--sensitivity", "--measure", "2"});
  INFO(found.dump(1));
  CHECK(found["samples"] == 1);
  REQUIRE(found["units"].size() == 2);
  const json& first = found["units"][0];
  CHECK(first["unit"] == "loud");
  CHECK(first["share"] > 0.9);
  CHECK(first["weight_bytes"] == (32 * 32 + 1) * 4);
  CHECK(first["macs"] == 8 * 32 * 32);
  CHECK(first["measured_error"].get<double>() == Approx(found["measured_error"].get<double>()).epsilon(0.2));
  CHECK(first["predicted_error"].get<double>() == Approx(first["measured_error"].get<double>()).epsilon(0.5));
  CHECK(found["units"][1]["measured_error"] < first["measured_error"]);
}

TEST_CASE("the table is printed, and no model is written but where one is asked for") {
  const SensitivityFolder run(LoudAndQuiet());
  const std::string model = run.in, out = run.folder.File("none.onnx");
  const ToolOutput output = RunAmpRewrite({model, "--sensitivity", "--calibration", run.sample});
  INFO(output.err);
  CHECK(output.exit_code == 0);
  CHECK(absl::StrContains(output.out, "2 units of nodes that become low; all of them low: relative error "));
  CHECK(absl::StrContains(output.out, "dry run, wrote nothing"));
  CHECK_FALSE(std::filesystem::exists(out));
  CHECK(RunAmpRewrite({model, "--sensitivity", "--calibration", run.sample, "-o", out}).exit_code == 0);
  CHECK(std::filesystem::exists(out));
}

TEST_CASE("the model beside the table is the one that is written without it, and so are its flags in the report") {
  const SensitivityFolder run(LoudAndQuiet());
  const std::string plain = run.folder.File("plain.onnx"), beside = run.folder.File("beside.onnx");
  for (const absl::string_view verify : {"off", "auto"}) {
    const std::vector<std::string> flags = {"--calibration", run.sample, absl::StrCat("--verify=", verify),
                                            "--force",       "--policy", "mixed_float16"};
    std::vector<json> stated;
    for (const std::string& out : {plain, beside}) {
      std::vector<std::string> all = {run.in, "-o", out};
      all.insert(all.end(), flags.begin(), flags.end());
      all.insert(all.end(), {"--report", run.folder.File("r.json")});
      if (out == beside) all.push_back("--sensitivity");
      const ToolOutput output = RunAmpRewrite(all);
      INFO(output.err);
      REQUIRE(output.exit_code == 0);
      json given = json::parse(run.folder.Read("r.json"))["tool"]["flags"];
      given.erase(std::remove(given.begin(), given.end(), "--sensitivity"), given.end());
      stated.push_back(given);
    }
    CHECK(stated[0] == stated[1]);
    CHECK(run.folder.Read("plain.onnx") == run.folder.Read("beside.onnx"));
  }
}

TEST_CASE("a file gets the same as CSV") {
  const SensitivityFolder run(LoudAndQuiet());
  const json found = run.Report({absl::StrCat("--sensitivity=", run.folder.File("s.csv"))});
  const std::vector<std::string> lines = absl::StrSplit(run.folder.Read("s.csv"), '\n', absl::SkipEmpty());
  REQUIRE(lines.size() == 3);
  CHECK(lines[0] == "unit,nodes,predicted_error,measured_error,share,weight_bytes,macs,casts,overflows,predicted_by");
  const std::vector<std::string> cells = absl::StrSplit(lines[1], ',');
  CHECK(cells[0] == found["units"][0]["unit"].get<std::string>());
  CHECK(std::stod(cells[2]) == found["units"][0]["predicted_error"].get<double>());
  CHECK(cells[3].empty());
  CHECK(cells[9] == "derivatives");
  CHECK(found["units"][0]["predicted_by"] == "derivatives");
}

TEST_CASE("parts ahead of what no derivative goes through are predicted by gains, and that is said") {
  std::string weight;
  for (int i = 0; i < 32 * 32; ++i) absl::StrAppend(&weight, i == 0 ? "" : ", ", 0.01 * ((i * 7) % 23 - 11));
  const SensitivityFolder run(absl::StrCat(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[8,32] x) => (float[8,32] y) <float zero = {0}, float[32,32] w = {)",
                                           weight, R"(}> {
      sum = ReduceSum <keepdims = 0> (x)  is_large = Greater (sum, zero)
      [ahead] a = MatMul (x, w)
      [branch] h = If (is_large) <then_branch = t () => (float[8,32] u) { u = Neg (a) },
                                  else_branch = e () => (float[8,32] v) { v = Tanh (a) }>
      [behind] y = MatMul (h, w) })"));
  const json found = run.Report({"--sensitivity"});
  INFO(found.dump(1));
  REQUIRE(found["units"].size() == 2);
  for (const json& unit : found["units"])
    CHECK(unit["predicted_by"] == (unit["unit"] == "ahead" ? "gains" : "derivatives"));
  const ToolOutput output = RunAmpRewrite({run.in, "--sensitivity", "--calibration", run.sample});
  CHECK(absl::StrContains(output.out, "1 unit is predicted by gains of nodes, which know less than derivatives: "));
  CHECK(absl::StrContains(output.out, "'branch'"));
}

// Elements of a weight without a pattern, so that errors do not add up.
std::string RandomElements(int count) {
  std::mt19937 random(1);
  std::string elements;
  for (int i = 0; i < count; ++i) {
    absl::StrAppend(&elements, i == 0 ? "" : ", ", 1e-5 * (static_cast<double>(random() % 20001) - 10000));
  }
  return elements;
}

// A part with a weight in a branch, which is too large to be an input of the differentiated model.
std::string LargeWeightInBranch() {
  const std::string weight = RandomElements(32 * 1024);
  return absl::StrCat(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[8,32] x) => (float[8,32] y) <float zero = {0}, float[1024,32] w = {)",
                      weight, R"(}> {
      sum = ReduceSum <keepdims = 0> (x)  is_large = Greater (sum, zero)  is_small = Not (is_large)
      is_any = Or (is_large, is_small)
      h = If (is_any) <then_branch = t () => (float[8,1024] u) <float[32,1024] v = {)",
                      weight, R"(}> { [inside] u = MatMul (x, v) },
                       else_branch = e () => (float[8,1024] o) { o = Cast <to = 1> (is_any) }>
      [behind] y = MatMul (h, w) })");
}

TEST_CASE("a part with a large weight in a branch is predicted") {
  const SensitivityFolder run(LargeWeightInBranch());
  const json found = run.Report({"--sensitivity", "--measure", "2"});
  INFO(found.dump(1));
  REQUIRE(found["units"].size() == 3);
  CHECK(found["units"][2]["predicted_error"] == 0);  // of the branch that is not taken
  for (const size_t i : {0U, 1U}) {
    const json& unit = found["units"][i];
    CHECK(unit["weight_bytes"] == 32 * 1024 * 4);
    CHECK(unit["predicted_error"].get<double>() == Approx(unit["measured_error"].get<double>()).epsilon(0.5));
  }
}

TEST_CASE("outputs that are no float32 are as right as what they are made of") {
  for (const auto& [type, node] :
       {std::pair("double[8,32]", "Cast <to = 11> (e)"), std::pair("int64[8,1]", "ArgMax <axis = 1> (e)"),
        std::pair("seq(float[8,32])", "SequenceConstruct (e)")}) {
    INFO(type);
    std::string text = LoudAndQuiet();
    text =
        absl::StrReplaceAll(text, {{"(float[8,32] y)", absl::StrCat("(", type, " y)")},
                                   {"[sum] y = Add (a, c)", absl::StrCat("[sum] e = Add (a, c) [last] y = ", node)}});
    const SensitivityFolder run(text);
    const json found = run.Report({"--sensitivity"});
    REQUIRE(found["units"].size() == 2);
    CHECK(found["units"][0]["unit"] == "loud");
    CHECK(found["units"][0]["share"] > 0.9);
    CHECK(found["units"][0]["predicted_by"] == "gains");
    CHECK(absl::StrContains(found["why_gains"].get<std::string>(), "no float32 output"));
  }
}

TEST_CASE("a constant among outputs that are no float32 predicts nothing") {
  const std::string text = absl::StrReplaceAll(
      LoudAndQuiet(),
      {{"(float[8,32] y)", "(int64[8,1] y, int64[2] z)"},
       {"[sum] y = Add (a, c)",
        "[sum] e = Add (a, c) [last] y = ArgMax <axis = 1> (e) [fixed] z = Constant <value_ints = [1, 2]> ()"}});
  const json found = SensitivityFolder(text).Report({"--sensitivity"});
  REQUIRE(found["units"].size() == 2);
  CHECK(found["units"][0]["unit"] == "loud");
}

TEST_CASE("a caller who stops it is heard at every event") {
  const SensitivityFolder run(LargeWeightInBranch());
  RewriteOptions options;
  options.sensitivity = options.dry_run = true;
  options.verify = RewriteOptions::Verify::kOff;
  options.calibration = {run.sample};
  int64_t last = 0, at = 0, stop = -1;
  options.on_progress = [&](const Progress&) {
    return at++ == stop ? absl::CancelledError("the caller has had enough") : absl::OkStatus();
  };
  REQUIRE(RewriteFile(run.in, "", options).ok());
  last = at;
  REQUIRE(last > 12);
  for (stop = 0; stop < last; ++stop) {
    INFO(stop);
    at = 0;
    CHECK(absl::IsCancelled(RewriteFile(run.in, "", options).status()));
  }
}

TEST_CASE("a model of which nothing becomes low has no parts") {
  const SensitivityFolder run(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[8,32] x) => (float[8,32] y) { y = Softmax (x) })");
  const json found = run.Report({"--sensitivity"});
  CHECK(found["units"].empty());
  CHECK(found["measured_error"] == 0);
}

TEST_CASE("what does not go with it is said") {
  const SensitivityFolder run(LoudAndQuiet());
  const auto error_of = [&](const std::vector<std::string>& flags) { return ErrorLine(run.RunTool(flags), 2); };
  CHECK(absl::StrContains(error_of({"--sensitivity"}), "--sensitivity: expected samples, --calibration FILE.npz"));
  CHECK(absl::StrContains(error_of({"--measure", "3"}), "--measure is about --sensitivity"));
  CHECK(absl::StrContains(error_of({"--sensitivity", "--calibration", run.sample, "--policy", "float32"}),
                          "--policy float32"));
  CHECK(absl::StrContains(error_of({"--sensitivity", "--calibration", run.sample, "--stop-after", "paint"}),
                          "--sensitivity and --stop-after exclude each other"));
  CHECK_FALSE(error_of({"--sensitivity", "--calibration", run.sample, "--measure", "-1"}).empty());
}

}  // namespace
}  // namespace amp
