// How a step graph says what it is, in its metadata: who makes one and who runs one share this file.
//
//   amp.state   [{"input": "w", "output": "w.next", "kind": "weight"}, ...]
//   amp.step    {"version": 1, "loss": "amp.loss", "finite": "amp.all_finite", "labels": "labels", ...}
//
// A step graph is an ordinary model that does one step of training. Whoever runs it replaces the input of every state
// by its output after each run, and need know no more: what a skipped step leaves alone is decided inside the graph.
// Files are edited, so that what is read is checked: names against each other, not against the graph.
#ifndef AMP_PASSES_TRAIN_STEP_METADATA_H_
#define AMP_PASSES_TRAIN_STEP_METADATA_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ir/base/dtype.h"
#include "ir/graph/graph.h"
#include "ir/graph/metadata.h"

namespace amp {

inline constexpr absl::string_view kStepKey = "amp.step";  // of metadata_props; the other one is kStateKey

// Names that a step graph has for what every one has.
inline constexpr absl::string_view kLossName = "amp.loss", kFiniteName = "amp.all_finite",
                                   kLearningRateName = "amp.learning_rate", kScaleName = "amp.loss_scale",
                                   kGoodStepsName = "amp.good_steps", kGlobalStepName = "amp.global_step";
// "w" -> "w.next"
std::string NextName(absl::string_view state);

// kSlot: of an optimizer. kRunning: statistics of a BatchNormalization.
enum class StateKind { kWeight, kSlot, kRunning, kScale, kCounter };
// kSparse: int64 [N]. kOneHot: float32 [N, C]. kTarget: of the prediction's shape.
enum class LabelKind { kSparse, kOneHot, kTarget };
// kGraph: an output of the model.
enum class LossKind { kSoftmaxCrossEntropy, kMse, kGraph };

absl::string_view StateKindName(StateKind kind);  // "weight"
absl::string_view LabelKindName(LabelKind kind);  // "onehot"
absl::string_view LossKindName(LossKind kind);    // "softmax-cross-entropy"

struct StepState {
  std::string input;   // a graph input with an initializer of that name, from which the first step starts
  std::string output;  // what the input is in the next step
  StateKind kind = StateKind::kWeight;
  bool operator==(const StepState&) const = default;
};

// Names of the graph's inputs and outputs; "" for one that it does not have.
struct StepDescription {
  std::string loss = std::string(kLossName);                   // float32, of the batch, unscaled
  std::string finite;                                          // bool: the step was done; "": every one is
  std::string labels;                                          // "": the loss is the model's own
  LabelKind label_kind = LabelKind::kSparse;                   // without labels of no meaning
  std::string logits;                                          // or the prediction; "" with a loss of the model's own
  std::string learning_rate = std::string(kLearningRateName);  // float32, an input with a default; "": there is none
  std::string scale, good_steps;                               // states; "": no loss scale, no counter
  std::string global_step = std::string(kGlobalStepName);      // a state: the steps that were done
  std::string optimizer;                                       // "rmsprop"
  DType dtype = DType::kFloat32;                               // that products are computed in
  LossKind loss_kind = LossKind::kSoftmaxCrossEntropy;
  std::vector<StepState> states;  // in order
  bool operator==(const StepDescription&) const = default;
};

std::string StateJson(const StepDescription& step);  // the value of amp.state
std::string StepJson(const StepDescription& step);   // the value of amp.step

// The other way round. kDataLoss, one line that begins with the key, for text that is no such description: another
// version, an unknown word, a name that is missing or there twice, a state that another field names and the list lacks.
absl::StatusOr<StepDescription> ParseStep(absl::string_view state_json, absl::string_view step_json);

bool IsStepGraph(const onnx::ModelProto& model);  // has either key
// The states alone: also of a training graph that a loss scale was put into, which has no amp.step. Empty for a model
// without any. kDataLoss for text that is no list of states.
absl::StatusOr<std::vector<StepState>> FindStates(const onnx::ModelProto& model);
// kDataLoss as well where the model has none of the keys, or one alone.
absl::StatusOr<StepDescription> FindStep(const onnx::ModelProto& model);
void SetStep(Model& model, const StepDescription& step);
// In which type the model computes now; no effect on one that is no step graph, or is described as none.
void SetStepType(Model& model, DType dtype);

}  // namespace amp

#endif  // AMP_PASSES_TRAIN_STEP_METADATA_H_
