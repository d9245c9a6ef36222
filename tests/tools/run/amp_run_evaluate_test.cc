// The figures of amp-run --evaluate on a data set.
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "nlohmann/json.hpp"
#include "runtime/values/npy.h"
#include "tests/catch2.h"
#include "tests/tools/run/amp_run_folder.h"

namespace amp {
namespace {

using Catch::Matchers::Contains;

constexpr absl::string_view kClassifier = R"(<ir_version: 8, opset_import: ["" : 17]>
  g (float[n,2] x) => (float[n,2] p) <float[2,2] w = {1, 0, 0, 1}> {
    h = MatMul (x, w)
    p = Softmax <axis = -1> (h)
  })";

// Three samples, of which two are right; data.npz has them with labels of both forms.
void WriteClassifier(const Runs& runs) {
  runs.WriteModel("model.onnx", kClassifier);
  runs.folder().Write("data.npz",
                      *NpzBytes({{"x", Tensor::Of<float>(DType::kFloat32, {3, 2}, {2, 0, 0, 1, 3, 1})},
                                 {"sparse", Tensor::Of<int64_t>(DType::kInt64, {3}, {0, 1, 1})},
                                 {"onehot", Tensor::Of<float>(DType::kFloat32, {3, 2}, {1, 0, 0, 1, 0, 1})}}));
}

std::vector<std::string> On(const std::string& labels, const std::vector<std::string>& more = {}) {
  std::vector<std::string> flags = {"--evaluate", "x=@data.npz:x", "--evaluate", "labels=@data.npz:" + labels};
  flags.insert(flags.end(), more.begin(), more.end());
  return flags;
}

TEST_CASE("accuracy and loss are those of the labels, as class numbers or one-hot, in batches of any size") {
  const Runs runs;
  WriteClassifier(runs);
  const double loss = (std::log1p(std::exp(-2)) + std::log1p(std::exp(-1)) + std::log1p(std::exp(2))) / 3;
  const std::string expected = absl::StrFormat("loss %.4f  accuracy 0.6667  3 samples\n", loss);
  for (const char* const labels : {"sparse", "onehot"}) {
    for (const char* const batch : {"1", "2", "128"}) {
      CHECK_THAT(runs.Succeeds(On(labels, {"--batch", batch})), Catch::Matchers::EndsWith(expected));
      CHECK(runs.Succeeds(On(labels, {"--batch", batch, "--quiet"})) == expected);
    }
  }
  const nlohmann::json json = nlohmann::json::parse(runs.Succeeds(On("sparse", {"--json"})));
  CHECK(json["samples"] == 3);
  CHECK(std::fabs(json["loss"].get<double>() - loss) < 1e-6);
  CHECK(std::fabs(json["accuracy"].get<double>() - 2.0 / 3) < 1e-12);
}

TEST_CASE("targets that are no classes have errors in the place of an accuracy") {
  const Runs runs;
  runs.WriteModel("model.onnx", R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[n,2] x) => (float[n,1] y) <float[2,1] w = {1, 1}> { y = MatMul (x, w) })");
  runs.folder().Write("data.npz", *NpzBytes({{"x", Tensor::Of<float>(DType::kFloat32, {2, 2}, {1, 1, 2, 2})},
                                             {"y", Tensor::Of<float>(DType::kFloat32, {2}, {3, 6})}}));
  CHECK_THAT(runs.Succeeds(On("y")), Contains("loss 2.5000  mean absolute error 1.5000  2 samples\n"));
}

TEST_CASE("a model with a fixed batch is given that many samples") {
  const Runs runs;
  WriteClassifier(runs);
  const std::string text(kClassifier);
  const auto with_batch = [&](const std::string& n) {
    return std::string(text).replace(text.find("[n,2] x"), 2, "[" + n);
  };
  runs.WriteModel("one.onnx", with_batch("1"));
  runs.WriteModel("two.onnx", with_batch("2"));
  CHECK_THAT(runs.Succeeds(On("sparse"), "@one.onnx"), Contains("accuracy 0.6667  3 samples\n"));
  runs.Fails(On("sparse"), 2, "expected a multiple of 2 samples, as its batch is fixed, found 3", "@two.onnx");
}

