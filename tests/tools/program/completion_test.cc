// The completion script, run by bash as bash runs it.
#include <cstdio>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tests/catch2.h"
#include "tests/scratch_folder.h"
#include "tools/rewrite/amp_rewrite.h"

namespace amp {
namespace {

// Returns the words that bash offers for the line, typed in a folder that holds in.onnx, other.txt and models/.
std::set<std::string> Complete(const std::string& line, const std::string& setup = "") {
  const ScratchFolder folder;
  folder.Write("script", RunAmpRewrite({"--completion", "bash"}).out);
  for (const char* name : {"in.onnx", "other.txt"}) folder.Write(name, "");
  std::filesystem::create_directory(folder.File("models"));
  folder.Write("test", absl::StrCat("cd ", folder.File(""), "\nrm test; source ./script; rm script\n",
                                    "COMP_WORDBREAKS=$' \\t\\n\"><=;|&(:'\n", setup, "\nCOMP_LINE='", line,
                                    "'\nCOMP_POINT=${#COMP_LINE}\n_amp_rewrite\nprintf '%s\\n' \"${COMPREPLY[@]}\"\n"));
  FILE* bash = ::popen(absl::StrCat("bash --norc --noprofile ", folder.File("test"), " 2>&1").c_str(), "r");
  REQUIRE(bash != nullptr);
  std::string out;
  char buffer[4096];
  while (const size_t size = std::fread(buffer, 1, sizeof(buffer), bash)) out.append(buffer, size);
  REQUIRE(::pclose(bash) == 0);
  std::set<std::string> answers;
  for (absl::string_view answer : absl::StrSplit(out, '\n', absl::SkipEmpty())) answers.emplace(answer);
  return answers;
}

using Set = std::set<std::string>;

TEST_CASE("flags") {
  const Set all = Complete("amp-rewrite -");
  for (const char* flag : {"--dtype", "--policy", "--help", "-o", "--output", "--max-nodes", "--completion"}) {
    INFO(flag);
    CHECK(all.contains(flag));
  }
  CHECK(Complete("amp-rewrite in.onnx --deny-") == Set{"--deny-node", "--deny-tensor"});
  CHECK(Complete("amp-rewrite --nonsense") == Set{});
}

TEST_CASE("every flag of --help is completed") {
  const Set all = Complete("amp-rewrite --");
  for (absl::string_view word : absl::StrSplit(RunAmpRewrite({"--help"}).out, absl::ByAnyChar(" \n,"))) {
    if (!absl::StartsWith(word, "--") || word.size() < 4 || !absl::ascii_isalpha(static_cast<unsigned char>(word[2])))
      continue;
    const std::string flag(word.substr(0, word.find_first_of("=;.:)'")));
    INFO(flag);
    CHECK(all.contains(flag));
  }
}

TEST_CASE("values, in both spellings") {
  CHECK(Complete("amp-rewrite --dtype ") == Set{"float16", "bfloat16", "auto"});
  CHECK(Complete("amp-rewrite --dtype b") == Set{"bfloat16"});
  CHECK(Complete("amp-rewrite in.onnx --dtype=f") == Set{"float16"});
  CHECK(Complete("amp-rewrite --dtype=") == Set{"float16", "bfloat16", "auto"});
  CHECK(Complete("amp-rewrite --policy mixed_") == Set{"mixed_float16", "mixed_bfloat16"});
  CHECK(Complete("amp-rewrite --keep-io ") == Set{"all", "none"});
  CHECK(Complete("amp-rewrite --opset k") == Set{"keep"});
  CHECK(Complete("amp-rewrite --profile tf") == Set{"tf-1.15", "tf-latest", "tf-latest-cpu"});
}

TEST_CASE("values with a colon, of which bash keeps what is before it") {
  CHECK(Complete("amp-rewrite --target c") == Set{"cuda:", "cpu:avx2", "cpu:avx512", "cpu:avx512_bf16", "cpu:amx"});
  CHECK(Complete("amp-rewrite --target cpu:am") == Set{"amx"});
  CHECK(Complete("amp-rewrite --target=cpu:am") == Set{"amx"});
  CHECK(Complete("amp-rewrite --target cpu:am", "COMP_WORDBREAKS=$' \\t\\n='") == Set{"cpu:amx"});
}

TEST_CASE("files") {
  CHECK(Complete("amp-rewrite ") == Set{"in.onnx", "models"});
  CHECK(Complete("amp-rewrite --dry-run i") == Set{"in.onnx"});
  CHECK(Complete("amp-rewrite in.onnx -o ot") == Set{"other.txt"});
  CHECK(Complete("amp-rewrite in.onnx --report ") == Set{"in.onnx", "other.txt", "models"});
  CHECK(Complete("amp-rewrite --lists=ot") == Set{"other.txt"});
}

TEST_CASE("operators, alone and as the last of a list") {
  CHECK(Complete("amp-rewrite --deny LayerN") == Set{"LayerNormalization"});
  CHECK(Complete("amp-rewrite --infer=LayerN") == Set{"LayerNormalization"});
  CHECK(Complete("amp-rewrite --allow Softmax,LayerN") == Set{"Softmax,LayerNormalization"});
  CHECK(Complete("amp-rewrite --clear -LayerN") == Set{"-LayerNormalization"});
  CHECK(Complete("amp-rewrite --deny Softmax,-LayerN") == Set{"Softmax,-LayerNormalization"});
  CHECK(Complete("amp-rewrite --deny com.microsoft::FastG") == Set{"FastGelu"});
  CHECK(Complete("amp-rewrite --deny Softmax,com.microsoft::FastG") == Set{"FastGelu"});
  CHECK(Complete("amp-rewrite --deny ai.onnx.ml::Scal", "COMP_WORDBREAKS=$' \\t\\n='") == Set{"ai.onnx.ml::Scaler"});
  CHECK(Complete("amp-rewrite --deny NoSuch") == Set{});
}

TEST_CASE("profiles, targets and stages are all there") {
  CHECK(Complete("amp-rewrite --profile ").contains("tf-latest"));
  CHECK(Complete("amp-rewrite --target ").contains("auto"));
  CHECK(Complete("amp-rewrite --stop-after f") == Set{"fold"});
  CHECK(Complete("amp-rewrite --print-after c") == Set{"classify", "casts"});
}

TEST_CASE("profiles are listed with what they are, and completed by their names alone") {
  const std::string listed = RunAmpRewrite({"--list-profiles"}).out;
  CHECK(listed ==
        "default        TensorFlow's newest lists, with what kernels do today (default); float16, bfloat16\n"
        "itex           Intel's extension for TensorFlow; float16, bfloat16\n"
        "tf-1.15        TensorFlow 1.15's documented lists; float16, bfloat16\n"
        "tf-latest      TensorFlow's newest lists, in float16 those for GPUs; float16, bfloat16\n"
        "tf-latest-cpu  TensorFlow's newest lists for CPUs; float16\n");
  Set names;
  for (absl::string_view line : absl::StrSplit(listed, '\n', absl::SkipEmpty())) {
    names.emplace(line.substr(0, line.find(' ')));
  }
  CHECK(Complete("amp-rewrite --profile ") == names);
}

TEST_CASE("what only the user knows is not offered") {
  CHECK(Complete("amp-rewrite --deny-node ") == Set{});
  CHECK(Complete("amp-rewrite --max-nodes ") == Set{});
  CHECK(Complete("amp-rewrite --op-signature ") == Set{});
  CHECK(Complete("amp-rewrite --no-such=") == Set{});
}

TEST_CASE("another shell") {
  const ToolOutput output = RunAmpRewrite({"--completion", "tcsh"});
  CHECK(output.exit_code == 2);
  CHECK(absl::StrContains(output.err, "tcsh"));
}

}  // namespace
}  // namespace amp
