#include "tests/runtime/fuzz/mutate_case.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <limits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ir/base/check.h"
#include "ir/base/status.h"
#include "ir/file/text.h"
#include "runtime/kernel/doubles.h"
#include "runtime/kernel/shape_math.h"
#include "tests/mutate_message.h"
#include "tests/runtime/session_text.h"

namespace amp {
namespace {

constexpr int64_t kSizes[] = {0, 1, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 33, 65};
constexpr int64_t kNumbers[] = {0, 0, 1, 1, 2, 2, 3, 4, 5, 7, -1, -1, -2, -3, 100, 1'000'000'000'000};
constexpr double kSpecial[] = {0, -0.0, 1, -1, 1e-8, 300, -300, 70000, INFINITY, -INFINITY, NAN};

bool IsFloat(DType dtype) {
  return dtype == DType::kFloat32 || dtype == DType::kFloat16 || dtype == DType::kBfloat16 || dtype == DType::kFloat64;
}

class CaseMutation {
 public:
  CaseMutation(KernelCase& each, std::mt19937_64& random)
      : case_(each), graph_(*each.model.mutable_graph()), random_(random) {}

 private:
  size_t Below(size_t n) { return std::uniform_int_distribution<size_t>(0, n - 1)(random_); }
  template <typename T>
  auto& Pick(T& from) {
    return from[Below(std::size(from))];
  }
  template <typename T>
  auto* PickOf(T* from) {
    using Element = typename T::value_type;
    if (from->empty()) return static_cast<Element*>(nullptr);
    return from->Mutable(static_cast<int>(Below(static_cast<size_t>(from->size()))));
  }

 public:
  std::string Apply() {
    using Edit = std::string (CaseMutation::*)();
    static constexpr Edit kEdits[] = {
        &CaseMutation::ChangeFloatType, &CaseMutation::ChangeFloatType, &CaseMutation::RenameDim,
        &CaseMutation::RenameDim,       &CaseMutation::ChangeDim,       &CaseMutation::ChangeRank,
        &CaseMutation::MakeConstant,    &CaseMutation::MakeConstant,    &CaseMutation::ChangeAttribute,
        &CaseMutation::ChangeAttribute, &CaseMutation::ChangeAttribute, &CaseMutation::DropInput,
        &CaseMutation::AppendNode,      &CaseMutation::AppendNode,      &CaseMutation::ChangeElement,
        &CaseMutation::ChangeElement,   &CaseMutation::ShareInput,      &CaseMutation::EditMessage};
    return (this->*Pick(kEdits))();
  }

 private:
  Tensor RandomLike(const Tensor& like, const Dims& dims) {
    Tensor tensor = *Tensor::Create(like.dtype(), dims);
    if (like.dtype() == DType::kString) return tensor;
    std::vector<double> numbers(static_cast<size_t>(tensor.num_elements()));
    std::normal_distribution<double> normal(0, 2);
    for (double& x : numbers) x = IsFloat(like.dtype()) ? normal(random_) : static_cast<double>(Below(4));
    if (like.dtype() == DType::kBool) {
      for (bool& x : tensor.mutable_elements<bool>()) x = Below(2) == 0;
    } else {
      AMP_CHECK(WriteDoubles(numbers, tensor).ok());
    }
    return tensor;
  }

  // All floats that are given, and what the model says of them.
  std::string ChangeFloatType() {
    static constexpr DType kTypes[] = {DType::kFloat32,  DType::kFloat16,  DType::kFloat16,
                                       DType::kBfloat16, DType::kBfloat16, DType::kFloat64};
    const DType to = Pick(kTypes);
    for (auto& [name, tensor] : case_.values) {
      if (IsFloat(tensor.dtype())) tensor = WithType(tensor, to);
    }
    const auto retype = [&](onnx::ValueInfoProto& value) {
      onnx::TypeProto::Tensor* type = value.mutable_type()->mutable_tensor_type();
      if (IsFloat(static_cast<DType>(type->elem_type()))) type->set_elem_type(static_cast<int>(to));
    };
    for (auto& value : *graph_.mutable_input()) retype(value);
    for (auto& value : *graph_.mutable_output()) retype(value);
    return absl::StrCat("floats are ", DTypeName(to));
  }

