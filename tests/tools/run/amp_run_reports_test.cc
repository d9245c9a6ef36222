// Reports of amp-run about kernels, times and differences, and models that it refuses for want of a kernel.
#include <limits>
#include <sstream>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "nlohmann/json.hpp"
#include "runtime/loops/best_loops.h"
#include "runtime/values/npy.h"
#include "tests/catch2.h"
#include "tests/model_from_text.h"
#include "tests/tools/run/amp_run_folder.h"

namespace amp {
namespace {

using Catch::Matchers::Contains;

TEST_CASE("explain says which kernel runs each node") {
  const Runs runs;
  const std::string out = runs.Succeeds({"--inputs", "@sample.npz", "--explain", "--quiet"});
  const std::string name = BestLoops().name;
  CHECK(out == absl::StrCat("node    operator      kernel", std::string(name.size() + 2, ' '),
                            "stored as  computed in  device\n", "first   LeakyRelu-16  loops ", name,
                            "  float32    float32      cpu\n", "second  Sigmoid-13    loops ", name,
                            "  float32    float32      cpu\n"));
}

constexpr absl::string_view kProduct = R"(<ir_version: 9, opset_import: ["" : 20]>
  g (float16[2,2] x) => (float16[2,2] y, float16[2,2] z) <float16[2,2] w = {15360, 0, 0, 15360}> {
    [product] p = MatMul (x, w)
    [active] y = Relu (p)
    [rest] z = Mod <fmod = 1> (x, x)
  })";

TEST_CASE("what is fused is part of another node's kernel, unless that is switched off") {
  const Runs runs;
  runs.WriteModel("product.onnx", kProduct);
  const auto explained = [&](std::vector<std::string> flags) {
    flags.insert(flags.end(), {"--random-inputs", "--explain", "-q"});
    const ToolOutput output = runs.Run(flags, "@product.onnx");
    CHECK(output.exit_code == 0);
    return output.out;
  };
  CHECK_THAT(explained({}), Contains("part of product"));
  CHECK_THAT(explained({"--no-fuse=batch-norm", "--threads=1"}), Contains("part of product"));
  CHECK_THAT(explained({"--no-fuse=epilogue"}), !Contains("part of product"));
  CHECK_THAT(explained({"--no-fuse"}), !Contains("part of product"));
  CHECK_THAT(explained({"--no-fuse=chain,epilogue"}), !Contains("part of product"));
  CHECK_THAT(explained({"--no-fuse=epilogue", "--no-fuse=chain"}), !Contains("part of product"));
  CHECK_THAT(explained({"--no-fuse=chain", "--no-fuse=norm"}), Contains("part of product"));
  CHECK_THAT(explained({"--allow-bf16-compute"}), Contains("MatMul-13"));
}

TEST_CASE("explain counts what computed 16-bit values in float64, and says why") {
  const Runs runs;
  runs.WriteModel("product.onnx", kProduct);
  const auto explained = [&](const std::string& model) {
    const ToolOutput output = runs.Run({"--random-inputs", "--explain", "-q"}, model);
    CHECK(output.exit_code == 0);
    return output.out;
  };
  CHECK_THAT(explained("@product.onnx"), Contains("1 of 3 nodes on 16-bit values were widened"));
  CHECK_THAT(explained("@product.onnx"), Contains("reference (no vectorised kernel of it)"));
  CHECK_THAT(explained("@model.onnx"), !Contains("widened"));
  runs.WriteModel("fast.onnx", R"(<ir_version: 9, opset_import: ["" : 20]>
    g (float16[2,2] x) => (float16[2,2] y) { y = Relu (x) })");
  CHECK_THAT(explained("@fast.onnx"), Contains("0 of 1 nodes on 16-bit values were widened"));
}

TEST_CASE("strict refuses what computes 16-bit values in float64, by name") {
  const Runs runs;
  runs.WriteModel("product.onnx", kProduct);
  runs.Fails({"--random-inputs", "--strict"}, 3, "rest (Mod-13): its 16-bit values would be computed in float64",
             "@product.onnx");
  CHECK(runs.Run({"--inputs", "@sample.npz", "--strict", "-q"}).exit_code == 0);
}

TEST_CASE("strict refuses before anything is computed where types tell") {
  const Runs runs;
  runs.WriteModel("late.onnx", R"(<ir_version: 9, opset_import: ["" : 20]>
    g (float16[2,2] x, int64[1] at) => (float16[1,2] row, float16[2,2] z) {
      row = Gather (x, at)
      [rest] z = Mod <fmod = 1> (x, x)
    })");
  runs.folder().Write("at.npy", *NpyBytes(Tensor::Of<int64_t>(DType::kInt64, {1}, {7})));
  const std::vector<std::string> flags = {"--random-inputs", "--input", "at=@at.npy"};
  runs.Fails(flags, 2, "Gather", "@late.onnx");  // which comes first, and fails
  std::vector<std::string> strict = flags;
  strict.emplace_back("--strict");
  runs.Fails(strict, 3, "rest (Mod-13): its 16-bit values would be computed in float64", "@late.onnx");
  runs.Fails({"--strict"}, 3, "(no vectorised kernel of it), which --strict refuses", "@late.onnx");
}

TEST_CASE("strict leaves what may not run to the run") {
  const Runs runs;
  runs.WriteModel("branch.onnx", R"(<ir_version: 9, opset_import: ["" : 20]>
    g (bool c, float16[2,2] x) => (float16[2,2] y) {
      y = If <then_branch = t () => (float16[2,2] p) { p = Relu (x) },
              else_branch = e () => (float16[2,2] q) { [rest] q = Mod <fmod = 1> (x, x) }> (c)
    })");
  runs.folder().Write("no.npy", *NpyBytes(Tensor::Of<bool>(DType::kBool, {}, {false})));
  CHECK(runs.Run({"--random-inputs", "--strict"}, "@branch.onnx").exit_code == 0);
  runs.Fails({"--random-inputs", "--input", "c=@no.npy", "--strict"}, 3, "rest (Mod-13): its 16-bit values",
             "@branch.onnx");
}

TEST_CASE("what has no kernel is named with its version, its node and the types that it is given") {
  const Runs runs;
  runs.WriteModel("gate.onnx", R"(<ir_version: 9, opset_import: ["" : 20, "my.domain" : 3]>
    g (float16[n,2] x) => (float[n,2] y) <int64[1] k = {1}> {
      h = Neg (x)
      [gate] y = my.domain.Gate (h, , k)
    })");
  runs.Fails({}, 3, "gate.onnx: gate: no kernel for my.domain::Gate-3 of (float16[n,2], absent, int64[1])",
             "@gate.onnx");
  runs.Fails({"--random-inputs"}, 3, "Gate-3", "@gate.onnx");
}

// Gather fails in a run, as its index is out of range; Resize cannot be, of truth values.
constexpr absl::string_view kSums = R"(<ir_version: 9, opset_import: ["" : 19]>
  g (float[2] a, bool[1,1,2,2] x, int64[1] at) => (float[1] row, bool[1,1,4,4] y) <float[4] s = {1, 1, 2, 2}> {
    row = Gather (a, at)
    [sums] y = Resize <mode = "MODE"> (x, , s)
  })";

