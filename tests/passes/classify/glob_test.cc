#include "passes/classify/glob.h"

#include <chrono>
#include <string>

#include "ir/base/status.h"
#include "passes/classify/suggest.h"
#include "tests/catch2.h"

namespace amp {
namespace {

bool Matches(absl::string_view pattern, absl::string_view name) {
  const absl::StatusOr<Glob> glob = Glob::Parse(pattern);
  INFO(pattern << ": " << glob.status());
  REQUIRE(glob.ok());
  return glob->Matches(name);
}

std::string ErrorOf(absl::string_view pattern) { return std::string(Glob::Parse(pattern).status().message()); }

struct Case {
  const char* pattern;
  const char* name;
  bool matches;
};

TEST_CASE("globs match whole names") {
  const Case cases[] = {
      {"conv1", "conv1", true},
      {"conv1", "conv10", false},
      {"conv", "Conv", false},
      {"*", "", true},
      {"*", "/a/b.c", true},
      {"/encoder/*", "/encoder/layer0/MatMul", true},
      {"/encoder/*", "/decoder/layer0", false},
      {"*/MatMul", "/encoder/MatMul", true},
      {"*/MatMul", "/encoder/MatMul_1", false},
      {"a**b", "axyzb", true},
      {"a**b", "ab", true},
      {"**", "a/b", true},
      {"layer?", "layer1", true},
      {"layer?", "layer12", false},
      {"layer?", "layer", false},
      {"gr??e", "größe", true},
      {"layer[0-3]/*", "layer2/x", true},
      {"layer[0-3]/*", "layer4/x", false},
      {"layer[!0-3]", "layer4", true},
      {"layer[^0-3]", "layer2", false},
      {"[!a]", "\n", true},
      {"a?b", "a\nb", true},
      {"a*b", "a\n\nb", true},
      {"[]a]", "]", true},
      {"[!]a]", "]", false},
      {"[a-]", "-", true},
      {"[ä-ü]", "ö", true},
      {"[[]x]", "[x]", true},
      {"[*]", "*", true},
      {"[*]", "x", false},
      {"[\\]*", "\\x", true},
      {"a.b*", "axb", false},
      {"(a|b)*", "a", false},
      {"(a|b)*", "(a|b)+", true},
      {"a\\*", "a\\b", true},
      {"{a}$*", "{a}$", true},
  };
  for (const Case& c : cases) {
    INFO(c.pattern << " on " << c.name);
    CHECK(Matches(c.pattern, c.name) == c.matches);
  }
}

TEST_CASE("a star matches names that are not UTF-8") {
  CHECK(Matches("a*", "a\xff\xfe"));
  CHECK(Matches("a\xff", "a\xff"));
}

TEST_CASE("a literal pattern knows that it is one") {
  CHECK(Glob::Parse("/a/b")->is_literal());
  CHECK_FALSE(Glob::Parse("/a/?")->is_literal());
}

TEST_CASE("malformed globs are errors") {
  CHECK(ErrorOf("") == "empty pattern");
  CHECK(ErrorOf("layer[0-3") ==
        "pattern 'layer[0-3': '[' without ']'; one that is meant as it stands is written '[[]'");
  CHECK(ErrorOf("[]") == "pattern '[]': '[' without ']'; one that is meant as it stands is written '[[]'");
  CHECK(ErrorOf("[z-a]") == "pattern '[z-a]': reversed range 'z-a'");
  CHECK(ExitCode(Glob::Parse("*\xff").status()) == 2);
}

TEST_CASE("a glob may have 4096 bytes and no more") {
  CHECK(Glob::Parse(std::string(4095, 'a') + "*").ok());
  CHECK(Glob::Parse(std::string(4096, '?')).ok());
  const absl::Status too_long = Glob::Parse(std::string(4097, 'a')).status();
  CHECK(too_long.message() == "pattern of 4097 bytes; at most 4096 are allowed");
  CHECK(ExitCode(too_long) == 5);
}

TEST_CASE("many stars do not blow up") {
  std::string pattern;
  for (int i = 0; i < 100; ++i) pattern += "a*";
  pattern += 'b';
  const auto start = std::chrono::steady_clock::now();
  CHECK_FALSE(Matches(pattern, std::string(20'000, 'a')));
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(5));
}

TEST_CASE("suggestions name the closest candidate or nothing") {
  const std::vector<std::string> names = {"Conv",       "ConvTranspose", "LayerNormalization",
                                          "LogSoftmax", "Softmax",       "Sum"};
  CHECK(ClosestName("Sofmax", names) == "Softmax");
  CHECK(ClosestName("softmax", names) == "Softmax");
  CHECK(ClosestName("Conv2D", names) == "Conv");
  CHECK(ClosestName("LayerNorm", names) == "LayerNormalization");
  CHECK(ClosestName("Xyzzy", names) == "");
  CHECK(ClosestName("Q", names) == "");
  CHECK(ClosestName("q", {"x", "y"}) == "");
  CHECK(ClosestName("xs", {"x", "y"}) == "x");
  CHECK(ClosestName(std::string(1'000'000, 'S'), names) == "");
  CHECK(ClosestName("dytpe", {"type", "dtype"}) == "dtype");
  CHECK(DidYouMean("Summ", names) == "; did you mean 'Sum'?");
  CHECK(DidYouMean("Xyzzy", names) == "");
}

TEST_CASE("another word is no slip of the hand") {
  struct {
    const char* found;
    const char* known;
  } const cases[] = {{"--half", "--help"}, {"--provider", "--profile"}, {"--lr", "--labels"}, {"tlu", "tpv"}};
  for (const auto& each : cases) {
    INFO(each.found << " and " << each.known);
    CHECK(ClosestName(each.found, {each.known}) == "");
  }
  CHECK(ClosestName("Tan", {"Tanh"}) == "Tanh");
  CHECK(ClosestName("mes", {"mse"}) == "mse");
  CHECK(ClosestName("tpv", {"tpu"}) == "tpu");
  CHECK(ClosestName("--hlep", {"--help"}) == "--help");
  CHECK(ClosestName("--proflie", {"--profile"}) == "--profile");
}

}  // namespace
}  // namespace amp
