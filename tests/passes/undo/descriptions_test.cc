// Descriptions of tensors, nodes and values (doc strings, metadata) survive a rewrite, and taking it back.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "tests/catch2.h"
#include "tests/passes/undo/undo_folder.h"

namespace amp {
namespace {

template <typename Message>
void Describe(Message& message, const std::string& what) {
  message.set_doc_string(absl::StrCat("about ", what));
  auto* entry = message.add_metadata_props();
  entry->set_key("origin");
  entry->set_value(what);
}

// Returns the description of a message, or "" where it has none.
template <typename Message>
std::string Said(const Message& message) {
  std::string text = message.doc_string();
  for (const auto& entry : message.metadata_props()) absl::StrAppend(&text, ", ", entry.key(), "=", entry.value());
  return text;
}
const char* const kOfNothing = "";
std::string About(const std::string& what) { return absl::StrCat("about ", what, ", origin=", what); }

const onnx::TensorProto& Weight(const onnx::ModelProto& model, const std::string& name) {
  for (const auto& tensor : model.graph().initializer()) {
    if (tensor.name() == name) return tensor;
  }
  FAIL("no initializer " << name);
  return onnx::TensorProto::default_instance();
}

const onnx::NodeProto& Producer(const onnx::ModelProto& model, const std::string& output) {
  for (const auto& node : model.graph().node()) {
    if (node.output(0) == output) return node;
  }
  FAIL("nobody gives " << output);
  return onnx::NodeProto::default_instance();
}

// A field that this program does not know.
constexpr int kUnknownField = 4242;

struct Described : Undo {
  onnx::ModelProto model;