TEST_CASE("types that no kernel takes are refused before anything runs, with node, version and types") {
  const Runs runs;
  runs.folder().Write("at.npy", *NpyBytes(Tensor::Of<int64_t>(DType::kInt64, {1}, {7})));
  runs.WriteModel("sums.onnx", absl::StrReplaceAll(kSums, {{"MODE", "linear"}}));
  const std::string expected = "sums.onnx: sums: no kernel for Resize-19 of (bool[1,1,2,2], absent, float32[4])";
  runs.Fails({"--random-inputs", "--input", "at=@at.npy"}, 3, expected, "@sums.onnx");
  runs.Fails({}, 3, expected, "@sums.onnx");
  runs.WriteModel("moves.onnx", absl::StrReplaceAll(kSums, {{"MODE", "nearest"}}));
  runs.Fails({"--random-inputs", "--input", "at=@at.npy"}, 2, "Gather", "@moves.onnx");
  CHECK(runs.Run({"--random-inputs"}, "@moves.onnx").exit_code == 0);
}

TEST_CASE("types that no kernel takes are left to the run where the node may not run") {
  const Runs runs;
  runs.WriteModel("branch.onnx", R"(<ir_version: 9, opset_import: ["" : 19]>
    g (bool c, bool[1,1,2,2] x) => (bool[1,1,n,m] y) <float[4] s = {1, 1, 2, 2}> {
      y = If <then_branch = t () => (bool[1,1,2,2] p) { p = Not (x) },
              else_branch = e () => (bool[1,1,4,4] q) { [sums] q = Resize <mode = "linear"> (x, , s) }> (c)
    })");
  runs.folder().Write("no.npy", *NpyBytes(Tensor::Of<bool>(DType::kBool, {}, {false})));
  CHECK(runs.Run({"--random-inputs"}, "@branch.onnx").exit_code == 0);
  runs.Fails({"--random-inputs", "--input", "c=@no.npy"}, 3, "sums (Resize-19): no kernel for bool", "@branch.onnx");
}

