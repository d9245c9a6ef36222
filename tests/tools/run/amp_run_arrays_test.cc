// Arrays that amp-run reads and writes: outputs are inputs of the next run, of any kind, and one call does all that is
// asked for.
#include <limits>

#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"
#include "runtime/values/npy.h"
#include "tests/catch2.h"
#include "tests/tools/run/amp_run_folder.h"

namespace amp {
namespace {

using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;

// Strings, a sequence, a map and a sequence of maps, given back as they are.
constexpr absl::string_view kMaker = R"(<ir_version: 8, opset_import: ["" : 17, "ai.onnx.ml" : 3]>
  g (float[n,2] x) => (seq(float[n,2]) s, seq(map(int64, float)) z, string[k] t)
    <string[2] t_0 = {"a", "bc"}> {
    y = Neg (x)
    s = SequenceConstruct (x, y)
    z = ai.onnx.ml.ZipMap <classlabels_int64s = [7, 5]> (x)
    t = Identity (t_0)
  })";
constexpr absl::string_view kTaker = R"(<ir_version: 8, opset_import: ["" : 17]>
  g (seq(float[n,2]) s, seq(map(int64, float)) z, string[k] t)
    => (seq(float[n,2]) s_out, seq(map(int64, float)) z_out, string[k] t_out) {
    s_out = Identity (s)
    z_out = Identity (z)
    t_out = Identity (t)
  })";

TEST_CASE("outputs of one run are inputs of the next: strings, sequences and maps") {
  const Runs runs;
  runs.WriteModel("model.onnx", kMaker);
  runs.WriteModel("taker.onnx", kTaker);
  runs.Succeeds({"--inputs", "@sample.npz", "--outputs", "@first.npz"});
  runs.Succeeds({"--inputs", "@first.npz", "--outputs", "@second.npz"}, "@taker.onnx");
  const absl::StatusOr<NamedTensors> first = ReadNpz(runs.folder().File("first.npz")),
                                     second = ReadNpz(runs.folder().File("second.npz"));
  REQUIRE((first.ok() && second.ok()));
  REQUIRE(first->size() == 5);
  REQUIRE(second->size() == 5);
  for (size_t i = 0; i < first->size(); ++i) {
    const auto& [name, tensor] = first->at(i);
    INFO(name);
    CHECK(second->at(i).first == absl::StrCat(name.substr(0, 1), "_out", name.substr(1)));
    CHECK(NpyBytes(second->at(i).second).value() == NpyBytes(tensor).value());
  }
  // One by one, too.
  runs.Succeeds({"--inputs", "@sample.npz", "--output-dir", "@out"});
  const std::string each = runs.Succeeds(
      {"--input", "s/0=@out/s_0.npy", "--input", "s/1=@out/s_1.npy", "--input", "z/0/keys=@out/z_0_keys.npy", "--input",
       "z/0/values=@out/z_0_values.npy", "--input", "t=@out/t.npy"},
      "@taker.onnx");
  CHECK_THAT(each, Contains("s_out  sequence of 2") && Contains("t_out  string[2]  'a' 'bc'"));
}

TEST_CASE("an empty sequence is written, and read again") {
  const Runs runs;
  runs.WriteModel("model.onnx", R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[n,2] x) => (seq(float) s, float[n,2] y) { s = SequenceEmpty () y = Neg (x) })");
  runs.WriteModel("taker.onnx", R"(<ir_version: 8, opset_import: ["" : 17]>
    g (seq(float) s) => (int64 count) { count = SequenceLength (s) })");
  runs.Succeeds({"--inputs", "@sample.npz", "--outputs", "@first.npz"});
  const absl::StatusOr<NamedTensors> first = ReadNpz(runs.folder().File("first.npz"));
  REQUIRE(first.ok());
  REQUIRE(first->size() == 2);
  CHECK(first->at(0).first == "s");
  CHECK(first->at(0).second.dims() == Dims{0});
  runs.folder().Write("s.npz", *NpzBytes({first->at(0)}));
  CHECK_THAT(runs.Succeeds({"--inputs", "@s.npz"}, "@taker.onnx"), StartsWith("count  int64[]  0"));
  runs.Succeeds({"--inputs", "@sample.npz", "--output-dir", "@out"});
  CHECK_THAT(runs.Succeeds({"--input", "s=@out/s.npy"}, "@taker.onnx"), StartsWith("count  int64[]  0"));
  runs.Fails({"--input", "s=@x.npy"}, 2, "input 's': expected", "@taker.onnx");
}

