// An error line names the file or the flag that is at fault.
#include <sys/resource.h>

#include <filesystem>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "ir/base/atomic_file.h"
#include "ir/file/text.h"
#include "tests/catch2.h"
#include "tests/model_from_text.h"
#include "tests/tool_run.h"
#include "tools/library/amp.h"
#include "tools/rewrite/amp_rewrite.h"

namespace amp {
namespace {

constexpr absl::string_view kModel = R"(<ir_version: 8, opset_import: ["" : 17]>
  g (float[2,2] x) => (float[2,2] y) { y = MatMul (x, x) })";

struct Folder : ToolFolder {
  Folder() : ToolFolder(kModel) {}

  std::string File(const std::string& name) const { return folder.File(name); }
  // The error line of a run that fails with this exit code.
  std::string Error(int exit_code, std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), in);
    return ErrorLine(RunAmpRewrite(arguments), exit_code);
  }
};

TEST_CASE("an output that cannot be written is named") {
  const Folder f;
  std::filesystem::create_directory(f.File("d"));
  CHECK(f.Error(6, {"-o", f.File("none/o.onnx")}) ==
        absl::StrCat(f.File("none/o.onnx"), ": cannot open the directory: No such file or directory"));
  CHECK(f.Error(4, {"-o", f.File("d")}) == absl::StrCat(f.File("d"), ": expected a file, found a directory"));
  CHECK(f.Error(2, {"-o", f.File("d/")}) == absl::StrCat(f.File("d/"), ": expected a file name, found a directory"));
  CHECK(f.Error(4, {"-o", "/dev/full"}) == "/dev/full: exists and is not a regular file");
  CHECK(f.Error(6, {"-o", "/proc/o.onnx"}) ==
        "/proc/o.onnx: cannot create a file beside it: No such file or directory");
  CHECK(f.Error(6, {"-o", f.File("in.onnx/o.onnx")}) ==
        absl::StrCat(f.File("in.onnx/o.onnx"), ": cannot open the directory: Not a directory"));
  const std::string same = f.File("d/../in.onnx");
  CHECK(f.Error(4, {"-o", same}) == absl::StrCat(same, ": -o would replace the file of MODEL ('", f.in,
                                                 "'); expected another file, or --in-place"));
  CHECK(f.folder.Read("in.onnx") == *ParseOnnxText(kModel));
}

TEST_CASE("a report that cannot be written is named, with its flag") {
  const Folder f;
  std::filesystem::create_directory(f.File("d"));
  const std::string out = f.File("o.onnx");
  CHECK(f.Error(6, {"-o", out, "--report", f.File("none/r.json")}) ==
        absl::StrCat("--report: '", f.File("none"), "' is no folder"));
  CHECK(f.Error(4, {"-o", out, "--report", f.File("d")}) ==
        absl::StrCat("--report: '", f.File("d"), "' exists and is not a regular file"));
  CHECK(f.Error(4, {"-o", out, "--report", "/dev/full"}) == "--report: '/dev/full' exists and is not a regular file");
  CHECK_FALSE(f.folder.Has("o.onnx"));
  CHECK(f.Error(6, {"--dry-run", "--report", "/proc/r.json"}) ==
        "--report: /proc/r.json: cannot create a file beside it: No such file or directory");
}

TEST_CASE("lists and flags that are wrong are named, not the model") {
  const Folder f;
  CHECK(f.Error(6, {"--dry-run", "--lists", f.File("none.list")}) ==
        absl::StrCat(f.File("none.list"), ": cannot be opened"));
  CHECK(absl::StartsWith(f.Error(2, {"--dry-run", "--deny", "Sotfmax"}), "--deny: unknown operator 'Sotfmax'"));
  CHECK(absl::StartsWith(f.Error(2, {"--dry-run", "--stop-after", "pain"}), "--stop-after: expected load, "));
  CHECK(absl::StartsWith(f.Error(2, {"--dry-run", "--target", "pdp:11"}), "--target: expected any, "));
  CHECK(absl::StartsWith(f.Error(2, {"--dry-run", "--nosuch"}), "unknown flag '--nosuch'"));
  CHECK(f.Error(2, {}) == "expected -o OUT.onnx, --in-place or --dry-run");
}

TEST_CASE("an operator that ONNX does not have may be one of the model's other names") {
  constexpr absl::string_view kNames = R"(<ir_version: 8, opset_import: ["" : 17, "my.domain" : 1]>
    g (float[2,2] x) => (float[2,2] y) { [mm0] a = MatMul (x, x) [gate] b = my.domain.Gate (a) y = my.domain.Block (b) }
    <domain: "my.domain", opset_import: ["" : 17]> Block (a) => (b) { [inside] b = MatMul (a, a) })";
  Folder f;
  f.in = f.folder.Write("names.onnx", *ParseOnnxText(kNames));
  const std::string list = f.folder.Write("x.list", "Gate deny why\n");
  CHECK(f.Error(2, {"--dry-run", "--deny", "Gate"}) ==
        "--deny: unknown operator 'Gate'; the model has 'my.domain::Gate'");
  CHECK(f.Error(2, {"--dry-run", "--lists", list}) ==
        absl::StrCat(list, ":1: unknown operator 'Gate'; the model has 'my.domain::Gate'"));
  CHECK(f.Error(2, {"--dry-run", "--infer", "Block"}) ==
        "--infer: unknown operator 'Block'; the model has 'my.domain::Block'");
  CHECK(f.Error(2, {"--dry-run", "--deny", "mm0"}) ==
        "--deny: unknown operator 'mm0'; a node of the model has that name: --deny-node mm0 or --allow-node");
  CHECK(f.Error(2, {"--dry-run", "--deny", "Xyzzy"}) == "--deny: unknown operator 'Xyzzy'");
  f.in = f.File("none.onnx");
  CHECK(f.Error(2, {"--dry-run", "--deny", "Gate"}) == "--deny: unknown operator 'Gate'");
}