TEST_CASE("profile prints the time by operator, and writes that of each node") {
  const Runs runs;
  const std::string out = runs.Succeeds({"--inputs", "@sample.npz", "--profile", "@trace.json", "--warmup", "1"});
  CHECK_THAT(out, Contains("operator") && Contains("Sigmoid-13") && Contains("the whole run: ") && Contains("wrote "));
  CHECK_THAT(runs.folder().Read("trace.json"), Contains("\"traceEvents\": [") && Contains("\"node\": \"second\""));
  runs.Fails({"--inputs", "@sample.npz", "--profile", "@none/trace.json"}, 6, "trace.json");
}

TEST_CASE("a profile is a page where its name says so, and replaces nothing of another kind") {
  const Runs runs;
  runs.Succeeds({"--inputs", "@sample.npz", "--profile", "@trace.html"});
  const std::string page = runs.folder().Read("trace.html");
  CHECK_THAT(page, Catch::Matchers::StartsWith("<!doctype html>") && Contains("\"kind\":\"profile\"") &&
                       Contains("\"alive\":[["));
  CHECK_THAT(page, Contains("[\"second\",\"Sigmoid-13\","));
  runs.Succeeds({"--inputs", "@sample.npz", "--profile", "@trace.html"});  // itself
  runs.folder().Write("other.html", "{\"a\": 1}");
  runs.Fails({"--inputs", "@sample.npz", "--profile", "@other.html"}, 4, "other.html");
}

TEST_CASE("bench prints a line, or JSON") {
  const Runs runs;
  const std::vector<std::string> flags = {"--inputs", "@sample.npz", "--bench", "--iterations", "3", "--warmup", "0"};
  CHECK_THAT(runs.Succeeds(flags), Contains("3 runs on cpu after 0 to warm up: median"));
  std::vector<std::string> with_json = flags;
  with_json.emplace_back("--json");
  const std::string json = runs.Succeeds(with_json);
  for (const char* const field : {"median_ms", "min_ms", "p90_ms", "items_per_second", "load_ms", "peak_bytes",
                                  "activation_bytes", "largest_live_bytes"}) {
    CHECK_THAT(json, Contains(absl::StrCat("\"", field, "\": ")));
  }
}

