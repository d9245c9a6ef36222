// What inference makes of shapes that a graph computes.
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
                    " x, float[M, 36] z, int64[3] i) => (float[a, b, c] y) {" + nodes + "}");
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

TEST_CASE("GroupNormalization in small operators keeps the shape of its operand") {
  CHECK(Inferred(R"(
    groups = Constant <value = int64[3] {0, 2, -1}> ()  split = Reshape (x, groups)
    normal = MeanVarianceNormalization <axes = [2]> (split)  s = Shape (x)  y = Reshape (normal, s)
  )") == "float32[N,4,9]");
}

}  // namespace
}  // namespace amp
