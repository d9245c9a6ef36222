// Writes a model that gpu_check.sh takes the time of: make_gpu_models NAME OUT.onnx
//
//   products_N      20 products of matrices [N, N], one behind the other
//   resnet50_bN     of pictures [N, 3, 224, 224]
//   bert_large_bN   24 layers, 1024 wide, 16 heads, of N sequences of 512
//   mlp_bN          784-4096-4096-10, of N rows
//
// All models read one small input, which a sum makes large, and give small outputs, so that next to nothing is copied
// to and from a device. Weights are random with a fixed seed, and scaled so that values neither grow nor vanish.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <initializer_list>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "onnx/onnx_pb.h"

namespace amp {
namespace {

using Dims = std::vector<int64_t>;

// Nodes and weights in order. Functions that add one give its name.
class ModelMaker {
 public:
  explicit ModelMaker(const Dims& input) {
    model_.set_ir_version(8);
    model_.add_opset_import()->set_version(17);
    model_.mutable_graph()->set_name("gpu");
    SetType(*model_.mutable_graph()->add_input(), "x", input);
  }

  std::string Normal(const Dims& dims, double deviation) {
    onnx::TensorProto& tensor = NewWeight(dims, onnx::TensorProto::FLOAT);
    std::string& bytes = *tensor.mutable_raw_data();
    size_t count = 1;
    for (const int64_t dim : dims) count *= static_cast<size_t>(dim);
    bytes.resize(count * sizeof(float));
    auto* const numbers = reinterpret_cast<float*>(bytes.data());
    // The sum of four uniform numbers is close enough to a normal one, and quick.
    const auto scale = static_cast<float>(deviation * std::sqrt(3.0) / 0x1p16);
    for (size_t i = 0; i < count; ++i) {
      const uint64_t bits = random_();
      const auto part = [&](int shift) { return static_cast<float>(static_cast<int16_t>(bits >> shift)); };
      numbers[i] = scale * (part(0) + part(16) + part(32) + part(48));
    }
    return tensor.name();
  }
  std::string Numbers(const std::vector<float>& numbers, const Dims& dims) {
    onnx::TensorProto& tensor = NewWeight(dims, onnx::TensorProto::FLOAT);
    tensor.mutable_float_data()->Add(numbers.begin(), numbers.end());
    return tensor.name();
  }
  std::string Shape(const Dims& shape) {
    onnx::TensorProto& tensor = NewWeight({static_cast<int64_t>(shape.size())}, onnx::TensorProto::INT64);
    tensor.mutable_int64_data()->Add(shape.begin(), shape.end());
    return tensor.name();
  }

  std::string Add(const std::string& op_type, std::initializer_list<std::string> inputs) {
    node_ = model_.mutable_graph()->add_node();
    node_->set_op_type(op_type);
    for (const std::string& input : inputs) node_->add_input(input);
    node_->add_output(absl::StrCat("v", ++num_values_));
    return node_->output(0);
  }
  // Sets an attribute of the node that was added last.
  void Set(const std::string& name, const Dims& values) {
    onnx::AttributeProto& attribute = *node_->add_attribute();
    attribute.set_name(name);
    attribute.set_type(onnx::AttributeProto::INTS);
    attribute.mutable_ints()->Add(values.begin(), values.end());
  }
  void SetInt(const std::string& name, int64_t value) {
    onnx::AttributeProto& attribute = *node_->add_attribute();
    attribute.set_name(name);
    attribute.set_type(onnx::AttributeProto::INT);
    attribute.set_i(value);
  }

  std::string Linear(const std::string& x, int64_t rows, int64_t columns, double gain) {
    const double deviation = std::sqrt(gain / static_cast<double>(rows));
    const std::string product = Add("MatMul", {x, Normal({rows, columns}, deviation)});
    return Add("Add", {product, Normal({columns}, 0.01)});
  }

  // The mean over these axes is the output.
  bool Write(const std::string& path, const std::string& result, const Dims& axes, const Dims& dims) {
    Add("ReduceMean", {result});
    Set("axes", axes);
    SetInt("keepdims", 0);
    node_->mutable_output(0)->assign(1, 'y');
    SetType(*model_.mutable_graph()->add_output(), "y", dims);
    std::ofstream out(path, std::ios::binary);
    return model_.SerializeToOstream(&out) && out.flush();
  }