TEST_CASE("bench answers each line of stdin with what that many runs take") {
  const Runs runs;
  const auto answer = [&](const std::string& lines) {
    std::istringstream requests(lines);
    const std::vector<std::string> arguments = {runs.folder().File("model.onnx"), "--random-inputs", "--bench=stdin"};
    ToolStreams streams;
    streams.requests = &requests;
    return RunAmpRun(arguments, streams);
  };
  CHECK(answer("").out == "ready\n");
  const ToolOutput output = answer("1\n20\n");
  CHECK(output.exit_code == 0);
  const std::vector<std::string> lines = absl::StrSplit(output.out, '\n', absl::SkipEmpty());
  REQUIRE(lines.size() == 3);
  for (const std::string& line : {lines[1], lines[2]}) {
    double wall_ms = 0, cpu_ms = -1;
    const std::pair<std::string, std::string> numbers = absl::StrSplit(line, ' ');
    CHECK((absl::SimpleAtod(numbers.first, &wall_ms) && absl::SimpleAtod(numbers.second, &cpu_ms)));
    CHECK((wall_ms > 0 && cpu_ms >= 0));
  }
  CHECK(answer("0\n").exit_code == 2);
  CHECK_THAT(answer("one\n").err, Contains("--bench=stdin: expected a number of runs, found 'one'"));
}

TEST_CASE("compare prints how far outputs are off, and fails beyond the tolerance") {
  const Runs runs;
  CHECK(runs.Succeeds({"--inputs", "@sample.npz", "--compare", "@model.onnx"}) ==
        "y  relative L2 error 0, largest error 0, cosine 1 of 2 elements\n"
        "z  relative L2 error 0, largest error 0, cosine 1 of 2 elements\n");
  const std::vector<std::string> flags = {"--inputs", "@sample.npz", "--compare", "@other.onnx"};
  const ToolOutput output = runs.Run(flags);
  CHECK_THAT(output.out, Contains("y  relative L2 error 0.158, largest error 0.5, cosine 0.9877"));
  runs.Fails(flags, 7,
             "other.onnx: output 'y': expected a relative error of at most 0.02, found relative L2 error 0.158");
  runs.Succeeds({"--inputs", "@sample.npz", "--compare", "@other.onnx", "--tolerance", "0.2"});
}

TEST_CASE("models with bfloat16 values are judged by bfloat16's bound, as --verify does") {
  const Runs runs;
  runs.folder().Write("p.npz", *NpzBytes({{"x", Tensor::Of<float>(DType::kFloat32, {1, 2}, {1, 1})}}));
  const auto write_scaled = [&](const std::string& name, const std::string& type, const std::string& scale) {
    runs.WriteModel(name, R"(<ir_version: 8, opset_import: ["" : 22]>
      g (float[n,2] x) => (float[n,2] y) <float scale = {)" +
                              scale + "}> { a = Cast <to = " + type +
                              "> (x)  b = Relu (a)  c = Cast <to = 1> (b)  y = Mul (c, scale) }");
  };
  write_scaled("float32.onnx", "1", "1");
  write_scaled("bfloat16.onnx", "16", "1.05");
  write_scaled("float16.onnx", "10", "1.05");
  runs.Succeeds({"--inputs", "@p.npz", "--compare", "@bfloat16.onnx"}, "@float32.onnx");
  const std::string json =
      runs.Succeeds({"--inputs", "@p.npz", "--compare", "@bfloat16.onnx", "--json"}, "@float32.onnx");
  CHECK(nlohmann::json::parse(json)["tolerance"] == 0.1);
  runs.Fails({"--inputs", "@p.npz", "--compare", "@float16.onnx"}, 7, "expected a relative error of at most 0.02",
             "@float32.onnx");
  runs.Fails({"--inputs", "@p.npz", "--compare", "@bfloat16.onnx", "--tolerance", "0.02"}, 7, "at most 0.02",
             "@float32.onnx");
}

TEST_CASE("whole numbers that differ are told as such") {
  const Runs runs;
  const auto write = [&](const std::string& name, const std::string& shift) {
    runs.WriteModel(name, R"(<ir_version: 8, opset_import: ["" : 17]>
      g (float[2,3] x) => (int64[2,3] y) <float shift = {)" +
                              shift + R"(}> {
        z = Add (x, shift)  y = Cast <to = 7> (z) })");
  };
  write("a.onnx", "100");
  write("b.onnx", "200");
  runs.Fails({"--random-inputs", "--compare", "@b.onnx"}, 7,
             "output 'y': expected equal elements, found 6 unequal of 6 elements", "@a.onnx");
}

