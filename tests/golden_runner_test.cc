#include "tests/golden_runner.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "tests/catch2.h"

namespace amp {
namespace {

constexpr absl::string_view kHead = "<ir_version: 8, opset_import: [\"\" : 17]>\n";

constexpr absl::string_view kFile = R"(// About Relu.

// ----- case an Abs stays
<ir_version: 8, opset_import: ["" : 17]>
g (float[4] x) => (float[4] y) { y = Abs (x) }
// expect: unchanged
// because y: not a Relu

// ----- case a Relu becomes a Sigmoid
// options: --dtype float16 --deny-node "a b"
// A comment inside the input.
<ir_version: 8, opset_import: ["" : 17]>
g (float[4] x) => (float[4] y) { y = Relu (x) }
// expect:
<
   ir_version: 8,
   opset_import: ["" : 17]
>
g (float[4] x) => (float[4] y) {
   y = Sigmoid (x)
}

// ----- case a Tanh is refused
<ir_version: 8, opset_import: ["" : 17]>
g (float[4] x) => (float[4] y) { y = Tanh (x) }
// expect: error: no Tanh
)";

// Stands in for the rewriter: turns Relu into Sigmoid and refuses Tanh.
GoldenResult Toy(const std::string& text, const std::vector<std::string>&) {
  if (absl::StrContains(text, "Tanh")) return {.text = "", .reasons = {}, .error = "y: no Tanh here"};
  return {.text = absl::StrReplaceAll(text, {{"Relu", "Sigmoid"}}), .reasons = {{"y", "not a Relu"}}, .error = ""};
}

// Like absl::StrContains, and shows the text when it fails.
bool Has(const std::string& text, const std::string& part) {
  UNSCOPED_INFO(text);
  return absl::StrContains(text, part);
}

GoldenFile Parsed(absl::string_view text) {
  absl::StatusOr<GoldenFile> file = ParseGoldenFile(text);
  INFO(file.status().ToString());
  REQUIRE(file.ok());
  return *std::move(file);
}

GoldenCase Case(absl::string_view nodes, absl::string_view expectation) {
  return Parsed(absl::StrCat("// ----- case c\n", kHead, "g (float[4] x) => (float[4] y) { ", nodes,
                             " }\n// expect:", expectation))
      .cases.front();
}

TEST_CASE("a golden file is read into its parts and printed back byte for byte") {
  const GoldenFile file = Parsed(kFile);
  CHECK(PrintGoldenFile(file) == kFile);
  REQUIRE(file.cases.size() == 3);
  CHECK(file.preamble == "// About Relu.\n\n");
  CHECK(file.cases[0].because == std::vector<std::pair<std::string, std::string>>{{"y", "not a Relu"}});
  CHECK(file.cases[1].name == "a Relu becomes a Sigmoid");
  CHECK(file.cases[1].line == 9);
  CHECK(file.cases[1].options == std::vector<std::string>{"--dtype", "float16", "--deny-node", "a b"});
  CHECK(file.cases[2].expectation == GoldenExpectation::kError);
}

TEST_CASE("cases that hold raise no complaint") {
  for (const GoldenCase& golden : Parsed(kFile).cases) CHECK(CheckGoldenCase(golden, Toy) == "");
}

TEST_CASE("each way to be wrong raises a complaint") {
  const auto complaint = [](absl::string_view nodes, absl::string_view expectation) {
    return CheckGoldenCase(Case(nodes, expectation), Toy);
  };
  CHECK(Has(complaint("y = Relu (x)", " unchanged\n"), "-    y = Relu (x)\n+    y = Sigmoid (x)"));
  CHECK(Has(complaint("y = Abs (x)", absl::StrCat("\n", kHead, "g (float[4] x) => (float[4] y) { y = Neg (x) }")),
            "-    y = Neg (x)\n+    y = Abs (x)"));
  CHECK(Has(complaint("y = Abs (x)", absl::StrCat("\n", kHead, "g (float[4] x) => (float[4] y) { y = Abs (x) }")),
            "write \"expect: unchanged\""));
  CHECK(Has(complaint("y = Abs (x)", " error: no Abs\n"), "but it succeeded"));
  CHECK(Has(complaint("y = Tanh (x)", " error: no Abs\n"), "found error:    y: no Tanh here"));
  CHECK(Has(complaint("y = Tanh (x)", " unchanged\n"), "unexpected error"));
  CHECK(Has(complaint("y = Abs (x)", " unchanged\n// because y: other\n"), "found:    not a Relu"));
  CHECK(Has(complaint("y = Abs (x)", " unchanged\n// because z: other\n"), std::string(kNoReason)));
  CHECK(Has(complaint("y = = Abs (x)", " unchanged\n"), "the input is no model: line 2, column"));
}

TEST_CASE("a rewrite that is not idempotent is caught") {
  const auto grow = [](const std::string& text, const std::vector<std::string>&) -> GoldenResult {
    const bool once = absl::StrContains(text, "Neg");
    return {
        .text = absl::StrReplaceAll(text, {{once ? "Neg" : "Abs", once ? "Exp" : "Neg"}}), .reasons = {}, .error = ""};
  };
  GoldenCase golden = Case("y = Abs (x)", absl::StrCat("\n", kHead, "g (float[4] x) => (float[4] y) { y = Neg (x) }"));
  CHECK(Has(CheckGoldenCase(golden, grow), "rewriting twice is not rewriting once"));
  golden.options = {"--stop-after", "paint"};  // not a final form
  CHECK(CheckGoldenCase(golden, grow) == "");
}

TEST_CASE("updating makes every case hold and keeps what did hold") {
  GoldenFile file = Parsed(kFile);
  for (GoldenCase& golden : file.cases) UpdateGoldenCase(golden, Toy);
  CHECK(PrintGoldenFile(file) == kFile);

  for (GoldenCase golden :
       {Case("y = Relu (x)", " unchanged\n"), Case("y = Abs (x)", " error: no Abs\n"),
        Case("y = Tanh (x)", " unchanged\n"), Case("y = Abs (x)", " unchanged\n// because y: other\n")}) {
    REQUIRE(CheckGoldenCase(golden, Toy) != "");
    UpdateGoldenCase(golden, Toy);
    CHECK(CheckGoldenCase(golden, Toy) == "");
    const GoldenFile printed = Parsed(PrintGoldenFile({.preamble = "", .cases = {golden}}));
    CHECK(CheckGoldenCase(printed.cases.front(), Toy) == "");
  }
}

TEST_CASE("mistakes in a golden file are named with their line") {
  const auto error = [](absl::string_view text) { return std::string(ParseGoldenFile(text).status().message()); };
  CHECK(error("") == "line 1: no case");
  CHECK(error("text\n") == "line 1: text before any case");
  CHECK(error("// ----- case a\nmodel\n") == "line 1: the case has no \"// expect:\"");
  CHECK(error("// ----- case a\n// expect: unchangd\n") == "line 2: expected unchanged, error: TEXT or nothing");
  CHECK(error("// ----- case a\n// expect: error:\n") == "line 2: expected which error?");
  CHECK(error("// ----- case a\n// expect: unchanged\nmodel\n") == "line 3: text after an expectation that takes none");
  CHECK(error("// ----- case a\n// expect: unchanged\n// expect:\n") == "line 3: a second expectation in one case");
  CHECK(error("// ----- case a\n// because y: z\n") == "line 2: a reason before the expectation");
  CHECK(error("// ----- case a\n// expect: unchanged\n// because y\n") == "line 3: expected NAME: REASON");
  CHECK(error("// ----- case a\n// expect: unchanged\n// ----- case a\n// expect: unchanged\n") ==
        "line 3: a second case of the name of line 1");
}

TEST_CASE("a diff shows changed lines with two lines around them") {
  CHECK(LineDiff("a\nb\nc\nd\ne\nf\ng", "a\nb\nc\nd\ne\nX\ng") == "  d\n  e\n- f\n+ X\n  g\n");
  CHECK(LineDiff("a", "a") == "");
}

}  // namespace
}  // namespace amp
