// --search, through the tool: what stays float32 for the outputs to be within an error, and what is written.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "nlohmann/json.hpp"
#include "passes/report/report.h"
#include "runtime/values/npy.h"
#include "tests/catch2.h"
#include "tests/runtime/loops/run_both.h"
#include "tests/tool_run.h"
#include "tools/library/amp.h"

namespace amp {
namespace {

using nlohmann::json;

std::string ManyNumbers(int count) {
  std::string numbers;
  for (int i = 0; i < count; ++i) absl::StrAppend(&numbers, i == 0 ? "" : ", ", 0.01 * ((i * 7) % 23 - 11));
  return numbers;
}

// Five products side by side. The third gives numbers a hundred times those of the others, so that the sum has most of
// its error; two samples of eight are held out.
std::string FiveProducts() {
  std::string weights, body;
  const std::string weight = ManyNumbers(32 * 32);
  std::string sum = "p0";
  for (int i = 0; i < 5; ++i) {
    absl::StrAppend(&weights, "float[32,32] w", i, " = {", weight, "}, ");
    absl::StrAppend(&body, "[product", i, "] m", i, " = MatMul (x, w", i, ") [scale", i, "] p", i, " = Mul (m", i, ", ",
                    i == 2 ? "much" : "little", ")\n");
    if (i == 0) continue;
    const std::string next = i == 4 ? "y" : absl::StrCat("s", i);
    absl::StrAppend(&body, "[sum", i, "] ", next, " = Add (", sum, ", p", i, ")\n");
    sum = next;
  }
  return absl::StrCat(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[8,32] x) => (float[8,32] y) <)",
                      weights, "float much = {100}, float little = {1}> {", body, "}");
}

struct SearchFolder : ToolFolder {
  explicit SearchFolder(absl::string_view model = FiveProducts(), int num_samples = 8) : ToolFolder(model) {
    for (int i = 0; i < num_samples; ++i) {
      const Tensor x = RandomTensor(DType::kFloat32, {8, 32}, Values::kPlain, 1);
      const absl::StatusOr<std::string> bytes = NpzBytes({{"x", x}});
      REQUIRE(bytes.ok());
      samples.insert(samples.end(), {"--calibration", folder.Write(absl::StrCat("s", i, ".npz"), *bytes)});
    }
  }
  ToolOutput Search(std::vector<std::string> flags) const {
    flags.insert(flags.end(), samples.begin(), samples.end());
    flags.insert(flags.end(), {"--search", "--report", folder.File("r.json")});
    return RunTool(flags);
  }
  json Report() const { return json::parse(folder.Read("r.json")); }

  std::vector<std::string> samples;
};

TEST_CASE("where everything low is within, one run says so") {
  const SearchFolder run;
  const ToolOutput output = run.Search({"--max-error", "0.01"});
  INFO(output.err);
  REQUIRE(output.exit_code == 0);
  CHECK(absl::StrContains(output.out, "search: 0 of 5 parts stay float32: error "));
  const json found = run.Report()["search"];
  CHECK(found["runs"] == 2);  // and one on the samples held out
  CHECK(found["samples"] == 6);
  CHECK(found["held_out_samples"] == 2);
  CHECK(found["choices"][0]["held_out_error"] < 0.01);
}

TEST_CASE("the part that loses the most stays float32, and no other has to") {
  const SearchFolder run;
  const ToolOutput output = run.Search({"--max-error", "0.0001"});
  INFO(output.err);
  REQUIRE(output.exit_code == 0);
  const json report = run.Report();
  const json& found = report["search"];
  INFO(found.dump(1));
  CHECK(found["float32"][0]["part"] == "product2");
  CHECK(found["float32"].size() <= 2);
  CHECK(found["choices"][found["taken"].get<size_t>()]["error"] <= 0.0001);
  CHECK(found["runs"] <= 20);
  for (const json& node : report["nodes"]) {
    if (node["path"] == "product2") {
      CHECK(node["low"] == false);
      CHECK(absl::StartsWith(node["because"].get<std::string>(), "kept by --search: part 'product2' has "));
    }
    if (node["path"] == "product0") CHECK(node["low"] == true);
  }
}