TEST_CASE("probabilities that are not a Softmax's have an accuracy, and it is said why no loss") {
  const Runs runs;
  WriteClassifier(runs);
  runs.WriteModel("model.onnx", R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[n,2] x) => (float[n,2] p) { p = Sigmoid (x) })");
  const ToolOutput output = runs.Run(On("sparse"));
  CHECK_THAT(output.out, Contains("\naccuracy 0.6667  3 samples\n"));
  CHECK_THAT(output.err, Contains("amp-run: note: no loss"));
}

TEST_CASE("labels 0 and 1 of a Sigmoid's one number have an accuracy, and the loss of two classes") {
  const Runs runs;
  // Logits 2, -1 and 3, then a float16 Sigmoid as a rewrite makes it.
  runs.WriteModel("model.onnx", R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[n,2] x) => (float[n] p) <float[2,1] w = {1, -1}, int64[1] one = {1}> {
      h = MatMul (x, w)
      low = Cast <to = 10> (h)
      q = Sigmoid (low)
      r = Cast <to = 1> (q)
      p = Squeeze (r, one)
    })");
  runs.folder().Write("data.npz", *NpzBytes({{"x", Tensor::Of<float>(DType::kFloat32, {3, 2}, {2, 0, 0, 1, 3, 0})},
                                             {"y", Tensor::Of<int64_t>(DType::kInt64, {3}, {1, 0, 0})},
                                             {"z", Tensor::Of<float>(DType::kFloat32, {3}, {1, 0, 0.5F})}}));
  const double loss = (std::log1p(std::exp(-2)) + std::log1p(std::exp(-1)) + std::log1p(std::exp(3))) / 3;
  const nlohmann::json json = nlohmann::json::parse(runs.Succeeds(On("y", {"--json"})));
  CHECK(std::fabs(json["loss"].get<double>() - loss) < 1e-3);
  CHECK(std::fabs(json["accuracy"].get<double>() - 2.0 / 3) < 1e-12);
  CHECK_THAT(runs.Succeeds(On("z")), Contains("mean absolute error"));  // no classes
}

TEST_CASE("of several outputs the one that has the labels' name is judged") {
  const Runs runs;
  WriteClassifier(runs);
  runs.WriteModel("model.onnx", R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[n,2] x) => (float[n,2] scores, float[n,2] p) <float[2,2] w = {1, 0, 0, 1}> {
      scores = MatMul (x, w)
      h = Neg (scores)
      p = Softmax <axis = -1> (h)
    })");
  CHECK_THAT(runs.Succeeds({"--evaluate", "x=@data.npz:x", "--evaluate", "scores=@data.npz:sparse"}),
             Contains("accuracy 0.6667  3 samples\n"));
  CHECK_THAT(runs.Succeeds({"--evaluate", "x=@data.npz:x", "--evaluate", "p=@data.npz:sparse"}),
             Contains("accuracy 0.3333  3 samples\n"));
  runs.Fails(On("sparse"), 2,
             "--evaluate: expected labels under the name of the output that they judge, found outputs 'scores', 'p'");
}

TEST_CASE("data that do not fit an evaluation are one line") {
  const Runs runs;
  WriteClassifier(runs);
  runs.Fails({"--evaluate", "x=@data.npz:x"}, 2, "one of labels under another name, found no other name");
  runs.Fails(On("sparse", {"--evaluate", "z=@data.npz:x"}), 2, "found 'labels', 'z'");
  runs.Fails({"--evaluate", "labels=@data.npz:sparse"}, 2, "--evaluate: expected x=FILE");
  runs.Fails(On("sparse", {"--inputs", "@data.npz"}), 2,
             "--evaluate runs the model on its own data, and excludes --inputs");
  runs.Fails({"--inputs", "@data.npz", "--batch", "4"}, 2, "--batch is for --evaluate, which is not there");
  runs.folder().Write("data.npz", *NpzBytes({{"x", Tensor::Of<float>(DType::kFloat32, {1, 2}, {2, 0})},
                                             {"sparse", Tensor::Of<int64_t>(DType::kInt64, {1}, {2})}}));
  runs.Fails(On("sparse"), 2, "row 0: expected a class from 0 to 1, found 2");
}

}  // namespace
}  // namespace amp
