// --calibration, --ranges and --verify, through the tool.
#include <filesystem>
#include <limits>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"
#include "runtime/values/npy.h"
#include "tests/catch2.h"
#include "tests/tool_run.h"
#include "tools/library/amp.h"

namespace amp {
namespace {

// h is x times 1000, twice: beyond float16 where x is 0.1.
constexpr absl::string_view kGrows = R"(<ir_version: 8, opset_import: ["" : 17]>
  g (float[1,2] x) => (float[1,2] y) <float[2,2] w = {1000, 0, 0, 1000}, float[2,2] v = {0.001, 0, 0, 0.001}> {
    [first] a = MatMul (x, w)
    [second] h = MatMul (a, w)
    [third] b = MatMul (h, v)
    [last] y = MatMul (b, v)
  })";

std::string Sample(float value) {
  const Tensor x = Tensor::Of<float>(DType::kFloat32, {1, 2}, {value, -value});
  const absl::StatusOr<std::string> bytes = NpzBytes({{"x", x}});
  REQUIRE(bytes.ok());
  return *bytes;
}

struct DataFolder : ToolFolder {
  explicit DataFolder(absl::string_view model = kGrows) : ToolFolder(model) {}
  std::string SampleOf(float value) const { return folder.Write(absl::StrCat("x", value, ".npz"), Sample(value)); }
  std::string ReasonOf(const std::string& node, std::vector<std::string> flags) const {
    flags.insert(flags.end(), {"--report", folder.File("r.json")});
    const ToolOutput output = RunTool(flags);
    INFO(output.err);
    REQUIRE(output.exit_code == 0);
    const nlohmann::json report = nlohmann::json::parse(folder.Read("r.json"));
    for (const auto& entry : report["nodes"]) {
      if (entry["path"] == node) return entry["low"] ? "low" : std::string(entry["because"]);
    }
    return "none";
  }
};

TEST_CASE("what stays in range on the data is low") {
  const DataFolder run;
  CHECK(run.ReasonOf("second", {"--calibration", run.SampleOf(0.001f)}) == "low");
}

TEST_CASE("what leaves float16's range on the data stays float32, with the number") {
  const DataFolder run;
  const std::string sample = run.SampleOf(0.1f);
  CHECK(run.ReasonOf("second", {}) == "low");
  CHECK(absl::StrContains(run.ReasonOf("second", {"--calibration", sample}),
                          "observed: 'h' reached 1e+05, beyond float16's largest 65504"));
  CHECK(run.ReasonOf("third", {"--calibration", sample}) != "low");
  CHECK(run.ReasonOf("first", {"--calibration", sample}) == "low");
  CHECK(run.ReasonOf("last", {"--calibration", sample}) == "low");
  CHECK(run.ReasonOf("second", {"--calibration", sample, "--dtype", "bfloat16"}) == "low");
}

// Data show each value: one that leaves the range says nothing of the residual stream that it goes into.
TEST_CASE("what is behind a value that leaves the range on the data is judged by its own values") {
  const DataFolder run(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[1,2] x) => (float[1,2] y)
        <float[2,2] w = {1000, 0, 0, 1000}, float[2,2] v = {0.001, 0, 0, 0.002}, float[2,2] u = {1, 2, 3, 4}> {
      [first] a = MatMul (x, u)
      [hot] h = MatMul (a, w)
      [hotter] i = MatMul (h, w)
      [cool] c = MatMul (i, v)
      [stream] s = Add (a, c)
      [next] n = MatMul (s, u)
      [again] t = Add (s, n)
      [last] y = MatMul (t, u)
    })");
  const std::string sample = run.SampleOf(0.1f);
  CHECK(run.ReasonOf("cool", {"--calibration", sample}) != "low");
  CHECK(run.ReasonOf("again", {"--calibration", sample}) == "low");
  CHECK(run.ReasonOf("stream", {"--calibration", sample}) == "low");
}

TEST_CASE("within a factor of two of the largest number is too close") {
  const DataFolder run;
  CHECK(absl::StrContains(run.ReasonOf("second", {"--calibration", run.SampleOf(0.04f)}), "within a factor of 2"));
  CHECK(run.ReasonOf("second", {"--calibration", run.SampleOf(0.03f)}) == "low");
}

