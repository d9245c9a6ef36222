// What amp-run takes, prints and writes. What fails is one line and its exit code.
#include "tools/amp_run.h"

#include <sstream>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "ir/file/text.h"
#include "nlohmann/json.hpp"
#include "onnx/onnx_pb.h"
#include "runtime/loops/best_loops.h"
#include "runtime/npy.h"
#include "tests/catch2.h"
#include "tests/scratch_folder.h"

namespace amp {
namespace {

using Catch::Matchers::Contains;

constexpr absl::string_view kModel = R"(<ir_version: 8, opset_import: ["" : 17]>
  g (float[n,2] x) => (float[n,2] y, float[n,2] z) {
    [first] y = LeakyRelu <alpha = 0.5> (x)
    [second] z = Sigmoid (y)
  })";
// The same, with another slope.
constexpr absl::string_view kOther = R"(<ir_version: 8, opset_import: ["" : 17]>
  g (float[n,2] x) => (float[n,2] y, float[n,2] z) {
    y = LeakyRelu <alpha = 0.25> (x)
    z = Sigmoid (y)
  })";

// A folder with model.onnx, other.onnx, x.npy, x.pb and sample.npz, and runs in it. "@" in an argument is the folder.
class Runs {
 public:
  Runs() {
    WriteModel("model.onnx", kModel);
    WriteModel("other.onnx", kOther);
    const Tensor x = Tensor::Of<float>(DType::kFloat32, {1, 2}, {-2, 3});
    folder_.Write("x.npy", *NpyBytes(x));
    folder_.Write("sample.npz", *NpzBytes({{"x", x}}));
    onnx::TensorProto proto;
    proto.set_data_type(onnx::TensorProto::FLOAT);
    for (const int64_t dim : x.dims()) proto.add_dims(dim);
    for (const float element : x.elements<float>()) proto.add_float_data(element);
    folder_.Write("x.pb", proto.SerializeAsString());
  }

  void WriteModel(const std::string& name, absl::string_view text) const {
    const absl::StatusOr<std::string> bytes = ParseOnnxText(text);
    REQUIRE(bytes.ok());
    folder_.Write(name, *bytes);
  }
  ToolOutput Run(const std::vector<std::string>& flags, const std::string& model = "@model.onnx") const {
    std::vector<std::string> arguments = {model};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    for (std::string& argument : arguments) {
      if (const size_t at = argument.find('@'); at != std::string::npos) argument.replace(at, 1, folder_.File(""));
    }
    return RunAmpRun(arguments);
  }
  std::string Succeeds(const std::vector<std::string>& flags) const {
    const ToolOutput output = Run(flags);
    CHECK(output.err.empty());
    CHECK(output.exit_code == 0);
    return output.out;
  }
  void Fails(const std::vector<std::string>& flags, int exit_code, const std::string& what,
             const std::string& model = "@model.onnx") const {
    const ToolOutput output = Run(flags, model);
    CHECK(output.exit_code == exit_code);
    CHECK(absl::StartsWith(output.err, "amp-run: error: "));
    CHECK_THAT(output.err, Contains(what));
    CHECK(output.err.find('\n') + 1 == output.err.size());
  }
  const ScratchFolder& folder() const { return folder_; }

 private:
  ScratchFolder folder_;
};

const std::string kOutputs =
    "y  float32[1,2]  -1 3; smallest -1, largest 3, mean 1\n"
    "z  float32[1,2]  0.268941 0.952574; smallest 0.268941, largest 0.952574, mean 0.610758\n";

TEST_CASE("inputs come from arrays, protobuf files and archives, outputs are a line each") {
  const Runs runs;
  CHECK(runs.Succeeds({"--input", "x=@x.npy"}) == kOutputs);
  CHECK(runs.Succeeds({"--input=x=@x.pb"}) == kOutputs);
  CHECK(runs.Succeeds({"--inputs", "@sample.npz"}) == kOutputs);
  CHECK(runs.Succeeds({"--inputs", "@sample.npz", "--quiet"}).empty());
}

