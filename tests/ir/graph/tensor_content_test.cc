#include "ir/graph/tensor_content.h"

#include "tests/catch2.h"
#include "tests/model_from_text.h"

namespace amp {
namespace {

TEST_CASE("an initializer that is released holds no bytes; others, and values that are none, stay") {
  const auto model = GraphFromText(R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[2] x) => (float[2] y) <float[2] a = {1, 2}, float[2] b = {3, 4}> { s = Add(x, a) y = Add(s, b) })");
  const auto& names = model->graph(kMainGraph).names;
  for (const char* name : {"a", "b"}) {
    onnx::TensorProto& tensor = model->EditInitializer(names.at(name));
    tensor.clear_float_data();
    tensor.set_raw_data(std::string(8, '\1'));
  }
  ReleaseInitializer(*model, names.at("a"));
  ReleaseInitializer(*model, names.at("x"));
  ReleaseInitializer(*model, names.at("s"));
  CHECK(model->EditInitializer(names.at("a")).raw_data().empty());
  const auto kept = ReadConstant(*model, names.at("b"));
  REQUIRE((kept.ok() && kept->has_value()));
  CHECK((*kept)->bytes.size() == 8);
}

}  // namespace
}  // namespace amp
