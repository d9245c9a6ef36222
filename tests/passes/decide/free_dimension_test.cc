// Dimensions of inputs that become symbolic: what follows them, what is edited, which node refuses.
#include "passes/decide/free_dimension.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "ir/graph/infer.h"
#include "ir/graph/shape.h"
#include "tests/catch2.h"
#include "tests/model_from_text.h"

namespace amp {
namespace {

struct Freed {
  std::string error;
  std::unique_ptr<Model> model;

  std::string Type(const std::string& name) const { return TypeText(*model, model->graph(kMainGraph).names.at(name)); }
};

Freed Free(const std::string& graph, const std::vector<FreedDimension>& dimensions, int opset = 17) {
  Freed freed;
  freed.model = GraphFromText(absl::StrCat("<ir_version: 8, opset_import: [\"\" : ", opset, "]> g ", graph));
  InferTypes(*freed.model);
  const absl::Status status = FreeDimensions(*freed.model, dimensions);
  freed.error = std::string(status.message());
  if (status.ok()) freed.model->Commit();
  return freed;
}

Freed FreeX(const std::string& graph, int opset = 17) { return Free(graph, {{"x", 0, "batch"}}, opset); }

std::string StatedOutput(const Freed& freed) {
  const auto& dim = freed.model->proto().graph().output(0).type().tensor_type().shape().dim(0);
  return dim.has_dim_param() ? dim.dim_param() : dim.has_dim_value() ? absl::StrCat(dim.dim_value()) : "?";
}

TEST_CASE("samples are followed through products, reshapes and reductions of other axes") {
  const Freed freed = FreeX(R"((float[1,3,4,4] x) => (float[1,2] y)
      <float[6,3,1,1] w = {1,2,3,4,5,6,7,8,9,1,2,3,4,5,6,7,8,9}, int64[2] s = {1, 96}, float[2] b = {1, 2}> {
    [conv] a = Conv (x, w)
    [flat] c = Reshape (a, s)
    [mean] m = ReduceMean <axes = [1]> (c)
    [sum] y = Add (m, b)
  })");
  CHECK(freed.error.empty());
  CHECK(freed.Type("c") == "float32[batch,96]");
  CHECK(StatedOutput(freed) == "batch");
}

TEST_CASE("a block of rows for each sample is followed, and its shape left to the rest") {
  const Freed freed = FreeX(R"((float[1,4,6] x) => (float[1,4,2] y)
      <float[6,2] w = {1,2,3,4,5,6,7,8,9,1,2,3}, int64[2] rows = {4, 6}, int64[3] back = {1, 4, 2}> {
    [rows] a = Reshape (x, rows)
    [mm] b = MatMul (a, w)
    [back] y = Reshape (b, back)
  })");
  CHECK(freed.error.empty());
  CHECK(StatedOutput(freed) == "batch");
}

TEST_CASE("samples behind the first axis: a recurrence, and its first state of zeros, which goes") {
  const Freed freed = Free(R"((float[5,1,2] x) => (float[5,1,1,1] y)
      <float[1,4,2] w = {1,2,3,4,5,6,7,8}, float[1,4,1] r = {1,2,3,4}, float[1,1,1] h = {0}> {
    [lstm] y = LSTM <hidden_size = 1> (x, w, r, , , h, h)
  })",
                           {{"x", 1, "n"}});
  CHECK(freed.error.empty());
  CHECK(freed.Type("y") == "float32[5,1,n,1]");
  CHECK(Free(R"((float[5,1,2] x) => (float[5,1,1,1] y)
      <float[1,4,2] w = {1,2,3,4,5,6,7,8}, float[1,4,1] r = {1,2,3,4}, float[1,1,1] h = {3}> {
    [lstm] y = LSTM <hidden_size = 1> (x, w, r, , , h, h)
  })",
             {{"x", 1, "n"}})
            .error == "--dim x:1=n: node 'lstm' (LSTM) reads 'h', which has an element for each sample");
}

TEST_CASE("two inputs of one symbol are freed together, and not without each other") {
  const std::string graph = "(float[1,2] x, float[1,2] z) => (float[1,2] y) { [add] y = Add (x, z) }";
  CHECK(Free(graph, {{"x", 0, "n"}, {"z", 0, "n"}}).error.empty());
  CHECK(Free(graph, {{"x", 0, "n"}}).error.empty());  // one z for all
  const std::string rows = "(float[4,2] x, float[4,2] z) => (float[4,2] y) { [add] y = Add (x, z) }";
  CHECK(Free(rows, {{"x", 0, "n"}, {"z", 0, "n"}}).error.empty());
  CHECK(Free(rows, {{"x", 0, "n"}}).error ==
        "--dim x:0=n: node 'add' (Add) reads 'z', which is float32[4,2] and has an element for each sample");
}

