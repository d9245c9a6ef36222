#include "ir/graph/attributes.h"

#include "google/protobuf/arena.h"
#include "onnx/defs/parser.h"
#include "onnx/onnx_pb.h"
#include "tests/catch2.h"

namespace amp {
namespace {

std::unique_ptr<Model> Parse(const char* text) {
  auto arena = std::make_unique<google::protobuf::Arena>();
  auto* proto = google::protobuf::Arena::CreateMessage<onnx::ModelProto>(arena.get());
  const auto parsed = onnx::OnnxParser::Parse(*proto, text);
  INFO(parsed.ErrorMessage());
  REQUIRE(parsed.IsOK());
  auto model = Model::Create(std::move(arena), proto);
  REQUIRE(model.ok());
  return *std::move(model);
}

constexpr const char* kModel = R"(<ir_version: 8, opset_import: ["" : 17, "custom" : 1]>
  g (float[2] x) => (float[2] y) {
    y = custom.Op <i = 7, f = 0.5, s = "text", is = [1, 2], fs = [0.5, 1.5], ss = ["a", "b"], to = 10, odd = 99,
                   t = float[2] {1, 2}> (x)
  })";

TEST_CASE("getters answer for attributes of their own kind only") {
  const auto model = Parse(kModel);
  const Node& node = model->node(NodeId(0));
  CHECK(GetInt(node, "i") == 7);
  CHECK(GetInt(node, "f") == std::nullopt);
  CHECK(GetInt(node, "none") == std::nullopt);
  CHECK(GetInt(node, "none", 3) == 3);
  CHECK(GetFloat(node, "f", 2.0f) == 0.5f);
  CHECK(GetFloat(node, "i", 2.0f) == 2.0f);
  CHECK(GetString(node, "s", "") == "text");
  CHECK(GetString(node, "i", "other") == "other");
  CHECK(GetInts(node, "is") == std::vector<int64_t>{1, 2});
  CHECK(GetInts(node, "i") == std::nullopt);
  CHECK(GetFloats(node, "fs") == std::vector<float>{0.5f, 1.5f});
  CHECK(GetStrings(node, "ss") == std::vector<std::string>{"a", "b"});
  CHECK(GetDType(node, "to") == DType::kFloat16);
  CHECK(GetDType(node, "odd") == std::nullopt);
  REQUIRE(GetTensor(node, "t") != nullptr);
  CHECK(GetTensor(node, "t")->float_data_size() == 2);
  CHECK(GetTensor(node, "s") == nullptr);
  CHECK(HasAttribute(node, "s"));
  CHECK_FALSE(HasAttribute(node, "none"));
  CHECK_FALSE(model->edited());
}

TEST_CASE("a reference to a function's attribute has no value of its own") {
  const auto model = Parse(kModel);
  onnx::AttributeProto* attribute = model->EditProto(NodeId(0)).add_attribute();
  attribute->set_name("ref");
  attribute->set_ref_attr_name("outer");
  attribute->set_type(onnx::AttributeProto::INT);
  CHECK(HasAttribute(model->node(NodeId(0)), "ref"));
  CHECK(GetInt(model->node(NodeId(0)), "ref") == std::nullopt);
}

TEST_CASE("setters replace whatever was there and keep its place") {
  const auto model = Parse(kModel);
  const int count = model->node(NodeId(0)).proto->attribute_size();
  SetInts(*model, NodeId(0), "i", {4, 5});
  CHECK(model->edited());
  CHECK(model->node(NodeId(0)).proto->attribute(0).name() == "i");
  CHECK(GetInts(model->node(NodeId(0)), "i") == std::vector<int64_t>{4, 5});
  CHECK(GetInt(model->node(NodeId(0)), "i") == std::nullopt);
  CHECK(model->node(NodeId(0)).proto->attribute_size() == count);
  SetDType(*model, NodeId(0), "to", DType::kBfloat16);
  CHECK(GetInt(model->node(NodeId(0)), "to") == 16);
  SetString(*model, NodeId(0), "new", "value");
  CHECK(GetString(model->node(NodeId(0)), "new", "") == "value");
  CHECK(model->node(NodeId(0)).proto->attribute_size() == count + 1);
}

TEST_CASE("an attribute may be set from its own old value") {
  const auto model = Parse(kModel);
  SetTensor(*model, NodeId(0), "t", *GetTensor(model->node(NodeId(0)), "t"));
  CHECK(GetTensor(model->node(NodeId(0)), "t")->float_data_size() == 2);
  const onnx::AttributeProto& s = model->node(NodeId(0)).proto->attribute(2);
  SetString(*model, NodeId(0), s.name(), s.s());
  CHECK(GetString(model->node(NodeId(0)), "s", "") == "text");
}

TEST_CASE("removing says whether there was one") {
  const auto model = Parse(kModel);
  CHECK_FALSE(RemoveAttribute(*model, NodeId(0), "none"));
  CHECK_FALSE(model->edited());
  CHECK(RemoveAttribute(*model, NodeId(0), "s"));
  CHECK_FALSE(HasAttribute(model->node(NodeId(0)), "s"));
  CHECK(GetInt(model->node(NodeId(0)), "i") == 7);
}

}  // namespace
}  // namespace amp
