#include "ir/patterns/replace_batch_norm.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ir/file/description.h"
#include "ir/graph/attributes.h"
#include "ir/graph/shape.h"
#include "onnx/onnx_pb.h"

namespace amp {
namespace {

constexpr size_t kWeights = 1, kBias = 2;
constexpr absl::string_view kProduct = "Mul", kSum = "Add";
constexpr absl::string_view kStandIns[] = {kProduct, kSum};

class Replacer {
 public:
  Replacer(Model& model, NodeId norm)
      : model_(model), norm_(norm), output_(model.node(norm).Output(0)), output_name_(model.value(output_).name) {}

  NormReplacement Fold(const LinearProducer& producer, const FoldedConstants& folded) {
    SetConstant(producer.node, kWeights, folded.weights);
    const ValueId result = model_.node(producer.node).Output(0);
    if (producer.takes_addend) {
      SetConstant(producer.node, kBias, folded.bias);
      RemoveAttribute(model_, producer.node, "beta");
      TakeItsPlace(result);
    } else {
      const ValueId sum = AddBehind(result, folded.bias);
      model_.Rename(result, ScaledName());
      TakeItsPlace(sum);
    }
    return std::move(done_);
  }

  NormReplacement MulAndAdd(const ScaleAndShiftTensors& tensors) {
    const std::string name = ScaledName();
    const ValueId product = Insert(kProduct, name, name, model_.node(norm_).Input(0), "_factor", tensors.factor);
    TakeItsPlace(AddBehind(product, tensors.addend));
    return std::move(done_);
  }

 private:
  std::string Named(absl::string_view suffix) { return model_.UniqueName(absl::StrCat(output_name_, suffix)); }
  std::string ScaledName() { return Named("_scaled"); }

  // Lets the port read these elements: in place where nobody else reads what it has. The shape of a constant is no
  // matter of its elements: with another one it is another constant.
  void SetConstant(NodeId node, size_t port, const FloatTensor& tensor) {
    const ValueId before = model_.node(node).Input(port);
    onnx::TensorProto* elements = MakeTensor(model_, tensor);
    if (before != kNone && model_.value(before).uses.size() == 1 && ShapeOf(model_, before) == tensor.dims) {
      ReplaceConstant(model_, before, elements);
      done_.rewritten.push_back(before);
      return;
    }
    std::string name =
        before == kNone ? Named("_bias") : model_.UniqueName(absl::StrCat(model_.value(before).name, "_folded"));
    const ValueId made = model_.AddInitializer(model_.node(node).graph, std::move(name), elements);
    if (model_.node(node).inputs.size() <= port) {
      model_.AppendInput(node, made);
    } else {
      model_.SetInput(node, port, made);
      if (before != kNone) DropUnlessRead(before);
    }
  }

  // A node in the norm's stead: right behind it, as long as it is there.
  ValueId Insert(absl::string_view op_type, std::string name, std::string output, ValueId data,
                 absl::string_view suffix, const FloatTensor& tensor) {
    const Node& norm = model_.node(norm_);
    const GraphId graph = norm.graph;
    const CallId call = norm.call;
    const ValueId constant = model_.AddInitializer(graph, Named(suffix), MakeTensor(model_, tensor));
    const NodeId node = model_.InsertAfter(
        graph, last_ == kNone ? norm_ : last_,
        {.op_type = op_type, .name = std::move(name), .inputs = {data, constant}, .outputs = {std::move(output)}});
    last_ = node;
    model_.SetCall(node, call);
    const ValueId result = model_.node(node).Output(0);
    model_.CopyType(output_, result);
    return result;
  }

  // Goes by the norm's name, and tells what the file told about it.
  ValueId AddBehind(ValueId data, const FloatTensor& addend) {
    std::string output = Named("_shifted");
    std::string name(model_.node(norm_).name());
    if (name.empty()) name = output;
    const ValueId sum = Insert(kSum, std::move(name), std::move(output), data, "_addend", addend);
    const std::string description = SerializeDescription(*model_.node(norm_).proto);
    RestoreDescription(model_.EditProto(last_), description);
    return sum;
  }

  void TakeItsPlace(ValueId value) {
    done_.stand_in = model_.value(value).producer;
    model_.ReplaceUses(output_, value, [](const Use&) { return true; });
    const bool is_output = model_.IsModelOutput(output_);
    if (is_output) model_.TakeOverGraphOutputs(output_, value, Named("_replaced"));
    const auto inputs = model_.node(norm_).inputs;
    model_.Erase(norm_);
    if (!is_output) model_.Rename(value, output_name_);
    for (size_t port = 1; port < inputs.size(); ++port) DropUnlessRead(inputs[port]);
  }

  void DropUnlessRead(ValueId constant) {
    const Value& value = model_.value(constant);
    if (!value.uses.empty()) return;
    if (value.producer != kNone) {
      if (!model_.node(value.producer).erased) model_.Erase(value.producer);
    } else if (value.IsInitializer()) {
      model_.RemoveInitializer(constant);
    }
  }

  Model& model_;
  const NodeId norm_;
  const ValueId output_;
  const std::string output_name_;
  NodeId last_ = kNone;  // that was inserted
  NormReplacement done_;
};

}  // namespace

absl::Span<const absl::string_view> OperatorsOfStandIns() { return kStandIns; }

NormReplacement FoldInto(Model& model, const LinearProducer& producer, NodeId norm, const FoldedConstants& folded) {
  return Replacer(model, norm).Fold(producer, folded);
}

ScaleAndShiftTensors ShapeLikeData(const Model& model, NodeId norm, const ScaleAndShift& formula) {
  std::vector<int64_t> dims(ShapeOf(model, model.node(norm).Input(0))->size() - 1, 1);
  dims.front() = static_cast<int64_t>(formula.factor.size());
  const auto tensor = [&](const std::vector<double>& elements) {
    return FloatTensor{.dims = dims, .elements = {elements.begin(), elements.end()}};
  };
  return {tensor(formula.factor), tensor(formula.addend)};
}

NormReplacement WriteAsMulAndAdd(Model& model, NodeId norm, const ScaleAndShiftTensors& tensors) {
  return Replacer(model, norm).MulAndAdd(tensors);
}

}  // namespace amp