TEST_CASE("made-up inputs depend on the seed alone, and give way to what is given") {
  const Runs runs;
  const std::string first = runs.Succeeds({"--random-inputs", "--dim", "n=3"});
  CHECK_THAT(first, Contains("y  float32[3,2]"));
  CHECK(runs.Succeeds({"--random-inputs=0", "--dim", "n=3"}) == first);
  CHECK(runs.Succeeds({"--random-inputs=1", "--dim", "n=3"}) != first);
  CHECK(runs.Succeeds({"--random-inputs", "--input", "x=@x.npy"}) == kOutputs);
  runs.Fails({"--random-inputs", "--dim", "m=3"}, 2, "m");
}

TEST_CASE("outputs are written as an archive, or a file each") {
  const Runs runs;
  CHECK_THAT(runs.Succeeds({"--inputs", "@sample.npz", "--outputs", "@out.npz"}), Contains("wrote "));
  const absl::StatusOr<NamedTensors> written = ReadNpz(runs.folder().File("out.npz"));
  REQUIRE(written.ok());
  REQUIRE(written->size() == 2);
  CHECK(written->at(0).first == "y");
  CHECK(written->at(0).second.elements<float>() == absl::Span<const float>({-1, 3}));

  runs.Succeeds({"--inputs", "@sample.npz", "--output-dir", "@out/new"});
  const absl::StatusOr<Tensor> y = ParseNpy(runs.folder().Read("out/new/y.npy"));
  REQUIRE(y.ok());
  CHECK(y->elements<float>() == absl::Span<const float>({-1, 3}));
}

TEST_CASE("of sequences and maps every tensor is written") {
  const Runs runs;
  runs.WriteModel("model.onnx", R"(<ir_version: 8, opset_import: ["" : 17, "ai.onnx.ml" : 3]>
    g (float[n,2] x) => (seq(float[n,2]) s, seq(map(int64, float)) z) {
      y = Neg (x)
      s = SequenceConstruct (x, y)
      z = ai.onnx.ml.ZipMap <classlabels_int64s = [7, 5]> (x)
    })");
  runs.Succeeds({"--inputs", "@sample.npz", "--outputs", "@out.npz"});
  const absl::StatusOr<NamedTensors> written = ReadNpz(runs.folder().File("out.npz"));
  REQUIRE(written.ok());
  std::vector<std::string> names;
  for (const auto& [name, tensor] : *written) names.push_back(name);
  CHECK(names == std::vector<std::string>{"s/0", "s/1", "z/0/keys", "z/0/values"});
  CHECK(written->at(2).second.elements<int64_t>() == absl::Span<const int64_t>({7, 5}));
  CHECK(written->at(3).second.elements<float>() == written->at(0).second.elements<float>());
  runs.Succeeds({"--inputs", "@sample.npz", "--output-dir", "@out"});
  CHECK(runs.folder().Has("out/z_0_keys.npy"));
}

TEST_CASE("names of outputs cannot lead out of the folder, nor onto each other") {
  const Runs runs;
  runs.WriteModel("model.onnx", R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[n,2] x) => (float[n,2] "../up", float[n,2] "__.up", float[n,2] ".._up") {
      "../up" = Sigmoid (x)
      "__.up" = Sigmoid (x)
      ".._up" = Sigmoid (x)
    })");
  runs.Succeeds({"--inputs", "@sample.npz", "--output-dir", "@out"});
  CHECK(runs.folder().Has("out/_.._up.npy"));
  CHECK(runs.folder().Has("out/__.up.npy"));
  CHECK(runs.folder().Has("out/_.._up_2.npy"));
  CHECK_FALSE(runs.folder().Has("up.npy"));
}

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
    [sine] z = Sin (x)
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
  CHECK_THAT(explained({"--allow-bf16-compute"}), Contains("MatMul-13"));
  CHECK_THAT(explained({"--allow-tf32"}), Contains("MatMul-13"));
}

TEST_CASE("strict refuses what computes 16-bit values in float64, by name") {
  const Runs runs;
  runs.WriteModel("product.onnx", kProduct);
  runs.Fails({"--random-inputs", "--strict"}, 3, "sine (Sin-7): its 16-bit values would be computed in float64",
             "@product.onnx");
  CHECK(runs.Run({"--inputs", "@sample.npz", "--strict", "-q"}).exit_code == 0);
}

