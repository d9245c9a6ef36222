#include "tools/run/evaluate_model.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "ir/base/status.h"
#include "ir/file/model_file.h"
#include "ir/functions/cut_model.h"
#include "ir/graph/shape.h"
#include "ir/patterns/pattern_search.h"
#include "nlohmann/json.hpp"
#include "runtime/kernel/element.h"
#include "runtime/session.h"
#include "tools/data/data_file.h"
#include "tools/data/data_set.h"
#include "tools/data/judge_batch.h"

namespace amp {
namespace {

struct Evaluated {
  std::unique_ptr<Session> session;
  std::vector<InputType> inputs;
  InputType labels;
  std::string scores, logits;  // outputs; `logits` is empty where none is known
  bool are_classes = false;    // the labels
  bool are_of_two = false;     // the labels, for a Sigmoid's probability of class 1
  LabelKind kind = LabelKind::kTarget;
  int64_t num_classes = -1;
  int64_t batch = 1;
};

// The sums over all samples.
struct Findings {
  int64_t samples = 0;
  std::optional<double> loss, accuracy, absolute_error;
};

// The output that is judged: the only one, or the one that has the name of the labels.
absl::StatusOr<std::string> FindScores(const RunArguments& a, const std::vector<std::string>& outputs) {
  if (outputs.size() == 1) return outputs[0];
  std::string found;
  for (const auto& [name, path] : a.evaluate) {
    if (absl::c_linear_search(outputs, name)) found = name;
  }
  if (!found.empty()) return found;
  return UsageError("--evaluate: expected labels under the name of the output that they judge, found outputs ",
                    QuotedFirstOf(outputs));
}

absl::Status MakeSession(const RunArguments& a, Evaluated& evaluated) {
  AMP_ASSIGN_OR_RETURN(LoadedFile file,
                       LoadModel(a.model, {.limits = a.session.limits, .payloads = Payloads::kInFile}));
  AMP_ASSIGN_OR_RETURN(evaluated.scores, FindScores(a, OutputNames(*file.model)));
  evaluated.logits = AddLogitsOutput(*file.model, evaluated.scores, "");
  AMP_ASSIGN_OR_RETURN(evaluated.session, Session::Create(std::move(file), a.session));
  for (const std::string& name : evaluated.session->InputNames()) {
    AMP_ASSIGN_OR_RETURN(evaluated.inputs.emplace_back(), FindInput(*evaluated.session, name));
  }
  return absl::OkStatus();
}

// The file that is no input's.
absl::StatusOr<std::string> FindLabels(const RunArguments& a, Evaluated& evaluated) {
  std::vector<std::string> names, others;
  for (const InputType& input : evaluated.inputs) names.push_back(input.name);
  std::string file;
  for (const auto& [name, path] : a.evaluate) {
    if (absl::c_linear_search(names, name)) continue;
    others.push_back(name);
    file = path;
  }
  if (others.size() == 1) {
    evaluated.labels.name = others[0];
    return file;
  }
  return UsageError("--evaluate: expected a file for each input, ", QuotedFirstOf(names),
                    ", and one of labels under another name, found ",
                    others.empty() ? "no other name" : QuotedFirstOf(others));
}

ValueId ScoresOf(const Evaluated& evaluated) {
  const Session& session = *evaluated.session;
  for (const ValueId output : session.outputs()) {
    if (session.model().value(output).name == evaluated.scores) return output;
  }
  return kNone;
}

// Whether the output is a Sigmoid's, behind casts and changes of shape.
bool IsSigmoid(const Model& model, ValueId value) {
  const PatternSearch search(model);
  constexpr int kMostMoves = 8;
  for (int i = 0; i < kMostMoves; ++i) {
    value = search.Origin(value);
    const NodeId node = model.value(value).producer;
    if (node == kNone || search.Is(node, "Sigmoid")) return node != kNone;
    constexpr absl::string_view kMoves[] = {"Cast", "Reshape", "Squeeze", "Unsqueeze", "Flatten"};
    if (!absl::c_any_of(kMoves, [&](absl::string_view op_type) { return search.Is(node, op_type); })) return false;
    value = model.node(node).inputs[0];
  }
  return false;
}

// Decides how labels are judged. Whole numbers, one per sample, for an output of several scores are classes; 0 and 1
// for a Sigmoid's one number are two classes. All others are compared with the output as they are.
absl::Status JudgeLabels(const Tensor& labels, Evaluated& evaluated) {
  const Model& model = evaluated.session->model();
  const ValueId scores = ScoresOf(evaluated);
  const std::vector<int64_t> dims = ShapeOf(model, scores).value_or(std::vector<int64_t>());
  const bool is_one_number = labels.rank() == 1 || (labels.rank() == 2 && labels.dim(1) == 1);
  const bool has_scores = dims.size() == 2 && dims[1] != 1;
  const bool is_whole = VisitIntegers(labels.dtype(), [](auto) {});
  if (is_one_number && is_whole && has_scores) {
    evaluated.are_classes = true;
    evaluated.kind = LabelKind::kSparse;
    evaluated.num_classes = dims[1];
    evaluated.labels.dtype = DType::kInt64;
    evaluated.labels.dims = {-1};
    return absl::OkStatus();
  }
  evaluated.are_classes = AreOneHot(labels);
  evaluated.are_of_two = is_one_number && !has_scores && AreOfTwoClasses(labels) && IsSigmoid(model, scores);
  evaluated.labels.dtype = DType::kFloat32;
  evaluated.labels.dims = dims.empty() ? std::vector<int64_t>(labels.dims().begin(), labels.dims().end()) : dims;
  evaluated.labels.dims[0] = -1;
  return absl::OkStatus();
}

// Sets the batch: the model's fixed one, if it has one, else the flag's.
absl::Status ChooseBatch(const RunArguments& a, int64_t num_samples, Evaluated& evaluated) {
  evaluated.batch = std::min(a.batch, num_samples);
  for (const InputType& input : evaluated.inputs) {
    if (!input.is_read || input.dims.empty() || input.dims[0] < 0) continue;
    evaluated.batch = std::max<int64_t>(input.dims[0], 1);
    if (num_samples % evaluated.batch == 0) continue;
    return UsageError("input '", Escaped(input.name), "': expected a multiple of ", evaluated.batch,
                      " samples, as its batch is fixed, found ", num_samples);
  }
  return absl::OkStatus();
}

const Tensor* OutputOf(const Session& session, const std::vector<Datum>& outputs, const std::string& name) {
  const std::vector<std::string> names = session.OutputNames();
  const auto it = absl::c_find(names, name);
  return it == names.end() ? nullptr : outputs[static_cast<size_t>(it - names.begin())].tensor();
}

absl::Status RefuseScores(const Tensor* scores, const Tensor& labels) {
  return UsageError("--evaluate: expected an output that fits labels of ", labels.TypeText(), ", found ",
                    scores == nullptr ? "no tensor" : scores->TypeText());
}

// Sums of what each batch gives, times its samples.
class Totals {
 public:
  absl::Status Add(const Evaluated& evaluated, const std::vector<Datum>& outputs, const Tensor& labels) {
    const Tensor* const scores = OutputOf(*evaluated.session, outputs, evaluated.scores);
    if (scores == nullptr) return RefuseScores(scores, labels);
    if (evaluated.are_of_two) return AddTwoClasses(*scores, labels);
    return evaluated.are_classes ? AddClasses(evaluated, outputs, *scores, labels) : AddErrors(*scores, labels);
  }

