#include "passes/train/loss.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "ir/base/status.h"
#include "ir/graph/attributes.h"
#include "ir/graph/graph_ports.h"
#include "ir/graph/infer.h"
#include "ir/graph/shape.h"
#include "ir/operators/operator_facts.h"
#include "passes/train/find_value.h"
#include "passes/train/gradient/loss_functions.h"
#include "passes/train/gradient/term.h"

namespace amp {
namespace {

constexpr absl::string_view kSameElements[] = {"Cast", "Flatten", "Identity", "Reshape", "Squeeze", "Unsqueeze"};

// The value that is compared with the labels, and the axis of its classes.
struct Prediction {
  ValueId output = kNone;  // of the model, or the value that was named
  Term term;               // the logits; for mse the output
  int64_t axis = -1;
  std::vector<int64_t> dims;  // of both, in the output's order of axes
  std::vector<std::string> symbols;
};

bool IsFloat(const Value& value) { return LargestFinite(value.dtype) > 0; }

absl::StatusOr<ValueId> FindOutput(const Model& model, const LossOptions& options) {
  if (!options.logits.empty()) return FindNamedValue(model, options.logits, "--logits");
  const std::vector<ValueId>& outputs = model.graph(kMainGraph).outputs;
  if (outputs.size() == 1) return outputs.front();
  std::vector<std::string> names;
  names.reserve(outputs.size());
  for (const ValueId output : outputs) names.push_back(model.value(output).name);
  return UsageError("the model has ", outputs.size(), " outputs (", QuotedFirstOf(names),
                    "): expected --logits to name the one that the labels are for");
}

class LossWriter {
 public:
  LossWriter(Model& model, const LossOptions& options) : model_(model), options_(options), write_(model) {
    write_.append().SetPrefix("loss");
  }

  absl::StatusOr<Loss> OfGraph() {
    AMP_ASSIGN_OR_RETURN(const ValueId value, FindNamedValue(model_, options_.graph_loss, "--loss graph:"));
    if (!IsFloat(model_.value(value)) || NumElements(model_, value) != 1) {
      return ModelError("the loss '", Escaped(options_.graph_loss), "' is ", TypeText(model_, value),
                        "; expected a float type and one element");
    }
    Loss loss;
    loss.loss = Cast(write_.Of(value), DType::kFloat32).value();
    if (!options_.logits.empty()) {
      AMP_ASSIGN_OR_RETURN(loss.logits, FindNamedValue(model_, options_.logits, "--logits"));
    }
    return loss;
  }

  absl::StatusOr<Loss> OfPrediction() {
    AMP_ASSIGN_OR_RETURN(Prediction prediction, FindPrediction());
    const bool is_error = options_.kind == LossKind::kMse;
    if (!is_error) {
      AMP_RETURN_IF_ERROR(FindLogits(prediction));
      AMP_RETURN_IF_ERROR(CheckClasses(prediction));
    }
    const bool is_sparse = !is_error && options_.label_kind == LabelKind::kSparse;
    AMP_ASSIGN_OR_RETURN(const ValueId labels, AddLabels(prediction, is_sparse));
    const AmpFunction& function = is_error    ? kMeanSquaredError
                                  : is_sparse ? kSparseSoftmaxCrossEntropy
                                              : kSoftmaxCrossEntropy;
    Term logits = prediction.term, targets = write_.Of(labels);
    const int64_t rank = static_cast<int64_t>(prediction.dims.size());
    if (!is_error && prediction.axis != rank - 1) {
      const Axes to_the_end = WithLast(prediction.axis, rank);
      logits = Transpose(logits, to_the_end);
      if (!is_sparse) targets = Transpose(targets, to_the_end);
    }
    const Term loss = write_.Call(function, {logits, targets}, 1, DType::kFloat32).front();
    return Loss{.loss = loss.value(), .labels = labels, .logits = prediction.term.value()};
  }

 private:
  static Axes WithLast(int64_t axis, int64_t rank) {
    Axes permutation(static_cast<size_t>(rank));
    std::iota(permutation.begin(), permutation.end(), 0);
    permutation.erase(permutation.begin() + axis);
    permutation.push_back(axis);
    return permutation;
  }

  absl::StatusOr<Prediction> FindPrediction() {
    AMP_ASSIGN_OR_RETURN(const ValueId output, FindOutput(model_, options_));
    const auto dims = ShapeOf(model_, output);
    const size_t least = options_.kind == LossKind::kMse ? 0 : 2;
    if (!IsFloat(model_.value(output)) || !dims.has_value() || dims->size() < least) {
      return ModelError("'", Escaped(model_.value(output).name), "' is ", TypeText(model_, output), Unknown(output),
                        "; expected a float type and a known rank", least > 0 ? " of 2 or more" : "",
                        " of what a loss is to be of");
    }
    const int64_t last = static_cast<int64_t>(dims->size()) - 1;
    return Prediction{output, write_.Of(output), last, *dims, DimSymbols(model_, output)};
  }

