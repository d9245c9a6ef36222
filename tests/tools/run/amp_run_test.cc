// The inputs of amp-run, and what it prints and writes. An error is one line and its exit code.
#include "tools/run/amp_run.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "onnx/onnx-data.pb.h"
#include "onnx/onnx_pb.h"
#include "runtime/loops/best_loops.h"
#include "runtime/values/npy.h"
#include "tests/catch2.h"
#include "tests/damaged_archive.h"
#include "tests/tools/run/amp_run_folder.h"
#include "tools/program/describe_devices.h"

namespace amp {
namespace {

using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;

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

// A pipe in the folder that gives these bytes once.
class Pipe {
 public:
  Pipe(const Runs& runs, const std::string& name, const std::string& bytes) : path_(runs.folder().File(name)) {
    REQUIRE(mkfifo(path_.c_str(), 0600) == 0);
    writer_ = std::thread([this, bytes] { std::ofstream(path_, std::ios::binary) << bytes; });
  }
  ~Pipe() { writer_.join(); }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

 private:
  std::string path_;
  std::thread writer_;
};

TEST_CASE("inputs come through pipes: an archive, and an array whatever the pipe is called") {
  const Runs runs;
  {
    const Pipe archive(runs, "archive", runs.folder().Read("sample.npz"));
    CHECK(runs.Succeeds({"--inputs", "@archive"}) == kOutputs);
  }
  {
    const Pipe array(runs, "array", runs.folder().Read("x.npy"));
    CHECK(runs.Succeeds({"--input", "x=@array"}) == kOutputs);
  }
  {
    const Pipe text(runs, "text", "no archive");
    runs.Fails({"--inputs", "@text"}, 2, "text: expected an archive of arrays (.npz), found something else");
  }
  {
    const Pipe empty(runs, "empty", "");
    runs.Fails({"--inputs", "@empty"}, 2, "empty: expected an archive of arrays (.npz), found something else");
  }
}

TEST_CASE("a pipe is read once, also where the run fails and inputs were made up beside it") {
  const Runs runs;
  runs.WriteModel("two.onnx", R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[1,2] x, float[3,m] w) => (float[1,m] y) { y = MatMul (x, w) })");
  const Pipe array(runs, "array", runs.folder().Read("x.npy"));
  runs.Fails({"--input", "x=@array", "--random-inputs"}, 2, "inputs are made up: --dim m=N sizes them", "@two.onnx");
}

TEST_CASE("names of arrays are looked at before any is unpacked; outputs among them are not") {
  const Runs runs;
  const Tensor x = Tensor::Of<float>(DType::kFloat32, {1, 2}, {-2, 3});
  runs.folder().Write("named.npz", ArchiveWithADamagedArray("x", {{"what", x}}));
  runs.Fails({"--inputs", "@named.npz"}, 2, "array 'what' is named after no input of the model, which has 'x'");
  runs.folder().Write("with_output.npz", ArchiveWithADamagedArray("out::y", {{"in::x", x}}));
  CHECK(runs.Succeeds({"--inputs", "@with_output.npz"}) == kOutputs);
  // Two arrays for one input: the last one counts, as ever, and the other one costs nothing.
  runs.folder().Write("twice.npz", ArchiveWithADamagedArray("in::x", {{"x", x}}));
  CHECK(runs.Succeeds({"--inputs", "@twice.npz"}) == kOutputs);
  runs.folder().Write("damaged.npz", ArchiveWithADamagedArray("x", {}));
  runs.Fails({"--inputs", "@damaged.npz"}, 2, "damaged.npz: array 'x': expected an array that can be read");
}

TEST_CASE("what is given is not made up: a shape that does not fit is an error at once") {
  const Runs runs;
  runs.WriteModel("huge.onnx", R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[2147483648] x) => (float[2147483648] y) { y = Neg (x) })");
  runs.Fails({"--random-inputs", "--inputs", "@sample.npz"}, 2, "input 'x': expected float32[2147483648], found",
             "@huge.onnx");
  runs.Fails({"--random-inputs"}, 5, "input 'x': expected at most 1073741824 bytes of inputs that are made up",
             "@huge.onnx");
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

TEST_CASE("verbose says what models run on, and what the phases took") {
  const Runs runs;
  const ToolOutput output = runs.Run({"--inputs", "@sample.npz", "--verbose"});
  CHECK(output.out == kOutputs);
  const std::vector<std::string> lines = absl::StrSplit(output.err, '\n', absl::SkipEmpty());
  REQUIRE(lines.size() == 2);
  CHECK_THAT(lines[0], StartsWith("amp-run: on cpu, ") && Contains(absl::StrCat(BestLoops().name, " loops, ")));
  CHECK_THAT(lines[1], StartsWith("amp-run: load ") && Contains(" ms, plan ") && Contains(" ms, inputs ") &&
                           Contains(" ms, run "));
}

TEST_CASE("devices say what the driver knows, and where AMX is refused") {
  const CpuFeatures refused = {.avx2 = true, .avx512 = true, .tiles_refused = true};
  const Hardware with_driver = {.gpus = {{"NVIDIA H200", ComputeCapability{9, 0}}},
                                .no_gpu_why = "",
                                .cuda_driver_version = 13000,
                                .cpu = refused};
  CHECK_THAT(DescribeDevices(with_driver, "amp-run"),
             StartsWith("cpu: avx2 avx512; AMX, but the operating system refuses its tiles (arch_prctl)\n"
                        "gpu: NVIDIA H200, compute capability 9.0\ngpu driver: for CUDA up to 13.0\nmodels run on: "));
  CHECK_THAT(DescribeDevices({.gpus = {}, .no_gpu_why = "no NVIDIA driver", .cpu = {.avx2 = true}}, "amp-run"),
             StartsWith("cpu: avx2\ngpu: none, no NVIDIA driver\nmodels run on: "));
}

TEST_CASE("devices, --help and --version need no model") {
  const ToolOutput devices = RunAmpRun({"--devices"});
  CHECK(devices.exit_code == 0);
  CHECK_THAT(devices.out, Contains("cpu:") && Contains("gpu: ") && Contains("Mixed precision compatibility check"));
  CHECK_THAT(RunAmpRun({"--help"}).out, Contains("--random-inputs"));
  CHECK_THAT(RunAmpRun({"--version"}).out, Contains("amp-run "));
}

TEST_CASE("a model alone is told how inputs are given, each with type and shape") {
  const Runs runs;
  CHECK(runs.Run({}).err == absl::StrCat("amp-run: error: ", runs.folder().File("model.onnx"),
                                         ": expected --random-inputs, --inputs FILE.npz or --input NAME=FILE for x "
                                         "float32[n,2]\n"));
  runs.WriteModel("two.onnx", R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[n,2] x, int64[n] ids) => (float[n,2] y) { s = Shape (ids)  y = Relu (x) })");
  runs.Fails({"--bench"}, 2, "or --input NAME=FILE for x float32[n,2], ids int64[n]\n", "@two.onnx");
  runs.Fails({"--input", "x=@x.npy"}, 2, "expected input 'ids'", "@two.onnx");
  runs.WriteModel("none.onnx", R"(<ir_version: 8, opset_import: ["" : 17]>
    g () => (float[1] y) { y = Constant <value_floats = [1.0]> () })");
  runs.Succeeds({}, "@none.onnx");
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
  runs.Fails({"--random-inputs", "--bench", "--json", "--explain"}, 2,
             "--json prints JSON and nothing else, and excludes --explain");
  runs.Fails({"--bench=stdout"}, 2, "--bench: expected loop or stdin, found 'stdout'");
  runs.Fails({"--bench", "--iterations", "0"}, 2, "--iterations: expected at least 1");
  runs.Fails({"--bench=stdin", "--outputs", "@o.npz"}, 2, "--outputs: expected --bench without =stdin, found with it");
  runs.Fails({"--allow-tf32"}, 2, "--allow-tf32 is for --device cuda or auto, which is not there");
  runs.Fails({"--no-replay", "--device", "cpu"}, 2, "--no-replay is for --device cuda or auto, which is not there");
  runs.Fails({"--autotune", "@t.json"}, 2, "--autotune is for --device cuda, which is not there");
  runs.Fails({"--threads=many"}, 2, "--threads: expected a whole number");
  runs.Fails({"--no-fuse=conv"}, 2,
             "--no-fuse: expected all, attention, batch-norm, chain, constants, epilogue, norm or train, found 'conv'");
  runs.Fails({"--no-fuse=chain,conv"}, 2, "or train, found 'conv'");
  runs.Fails({"--no-fuse=chain,"}, 2, "or train, found ''");
  runs.Fails({"--no-fuse=chain", "--no-fuse=chains"}, 2, "found 'chains'; did you mean 'chain'?");
  runs.Fails({}, 2, "expected --random-inputs, --inputs FILE.npz or --input NAME=FILE for x float32[n,2]");
}

