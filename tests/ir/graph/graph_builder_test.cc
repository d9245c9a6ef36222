#include "ir/graph/graph.h"
#include "tests/catch2.h"
#include "tests/model_from_text.h"

namespace amp {
namespace {

TEST_CASE("a call of a function whose domain has a long name is known as a call") {
  const auto model = GraphFromText(R"(
    <ir_version: 9, opset_import: ["" : 17, "example.domain.with.a.long.name" : 1]>
    g (float[4] x) => (float[4] y) { y = example.domain.with.a.long.name.Twice (x) }
    <domain: "example.domain.with.a.long.name", opset_import: ["" : 17]>
    Twice (a) => (b) { b = Add (a, a) })");
  CHECK(model->IsCallOfFunction(NodeId(0)));
}

}  // namespace
}  // namespace amp