TEST_CASE("the list keeps the same nodes float32 without samples") {
  const SearchFolder run;
  const std::string list = run.folder.File("keep.list"), front = run.folder.File("front.csv");
  REQUIRE(run.Search({"--max-error", "0.0001", "--search-list", list, "--pareto", front}).exit_code == 0);
  const std::string again = run.folder.File("again.onnx");
  REQUIRE(RunAmpRewrite({run.in, "-o", again, "--lists", list}).exit_code == 0);
  const auto types = [&](const std::string& name) {
    std::string text;
    const onnx::ModelProto model = run.Model(name);
    for (const onnx::NodeProto& node : model.graph().node())
      absl::StrAppend(&text, node.op_type(), " ", node.name(), "\n");
    return text;
  };
  CHECK(types("again.onnx") == types("out.onnx"));
  const std::vector<std::string> lines = absl::StrSplit(run.folder.Read("front.csv"), '\n', absl::SkipEmpty());
  CHECK(lines[0] == "float32_parts,error,held_out_error,saved_bytes,front,taken");
  CHECK(lines.size() == run.Report()["search"]["choices"].size() + 1);
  // Both are written anew over themselves, and over nothing else.
  CHECK(run.Search({"--max-error", "0.0001", "--search-list", list, "--pareto", front}).exit_code == 0);
  const std::string other = run.folder.Write("other.txt", "a text");
  CHECK(run.Search({"--max-error", "0.0001", "--search-list", other}).exit_code == 4);
  CHECK(run.folder.Read("other.txt") == "a text");
}

TEST_CASE("what cannot be reached is said, with the parts that harm most, and nothing is written") {
  const SearchFolder run;
  const ToolOutput output = run.Search({"--max-error", "1e-12"});
  CHECK(output.exit_code == 7);
  CHECK(absl::StrContains(output.err, "--search: no choice of parts is within 1e-12 and saves bytes, after "));
  CHECK(absl::StrContains(output.err, "of the squared error have 'product2' "));
  CHECK_FALSE(std::filesystem::exists(run.out));
  CHECK_FALSE(std::filesystem::exists(run.folder.File("r.json")));
}

TEST_CASE("the budget holds, and a progress that fails ends the search") {
  const SearchFolder run;
  for (const std::string budget : {"2", "3", "5"}) {
    const ToolOutput output = run.Search({"--max-error", "0.0001", "--budget-runs", budget});
    INFO(budget << " " << output.err);
    if (output.exit_code != 7) {
      REQUIRE(output.exit_code == 0);
      CHECK(run.Report()["search"]["runs"] <= std::stoi(budget));
    }
  }
  RewriteOptions options;
  options.search = true;
  options.max_error = 0.0001;
  for (size_t i = 1; i < run.samples.size(); i += 2) options.calibration.push_back(run.samples[i]);
  int reports = 0;
  options.on_progress = [&](const Progress& progress) {
    if (!absl::StartsWith(progress.step, "search")) return absl::OkStatus();
    return ++reports == 2 ? absl::CancelledError("enough") : absl::OkStatus();
  };
  CHECK(absl::IsCancelled(RewriteFile(run.in, run.out, options).status()));
}

TEST_CASE("few samples are all searched on") {
  const SearchFolder run(FiveProducts(), 2);
  REQUIRE(run.Search({"--max-error", "0.0001"}).exit_code == 0);
  CHECK(run.Report()["search"]["samples"] == 2);
  CHECK(run.Report()["search"]["held_out_samples"] == 0);
}

TEST_CASE("a model of which nothing becomes low is what it was, and that is said") {
  const SearchFolder run(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[8,32] x) => (float[8,32] y) { y = Softmax (x) })");
  const std::string list = run.folder.File("keep.list");
  const ToolOutput output = run.Search({"--search-list", list, "--pareto", run.folder.File("front.csv")});
  CHECK(output.exit_code == 0);
  CHECK(absl::StrContains(output.out, "search: nothing was converted\n"));
  CHECK(run.Report()["search"]["choices"].empty());
  CHECK(std::filesystem::exists(list));
}

// The second product overflows where x is large, as it is in the last of the samples alone.
constexpr absl::string_view kOverflows = R"(<ir_version: 8, opset_import: ["" : 17]>
  g (float[8,32] x) => (float[8,32] y) <float[32,32] w = {)";