TEST_CASE("an empty value is refused: no flag of amp-run counts as not given") {
  const Runs runs;
  for (const auto& [flag, type] : {std::pair("--compare", "OTHER.onnx"),
                                   {"--outputs", "FILE.npz"},
                                   {"--output-dir", "DIR"},
                                   {"--profile", "FILE.json|FILE.html"},
                                   {"--inputs", "FILE.npz"},
                                   {"--device", "auto|cpu|cuda[:N]"}}) {
    const std::string expected = absl::StrCat("amp-run: error: ", flag, ": expected ", type, ", found ''\n");
    CHECK(runs.Run({"--random-inputs", flag, ""}).err == expected);
    CHECK(runs.Run({absl::StrCat(flag, "="), "--random-inputs"}).err == expected);
  }
  runs.Fails({"--random-inputs="}, 2, "--random-inputs: expected a value behind '=', found none");
  runs.Fails({"--random-inputs", "--bench="}, 2, "--bench: expected a value behind '=', found none");
}

TEST_CASE("a made-up sequence is an error that says how to give one, and gives way to one") {
  const Runs runs;
  runs.WriteModel("sequence.onnx", R"(<ir_version: 8, opset_import: ["" : 17]>
    g (seq(float[2]) parts, float[2] x) => (float[m] y) { y = ConcatFromSequence <axis = 0> (parts) })");
  runs.Fails({"--random-inputs"}, 2,
             "input 'parts': expected a tensor of known rank and type to make up, found sequence", "@sequence.onnx");
  onnx::SequenceProto parts;
  parts.set_elem_type(onnx::SequenceProto::TENSOR);
  for (const float first : {1.0F, 3.0F}) {
    onnx::TensorProto& part = *parts.add_tensor_values();
    part.set_data_type(onnx::TensorProto::FLOAT);
    part.add_dims(2);
    part.add_float_data(first);
    part.add_float_data(first + 1);
  }
  runs.folder().Write("parts.pb", parts.SerializeAsString());
  CHECK_THAT(runs.Run({"--random-inputs", "--input", "parts=@parts.pb"}, "@sequence.onnx").out,
             Contains("y  float32[4]  1 2 3 4"));
}