  Findings Means(int64_t samples) const {
    const auto count = static_cast<double>(samples);
    Findings findings;
    findings.samples = samples;
    if (has_loss_) findings.loss = loss_ / count;
    if (is_classified_) findings.accuracy = right_ / count;
    if (!is_classified_) findings.absolute_error = absolute_error_ / count;
    return findings;
  }

 private:
  absl::Status AddClasses(const Evaluated& evaluated, const std::vector<Datum>& outputs, const Tensor& scores,
                          const Tensor& labels) {
    const std::optional<int64_t> right = CountRight(scores, labels);
    if (!right.has_value()) return RefuseScores(&scores, labels);
    right_ += static_cast<double>(*right);
    is_classified_ = true;
    const Tensor* const logits =
        evaluated.logits.empty() ? nullptr : OutputOf(*evaluated.session, outputs, evaluated.logits);
    const std::optional<double> loss = logits == nullptr ? std::nullopt : SoftmaxCrossEntropy(*logits, labels);
    has_loss_ = has_loss_ && loss.has_value();
    loss_ += loss.value_or(0) * static_cast<double>(labels.dim(0));
    return absl::OkStatus();
  }

  absl::Status AddTwoClasses(const Tensor& probabilities, const Tensor& labels) {
    const std::optional<int64_t> right = CountRightOfTwo(probabilities, labels);
    const std::optional<double> loss = BinaryCrossEntropy(probabilities, labels);
    if (!right.has_value() || !loss.has_value()) return RefuseScores(&probabilities, labels);
    right_ += static_cast<double>(*right);
    is_classified_ = true;
    loss_ += *loss * static_cast<double>(labels.dim(0));
    return absl::OkStatus();
  }