TEST_CASE("parts of a sequence or map that do not fit are told by name") {
  const Runs runs;
  runs.WriteModel("taker.onnx", kTaker);
  const Tensor x = Tensor::Of<float>(DType::kFloat32, {1, 2}, {1, 2});
  const auto fails = [&](const NamedTensors& arrays, const std::string& what) {
    runs.folder().Write("parts.npz", *NpzBytes(arrays));
    runs.Fails({"--inputs", "@parts.npz"}, 2, what, "@taker.onnx");
  };
  fails({{"s/0", x}, {"s/2", x}}, "parts.npz: input 's': array 's/2' has no place in it");
  fails({{"s/0/1", x}}, "expected an array 's/0', found none");
  fails({{"z/0/keys", x}}, "expected an array 'z/0/values', found none");
  fails({{"z/0/keys", x}, {"z/0/values", x}}, "expected keys and values of one length in 'z/0'");
  fails({{"t/0", x}}, "array 't/0' is named after no input of the model");
  runs.Fails({"--input", "s/0=@x.pb"}, 2, "expected a file .npy for 's/0', found another ending", "@taker.onnx");
}

TEST_CASE("one call writes, times, profiles and compares") {
  const Runs runs;
  const std::string out = runs.Succeeds({"--inputs", "@sample.npz", "--outputs", "@o.npz", "--output-dir", "@out",
                                         "--bench", "--iterations", "2", "--profile", "@p.json"});
  CHECK_THAT(out, Contains("wrote " + runs.folder().File("o.npz")) && Contains(runs.folder().File("out/y.npy")) &&
                      Contains("wrote " + runs.folder().File("p.json")) && Contains("median"));
  CHECK(runs.folder().Has("o.npz"));
  // A difference is an error, and all else is done before.
  runs.folder().Write("o.npz", "");
  const ToolOutput compared = runs.Run({"--inputs", "@sample.npz", "--outputs", "@o.npz", "--profile", "@q.json",
                                        "--compare", "@other.onnx", "--tolerance", "0.001"});
  CHECK(compared.exit_code == 7);
  CHECK(ReadNpz(runs.folder().File("o.npz")).ok());
  CHECK(runs.folder().Has("q.json"));
  const std::string json = runs.Succeeds(
      {"--inputs", "@sample.npz", "--outputs", "@o.npz", "--profile", "@p.json", "--json", "--compare", "@model.onnx"});
  CHECK(nlohmann::json::accept(json));
}

TEST_CASE("a file .npy takes one array, and another number is told what does") {
  const Runs runs;
  runs.Fails({"--inputs", "@sample.npz", "--outputs", "@y.npy"}, 2,
             "y.npy' holds one array, found 2 to write, 'y', 'z': --outputs ");
  CHECK_FALSE(runs.folder().Has("y.npy"));
  runs.WriteModel("one.onnx", R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[n,2] x) => (float[n,2] y) { y = Neg (x) })");
  runs.Succeeds({"--inputs", "@sample.npz", "--outputs", "@y.npy"}, "@one.onnx");
  const absl::StatusOr<Tensor> y = ParseNpy(runs.folder().Read("y.npy"));
  REQUIRE(y.ok());
  CHECK(y->elements<float>() == absl::Span<const float>({2, -3}));
  runs.WriteModel("parts.onnx", R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[n,2] x) => (seq(float[n,2]) y) { y = SequenceConstruct (x, x) })");
  runs.Fails({"--inputs", "@sample.npz", "--outputs", "@s.npy"}, 2, "found 2 to write, 'y/0', 'y/1'", "@parts.onnx");
}