  // ", of unknown rank from node 'r' (Reshape) on": what is not known of the value, and where that begins.
  std::string Unknown(ValueId value) const {
    const bool lacks_type = model_.value(value).dtype == DType::kUndefined;
    const auto is_unknown = [&](ValueId id) {
      return lacks_type ? model_.value(id).dtype == DType::kUndefined : !ShapeOf(model_, id).has_value();
    };
    if (!is_unknown(value)) return "";
    NodeId first = kNone;
    while (value != kNone && model_.value(value).producer != kNone) {
      first = model_.value(value).producer;
      value = kNone;
      for (const ValueId input : model_.node(first).PresentInputs()) {
        if (value == kNone && is_unknown(input)) value = input;
      }
    }
    const std::string where = value != kNone ? absl::StrCat("input '", Escaped(model_.value(value).name), "'")
                                             : absl::StrCat("node '", Escaped(model_.NodeLabel(first)), "' (",
                                                            Escaped(model_.node(first).op_type()), ")");
    return absl::StrCat(lacks_type ? ", of unknown type from " : ", of unknown rank from ", where, " on");
  }

  // Finds the input of the softmax that gives the output, if only operators that keep elements and order are behind it.
  absl::Status FindLogits(Prediction& prediction) {
    ValueId value = prediction.output;
    bool is_reshaped = false;
    for (;;) {
      const NodeId producer = model_.value(value).producer;
      if (producer == kNone) return absl::OkStatus();
      const Node& node = model_.node(producer);
      if (IsSoftmax(node)) return TakeOff(prediction, producer, is_reshaped);
      const bool keeps = node.domain().empty() && std::find(std::begin(kSameElements), std::end(kSameElements),
                                                            node.op_type()) != std::end(kSameElements);
      if (!keeps || !IsFloat(model_.value(node.Input(0)))) return absl::OkStatus();
      is_reshaped = is_reshaped || node.Has(Role::kRearranges);
      value = node.Input(0);
    }
  }

  absl::Status TakeOff(Prediction& prediction, NodeId softmax, bool is_reshaped) {
    const Node& node = model_.node(softmax);
    const Term logits = write_.Of(node.Input(0));
    const auto dims = ShapeOf(model_, logits.value());
    const std::string name = Escaped(model_.NodeLabel(softmax));
    if (!dims.has_value()) return ModelError("node '", name, "': expected a known rank of what the loss is to be of");
    const int64_t rank = static_cast<int64_t>(dims->size());
    int64_t axis = GetInt(node, "axis", -1);
    axis = axis < 0 ? axis + rank : axis;
    if (axis < 0 || axis >= rank) return ModelError("node '", name, "': expected an axis of its operand, found ", axis);
    const bool is_same_shape = *dims == prediction.dims && DimSymbols(model_, logits.value()) == prediction.symbols;
    if (!is_reshaped || is_same_shape) {
      prediction.term = logits;
      prediction.axis = axis;
      return absl::OkStatus();
    }
    const int64_t num_classes = dims->back();
    if (axis != rank - 1 || num_classes == kUnknownDim || num_classes != prediction.dims.back()) {
      return ModelError("node '", name, "': its classes are not along the last axis of '",
                        Escaped(model_.value(prediction.output).name),
                        "' any more, behind a change of shape; expected --logits to name the logits themselves");
    }
    prediction.term = ReshapeLike(logits, prediction.output);
    prediction.axis = static_cast<int64_t>(prediction.dims.size()) - 1;
    return absl::OkStatus();
  }

  absl::Status CheckClasses(const Prediction& prediction) const {
    const int64_t num_classes = prediction.dims[static_cast<size_t>(prediction.axis)];
    if (num_classes == kUnknownDim || num_classes >= 2) return absl::OkStatus();
    return ModelError("'", Escaped(model_.value(prediction.output).name), "' is ", TypeText(model_, prediction.output),
                      ": the softmax cross-entropy of ", num_classes, num_classes == 1 ? " class" : " classes",
                      " along axis ", prediction.axis, " is constant; expected 2 or more, or another --loss");
  }

  absl::StatusOr<ValueId> AddLabels(const Prediction& prediction, bool is_sparse) {
    std::string name = model_.UniqueName(options_.labels);
    if (name != options_.labels || name.empty()) {
      return UsageError("--labels '", Escaped(options_.labels), "': the model has this name already");
    }
    std::vector<int64_t> dims = prediction.dims;
    std::vector<std::string> symbols = prediction.symbols;
    if (is_sparse) {
      dims.erase(dims.begin() + prediction.axis);
      symbols.erase(symbols.begin() + prediction.axis);
    }
    return AddGraphInput(model_, std::move(name), is_sparse ? DType::kInt64 : DType::kFloat32, dims, symbols);
  }

  Model& model_;
  const LossOptions& options_;
  TermWriter write_;
};

}  // namespace

absl::StatusOr<Loss> AddLoss(Model& model, const LossOptions& options) {
  LossWriter writer(model, options);
  AMP_ASSIGN_OR_RETURN(const Loss loss, options.kind == LossKind::kGraph ? writer.OfGraph() : writer.OfPrediction());
  if (options.kind != LossKind::kGraph) StateType(model, loss.loss, DType::kFloat32, {});
  model.Commit();  // with the type of the loss, which inference takes: it does not look into functions
  InferTypes(model);
  if (options.kind != LossKind::kGraph) StateType(model, loss.loss, DType::kFloat32, {});
  return loss;
}

}  // namespace amp