  // 70000 is infinite in float16.
  double SpecialNumber() {
    const double number = Pick(kSpecial);
    if (!(std::fabs(number) <= 1000)) case_.has_non_finite = true;
    return number;
  }

  static Tensor WithType(const Tensor& tensor, DType to) {
    Tensor result = *Tensor::Create(to, tensor.dims());
    AMP_CHECK(WriteDoubles(*ReadDoubles(tensor), result).ok());
    return result;
  }

  std::string RenameDim() {
    std::vector<int64_t> dims;
    for (const auto& [name, tensor] : case_.values) dims.insert(dims.end(), tensor.dims().begin(), tensor.dims().end());
    if (dims.empty()) return "";
    const int64_t from = Pick(dims), to = Pick(kSizes);
    for (auto& [name, tensor] : case_.values) {
      Dims changed = tensor.dims();
      std::replace(changed.begin(), changed.end(), from, to);
      if (changed != tensor.dims()) tensor = RandomLike(tensor, changed);
    }
    return absl::StrCat("every ", from, " is ", to);
  }

  std::string ChangeDim() {
    if (case_.values.empty()) return "";
    auto& [name, tensor] = Pick(case_.values);
    if (tensor.rank() == 0) return "";
    Dims dims = tensor.dims();
    Pick(dims) = Pick(kSizes);
    tensor = RandomLike(tensor, dims);
    return absl::StrCat(name, " is ", DimsText(dims));
  }

  std::string ChangeRank() {
    if (case_.values.empty()) return "";
    auto& [name, tensor] = Pick(case_.values);
    Dims dims = tensor.dims();
    if (Below(2) == 0 || dims.empty()) {
      dims.insert(dims.begin() + static_cast<int64_t>(Below(dims.size() + 1)), Below(2) == 0 ? 1 : 2);
    } else {
      dims.erase(dims.begin() + static_cast<int64_t>(Below(dims.size())));
    }
    tensor = RandomLike(tensor, dims);
    for (auto& value : *graph_.mutable_input()) {
      if (value.name() == name) value.mutable_type()->mutable_tensor_type()->clear_shape();
    }
    return absl::StrCat(name, " is ", DimsText(dims));
  }

  // One that a caller may give or not, or only the model.
  std::string MakeConstant() {
    if (case_.values.empty()) return "";
    const size_t which = Below(case_.values.size());
    const auto [name, tensor] = case_.values[which];
    if (tensor.dtype() == DType::kString) return "";
    *graph_.add_initializer() = ProtoOf(name, tensor);
    if (Below(3) == 0) return absl::StrCat(name, " has a default");
    case_.values.erase(case_.values.begin() + static_cast<int64_t>(which));
    if (Below(3) == 0) return absl::StrCat(name, " has a default and is not given");
    auto* inputs = graph_.mutable_input();
    for (int i = 0; i < inputs->size(); ++i) {
      if (inputs->Get(i).name() == name) inputs->DeleteSubrange(i--, 1);
    }
    return absl::StrCat(name, " is constant");
  }

  std::string ChangeAttribute() {
    onnx::NodeProto* node = PickOf(graph_.mutable_node());
    if (node == nullptr || node->attribute_size() == 0) return "";
    onnx::AttributeProto* attribute = PickOf(node->mutable_attribute());
    if (attribute->has_g()) return "";
    if (Below(6) == 0) {
      const std::string name = attribute->name();
      node->mutable_attribute()->DeleteSubrange(IndexOf(*node, name), 1);
      return absl::StrCat("no ", name);
    }
    switch (attribute->type()) {
      case onnx::AttributeProto::INT:
        attribute->set_i(Pick(kNumbers));
        break;
      case onnx::AttributeProto::FLOAT:
        attribute->set_f(static_cast<float>(SpecialNumber()));
        break;
      case onnx::AttributeProto::INTS:
        if (attribute->ints_size() == 0 || Below(8) == 0) {
          attribute->add_ints(Pick(kNumbers));
        } else {
          attribute->set_ints(static_cast<int>(Below(static_cast<size_t>(attribute->ints_size()))), Pick(kNumbers));
        }
        break;
      case onnx::AttributeProto::STRING: {
        static constexpr const char* kWords[] = {
            "SAME_UPPER", "SAME_LOWER", "VALID", "NOTSET", "forward", "reverse", "bidirectional", "tanh", "none",
            "Relu",       "Sigmoid",    "add",   "mul",    "max",     "cubic",   "nearest",       ""};
        attribute->set_s(Pick(kWords));
        break;
      }
      default:
        return "";
    }
    return absl::StrCat(attribute->name(), " changed");
  }