TEST_CASE("a batch that is part of what is computed stays, and the node is named") {
  const std::pair<const char*, const char*> kCases[] = {
      {"(float[1,2] x) => (float[2] y) { [sum] y = ReduceSum <keepdims = 0> (x, a) }",
       "node 'sum' (ReduceSum) reduces along the samples"},
      {"(float[1,2] x) => (float[1,2] y) { [soft] y = Softmax <axis = 0> (x) }",
       "node 'soft' (Softmax) works along the samples"},
      {"(float[1,2] x) => (float[2,2] y) { [gram] t = Transpose (x) [mm] y = MatMul (t, x) }",
       "node 'mm' (MatMul) adds products of all samples up"},
      {"(float[1,2] x) => (float[2,2] y) { [join] y = Concat <axis = 0> (x, x) }",
       "node 'join' (Concat) joins along the samples"},
      {"(float[1,2] x) => (float[2] y) { [squeeze] y = Squeeze (x) }",
       "node 'squeeze' (Squeeze) removes whatever dimension is 1"},
      {"(float[1,2] x) => (float[2] y) { [part] y = Gather <axis = 0> (x, i) }",
       "node 'part' (Gather) takes a part of the samples"},
      {"(float[1,2] x) => (int64[2] y) { [shape] y = Shape (x) }",
       "node 'shape' (Shape) reads how many samples there are"},
      {"(float[1,6] x) => (float[6] y) { [mix] t = Transpose (x) [flat] y = Reshape (t, six) }",
       "node 'flat' (Reshape) mixes samples with what is in front of them"},
  };
  for (const auto& [graph, why] : kCases) {
    std::string text = graph;
    const std::string constants = " <int64[1] a = {0}, int64 i = {0}, int64[1] six = {6}> {";
    text.replace(text.find(" {"), 2, constants);
    INFO(text);
    CHECK(FreeX(text).error == absl::StrCat("--dim x:0=batch: ", why));
  }
}

TEST_CASE("a dimension that is none, or free already, is the caller's mistake") {
  const std::string graph = "(float[1,T] x) => (float[1,T] y) { y = Relu (x) }";
  CHECK(Free(graph, {{"z", 0, "n"}}).error == "--dim z:0=n: the model has no such input; it has 'x'");
  CHECK(Free(graph, {{"x", 2, "n"}}).error == "--dim x:2=n: 'x' is float32[1,T] and has no axis 2");
  CHECK(Free(graph, {{"x", 1, "n"}}).error == "--dim x:1=n: 'x' is float32[1,T]: axis 1 has no fixed size already");
  CHECK(Free(graph, {{"x", 0, "T"}}).error ==
        "--dim x:0=T: another dimension has this name already; expected a new one");
}

TEST_CASE("values that an If reads inside are not followed there") {
  const Freed freed = FreeX(R"((float[1,2] x, bool c) => (float[1,2] y) {
    [if] y = If (c) <then_branch = t () => (float[1,2] a) { [in] a = Relu (x) },
                     else_branch = e () => (float[1,2] b) { b = Neg (x) }>
  })");
  CHECK(freed.error == "--dim x:0=batch: node 'if' (If) reads samples in a body");
}

TEST_CASE("for training all inputs with a first dimension of 1 are freed, or the first alone, or a node says why not") {
  const auto freed_batch = [](const std::string& graph) {
    auto model = GraphFromText(absl::StrCat("<ir_version: 8, opset_import: [\"\" : 17]> g ", graph));
    InferTypes(*model);
    return FreeBatch(*model);
  };
  CHECK(freed_batch("(float[1,2] x, float[1,2] z) => (float[1,2] y) { y = Add (x, z) }").sentence ==
        "the first dimension of 'x', 'z' is 'batch' now");
  CHECK(freed_batch("(float[1,2] x, float[1] z) => (float[1,2] y) { y = Add (x, z) }").sentence ==
        "the first dimension of 'x' is 'batch' now");
  CHECK(freed_batch("(float[N,2] x) => (float[N,2] y) { y = Relu (x) }").sentence.empty());
  const FreedBatch kept = freed_batch("(float[1,2] x) => (float[1,2] y) { [cum] y = Softmax <axis = 0> (x) }");
  CHECK_FALSE(kept.is_free);
  CHECK(kept.sentence == "the first dimension of 'x' stays 1: node 'cum' (Softmax) works along the samples");
}

}  // namespace
}  // namespace amp