TEST_CASE("of several samples the largest counts") {
  const DataFolder run;
  CHECK(run.ReasonOf("second", {"--calibration", run.SampleOf(0.1f), "--calibration", run.SampleOf(0.001f)}) != "low");
}

TEST_CASE("a folder of samples is all of them") {
  const DataFolder run;
  const std::string samples = run.folder.File("samples");
  REQUIRE(std::filesystem::create_directory(samples));
  CHECK(absl::StrContains(ErrorLine(run.RunTool({"--calibration", samples}), 2),
                          "--calibration: expected samples (.npz) in the folder, found none"));
  run.folder.Write("samples/a.npz", Sample(0.1F));
  run.folder.Write("samples/b.npz", Sample(0.001F));
  run.folder.Write("samples/notes.txt", "no sample");
  CHECK(absl::StrContains(run.ReasonOf("second", {"--calibration", samples}), "observed: 'h' reached 1e+05"));
}

// The order of scores that are 30 and a displacement is about the displacements, which data show to be plain numbers.
TEST_CASE("a bias ahead of ArgMax keeps nothing but the sum float32 on data") {
  const DataFolder run(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[1,2] x) => (int64[1] y)
        <float[2,2] w = {0.5, -1.5, 2, 1}, float[2,2] v = {4, 1, -3, 2}, float[2] bias = {30, 30}> {
      [first] a = MatMul (x, w)
      [second] b = MatMul (a, v)
      [sum] s = Add (b, bias)
      [choice] y = ArgMax <axis = 1, keepdims = 0> (s)
    })");
  for (const std::string dtype : {"float16", "bfloat16"}) {
    const std::vector<std::string> flags = {"--dtype", dtype, "--calibration", run.SampleOf(3)};
    CHECK(run.ReasonOf("first", flags) == "low");
    CHECK(run.ReasonOf("second", flags) == "low");
    CHECK((dtype == "float16" || run.ReasonOf("sum", flags) != "low"));
  }
}

TEST_CASE("what vanishes on the data stays float32") {
  const DataFolder run;
  CHECK(absl::StrContains(run.ReasonOf("first", {"--calibration", run.SampleOf(1e-12f)}), "would lose"));
}

TEST_CASE("ranges are written with a calibration and read without one") {
  const DataFolder run;
  const std::string file = run.folder.File("ranges.json");
  const std::string why = run.ReasonOf("second", {"--calibration", run.SampleOf(0.1f), "--ranges", file});
  const std::string bytes = run.folder.Read("out.onnx");
  CHECK(nlohmann::json::parse(run.folder.Read("ranges.json"))["values"]["h"]["float16"]["overflow"] == 2);
  CHECK(run.ReasonOf("second", {"--ranges", file}) == why);
  CHECK(run.folder.Read("out.onnx") == bytes);
}

TEST_CASE("ranges that lack a mask tell nothing of it") {
  const DataFolder run(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[1,2] x) => (float[1,2] y) <float[2,2] w = {1, 2, 3, 4}> {
      [scores] a = MatMul (x, w)
      [hide] s = Add (a, x)
      [share] p = Softmax (s)
      [last] y = MatMul (p, w)
    })");
  const std::string file = run.folder.File("ranges.json");
  CHECK(absl::StrContains(run.ReasonOf("hide", {}), "masks: input 'x' is added to what a softmax reads"));
  CHECK(run.ReasonOf("hide", {"--calibration", run.SampleOf(1), "--ranges", file}) == "low");
  nlohmann::json ranges = nlohmann::json::parse(run.folder.Read("ranges.json"));
  ranges["values"].erase("x");
  run.folder.Write("ranges.json", ranges.dump());
  CHECK(absl::StrContains(run.ReasonOf("hide", {"--ranges", file}), "masks: input 'x'"));
}

