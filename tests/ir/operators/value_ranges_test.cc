#include "ir/operators/value_ranges.h"

#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ir/graph/infer.h"
#include "tests/catch2.h"
#include "tests/model_from_text.h"

namespace amp {
namespace {

constexpr double kUnknown = std::numeric_limits<double>::infinity();

using Expected = std::vector<std::pair<std::string, Interval>>;

void CheckRanges(const std::string& body, const Expected& expected) {
  const auto model = GraphFromText(R"(<ir_version: 10, opset_import: ["" : 18]>
    g (float[4,3] x, float[4,3] z, bool[4,3] flags, uint8[4,3] bytes, int64[4,3] ids, int64[1] at) => (float[4,3] y)
    <float one = {1}, float two = {2}, float side = {640}, float near = {-100}, float far = {100}, float half = {0.5},
     float safe = {1e9}, float[3,3] camera = {10, 0, 0, 0, 20, 0, 5, 6, 1}> { )" +
                                   body + " y = Identity (x) }");
  InferTypes(*model);
  const std::vector<NodeId> order = model->NodesInOrder(kMainGraph);
  const IntegerBounds integers(*model, order);
  const ValueRanges ranges(*model, order, integers);
  for (const auto& [name, interval] : expected) {
    const Interval found = ranges.Of(model->graph(kMainGraph).names.at(name));
    INFO(name << ": " << found.low << " to " << found.high);
    CHECK(found == interval);
  }
}

TEST_CASE("ranges of functions that are bounded, and of what constants make of them") {
  CheckRanges(R"(p = Sigmoid (x)  t = Tanh (x)  s = Softmax (x)  l = LogSoftmax (x)  r = Relu (x)  b = Neg (r)
                 w = Mul (p, side)  c = Sub (one, p)  d = Div (t, half)  q = Mul (x, x)  a = Abs (t)  e = Exp (b)
                 f = Floor (w)  g = Sqrt (w)  n = ReduceMax <keepdims = 1> (w))",
              {{"p", {0, 1}},
               {"t", {-1, 1}},
               {"s", {0, 1}},
               {"l", {-kUnknown, 0}},
               {"r", {0, kUnknown}},
               {"b", {-kUnknown, 0}},
               {"w", {0, 640}},
               {"c", {0, 1}},
               {"d", {-2, 2}},
               {"q", {0, kUnknown}},
               {"a", {0, 1}},
               {"e", {0, 1}},
               {"f", {0, 640}},
               {"g", {0, std::sqrt(640)}},
               {"n", {0, 640}}});
}

TEST_CASE("ranges of what is chosen and moved") {
  CheckRanges(R"(c = Clip (x, near, far)  i = Clip (x, near, safe)  m = Min (x, half)  n = Max (c, half)
                 t = Tanh (x)  k = Concat <axis = 1> (c, t)  j = Concat <axis = 1> (x, t)  w = Where (flags, t, two)
                 v = Where (flags, t, safe)  o = Gather (camera, ids)  p = Transpose (t))",
              {{"c", {-100, 100}},
               {"i", {-100, kUnknown}},
               {"m", {-kUnknown, 0.5}},
               {"n", {0.5, 100}},
               {"k", {-100, 100}},
               {"j", {-kUnknown, kUnknown}},
               {"w", {-1, 2}},
               {"v", {-1, kUnknown}},
               {"o", {0, 20}},
               {"p", {-1, 1}}});
}

TEST_CASE("ranges of what was an integer: a byte may be a mask") {
  CheckRanges(R"(b = Cast <to = 1> (flags)  c = Cast <to = 1> (bytes)  d = Cast <to = 1> (ids))",
              {{"b", {0, 1}}, {"c", {-kUnknown, kUnknown}}, {"d", {-kUnknown, kUnknown}}});
}

TEST_CASE("ranges that few operands make are known, others not") {
  CheckRanges(R"(p = Sigmoid (x)  q = Sigmoid (z)  w = Mul (p, side)  h = Mul (q, side)  area = Mul (w, h)
                 c = Clip (x, near, far)  points = MatMul (c, camera)
                 more = Sum (p, q, p, q, p, q, p, q)  most = Sum (more, p)
                 any = Mul (p, x)  share = Div (p, q)  mean = ReduceMean (p))",
              {{"area", {0, 409600}},
               {"points", {-2600, 2600}},
               {"more", {0, 8}},
               {"most", {-kUnknown, kUnknown}},
               {"any", {-kUnknown, kUnknown}},
               {"share", {-kUnknown, kUnknown}},
               {"mean", {-kUnknown, kUnknown}}});
}

TEST_CASE("a constant whose input leaves its dimensions open is read by none of them") {
  const auto model = GraphFromText(R"(<ir_version: 3, opset_import: ["" : 11]>
    g (float[4,3] x, float[3,N] w, float[M,3] v) => (float[4,3] y, float[4,3] z)
    <float[3,3] w = {1, 0, 0, 0, 1, 0, 0, 0, 1}, float[3,3] v = {1, 0, 0, 0, 1, 0, 0, 0, 1}>
    { t = Tanh (x)  y = MatMul (t, w)  z = MatMul (t, v) })");
  InferTypes(*model);
  const std::vector<NodeId> order = model->NodesInOrder(kMainGraph);
  const IntegerBounds integers(*model, order);
  const ValueRanges ranges(*model, order, integers);
  CHECK(ranges.Of(model->graph(kMainGraph).names.at("y")) == Interval());
  CHECK(ranges.Of(model->graph(kMainGraph).names.at("z")) == Interval());
}

}  // namespace
}  // namespace amp