TEST_CASE("profile prints the time by operator, and writes that of each node") {
  const Runs runs;
  const std::string out = runs.Succeeds({"--inputs", "@sample.npz", "--profile", "@trace.json", "--warmup", "1"});
  CHECK_THAT(out, Contains("operator") && Contains("Sigmoid-13") && Contains("the whole run: ") && Contains("wrote "));
  CHECK_THAT(runs.folder().Read("trace.json"), Contains("\"traceEvents\": [") && Contains("\"node\": \"second\""));
  runs.Fails({"--inputs", "@sample.npz", "--profile", "@none/trace.json"}, 6, "trace.json");
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

TEST_CASE("compare gives a model of another float type the inputs that it declares") {
  const Runs runs;
  runs.WriteModel("other.onnx", R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float16[n,2] x) => (float16[n,2] y, float16[n,2] z) {
      y = LeakyRelu <alpha = 0.5> (x)
      z = Sigmoid (y)
    })");
  CHECK_THAT(runs.Succeeds({"--inputs", "@sample.npz", "--compare", "@other.onnx"}), Contains("z  relative L2 error"));
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

TEST_CASE("devices, --help and --version need no model") {
  const ToolOutput devices = RunAmpRun({"--devices"});
  CHECK(devices.exit_code == 0);
  CHECK_THAT(devices.out, Contains("cpu:") && Contains("gpu: ") && Contains("Mixed precision compatibility check"));
  CHECK_THAT(RunAmpRun({"--help"}).out, Contains("--random-inputs"));
  CHECK_THAT(RunAmpRun({"--version"}).out, Contains("amp-run "));
}

TEST_CASE("wrong flags have exit code 2, and nothing is ignored") {
  const Runs runs;
  runs.Fails({"--comapre", "x"}, 2, "unknown flag '--comapre'; did you mean '--compare'?");
  runs.Fails({"--input", "x"}, 2, "--input: expected NAME=FILE, found 'x'");
  runs.Fails({"--input", "w=@x.npy"}, 2, "--input: 'w' is no input of the model, which has 'x'");
  runs.Fails({"--input", "x=@x.txt"}, 2, "expected a file .npy or .pb");
  runs.Fails({"--dim", "n=3"}, 2, "--dim is for --random-inputs, which is not there");
  runs.Fails({"--random-inputs", "--dim", "n=-3"}, 2, "--dim: expected a whole number");
  runs.Fails({"--random-inputs=a"}, 2, "--random-inputs: expected a whole number, found 'a'");
  runs.Fails({"--json"}, 2, "--json is for --bench");
  runs.Fails({"--bench=stdin", "--json"}, 2, "--json is for --bench without =stdin");
  runs.Fails({"--bench=stdout"}, 2, "--bench: expected loop or stdin, found 'stdout'");
  runs.Fails({"--bench", "--iterations", "0"}, 2, "--iterations: expected at least 1");
  runs.Fails({"--bench", "--outputs", "@o.npz"}, 2,
             "expected one of --outputs, --output-dir, --compare, --bench and --profile, found 2");
  runs.Fails({"--autotune", "@t.json"}, 2, "--autotune is for --device cuda, which is not there");
  runs.Fails({"--threads=many"}, 2, "--threads: expected a whole number");
  runs.Fails({"--no-fuse=conv"}, 2,
             "--no-fuse: expected all, attention, batch-norm, chain, constants, epilogue, norm or train, found 'conv'");
  runs.Fails({}, 2, "expected input 'x', found none");
}

TEST_CASE("a device that there is not, a file that there is not, a model that is none") {
  const Runs runs;
  runs.Fails({"--device", "cuda:977"}, 8, "--device cuda:977: ");
  runs.Fails({"--device", "cuda:"}, 2, "expected auto, cpu or cuda[:N], found 'cuda:'");
  runs.Fails({"--device", "cuda:-1"}, 2, "expected auto, cpu or cuda[:N], found 'cuda:-1'");
  runs.Fails({"--device", "tpu"}, 2, "expected auto, cpu or cuda[:N], found 'tpu'");
  runs.Fails({"--input", "x=@none.npy"}, 6, "none.npy: expected a file that can be read");
  runs.Fails({}, 6, "none.onnx", "@none.onnx");
  runs.folder().Write("none.onnx", "\xff");
  runs.Fails({}, 3, "none.onnx", "@none.onnx");
  runs.Fails({"--inputs", "@sample.npz", "--outputs", "@none/out.npz"}, 6, "out.npz");
}

}  // namespace
}  // namespace amp