std::string Overflowing() {
  std::string weight;
  for (int i = 0; i < 32 * 32; ++i) absl::StrAppend(&weight, i == 0 ? "" : ", ", i % 33 == 0 ? 1 : 0.01);
  std::string weights = weight;
  for (const std::string name : {"v", "u", "t"}) absl::StrAppend(&weights, "}, float[32,32] ", name, " = {", weight);
  return absl::StrCat(kOverflows, weights, R"(}, float up = {1000}, float down = {0.001}> {
    [tame0] a0 = MatMul (x, t)
    [tame1] a1 = MatMul (a0, u)
    [tame2] a = MatMul (a1, w)
    [up] b = Mul (a, up)
    [wild] c = MatMul (b, v)
    [down] d = Mul (c, down)
    [sum] y = Add (a, d) })");
}

TEST_CASE("what only samples held out show is searched for, too") {
  SearchFolder run(Overflowing(), 3);
  Tensor large = RandomTensor(DType::kFloat32, {8, 32}, Values::kPlain, 1);
  for (float& element : large.mutable_elements<float>()) element *= 60;
  run.samples.insert(run.samples.end(), {"--calibration", run.folder.Write("large.npz", *NpzBytes({{"x", large}}))});
  const ToolOutput output = run.Search({"--max-error", "0.01", "--guards", "none"});
  INFO(output.err);
  REQUIRE(output.exit_code == 0);
  const json found = run.Report()["search"];
  INFO(found.dump(1));
  CHECK(found["choices"][found["taken"].get<size_t>()]["held_out_error"] <= 0.01);
  CHECK(found["runs"] <= 20);
}

// Which of two numbers is larger is the same in 16 bits on three samples, and not on the fourth, which is held out.
TEST_CASE("a choice that only a sample held out shows is searched for with a look at that sample") {
  std::string first = "1", second = "0";
  for (int i = 1; i < 32; ++i) {
    absl::StrAppend(&first, ", 0");
    absl::StrAppend(&second, i == 1 ? ", 1" : ", 0");
  }
  std::string weights, body;
  for (int i = 0; i < 3; ++i) {
    absl::StrAppend(&weights, ", float[32,32] w", i, " = {", ManyNumbers(32 * 32), "}");
    absl::StrAppend(&body, "[other", i, "] z", i, " = MatMul (x, w", i, ")\n");
  }
  const std::string model = absl::StrCat(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[8,32] x) => (float[8,32] z0, float[8,32] z1, float[8,32] z2, int64[8] larger) <float[32,1] a = {)",
                                         first, "}, float[32,1] b = {", second, "}", weights, "> {", body, R"(
      [left] p = MatMul (x, a)
      [right] q = MatMul (x, b)
      both = Concat <axis = 1> (p, q)
      larger = ArgMax <axis = 1, keepdims = 0> (both)
    })");
  SearchFolder run(model, 0);
  for (int sample = 0; sample < 4; ++sample) {
    Tensor x = *Tensor::Create(DType::kFloat32, {8, 32});
    for (int i = 0; i < 8 * 32; ++i) {
      const float usual = i % 32 == 0 ? 2 : i % 32 == 1 ? 1 : 0.1F * static_cast<float>((i * 5 + sample) % 13 - 6);
      x.mutable_elements<float>()[static_cast<size_t>(i)] = usual;
    }
    if (sample == 3) {
      x.mutable_elements<float>()[0] = 1.0001F;  // 1 in float16
      x.mutable_elements<float>()[1] = 1.0002F;
    }
    run.samples.insert(run.samples.end(),
                       {"--calibration", run.folder.Write(absl::StrCat(sample, ".npz"), *NpzBytes({{"x", x}}))});
  }
  const ToolOutput output = run.Search({});
  INFO(output.err);
  REQUIRE(output.exit_code == 0);
  const json found = run.Report()["search"];
  INFO(found.dump(1));
  CHECK(found["choices"][0]["held_out_error"] == 0.125);
  REQUIRE(found["float32"].size() == 1);
  CHECK(found["float32"][0]["part"] == "right");
  CHECK(found["choices"][found["taken"].get<size_t>()]["held_out_error"] < 0.01);
}

