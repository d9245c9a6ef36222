// Fresh forward models to train: seeded, Glorot-uniform weights, zero biases.
#ifndef AMP_TOOLS_TRAIN_NEW_MODEL_H_
#define AMP_TOOLS_TRAIN_NEW_MODEL_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ir/file/model_file.h"

namespace amp {

// "784-64-64-10" -> {784, 64, 64, 10}. Errors: kInvalidArgument.
absl::StatusOr<std::vector<int64_t>> ParseLayers(absl::string_view text);

enum class ModelTask { kClassification, kRegression };

// x float32[batch, 784] -> Gemm, Relu, Gemm, Relu, Gemm, Softmax -> probabilities float32[batch, 10]; of a regression
// without the Softmax -> prediction. The same seed gives the same bytes on every machine. REQUIRES: two sizes or more.
absl::StatusOr<LoadedFile> NewMlp(const std::vector<int64_t>& layers, uint64_t seed,
                                  ModelTask task = ModelTask::kClassification);

// For MNIST: x float32[batch, 1, 28, 28] -> (Conv 3x3, Relu, MaxPool 2x2) twice, Flatten, Gemm, Relu, Gemm, Softmax.
absl::StatusOr<LoadedFile> NewCnn(uint64_t seed);

}  // namespace amp

#endif  // AMP_TOOLS_TRAIN_NEW_MODEL_H_
