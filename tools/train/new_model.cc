#include "tools/train/new_model.h"

#include <cmath>
#include <limits>
#include <random>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "ir/base/status.h"
#include "ir/file/set_initializer.h"
#include "ir/file/text.h"
#include "runtime/kernel/tensor.h"

namespace amp {
namespace {

constexpr size_t kMostLayers = 1000;
constexpr int64_t kMostWeights = std::numeric_limits<int32_t>::max() / 4;  // a file without external data holds no more

struct Weight {
  std::string name;
  Dims dims;
  int64_t fan_in = 0, fan_out = 0;  // 0: a bias
};

// A model's text as far as it is written, and the weights that it names.
class NewModel {
 public:
  explicit NewModel(uint64_t seed) : random_(seed) {}

  void Add(absl::string_view name, absl::string_view line) { absl::StrAppend(&nodes_, "[", name, "] ", line, "\n"); }
  void AddDense(const std::string& name, const std::string& input, const std::string& output, int64_t in, int64_t out) {
    AddWeights(name, {in, out}, in, out, out);
    Add(name, absl::StrCat(output, " = Gemm (", input, ", ", name, "_weight, ", name, "_bias)"));
  }
  void AddConv(const std::string& name, const std::string& input, const std::string& output, int64_t in, int64_t out) {
    constexpr int64_t kSide = 3;
    AddWeights(name, {out, in, kSide, kSide}, in * kSide * kSide, out * kSide * kSide, out);
    Add(name, absl::StrCat(output, " = Conv <kernel_shape = [3, 3], pads = [1, 1, 1, 1]> (", input, ", ", name,
                           "_weight, ", name, "_bias)"));
  }

  absl::StatusOr<LoadedFile> Finish(absl::string_view signature) {
    AMP_ASSIGN_OR_RETURN(
        const std::string bytes,
        ParseOnnxText(absl::StrCat("<ir_version: 10, opset_import: [\"\" : 21], producer_name: \"amp-train\">\n",
                                   signature, " {\n", nodes_, "}")));
    AMP_ASSIGN_OR_RETURN(LoadedFile file, ParseModel(bytes));
    for (const Weight& weight : weights_) AMP_RETURN_IF_ERROR(AddTo(*file.model, weight));
    return file;
  }

 private:
  void AddWeights(const std::string& name, Dims dims, int64_t fan_in, int64_t fan_out, int64_t biases) {
    weights_.push_back({name + "_weight", std::move(dims), fan_in, fan_out});
    weights_.push_back({name + "_bias", {biases}});
  }

  // Uniform in [-limit, limit). Source: Glorot and Bengio, "Understanding the difficulty of training deep feedforward
  // neural networks" (2010). By hand: what the standard's distributions give is each library's own.
  void FillGlorot(const Weight& weight, absl::Span<float> elements) {
    const double limit = std::sqrt(6.0 / static_cast<double>(weight.fan_in + weight.fan_out));
    for (float& element : elements) {
      const double unit = std::ldexp(static_cast<double>(random_() >> 11), -53);
      element = static_cast<float>((2 * unit - 1) * limit);
    }
  }

  absl::Status AddTo(onnx::ModelProto& model, const Weight& weight) {
    AMP_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Create(DType::kFloat32, weight.dims));
    const absl::Span<float> elements = tensor.mutable_elements<float>();
    std::fill(elements.begin(), elements.end(), 0.0F);
    if (weight.fan_in > 0) FillGlorot(weight, elements);
    AddInitializer(model, weight.name, {.dtype = tensor.dtype(), .dims = tensor.dims(), .bytes = tensor.bytes()});
    return absl::OkStatus();
  }

  std::mt19937_64 random_;
  std::string nodes_;
  std::vector<Weight> weights_;
};

}  // namespace

absl::StatusOr<std::vector<int64_t>> ParseLayers(absl::string_view text) {
  const auto complain = [&] {
    return UsageError("expected sizes of layers as in 784-64-64-10, ", kMostWeights, " weights at most, found '",
                      Escaped(text), "'");
  };
  std::vector<int64_t> layers;
  int64_t weights = 0;
  for (const absl::string_view part : absl::StrSplit(text, '-')) {
    int64_t size = 0;
    if (!absl::SimpleAtoi(part, &size) || size < 1 || size > kMostWeights) return complain();
    if (!layers.empty()) weights += layers.back() * size;
    layers.push_back(size);
    if (weights > kMostWeights || layers.size() > kMostLayers) return complain();
  }
  if (layers.size() < 2) return complain();
  return layers;
}

absl::StatusOr<LoadedFile> NewMlp(const std::vector<int64_t>& layers, uint64_t seed, ModelTask task) {
  NewModel model(seed);
  const bool is_regression = task == ModelTask::kRegression;
  const std::string last = is_regression ? "prediction" : "logits";
  std::string value = "x";
  for (size_t i = 1; i < layers.size(); ++i) {
    const bool is_last = i + 1 == layers.size();
    const std::string name = absl::StrCat("dense_", i), sum = is_last ? last : absl::StrCat(name, "_sum");
    model.AddDense(name, value, sum, layers[i - 1], layers[i]);
    value = absl::StrCat(name, "_relu");
    if (!is_last) model.Add(value, absl::StrCat(value, " = Relu (", sum, ")"));
  }
  if (!is_regression) model.Add("softmax", "probabilities = Softmax <axis = -1> (logits)");
  return model.Finish(absl::StrCat("mlp (float[batch, ", layers.front(), "] x) => (float[batch, ", layers.back(), "] ",
                                   is_regression ? last : "probabilities", ")"));
}

absl::StatusOr<LoadedFile> NewCnn(uint64_t seed) {
  constexpr int64_t kFirst = 16, kSecond = 32, kHidden = 64, kClasses = 10, kSideAfterPools = 7;
  NewModel model(seed);
  const auto add_pool = [&](const std::string& name, const std::string& input) {
    model.Add(name, absl::StrCat(name, " = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (", input, ")"));
  };
  model.AddConv("conv_1", "x", "conv_1_sum", 1, kFirst);
  model.Add("conv_1_relu", "conv_1_relu = Relu (conv_1_sum)");
  add_pool("pool_1", "conv_1_relu");
  model.AddConv("conv_2", "pool_1", "conv_2_sum", kFirst, kSecond);
  model.Add("conv_2_relu", "conv_2_relu = Relu (conv_2_sum)");
  add_pool("pool_2", "conv_2_relu");
  model.Add("flatten", "flat = Flatten (pool_2)");
  model.AddDense("dense_1", "flat", "dense_1_sum", kSecond * kSideAfterPools * kSideAfterPools, kHidden);
  model.Add("dense_1_relu", "dense_1_relu = Relu (dense_1_sum)");
  model.AddDense("dense_2", "dense_1_relu", "logits", kHidden, kClasses);
  model.Add("softmax", "probabilities = Softmax <axis = -1> (logits)");
  return model.Finish("cnn (float[batch, 1, 28, 28] x) => (float[batch, 10] probabilities)");
}

}  // namespace amp
