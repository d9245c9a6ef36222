#include "tests/tools/program/file_rule_table.h"

#include "absl/strings/str_cat.h"
#include "onnx/onnx_pb.h"
#include "runtime/values/npy.h"
#include "tests/catch2.h"
#include "tests/tools/train/step_graphs.h"
#include "tools/run/amp_run.h"

namespace amp {
namespace {

constexpr absl::string_view kModelText = R"(<ir_version: 8, opset_import: ["" : 17]>
  g (float[n,3] x) => (float[n,2] y) <float[3,2] w = {0.1, -0.1, 0.2, 0, 0, 0.3}> { y = MatMul (x, w) })";

// Writes the model with all its weights in a data file beside it.
void WriteWithData(const ScratchFolder& folder, const std::string& name, const std::string& bytes,
                   const std::string& data_name) {
  onnx::ModelProto model;
  REQUIRE(model.ParseFromString(bytes));
  std::string data;
  for (auto& tensor : *model.mutable_graph()->mutable_initializer()) {
    std::string raw = tensor.raw_data();
    for (const float value : tensor.float_data()) raw.append(reinterpret_cast<const char*>(&value), sizeof(value));
    if (raw.empty()) continue;
    tensor.clear_raw_data();
    tensor.clear_float_data();
    tensor.set_data_location(onnx::TensorProto::EXTERNAL);
    const auto add = [&](const char* key, const std::string& value) {
      auto* entry = tensor.add_external_data();
      entry->set_key(key);
      entry->set_value(value);
    };
    add("location", data_name);
    add("offset", absl::StrCat(data.size()));
    add("length", absl::StrCat(raw.size()));
    data += raw;
  }
  REQUIRE_FALSE(data.empty());
  folder.Write(name, model.SerializeAsString());
  folder.Write(data_name, data);
}

Program Rewrite() {
  return {
      .name = "amp-rewrite",
      .run = [](const Words& words) { return RunAmpRewrite(words); },
      .command = {"@model.onnx"},
      .needed = {"-o", "@needed.onnx"},
      .reads = {{"MODEL", {}, "model.onnx"},
                {"MODEL", {}, "model.bin"},
                {"--lists", {"--lists", "@own.list"}, "own.list"},
                {"--calibration", {"--calibration", "@sample.npz"}, "sample.npz"},
                {"--ranges", {"--ranges", "@ranges.json"}, "ranges.json"},
                {"--verify", {"--verify=@other.npz"}, "other.npz"}},
      .writes = {{"-o", {"-o", "%"}, FileKind::kModel},
                 {"--report", {"--report", "%"}, FileKind::kJson},
                 {"--report", {"--report", "@there.html"}, FileKind::kHtml, "there.html"},
                 {"--node-data", {"--node-data", "%"}, FileKind::kJson},
                 {"--ranges", {"--calibration", "@sample.npz", "--ranges", "%"}, FileKind::kJson},
                 {"--sensitivity", {"--calibration", "@sample.npz", "--sensitivity=%"}, FileKind::kCsv},
                 {"--search-log", {"--calibration", "@sample.npz", "--search", "--search-log", "%"}, FileKind::kJson},
                 {"--search-list", {"--calibration", "@sample.npz", "--search", "--search-list", "%"}, FileKind::kList},
                 {"--pareto", {"--calibration", "@sample.npz", "--search", "--pareto", "%"}, FileKind::kCsv}},
      .other_values = {"GLOB", "SIGNATURE", "COMMAND", "NAME", "NAME=N", "N", "X", "WEIGHT=GRAD", "TENSOR:dense=N",
                       "OP[,OP...]", "bash"},
      .positionals = {"MODEL"}};
}

Program Run() {
  return {.name = "amp-run",
          .run = [](const Words& words) { return RunAmpRun(words); },
          .command = {"@model.onnx", "--random-inputs"},
          .needed = {},
          .reads = {{"MODEL", {}, "model.onnx"},
                    {"MODEL", {}, "model.bin"},
                    {"--input", {"--input", "x=@x.npy"}, "x.npy"},
                    {"--inputs", {"--inputs", "@sample.npz"}, "sample.npz"},
                    {"--evaluate", {"--evaluate", "x=@x.npy"}, "x.npy"},
                    {"--compare", {"--compare", "@forward.onnx"}, "forward.onnx"},
                    {"--compare", {"--compare", "@forward.onnx"}, "forward.bin"},
                    {"--autotune", {"--autotune", "@tuning.json", "--device", "cuda"}, "tuning.json"}},
          .writes = {{"--outputs", {"--outputs", "%"}, FileKind::kArchive},
                     {"--output-dir", {"--output-dir", "@made"}, FileKind::kArray, "made/y.npy"},
                     {"--profile", {"--profile", "%"}, FileKind::kJson},
                     {"--profile", {"--profile", "@there.html"}, FileKind::kHtml, "there.html"},
                     {"--report", {"--compare", "@model.onnx", "--report", "@page.html"}, FileKind::kHtml, "page.html"},
                     {"--autotune", {"--autotune", "%", "--device", "cuda"}, FileKind::kJson}},
          .other_values = {"[=SEED]", "NAME=N", "N", "X", "nearest", "[=stdin]", "[=WHAT[,WHAT...]]"},
          .positionals = {"MODEL"}};
}

const Words kTestWords = {"--eval-data", "x=@test.npz:x", "--eval-data", "labels=@test.npz:labels"};
const Words kForwardWords = {"--forward",     "@forward.onnx", "--eval-data",
                             "x=@test.npz:x", "--eval-data",   "labels=@test.npz:labels"};

Program Train() {
  return {.name = "amp-train",
          .run = [](const Words& words) { return RunAmpTrain(words); },
          .command = {"@step.onnx", "--data", "x=@data.npz:x", "--data", "labels=@data.npz:labels"},
          .needed = {},
          .reads = {{"STEP", {}, "step.onnx"},
                    {"STEP", {}, "step.bin"},
                    {"--data", {}, "data.npz"},
                    {"--eval-data", kTestWords, "test.npz"},
                    {"--forward", kForwardWords, "forward.onnx"},
                    {"--forward", kForwardWords, "forward.bin"},
                    {"--resume", {"--resume", "@run.npz", "--epochs", "2"}, "run.npz"},
                    {"--autotune", {"--autotune", "@tuning.json", "--device", "cuda"}, "tuning.json"}},
          .writes = {{"--checkpoint", {"--checkpoint", "%"}, FileKind::kCheckpoint},
                     {"--save-weights", {"--save-weights", "%"}, FileKind::kModel},
                     {"--save-best", {"--save-best", "%", "--validation-split", "0.5"}, FileKind::kModel},
                     {"--log", {"--log", "%"}, FileKind::kCsv},
                     {"--log", {"--log", "@there.html"}, FileKind::kHtml, "there.html"},
                     {"--autotune", {"--autotune", "%", "--device", "cuda"}, FileKind::kJson}},
          .other_values = {"X", "N", "SEED", "nearest", "constant,"},
          .positionals = {"STEP"}};
}

Program New() {
  return {.name = "amp-train new",
          .run =
              [](Words words) {
                words.insert(words.begin(), "new");
                return RunAmpTrain(words);
              },
          .command = {"mlp", "3-2"},
          .needed = {"-o", "@needed.onnx"},
          .reads = {},
          .writes = {{"-o", {"-o", "%"}, FileKind::kModel}},
          .other_values = {"N", "classification"},
          .positionals = {"KIND", "SIZES"}};
}

// Returns a data set of six points.
NamedTensors Points() {
  std::vector<float> x(18);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 5);
  return {{"x", Tensor::Of<float>(DType::kFloat32, {6, 3}, x)},
          {"labels", Tensor::Of<int64_t>(DType::kInt64, {6}, {0, 1, 0, 1, 0, 1})}};
}

}  // namespace

