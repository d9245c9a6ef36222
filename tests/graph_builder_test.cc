#include <google/protobuf/arena.h>

#include "ir/graph.h"
#include "ir/text.h"
#include "onnx/onnx_pb.h"
#include "tests/catch2.h"

namespace amp {
namespace {

TEST_CASE("a call of a function whose domain has a long name is known as a call") {
  const std::string text = R"(
    <ir_version: 9, opset_import: ["" : 17, "example.domain.with.a.long.name" : 1]>
    g (float[4] x) => (float[4] y) { y = example.domain.with.a.long.name.Twice (x) }
    <domain: "example.domain.with.a.long.name", opset_import: ["" : 17]>
    Twice (a) => (b) { b = Add (a, a) })";
  const absl::StatusOr<std::string> bytes = ParseOnnxText(text);
  REQUIRE(bytes.ok());
  auto arena = std::make_unique<google::protobuf::Arena>();
  auto* proto = google::protobuf::Arena::CreateMessage<onnx::ModelProto>(arena.get());
  REQUIRE(proto->ParseFromString(*bytes));
  const auto model = Model::Create(std::move(arena), proto);
  REQUIRE(model.ok());
  CHECK((*model)->IsCallOfFunction(0));
}

}  // namespace
}  // namespace amp
