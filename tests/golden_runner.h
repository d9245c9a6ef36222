// Golden files: rewriting as text in, text out.
//
//   // What the file is about, in free words.
//
//   // ----- case a lone Softmax has nothing to convert
//   // options: --dtype float16
//   <ir_version: 8, opset_import: ["" : 17]>
//   g (float[4] x) => (float[4] y) { y = Softmax (x) }
//   // expect: unchanged
//   // because y: Softmax is not on the allow list
//
// After "expect:" comes `unchanged`, or `error: <part of the message>`, or nothing and then the whole output as text.
// Layout of models does not matter: both sides are compared as the ONNX library prints them. Lines that start with "//"
// inside an input are comments. The first case of a file is the near miss that must not change.
// Beyond the text, each rewritten model is rewritten again, which must change nothing.
#ifndef AMP_TESTS_GOLDEN_RUNNER_H_
#define AMP_TESTS_GOLDEN_RUNNER_H_

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace amp {

struct GoldenResult {
  std::string text;                            // the output model, printed; empty after an error
  std::map<std::string, std::string> reasons;  // by name of node or value, from the report
  std::string error;                           // one line without the program's and the model's name; empty if none
};

// Rewrites a model given as text with the flags `options`.
using GoldenRewrite =
    std::function<GoldenResult(const std::string& input_model_text, const std::vector<std::string>& options)>;

enum class GoldenExpectation { kUnchanged, kModel, kError };

struct GoldenCase {
  std::string name;
  int line = 0;                      // of the "case" line in the file, from 1
  std::vector<std::string> options;  // split at spaces; "double quotes" keep a space
  std::string input;                 // everything between the case line and "expect:", options line included
  GoldenExpectation expectation = GoldenExpectation::kUnchanged;
  std::string expected;                                      // model text or part of an error message
  std::vector<std::pair<std::string, std::string>> because;  // name, reason
};

struct GoldenFile {
  std::string preamble;
  std::vector<GoldenCase> cases;
};

// Errors: kInvalidArgument "line N: what".
absl::StatusOr<GoldenFile> ParseGoldenFile(absl::string_view text);
std::string PrintGoldenFile(const GoldenFile& file);

// Returns what is wrong with the case, as text for a person (a diff where models differ), or "" when all is well.
std::string CheckGoldenCase(const GoldenCase& golden, const GoldenRewrite& rewrite);

// Makes what `rewrite` does now the expectation. A reason that does not exist any more becomes kNoReason.
void UpdateGoldenCase(GoldenCase& golden, const GoldenRewrite& rewrite);
inline constexpr absl::string_view kNoReason = "(no reason recorded)";

// The lines of both texts, those only in `expected` marked '-', those only in `actual` '+', far-off common ones left
// out.
std::string LineDiff(absl::string_view expected, absl::string_view actual);

}  // namespace amp

#endif  // AMP_TESTS_GOLDEN_RUNNER_H_