 private:
  static void SetType(onnx::ValueInfoProto& info, const std::string& name, const Dims& dims) {
    info.set_name(name);
    onnx::TypeProto::Tensor& type = *info.mutable_type()->mutable_tensor_type();
    type.set_elem_type(onnx::TensorProto::FLOAT);
    type.mutable_shape();
    for (const int64_t dim : dims) type.mutable_shape()->add_dim()->set_dim_value(dim);
  }
  onnx::TensorProto& NewWeight(const Dims& dims, onnx::TensorProto::DataType type) {
    onnx::TensorProto& tensor = *model_.mutable_graph()->add_initializer();
    tensor.set_name(absl::StrCat("w", ++num_values_));
    tensor.set_data_type(type);
    tensor.mutable_dims()->Add(dims.begin(), dims.end());
    return tensor;
  }

  onnx::ModelProto model_;
  onnx::NodeProto* node_ = nullptr;
  int num_values_ = 0;
  std::mt19937_64 random_{7};
};

// ---- models ---------------------------------------------------------------------------------------------------------

bool WriteProducts(const std::string& path, int64_t size) {
  constexpr int kProducts = 20;
  ModelMaker maker({1, size});
  const std::string weight = maker.Normal({size, size}, std::sqrt(1 / static_cast<double>(size)));
  std::string value = maker.Add("Add", {"x", weight});
  for (int i = 0; i < kProducts; ++i) value = maker.Add("MatMul", {value, weight});
  return maker.Write(path, value, {1}, {size});
}

bool WriteMlp(const std::string& path, int64_t batch) {
  ModelMaker maker({1, 784});
  std::string value = maker.Add("Add", {"x", maker.Normal({batch, 1}, 1)});
  value = maker.Add("Relu", {maker.Linear(value, 784, 4096, 2)});
  value = maker.Add("Relu", {maker.Linear(value, 4096, 4096, 2)});
  return maker.Write(path, maker.Linear(value, 4096, 10, 1), {0}, {10});
}

struct Convolution {
  int64_t in, out, size, stride = 1;
  double gain = 2;
};

std::string Convolve(ModelMaker& maker, const std::string& x, const Convolution& form) {
  const double deviation = std::sqrt(form.gain / static_cast<double>(form.in * form.size * form.size));
  const std::string weight = maker.Normal({form.out, form.in, form.size, form.size}, deviation);
  std::string y = maker.Add("Conv", {x, weight, maker.Normal({form.out}, 0.01)});
  maker.Set("pads", Dims(4, form.size / 2));
  maker.Set("strides", {form.stride, form.stride});
  return y;
}

std::string ResidualBlock(ModelMaker& maker, const std::string& x, int64_t channels, int64_t width, int64_t stride) {
  std::string y = maker.Add("Relu", {Convolve(maker, x, {channels, width, 1})});
  y = maker.Add("Relu", {Convolve(maker, y, {width, width, 3, stride})});
  y = Convolve(maker, y, {width, 4 * width, 1, 1, 0.1});
  const bool keeps_shape = channels == 4 * width;
  const std::string shortcut = keeps_shape ? x : Convolve(maker, x, {channels, 4 * width, 1, stride, 1});
  return maker.Add("Relu", {maker.Add("Add", {y, shortcut})});
}

bool WriteResNet(const std::string& path, int64_t batch) {
  ModelMaker maker({1, 3, 224, 224});
  std::string value = maker.Add("Add", {"x", maker.Normal({batch, 1, 1, 1}, 1)});
  value = maker.Add("Relu", {Convolve(maker, value, {3, 64, 7, 2})});
  value = maker.Add("MaxPool", {value});
  maker.Set("kernel_shape", {3, 3});
  maker.Set("pads", {1, 1, 1, 1});
  maker.Set("strides", {2, 2});
  int64_t channels = 64, width = 64;
  for (const int blocks : {3, 4, 6, 3}) {
    for (int i = 0; i < blocks; ++i) {
      value = ResidualBlock(maker, value, channels, width, i == 0 && width > 64 ? 2 : 1);
      channels = 4 * width;
    }
    width *= 2;
  }
  value = maker.Add("Flatten", {maker.Add("GlobalAveragePool", {value})});
  return maker.Write(path, maker.Linear(value, channels, 1000, 1), {0}, {1000});
}

class BertMaker {
 public:
  explicit BertMaker(int64_t batch) : maker_({1, kLength, kWidth}), batch_(batch) {
    split_ = maker_.Shape({batch, kLength, kHeads, kWidth / kHeads});
    joined_ = maker_.Shape({batch, kLength, kWidth});
  }