TEST_CASE("files that are no ranges are refused") {
  const DataFolder run;
  const auto error_of = [&](const std::string& text) {
    const std::string file = run.folder.Write("ranges.json", text);
    return ErrorLine(run.RunTool({"--ranges", file}), 2);
  };
  CHECK(absl::EndsWith(error_of("{"),
                       "ranges.json: expected ranges that --ranges wrote, found no JSON to the end: it breaks "
                       "off there"));
  CHECK(absl::EndsWith(error_of("{\n  \"schema\": one}"), "found no JSON from line 2, column 13 on"));
  CHECK(absl::EndsWith(error_of("1e999"), "found no JSON: a number is too large"));
  CHECK(absl::StrContains(error_of("[]"), "expected ranges of schema 1 or 2"));
  CHECK(absl::StrContains(error_of(R"({"schema": 1, "values": {"h": {"elements": -1}}})"), "'elements'"));
  CHECK(absl::StrContains(ErrorLine(run.RunTool({"--ranges", run.folder.File("none")}), 6), "none"));
}

TEST_CASE("ranges tell the ends of values, and files of before are read without them") {
  const DataFolder run;
  const std::string file = run.folder.File("ranges.json");
  CHECK(run.RunTool({"--calibration", run.SampleOf(0.1f), "--ranges", file}).exit_code == 0);
  nlohmann::json ranges = nlohmann::json::parse(run.folder.Read("ranges.json"));
  CHECK(ranges["schema"] == 2);
  nlohmann::json& input = ranges["values"]["x"];
  CHECK(input["lowest"].get<double>() <= input["highest"].get<double>());
  CHECK(input["from_zero"].get<double>() > 0);
  for (auto& value : ranges["values"]) {
    for (const char* end : {"lowest", "highest", "from_zero", "below_one", "above_minus_one"}) value.erase(end);
  }
  run.folder.Write("ranges.json", ranges.dump());
  CHECK(absl::StrContains(ErrorLine(run.RunTool({"--ranges", file}), 2), "expected a number 'lowest', or null"));
  ranges["schema"] = 1;
  run.folder.Write("ranges.json", ranges.dump());
  CHECK(run.RunTool({"--ranges", file}).exit_code == 0);
}

TEST_CASE("ranges of no value, or of another model's, are refused") {
  const DataFolder run;
  const auto error_of = [&](const std::string& values) {
    const std::string file =
        run.folder.Write("ranges.json", absl::StrCat(R"({"schema": 1, "values": {)", values, "}}"));
    return ErrorLine(run.RunTool({"--ranges", file}), 2);
  };
  CHECK(absl::StrContains(error_of(""), "ranges: expected those of the model's values ('x', 'a', 'h' and 2 more)"));
  CHECK(absl::StrContains(error_of(""), "found no value"));
  const std::string none = R"("float16": {"overflow": 0, "underflow": 0, "error": 0}, "bfloat16": {"overflow": 0,
                              "underflow": 0, "error": 0}})";
  CHECK(
      absl::StrContains(error_of(absl::StrCat(R"("q": {"elements": 2, "largest": 1, )", none)), "found others' ('q')"));
}

TEST_CASE("values without ranges, and ranges of none, are told, and refused by --strict") {
  const DataFolder run;
  const std::string file = run.folder.File("ranges.json");
  CHECK(run.RunTool({"--calibration", run.SampleOf(0.1f), "--ranges", file, "--strict"}).exit_code == 0);
  CHECK(run.RunTool({"--ranges", file, "--strict"}).exit_code == 0);
  nlohmann::json ranges = nlohmann::json::parse(run.folder.Read("ranges.json"));
  ranges["values"]["q"] = ranges["values"]["h"];
  ranges["values"].erase("h");
  ranges["values"]["b"]["elements"] = 0;
  run.folder.Write("ranges.json", ranges.dump());
  const ToolOutput output = run.RunTool({"--ranges", file});
  CHECK(output.exit_code == 0);
  CHECK(absl::StrContains(output.err, "ranges: 2 of 5 float32 values have none ('h', 'b'), and are judged without"));
  CHECK(absl::StrContains(output.err, "ranges: 1 of 5 are of no value of the model ('q')"));
  CHECK(absl::StrContains(ErrorLine(run.RunTool({"--ranges", file, "--strict"}), 2), "2 of 5 float32 values"));
}