TEST_CASE("inputs of another type or rank are one line and exit code 2") {
  const Runs runs;
  runs.folder().Write("double.npy", *NpyBytes(Tensor::Of<double>(DType::kFloat64, {1, 2}, {1, 2})));
  runs.folder().Write("flat.npy", *NpyBytes(Tensor::Of<float>(DType::kFloat32, {2}, {1, 2})));
  runs.folder().Write("wide.npy", *NpyBytes(Tensor::Of<float>(DType::kFloat32, {1, 3}, {1, 2, 3})));
  runs.Fails({"--input", "x=@double.npy"}, 2, "input 'x': expected float32[n,2], found float64[1,2]");
  runs.Fails({"--input", "x=@flat.npy"}, 2, "input 'x': expected float32[n,2], found float32[2]");
  runs.Fails({"--input", "x=@wide.npy"}, 2, "input 'x': expected float32[n,2], found float32[1,3]");
  onnx::ModelProto model;
  REQUIRE(model.ParseFromString(runs.folder().Read("model.onnx")));
  model.mutable_graph()
      ->mutable_input(0)
      ->mutable_type()
      ->mutable_tensor_type()
      ->mutable_shape()
      ->mutable_dim(0)
      ->set_dim_param("two\nlines");
  runs.folder().Write("lines.onnx", model.SerializeAsString());
  runs.Fails({"--input", "x=@flat.npy"}, 2, "expected float32[two\\x0alines,2]", "@lines.onnx");
}

