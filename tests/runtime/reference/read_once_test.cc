// State that kernels keep of their attributes: all runs of a session, also at once, give what a new session gives,
// including errors.
#include "runtime/reference/read_once.h"

#include <array>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "runtime/kernel/parallel_for.h"
#include "tests/catch2.h"
#include "tests/runtime/run_text.h"

namespace amp {
namespace {

// Two trees, the second of which is a leaf.
const std::string kTrees = R"(nodes_treeids = [0, 0, 0, 1], nodes_nodeids = [0, 1, 2, 0],
    nodes_featureids = [1, 0, 0, 0], nodes_modes = ["BRANCH_LEQ", "LEAF", "LEAF", "LEAF"],
    nodes_values = [0.5, 0.0, 0.0, 0.0], nodes_truenodeids = [1, 0, 0, 0], nodes_falsenodeids = [2, 0, 0, 0], )";

std::string Votes(const std::string& prefix) {
  return absl::StrCat(prefix, "_treeids = [0, 0, 1], ", prefix, "_nodeids = [1, 2, 0], ", prefix, "_ids = [0, 1, 1], ",
                      prefix, "_weights = [1.0, 2.0, -0.25]");
}

const std::string kVectors = R"(kernel_type = "RBF", kernel_params = [0.5, 0.0, 3.0],
    support_vectors = [1.0, 0.0, 0.0, 1.0, -1.0, 2.0])";

struct Predictor {
  std::string node, type;
};

std::vector<Predictor> Predictors() {
  return {
      {"y = ai.onnx.ml.TreeEnsembleRegressor<n_targets = 2, " + kTrees + Votes("target") + ">(x)", "float[n,2]"},
      {"z, y = ai.onnx.ml.TreeEnsembleClassifier<classlabels_int64s = [3, 4], " + kTrees + Votes("class") + ">(x)",
       "float[n,2]"},
      {"y, z = ai.onnx.ml.TreeEnsembleClassifier<classlabels_strings = [\"a\", \"b\"], " + kTrees + Votes("class") +
           ">(x)",
       "string[n]"},
      {"y = ai.onnx.ml.SVMRegressor<n_supports = 3, coefficients = [1.0, -2.0, 0.5], rho = [0.25], " + kVectors +
           ">(x)",
       "float[n,1]"},
      {"z, y = ai.onnx.ml.SVMClassifier<classlabels_ints = [3, 4], vectors_per_class = [1, 2], coefficients = [1.0, "
       "-2.0, 0.5], rho = [0.25], " +
           kVectors + ">(x)",
       "float[n,2]"},
      {"y, z = ai.onnx.ml.SVMClassifier<classlabels_ints = [3, 4], vectors_per_class = [1, 2], coefficients = [1.0, "
       "-2.0, 0.5], rho = [0.25], " +
           kVectors + ">(x)",
       "int64[n]"},
  };
}

absl::StatusOr<std::unique_ptr<Session>> MakeSession(const Predictor& predictor) {
  AMP_ASSIGN_OR_RETURN(
      const std::string bytes,
      ParseOnnxText(absl::StrCat(R"(<ir_version: 10, opset_import: ["" : 21, "ai.onnx.ml" : 3]> )",
                                 "g (float[n,f] x) => (", predictor.type, " y) {", predictor.node, "}")));
  AMP_ASSIGN_OR_RETURN(LoadedFile file, ParseModel(bytes));
  return Session::Create(std::move(file), {});
}

Tensor Samples(int64_t count, int64_t features) {
  Tensor x = *Tensor::Create(DType::kFloat32, {count, features});
  float value = -2;
  for (float& element : x.mutable_elements<float>()) {
    element = value;
    value = value > 2 ? -1.875F : value + 0.375F;
  }
  return x;
}

std::string TextOfRun(const Session& session, const Tensor& x) {
  const absl::StatusOr<std::vector<Datum>> outputs = session.Run({{"x", x}});
  return outputs.ok() ? TensorText(*(*outputs)[0].tensor()) : std::string(outputs.status().message());
}

std::string TextOfNewSession(const Predictor& predictor, const Tensor& x) {
  const absl::StatusOr<std::unique_ptr<Session>> session = MakeSession(predictor);
  return session.ok() ? TextOfRun(**session, x) : std::string(session.status().message());
}

