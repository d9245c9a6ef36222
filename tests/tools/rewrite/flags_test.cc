// The command line of amp-rewrite: flags, their values, files, and the help that states them. A mistake gets one line
// and its exit code.
#include <filesystem>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "ir/file/external_data.h"
#include "ir/file/text.h"
#include "ir/opset/opset_adapters.h"
#include "tests/catch2.h"
#include "tests/model_from_text.h"
#include "tests/scratch_folder.h"
#include "tests/tool_run.h"
#include "tools/library/limit_flags.h"
#include "tools/rewrite/amp_rewrite.h"

namespace amp {
namespace {

// One line on stderr, nothing written, nothing on stdout.
void CheckFails(const std::vector<std::string>& flags, int exit_code, absl::string_view what) {
  const ToolRun run(flags);
  INFO(run.output.err);
  CHECK(run.output.exit_code == exit_code);
  CHECK(absl::StartsWith(run.output.err, "amp-rewrite: error: "));
  CHECK(absl::StrContains(run.output.err, what));
  CHECK(run.output.err.find('\n') + 1 == run.output.err.size());
  CHECK(run.output.out.empty());
  CHECK_FALSE(run.folder.Has("out.onnx"));
}

TEST_CASE("mistyped flags, values, operators and names get a suggestion and exit code 2") {
  CheckFails({"--dtpye", "float16"}, 2, "unknown flag '--dtpye'; did you mean '--dtype'?");
  CheckFails({"--dtype", "bfloat61"}, 2, "'bfloat61'; did you mean 'bfloat16'?");
  CheckFails({"--level", "tensor-core-only"}, 2, "did you mean 'tensor-cores-only'?");
  CheckFails({"--profile", "defualt"}, 2, "did you mean 'default'?");
  CheckFails({"--deny", "Sotfmax"}, 2, "did you mean 'Softmax'?");
  CheckFails({"--keep-io", "xx"}, 2, "'xx' is no input or output of the graph");
}

TEST_CASE("a flag behind the end of the flags is no unknown flag") {
  CheckFails({"--", "--dry-run"}, 2, "'--dry-run' stands behind '--', which ends the flags; expected it before that");
  CheckFails({"--", "--dryrun"}, 2, "unknown flag '--dryrun'; did you mean '--dry-run'?");
}

TEST_CASE("wrong values and combinations have exit code 2") {
  CheckFails({"another.onnx"}, 2, "unexpected argument 'another.onnx'");
  CheckFails({"--in-place"}, 2, "--in-place and -o exclude each other");
  CheckFails({"--follow", "maybe"}, 2, "expected on or off, found 'maybe'");
  CheckFails({"--opset", "new"}, 2, "expected auto, keep or a version, found 'new'");
  CheckFails({"--opset", "9"}, 2, "it can only be raised");
  CheckFails({"--max-weight-error", "-1"}, 2, "--max-weight-error");
  CheckFails({"--verify", "--tolerance", "abc"}, 2, "--tolerance: expected a number from 0 to 1e+30, found 'abc'");
  CheckFails({"--deny-node", "[z-a]"}, 2, "[z-a]");
  CheckFails({"--deny", "Conv", "--allow", "Conv"}, 2, ": 'Conv' is given to both --allow and --deny\n");
}

TEST_CASE("a flag twice, and one without its value") {
  CheckFails({"--dtype", "float16", "--dtype", "bfloat16"}, 2, "error: --dtype: given twice\n");
  CheckFails({"--target", "any", "--target=any"}, 2, "error: --target: given twice\n");
  CheckFails({"--max-rank", "1", "--max-rank", "2"}, 2, "error: --max-rank: given twice\n");
  CheckFails({"--verify=a.npz", "--verify=b.npz"}, 2, "error: --verify: given twice\n");
  CheckFails({"--deny"}, 2, "error: --deny: expected OP[,OP...]\n");
  CheckFails({"--deny", "Add", "--deny", "Mul", "--deny"}, 2, "error: --deny: expected OP[,OP...]\n");
  CheckFails({"--lists"}, 2, "error: --lists: expected FILE\n");
  CheckFails({"--dtype"}, 2, "error: --dtype: expected float16|bfloat16|auto\n");
  CheckFails({"--verify", "--dim", "n=1", "--dim", "n=2"}, 2, "error: --dim: 'n' is given twice\n");
  CheckFails({"--dim", "x:0=a", "--dim", "x:0=b"}, 2, "error: --dim: 'x:0' is given twice\n");
  CHECK(ToolRun({"--dry-run", "--dry-run", "--deny", "Add", "--deny", "Add"}).output.exit_code == 0);
}

TEST_CASE("a value behind a flag that takes it after an equals sign alone is told how to be given") {
  CheckFails({"--verify", "x.npz"}, 2, "'x.npz'; expected one MODEL; did you mean '--verify=x.npz'?");
  CheckFails({"--explain", "float32"}, 2, "'float32'; expected one MODEL; did you mean '--explain=float32'?");
  const ToolOutput output = RunAmpRewrite({"--verify", "x.npz", "m.onnx"});
  CHECK(absl::StrContains(output.err, "'m.onnx'; expected one MODEL; did you mean '--verify=x.npz'?"));
  CHECK_FALSE(absl::StrContains(RunAmpRewrite({"--verify", "m.onnx", "more"}).err, "did you mean"));
}

TEST_CASE("an empty value is refused: no flag counts as not given") {
  CheckFails({"--report", ""}, 2, "error: --report: expected FILE.json, found ''\n");
  CheckFails({"--ranges", ""}, 2, "error: --ranges: expected FILE.json, found ''\n");
  CheckFails({"--report=", "--dry-run"}, 2, "error: --report: expected FILE.json, found ''\n");
  CheckFails({"--keep-io", ""}, 2, "error: --keep-io: expected all|none|NAME[,NAME...], found ''\n");
  CheckFails({"--keep-io="}, 2, "error: --keep-io: expected all|none|NAME[,NAME...], found ''\n");
  CheckFails({"--deny", "Add", "--deny", ""}, 2, "error: --deny: expected OP[,OP...], found ''\n");
  CheckFails({"--logits", ""}, 2, "error: --logits: expected NAME, found ''\n");
  CheckFails({"--verify="}, 2, "error: --verify: expected a value behind '=', found none\n");
  CheckFails({"--verify=fixx"}, 2, "error: --verify: expected a file, fix, off or auto, found 'fixx'\n");
  CheckFails({"--explain="}, 2, "error: --explain: expected a value behind '=', found none\n");
  CheckFails({"--dry-run="}, 2, "error: --dry-run: expected a value behind '=', found none\n");
  CheckFails({"--max-nodes", ""}, 2, "error: --max-nodes: expected a whole number from 0 to ");
  CHECK(RunAmpRewrite({"", "--dry-run"}).err == "amp-rewrite: error: MODEL: expected a value, found ''\n");
}

TEST_CASE("what has an optional value may stand without one") {
  for (const char* flag : {"--verify", "--explain", "--scale-weights"}) {
    INFO(flag);
    CHECK(ToolRun({flag}).output.exit_code == 0);
  }
}

TEST_CASE("a limit that cannot be kept to is refused, the largest that can be is taken") {
  Limits limits;
  ForEachLimit(limits, [](const std::string& flag, auto& value, int64_t largest, const char*) {
    INFO(flag);
    CHECK(value <= largest);
    CHECK(ToolRun({flag, absl::StrCat(largest)}).output.exit_code == 0);
    const std::string above = absl::StrCat(static_cast<uint64_t>(largest) + 1);
    const std::string expected = absl::StrCat(flag, ": expected a whole number from 0 to ", largest, ", found ");
    CheckFails({flag, above}, 2, absl::StrCat(expected, "'", above, "'"));
    CheckFails({flag, "-1"}, 2, absl::StrCat(expected, "'-1'"));
  });
  CheckFails({"--max-nesting", "101"}, 2, "--max-nesting: expected a whole number from 0 to 100, found '101'");
  CheckFails({"--max-graph-depth", "34"}, 2, "from 0 to 33, found '34'");
  CheckFails({"--max-model-bytes", "2147483648"}, 2, "from 0 to 2147483647, found '2147483648'");
}

TEST_CASE("the help says how far limits can be raised") {
  const std::string help = RunAmpRewrite({"--help"}).out;
  for (const char* part : {"--max-inlined-bytes", "at most 100 [100]", "at most 33 [32]", "at most 400 [100]"}) {
    INFO(part);
    CHECK(absl::StrContains(help, part));
  }
}

TEST_CASE("an empty item of --keep-io is no name") {
  CheckFails({"--keep-io", ","}, 2, "error: --keep-io: empty item in ','\n");
  CheckFails({"--keep-io", "x,,y"}, 2, "error: --keep-io: empty item in 'x,,y'\n");
  CHECK(ToolRun({"--keep-io", "x,y"}).output.exit_code == 0);
}

TEST_CASE("a missing, a malformed and a refused file have exit codes of their own") {
  const ScratchFolder folder;
  CHECK(RunAmpRewrite({}).exit_code == 2);
  CHECK(RunAmpRewrite({folder.File("none.onnx"), "-o", folder.File("out.onnx")}).exit_code == 6);
  const std::string garbage = folder.Write("garbage.onnx", "no model at all");
  CHECK(RunAmpRewrite({garbage, "-o", folder.File("out.onnx")}).exit_code == 3);
  const std::string model = folder.Write("model.onnx", *ParseOnnxText(kThreeNodes));
  CHECK(RunAmpRewrite({model, "-o", model}).exit_code == 4);
  CHECK(RunAmpRewrite({model, "-o", folder.File("out.onnx"), "--max-nodes", "2"}).exit_code == 5);
  CHECK_FALSE(folder.Has("out.onnx"));
}

TEST_CASE("a report never replaces the model or the output") {
  const ToolFolder model(kThreeNodes);
  const std::string bytes = model.folder.Read("in.onnx");
  const std::string way_round =
      absl::StrCat("../", std::filesystem::path(model.folder.path()).filename().string(), "/out.onnx");
  CHECK(model.RunTool({"--report", model.in}).exit_code == 4);
  CHECK(RunAmpRewrite({model.in, "--dry-run", "--report", model.folder.File("./in.onnx")}).exit_code == 4);
  CHECK(model.RunTool({"--report", model.folder.File(way_round)}).exit_code == 4);
  CHECK(RunAmpRewrite({model.in, "--in-place", "--report", model.in}).exit_code == 4);
  CHECK(model.folder.Read("in.onnx") == bytes);
  CHECK_FALSE(model.folder.Has("out.onnx"));
}

TEST_CASE("no model is written when its report has no place") {
  CheckFails({"--report", "/nowhere/at/all/report.json"}, 6, "--report: '/nowhere/at/all' is no folder");
  CheckFails({"--report", "."}, 4, "not a regular file");
}

TEST_CASE("two dashes end the flags") {
  const ToolRun run({"--"});
  CHECK(run.output.exit_code == 0);
  CHECK(RunAmpRewrite({"--dry-run", "--", run.in}).exit_code == 0);
  CheckFails({"--", "another.onnx"}, 2, "unexpected argument 'another.onnx'");
}

TEST_CASE("a number out of range: the flag, what was expected and what was found") {
  const std::string whole = "expected a whole number from 0 to 9223372036854775807, found ";
  CheckFails({"--max-objects=-1"}, 2, ": --max-objects: " + whole + "'-1'\n");
  CheckFails({"--max-objects", "-1"}, 2, "--max-objects: " + whole + "'-1'\n");
  CheckFails({"--max-objects", "99999999999999999999"}, 2, "--max-objects: " + whole + "'99999999999999999999'\n");
  CheckFails({"--max-objects", "1.5"}, 2, "--max-objects: " + whole + "'1.5'\n");
  CheckFails({"--max-functions="}, 2, "--max-functions");
  CheckFails({"--max-rank", "2147483648"}, 2, "--max-rank: expected a whole number from 0 to 2147483647, found '2147");
  CheckFails({"--max-rank", "abc"}, 2, "--max-rank: expected a whole number from 0 to 2147483647, found 'abc'\n");
  CheckFails({"--max-weight-error", "-1"}, 2, "--max-weight-error: expected a number from 0 to 1e+30, found '-1'\n");
  CheckFails({"--max-weight-error", "2e30"}, 2,
             "--max-weight-error: expected a number from 0 to 1e+30, found '2e30'\n");
  CheckFails({"--opset", "99999999999"}, 2, "--opset: expected auto, keep or a version, found '99999999999'\n");
}

TEST_CASE("nan is no weight error") { CheckFails({"--max-weight-error", "nan"}, 2, "--max-weight-error"); }

TEST_CASE("a pattern that matches nothing is a warning, and an error under --strict") {
  for (const char* flag : {"--deny-node", "--allow-node", "--deny-tensor"}) {
    const ToolRun run({flag, "nobody*"});
    CHECK(run.output.exit_code == 0);
    CHECK(absl::StartsWith(run.output.err, "amp-rewrite: warning: "));
    CHECK(absl::StrContains(run.output.err, "nobody*"));
    CHECK(run.folder.Has("out.onnx"));
    CheckFails({flag, "nobody*", "--strict"}, 2, "nobody*");
  }
}

TEST_CASE("weights go to a file always from the size on that the help states") {
  const auto has_data_file = [](int columns) {
    onnx::ModelProto model =
        ModelFromText(absl::StrCat(R"(<ir_version: 8, opset_import: ["" : 17]> g (float[1,16] x) => (float[1,)",
                                   columns, "] y) { y = MatMul (x, w) }"));
    onnx::TensorProto* weight = model.mutable_graph()->add_initializer();
    weight->set_name("w");
    weight->set_data_type(onnx::TensorProto::FLOAT);
    weight->add_dims(16);
    weight->add_dims(columns);
    for (int i = 0; i < 16 * columns; ++i) weight->add_float_data(1.0f);
    const ToolRun run({"--external-data", "always"}, model);
    INFO(run.output.err);
    REQUIRE(run.output.exit_code == 0);
    return absl::c_any_of(std::filesystem::directory_iterator(run.folder.path()),
                          [](const auto& entry) { return entry.path().extension() == ".data"; });
  };
  static_assert(kSmallTensorBytes == 16 * 32 * 2);
  CHECK(has_data_file(32));  // in float16
  CHECK_FALSE(has_data_file(31));
  const std::string help = RunAmpRewrite({"--help"}).out;
  CHECK(absl::StrContains(help, absl::StrCat("weights of ", kSmallTensorBytes, " bytes and more in a file")));
}

TEST_CASE("the help shows every default in one notation") {
  const std::string help = RunAmpRewrite({"--help"}).out;
  for (const char* part :
       {"; auto: this machine [any]", " [default]", " [auto]", "external data, at most 2147483647 [2147483647]",
        "rounding error of a weight [0.01]", "dimensions of a tensor, at most 2147483647 [64]"}) {
    INFO(part);
    CHECK(absl::StrContains(help, part));
  }
  for (const char* part : {"=any", "=seed", "=auto", "N="}) {
    INFO(part);
    CHECK_FALSE(absl::StrContains(help, part));
  }
  CHECK(absl::StrContains(help, absl::StrCat("at most ", NewestAdaptedOpset())));
}

TEST_CASE("the highest opset that the help names can be asked for, and none above it") {
  const std::string newest = absl::StrCat(NewestAdaptedOpset()), above = absl::StrCat(NewestAdaptedOpset() + 1);
  CHECK(ToolRun({"--opset", newest}).output.exit_code == 0);
  CHECK(ToolRun({"--opset", above}).output.exit_code != 0);
}

TEST_CASE("the help is complete and fits a wide terminal") {
  const ToolOutput output = RunAmpRewrite({"--help"});
  CHECK(output.exit_code == 0);
  CHECK(output.err.empty());
  for (const char* part : {"Files:", "What becomes low:", "What stays:", "What is printed:", "Limits:", "Help:",
                           "Examples:", "Exit codes:", "Going on:", "[float16]", "--policy", "--target"}) {
    INFO(part);
    CHECK(absl::StrContains(output.out, part));
  }
  for (absl::string_view line : absl::StrSplit(output.out, '\n')) {
    INFO(line);
    CHECK(line.size() <= 140);
  }
}

}  // namespace
}  // namespace amp