TEST_CASE("outputs go to files whose ending says what they are") {
  const Runs runs;
  for (const std::string ending : {".png", ".txt", ".NPY", ".NPZ", ".onnx", ".npz.tmp"}) {
    runs.Fails({"--inputs", "@sample.npz", "--outputs", "@o" + ending}, 2,
               "--outputs: expected a file .npz (all outputs) or .npy (the only one), in lower case, found '");
    CHECK_FALSE(runs.folder().Has("o" + ending));
  }
  runs.Succeeds({"--inputs", "@sample.npz", "--outputs", "@without"});
  CHECK(ReadNpz(runs.folder().File("without")).ok());
}

TEST_CASE("an output that the model lists twice is written once") {
  const Runs runs;
  runs.WriteModel("twice.onnx", R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[n,2] x) => (float[n,2] y, float[n,2] y) { y = Sigmoid (x) })");
  runs.Succeeds({"--inputs", "@sample.npz", "--outputs", "@y.npz"}, "@twice.onnx");
  runs.Succeeds({"--inputs", "@sample.npz", "--outputs", "@y.npy"}, "@twice.onnx");
}

TEST_CASE("a dash is stdout, where nothing else goes then") {
  const Runs runs;
  const ToolOutput archive = runs.Run({"--inputs", "@sample.npz", "--outputs", "-", "--bench", "--iterations", "1"});
  CHECK(archive.exit_code == 0);
  CHECK_THAT(archive.err, Contains("median"));
  const absl::StatusOr<NamedTensors> read = ReadNpz(runs.folder().Write("piped.npz", archive.out));
  REQUIRE(read.ok());
  CHECK(read->size() == 2);
  const ToolOutput trace = runs.Run({"--inputs", "@sample.npz", "--profile", "-"});
  CHECK(nlohmann::json::accept(trace.out));
  CHECK_THAT(trace.err, Contains("LeakyRelu"));
  runs.Fails({"--inputs", "@sample.npz", "--profile", "-", "--outputs", "-"}, 2, "expected one thing on stdout");
  runs.Fails({"--inputs", "@sample.npz", "--outputs", "-", "--json", "--bench"}, 2, "expected one thing on stdout");
  runs.Fails({"--inputs", "@sample.npz", "--output-dir", "-"}, 2, "--output-dir: expected a path, found '-'");
  CHECK_THAT(RunAmpRun({"--help"}).out, Contains("to stdout, alone"));
}

TEST_CASE("inputs of another width are cast where that is asked for, and it is said which") {
  const Runs runs;
  runs.WriteModel("both.onnx", R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[n,2] x, int32[n] i) => (float[n,2] y, int32[n] j) { y = Neg (x)  j = Identity (i) })");
  const auto write = [&](int64_t i) {
    runs.folder().Write("wide.npz", *NpzBytes({{"x", Tensor::Of<double>(DType::kFloat64, {1, 2}, {1, 2.5})},
                                               {"i", Tensor::Of<int64_t>(DType::kInt64, {1}, {i})}}));
  };
  write(-3);
  runs.Fails({"--inputs", "@wide.npz"}, 2, "; --cast-inputs casts it", "@both.onnx");
  const ToolOutput cast = runs.Run({"--inputs", "@wide.npz", "--cast-inputs"}, "@both.onnx");
  CHECK(cast.exit_code == 0);
  CHECK(cast.err == "amp-run: note: inputs are cast: i (int64 to int32), x (float64 to float32)\n");
  CHECK_THAT(cast.out, Contains("-1 -2.5") && Contains("j  int32[1]  -3"));
  for (const int64_t far : {int64_t{1} << 31, -(int64_t{1} << 31) - 1}) {
    write(far);
    runs.Fails({"--inputs", "@wide.npz", "--cast-inputs"}, 2,
               absl::StrCat("input 'i': --cast-inputs: expected numbers that int32 holds, found ", far), "@both.onnx");
  }
  // The near miss: what already fits is not cast, and nothing is said.
  CHECK(runs.Run({"--inputs", "@sample.npz", "--cast-inputs"}).err.empty());
  // Whole numbers do not become floats: who gives them may have taken the wrong file.
  runs.folder().Write("whole.npz", *NpzBytes({{"x", Tensor::Of<int64_t>(DType::kInt64, {1, 2}, {1, 2})}}));
  runs.Fails({"--inputs", "@whole.npz", "--cast-inputs"}, 2, "input 'x': expected float32[n,2], found int64[1,2]");
}