TEST_CASE("a predictor gives the same at every run of a session") {
  for (const Predictor& predictor : Predictors()) {
    const auto session = MakeSession(predictor);
    REQUIRE(session.ok());
    for (const int64_t count : {7, 1, 7}) {
      const Tensor x = Samples(count, 2);
      const std::string text = TextOfRun(**session, x);
      CHECK(text == TextOfNewSession(predictor, x));
      CHECK(absl::StrContains(text, absl::StrCat("[", count)));
    }
  }
}

TEST_CASE("a predictor gives the same to threads that run one session from its first run on") {
  const Tensor x = Samples(133, 2);
  for (const bool shares : {false, true}) {
    ShareSmallWork(shares);
    for (const Predictor& predictor : Predictors()) {
      const std::string expected = TextOfNewSession(predictor, x);
      const auto session = MakeSession(predictor);
      REQUIRE(session.ok());
      std::array<std::string, 4> found;
      std::vector<std::thread> threads;
      threads.reserve(found.size());
      for (std::string& text : found) threads.emplace_back([&] { text = TextOfRun(**session, x); });
      for (std::thread& thread : threads) thread.join();
      for (const std::string& text : found) CHECK(text == expected);
    }
  }
  ShareSmallWork(false);
}

// `count` times x[1] <= 0 ? 1 : 2
Predictor Stumps(int count) {
  std::string trees, nodes, truths, lies, modes, zeros, voters, votes, targets, weights;
  for (int i = 0; i < count; ++i) {
    const char* const comma = i == 0 ? "" : ",";
    absl::StrAppend(&trees, comma, i, ",", i, ",", i);
    absl::StrAppend(&nodes, comma, "0,1,2");
    absl::StrAppend(&truths, comma, "1,0,0");
    absl::StrAppend(&lies, comma, "2,0,0");
    absl::StrAppend(&modes, comma, R"("BRANCH_LEQ","LEAF","LEAF")");
    absl::StrAppend(&zeros, comma, "0.0,0.0,0.0");
    absl::StrAppend(&voters, comma, i, ",", i);
    absl::StrAppend(&votes, comma, "1,2");
    absl::StrAppend(&targets, comma, "0,0");
    absl::StrAppend(&weights, comma, "1.0,2.0");
  }
  return {absl::StrCat("y = ai.onnx.ml.TreeEnsembleRegressor<n_targets = 1, nodes_treeids = [", trees,
                       "], nodes_nodeids = [", nodes, "], nodes_featureids = [", truths, "], nodes_truenodeids = [",
                       truths, "], nodes_falsenodeids = [", lies, "], nodes_modes = [", modes, "], nodes_values = [",
                       zeros, "], target_treeids = [", voters, "], target_nodeids = [", votes, "], target_ids = [",
                       targets, "], target_weights = [", weights, "]>(x)"),
          "float[n,1]"};
}

TEST_CASE("a forest that no cache holds gives each of many samples its own score") {
  constexpr int kCount = 4000;
  const auto session = MakeSession(Stumps(kCount));
  REQUIRE(session.ok());
  const Tensor x = Samples(133, 2);
  std::string expected = "float32[133,1]:";
  for (size_t i = 0; i < x.elements<float>().size(); i += 2) {
    absl::StrAppend(&expected, " ", x.elements<float>()[i + 1] <= 0 ? kCount : 2 * kCount);
  }
  for (int run = 0; run < 2; ++run) CHECK(TextOfRun(**session, x) == expected);
}

TEST_CASE("what a predictor refuses, it refuses at every run, also between those that it takes") {
  for (const Predictor& predictor : Predictors()) {
    const auto session = MakeSession(predictor);
    REQUIRE(session.ok());
    const std::string refused = TextOfNewSession(predictor, Samples(2, 1));
    CHECK(absl::StrContains(refused, "features"));
    CHECK(TextOfRun(**session, Samples(2, 1)) == refused);
    CHECK(TextOfRun(**session, Samples(2, 2)) == TextOfNewSession(predictor, Samples(2, 2)));
    CHECK(TextOfRun(**session, Samples(2, 1)) == refused);
  }
  const Predictor broken = {"y = ai.onnx.ml.TreeEnsembleRegressor<n_targets = 1, " + kTrees + Votes("target") + ">(x)",
                            "float[n,1]"};
  const auto session = MakeSession(broken);
  REQUIRE(session.ok());
  for (int run = 0; run < 2; ++run) CHECK(absl::StrContains(TextOfRun(**session, Samples(1, 2)), "target_ids"));
}

}  // namespace
}  // namespace amp
