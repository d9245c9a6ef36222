// Inference of shapes that a graph computes.
#include "ir/graph/infer.h"

#include "ir/graph/shape.h"
#include "tests/catch2.h"
#include "tests/model_from_text.h"

namespace amp {
namespace {

// The type of y.
std::string Inferred(const std::string& nodes, const std::string& operand = "float[N, 4, 9]") {
  const std::unique_ptr<Model> model =
      GraphFromText(R"(<ir_version: 10, opset_import: ["" : 21]> g ()" + operand +
                    " x, float[M, 36] z, int64[3] i, int64 k) => (float[a, b, c] y) {" + nodes + "}");
  InferTypes(*model);
  return TypeText(*model, model->graph(kMainGraph).outputs.front());
}

TEST_CASE("what has the shape of a value by Shape has it in inference, too") {
  CHECK(Inferred("s = Shape (x)  y = Reshape (z, s)") == "float32[N,4,9]");
  CHECK(Inferred("s = Shape (x)  y = Expand (x, s)") == "float32[N,4,9]");
  CHECK(Inferred("s = Shape (x)  y = ConstantOfShape (s)") == "float32[N,4,9]");
  CHECK(Inferred("s = Shape (x)  y = Reshape (z, s)", "float[2, 4, 9]") == "float32[2,4,9]");
}

TEST_CASE("a part of a shape, or a computed one, is not taken for the whole") {
  CHECK(Inferred("s = Shape <start = 1> (x)  y = Reshape (z, s)") == "float32[?,?]");
  CHECK(Inferred("s = Shape <end = 2> (x)  y = Reshape (z, s)") == "float32[?,?]");
  CHECK(Inferred("s = Size (x)  y = ConstantOfShape (s)") == "float32[a,b,c]");  // as the graph says
  CHECK(Inferred("s = Shape (x)  t = Mul (s, i)  y = Reshape (z, t)") == "float32[?,?,?]");
}

TEST_CASE("a split by the scalar 1 drops its axis where keepdims is 0, which ONNX's inference does not know") {
  const auto element = [](const std::string& split) {
    return Inferred(
        "p = Constant <value = int64 {0}> ()  one = Constant <value = int64 {1}> ()  "
        "ones = Constant <value = int64[4] {1, 1, 1, 1}> ()  s = SplitToSequence " +
        split + "  e = SequenceAt (s, p)  y = Identity (e)");
  };
  CHECK(element("<axis = 1, keepdims = 0> (x, one)") == "float32[N,9]");
  CHECK(element("<axis = 1, keepdims = 0> (x)") == "float32[N,9]");
  CHECK(element("<axis = 1, keepdims = 0> (x, ones)") == "float32[N,1,9]");
  CHECK(element("<axis = 1> (x, one)") == "float32[N,1,9]");
  CHECK(element("<axis = 1, keepdims = 0> (x, k)") == "float32");
}

TEST_CASE("GroupNormalization in small operators keeps the shape of its operand") {
  CHECK(Inferred(R"(
    groups = Constant <value = int64[3] {0, 2, -1}> ()  split = Reshape (x, groups)
    normal = MeanVarianceNormalization <axes = [2]> (split)  s = Shape (x)  y = Reshape (normal, s)
  )") == "float32[N,4,9]");
}

}  // namespace
}  // namespace amp