  static int IndexOf(const onnx::NodeProto& node, const std::string& attribute) {
    for (int i = 0; i < node.attribute_size(); ++i) {
      if (node.attribute(i).name() == attribute) return i;
    }
    return 0;
  }

  std::string DropInput() {
    onnx::NodeProto* node = PickOf(graph_.mutable_node());
    if (node == nullptr || node->input_size() < 2) return "";
    const int which = static_cast<int>(Below(static_cast<size_t>(node->input_size())));
    if (which + 1 == node->input_size()) {
      node->mutable_input()->RemoveLast();
    } else {
      node->set_input(which, "");
    }
    return absl::StrCat("no input ", which, " of ", node->op_type());
  }

  // Behind an output, so that there is something to fuse; the value itself may stay an output.
  std::string AppendNode() {
    onnx::ValueInfoProto* output = PickOf(graph_.mutable_output());
    if (output == nullptr || !output->type().has_tensor_type()) return "";
    static constexpr const char* kOperators[] = {"Relu", "Sigmoid",   "Neg",     "Add", "Mul",
                                                 "Tanh", "Transpose", "Softmax", "Cast"};
    onnx::NodeProto* node = graph_.add_node();
    node->set_op_type(Pick(kOperators));
    node->add_input(output->name());
    const std::string name = absl::StrCat(output->name(), "_", graph_.node_size());
    node->add_output(name);
    if (node->op_type() == "Add" || node->op_type() == "Mul") {
      const bool has_values = !case_.values.empty();
      node->add_input(has_values && Below(2) == 0 ? Pick(case_.values).first : output->name());
      if (Below(2) == 0) std::swap(*node->mutable_input(0), *node->mutable_input(1));
    }
    onnx::ValueInfoProto behind = *output;
    behind.set_name(name);
    if (node->op_type() == "Cast") {
      static constexpr DType kTypes[] = {DType::kFloat16, DType::kBfloat16, DType::kFloat32};
      const int to = static_cast<int>(Pick(kTypes));
      onnx::AttributeProto* attribute = node->add_attribute();
      attribute->set_name("to");
      attribute->set_type(onnx::AttributeProto::INT);
      attribute->set_i(to);
      behind.mutable_type()->mutable_tensor_type()->set_elem_type(to);
    }
    if (Below(4) == 0) {
      *graph_.add_output() = std::move(behind);
    } else {
      *output = std::move(behind);
    }
    return absl::StrCat(node->op_type(), " behind");
  }

  std::string ChangeElement() {
    if (case_.values.empty()) return ChangeInitializer();
    auto& [name, tensor] = Pick(case_.values);
    if (tensor.num_elements() == 0 || tensor.dtype() == DType::kString || tensor.dtype() == DType::kBool) return "";
    if (Below(2) == 0) return ChangeInitializer();
    absl::StatusOr<std::vector<double>> numbers = ReadDoubles(tensor);
    if (!numbers.ok()) return "";
    Pick(*numbers) = IsFloat(tensor.dtype()) ? SpecialNumber() : static_cast<double>(Pick(kNumbers));
    Tensor changed = *Tensor::Create(tensor.dtype(), tensor.dims());
    if (!WriteDoubles(*numbers, changed).ok()) return "";
    tensor = changed;
    return absl::StrCat("another number in ", name);
  }

  std::string ChangeInitializer() {
    if (graph_.initializer_size() == 0) return "";
    onnx::TensorProto* tensor = PickOf(graph_.mutable_initializer());
    if (tensor->int64_data_size() == 0) return "";
    tensor->set_int64_data(static_cast<int>(Below(static_cast<size_t>(tensor->int64_data_size()))), Pick(kNumbers));
    return absl::StrCat("another number in ", tensor->name());
  }