TEST_CASE("a list names what guards keep by ranges that the samples showed") {
  SearchFolder run(Overflowing(), 1);
  Tensor large = RandomTensor(DType::kFloat32, {8, 32}, Values::kPlain, 1);
  for (float& element : large.mutable_elements<float>()) element *= 60;
  run.samples = {"--calibration", run.folder.Write("large.npz", *NpzBytes({{"x", large}}))};
  const std::string list = run.folder.File("keep.list");
  REQUIRE(run.Search({"--search-list", list}).exit_code == 0);
  CHECK(absl::StrContains(run.folder.Read("keep.list"), "node \"wild\" deny\n"));
}

TEST_CASE("names that a list cannot hold are patterns in it") {
  onnx::ModelProto proto;
  REQUIRE(proto.ParseFromString(*ParseOnnxText(FiveProducts())));
  for (onnx::NodeProto& node : *proto.mutable_graph()->mutable_node()) {
    if (node.name() == "product2") node.set_name("a \"loud\" one\nwith \\ in it");
  }
  const SearchFolder run;
  run.folder.Write("in.onnx", proto.SerializeAsString());
  const std::string list = run.folder.File("keep.list");
  REQUIRE(run.Search({"--max-error", "0.0001", "--search-list", list}).exit_code == 0);
  CHECK(absl::StrContains(run.folder.Read("keep.list"), "node \"a ?loud? one?with \\ in it\" deny\n"));
  CHECK(RunAmpRewrite({run.in, "-o", run.out, "--lists", list, "--strict"}).exit_code == 0);
}

// The error of all low, in bfloat16, where m is 1 + 2^-10 everywhere: that type rounds it to 1.
json ErrorOf(const std::string& outputs, const std::string& nodes) {
  std::string unit;
  for (int i = 0; i < 32 * 32; ++i) absl::StrAppend(&unit, i == 0 ? "" : ", ", i % 33 == 0 ? 1 : 0);
  SearchFolder run(absl::StrCat("<ir_version: 8, opset_import: [\"\" : 17]> g (float[8,32] x) => (", outputs,
                                ") <float[32,32] w = {", unit, "}, float many = {1024}, float more = {1.0005}> {",
                                "m = MatMul (x, w) ", nodes, "}"),
                   0);
  Tensor x = *Tensor::Create(DType::kFloat32, {8, 32});
  for (float& element : x.mutable_elements<float>()) element = 1 + 0x1p-10f;
  const std::string sample = run.folder.Write("x.npz", *NpzBytes({{"x", x}}));
  const ToolOutput output = run.RunTool({"--sensitivity", "--dtype", "bfloat16", "--guards", "none", "--calibration",
                                         sample, "--report", run.folder.File("r.json")});
  INFO(output.err);
  REQUIRE(output.exit_code == 0);
  return run.Report()["sensitivity"]["measured_error"];
}

TEST_CASE("whole numbers that differ are an error, by their share") {
  CHECK(ErrorOf("int64[8,32] y", "k = Mul (m, many) f = Floor (k) y = Cast <to = 7> (f)") == 1);
}

TEST_CASE("an output of another shape is an error without end") {
  CHECK(ErrorOf("int64[2,n] y", "is = Greater (m, more) y = NonZero (is)") == "inf");
}

// The number of a caller who minds one product alone: smaller where it is low.
double NumberOf(const std::string& path, const std::string& product) {
  onnx::ModelProto model;
  std::ifstream file(path, std::ios::binary);
  REQUIRE(model.ParseFromIstream(&file));
  for (const onnx::NodeProto& node : model.graph().node()) {
    if (node.name() != product) continue;
    for (const onnx::TensorProto& weight : model.graph().initializer()) {
      const bool is_read = weight.name() == node.input(1);
      if (is_read) return weight.data_type() == onnx::TensorProto::FLOAT ? 0.98 : 0.90;
    }
  }
  FAIL("no weight of " << product);
  return 0;
}

RewriteOptions SearchOf(const SearchFolder& run) {
  RewriteOptions options;
  options.search = true;
  for (size_t i = 1; i < run.samples.size(); i += 2) options.calibration.push_back(run.samples[i]);
  return options;
}