TEST_CASE("what names nothing in the model is an error under --strict") {
  const Folder f;
  CHECK(f.Error(2, {"--dry-run", "--strict", "--deny", "foo::Bar"}) ==
        absl::StrCat(f.in,
                     ": --deny: unknown operator 'foo::Bar': neither ONNX, nor a signature, nor the model has "
                     "one of that name"));
  CHECK(f.Error(2, {"--dry-run", "--strict", "--op-signature", "foo::Bar(T) -> T"}) ==
        absl::StrCat(f.in, ": --op-signature: the model has no operator 'foo::Bar'"));
  CHECK(f.Error(2, {"--dry-run", "--strict", "--deny", "LSTM"}) ==
        absl::StrCat(f.in, ": --deny: the model has no operator 'LSTM'"));
  CHECK(f.Error(2, {"--dry-run", "--strict", "--allow", "MatMul,Conv"}) ==
        absl::StrCat(f.in, ": --allow: the model has no operator 'Conv'"));
  CHECK(f.Error(2, {"--dry-run", "--strict", "--deny-node", "nobody"}) ==
        absl::StrCat(f.in, ": --deny-node: pattern 'nobody' matches no node"));
}

TEST_CASE(
    "an operator that the model has none of is no error without --strict, in a list file, or taken off the lists") {
  const Folder f;
  const std::string list = f.folder.Write("x.list", "LSTM deny why\n");
  for (const std::vector<std::string>& flags :
       std::vector<std::vector<std::string>>{{"--deny", "LSTM"},
                                             {"--strict", "--lists", list},
                                             {"--strict", "--deny=-LSTM"},
                                             {"--strict", "--deny", "MatMul"}}) {
    std::vector<std::string> arguments = {f.in, "--dry-run"};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    const ToolOutput output = RunAmpRewrite(arguments);
    INFO(output.err);
    CHECK(output.exit_code == 0);
  }
}

TEST_CASE("what is wrong with the model names the model, also where a flag asks too much of it") {
  const Folder f;
  CHECK(f.Error(2, {"--dry-run", "--keep-io", "zz"}) ==
        absl::StrCat(f.in, ": --keep-io: 'zz' is no input or output of the graph"));
  CHECK(f.Error(2, {"--dry-run", "--opset", "9"}) ==
        absl::StrCat(f.in, ": --opset 9: the model has opset 17; it can only be raised"));
  CHECK(f.Error(5, {"--dry-run", "--max-nodes", "0"}) ==
        absl::StrCat(f.in, ": the model: expected at most 0 nodes, found more"));
  const ToolOutput missing = RunAmpRewrite({f.File("none.onnx"), "--dry-run"});
  CHECK(missing.err ==
        absl::StrCat("amp-rewrite: error: ", f.File("none.onnx"), ": cannot open: No such file or directory\n"));
}

TEST_CASE("a disk that is full names the output") {
  const Folder f;
  RemoveTemporariesOnSignals();
  struct rlimit before = {};
  REQUIRE(getrlimit(RLIMIT_FSIZE, &before) == 0);
  struct rlimit none = before;
  none.rlim_cur = 0;
  REQUIRE(setrlimit(RLIMIT_FSIZE, &none) == 0);
  const std::string model = f.Error(6, {"-o", f.File("o.onnx")});
  const std::string report = f.Error(6, {"--dry-run", "--report", f.File("r.json")});
  REQUIRE(setrlimit(RLIMIT_FSIZE, &before) == 0);
  CHECK(absl::StartsWith(model, absl::StrCat(f.File("o.onnx"), ": cannot ")));
  CHECK(absl::EndsWith(model, ": File too large"));
  CHECK(report == absl::StrCat("--report: ", f.File("r.json"), ": cannot write: File too large"));
  CHECK_FALSE(f.folder.Has("o.onnx"));
  CHECK_FALSE(f.folder.Has("r.json"));
}

TEST_CASE("the library names the same") {
  const Folder f;
  RewriteOptions options;
  CHECK(RewriteFile(f.in, f.File("none/o.onnx"), options).status().message() ==
        absl::StrCat(f.File("none/o.onnx"), ": cannot open the directory: No such file or directory"));
  CHECK(RewriteFile(f.File("none.onnx"), f.File("o.onnx"), options).status().message() ==
        absl::StrCat(f.File("none.onnx"), ": cannot open: No such file or directory"));
  options.deny = {"Sotfmax"};
  CHECK(absl::StartsWith(RewriteFile(f.in, f.File("o.onnx"), options).status().message(), "--deny: unknown operator"));
}

}  // namespace
}  // namespace amp
