#include "ir/file/text.h"

#include "absl/strings/match.h"
#include "onnx/onnx_pb.h"
#include "tests/catch2.h"

namespace amp {
namespace {

constexpr absl::string_view kTiny = R"(<
   ir_version: 8,
   opset_import: ["" : 17]
>
tiny (float["batch size",4] x) => (float[N,3] y) 
   <float[4,3] w =  {0.1,2,3,4,5,6,7,8,9,10,11,-0}, float[N,3] "h/0">
{
   [mm] "h/0" = MatMul (x, w)
   y = Clip ("h/0", "", limit)
}
)";

onnx::ModelProto Parsed(absl::string_view text) {
  const absl::StatusOr<std::string> bytes = ParseOnnxText(text);
  INFO(bytes.status().ToString());
  REQUIRE(bytes.ok());
  onnx::ModelProto model;
  REQUIRE(model.ParseFromString(*bytes));
  return model;
}

TEST_CASE("text becomes a model and the same text again") {
  const onnx::ModelProto model = Parsed(kTiny);
  REQUIRE(model.graph().node_size() == 2);
  CHECK(model.graph().node(0).name() == "mm");
  CHECK(model.graph().node(0).output(0) == "h/0");
  CHECK(model.graph().node(1).input(1).empty());
  CHECK(model.graph().initializer(0).float_data(0) == 0.1f);
  CHECK(PrintOnnxText(model).value() == kTiny);
}

TEST_CASE("extreme float32 values survive the text") {
  const std::string text =
      "<ir_version: 8, opset_import: [\"\" : 17]>\n"
      "g () => (float[4] y) { y = Constant <value = float[4] {-3.4028235e38, 1e-45, inf, -nan}> () }";
  const onnx::ModelProto once = Parsed(text);
  const onnx::ModelProto twice = Parsed(PrintOnnxText(once).value());
  CHECK(once.SerializeAsString() == twice.SerializeAsString());
  CHECK(once.graph().node(0).attribute(0).t().float_data(0) == -std::numeric_limits<float>::max());
}

TEST_CASE("a mistake in the text is reported in one line with its place") {
  const auto error = [](absl::string_view text) { return std::string(ParseOnnxText(text).status().message()); };
  CHECK(error("<ir_version: 8>\ng (float x) = (float y) {}") == "line 2, column 14: Expected character > not found.");
  CHECK(absl::StartsWith(error("<ir_version: 99999999999999999999>"), "line 1, column "));
  CHECK(error("") == "line 1, column 1: Identifier expected but not found.");
}

TEST_CASE("a tensor whose bytes do not fit its shape is an error, not an exception") {
  onnx::ModelProto model = Parsed(kTiny);
  onnx::TensorProto& w = *model.mutable_graph()->mutable_initializer(0);
  w.clear_float_data();
  w.set_raw_data("123");
  CHECK(PrintOnnxText(model).status().code() == absl::StatusCode::kDataLoss);
}

}  // namespace
}  // namespace amp