TEST_CASE("a number of the caller's own is kept, in eight questions at most") {
  const SearchFolder run;
  for (const std::string product : {"product0", "product2", "product4"}) {
    INFO(product);
    int asked = 0;
    RewriteOptions options = SearchOf(run);
    options.max_drop = 0.01;
    options.metric_function = [&](const std::string& path) -> absl::StatusOr<double> {
      CHECK((path == run.in) == (asked == 0));
      ++asked;
      return NumberOf(path, product);
    };
    const absl::StatusOr<RewriteSummary> summary = RewriteFile(run.in, run.out, options);
    INFO(summary.status());
    REQUIRE(summary.ok());
    CHECK(asked <= 8);
    CHECK(NumberOf(run.out, product) == 0.98);
    CHECK(absl::StrContains(summary->search, "drop 0 of at most 0.01 from 0.98"));
    const json found = json::parse(summary->details != nullptr ? ReportJson(*summary->details) : "")["search"];
    CHECK(found["metric"] == "own");
    CHECK(found["baseline"] == 0.98);
    CHECK(found["runs"] == asked);
    CHECK(found["held_out_samples"] == 0);
  }
}

// Five products in a chain, of many rows: one alone in 16 bits costs more casts than it saves.
std::string Chain() {
  std::string weights = "int64[2] tiles = {64, 1}", body = "m = Tile (x, tiles)\n";
  for (int i = 0; i < 5; ++i) {
    absl::StrAppend(&weights, ", float[32,32] w", i, " = {", ManyNumbers(32 * 32), "}");
    absl::StrAppend(&body, "[product", i, "] a", i, " = MatMul (", i == 0 ? "m" : absl::StrCat("r", i - 1), ", w", i,
                    ") [bend", i, "] ", i == 4 ? "y" : absl::StrCat("r", i), " = Relu (a", i, ")\n");
  }
  return absl::StrCat(R"(<ir_version: 8, opset_import: ["" : 17]> g (float[8,32] x) => (float[512,32] y) <)", weights,
                      "> {", body, "}");
}

TEST_CASE("what predictions know nothing of is found beside everything low") {
  const SearchFolder run(Chain());
  RewriteOptions options = SearchOf(run);
  options.max_drop = 0.01;
  options.budget_runs = 20;
  options.metric_function = [&](const std::string& path) -> absl::StatusOr<double> {
    return std::min(NumberOf(path, "product0"), NumberOf(path, "product4"));
  };
  const absl::StatusOr<RewriteSummary> summary = RewriteFile(run.in, run.out, options);
  INFO(summary.status());
  REQUIRE(summary.ok());
  for (const std::string high : {"product0", "product4"}) CHECK(NumberOf(run.out, high) == 0.98);
  for (const std::string low : {"product1", "product2", "product3"}) CHECK(NumberOf(run.out, low) == 0.90);
}

TEST_CASE("a number that gets better in 16 bits, and one that is none, are what they are") {
  const SearchFolder run;
  RewriteOptions options = SearchOf(run);
  options.max_drop = 0;
  options.metric_function = [&](const std::string& path) -> absl::StatusOr<double> { return path == run.in ? 1 : 2; };
  const absl::StatusOr<RewriteSummary> better = RewriteFile(run.in, run.out, options);
  REQUIRE(better.ok());
  CHECK(absl::StrContains(better->search, "search: 0 of 5 parts stay float32: drop -1 of at most 0 from 1"));
  const double none = std::numeric_limits<double>::quiet_NaN();
  options.metric_function = [&](const std::string& path) -> absl::StatusOr<double> {
    return path == run.in ? 1 : none;
  };
  CHECK(absl::IsFailedPrecondition(RewriteFile(run.in, run.out, options).status()));
  options.metric_function = [&](const std::string& path) -> absl::StatusOr<double> {
    return path == run.in ? 1 : std::numeric_limits<double>::infinity();
  };
  CHECK(absl::IsFailedPrecondition(RewriteFile(run.in, run.out, options).status()));
  options.metric_function = [&](const std::string&) -> absl::StatusOr<double> { return none; };
  const absl::Status of_original = RewriteFile(run.in, run.out, options).status();
  CHECK(
      absl::StrContains(of_original.message(), "--search: expected a finite number of the original model, found nan"));
  options.metric_function = [&](const std::string&) -> absl::StatusOr<double> { return absl::AbortedError("mine"); };
  CHECK(RewriteFile(run.in, run.out, options).status() == absl::AbortedError(run.in + ": mine"));
}

