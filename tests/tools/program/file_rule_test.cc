// No program writes to a file that it reads, writes one file twice, or replaces a file of another kind: every flag that
// reads by every flag that writes.
#include <filesystem>
#include <map>
#include <regex>
#include <set>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "runtime/values/npy.h"
#include "tests/catch2.h"
#include "tests/tools/program/file_rule_table.h"
#include "tests/tools/train/step_graphs.h"
#include "tools/library/amp.h"
#include "tools/run/amp_run.h"
#include "tools/train/amp_train.h"

namespace amp {
namespace {

namespace fs = std::filesystem;
using Contents = std::map<std::string, std::string>;  // by path; of links what they point to

Contents ContentsOf(const ScratchFolder& folder) {
  Contents contents;
  for (const auto& entry : fs::recursive_directory_iterator(folder.path())) {
    const std::string name = entry.path().lexically_relative(folder.path()).string();
    if (entry.is_symlink()) contents[name] = "-> " + fs::read_symlink(entry.path()).string();
    if (entry.is_regular_file() && !entry.is_symlink()) contents[name] = folder.Read(name);
  }
  return contents;
}

// The files are made once: making a checkpoint takes a while.
const Contents& Files() {
  static const Contents contents = [] {
    const ScratchFolder folder;
    MakeFiles(folder);
    return ContentsOf(folder);
  }();
  return contents;
}

struct Scene {
  ScratchFolder folder;
  Contents before;

