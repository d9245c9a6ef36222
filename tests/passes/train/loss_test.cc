// Where a loss is attached. Its numbers are tests/judge/train/gradient_models.py's.
#include "passes/train/loss.h"

#include "absl/strings/str_cat.h"
#include "ir/graph/infer.h"
#include "ir/graph/shape.h"
#include "tests/catch2.h"
#include "tests/model_from_text.h"

namespace amp {
namespace {

constexpr char kHead[] = R"(<ir_version: 8, opset_import: ["" : 17]> )";

LossOptions Named(const std::string& logits, const std::string& labels = "labels") {
  LossOptions options;
  options.logits = logits;
  options.labels = labels;
  return options;
}
LossOptions OneHot() {
  LossOptions options;
  options.label_kind = LabelKind::kOneHot;
  return options;
}
LossOptions OfGraph(const std::string& name) {
  LossOptions options;
  options.kind = LossKind::kGraph;
  options.graph_loss = name;
  return options;
}

struct Attached {
  std::unique_ptr<Model> model;
  absl::StatusOr<Loss> loss;
  std::string logits() const { return model->value(loss->logits).name; }
  std::string labels() const { return TypeText(*model, loss->labels); }
  std::string error() const { return std::string(loss.status().message()); }
};

Attached Attach(const std::string& text, const LossOptions& options = {}) {
  Attached made{GraphFromText(kHead + text), absl::UnknownError("")};
  InferTypes(*made.model);
  made.loss = AddLoss(*made.model, options);
  made.model->CheckConsistency();
  return made;
}

TEST_CASE("logits without a softmax are the model's output") {
  const Attached made = Attach("g (float[N, 4] x) => (float[N, 4] y) { y = Neg (x) }");
  REQUIRE(made.loss.ok());
  CHECK(made.logits() == "y");
  CHECK(made.labels() == "int64[N]");
  CHECK(TypeText(*made.model, made.loss->loss) == "float32[]");
}

TEST_CASE("a softmax at the end is not read, nor what follows it without doing anything") {
  for (const char* tail : {"y = Softmax (z)", "y = LogSoftmax <axis = 1> (z)", "p = Softmax (z) y = Identity (p)",
                           "p = Softmax (z) q = Cast <to = 1> (p) y = Identity (q)"}) {
    INFO(tail);
    const Attached made = Attach(std::string("g (float[N, 4] x) => (float[N, 4] y) { z = Neg (x) ") + tail + " }");
    REQUIRE(made.loss.ok());
    CHECK(made.logits() == "z");
    CHECK(made.labels() == "int64[N]");
  }
}

TEST_CASE("a softmax with a Reshape behind it is taken off, and the logits get the shape of the output") {
  const Attached made = Attach(R"(g (float[8, 1, 4] x) => (float[8, 4] y) {
    z = Neg (x)  p = Softmax (z)  s = Constant <value = int64[2] {8, 4}> ()  y = Reshape (p, s)
  })");
  REQUIRE(made.loss.ok());
  CHECK(made.labels() == "int64[8]");
  const NodeId reshape = made.model->value(made.loss->logits).producer;
  REQUIRE(reshape != kNone);
  CHECK(made.model->value(made.model->node(reshape).Input(0)).name == "z");
}

TEST_CASE("a Reshape that takes the classes apart is refused") {
  const Attached made = Attach(R"(g (float[8, 4] x) => (float[8, 2, 2] y) {
    [p] p = Softmax (x)  s = Constant <value = int64[3] {8, 2, 2}> ()  y = Reshape (p, s)
  })");
  CHECK(
      made.error() ==
      "node 'p': its classes are not along the last axis of 'y' any more, behind a change of shape; expected --logits "
      "to name the logits themselves");
}

TEST_CASE("a softmax inside the model is not taken for its end") {
  const Attached made = Attach(R"(g (float[N, 4] x) => (float[N, 4] y) { p = Softmax (x)  y = Mul (p, x) })");
  REQUIRE(made.loss.ok());
  CHECK(made.logits() == "y");
}

TEST_CASE("classes along another axis than the last") {
  const Attached sparse = Attach("g (float[N, 4, 6] x) => (float[N, 4, 6] y) { y = Softmax <axis = 1> (x) }");
  REQUIRE(sparse.loss.ok());
  CHECK(sparse.labels() == "int64[N,6]");
  const Attached one_hot =
      Attach("g (float[N, 4, 6] x) => (float[N, 4, 6] y) { y = Softmax <axis = 1> (x) }", OneHot());
  REQUIRE(one_hot.loss.ok());
  CHECK(one_hot.labels() == "float32[N,4,6]");
}