TEST_CASE("a command of a shell judges models, and its mistakes are a line each") {
  const SearchFolder run;
  const auto judge = [&](const std::string& command, std::vector<std::string> more = {"--max-drop", "0.001"}) {
    more.insert(more.end(), {"--metric-command", command});
    return run.Search(more);
  };
  const std::string calls = run.folder.File("calls");
  const ToolOutput output = judge(absl::StrCat("echo {model} >> ", calls, "; echo 'accuracy: 0.98'"));
  INFO(output.err);
  REQUIRE(output.exit_code == 0);
  CHECK(absl::StrContains(output.out, "search: 0 of 5 parts stay float32: drop 0 of at most 0.001 from 0.98"));
  const std::vector<std::string> models = absl::StrSplit(run.folder.Read("calls"), '\n', absl::SkipEmpty());
  REQUIRE(models.size() == 2);
  CHECK(models[0] == run.in);
  CHECK_FALSE(std::filesystem::exists(std::filesystem::path(models[1]).parent_path()));
  std::filesystem::remove(run.out);
  const auto error_of = [&](const std::string& command, std::vector<std::string> more = {"--max-drop", "0.001"}) {
    return ErrorLine(judge(command, std::move(more)), 2);
  };
  CHECK(absl::EndsWith(error_of("echo oh no >&2; exit 3 # {model}"),
                       ": --metric-command: expected exit code 0, found 3: oh no"));
  CHECK(
      absl::StrContains(error_of("echo none {model}"), "expected a number at the end of the last line that it prints"));
  CHECK(absl::StrContains(error_of("python eval.py"), "expected {model} in it"));
  CHECK(absl::StrContains(error_of("echo 0,95 # {model}"), "found '0,95'"));
  for (const std::string quote : {"'", "\""}) {
    CHECK(judge(absl::StrCat("test -f ", quote, "{model}", quote, " && echo 0.5")).exit_code == 0);
  }
  std::filesystem::remove(run.out);
  CHECK(absl::StrContains(error_of("eval {model}", {}), "--metric-command: expected --max-drop too, found none"));
  CHECK(absl::StrContains(error_of("eval {model}", {"--max-drop", "1", "--max-error", "1"}), "exclude each other"));
  const ToolOutput slow = judge("sleep 60 & sleep 60; echo {model}", {"--max-drop", "0.001", "--metric-timeout", "1"});
  CHECK(absl::StrContains(ErrorLine(slow, 5), "--metric-command: it took longer than 1 s, and was ended"));
  CHECK_FALSE(std::filesystem::exists(run.out));
}

TEST_CASE("a search that is ended goes on with its log, and asks nothing twice") {
  const SearchFolder run;
  RewriteOptions options = SearchOf(run);
  options.max_drop = 0.01;
  int asked = 0, left = 1000;
  options.metric_function = [&](const std::string& path) -> absl::StatusOr<double> {
    ++asked;
    if (--left < 0) return absl::AbortedError("enough");
    return NumberOf(path, "product2");
  };
  const absl::StatusOr<RewriteSummary> whole = RewriteFile(run.in, run.folder.File("whole.onnx"), options);
  REQUIRE(whole.ok());
  const int all = asked;
  REQUIRE(all > 3);
  options.search_log = run.folder.File("log.json");
  asked = 0;
  left = 3;
  CHECK(RewriteFile(run.in, run.out, options).status() == absl::AbortedError(run.in + ": enough"));
  left = 1000;
  const absl::StatusOr<RewriteSummary> rest = RewriteFile(run.in, run.out, options);
  INFO(rest.status());
  REQUIRE(rest.ok());
  CHECK(asked == all + 2);  // the one that was refused, and the original anew
  CHECK(rest->search == whole->search);
  CHECK(run.folder.Read("out.onnx") == run.folder.Read("whole.onnx"));
  // Once more, only the original is asked for, which tells another metric apart.
  asked = 0;
  REQUIRE(RewriteFile(run.in, run.out, options).ok());
  CHECK(asked == 1);
  options.metric_function = [&](const std::string&) -> absl::StatusOr<double> { return 0.5; };
  const absl::Status other = RewriteFile(run.in, run.out, options).status();
  CHECK(absl::StrContains(other.message(), "the number of the original model was 0.98, and is 0.5 now"));
  options.metric_function = nullptr;
  options.max_drop.reset();
  options.max_error = 0.01;
  CHECK(absl::StrContains(RewriteFile(run.in, run.out, options).status().message(), "it is of another search"));
}