TEST_CASE("a page has what compare finds, on the way, too, and is written where models differ") {
  const Runs runs;
  const std::vector<std::string> flags = {"--inputs", "@sample.npz", "--compare", "@model.onnx", "--report"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), flags.begin(), flags.end());
    return more;
  };
  CHECK_THAT(runs.Succeeds(with({"@same.html"})), Contains("same.html"));
  const std::string same = runs.folder().Read("same.html");
  CHECK_THAT(same, Contains("\"kind\":\"comparison\"") && Contains("\"verdict\":\"\"") && Contains("\"second\""));
  runs.Fails(with({"@same.json"}), 2, "--report: expected FILE.html, found ");
  runs.Fails({"--inputs", "@sample.npz", "--report", "@same.html"}, 2, "--report");
}

TEST_CASE("compare counts units in the last place, and prints JSON") {
  const Runs runs;
  const std::vector<std::string> flags = {"--inputs", "@sample.npz", "--compare", "@model.onnx", "--ulps"};
  CHECK_THAT(runs.Succeeds(flags), Contains("cosine 1 of 2 elements\n  ulps of float32: 0: 2\nz"));
  const std::string text = runs.Run({"--inputs", "@sample.npz", "--compare", "@other.onnx", "--json"}).out;
  const nlohmann::json json = nlohmann::json::parse(text);
  CHECK(json["agree"] == false);
  CHECK(json["tolerance"] == 0.02);
  REQUIRE(json["outputs"].size() == 2);
  CHECK(json["outputs"][0]["name"] == "y");
  CHECK(json["outputs"][0]["largest_error"] == 0.5);
  CHECK(json["outputs"][0]["ulps"]["unit"] == "float32");
  runs.Fails({"--random-inputs", "--ulps"}, 2, "--ulps is for --compare, which is not there");
}

TEST_CASE("compare and bench together print what runs of both models take") {
  const Runs runs;
  constexpr absl::string_view kFloat = R"(<ir_version: 9, opset_import: ["" : 20]>
    g (float[2,2] x) => (float[2,2] y) <float[2,2] w = {1, 0, 0, 1}> { h = MatMul (x, w)  s = Hardmax (h)  y = Neg (s) })";
  constexpr absl::string_view kLow = R"(<ir_version: 9, opset_import: ["" : 20]>
    g (float16[2,2] x) => (float16[2,2] y) <float16[2,2] w = {15360, 0, 0, 15360}> {
      h = MatMul (x, w)  s = Hardmax (h)  y = Neg (s)
    })";
  runs.WriteModel("float.onnx", kFloat);
  runs.WriteModel("low.onnx", kLow);
  std::vector<std::string> flags = {"--random-inputs", "--compare", "@low.onnx", "--bench", "--iterations", "3"};
  const ToolOutput output = runs.Run(flags, "@float.onnx");
  CHECK(output.exit_code == 0);
  CHECK_THAT(output.out, Contains("y  relative L2 error ") && Contains("\nMODEL  median ") &&
                             Contains(" of 3 runs; activations ") && Contains("weights 0.016 kB\nOTHER  median ") &&
                             Contains("weights 0.008 kB\nOTHER against MODEL  ") && Contains("0.5 x the weights\n"));
  flags.emplace_back("--json");
  const nlohmann::json json = nlohmann::json::parse(runs.Run(flags, "@float.onnx").out);
  CHECK(json["iterations"] == 3);
  CHECK(json["costs"]["model"]["weight_bytes"] == 16);
  CHECK(json["costs"]["other"]["weight_bytes"] == 8);
  CHECK(json["costs"]["model"]["activation_bytes"] > 0);
  CHECK(json["costs"]["other"]["median_ms"] > 0);
  runs.Fails({"--random-inputs", "--compare", "@other.onnx", "--bench"}, 7, "output 'y'");
  CHECK_THAT(runs.Run({"--random-inputs", "--compare", "@other.onnx", "--bench"}).out, Contains("OTHER  median "));
  runs.Fails({"--random-inputs", "--compare", "@other.onnx", "--bench=stdin"}, 2, "--bench without =stdin");
}

