// Trains: runs a step graph (amp-rewrite --train) again and again, and keeps its state in between.
//
//   AMP_ASSIGN_OR_RETURN(auto trainer, amp::Trainer::Create("step.onnx"));
//   for (const Batch& batch : batches) {
//     AMP_ASSIGN_OR_RETURN(amp::TrainStep step, trainer->Step({{"x", batch.x}, {"labels", batch.labels}}));
//     if (!step.finite) std::cout << "skipped; loss scale is " << step.loss_scale << " now\n";
//   }
//   AMP_RETURN_IF_ERROR(trainer->SaveWeights("trained.onnx", "forward.onnx"));
//
// The state is the weights, the optimizer's slots, running statistics, loss scale and counters. It moves from the
// outputs of a step to the inputs of the next without being copied, and a step that fails leaves it as it was. With a
// device (SessionOptions::device) it stays in the device's memory, where each step overwrites it. It is lost after an
// error of the device itself, or one behind the optimizer, as the message then says. Not thread-safe; distinct trainers
// are independent. Part of the public header, tools/library/amp.h.
#ifndef AMP_TOOLS_LIBRARY_TRAINER_H_
#define AMP_TOOLS_LIBRARY_TRAINER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/session.h"

namespace onnx {
class ModelProto;
}

namespace amp {

struct FileUses;
struct StepDescription;

// Whether an existing file may be replaced by a file of its own kind alone (a model by a model), or by anything.
enum class Overwrite { kSameKind, kAnyKind };

struct TrainStep {
  float loss = 0;        // mean of the batch, not scaled
  bool finite = true;    // false: the gradients held an Inf or a NaN, and the step was skipped: nothing else changed
  float loss_scale = 1;  // for the next step; 1 without one
  Tensor logits;         // or the prediction; of type kUndefined where the loss is the model's own
};

class Trainer {
 public:
  // The options' seed is for all steps together. Each step has random numbers of its own, also from nodes that state a
  // seed; those of ranks differ, as their samples do. Errors: those of Session::Create; kInvalidArgument, a rank group
  // for a step graph made without --data-parallel; kDataLoss, the model is no step graph, or its metadata do not fit
  // it.
  static absl::StatusOr<std::unique_ptr<Trainer>> Create(const std::string& path, const SessionOptions& options = {});
  // Creates a trainer for a serialized ModelProto. External data cannot be resolved.
  static absl::StatusOr<std::unique_ptr<Trainer>> CreateFromBytes(std::string model,
                                                                  const SessionOptions& options = {});
  ~Trainer();

  // Inputs of the model that are not state: data and labels. `may_go_on` may be null (RunOptions). Errors: those of
  // Session::Run.
  absl::StatusOr<TrainStep> Step(const NamedDatums& inputs, const NodeGate* may_go_on = nullptr);
  int64_t num_steps() const;  // that were run, skipped ones included

  float learning_rate() const;
  void set_learning_rate(float rate);  // without effect where the model has none

  std::vector<std::string> StateNames() const;
  // kInvalidArgument for a name that is no state's, or a value of another type or shape.
  absl::StatusOr<Tensor> State(const std::string& name) const;
  absl::Status SetState(const std::string& name, Tensor value);

  // Writes a model that has the trained weights and running statistics, atomically: `forward`, the one that the step
  // graph was made of, or another that has initializers of the same names, types and shapes. Without one, the step
  // graph's part up to the logits is written, taken back to float32 by the step's record of its rewrite. Errors:
  // kDataLoss if `forward` lacks an initializer, or if it is not given and the step graph computes the forward part as
  // for training (Dropout, BatchNormalization) or its record does not fit it; those of saving; kPermissionDenied if
  // `path` is the step graph, its data or `forward`.
  absl::Status SaveWeights(const std::string& path, const std::string& forward = "",
                           Overwrite overwrite = Overwrite::kSameKind) const;
  // Returns the model that SaveWeights would write, as a session, for evaluation.
  absl::StatusOr<std::unique_ptr<Session>> MakeForward(const std::string& forward = "") const;

  // Writes all that a trainer of the same step graph needs to go on from here and come to the same numbers, bit for
  // bit, on the same machine with as many threads; `note` is kept with it. The file is written atomically, as an
  // archive of arrays (.npz). Errors: those of saving; kPermissionDenied, where `path` is the step graph or its data.
  absl::Status SaveCheckpoint(const std::string& path, const std::string& note = "",
                              Overwrite overwrite = Overwrite::kSameKind) const;
  // Returns the note. Errors: kUnavailable; kInvalidArgument, no checkpoint or one of another step graph: then nothing
  // changes.
  absl::StatusOr<std::string> LoadCheckpoint(const std::string& path);

  // ---- internal
  // SaveCheckpoint, whose errors know whether they name a file (ir/base/status.h).
  absl::Status SaveNamedCheckpoint(const std::string& path, const std::string& note, Overwrite overwrite) const;
  // The model of MakeForward, with an edit.
  absl::StatusOr<std::unique_ptr<Session>> MakeEdited(const std::string& forward,
                                                      const std::function<absl::Status(onnx::ModelProto&)>& edit) const;
  // SaveWeights, with what is worth a word: what could not be taken back to float32.
  absl::StatusOr<std::vector<std::string>> SaveForward(const std::string& path, const std::string& forward,
                                                       Overwrite overwrite) const;
  // The files that the trainer reads, which none may replace.
  const FileUses& files() const;
  const StepDescription& description() const;
  const Session& session() const;
  // By the names of the states.
  bool IsState(const std::string& input) const;
  const std::string& graph_hash() const;
  // Where what is not finite begins in the step that was run last, with the state as it is now: that of before, where
  // the step was skipped. See tools/library/find_origin.h.
  absl::StatusOr<std::string> FindOriginInStep(const NamedDatums& inputs) const;
  // Which random numbers come next, in a run that goes on.
  void set_num_steps(int64_t count);

 private:
  struct Content;
  explicit Trainer(std::unique_ptr<Content> content);
  static absl::StatusOr<std::unique_ptr<Trainer>> Make(std::unique_ptr<Content> content);

  std::unique_ptr<Content> content_;
};

}  // namespace amp

#endif  // AMP_TOOLS_LIBRARY_TRAINER_H_