TEST_CASE("a log is of one search, and no other file is taken for one") {
  const SearchFolder run;
  const std::string log = run.folder.File("log.json");
  const std::vector<std::string> flags = {"--max-error", "0.0001", "--search-log", log};
  const ToolOutput first = run.Search(flags);
  REQUIRE(first.exit_code == 0);
  const std::string text = run.folder.Read("log.json");
  // Another bound, a larger budget and other places are of the same search.
  CHECK(run.Search({"--max-error", "0.0002", "--budget-runs", "25", "--search-log", log}).exit_code == 0);
  const auto error_of = [&](std::vector<std::string> more) {
    more.insert(more.end(), {"--search-log", log});
    return ErrorLine(run.Search(more), 2);
  };
  const std::string other = "it is of another search: the model, the samples, the metric or other flags were not these";
  CHECK(absl::StrContains(error_of({"--max-error", "0.0001", "--dtype", "bfloat16"}), other));
  CHECK(absl::StrContains(error_of({"--max-error", "0.0001", "--metric", "max-abs"}), other));
  CHECK(absl::StrContains(error_of({"--max-error", "0.0001", "--holdout", "0.5"}), other));
  CHECK(absl::StrContains(error_of({"--max-error", "0.0001", "--deny-node", "product1"}), other));
  for (const std::string wrong : {"{}", "[1", R"({"schema": 1, "search": "x", "choices": 3})"}) {
    run.folder.Write("log.json", wrong);
    INFO(wrong);
    CHECK(
        absl::StrContains(error_of({"--max-error", "0.0001"}), "expected a file that --search-log wrote, of schema 1"));
    CHECK(run.folder.Read("log.json") == wrong);
  }
  json broken = json::parse(text);
  broken["choices"][0]["error"] = "much";
  run.folder.Write("log.json", broken.dump());
  CHECK(absl::StrContains(error_of({"--max-error", "0.0001"}), "expected a file that --search-log wrote"));
}

TEST_CASE("a search bounds the error that is asked for") {
  const SearchFolder run;
  for (const auto& [metric, limit] : std::vector<std::pair<std::string, std::string>>{
           {"max-abs", "0.01"}, {"cosine", "1e-9"}, {"kl", "1e-6"}, {"top1", "0.01"}}) {
    const ToolOutput output = run.Search({"--metric", metric, "--max-error", limit});
    INFO(metric << " " << output.err);
    REQUIRE(output.exit_code == 0);
    CHECK(absl::StrContains(output.out, absl::StrCat("parts stay float32: ", metric, " error ")));
    const json found = run.Report()["search"];
    CHECK(found["metric"] == metric);
    CHECK(found["choices"][found["taken"].get<size_t>()]["error"] <= std::stod(limit));
  }
  REQUIRE(run.Search({"--metric", "sqnr", "--max-error", "80"}).exit_code == 0);
  const json found = run.Report()["search"];
  CHECK(found["metric"] == "rel-l2");
  CHECK(found["max_error"].get<double>() == Approx(1e-4));
  CHECK(found["choices"][found["taken"].get<size_t>()]["error"] <= 1e-4);
  CHECK(found["float32"][0]["part"] == "product2");
  const std::string without = ErrorLine(run.Search({"--metric", "kl"}), 2);
  CHECK(absl::StrContains(without, "--metric kl: expected --max-error too, found none"));
}

TEST_CASE("rows are needed where a metric is about rows") {
  const SearchFolder run(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[8,32] x) => (float[8,1] y) <float[32,1] w = {)" +
                         ManyNumbers(32) + R"(}> { y = MatMul (x, w) })");
  const std::string line = ErrorLine(run.Search({"--metric", "top1", "--max-error", "0.1"}), 2);
  CHECK(absl::StrContains(line, "--metric top1: expected an output with rows of two elements or more, found none"));
}