  Scene() {
    fs::create_directories(folder.File("made"));
    for (const auto& [name, bytes] : Files()) folder.Write(name, bytes);
  }
  // `words`: beside the program's own. A flag that is there already is not needed any more.
  ToolOutput Run(const Program& program, const Words& words) {
    Words all = program.command;
    all.insert(all.end(), words.begin(), words.end());
    if (!program.needed.empty() && !absl::c_linear_search(words, program.needed[0])) {
      all.insert(all.end(), program.needed.begin(), program.needed.end());
    }
    for (std::string& word : all) word = absl::StrReplaceAll(word, {{"@", folder.File("")}});
    before = ContentsOf(folder);
    return program.run(all);
  }
  bool IsUnchanged() const { return ContentsOf(folder) == before; }
};

Words WithPath(Words words, const std::string& path) {
  for (std::string& word : words) word = absl::StrReplaceAll(word, {{"%", path}});
  return words;
}

Words Joined(Words a, const Words& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// Returns whether another error is found even earlier: some flags exclude each other or themselves, amp-rewrite writes
// through no link, and --autotune needs a device before models are loaded.
bool FailsEarlier(const ToolOutput& output) {
  const bool exclude_each_other =
      output.exit_code == 2 && (absl::StrContains(output.err, "--compare: given twice") ||
                                absl::StrContains(output.err, "--evaluate runs the model on its own data") ||
                                absl::StrContains(output.err, "--validation-split and --eval-data exclude each other"));
  const bool is_link = output.exit_code == 4 && absl::StrContains(output.err, "is a symbolic link");
  return exclude_each_other || is_link || (output.exit_code == 8 && absl::StrContains(output.err, "--device cuda"));
}

void CheckRefused(const Scene& scene, const ToolOutput& output, const std::string& a, const std::string& b) {
  INFO(output.err);
  CHECK(scene.IsUnchanged());
  CHECK(output.out.empty());
  CHECK(absl::StrContains(output.err, ": error: "));
  CHECK(output.err.find('\n') + 1 == output.err.size());
  if (FailsEarlier(output)) return;
  CHECK(output.exit_code == 4);
  CHECK(absl::StrContains(output.err, a));
  CHECK(absl::StrContains(output.err, b));
}

const std::vector<std::pair<std::string, std::string>> kMayBeOneFile = {{"--resume", "--checkpoint"},
                                                                        {"--autotune", "--autotune"}};

bool MayBeOneFile(const ReadingFlag& read, const WritingFlag& write) {
  return absl::c_linear_search(kMayBeOneFile, std::pair(read.flag, write.flag));
}

// A flag that does one or the other cannot be given for both.
bool IsOneFlag(const ReadingFlag& read, const WritingFlag& write) { return read.flag == write.flag; }

void CheckNeverWritten(const Program& program, const ReadingFlag& read, const WritingFlag& write) {
  for (const std::string how : {"same", "other spelling", "symbolic link", "hard link"}) {
    INFO(program.name << ": " << read.flag << " reads " << read.file << ", " << write.flag << " writes it, " << how);
    Scene scene;
    const std::string file = scene.folder.File(read.file);
    std::string path = file;
    if (how == "other spelling") path = scene.folder.File("made/../" + read.file);
    if (absl::EndsWith(how, "link") || !write.fixed_name.empty()) {
      path = scene.folder.File(write.fixed_name.empty() ? "link" : write.fixed_name);
      if (how == "hard link") {
        fs::create_hard_link(file, path);
      } else {
        fs::create_symlink(file, path);
      }
    }
    const Words words = Joined(Joined(read.words, WithPath(write.words, path)), {"--force"});
    CheckRefused(scene, scene.Run(program, words), read.flag, write.flag);
  }
}

TEST_CASE("no flag writes to a file that another flag reads") {
  for (const Program& program : Programs()) {
    for (const ReadingFlag& read : program.reads) {
      for (const WritingFlag& write : program.writes) {
        if (!MayBeOneFile(read, write) && !IsOneFlag(read, write)) CheckNeverWritten(program, read, write);
      }
    }
  }
}

// "--input x=@x.npy" as "--input x=-".
Words WithDash(Words words, const std::string& file) {
  for (std::string& word : words) {
    if (const size_t at = word.find("@" + file); at != std::string::npos) word = word.substr(0, at) + "-";
  }
  return words;
}

// Where a file of that name is.
ToolOutput RunBesideDash(Scene& scene, const Program& program, const Words& words) {
  const fs::path before = fs::current_path();
  fs::current_path(scene.folder.path());
  const ToolOutput output = scene.Run(program, words);
  fs::current_path(before);
  return output;
}

TEST_CASE("a dash is no file that a flag reads") {
  for (const Program& program : Programs()) {
    for (const ReadingFlag& read : program.reads) {
      const Words words = WithDash(read.words, read.file);
      if (words == read.words || read.flag == "--autotune") continue;  // no flag of its own; one that needs a device
      Scene scene;
      scene.folder.Write("-", scene.folder.Read(read.file));
      const ToolOutput output = RunBesideDash(scene, program, words);
      INFO(program.name << " " << read.flag << ": " << output.err);
      CHECK(output.exit_code == 2);
      CHECK(output.out.empty());
      CHECK(scene.IsUnchanged());
      const std::string expected = read.flag + ": expected a path, found '-'; a file of that name is ./-\n";
      CHECK((FailsEarlier(output) || absl::EndsWith(output.err, expected)));
    }
  }
}

TEST_CASE("a dash is no model, and no data") {
  CHECK(RunAmpRun({"-", "--evaluate", "x=x.npy"}).err ==
        "amp-run: error: MODEL: expected a path, found '-'; a file of that name is ./-\n");
  CHECK(RunAmpRun({"./-", "--evaluate", "x=-"}).err ==
        "amp-run: error: --evaluate: expected a path, found '-'; a file of that name is ./-\n");
  CHECK(RunAmpTrain({"-", "--data", "x=x.npy"}).err ==
        "amp-train: error: STEP: expected a path, found '-'; a file of that name is ./-\n");
  CHECK(RunAmpTrain({"./-", "--data", "x=-"}).err ==
        "amp-train: error: --data: expected a path, found '-'; a file of that name is ./-\n");
  CHECK(absl::StrContains(RunAmpRewrite({"-", "--dry-run"}).err, "models are files, found '-'"));
}

TEST_CASE("a dash is no file that a flag writes: it is standard output for three, and refused for the others") {
  const std::set<std::string> to_stdout = {"--report", "--outputs", "--profile"};
  for (const Program& program : Programs()) {
    for (const WritingFlag& write : program.writes) {
      if (write.flag == "--autotune" || !write.fixed_name.empty()) continue;
      Scene scene;
      const ToolOutput output = RunBesideDash(scene, program, WithPath(write.words, "-"));
      INFO(program.name << " " << write.flag << ": " << output.err);
      CHECK_FALSE(scene.folder.Has("-"));
      CHECK(output.exit_code == (to_stdout.contains(write.flag) ? 0 : 2));
      CHECK((output.exit_code == 0 || absl::StrContains(output.err, "found '-'")));
    }
  }
}

TEST_CASE("no two flags write the same file") {
  for (const Program& program : Programs()) {
    for (const WritingFlag& first : program.writes) {
      for (const WritingFlag& second : program.writes) {
        const bool has_folder = !first.fixed_name.empty() || !second.fixed_name.empty();  // whose files come later
        if (first.flag == second.flag || has_folder) continue;
        for (const bool is_there : {false, true}) {
          INFO(program.name << ": " << first.flag << " and " << second.flag << (is_there ? ", there" : ", not there"));
          Scene scene;
          if (is_there) scene.folder.Write("one", "");
          const Words words = Joined(WithPath(first.words, scene.folder.File("one")),
                                     WithPath(second.words, scene.folder.File("made/../one")));
          CheckRefused(scene, scene.Run(program, words), first.flag, second.flag);
        }
      }
    }
  }
}

// A file of each kind, and some of none.
std::vector<std::pair<FileKind, std::string>> Kinds() {
  return {{FileKind::kModel, Files().at("forward.onnx")},
          {FileKind::kArchive, Files().at("other.npz")},
          {FileKind::kCheckpoint, *NpzBytes({{"amp.checkpoint", Tensor::Of<uint8_t>(DType::kUint8, {1}, {0})}})},
          {FileKind::kArray, Files().at("x.npy")},
          {FileKind::kJson, R"({"name": "something"})"},
          {FileKind::kCsv, "epoch,loss\n1,2\n"},
          {FileKind::kList, "# Operator list: of an earlier search\n"},
          {FileKind::kHtml, "<!doctype html>\n<title>something</title>\n"},
          {FileKind::kOther, "\x89PNG\r\n\x1a\n"},
          {FileKind::kOther, "Dear diary"},
          {FileKind::kEmpty, ""}};
}

void CheckReplaced(const Program& program, const WritingFlag& write, FileKind kind, const std::string& bytes) {
  const bool may_be = kind == write.kind || kind == FileKind::kEmpty;
  for (const bool force : {false, true}) {
    INFO(program.name << ": " << write.flag << " over " << KindText(kind) << (force ? ", by force" : ""));
    Scene scene;
    const std::string name = write.fixed_name.empty() ? "there" : write.fixed_name;
    scene.folder.Write(name, bytes);
    const ToolOutput output =
        scene.Run(program, Joined(WithPath(write.words, scene.folder.File(name)), force ? Words{"--force"} : Words{}));
    INFO(output.err);
    if (may_be || force) {
      CHECK(output.exit_code == 0);
      CHECK(scene.folder.Read(name) != bytes);
      continue;
    }
    CHECK(output.exit_code == 4);
    CHECK(scene.IsUnchanged());
    CHECK(absl::StrContains(output.err, absl::StrCat(scene.folder.File(name), ": ", write.flag, ": exists and is ")));
    CHECK(absl::EndsWith(output.err, absl::StrCat("; expected ", KindText(write.kind), ", or --force\n")));
  }
}

TEST_CASE("a file is replaced by one of its kind; by another one with --force alone") {
  for (const Program& program : Programs()) {
    for (const WritingFlag& write : program.writes) {
      if (write.flag == "--autotune" || write.flag == "--search-log") continue;  // they read the file first
      for (const auto& [kind, bytes] : Kinds()) CheckReplaced(program, write, kind, bytes);
    }
  }
}

// "--flag" -> what its value is called; "" for none. Of a flag with "=": as the text has it.
std::map<std::string, std::string> FlagsOfHelp(const std::string& help) {
  std::map<std::string, std::string> flags;
  const std::regex line(R"(^  (-\w,)?(--[a-z0-9-]+)( [^ ]+)?( .*)?$)");
  std::string flag;
  const std::vector<std::string> lines = absl::StrSplit(help, '\n');
  for (const std::string& text : lines) {
    std::smatch match;
    if (std::regex_match(text, match, line)) {
      flag = match[2].str();
      flags[flag] = match[3].matched ? match[3].str().substr(1) : "";
    }
    if (!flag.empty() && absl::StrContains(text, flag + "=FILE")) flags[flag] = "=FILE";
  }
  return flags;
}

std::string LongName(const std::string& flag) { return flag == "-o" ? "--output" : flag; }

TEST_CASE("every flag that takes a file is in the table") {
  for (const Program& program : Programs()) {
    std::map<std::string, std::string> flags = FlagsOfHelp(program.run({"--help"}).out);
    REQUIRE(flags.size() > 2);
    std::vector<std::string> in_table = program.positionals;
    for (const ReadingFlag& read : program.reads) in_table.push_back(LongName(read.flag));
    for (const WritingFlag& write : program.writes) in_table.push_back(LongName(write.flag));
    for (const auto& [flag, value] : flags) {
      INFO(program.name
           << " " << flag << " " << value
           << ": declare what it reads or writes (tools/library/file_uses.h), and put it into file_rule_table.cc");
      const bool is_choice = absl::StrContains(value, '|') && !absl::StrContains(value, "FILE");
      const bool is_file = !value.empty() && !is_choice && !absl::c_linear_search(program.other_values, value);
      CHECK(absl::c_linear_search(in_table, flag) == is_file);
    }
    for (const std::string& name : in_table) {
      INFO(program.name << " has no flag " << name);
      CHECK((flags.contains(name) || absl::c_linear_search(program.positionals, name)));
    }
  }
}

TEST_CASE("pairs of flags that may name one file") {
  Scene scene;
  const Program& train = Programs()[2];
  const ToolOutput resumed =
      scene.Run(train, {"--resume", "@run.npz", "--checkpoint", "@run.npz", "--epochs", "2", "--log", "@log.csv"});
  INFO(resumed.err);
  CHECK(resumed.exit_code == 0);
  CHECK(scene.folder.Read("run.npz") != scene.before["run.npz"]);
  const Program& rewrite = Programs()[0];
  CHECK(scene.Run(rewrite, {"-o", "@model.onnx"}).exit_code == 4);
  CHECK(scene.IsUnchanged());
  CHECK(RunAmpRewrite({scene.folder.File("model.onnx"), "--in-place"}).exit_code == 0);
  CHECK(scene.folder.Read("model.onnx") != scene.before["model.onnx"]);
}

TEST_CASE("what a run gives may be written over what an earlier run gave") {
  for (const Program& program : Programs()) {
    for (const WritingFlag& write : program.writes) {
      if (write.flag == "--autotune") continue;
      INFO(program.name << " " << write.flag);
      Scene scene;
      const Words words = WithPath(write.words, scene.folder.File("out"));
      CHECK(scene.Run(program, words).exit_code == 0);
      CHECK(scene.Run(program, words).exit_code == 0);
    }
  }
}

TEST_CASE("amp-run: a tuning file that nobody may write is read") {
  Scene scene;
  fs::permissions(scene.folder.File("tuning.json"), fs::perms(0444));
  const ToolOutput output = scene.Run(Programs()[1], {"--autotune", "@tuning.json", "--device", "cuda"});
  CHECK((output.exit_code == 8 || output.exit_code == 0));  // with a device or without one
  CHECK(scene.IsUnchanged());
}

TEST_CASE("amp-run: what cannot be written is known before anything runs") {
  Scene scene;
  fs::permissions(scene.folder.File("ranges.json"), fs::perms(0444));
  for (const char* flag : {"--outputs", "--profile"}) {
    const auto fails = [&](const std::string& path, int exit_code, const std::string& what) {
      INFO(flag << " " << path);
      const ToolOutput output = RunAmpRun({scene.folder.File("none.onnx"), "--random-inputs", flag, path});
      CHECK(output.exit_code == exit_code);
      CHECK(output.err == absl::StrCat("amp-run: error: ", path, ": ", what, "\n"));
    };
    fails(scene.folder.path(), 4, "expected a file, found a directory");
    fails("/dev/null", 4, "exists and is not a regular file");
    fails(scene.folder.File("nowhere/f"), 6, "cannot open the directory: No such file or directory");
    fails(scene.folder.File(""), 2, "expected a file name, found a directory");
  }
  const std::string read_only = scene.folder.File("ranges.json");
  CHECK(RunAmpRun({scene.folder.File("none.onnx"), "--random-inputs", "--profile", read_only}).exit_code == 4);
}

TEST_CASE("the help lists every exit code of its program") {
  const std::vector<std::set<std::string>> codes = {
      {"0", "2", "3", "4", "5", "6", "7", "70", "130", "143"},
      {"0", "2", "3", "4", "5", "6", "7", "8", "70", "130", "143"},
      {"0", "2", "3", "4", "5", "6", "7", "8", "70", "130", "143"},
      {"0", "2", "4", "5", "6", "70"},
  };
  for (size_t i = 0; i < codes.size(); ++i) {
    INFO(Programs()[i].name);
    const std::string help = Programs()[i].run({"--help"}).out;
    const size_t at = help.find("Exit codes:");
    REQUIRE(at != std::string::npos);
    std::set<std::string> found;
    const std::string text = help.substr(at, help.find("\n\n", at) - at);
    const std::regex number(R"((^|[^0-9A-Za-z])([0-9]+)\b)");
    for (std::sregex_iterator it(text.begin(), text.end(), number), end; it != end; ++it) found.insert((*it)[2]);
    CHECK(found == codes[i]);
  }
}

TEST_CASE("amp-run: arrays of a folder are written all or not at all") {
  Scene scene;
  const Program& run = Programs()[1];
  fs::copy(scene.folder.File("x.npy"), scene.folder.File("made/y.npy"));
  const ToolOutput refused = scene.Run(run, {"--input", "x=@made/y.npy", "--output-dir", "@made"});
  CheckRefused(scene, refused, "--input", "--output-dir");
  CHECK(scene.Run(run, {"--input", "x=@x.npy", "--output-dir", "@made"}).exit_code == 0);
}

TEST_CASE("the library keeps the rule, too") {
  Scene scene;
  const auto file = [&](const std::string& name) { return scene.folder.File(name); };
  scene.before = ContentsOf(scene.folder);
  RewriteOptions options;
  options.calibration = {file("sample.npz")};
  CHECK(RewriteFile(file("model.onnx"), file("sample.npz"), options).status().message() ==
        absl::StrCat(file("sample.npz"), ": -o would replace the file of --calibration; expected another file"));
  CHECK(absl::IsPermissionDenied(RewriteFile(file("model.onnx"), file("x.npy"), {}).status()));
  const auto trainer = Trainer::Create(file("step.onnx"));
  REQUIRE(trainer.ok());
  for (const char* name : {"step.onnx", "step.bin"}) {
    INFO(name);
    CHECK(absl::IsPermissionDenied((*trainer)->SaveWeights(file(name), file("forward.onnx"), Overwrite::kAnyKind)));
    CHECK(absl::IsPermissionDenied((*trainer)->SaveCheckpoint(file(name), "", Overwrite::kAnyKind)));
  }
  for (const char* name : {"forward.onnx", "forward.bin"}) {
    CHECK(absl::IsPermissionDenied((*trainer)->SaveWeights(file(name), file("forward.onnx"), Overwrite::kAnyKind)));
  }
  CHECK(absl::IsPermissionDenied((*trainer)->SaveWeights(file("run.npz"))));
  CHECK(absl::IsPermissionDenied((*trainer)->SaveCheckpoint(file("model.onnx"))));
  CHECK(scene.IsUnchanged());
  REQUIRE((*trainer)->LoadCheckpoint(file("run.npz")).ok());
  CHECK((*trainer)->SaveCheckpoint(file("run.npz")).ok());
  CHECK((*trainer)->SaveWeights(file("x.npy"), file("forward.onnx"), Overwrite::kAnyKind).ok());
}

}  // namespace
}  // namespace amp
