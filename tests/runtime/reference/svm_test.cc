// ai.onnx.ml::SVMClassifier: labels by votes, scores of two classes, probabilities of three, lists that do not fit.
#include "absl/strings/match.h"
#include "tests/catch2.h"
#include "tests/runtime/run_text.h"

namespace {

std::string Classified(const std::string& outputs, const std::string& attributes, const std::string& type) {
  return Computed({.imports = R"(, "ai.onnx.ml" : 3)",
                   .given = "float[2,1] x = {-2, 4}",
                   .node = outputs + " = ai.onnx.ml.SVMClassifier<" + attributes + ">(x)",
                   .output = type});
}

// Scores 0.5 x - 0.25 (3 x) + 0.5: 1 and -0.5.
const std::string kTwo = R"(classlabels_strings = ["low", "high"], vectors_per_class = [1, 1],
    support_vectors = [1.0, 3.0], coefficients = [0.5, -0.25], rho = [0.5])";

}  // namespace

TEST_CASE("a positive score of two classes is for the first, and its opposite that one's") {
  CHECK(Classified("y, z", kTwo, "string[2]") == "string[2]: low high");
  CHECK(Classified("z, y", kTwo, "float[2,2]") == "float32[2,2]: -1 1 0.5 -0.5");
  CHECK(Classified("z, y", kTwo + R"(, post_transform = "SOFTMAX")", "float[2,2]") == "float32[2,2]: 0 1 1.5 -0.5");
}

TEST_CASE("three classes have a score for each pair, or with probabilities one each") {
  // (0, 1): x; (0, 2): 2 x; (1, 2): 0 and a half
  const std::string three = R"(classlabels_ints = [7, 8, 9], vectors_per_class = [1, 1, 1],
      support_vectors = [1.0, 1.0, 1.0], coefficients = [1.0, 0.0, 0.0, 2.0, 0.0, 0.0], rho = [0.0, 0.0, 0.5])";
  CHECK(Classified("z, y", three, "float[2,3]") == "float32[2,3]: -2 -4 0.5 4 8 0.5");
  CHECK(Classified("y, z", three, "int64[2]") == "int64[2]: 8 7");
  const std::string even = three + ", prob_a = [0.0, 0.0, 0.0], prob_b = [0.0, 0.0, 0.0]";
  CHECK(Classified("z, y", even, "float[2,3]") ==
        "float32[2,3]: 0.333333 0.333333 0.333333 0.333333 0.333333 0.333333");
}

TEST_CASE("vectors and coefficients that do not fit are refused") {
  CHECK(absl::StrContains(
      Classified("z, y", R"(classlabels_ints = [0, 1], coefficients = [1.0], rho = [0.0])", "float[2,2]"),
      "vectors_per_class: expected a number for each of two or more classes, found 0 for 2"));
  CHECK(absl::StrContains(Classified("z, y", R"(classlabels_ints = [0, 1], vectors_per_class = [1, 9],
                              support_vectors = [1.0, 3.0], coefficients = [0.5, -0.25], rho = [0.5])",
                                     "float[2,2]"),
                          "expected 10 vectors of 1 features"));
}
