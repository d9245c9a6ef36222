// ai.onnx.ml: trees that are none, missing values, two classes with one score, lists that do not fit.
#include "absl/strings/match.h"
#include "tests/catch2.h"
#include "tests/runtime/run_text.h"

namespace {

std::string Predicted(const std::string& given, const std::string& node, const std::string& type) {
  return Computed({.imports = R"(, "ai.onnx.ml" : 3)", .given = given, .node = node, .output = type});
}

// x[0] <= 0 ? `if_true` : `if_false`
std::string TreeText(const std::string& children) {
  return R"(nodes_treeids = [0, 0, 0], nodes_nodeids = [0, 1, 2], nodes_featureids = [0, -2, -2],
            nodes_modes = ["BRANCH_LEQ", "LEAF", "LEAF"], nodes_values = [0.0, 0.0, 0.0], )" +
         children;
}
const std::string kChildren = "nodes_truenodeids = [1, 0, 0], nodes_falsenodeids = [2, 0, 0]";

std::string Regressed(const std::string& tree, const std::string& given = "float[2,1] x = {-1, 1}") {
  return Predicted(given,
                   "y = ai.onnx.ml.TreeEnsembleRegressor<n_targets = 1, target_treeids = [0, 0], target_nodeids = "
                   "[1, 2], target_ids = [0, 0], target_weights = [10.0, 20.0], " +
                       tree + ">(x)",
                   "float[n,1]");
}

}  // namespace

TEST_CASE("a tree's leaves vote, and a missing value goes where the node says") {
  CHECK(Regressed(TreeText(kChildren)) == "float32[2,1]: 10 20");
  const std::string missing = ", nodes_missing_value_tracks_true = [1, 0, 0]";
  CHECK(Regressed(TreeText(kChildren + missing), "float[1,1] x = {nan}") == "float32[1,1]: 10");
  CHECK(Regressed(TreeText(kChildren), "float[1,1] x = {nan}") == "float32[1,1]: 20");
}

TEST_CASE("trees that lead nowhere or back to themselves are refused") {
  CHECK(absl::StrContains(Regressed(TreeText("nodes_truenodeids = [1, 0, 0], nodes_falsenodeids = [7, 0, 0]")),
                          "expected a node 7 in tree 0, found none"));
  const std::string cycle = R"(nodes_treeids = [0, 0, 0], nodes_nodeids = [0, 1, 2], nodes_featureids = [0, 0, 0],
      nodes_modes = ["BRANCH_LEQ", "BRANCH_LEQ", "LEAF"], nodes_values = [0.0, 0.0, 0.0],
      nodes_truenodeids = [1, 1, 0], nodes_falsenodeids = [2, 1, 0])";
  CHECK(absl::StrContains(Regressed(cycle), "found one that leads back to itself"));
  CHECK(
      absl::StrContains(Regressed(TreeText(kChildren), "float[1,0] x = {}"), "expected at least 1 features, found 0"));
}

TEST_CASE("one score for two classes is the second one's") {
  const auto classify = [](const std::string& outputs, const std::string& weights, const std::string& type) {
    return Predicted("float[2,1] x = {-1, 1}",
                     outputs +
                         " = ai.onnx.ml.TreeEnsembleClassifier<classlabels_int64s = [5, 6], class_treeids = [0, 0], "
                         "class_nodeids = [1, 2], class_ids = [0, 0], class_weights = " +
                         weights + ", " + TreeText(kChildren) + ">(x)",
                     type);
  };
  CHECK(classify("y, z", "[0.25, 0.75]", "int64[2]") == "int64[2]: 5 6");
  CHECK(classify("z, y", "[0.25, 0.75]", "float[2,2]") == "float32[2,2]: 0.75 0.25 0.25 0.75");
  CHECK(classify("z, y", "[-0.25, 0.75]", "float[2,2]") == "float32[2,2]: 0.25 -0.25 -0.75 0.75");
}

TEST_CASE("of equal keys the last one counts, and NaN is a key") {
  CHECK(Predicted("float[3] x = {nan, 1, 2}",
                  "y = ai.onnx.ml.LabelEncoder<keys_floats = [1.0, nan, 1.0], values_int64s = [1, 2, 3]>(x)",
                  "int64[3]") == "int64[3]: 2 3 -1");
}

TEST_CASE("a category that is not listed is zeros or an error") {
  const auto encode = [](const std::string& attributes) {
    return Predicted("double[2] x = {3.7, nan}",
                     "y = ai.onnx.ml.OneHotEncoder<cats_int64s = [3, 4], " + attributes + ">(x)", "float[2,2]");
  };
  CHECK(encode("zeros = 1") == "float32[2,2]: 1 0 0 0");
  CHECK(absl::StrContains(encode("zeros = 0"), "expected one of 2 categories"));
}

TEST_CASE("coefficients that are too few are refused") {
  CHECK(
      absl::StrContains(Predicted("float[1,2] x = {1, 2}",
                                  "y = ai.onnx.ml.LinearRegressor<coefficients = [1.0], targets = 1>(x)", "float[1,1]"),
                        "expected 2 for each of 1 targets, found 1 in all"));
  CHECK(absl::StrContains(Predicted("float[1,2] x = {1, 2}",
                                    "y = ai.onnx.ml.Scaler<scale = [1.0], offset = [1.0, 2.0, 3.0]>(x)", "float[1,2]"),
                          "offset: expected 1 or 2 entries, found 3"));
}

TEST_CASE("a support vector machine without support vectors is a linear model") {
  const auto regress = [](const std::string& attributes) {
    return Predicted("float[1,2] x = {1, 2}",
                     "y = ai.onnx.ml.SVMRegressor<coefficients = [3.0, 4.0], rho = [0.5]" + attributes + ">(x)",
                     "float[1,1]");
  };
  CHECK(regress("") == "float32[1,1]: 11.5");
  CHECK(regress(", one_class = 1") == "float32[1,1]: 1");
  const std::string vectors = ", support_vectors = [1.0, 0.0, 0.0, 1.0]";
  CHECK(regress(", n_supports = 2" + vectors) == "float32[1,1]: 11.5");
  CHECK(absl::StrContains(regress(", n_supports = 3" + vectors), "expected 3 coefficients"));
}
