// Runs of amp-run in a folder of their own.
#ifndef AMP_TESTS_TOOLS_RUN_AMP_RUN_FOLDER_H_
#define AMP_TESTS_TOOLS_RUN_AMP_RUN_FOLDER_H_

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "ir/file/text.h"
#include "onnx/onnx_pb.h"
#include "runtime/values/npy.h"
#include "tests/catch2.h"
#include "tests/scratch_folder.h"
#include "tools/run/amp_run.h"

namespace amp {

inline constexpr absl::string_view kModel = R"(<ir_version: 8, opset_import: ["" : 17]>
  g (float[n,2] x) => (float[n,2] y, float[n,2] z) {
    [first] y = LeakyRelu <alpha = 0.5> (x)
    [second] z = Sigmoid (y)
  })";
// A model like kModel, whose LeakyRelu has another slope.
inline constexpr absl::string_view kOther = R"(<ir_version: 8, opset_import: ["" : 17]>
  g (float[n,2] x) => (float[n,2] y, float[n,2] z) {
    y = LeakyRelu <alpha = 0.25> (x)
    z = Sigmoid (y)
  })";

// A folder with model.onnx, other.onnx, x.npy, x.pb and sample.npz, and runs in it. "@" in an argument is the folder.
class Runs {
 public:
  Runs() {
    WriteModel("model.onnx", kModel);
    WriteModel("other.onnx", kOther);
    const Tensor x = Tensor::Of<float>(DType::kFloat32, {1, 2}, {-2, 3});
    folder_.Write("x.npy", *NpyBytes(x));
    folder_.Write("sample.npz", *NpzBytes({{"x", x}}));
    onnx::TensorProto proto;
    proto.set_data_type(onnx::TensorProto::FLOAT);
    for (const int64_t dim : x.dims()) proto.add_dims(dim);
    for (const float element : x.elements<float>()) proto.add_float_data(element);
    folder_.Write("x.pb", proto.SerializeAsString());
  }

  void WriteModel(const std::string& name, absl::string_view text) const {
    const absl::StatusOr<std::string> bytes = ParseOnnxText(text);
    REQUIRE(bytes.ok());
    folder_.Write(name, *bytes);
  }
  ToolOutput Run(const std::vector<std::string>& flags, const std::string& model = "@model.onnx") const {
    std::vector<std::string> arguments = {model};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    for (std::string& argument : arguments) {
      if (const size_t at = argument.find('@'); at != std::string::npos) argument.replace(at, 1, folder_.File(""));
    }
    return RunAmpRun(arguments);
  }
  std::string Succeeds(const std::vector<std::string>& flags, const std::string& model = "@model.onnx") const {
    const ToolOutput output = Run(flags, model);
    CHECK(output.err.empty());
    CHECK(output.exit_code == 0);
    return output.out;
  }
  void Fails(const std::vector<std::string>& flags, int exit_code, const std::string& what,
             const std::string& model = "@model.onnx") const {
    const ToolOutput output = Run(flags, model);
    CHECK(output.exit_code == exit_code);
    CHECK(absl::StartsWith(output.err, "amp-run: error: "));
    CHECK_THAT(output.err, Catch::Matchers::Contains(what));
    CHECK(output.err.find('\n') + 1 == output.err.size());
  }
  const ScratchFolder& folder() const { return folder_; }

 private:
  ScratchFolder folder_;
};

}  // namespace amp

#endif  // AMP_TESTS_TOOLS_RUN_AMP_RUN_FOLDER_H_