// x may have any number of rows.
constexpr absl::string_view kRows = R"(<ir_version: 8, opset_import: ["" : 17]>
  g (float[n,2] x) => (float[n,2] y) <float[2,2] w = {1, 2, 3, 4}> { y = MatMul (x, w) })";

TEST_CASE("data without a number is no calibration, and verifies nothing") {
  const DataFolder run(kRows);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  run.folder.Write("nan.npz", *NpzBytes({{"x", Tensor::Of<float>(DType::kFloat32, {1, 2}, {nan, nan})}}));
  run.folder.Write("none.npz", *NpzBytes({{"x", Tensor::Of<float>(DType::kFloat32, {0, 2}, {})}}));
  const auto error_of = [&](const std::string& flag, const std::string& file) {
    std::vector<std::string> flags = {flag, run.folder.File(file)};
    if (flag == "--verify") flags = {absl::StrCat(flag, "=", flags[1])};
    return ErrorLine(run.RunTool(flags), 2);
  };
  for (const char* flag : {"--calibration", "--verify"}) {
    CHECK(absl::StrContains(error_of(flag, "nan.npz"),
                            "input 'x': expected numbers, found NaN in all of its 2 elements"));
  }
  CHECK(absl::StrContains(error_of("--calibration", "none.npz"), "expected data on which float32 values have finite"));
  CHECK(absl::StrContains(error_of("--verify", "none.npz"), "have finite elements to compare, found none among 0"));
  CHECK(!run.folder.Has("out.onnx"));
}

TEST_CASE("where a kernel is missing, a calibration names the model and not the sample") {
  const DataFolder run(R"(<ir_version: 8, opset_import: ["" : 17, "com.microsoft" : 1]>
    g (float[1,2] x) => (float[1,2,1] y) <int64[3] s = {1, 2, 1}, int32[1] length = {1}> {
      q = Reshape (x, s)
      y = com.microsoft.MultiHeadAttention <num_heads = 1> (q, q, q, , , , , , length)
    })");
  const std::string error = ErrorLine(run.RunTool({"--calibration", run.SampleOf(0.1f)}), 3);
  CHECK(absl::StrContains(error, "in.onnx: "));
  CHECK(absl::StrContains(error, "input 8: expected none, found one: no kernel for it"));
  CHECK(!absl::StrContains(error, ".npz"));
}

TEST_CASE("a calibration that is NaN in part is told, and refused by --strict") {
  const DataFolder run(kRows);
  const Tensor x = Tensor::Of<float>(DType::kFloat32, {2, 2}, {1, std::numeric_limits<float>::quiet_NaN(), 2, 3});
  const std::vector<std::string> flags = {"--calibration", run.folder.Write("x.npz", *NpzBytes({{"x", x}}))};
  const ToolOutput output = run.RunTool(flags);
  CHECK(output.exit_code == 0);
  CHECK(absl::StrContains(output.err,
                          "x.npz: --calibration: expected data on which the model gives numbers, found NaN "
                          "in 2 of 2 float32 values, 'x' first, which ranges leave out"));
  CHECK(absl::StrContains(ErrorLine(run.RunTool({flags[0], flags[1], "--strict"}), 2), "found NaN in 2 of 2"));
}

TEST_CASE("weights that are inputs, and models without float32, need no ranges") {
  const DataFolder run(R"(<ir_version: 3, opset_import: ["" : 17]>
    g (float[1,2] x, float[2,2] w) => (float[1,2] y) <float[2,2] w = {1, 2, 3, 4}> { y = MatMul (x, w) })");
  const std::string file = run.folder.File("ranges.json");
  const std::string sample = run.SampleOf(0.1f);
  CHECK(run.RunTool({"--calibration", sample, "--ranges", file, "--strict"}).exit_code == 0);
  const DataFolder low(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float16[1,2] x) => (float16[1,2] y) { y = Relu (x) })");
  const Tensor x = Tensor::Of<Float16>(DType::kFloat16, {1, 2}, {Float16(), Float16()});
  const std::string half = low.folder.Write("half.npz", *NpzBytes({{"x", x}}));
  CHECK(low.RunTool({"--calibration", half, "--strict"}).exit_code == 0);
}