  explicit Described(absl::string_view text) : Undo(text), model(Model("in.onnx")) {
    for (auto& tensor : *model.mutable_graph()->mutable_initializer()) {
      Describe(tensor, tensor.name());
      tensor.mutable_unknown_fields()->AddVarint(kUnknownField, 7);
    }
    for (auto& node : *model.mutable_graph()->mutable_node()) {
      Describe(node, absl::StrCat("the maker of ", node.output(0)));
      for (auto& attribute : *node.mutable_attribute()) {
        attribute.set_doc_string(absl::StrCat("about an attribute of ", node.output(0)));
        if (!attribute.has_t()) continue;
        attribute.mutable_t()->set_name(absl::StrCat("tensor of ", node.output(0)));
        Describe(*attribute.mutable_t(), node.output(0));
        attribute.mutable_t()->mutable_unknown_fields()->AddVarint(kUnknownField, 7);
      }
    }
    for (auto& info : *model.mutable_graph()->mutable_value_info()) Describe(info, info.name());
  }
  onnx::ModelProto Rewritten(const std::vector<std::string>& flags = {}) {
    folder.Write("in.onnx", model.SerializeAsString());
    Rewrite(flags);
    return Model("low.onnx");
  }
  onnx::ModelProto TakenBack() const {
    REQUIRE(TakeBack().exit_code == 0);
    return Model("back.onnx");
  }
};

bool KnowsField(const onnx::TensorProto& tensor) {
  return tensor.unknown_fields().field_count() == 1 && tensor.unknown_fields().field(0).number() == kUnknownField;
}

// `w` becomes low, and `k` too beside its original, which Exp reads.
constexpr absl::string_view kWeights = R"(<ir_version: 10, opset_import: ["" : 17]>
  g (float[2,2] x) => (float[2,2] y, float[2,2] z) <float[2,2] w = {1, 2, 3, 4}, float[2,2] k = {1, 2, 3, 4}> {
    a = MatMul (x, w)
    y = MatMul (a, k)
    z = Exp (k)
  })";

TEST_CASE("a weight that stays keeps its description, and its low copy has none") {
  const onnx::ModelProto low = Described(kWeights).Rewritten();
  CHECK(Weight(low, "k").data_type() == onnx::TensorProto::FLOAT);
  CHECK(Said(Weight(low, "k")) == About("k"));
  CHECK(Said(Weight(low, "k_float16")) == kOfNothing);
}

TEST_CASE("a converted initializer keeps its description, there and back") {
  for (const char* type : {"float16", "bfloat16"}) {
    Described described(kWeights);
    const onnx::ModelProto low = described.Rewritten({"--dtype", type});
    CHECK(Weight(low, "w").data_type() != onnx::TensorProto::FLOAT);
    const onnx::ModelProto back = described.TakenBack();
    CHECK(Weight(back, "w").data_type() == onnx::TensorProto::FLOAT);
    for (const onnx::ModelProto* model : {&low, &back}) {
      CHECK(Said(Weight(*model, "w")) == About("w"));
      CHECK(KnowsField(Weight(*model, "w")));
    }
  }
}

TEST_CASE("a converted initializer in external data keeps its description, there and back") {
  Described described(R"(<ir_version: 10, opset_import: ["" : 17]>
    g (float[16,64] x) => (float[16,32] y) { y = MatMul (x, w) })");
  auto* tensor = described.model.mutable_graph()->add_initializer();
  tensor->set_name("w");
  tensor->set_data_type(onnx::TensorProto::FLOAT);
  tensor->add_dims(64);
  tensor->add_dims(32);
  described.folder.Write("w.data", std::string(64 * 32 * sizeof(float), '\0'));
  tensor->set_data_location(onnx::TensorProto::EXTERNAL);
  auto* location = tensor->add_external_data();
  location->set_key("location");
  location->set_value("w.data");
  Describe(*tensor, "w");
  const onnx::ModelProto low = described.Rewritten();
  CHECK(Weight(low, "w").data_location() == onnx::TensorProto::EXTERNAL);
  CHECK(Said(Weight(low, "w")) == About("w"));
  CHECK(Said(Weight(described.TakenBack(), "w")) == About("w"));
}

TEST_CASE("tensors in attributes keep their names and descriptions, there and back") {
  Described described(R"(<ir_version: 10, opset_import: ["" : 17]>
    g (float[2,2] x, int64[2] s) => (float[2,2] y) {
      w = Constant <value = float[2,2] {1, 2, 3, 4}> ()
      f = ConstantOfShape <value = float[1] {2}> (s)
      a = MatMul (x, w)
      y = MatMul (a, f)
    })");
  const onnx::ModelProto low = described.Rewritten();
  const onnx::ModelProto back = described.TakenBack();
  for (const std::string name : {"w", "f"}) {
    CHECK(Producer(low, name).attribute(0).t().data_type() == onnx::TensorProto::FLOAT16);
    CHECK(Producer(back, name).attribute(0).t().data_type() == onnx::TensorProto::FLOAT);
    for (const onnx::ModelProto* model : {&low, &back}) {
      const onnx::TensorProto& tensor = Producer(*model, name).attribute(0).t();
      CHECK(tensor.name() == absl::StrCat("tensor of ", name));
      CHECK(Said(tensor) == About(name));
      CHECK(KnowsField(tensor));
      CHECK(Producer(*model, name).attribute(0).doc_string() == absl::StrCat("about an attribute of ", name));
    }
  }
}

TEST_CASE("a Constant of value_floats keeps what is said about its attribute") {
  Described described(R"(<ir_version: 10, opset_import: ["" : 17]>
    g (float[2,4] x) => (float[2] y) { w = Constant <value_floats = [1.0, 2.0, 3.0, 4.0]> ()  y = MatMul (x, w) })");
  const onnx::ModelProto low = described.Rewritten();
  REQUIRE(Producer(low, "w").attribute_size() == 1);
  CHECK(Producer(low, "w").attribute(0).name() == "value");
  CHECK(Producer(low, "w").attribute(0).doc_string() == "about an attribute of w");
  const onnx::ModelProto back = described.TakenBack();
  CHECK(Producer(back, "w").SerializeAsString() == Producer(described.model, "w").SerializeAsString());
}

TEST_CASE("declarations of values follow the types and keep what is said about them") {
  Described described(R"(<ir_version: 10, opset_import: ["" : 17]>
    g (float[2,2] x) => (float[2,2] y) <float[2,2] w = {1, 2, 3, 4}, float[2,2] a, u> {
      a = MatMul (x, w)
      u = other.Unknown (a)
      y = MatMul (a, w)
    })");
  for (auto& info : *described.model.mutable_graph()->mutable_value_info()) {
    if (info.name() != "a") continue;
    info.mutable_type()->set_denotation("IMAGE");
    info.mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim(1)->set_denotation("DATA_CHANNEL");
  }
  const auto check = [](const onnx::ModelProto& model, int type) {
    for (const auto& info : model.graph().value_info()) {
      CHECK((info.name() != "a" || info.type().tensor_type().elem_type() == type));
      if (info.name() == "a") CHECK(info.type().denotation() == "IMAGE");
      if (info.name() == "a") CHECK(info.type().tensor_type().shape().dim(1).denotation() == "DATA_CHANNEL");
      if (info.name() == "a" || info.name() == "u") CHECK(Said(info) == About(info.name()));
    }
  };
  check(described.Rewritten(), onnx::TensorProto::FLOAT16);
  check(described.TakenBack(), onnx::TensorProto::FLOAT);
}

TEST_CASE("a user's cast that was superfluous comes back with its description") {
  Described described(R"(<ir_version: 10, opset_import: ["" : 17]>
    g (float[2,2] x) => (float[2,2] y) <float[2,2] w = {1, 2, 3, 4}> {
      a = MatMul (x, w)
      [user] h = Cast <to = 10> (a)
      b = MatMul (h, h)
      y = Cast <to = 1> (b)
    })");
  const onnx::ModelProto low = described.Rewritten();
  for (const auto& node : low.graph().node()) CHECK(node.name() != "user");
  const onnx::ModelProto back = described.TakenBack();
  CHECK(Said(Producer(back, "h")) == About("the maker of h"));
  CHECK(Producer(back, "h").attribute(0).doc_string() == "about an attribute of h");
}

TEST_CASE("an opset lift keeps what is said about the nodes that it edits") {
  Described described(R"(<ir_version: 8, opset_import: ["" : 11]>
    g (float[2,2] x) => (float[2] y) <float[2,2] w = {1, 2, 3, 4}> {
      a = MatMul (x, w)
      y = Squeeze <axes = [0]> (a)
    })");
  described.model.mutable_graph()->mutable_output(0)->clear_type();
  auto* type = described.model.mutable_graph()->mutable_output(0)->mutable_type()->mutable_tensor_type();
  type->set_elem_type(onnx::TensorProto::FLOAT);
  const onnx::ModelProto low = described.Rewritten({"--opset", "13"});
  const auto& squeeze = low.graph().node();
  const auto found =
      std::find_if(squeeze.begin(), squeeze.end(), [](const auto& n) { return n.op_type() == "Squeeze"; });
  REQUIRE(found != squeeze.end());
  CHECK(Said(*found) == About("the maker of y"));
}

}  // namespace
}  // namespace amp