TEST_CASE("a loop that goes on is ended by --max-loop-iterations") {
  const Runs runs;
  runs.WriteModel("loop.onnx", R"(<ir_version: 9, opset_import: ["" : 20]>
    g (float[2] x) => (float[2] y) <int64 rounds = {10}> {
      y = Loop <body = b (int64 i, bool c, float[2] state) => (bool c_out, float[2] next) {
        c_out = Identity (c)  next = Neg (state)
      }> (rounds, , x)
    })");
  CHECK(runs.Run({"--random-inputs", "--max-loop-iterations", "10"}, "@loop.onnx").exit_code == 0);
  runs.Fails({"--random-inputs", "--max-loop-iterations", "9"}, 5,
             "expected at most 9 iterations, found more (amp-run --max-loop-iterations)", "@loop.onnx");
  runs.Fails({"--max-loop-iterations", "few"}, 2, "--max-loop-iterations: expected a whole number", "@loop.onnx");
}

TEST_CASE("a tensor of 2^60 elements is a limit, before memory is asked for") {
  const Runs runs;
  runs.WriteModel("large.onnx", R"(<ir_version: 9, opset_import: ["" : 20]>
    g (float[2] x) => (float[m] y) <int64[1] dims = {1152921504606846976}> { y = ConstantOfShape (dims) })");
  runs.Fails({"--random-inputs"}, 5, "ConstantOfShape", "@large.onnx");
}

#if !defined(__SANITIZE_ADDRESS__)  // whose own memory is more than any limit
// No more memory than now, but for `more_bytes`.
class MemoryLimit {
 public:
  explicit MemoryLimit(size_t more_bytes) {
    ::getrlimit(RLIMIT_AS, &before_);
    size_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    rlimit now = before_;
    now.rlim_cur = pages * static_cast<size_t>(::sysconf(_SC_PAGESIZE)) + more_bytes;
    ::setrlimit(RLIMIT_AS, &now);
  }
  ~MemoryLimit() { ::setrlimit(RLIMIT_AS, &before_); }
  MemoryLimit(const MemoryLimit&) = delete;
  MemoryLimit& operator=(const MemoryLimit&) = delete;

 private:
  rlimit before_ = {};
};

TEST_CASE("a run that needs more memory than there is ends with exit code 5 and one line") {
  const Runs runs;
  runs.WriteModel("large.onnx", R"(<ir_version: 9, opset_import: ["" : 20]>
    g (int64[1] dims) => (double[m] y) { y = ConstantOfShape <value = double[1] {1}> (dims) })");
  runs.folder().Write("dims.npy", *NpyBytes(Tensor::Of<int64_t>(DType::kInt64, {1}, {int64_t{1} << 30})));
  CHECK(runs.Run({"--inputs", "@sample.npz"}).exit_code == 0);  // threads and libraries are there from here on
  const MemoryLimit limit(size_t{1} << 30);
  runs.Fails({"--input", "dims=@dims.npy"}, 5, "out of memory", "@large.onnx");
}
#endif

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

// window.onnx: a convolution whose window takes that many samples.
void WriteWindow(const Runs& runs, int64_t taps) {
  runs.WriteModel("window.onnx", absl::StrCat(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[n,1,samples] x) => (float[n,1,m] y) <int64[3] s = {1, 1, )",
                                              taps, R"(}> {
      w = ConstantOfShape (s)
      y = Conv (x, w)
    })"));
}

TEST_CASE("a seed behind the flag without an equals sign is told how to be given") {
  const Runs runs;
  runs.Fails({"--random-inputs", "7"}, 2,
             "unexpected argument '7'; expected one MODEL; did you mean '--random-inputs=7'?");
}

TEST_CASE("made-up inputs get sizes that the model takes, which is noted") {
  const Runs runs;
  WriteWindow(runs, 200);
  const ToolOutput output = runs.Run({"--random-inputs"}, "@window.onnx");
  CHECK(output.exit_code == 0);
  CHECK(output.err ==
        "amp-run: note: unknown dimensions of made-up inputs are 256, as the model takes none of 16; --dim "
        "n=N --dim samples=N sizes them\n");
  CHECK_THAT(output.out, Contains("float32[1,1,57]"));
  CHECK(runs.Run({"--random-inputs", "--dim", "samples=300"}, "@window.onnx").err.empty());
  CHECK(runs.Run({"--random-inputs", "--quiet"}, "@window.onnx").err.empty());
}