TEST_CASE("how much of the outputs was compared is told where it is not all") {
  const DataFolder run(kRows);
  const float infinity = std::numeric_limits<float>::infinity();
  const Tensor x = Tensor::Of<float>(DType::kFloat32, {2, 2}, {1, 2, infinity, 1});
  const std::string file = run.folder.Write("x.npz", *NpzBytes({{"x", x}}));
  const ToolOutput output = run.RunTool({"--verify=" + file});
  CHECK(output.exit_code == 0);
  CHECK(absl::StrContains(
      output.out, "verified in part, as 2 of 4 elements are NaN or infinite in both models: largest relative error"));
}

TEST_CASE("flags that contradict each other are refused") {
  const DataFolder run;
  CHECK(absl::StrContains(ErrorLine(run.RunTool({"--calibration", "a.npz", "--guards", "none"}), 2), "--calibration"));
  CHECK(absl::StrContains(ErrorLine(run.RunTool({"--verify=off", "--tolerance", "1"}), 2), "--verify, which is off"));
  CHECK(absl::StrContains(ErrorLine(run.RunTool({"--verify", "--tolerance", "-1"}), 2), "--tolerance"));
  const std::string sample = run.SampleOf(1);
  ErrorLine(run.RunTool({"--calibration", sample, "--ranges", run.in}), 4);
}

TEST_CASE("samples that do not fit the model are refused") {
  const DataFolder run;
  const Tensor wrong = Tensor::Of<float>(DType::kFloat32, {3}, {1, 2, 3});
  run.folder.Write("name.npz", *NpzBytes({{"z", wrong}}));
  run.folder.Write("shape.npz", *NpzBytes({{"x", wrong}}));
  CHECK(absl::StrContains(ErrorLine(run.RunTool({"--calibration", run.folder.File("name.npz")}), 2), "'z'"));
  CHECK(absl::StrContains(ErrorLine(run.RunTool({"--calibration", run.folder.File("shape.npz")}), 2),
                          "expected float32[1,2], found float32[3]"));
  CHECK(absl::StrContains(ErrorLine(run.RunTool({"--calibration", run.in}), 2), "expected an archive of arrays"));
}

TEST_CASE("a model that means the same is verified") {
  const DataFolder run;
  const ToolOutput output = run.RunTool({"--verify=" + run.SampleOf(0.001f)});
  CHECK(output.exit_code == 0);
  CHECK(absl::StartsWith(output.out, "verified: largest relative error "));
  CHECK(run.folder.Has("out.onnx"));
}

TEST_CASE("without data inputs are made up, and that is said") {
  const DataFolder run;
  const ToolOutput output = run.RunTool({"--verify", "--dtype", "bfloat16"});
  INFO(output.err);
  CHECK(output.exit_code == 0);
  CHECK(absl::StrContains(output.out, "inputs made up"));
  // The word behind the flag is not taken for its file.
  CHECK(RunAmpRewrite({"--verify", run.in, "-o", run.out, "--dtype", "bfloat16"}).exit_code == 0);
}

// A window of 200 samples.
constexpr absl::string_view kWindow = R"(<ir_version: 8, opset_import: ["" : 17]>
  g (float[n,1,samples] x) => (float[n,1,m] y) <int64[3] s = {1, 1, 200}> {
    w = ConstantOfShape <value = float[1] {0.1}> (s)
    y = Conv (x, w)
  })";