  absl::Status AddErrors(const Tensor& scores, const Tensor& labels) {
    const std::optional<double> squared = MeanSquaredError(scores, labels),
                                absolute = MeanAbsoluteError(scores, labels);
    if (!squared.has_value() || !absolute.has_value()) return RefuseScores(&scores, labels);
    loss_ += *squared * static_cast<double>(labels.dim(0));
    absolute_error_ += *absolute * static_cast<double>(labels.dim(0));
    return absl::OkStatus();
  }

  double loss_ = 0, right_ = 0, absolute_error_ = 0;
  bool has_loss_ = true, is_classified_ = false;
};

absl::StatusOr<Findings> Run(const Evaluated& evaluated, const DataSet& data, const ToolStreams& streams) {
  Totals totals;
  for (int64_t first = 0; first < data.num_samples(); first += evaluated.batch) {
    streams.show_progress(absl::StrCat("sample ", first, " of ", data.num_samples()));
    std::vector<int64_t> rows(static_cast<size_t>(std::min(evaluated.batch, data.num_samples() - first)));
    std::iota(rows.begin(), rows.end(), first);
    AMP_ASSIGN_OR_RETURN(NamedDatums batch, data.Batch(rows));
    const Tensor labels = *batch[evaluated.labels.name].tensor();
    batch.erase(evaluated.labels.name);
    AMP_ASSIGN_OR_RETURN(const std::vector<Datum> outputs, evaluated.session->Run(batch));
    AMP_RETURN_IF_ERROR(totals.Add(evaluated, outputs, labels));
  }
  return totals.Means(data.num_samples());
}

std::string AsText(const Findings& findings) {
  std::string text;
  if (findings.loss.has_value()) absl::StrAppendFormat(&text, "loss %.4f  ", *findings.loss);
  if (findings.accuracy.has_value()) absl::StrAppendFormat(&text, "accuracy %.4f  ", *findings.accuracy);
  if (findings.absolute_error.has_value()) {
    absl::StrAppendFormat(&text, "mean absolute error %.4f  ", *findings.absolute_error);
  }
  return absl::StrCat(text, findings.samples, " samples\n");
}

std::string AsJson(const Findings& findings) {
  nlohmann::ordered_json json = {{"samples", findings.samples}};
  if (findings.loss.has_value()) json["loss"] = *findings.loss;
  if (findings.accuracy.has_value()) json["accuracy"] = *findings.accuracy;
  if (findings.absolute_error.has_value()) json["mean_absolute_error"] = *findings.absolute_error;
  return json.dump(1) + "\n";
}

}  // namespace

absl::Status EvaluateModel(const RunArguments& arguments, const ToolStreams& streams, ToolOutput& output) {
  streams.show_progress("loading");
  Evaluated evaluated;
  AMP_RETURN_IF_ERROR(MakeSession(arguments, evaluated));
  AMP_ASSIGN_OR_RETURN(const std::string file, FindLabels(arguments, evaluated));
  AMP_ASSIGN_OR_RETURN(const Tensor labels, ReadDataFile(file));
  AMP_RETURN_IF_ERROR(JudgeLabels(labels, evaluated));
  AMP_ASSIGN_OR_RETURN(const DataSet data,
                       DataSet::Read(arguments.evaluate, evaluated.inputs, evaluated.labels, evaluated.kind,
                                     {.flag = "--evaluate",
                                      .fit = arguments.fit,
                                      .num_classes = evaluated.num_classes,
                                      .device = arguments.session.device.get()}));
  AMP_RETURN_IF_ERROR(ChooseBatch(arguments, data.num_samples(), evaluated));
  AMP_ASSIGN_OR_RETURN(const Findings findings, Run(evaluated, data, streams));
  if (!arguments.quiet && !arguments.json) output.out += data.Describe();
  output.out += arguments.json ? AsJson(findings) : AsText(findings);
  if (!findings.loss.has_value() && !arguments.quiet) {
    absl::StrAppend(
        &output.err,
        "amp-run: note: no loss, as the output is neither a Softmax's nor a product or sum, so that nothing "
        "says whether it has logits\n");
  }
  return absl::OkStatus();
}

}  // namespace amp