TEST_CASE("a plot of the front is for who watches a terminal") {
  const SearchFolder run;
  std::vector<std::string> flags = {run.in, "-o", run.out, "--search", "--max-error", "0.0001"};
  flags.insert(flags.end(), run.samples.begin(), run.samples.end());
  CHECK_FALSE(absl::StrContains(RunAmpRewrite(flags).err, "#"));
  ToolStreams streams;
  streams.is_watched = true;
  const std::string plot = RunAmpRewrite(flags, streams).err;
  INFO(plot);
  CHECK(absl::StrContains(plot, "  saved     error  float32\n  100 %  "));
  CHECK(absl::StrContains(plot, " taken\n"));
}

TEST_CASE("a mend behind a search keeps what the search keeps, and more") {
  const SearchFolder run;
  const auto float32_nodes = [&] {
    std::set<std::string> names;
    const json report = run.Report();
    for (const json& node : report["nodes"]) {
      if (node["low"] == false) names.insert(node["path"].get<std::string>());
    }
    return names;
  };
  REQUIRE(run.Search({"--max-error", "0.0001"}).exit_code == 0);
  const std::set<std::string> searched = float32_nodes();
  const ToolOutput output = run.Search({"--max-error", "0.0001", "--verify=fix", "--tolerance", "1e-5"});
  INFO(output.err << output.out);
  REQUIRE(output.exit_code == 0);
  const std::set<std::string> mended = float32_nodes();
  CHECK(std::includes(mended.begin(), mended.end(), searched.begin(), searched.end()));
  CHECK(mended.size() > searched.size());
  CHECK(run.Report()["search"]["float32"][0]["part"] == "product2");
  CHECK(absl::StrContains(output.err, "--verify=fix keeps "));
}

// The grid has a type of its own: what gives it stays float32, while the picture ahead of GridSample is low.
TEST_CASE("the flow that a picture is sampled by stays float32 alone") {
  const std::string model = absl::StrCat(R"(<ir_version: 9, opset_import: ["" : 20]>
    g (float[8,32] x) => (float[1,3,256,256] y)
        <int64[4] tiles = {1, 3, 32, 8}, int64[4] one = {1, 1, 8, 32}, float[2,3,1,1] v = {0.3, -0.2, 0.1, 0.2, -0.4, 0.2},
         float[12,3,1,1] w = {)",
                                         ManyNumbers(36), "}, float[3,12,1,1] u = {", ManyNumbers(36), R"(}> {
      plane = Reshape (x, one)
      image = Tile (plane, tiles)
      [picture] a = Conv (image, w)
      [flow] b = Conv (image, v)
      [bound] c = Tanh (b)
      [grid] d = Transpose <perm = [0, 2, 3, 1]> (c)
      [sample] e = GridSample <align_corners = 1, padding_mode = "border"> (a, d)
      [last] y = Conv (e, u)
    })");
  const SearchFolder run(model, 1);
  const ToolOutput output = run.Search({});
  INFO(output.err);
  REQUIRE(output.exit_code == 0);
  const json found = run.Report()["search"];
  INFO(found.dump(1));
  REQUIRE(found["float32"].size() == 1);
  CHECK(found["float32"][0]["part"] == "flow");
}

TEST_CASE("what does not go with a search is said") {
  const SearchFolder run;
  const auto error_of = [&](std::vector<std::string> flags) {
    flags.insert(flags.end(), run.samples.begin(), run.samples.end());
    return ErrorLine(run.RunTool(flags), 2);
  };
  CHECK(absl::StrContains(ErrorLine(run.RunTool({"--search"}), 2), "--search: expected samples"));
  CHECK(absl::StrContains(error_of({"--max-error", "0.1"}), "--max-error is about --search"));
  CHECK(absl::StrContains(error_of({"--pareto", "p.csv"}), "--pareto is about --search"));
  CHECK(absl::StrContains(error_of({"--search", "--budget-runs", "1"}), "--budget-runs: expected at least 2, found 1"));
  CHECK(absl::StrContains(error_of({"--search", "--holdout", "1"}), "--holdout: expected a share from 0"));
  CHECK(absl::StrContains(error_of({"--search", "--max-error", "0"}), "--max-error: expected a number above 0"));
  CHECK(absl::StrContains(error_of({"--search", "--policy", "float32"}), "--policy float32"));
}

}  // namespace
}  // namespace amp