TEST_CASE("unknown dimensions of what is made up are tried until the model takes them, or given") {
  const DataFolder run(kWindow);
  const ToolOutput tried = run.RunTool({"--verify"});
  INFO(tried.err);
  CHECK(tried.exit_code == 0);
  CHECK(absl::StrContains(tried.out, "unknown dimensions 256 as none of 16 fits"));
  CHECK(absl::StrContains(run.RunTool({"--verify", "--dim", "samples=300"}).out, "declared type and shape: give"));
  CHECK(absl::StrContains(ErrorLine(run.RunTool({"--verify", "--dim", "samples=100"}), 2),
                          "inputs are made up: --dim n=N sizes them, --verify=FILE.npz gives real ones"));
  CHECK(absl::StrContains(ErrorLine(run.RunTool({"--verify", "--dim", "q=1"}), 2), "no input has a dimension"));
  CHECK(absl::StrContains(ErrorLine(run.RunTool({"--verify=off", "--dim", "n=1"}), 2),
                          "--dim is for inputs that are made up"));
  CHECK(absl::StrContains(ErrorLine(run.RunTool({"--verify", "--dim", "n"}), 2),
                          "--dim: expected NAME=N or INPUT:AXIS=NAME, found 'n'"));
}

TEST_CASE("a model that does not is not written, and the deny that mends it is named") {
  const DataFolder run;
  const std::string error = ErrorLine(run.RunTool({"--verify=" + run.SampleOf(0.1f)}), 7);
  CHECK(absl::StrContains(error, "output 'y': 2 of 2 elements are newly not finite"));
  CHECK(absl::StrContains(error, "the first value that differs by more is 'h' of node 'second'"));
  CHECK(absl::StrContains(error, "--deny-node 'second' --deny-node 'third' mend it together (tried: relative error "));
  CHECK(!run.folder.Has("out.onnx"));
}

// A batch norm is folded into the convolution ahead of it: the convolution is what has to be denied.
TEST_CASE("what a node has been folded into is tried as well") {
  const DataFolder run(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[1,1,1,2] x) => (float[1,1,1,2] y)
    <float[1,1,1,1] w = {30}, float[1] scale = {1}, float[1] b = {0}, float[1] mean = {6500}, float[1] var = {1}> {
      c = Conv (x, w)
      n = BatchNormalization (c, scale, b, mean, var)
      y = Sigmoid (n)
    })");
  const Tensor x = Tensor::Of<float>(DType::kFloat32, {1, 1, 1, 2}, {216.69f, 216.65f});
  const std::string sample = run.folder.Write("x.npz", *NpzBytes({{"x", x}}));
  const std::string error = ErrorLine(run.RunTool({"--verify=" + sample}), 7);
  INFO(error);
  CHECK(absl::StrContains(error, "--deny-node 'Conv#0' mends it (tried: "));
}

// ---- without being asked, and mending

constexpr absl::string_view kOneProduct = R"(<ir_version: 8, opset_import: ["" : 17]>
  g (float[1,2] x) => (float[1,2] y) <float[2,2] w = {1, 2, 3, 4}> { y = MatMul (x, w) })";

TEST_CASE("a rewrite is checked without being asked, and the last line says so") {
  const DataFolder run(kOneProduct);
  const ToolOutput output = run.RunTool({});
  CHECK(output.exit_code == 0);
  CHECK(output.err.empty());
  CHECK(absl::StrContains(output.out, "out.onnx; verified: largest relative error "));
  const std::string checked = run.folder.Read("out.onnx");
  CHECK_FALSE(absl::StrContains(run.RunTool({"--verify=off"}).out, "verified"));
  CHECK(run.folder.Read("out.onnx") == checked);
}

TEST_CASE("whole numbers that differ are in the last line, too") {
  const DataFolder run(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[1,2] x) => (int64[1,1] y) <float[2,2] w = {1, 1.0001, 3, 3}> { a = MatMul (x, w)  y = ArgMax <axis = 1> (a) })");
  const ToolOutput output = run.RunTool({"--calibration", run.SampleOf(0.01f), "--guards", "constants"});
  INFO(output.err);
  CHECK(output.exit_code == 0);
  CHECK(absl::StrContains(output.out, "; verified: largest relative error 0, 1 of 1 integers differ"));
}

TEST_CASE("an output that vanishes as a whole is an error of 1") {
  const DataFolder run(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[1,2] x) => (float[1,2] y) <float[2,2] w = {1, 2, 3, 4}> {
      a = MatMul (x, w)  b = Mul (a, a)  c = Mul (b, b)  y = MatMul (c, w)
    })");
  const std::string sample = run.SampleOf(0.001f);
  CHECK(
      absl::StrContains(ErrorLine(run.RunTool({"--verify=" + sample}), 7), "--verify: output 'y': relative error 1,"));
}