TEST_CASE("what a cast cannot keep is refused: numbers beyond the type, and whole numbers in the place of others") {
  const Runs runs;
  const auto write = [&](const Tensor& x) { runs.folder().Write("x.npz", *NpzBytes({{"x", x}})); };
  write(Tensor::Of<double>(DType::kFloat64, {1, 2}, {1, 1e300}));
  runs.Fails({"--inputs", "@x.npz", "--cast-inputs"}, 2,
             "input 'x': --cast-inputs: expected numbers that float32 holds, found 1e+300");
  write(Tensor::Of<double>(DType::kFloat64, {1, 2}, {1e-300, -std::numeric_limits<double>::infinity()}));
  CHECK(runs.Run({"--inputs", "@x.npz", "--cast-inputs"}).exit_code == 0);
  write(Tensor::Of<int64_t>(DType::kInt64, {1, 2}, {1, 2}));
  for (const std::vector<std::string>& flags :
       {std::vector<std::string>{"--inputs", "@x.npz"}, {"--inputs", "@x.npz", "--cast-inputs"}}) {
    runs.Fails(flags, 2,
               "input 'x': expected float32[n,2], found int64[1,2]; --cast-inputs casts floats to floats and integers "
               "to integers alone; in NumPy, array.astype casts others");
  }
}

TEST_CASE("a dimension of one name has one size in what is given") {
  const Runs runs;
  const auto model = [](const std::string& name) {
    return absl::StrCat(R"(<ir_version: 8, opset_import: ["" : 17]>
      g (float[)",
                        name, R"(] x, float[)", name,
                        R"(] b) => (float[m] y, float[k] c) { y = Neg (x)  c = Neg (b) })");
  };
  runs.folder().Write("two.npz", *NpzBytes({{"x", Tensor::Of<float>(DType::kFloat32, {2}, {1, 2})},
                                            {"b", Tensor::Of<float>(DType::kFloat32, {3}, {1, 2, 3})}}));
  runs.WriteModel("named.onnx", model("n"));
  runs.Fails({"--inputs", "@two.npz"}, 2,
             "dimension 'n': expected one size, found 2 (axis 0 of input 'x') and 3 (axis 0 of input 'b')",
             "@named.onnx");
  // The near misses: one size, and what is no name.
  runs.folder().Write("same.npz", *NpzBytes({{"x", Tensor::Of<float>(DType::kFloat32, {2}, {1, 2})},
                                             {"b", Tensor::Of<float>(DType::kFloat32, {2}, {1, 2})}}));
  CHECK(runs.Run({"--inputs", "@same.npz"}, "@named.onnx").exit_code == 0);
  runs.WriteModel("unknown.onnx", model("?"));
  CHECK(runs.Run({"--inputs", "@two.npz"}, "@unknown.onnx").exit_code == 0);
}

TEST_CASE("an input that no node reads need not be given, and may be") {
  const Runs runs;
  runs.WriteModel("unread.onnx", R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[n,2] x, float[1,1,1,3] mean) => (float[n,2] y) { y = Neg (x) })");
  const std::string without = runs.Succeeds({"--inputs", "@sample.npz"}, "@unread.onnx");
  CHECK(runs.Succeeds({"--inputs", "@sample.npz", "--compare", "@unread.onnx"}, "@unread.onnx").substr(0, 3) == "y  ");
  runs.folder().Write("mean.npy", *NpyBytes(Tensor::Of<float>(DType::kFloat32, {1, 1, 1, 3}, {1, 2, 3})));
  CHECK(runs.Succeeds({"--inputs", "@sample.npz", "--input", "mean=@mean.npy"}, "@unread.onnx") == without);
  // The near misses: what a node or an output reads.
  runs.Fails({"--input", "mean=@mean.npy"}, 2, "expected input 'x', found 'mean'", "@unread.onnx");
  runs.WriteModel("out.onnx", R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[n,2] x, float[2] c) => (float[n,2] y, float[2] d) { y = Neg (x)  d = Identity (c) })");
  runs.Fails({"--inputs", "@sample.npz"}, 2, "expected input 'c', found 'x'", "@out.onnx");
}

}  // namespace
}  // namespace amp
