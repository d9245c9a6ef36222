#include "ir/file/validate.h"

#include <functional>
#include <string>

#include "ir/base/status.h"
#include "ir/file/model_file.h"
#include "ir/schema/opset_imports.h"
#include "tests/catch2.h"
#include "tests/ir/file/fixtures.h"

namespace amp {
namespace {

using absl::StatusCode;
using onnx::AttributeProto;
using onnx::ModelProto;
using onnx::TensorProto;

ChildResult Validate(const ModelProto& model, const Limits& limits = {}) {
  return RunInChild([&]() -> absl::Status {
    std::vector<std::string> warnings;
    return ValidateModel(model, limits, &warnings);
  });
}

TEST_CASE("the model that all cases start from is valid") { CHECK(Validate(SmallModel()).message.empty()); }

struct Case {
  const char* what;
  std::function<void(ModelProto&)> change;
  StatusCode code;
  const char* message;
};

void CheckCases(const std::vector<Case>& cases) {
  for (const Case& test : cases) {
    INFO(test.what);
    ModelProto model = SmallModel();
    test.change(model);
    if (test.code == StatusCode::kOk) {
      CHECK(Validate(model).message.empty());
    } else {
      CheckRefused(Validate(model), test.code, test.message);
    }
  }
}

TensorProto& Weight(ModelProto& model) { return *model.mutable_graph()->mutable_initializer(0); }
onnx::NodeProto& Conv(ModelProto& model) { return *model.mutable_graph()->mutable_node(0); }

TEST_CASE("models") {
  CheckCases({
      {"no graph", [](ModelProto& m) { m.clear_graph(); }, StatusCode::kDataLoss, "expected a graph"},
      {"no IR version", [](ModelProto& m) { m.clear_ir_version(); }, StatusCode::kDataLoss, "IR version"},
      {"IR version of the future", [](ModelProto& m) { m.set_ir_version(99); }, StatusCode::kDataLoss, "found 99"},
      {"no imports", [](ModelProto& m) { m.clear_opset_import(); }, StatusCode::kDataLoss, "opset import"},
      {"opset 0", [](ModelProto& m) { m.mutable_opset_import(0)->set_version(0); }, StatusCode::kDataLoss, "found 0"},
      {"opset of the future", [](ModelProto& m) { m.mutable_opset_import(0)->set_version(1000); },
       StatusCode::kDataLoss, "found 1000"},
      {"two imports", [](ModelProto& m) { *m.add_opset_import() = m.opset_import(0); }, StatusCode::kDataLoss,
       "found several"},
      {"unknown domain",
       [](ModelProto& m) { AddNode(m.mutable_graph(), "Anything", {"x"}, {"z"})->set_domain("my.domain"); },
       StatusCode::kOk, ""},
      {"unknown operator", [](ModelProto& m) { AddNode(m.mutable_graph(), "NoSuchOperator", {"x"}, {"z"}); },
       StatusCode::kOk, ""},
      {"unknown type of an input",
       [](ModelProto& m) {
         m.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type()->set_elem_type(99);
       },
       StatusCode::kDataLoss, "value 'x': expected an element type of 1 to 28, found 99"},
  });
}

TEST_CASE("a domain that is not imported is warned about once") {
  ModelProto model = SmallModel();
  for (int i = 0; i < 3; ++i) AddNode(model.mutable_graph(), "Anything", {"x"}, {"z"})->set_domain("my.domain");
  std::vector<std::string> warnings;
  CHECK(ValidateModel(model, {}, &warnings).ok());
  CHECK(warnings == std::vector<std::string>{"domain my.domain is not imported; its operators are taken as unknown"});
}

TEST_CASE("tensors") {
  CheckCases({
      {"type 0", [](ModelProto& m) { Weight(m).set_data_type(0); }, StatusCode::kDataLoss,
       "initializer 'w': expected an element type"},
      {"type 29", [](ModelProto& m) { Weight(m).set_data_type(29); }, StatusCode::kDataLoss, "found 29"},
      {"type -1", [](ModelProto& m) { Weight(m).set_data_type(-1); }, StatusCode::kDataLoss, "found -1"},
      {"negative dim", [](ModelProto& m) { Weight(m).set_dims(1, -3); }, StatusCode::kDataLoss, "at least 0, found -3"},
      {"dims that overflow",
       [](ModelProto& m) {
         for (int i = 0; i < 4; ++i) Weight(m).set_dims(i, int64_t{1} << 40);
       },
       StatusCode::kDataLoss, "product fits 63 bits"},
      {"dims whose product wraps to the payload",
       [](ModelProto& m) {
         Weight(m).clear_dims();
         for (int64_t dim : {int64_t{1} << 32, int64_t{1} << 32, int64_t{108}}) Weight(m).add_dims(dim);
       },
       StatusCode::kDataLoss, "product fits 63 bits"},
      {"too many elements", [](ModelProto& m) { Weight(m).set_dims(0, int64_t{1} << 41); },
       StatusCode::kResourceExhausted, "elements"},
      {"one byte short", [](ModelProto& m) { Weight(m).mutable_raw_data()->pop_back(); }, StatusCode::kDataLoss,
       "expected 432 bytes of raw_data for its shape and type, found 431"},
      {"one byte long", [](ModelProto& m) { Weight(m).mutable_raw_data()->push_back(0); }, StatusCode::kDataLoss,
       "found 433"},
      {"no payload", [](ModelProto& m) { Weight(m).clear_raw_data(); }, StatusCode::kDataLoss, "found 0"},
      {"two payloads", [](ModelProto& m) { Weight(m).add_float_data(1); }, StatusCode::kDataLoss, "found 2"},
      {"payload in another type's field",
       [](ModelProto& m) {
         Weight(m).clear_raw_data();
         for (int i = 0; i < 108; ++i) Weight(m).add_double_data(i);
       },
       StatusCode::kDataLoss, "expected 108 entries of float_data"},
      {"typed field",
       [](ModelProto& m) {
         Weight(m).clear_raw_data();
         for (int i = 0; i < 108; ++i) Weight(m).add_float_data(1);
       },
       StatusCode::kOk, ""},
      {"complex in float_data",
       [](ModelProto& m) {
         Weight(m).clear_raw_data();
         Weight(m).set_data_type(TensorProto::COMPLEX64);
         for (int i = 0; i < 216; ++i) Weight(m).add_float_data(1);
       },
       StatusCode::kOk, ""},
      {"int4 in raw_data",
       [](ModelProto& m) {
         Weight(m).set_data_type(TensorProto::INT4);
         Weight(m).set_raw_data(std::string(54, 0));
       },
       StatusCode::kOk, ""},
      {"int4, odd count",
       [](ModelProto& m) {
         Weight(m).set_data_type(TensorProto::INT4);
         Weight(m).clear_dims();
         Weight(m).add_dims(7);
         Weight(m).set_raw_data(std::string(4, 0));
       },
       StatusCode::kOk, ""},
      {"int4, a byte short",
       [](ModelProto& m) {
         Weight(m).set_data_type(TensorProto::INT4);
         Weight(m).clear_dims();
         Weight(m).add_dims(7);
         Weight(m).set_raw_data(std::string(3, 0));
       },
       StatusCode::kDataLoss, "expected 4 bytes"},
      {"strings in raw_data", [](ModelProto& m) { Weight(m).set_data_type(TensorProto::STRING); },
       StatusCode::kDataLoss, "string_data"},
      {"segment", [](ModelProto& m) { Weight(m).mutable_segment()->set_end(4); }, StatusCode::kDataLoss, "segment"},
      {"empty with data", [](ModelProto& m) { Weight(m).set_dims(0, 0); }, StatusCode::kDataLoss, "expected 0 bytes"},
      {"empty",
       [](ModelProto& m) {
         Weight(m).set_dims(0, 0);
         Weight(m).set_raw_data("");
       },
       StatusCode::kOk, ""},
      {"external and inline",
       [](ModelProto& m) {
         const std::string raw = Weight(m).raw_data();
         MakeExternal(&Weight(m), "w.bin");
         Weight(m).set_raw_data(raw);
       },
       StatusCode::kDataLoss, "external data alone"},
      {"external with another length",
       [](ModelProto& m) {
         MakeExternal(&Weight(m), "w.bin");
         Weight(m).set_dims(0, 5);
       },
       StatusCode::kDataLoss, "external data length: expected 540 bytes"},
      {"bad tensor in an attribute",
       [](ModelProto& m) {
         auto* a = AddNode(m.mutable_graph(), "Constant", {}, {"k"})->add_attribute();
         a->set_name("value");
         a->set_type(AttributeProto::TENSOR);
         *a->mutable_t() = FloatTensor("", {2});
         a->mutable_t()->set_dims(0, 3);
       },
       StatusCode::kDataLoss, "(Constant): attribute 'value': expected 12 bytes"},
  });
}

TEST_CASE("limits on tensors hold at L and not at L + 1") {
  const auto load = [](int64_t elements, int rank) {
    ModelProto model = SmallModel();
    *model.mutable_graph()->add_initializer() =
        FloatTensor("extra", std::vector<int64_t>(static_cast<size_t>(rank - 1), 1));
    auto* extra = model.mutable_graph()->mutable_initializer(2);
    extra->add_dims(elements);
    extra->set_raw_data(std::string(static_cast<size_t>(elements) * 4, 0));
    Limits limits;
    limits.elements = 200;
    limits.rank = 10;
    return Validate(model, limits);
  };
  CHECK(load(199, 9).code == StatusCode::kOk);
  CHECK(load(200, 10).code == StatusCode::kOk);
  CheckRefused(load(201, 10), StatusCode::kResourceExhausted, "at most 200 elements, found 201");
  CheckRefused(load(200, 11), StatusCode::kResourceExhausted, "at most 10 dimensions, found 11");
}

TEST_CASE("sparse tensors") {
  const auto sparse = [](const std::vector<int64_t>& indices, const std::vector<int64_t>& index_dims) {
    return [=](ModelProto& m) {
      auto* s = m.mutable_graph()->add_sparse_initializer();
      *s->mutable_values() = FloatTensor("s", {2});
      s->add_dims(3);
      s->add_dims(4);
      s->mutable_indices()->set_data_type(TensorProto::INT64);
      for (int64_t dim : index_dims) s->mutable_indices()->add_dims(dim);
      for (int64_t index : indices) s->mutable_indices()->add_int64_data(index);
    };
  };
  CheckCases({
      {"linear", sparse({3, 11}, {2}), StatusCode::kOk, ""},
      {"pairs", sparse({0, 3, 2, 1}, {2, 2}), StatusCode::kOk, ""},
      {"beyond the end", sparse({3, 12}, {2}), StatusCode::kDataLoss, "expected 0 to 11, found 12"},
      {"negative", sparse({-1, 3}, {2}), StatusCode::kDataLoss, "found -1"},
      {"descending", sparse({5, 3}, {2}), StatusCode::kDataLoss, "ascending"},
      {"row beyond the end", sparse({0, 3, 3, 1}, {2, 2}), StatusCode::kDataLoss, "expected 0 to 2, found 3"},
      {"too few indices", sparse({3}, {1}), StatusCode::kDataLoss, "indices"},
  });
}

TEST_CASE("nodes") {
  CheckCases({
      {"no operator", [](ModelProto& m) { Conv(m).clear_op_type(); }, StatusCode::kDataLoss, "operator type"},
      {"too few inputs", [](ModelProto& m) { Conv(m).mutable_input()->RemoveLast(); }, StatusCode::kDataLoss,
       "node 'Conv_1' (Conv): expected at least 2 and at most 3 inputs, found 1"},
      {"too many inputs",
       [](ModelProto& m) {
         for (int i = 0; i < 3; ++i) Conv(m).add_input("x");
       },
       StatusCode::kDataLoss, "found 5"},
      {"no outputs", [](ModelProto& m) { Conv(m).clear_output(); }, StatusCode::kDataLoss,
       "expected 1 outputs, found 0"},
      {"absent input that must be there", [](ModelProto& m) { Conv(m).set_input(0, ""); }, StatusCode::kDataLoss,
       "inputs number 0"},
      {"absent optional input", [](ModelProto& m) { Conv(m).add_input(""); }, StatusCode::kOk, ""},
      {"missing attribute",
       [](ModelProto& m) {
         AddNode(m.mutable_graph(), "Concat", {"x", "x"}, {"z"});
       },
       StatusCode::kDataLoss, "expected attribute 'axis', found none"},
      {"another version's attribute",
       [](ModelProto& m) { AddInts(AddNode(m.mutable_graph(), "Squeeze", {"x"}, {"z"}), "axes", {0}); },
       StatusCode::kDataLoss, "attribute 'axes': expected one of opset 13"},
      {"a stranger's attribute", [](ModelProto& m) { AddInt(&Conv(m), "note", 1); }, StatusCode::kOk, ""},
      {"deprecated operator",
       [](ModelProto& m) {
         AddNode(m.mutable_graph(), "Upsample", {"x", "x"}, {"z"});
       },
       StatusCode::kDataLoss, "deprecated"},
      {"unnamed node",
       [](ModelProto& m) {
         Conv(m).clear_name();
         Conv(m).clear_output();
       },
       StatusCode::kDataLoss, "node #0 (Conv)"},
      {"control characters in a name",
       [](ModelProto& m) {
         Conv(m).set_name("a\nb\x1b[2J");
         Conv(m).clear_output();
       },
       StatusCode::kDataLoss, "node 'a\\x0ab\\x1b[2J'"},
  });
}

TEST_CASE("attributes") {
  const auto attribute = [](const std::function<void(AttributeProto&)>& fill) {
    return [fill](ModelProto& m) {
      auto* a = AddNode(m.mutable_graph(), "Custom", {"x"}, {"z"})->add_attribute();
      a->set_name("a");
      fill(*a);
    };
  };
  const auto conv_ints = [](const char* name, const std::vector<int64_t>& values) {
    return [=](ModelProto& m) {
      Conv(m).clear_attribute();
      AddInts(&Conv(m), name, values);
    };
  };
  CheckCases({
      {"no name", [](ModelProto& m) { AddInt(&Conv(m), "", 1); }, StatusCode::kDataLoss, "expected a name"},
      {"twice",
       [](ModelProto& m) {
         AddInts(&Conv(m), "pads", {0, 0, 0, 0});
       },
       StatusCode::kDataLoss, "attribute 'pads' is given twice"},
      {"a Constant with two values",
       [](ModelProto& m) {
         auto* node = AddNode(m.mutable_graph(), "Constant", {}, {"z"});
         AddInts(node, "value_ints", {1});
         AddInt(node, "value_int", 1);
       },
       StatusCode::kDataLoss, "(Constant): expected one value, found 'value_ints' and 'value_int'"},
      {"a Constant with one value and a name of nobody's",
       [](ModelProto& m) {
         auto* node = AddNode(m.mutable_graph(), "Constant", {}, {"z"});
         AddInts(node, "value_ints", {1});
         AddInt(node, "axis", 1);
       },
       StatusCode::kOk, ""},
      {"two values of another domain's Constant",
       [](ModelProto& m) {
         auto* node = AddNode(m.mutable_graph(), "Constant", {}, {"z"});
         node->set_domain("my.domain");
         AddInts(node, "value_ints", {1});
         AddInt(node, "value_int", 1);
       },
       StatusCode::kOk, ""},
      {"twice among many",
       [](ModelProto& m) {
         auto* node = AddNode(m.mutable_graph(), "Custom", {"x"}, {"z"});
         for (int i = 0; i < 40; ++i) AddInt(node, "a" + std::to_string(i), i);
         AddInt(node, "a7", 0);
       },
       StatusCode::kDataLoss, "'a7' is given twice"},
      {"no kind", attribute([](AttributeProto& a) { a.set_i(1); }), StatusCode::kDataLoss, "expected a kind"},
      {"kind and field differ", attribute([](AttributeProto& a) {
         a.set_i(1);
         a.set_type(AttributeProto::FLOAT);
       }),
       StatusCode::kDataLoss, "expected a value of kind FLOAT, found INT"},
      {"two fields", attribute([](AttributeProto& a) {
         a.set_i(1);
         a.set_f(1);
         a.set_type(AttributeProto::INT);
       }),
       StatusCode::kDataLoss, "found several"},
      {"graph without graph", attribute([](AttributeProto& a) { a.set_type(AttributeProto::GRAPH); }),
       StatusCode::kDataLoss, "expected a value of kind GRAPH, found none"},
      {"tensor without tensor", attribute([](AttributeProto& a) { a.set_type(AttributeProto::TENSOR); }),
       StatusCode::kDataLoss, "found none"},
      {"zero that was left out", attribute([](AttributeProto& a) { a.set_type(AttributeProto::INT); }), StatusCode::kOk,
       ""},
      {"empty list", attribute([](AttributeProto& a) { a.set_type(AttributeProto::INTS); }), StatusCode::kOk, ""},
      {"reference outside a function", attribute([](AttributeProto& a) {
         a.set_type(AttributeProto::INT);
         a.set_ref_attr_name("alpha");
       }),
       StatusCode::kDataLoss, "reference outside a function"},
      {"kind other than declared",
       [](ModelProto& m) {
         Conv(m).clear_attribute();
         AddInt(&Conv(m), "strides", 1);
       },
       StatusCode::kDataLoss, "attribute 'strides': expected kind INTS, found INT"},
      {"no kind in IR version 1",
       [](ModelProto& m) {
         m.set_ir_version(1);
         m.mutable_opset_import(0)->set_version(1);
         m.mutable_graph()->clear_node();
         auto* conv = AddNode(m.mutable_graph(), "Conv", {"x", "w"}, {"y"});
         AddInts(conv, "pads", {1, 1, 1, 1})->clear_type();
       },
       StatusCode::kOk, ""},
      {"zero stride", conv_ints("strides", {1, 0}), StatusCode::kDataLoss,
       "attribute 'strides': expected values of at least 1, found 0"},
      {"negative stride", conv_ints("strides", {-1, 1}), StatusCode::kDataLoss, "found -1"},
      {"zero dilation", conv_ints("dilations", {0, 1}), StatusCode::kDataLoss, "'dilations'"},
      {"zero kernel", conv_ints("kernel_shape", {3, 0}), StatusCode::kDataLoss, "'kernel_shape'"},
      {"negative pads", conv_ints("pads", {0, 0, -1, 0}), StatusCode::kDataLoss,
       "'pads': expected values of at least 0"},
      {"negative pads of Pad",
       [](ModelProto& m) {
         m.mutable_opset_import(0)->set_version(9);
         m.mutable_graph()->clear_node();
         AddInts(AddNode(m.mutable_graph(), "Pad", {"x"}, {"y"}), "pads", {0, 0, -1, 0, 0, 0, 0, 0});
       },
       StatusCode::kOk, ""},
      {"zero groups", [](ModelProto& m) { AddInt(&Conv(m), "group", 0); }, StatusCode::kDataLoss, "'group'"},
      {"perm twice the same",
       [](ModelProto& m) {
         AddInts(AddNode(m.mutable_graph(), "Transpose", {"x"}, {"z"}), "perm", {0, 1, 1, 2});
       },
       StatusCode::kDataLoss, "attribute 'perm': expected a permutation of 0 to 3, found 1"},
      {"perm out of range",
       [](ModelProto& m) {
         AddInts(AddNode(m.mutable_graph(), "Transpose", {"x"}, {"z"}), "perm", {0, 1, 4, 2});
       },
       StatusCode::kDataLoss, "found 4"},
      {"axis out of all range",
       [](ModelProto& m) { AddInt(AddNode(m.mutable_graph(), "Softmax", {"x"}, {"z"}), "axis", INT64_MIN); },
       StatusCode::kDataLoss, "expected axes of -64 to 64"},
      {"fewer batch dimensions than none",
       [](ModelProto& m) {
         AddInt(AddNode(m.mutable_graph(), "GatherND", {"x", "x"}, {"z"}), "batch_dims", -64);
       },
       StatusCode::kDataLoss, "'batch_dims': expected values of at least 0, found -64"},
      {"more outputs than a model has nodes",
       [](ModelProto& m) {
         m.mutable_opset_import(0)->set_version(18);
         AddInt(AddNode(m.mutable_graph(), "Split", {"x"}, {"z"}), "num_outputs", INT64_MAX);
       },
       StatusCode::kResourceExhausted, "'num_outputs': expected at most 1000000 outputs"},
      {"cast to no type", [](ModelProto& m) { AddInt(AddNode(m.mutable_graph(), "Cast", {"x"}, {"z"}), "to", 77); },
       StatusCode::kDataLoss, "attribute 'to': expected an element type of 1 to 28, found 77"},
      {"block size 0",
       [](ModelProto& m) { AddInt(AddNode(m.mutable_graph(), "SpaceToDepth", {"x"}, {"z"}), "blocksize", 0); },
       StatusCode::kDataLoss, "'blocksize'"},
  });
}

// f0 calls f1 calls f2 ..., each `calls` times; the main graph calls f0.
ModelProto Chain(int functions, int calls) {
  ModelProto model = SmallModel();
  model.add_opset_import()->set_domain("local");
  model.mutable_opset_import(1)->set_version(1);
  for (int i = 0; i < functions; ++i) {
    auto* function = model.add_functions();
    function->set_name("f" + std::to_string(i));
    function->set_domain("local");
    function->add_input("a");
    function->add_output("b");
    function->add_opset_import()->set_version(17);
    for (int j = 0; j < calls; ++j) {
      auto* node = function->add_node();
      node->set_op_type(i + 1 < functions ? "f" + std::to_string(i + 1) : "Relu");
      node->set_domain(i + 1 < functions ? "local" : "");
      node->add_input("a");
      node->add_output("b" + std::to_string(j));
    }
  }
  AddNode(model.mutable_graph(), "f0", {"x"}, {"z"})->set_domain("local");
  return model;
}

TEST_CASE("functions") {
  Limits limits;
  limits.call_depth = 10;
  CHECK(Validate(Chain(9, 1), limits).message.empty());
  CHECK(Validate(Chain(10, 1), limits).message.empty());
  CheckRefused(Validate(Chain(11, 1), limits), StatusCode::kResourceExhausted,
               "at most 10 functions calling each other");
  CheckRefused(Validate(Chain(9000, 1)), StatusCode::kResourceExhausted, "at most 100 functions calling each other");
  limits.functions = 5;
  CheckRefused(Validate(Chain(6, 1), limits), StatusCode::kResourceExhausted, "at most 5 functions");
  // Doubling: 40 functions of two calls are 2^40 nodes.
  CheckRefused(Validate(Chain(40, 2)), StatusCode::kResourceExhausted, "nodes after inlining");
  CheckRefused(Validate(Chain(90, 1000)), StatusCode::kResourceExhausted, "nodes after inlining");

  ModelProto itself = Chain(1, 1);
  itself.mutable_functions(0)->mutable_node(0)->set_op_type("f0");
  itself.mutable_functions(0)->mutable_node(0)->set_domain("local");
  CheckRefused(Validate(itself), StatusCode::kDataLoss, "function 'f0': expected no recursion");
  ModelProto ring = Chain(5, 1);
  ring.mutable_functions(4)->mutable_node(0)->set_op_type("f2");
  ring.mutable_functions(4)->mutable_node(0)->set_domain("local");
  CheckRefused(Validate(ring), StatusCode::kDataLoss, "expected no recursion");
  ModelProto twice = Chain(1, 1);
  *twice.add_functions() = twice.functions(0);
  CheckRefused(Validate(twice), StatusCode::kDataLoss, "expected one definition, found several");
  twice.mutable_functions(1)->set_overload("other");
  CHECK(Validate(twice).message.empty());
  ModelProto inputs = Chain(1, 1);
  inputs.mutable_functions(0)->add_input("a");
  CheckRefused(Validate(inputs), StatusCode::kDataLoss, "input 'a' is given twice");
  ModelProto arity = Chain(1, 1);
  arity.mutable_graph()->mutable_node(3)->add_input("x");
  CheckRefused(Validate(arity), StatusCode::kDataLoss, "expected at most 1 inputs, found 2");
}

TEST_CASE("a call hidden in a body counts") {
  ModelProto model = Chain(1, 1);
  auto* body = model.mutable_functions(0)->mutable_node(0)->add_attribute();
  body->set_name("body");
  body->set_type(AttributeProto::GRAPH);
  model.mutable_functions(0)->mutable_node(0)->set_op_type("Custom");
  AddNode(body->mutable_g(), "f0", {"a"}, {"b"})->set_domain("local");
  CheckRefused(Validate(model), StatusCode::kDataLoss, "expected no recursion");
}

TEST_CASE("conflicting opset imports") {
  std::vector<std::string> warnings;
  const auto repaired = [&](const std::vector<std::pair<std::string, int64_t>>& imports,
                            const std::function<void(ModelProto&)>& change) {
    warnings.clear();
    ModelProto model = SmallModel();
    model.clear_opset_import();
    for (const auto& [domain, version] : imports) {
      auto* import = model.add_opset_import();
      import->set_domain(domain);
      import->set_version(version);
    }
    change(model);
    RepairOpsetImports(model, &warnings);
    REQUIRE(model.opset_import(0).domain().empty());
    return model.opset_import(0).version();
  };
  const auto nothing = [](ModelProto&) {};
  CHECK(repaired({{"", 12}, {"", 17}}, nothing) == 17);
  CHECK(warnings ==
        std::vector<std::string>{"the model imports several versions of domain ai.onnx; version 17 is used"});
  CHECK(repaired({{"", 13}, {"ai.onnx", 17}, {"", 9}}, nothing) == 17);
  CHECK(repaired({{"", 17}, {"ai.onnx", 17}}, nothing) == 17);
  CHECK(warnings.empty());
  // Squeeze with an attribute for its axes ends at 12; that of one input and no attribute goes on.
  const auto old_squeeze = [](ModelProto& m) {
    AddInts(AddNode(m.mutable_graph(), "Squeeze", {"x"}, {"z"}), "axes", {0});
  };
  CHECK(repaired({{"", 12}, {"", 17}}, old_squeeze) == 12);
  const auto old_unsqueeze = [](ModelProto& m) {
    AddInts(AddNode(m.mutable_graph(), "Unsqueeze", {"x"}, {"z"}), "axes", {0});
    AddNode(m.mutable_graph(), "LayerNormalization", {"x", "w"}, {"l"});
  };
  CHECK(repaired({{"", 19}, {"", 12}}, old_unsqueeze) == 12);
  CHECK(repaired({{"", 5000}, {"", 12}}, nothing) == 12);
}

TEST_CASE("100,000 nodes take well under a second") {
  ModelProto model = SmallModel();
  for (int i = 0; i < 100'000; ++i)
    AddInts(AddNode(model.mutable_graph(), "Conv", {"x", "w"}, {"z"}), "pads", {1, 1, 1, 1});
  std::vector<std::string> warnings;
  const auto start = std::chrono::steady_clock::now();
  CHECK(ValidateModel(model, {}, &warnings).ok());
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  WARN("100,000 nodes validated in " << seconds << " s");
  CHECK(seconds < 1);
}

TEST_CASE("graphs within graphs of a message that was not read from a file") {
  ModelProto model = SmallModel();
  onnx::GraphProto* graph = model.mutable_graph();
  for (int i = 0; i < 31; ++i) {
    auto* a = AddNode(graph, "Custom", {}, {"z"})->add_attribute();
    a->set_name("body");
    a->set_type(AttributeProto::GRAPH);
    graph = a->mutable_g();
  }
  CHECK(Validate(model).message.empty());
  auto* a = AddNode(graph, "Custom", {}, {"z"})->add_attribute();
  a->set_name("body");
  a->set_type(AttributeProto::GRAPH);
  a->mutable_g();
  CheckRefused(Validate(model), StatusCode::kResourceExhausted, "32 graphs within graphs");
}

}  // namespace
}  // namespace amp