TEST_CASE("what differs is a warning with its mend, an error where that is asked for, and the bytes stay") {
  const DataFolder run;
  const ToolOutput warned = run.RunTool({});
  CHECK(warned.exit_code == 0);
  CHECK(absl::StrContains(warned.err,
                          "on inputs that are made up, output 'y': 2 of 2 elements are newly not finite, expected at "
                          "most 0.02; the first value that differs by more is 'h' of node 'second'"));
  CHECK(absl::StrContains(warned.err, "--deny-node 'second' --deny-node 'third' mend it together (tried: "));
  CHECK(absl::StrContains(
      warned.err, "; --verify=fix looks for what mends it at the least cost, --verify=FILE.npz judges real inputs\n"));
  CHECK(absl::StrContains(warned.out, "; not verified: the models differ, see the warning\n"));
  const std::string bytes = run.folder.Read("out.onnx");
  REQUIRE(run.RunTool({"--verify=off"}).exit_code == 0);
  CHECK(run.folder.Read("out.onnx") == bytes);
  std::filesystem::remove(run.out);
  CHECK(absl::StrContains(ErrorLine(run.RunTool({"--strict"}), 7), "--verify: output 'y': 2 of 2 elements"));
  CHECK(absl::StrContains(ErrorLine(run.RunTool({"--verify"}), 7), "--verify: output 'y': 2 of 2 elements"));
  CHECK_FALSE(run.folder.Has("out.onnx"));
}

// Two casts around the last product would move more bytes than it saves: it stays float32 as well.
TEST_CASE("fix keeps float32 what mends at the least cost, says so, and writes what the flags in its report would") {
  const DataFolder run;
  const ToolOutput fixed = run.RunTool({"--verify=fix", "--report", run.folder.File("r.json")});
  INFO(fixed.err);
  CHECK(fixed.exit_code == 0);
  CHECK(absl::StrContains(fixed.err, "--verify=fix keeps 3 nodes float32: output 'y': 2 of 2 elements"));
  CHECK(absl::StrContains(fixed.out, "verified"));
  CHECK(absl::StrContains(run.folder.Read("r.json"), "\"--deny-node=second\""));
  CHECK(absl::StrContains(run.folder.Read("r.json"), "\"verification\": \"verified"));
  const std::string bytes = run.folder.Read("out.onnx");
  REQUIRE(run.RunTool({"--deny-node", "second", "--deny-node", "third", "--deny-node", "last", "--verify"}).exit_code ==
          0);
  CHECK(run.folder.Read("out.onnx") == bytes);
}

TEST_CASE("the first calibration sample is what a rewrite is checked on, where there is one") {
  const DataFolder run;
  const ToolOutput output = run.RunTool({"--calibration", run.SampleOf(0.001f), "--guards", "all"});
  CHECK(output.exit_code == 0);
  CHECK(absl::StrContains(output.out, "; verified: largest relative error "));
}

TEST_CASE("inputs that become 16 bits wide get the same numbers") {
  const DataFolder run(kOneProduct);
  for (const char* const flag : {"--verify=auto", "--verify"}) {
    const ToolOutput output = run.RunTool({flag, "--keep-io", "none"});
    INFO(output.err);
    CHECK(output.exit_code == 0);
    CHECK(absl::StrContains(output.out, "verified: largest relative error 0.000"));
    CHECK_FALSE(absl::StrContains(output.out, "not verified"));
  }
}

TEST_CASE("what --dim names has to be there, whether anybody asks for verification or not") {
  const DataFolder run(kWindow);
  CHECK(absl::StrContains(ErrorLine(run.RunTool({"--dim", "samplez=300"}), 2), "'samplez'"));
  CHECK(absl::StrContains(run.RunTool({"--dim", "samples=300"}).out, "; verified: largest relative error"));
  CHECK(absl::StrContains(ErrorLine(run.RunTool({"--stop-after", "fold", "--dim", "n=1"}), 2), "--dim is for inputs"));
  CHECK(
      absl::StrContains(ErrorLine(run.RunTool({"--stop-after", "fold", "--tolerance", "1"}), 2), "--verify, which is"));
}