TEST_CASE("the softmax of one class is always 1: there is nothing to train, and it is said") {
  const char* const one = "g (float[N, 3] x) => (float[N, 1] y) { w = Constant <value = float[3, 1] {1, 2, 3}> () ";
  CHECK(Attach(absl::StrCat(one, "y = MatMul (x, w) }")).error() ==
        "'y' is float32[N,1]: the softmax cross-entropy of 1 class along axis 1 is constant; expected 2 or more, or "
        "another --loss");
  CHECK_THAT(Attach(absl::StrCat(one, "z = MatMul (x, w) y = Softmax (z) }"), OneHot()).error(),
             Catch::Matchers::Contains("of 1 class along axis 1"));
  CHECK_THAT(Attach("g (float[N, 1, 6] x) => (float[N, 1, 6] y) { y = Softmax <axis = 1> (x) }").error(),
             Catch::Matchers::Contains("of 1 class along axis 1"));
  CHECK(Attach("g (float[N, 1, 6] x) => (float[N, 1, 6] y) { y = Softmax (x) }").loss.ok());
  CHECK(Attach("g (float[N, C] x) => (float[N, C] y) { y = Softmax (x) }").loss.ok());
  LossOptions mse;
  mse.kind = LossKind::kMse;
  CHECK(Attach(absl::StrCat(one, "y = MatMul (x, w) }"), mse).loss.ok());
}

TEST_CASE("names that are not there, or taken, or ambiguous are said") {
  const std::string model = "g (float[N, 4] x) => (float[N, 4] y, float[N, 4] z) { y = Neg (x)  z = Abs (x) }";
  CHECK(Attach(model).error() ==
        "the model has 2 outputs ('y', 'z'): expected --logits to name the one that the labels are for");
  CHECK(Attach(model, Named("scores")).error() ==
        "--logits 'scores': expected the name of a tensor, found none called that; the outputs are 'y', 'z'");
  CHECK(Attach("g (float[N, 4] x) => (float[N, 4] y) { scores = Neg (x)  y = Abs (scores) }", Named("score")).error() ==
        "--logits 'score': expected the name of a tensor, found none called that; did you mean 'scores'?");
  CHECK(Attach("g (float[N, 4] x) => (float[N, 4] y) { [minus] s = Neg (x)  y = Abs (s) }", Named("minus")).error() ==
        "--logits 'minus': expected the name of a tensor, found that of a node (Neg); did you mean its output 's'?");
  CHECK(Attach(model, Named("y", "x")).error() == "--labels 'x': the model has this name already");
  CHECK(Attach(model, Named("z")).loss.ok());
  CHECK(Attach(model, OfGraph("y")).error() == "the loss 'y' is float32[N,4]; expected a float type and one element");
}

TEST_CASE("what is unknown of a prediction is named, and where that begins") {
  const std::string expected = "; expected a float type and a known rank of 2 or more of what a loss is to be of";
  CHECK(Attach("g (float[N, 4] x, int64[k] s) => (float y) { [turn] z = Reshape (x, s)  y = Relu (z) }").error() ==
        "'y' is float32, of unknown rank from node 'turn' (Reshape) on" + expected);
  CHECK(Attach("g (float[] x) => (float[] y) { y = Relu (x) }").error() ==
        "'y' is float32, of unknown rank from input 'x' on" + expected);
  CHECK(Attach("g (float[N] x) => (float[N] y) { y = Relu (x) }").error() == "'y' is float32[N]" + expected);
  CHECK(Attach("g (int64[N, 4] x) => (int64[N, 4] y) { y = Abs (x) }").error() == "'y' is int64[N,4]" + expected);
}

TEST_CASE("the loss may be a value of the model") {
  const Attached made = Attach("g (float[N, 4] x) => (float y) { y = ReduceSum <keepdims = 0> (x) }", OfGraph("y"));
  REQUIRE(made.loss.ok());
  CHECK(made.model->value(made.loss->loss).name == "y");
  CHECK(made.loss->labels == kNone);
}

}  // namespace
}  // namespace amp