// The table does not count as read: one row of it is picked.
TEST_CASE("bench says how fast large weights are read beside what memory gives") {
  const Runs runs;
  constexpr int64_t kWidth = 4096, kRows = 1000;
  onnx::ModelProto model = ModelFromText(R"(<ir_version: 9, opset_import: ["" : 20]>
    g (int64[1] x) => (float[1,4096] y) { row = Gather (table, x)  y = MatMul (row, w) })");
  const auto add = [&](const std::string& name, int64_t rows) {
    onnx::TensorProto& weight = *model.mutable_graph()->add_initializer();
    weight.set_name(name);
    weight.set_data_type(onnx::TensorProto::FLOAT);
    weight.add_dims(rows);
    weight.add_dims(kWidth);
    weight.set_raw_data(std::string(static_cast<size_t>(rows * kWidth) * sizeof(float), '\0'));
  };
  add("table", kRows);
  add("w", kWidth);
  runs.folder().Write("large.onnx", model.SerializeAsString());
  const std::vector<std::string> flags = {"--random-inputs", "--bench", "--iterations", "2", "--threads", "2"};
  const std::string text = runs.Run(flags, "@large.onnx").out;
  CHECK_THAT(text, Contains("; weights 83.49 MB, of which a run reads 67.11 MB at ") &&
                       Contains(" GB/s; memory gives ") && Contains(" GB/s\n"));
  std::vector<std::string> as_json = flags;
  as_json.emplace_back("--json");
  const nlohmann::json json = nlohmann::json::parse(runs.Run(as_json, "@large.onnx").out);
  CHECK(json["weight_bytes"] == (kRows + kWidth) * kWidth * 4);
  CHECK(json["read_weight_bytes"] == kWidth * kWidth * 4);
  CHECK(json["weight_bytes_per_second"] > 0);
  CHECK(json["memory_bytes_per_second"] > 0);
  const nlohmann::json small = nlohmann::json::parse(runs.Run(as_json).out);
  CHECK_FALSE(small.contains("memory_bytes_per_second"));
}

TEST_CASE("compare gives a model of another float type the inputs that it declares") {
  const Runs runs;
  runs.WriteModel("other.onnx", R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float16[n,2] x) => (float16[n,2] y, float16[n,2] z) {
      y = LeakyRelu <alpha = 0.5> (x)
      z = Sigmoid (y)
    })");
  CHECK_THAT(runs.Succeeds({"--inputs", "@sample.npz", "--compare", "@other.onnx"}), Contains("z  relative L2 error"));
}

TEST_CASE("compare of outputs without a finite element has compared nothing") {
  const Runs runs;
  const float nan = std::numeric_limits<float>::quiet_NaN();
  runs.folder().Write("nan.npz", *NpzBytes({{"x", Tensor::Of<float>(DType::kFloat32, {1, 2}, {nan, nan})}}));
  runs.folder().Write("none.npz", *NpzBytes({{"x", Tensor::Of<float>(DType::kFloat32, {0, 2}, {})}}));
  const auto fails = [&](const char* file, const char* what, const char* line) {
    const ToolOutput output = runs.Run({"--inputs", file, "--compare", "@model.onnx"});
    CHECK(output.exit_code == 2);
    CHECK_THAT(output.err,
               Contains("--compare: expected inputs on which outputs have finite elements") && Contains(what));
    CHECK_THAT(output.out, Contains(line));
  };
  fails("@nan.npz", "found none among 4 elements", "y  nothing to compare: none of 2 elements is finite");
  fails("@none.npz", "found none among 0 elements", "y  nothing to compare: it has no elements");
}

