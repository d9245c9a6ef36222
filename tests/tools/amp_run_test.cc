// What amp-run takes, prints and writes. What fails is one line and its exit code.
#include "tools/amp_run.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "onnx/onnx-data.pb.h"
#include "onnx/onnx_pb.h"
#include "runtime/loops/best_loops.h"
#include "runtime/npy.h"
#include "tests/catch2.h"
#include "tests/tools/amp_run_folder.h"
#include "tools/describe_devices.h"

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