  bool Write(const std::string& path) {
    std::string value = Norm(maker_.Add("Add", {"x", maker_.Normal({batch_, 1, 1}, 1)}));
    for (int layer = 0; layer < kLayers; ++layer) {
      value = Norm(maker_.Add("Add", {Attention(value), value}));
      const std::string wide = Gelu(maker_.Linear(value, kWidth, 4 * kWidth, 1));
      value = Norm(maker_.Add("Add", {maker_.Linear(wide, 4 * kWidth, kWidth, 1), value}));
    }
    return maker_.Write(path, value, {1}, {batch_, kWidth});
  }

 private:
  static constexpr int64_t kLength = 512, kWidth = 1024, kHeads = 16;
  static constexpr int kLayers = 24;

  std::string Norm(const std::string& x) {
    const std::string scale = maker_.Numbers(std::vector<float>(kWidth, 1), {kWidth});
    return maker_.Add("LayerNormalization", {x, scale, maker_.Normal({kWidth}, 0.01)});
  }
  std::string Heads(const std::string& x, const Dims& order) {
    const std::string y = maker_.Add("Reshape", {maker_.Linear(x, kWidth, kWidth, 1), split_});
    std::string turned = maker_.Add("Transpose", {y});
    maker_.Set("perm", order);
    return turned;
  }
  std::string Attention(const std::string& x) {
    const std::string queries = Heads(x, {0, 2, 1, 3}), keys = Heads(x, {0, 2, 3, 1}), values = Heads(x, {0, 2, 1, 3});
    const std::string scores = maker_.Add("Div", {maker_.Add("MatMul", {queries, keys}), maker_.Numbers({8}, {})});
    const std::string mixed = maker_.Add("MatMul", {maker_.Add("Softmax", {scores}), values});
    const std::string turned = maker_.Add("Transpose", {mixed});
    maker_.Set("perm", {0, 2, 1, 3});
    return maker_.Linear(maker_.Add("Reshape", {turned, joined_}), kWidth, kWidth, 1);
  }
  std::string Gelu(const std::string& x) {
    const std::string error = maker_.Add("Erf", {maker_.Add("Div", {x, maker_.Numbers({std::sqrt(2.0F)}, {})})});
    const std::string part = maker_.Add("Mul", {x, maker_.Add("Add", {error, maker_.Numbers({1}, {})})});
    return maker_.Add("Mul", {part, maker_.Numbers({0.5F}, {})});
  }

  ModelMaker maker_;
  const int64_t batch_;
  std::string split_, joined_;
};

bool WriteBert(const std::string& path, int64_t batch) { return BertMaker(batch).Write(path); }

struct NamedModel {
  const char* prefix;
  bool (*write)(const std::string& path, int64_t number);
};
constexpr NamedModel kModels[] = {
    {"products_", WriteProducts}, {"resnet50_b", WriteResNet}, {"bert_large_b", WriteBert}, {"mlp_b", WriteMlp}};

int Run(const std::string& name, const std::string& path) {
  for (const NamedModel& model : kModels) {
    int64_t number = 0;
    if (!absl::StartsWith(name, model.prefix)) continue;
    if (!absl::SimpleAtoi(name.substr(std::string(model.prefix).size()), &number) || number < 1) break;
    if (model.write(path, number)) return 0;
    std::fprintf(stderr, "make_gpu_models: error: %s: cannot be written\n", path.c_str());
    return 6;
  }
  std::fprintf(stderr,
               "make_gpu_models: error: expected products_N, resnet50_bN, bert_large_bN or mlp_bN, found '%s'\n",
               name.c_str());
  return 2;
}

}  // namespace
}  // namespace amp

int main(int count, char** words) {
  if (count == 3) return amp::Run(words[1], words[2]);
  std::fprintf(stderr, "usage: make_gpu_models NAME OUT.onnx\n");
  return 2;
}
