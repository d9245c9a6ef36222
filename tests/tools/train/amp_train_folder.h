// Runs of amp-train in a folder of their own.
#ifndef AMP_TESTS_TOOLS_TRAIN_AMP_TRAIN_FOLDER_H_
#define AMP_TESTS_TOOLS_TRAIN_AMP_TRAIN_FOLDER_H_

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "ir/file/text.h"
#include "runtime/values/npy.h"
#include "tests/catch2.h"
#include "tests/scratch_folder.h"
#include "tests/tools/train/step_graphs.h"
#include "tools/train/amp_train.h"

namespace amp {

// 40 points, those of class 1 where the first number is larger than the second.
inline NamedTensors Points() {
  std::vector<float> x;
  std::vector<int64_t> labels;
  for (int i = 0; i < 40; ++i) {
    const double a = std::sin(i * 12.9), b = std::cos(i * 7.7);
    for (const double value : {a, b, 0.1 * i}) x.push_back(static_cast<float>(value));
    labels.push_back(a > b ? 1 : 0);
  }
  return {{"x", Tensor::Of<float>(DType::kFloat32, {40, 3}, x)},
          {"labels", Tensor::Of<int64_t>(DType::kInt64, {40}, labels)}};
}

// A folder with step.onnx, forward.onnx and data.npz, and runs in it. "@" in an argument is the folder.
class TrainRuns {
 public:
  explicit TrainRuns(const std::string& model = StepGraph()) {
    folder_.Write("step.onnx", model);
    folder_.Write("forward.onnx", *ParseOnnxText(kForwardText));
    folder_.Write("data.npz", *NpzBytes(Points()));
  }

  ToolOutput Run(std::vector<std::string> arguments, ToolStreams streams = {}) const {
    for (std::string& argument : arguments) {
      for (size_t at = argument.find('@'); at != std::string::npos; at = argument.find('@')) {
        argument.replace(at, 1, folder_.File(""));
      }
    }
    return RunAmpTrain(arguments, std::move(streams));
  }
  ToolOutput Train(const std::vector<std::string>& flags, ToolStreams streams = {}) const {
    std::vector<std::string> all = {"@step.onnx", "--data", "x=@data.npz:x", "--data", "labels=@data.npz:labels"};
    all.insert(all.end(), flags.begin(), flags.end());
    return Run(all, std::move(streams));
  }
  // Returns the error of a run that fails, without the program's name.
  std::string Error(const std::vector<std::string>& arguments, int exit_code = 2) const {
    const ToolOutput output = Run(arguments);
    INFO(output.err);
    CHECK(output.exit_code == exit_code);
    REQUIRE_THAT(output.err, Catch::Matchers::StartsWith("amp-train: error: "));
    REQUIRE(output.err.find('\n') + 1 == output.err.size());
    return output.err.substr(18, output.err.size() - 19);
  }
  std::string TrainError(const std::vector<std::string>& flags, int exit_code = 2) const {
    std::vector<std::string> all = {"@step.onnx", "--data", "x=@data.npz:x", "--data", "labels=@data.npz:labels"};
    all.insert(all.end(), flags.begin(), flags.end());
    return Error(all, exit_code);
  }
  const ScratchFolder& folder() const { return folder_; }

 private:
  ScratchFolder folder_;
};

}  // namespace amp

#endif  // AMP_TESTS_TOOLS_TRAIN_AMP_TRAIN_FOLDER_H_