TEST_CASE("batches of made-up inputs need not come first") {
  const Runs runs;
  runs.WriteModel("state.onnx", R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[2,?,4] state, float[?,?] x) => (float[2,m,n] y) <int64[3] s = {2, 1, 4}, int64[1] first = {0}> {
      fixed = Reshape (state, s)
      sums = ReduceSum <keepdims = 0> (fixed)
      y = Add (x, sums)
    })");
  CHECK(runs.Run({"--random-inputs"}, "@state.onnx").exit_code == 0);
}

TEST_CASE("dimensions of made-up inputs that have no name are sized by input and axis") {
  const Runs runs;
  runs.WriteModel("rows.onnx", R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[?,4,?] x, float[n] bias) => (float[?,4,m] y) { y = Add (x, bias) })");
  const auto flags = [](const std::string& dim) {
    return std::vector<std::string>{"--random-inputs", "--dim", dim, "--dim", "n=6"};
  };
  std::vector<std::string> sized = flags("x:2=6");
  CHECK_THAT(runs.Succeeds(sized, "@rows.onnx"), Contains("float32[1,4,6]"));
  sized.insert(sized.end(), {"--dim", "x:0=5"});
  CHECK_THAT(runs.Succeeds(sized, "@rows.onnx"), Contains("float32[5,4,6]"));
  runs.Fails(flags("x:1=6"), 2,
             "no input has a dimension of unknown size with the name 'x:1'; they have 'n', 'x:0', 'x:2'", "@rows.onnx");
  runs.Fails(flags("x:0=5"), 2, "inputs are made up: --dim x:2=N sizes them", "@rows.onnx");
  // Inputs that a file gives have their sizes.
  const Tensor x = Tensor::Of<float>(DType::kFloat32, {1, 4, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  runs.folder().Write("x.npz", *NpzBytes({{"x", x}}));
  runs.Fails({"--random-inputs", "--inputs", "@x.npz"}, 2, "inputs are made up: --dim n=N sizes them", "@rows.onnx");
}

TEST_CASE("a dimension that has a name may be sized by input and axis, and has one size") {
  const Runs runs;
  const auto flags = [](const std::string& first, const std::string& second) {
    return std::vector<std::string>{"--random-inputs", "--dim", first, "--dim", second};
  };
  CHECK(runs.Succeeds({"--random-inputs", "--dim", "x:0=5"}) == runs.Succeeds({"--random-inputs", "--dim", "n=5"}));
  CHECK(runs.Succeeds(flags("x:0=5", "n=5")) == runs.Succeeds({"--random-inputs", "--dim", "n=5"}));
  runs.Fails(flags("x:0=5", "n=6"), 2, "--dim: expected one size of dimension 'n', found");
  runs.Fails({"--random-inputs", "--dim", "x:1=2"}, 2, "no input has a dimension of unknown size with the name 'x:1'");
  runs.Fails({"--random-inputs", "--dim", "x:2=2"}, 2, "no input has a dimension of unknown size with the name 'x:2'");
}

TEST_CASE("what is given twice is refused, also with one value") {
  const Runs runs;
  runs.Fails({"--random-inputs", "--dim", "n=5", "--dim", "n=6"}, 2, "error: --dim: 'n' is given twice\n");
  runs.Fails({"--random-inputs", "--dim", "n=5", "--dim", "n=5"}, 2, "error: --dim: 'n' is given twice\n");
  runs.Fails({"--input", "x=@x.npy", "--input", "x=@x.pb"}, 2, "error: --input: 'x' is given twice\n");
  runs.Fails({"--evaluate", "x=@x.npy", "--evaluate", "x=@x.npy"}, 2, "error: --evaluate: 'x' is given twice\n");
}

TEST_CASE("made-up inputs that no size makes fit are the inputs' fault, and how to give others is told") {
  const Runs runs;
  WriteWindow(runs, 5000);
  const std::string why =
      "expected a window within 16 elements and pads of 0 and 0, found one of 5000; inputs are made "
      "up: --dim n=N --dim samples=N sizes them, --input NAME=FILE gives real ones";
  runs.Fails({"--random-inputs"}, 2, why, "@window.onnx");
  runs.Fails({"--random-inputs", "--dim", "samples=100"}, 2,
             "found one of 5000; inputs are made up: --dim n=N sizes them", "@window.onnx");
}

}  // namespace
}  // namespace amp