TEST_CASE("models that cannot be run, or take too long, are written, and why they were not run is said") {
  const DataFolder unknown(
      "<ir_version: 8, opset_import: [\"\" : 17, \"my\" : 1]> g (float[1,2] x) => (float[1,2] y) "
      "<float[2,2] w = {1, 2, 3, 4}> { h = MatMul (x, w) y = my.Gate (h) }");
  const ToolOutput output = unknown.RunTool({});
  CHECK(output.exit_code == 0);
  CHECK(absl::StrContains(output.out, "; not verified: "));
  CHECK(absl::StrContains(output.out, "no kernel for my::Gate-1"));

  const DataFolder large(
      "<ir_version: 8, opset_import: [\"\" : 17]> g (float[9000,9000] x) => (float[9000,9000] y) "
      "{ h = MatMul (x, x) y = MatMul (h, x) }");
  CHECK(absl::StrContains(large.RunTool({}).out,
                          "; not verified: it would take longer than 2 s; --verify has no limit\n"));

  const DataFolder recurrent(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[t,1,64] x, float[1,2048,64] w, float[1,2048,512] r) => (float[t,1,1,512] y) {
      y = LSTM <hidden_size = 512> (x, w, r)
    })");
  const ToolOutput steps = recurrent.RunTool({"--allow", "LSTM", "--dim", "t=40000000"});
  INFO(steps.err);
  CHECK(absl::StrContains(steps.out, "; not verified: it would take longer than 2 s; --verify has no limit\n"));

  // No size says how long these take: half a million rounds, and a product whose sizes are computed.
  const DataFolder loop(R"(<ir_version: 8, opset_import: ["" : 17]> g (float[64,64] x) => (float[64,64] y)
    <int64 rounds = {500000}, bool yes = {1}> {
      y = Loop (rounds, yes, x) <body = b (int64 i, bool c, float[64,64] s) => (bool d, float[64,64] t) {
        d = Identity (c) t = MatMul (s, x) }>
    })");
  CHECK(absl::StrContains(loop.RunTool({}).out,
                          "; not verified: it would take longer than 2 s; --verify has no limit\n"));
  const DataFolder computed(R"(<ir_version: 8, opset_import: ["" : 17]> g (float[1,1] x) => (float[] y)
    <int64 side = {2000}, int64[1] two = {2}> {
      n = Abs (side) r = Expand (n, two) e = Expand (x, r) y = MatMul (e, e)
    })");
  CHECK(absl::StrContains(computed.RunTool({}).out, "; not verified: it would take longer than 2 s"));
}

TEST_CASE("progress is told before each run on data") {
  const DataFolder run;
  std::vector<std::string> told;
  RewriteOptions options;
  options.calibration = {run.SampleOf(0.001f), run.SampleOf(0.002f)};
  options.verify = RewriteOptions::Verify::kOn;
  options.verify_file = run.SampleOf(0.1f);
  options.on_progress = [&](const Progress& progress) {
    if (progress.total > 0 && progress.step != "write") {
      told.push_back(absl::StrCat(progress.step, " ", progress.done, " of ", progress.total));
    }
    return absl::OkStatus();
  };
  CHECK(RewriteFile(run.in, run.out, options).status().code() == absl::StatusCode::kFailedPrecondition);
  REQUIRE(told.size() >= 5);
  CHECK(std::vector<std::string>(told.begin(), told.begin() + 4) ==
        std::vector<std::string>{"calibrate 0 of 2", "calibrate 1 of 2", "verify 0 of 2", "verify 1 of 2"});
  CHECK(absl::StartsWith(told[4], "mend 0 of "));
}

TEST_CASE("calibration and verification on the same data agree") {
  const DataFolder run;
  const std::string sample = run.SampleOf(0.1f);
  CHECK(run.RunTool({"--calibration", sample, "--verify=" + sample}).exit_code == 0);
}

}  // namespace
}  // namespace amp