const std::vector<Program>& Programs() {
  static const std::vector<Program> programs = {Rewrite(), Run(), Train(), New()};
  return programs;
}

void MakeFiles(const ScratchFolder& folder) {
  WriteWithData(folder, "model.onnx", *ParseOnnxText(kModelText), "model.bin");
  WriteWithData(folder, "forward.onnx", *ParseOnnxText(kForwardText), "forward.bin");
  WriteWithData(folder, "step.onnx", StepGraph(), "step.bin");
  const Tensor x = Tensor::Of<float>(DType::kFloat32, {1, 3}, {1, 2, 3});
  folder.Write("x.npy", *NpyBytes(x));
  for (const char* name : {"sample.npz", "other.npz"}) folder.Write(name, *NpzBytes({{"x", x}}));
  for (const char* name : {"data.npz", "test.npz"}) folder.Write(name, *NpzBytes(Points()));
  folder.Write("own.list", "Softmax infer why\n");
  folder.Write("tuning.json", R"({"schema": 1, "choices": {}})");
  std::filesystem::create_directories(folder.File("made"));
  REQUIRE(RunAmpRewrite({folder.File("model.onnx"), "--dry-run", "--calibration", folder.File("sample.npz"), "--ranges",
                         folder.File("ranges.json")})
              .exit_code == 0);
  REQUIRE(RunAmpTrain({folder.File("step.onnx"), "--data", absl::StrCat("x=", folder.File("data.npz:x")), "--data",
                       absl::StrCat("labels=", folder.File("data.npz:labels")), "--checkpoint", folder.File("run.npz")})
              .exit_code == 0);
}

}  // namespace amp
