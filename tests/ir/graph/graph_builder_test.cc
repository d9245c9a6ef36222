#include <memory>
#include <string>
#include <utility>

#include "absl/strings/match.h"
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

// Rules read the elements of a constant by the shape that it has.
TEST_CASE("an initializer has the shape that the input of its name declares, or the file is refused") {
  const auto status_of = [](const std::string& declared) {
    auto arena = std::make_unique<google::protobuf::Arena>();
    auto* proto = google::protobuf::Arena::CreateMessage<onnx::ModelProto>(arena.get());
    *proto = ModelFromText("<ir_version: 3, opset_import: [\"\" : 11]> g (float[4,3] x, " + declared + R"( w)
                            => (float[4,3] y) <float[3,3] w = {1, 2, 3, 4, 5, 6, 7, 8, 9}> { y = MatMul (x, w) })");
    return Model::Create(std::move(arena), proto).status();
  };
  CHECK(status_of("float[3,3]").ok());
  CHECK(status_of("float[3,N]").ok());
  const absl::Status status = status_of("float[8,3]");
  CHECK(status.code() == absl::StatusCode::kDataLoss);
  CHECK(absl::StrContains(status.message(),
                          "initializer 'w': expected float32[8,3] as the input of its name declares, "
                          "found float32[3,3]"));
}

}  // namespace
}  // namespace amp