  // A value that comes twice.
  std::string ShareInput() {
    onnx::NodeProto* node = PickOf(graph_.mutable_node());
    if (node == nullptr || node->input_size() < 2) return "";
    const auto size = static_cast<size_t>(node->input_size());
    const int to = static_cast<int>(Below(size)), from = static_cast<int>(Below(size));
    node->set_input(to, node->input(from));
    return absl::StrCat("input ", to, " is input ", from);
  }

  std::string EditMessage() { return Below(3) == 0 ? MutateOnce(case_.model, random_) : ""; }

  KernelCase& case_;
  onnx::GraphProto& graph_;
  std::mt19937_64& random_;
};

Tensor ValueFor(const onnx::TypeProto::Tensor& type, std::mt19937_64& random) {
  Dims dims;
  for (const auto& dim : type.shape().dim()) dims.push_back(dim.has_dim_value() ? dim.dim_value() : 3);
  Tensor tensor = *Tensor::Create(static_cast<DType>(type.elem_type()), dims);
  if (tensor.dtype() == DType::kBool) {
    for (bool& x : tensor.mutable_elements<bool>()) x = random() % 2 == 0;
    return tensor;
  }
  std::normal_distribution<double> normal(0, 2);
  std::vector<double> numbers(static_cast<size_t>(tensor.num_elements()));
  for (double& x : numbers) x = IsFloat(tensor.dtype()) ? normal(random) : static_cast<double>(random() % 4);
  AMP_CHECK(WriteDoubles(numbers, tensor).ok());
  return tensor;
}

// Two units in the last place, relative.
double TwoUnits(DType dtype) {
  if (dtype == DType::kFloat16) return std::ldexp(1, -9);
  if (dtype == DType::kBfloat16) return std::ldexp(1, -6);
  return std::ldexp(1, dtype == DType::kFloat64 ? -51 : -22);
}

Tensor Nudged(const Tensor& tensor, std::mt19937_64& random) {
  if (!IsFloat(tensor.dtype())) return tensor;
  std::vector<double> numbers = *ReadDoubles(tensor);
  const double step = TwoUnits(tensor.dtype());
  for (double& x : numbers) x *= random() % 2 == 0 ? 1 + step : 1 - step;
  Tensor result = *Tensor::Create(tensor.dtype(), tensor.dims());
  AMP_CHECK(WriteDoubles(numbers, result).ok());
  return result;
}

}  // namespace

absl::StatusOr<KernelCase> ParseKernelCase(absl::string_view graph) {
  AMP_ASSIGN_OR_RETURN(
      const std::string bytes,
      ParseOnnxText(absl::StrCat(
          "<ir_version: 10, opset_import: [\"\" : 23, \"com.microsoft\" : 1, \"ai.amp\" : 1]> g ", graph)));
  KernelCase result;
  AMP_CHECK(result.model.ParseFromString(bytes));
  std::mt19937_64 random(1);
  for (auto& input : *result.model.mutable_graph()->mutable_input()) {
    onnx::TypeProto::Tensor* type = input.mutable_type()->mutable_tensor_type();
    result.values.emplace_back(input.name(), ValueFor(*type, random));
    for (int i = 0; i < type->shape().dim_size(); ++i) {
      type->mutable_shape()->mutable_dim(i)->set_dim_param(absl::StrCat(input.name(), i));
    }
  }
  return result;
}

KernelCase Nudge(KernelCase each, std::mt19937_64& random) {
  for (auto& [name, tensor] : each.values) tensor = Nudged(tensor, random);
  for (onnx::TensorProto& proto : *each.model.mutable_graph()->mutable_initializer()) {
    absl::StatusOr<Tensor> tensor =
        Tensor::Create(static_cast<DType>(proto.data_type()), {proto.dims().begin(), proto.dims().end()});
    const std::string& bytes = proto.raw_data();
    if (!tensor.ok() || tensor->dtype() == DType::kString || tensor->size_bytes() != bytes.size()) continue;
    std::memcpy(tensor->mutable_bytes().data(), bytes.data(), bytes.size());
    proto = ProtoOf(proto.name(), Nudged(*tensor, random));
  }
  return each;
}

std::string MutateCase(KernelCase& each, std::mt19937_64& random) { return CaseMutation(each, random).Apply(); }

}  // namespace amp