TEST_CASE("compare says of how many elements its numbers are") {
  const Runs runs;
  runs.WriteModel("logs.onnx", R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[n,2] x) => (float[n,2] y) { y = Log (x) })");
  runs.WriteModel("none.onnx", R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[n,2] x) => (float[n,2] y) { z = Sub (x, x)  y = Log (z) })");
  runs.folder().Write("zero.npz", *NpzBytes({{"x", Tensor::Of<float>(DType::kFloat32, {1, 2}, {0, 1})}}));
  CHECK_THAT(runs.Run({"--inputs", "@zero.npz", "--compare", "@logs.onnx"}, "@logs.onnx").out,
             Contains("of 2 elements, 1 of them finite in both"));
  runs.folder().Write("one.npz", *NpzBytes({{"x", Tensor::Of<float>(DType::kFloat32, {1, 2}, {1, 1})}}));
  const ToolOutput output = runs.Run({"--inputs", "@one.npz", "--compare", "@none.onnx", "--ulps"}, "@logs.onnx");
  CHECK(output.exit_code == 7);
  CHECK_THAT(output.out, Contains("y  2 of 2 elements newly not finite\n") && !Contains("ulps"));
}

TEST_CASE("infinities in between are not told where the outputs agree and are finite") {
  const Runs runs;
  constexpr absl::string_view kMasks = R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[n,2] x) => (float[n,2] y) { l = Log (x) y = Exp (l) })";
  runs.WriteModel("masks.onnx", kMasks);
  runs.folder().Write("zero.npz", *NpzBytes({{"x", Tensor::Of<float>(DType::kFloat32, {1, 2}, {0, 1})}}));
  const ToolOutput output = runs.Run({"--inputs", "@zero.npz", "--compare", "@masks.onnx"}, "@masks.onnx");
  CHECK(output.exit_code == 0);
  CHECK(!absl::StrContains(output.out, "not finite"));
}

TEST_CASE("float32 outputs are counted in units of the type that they came through") {
  const Runs runs;
  constexpr absl::string_view kLow = R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[n,2] x) => (float[n,2] y, float[n,2] z) {
      h = Cast <to = 10> (x)
      l = LeakyRelu <alpha = 0.5> (h)
      y = Cast <to = 1> (l)
      z = Sigmoid (y)
    })";
  runs.WriteModel("low.onnx", kLow);
  const std::string text = runs.Succeeds({"--inputs", "@sample.npz", "--compare", "@low.onnx", "--ulps"});
  CHECK_THAT(text, Contains("ulps of float16: 0: 2"));
  CHECK(!absl::StrContains(text, "ulps of float32"));
}

TEST_CASE("compare names the first tensor that is not finite") {
  const Runs runs;
  runs.WriteModel("other.onnx", R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[n,2] x) => (float[n,2] y, float[n,2] z) {
      y = LeakyRelu <alpha = 1e38> (x)
      beyond = LeakyRelu <alpha = 1e38> (y)
      z = Sigmoid (beyond)
    })");
  const ToolOutput output = runs.Run({"--inputs", "@sample.npz", "--compare", "@other.onnx"});
  CHECK(output.exit_code == 7);
  CHECK_THAT(output.out, Contains("first tensor of OTHER that is not finite: beyond\n"));
}

TEST_CASE("a model that was laid out for one processor is refused with what to give instead") {
  const Runs runs;
  runs.WriteModel("laid_out.onnx", R"(<ir_version: 8, opset_import: ["" : 17, "com.microsoft.nchwc" : 1]>
    g (float[1,8,2,2] x) => (float[1,8,2,2] y) {
      [enter] b = com.microsoft.nchwc.ReorderInput (x)
      y = com.microsoft.nchwc.ReorderOutput <channels = 8> (b)
    })");
  runs.Fails({"--random-inputs"}, 3,
             "enter: no kernel for com.microsoft.nchwc::ReorderInput-1 of (float32[1,8,2,2]); 2 nodes of "
             "com.microsoft.nchwc, 'enter' first: ONNX Runtime laid the model out for one processor (ORT_ENABLE_ALL); "
             "give it as it was before, or saved with ORT_ENABLE_EXTENDED",
             "@laid_out.onnx");
}

}  // namespace
}  // namespace amp
