#include "tools/train/amp_train.h"

#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ir/base/status.h"
#include "ir/file/save.h"
#include "ir/graph/shape.h"
#include "tools/train/new_model.h"
#include "tools/train/stop_signals.h"
#include "tools/train/train_arguments.h"
#include "tools/train/train_loop.h"

namespace amp {
namespace {

constexpr int kSignalExitCode = 128;  // and the signal's number, as shells have it

absl::Status MakeNewModel(const std::vector<std::string>& arguments, ToolOutput& output) {
  AMP_ASSIGN_OR_RETURN(const NewModelArguments a, ParseNewModelArguments(arguments));
  if (!a.text.empty()) {
    output.out = a.text;
    return absl::OkStatus();
  }
  const bool is_mlp = a.kind == NewModelArguments::Kind::kMlp;
  AMP_ASSIGN_OR_RETURN(const LoadedFile file, is_mlp ? NewMlp(a.layers, a.seed) : NewCnn(a.seed));
  absl::StatusOr<SaveResult> saved = SaveModel(*file.model, file.weights(), a.output, {});
  if (!saved.ok()) return InFile(Escaped(a.output), saved.status());
  output.written = a.output;
  output.out = absl::StrCat("wrote ", Escaped(a.output), "\n");
  return absl::OkStatus();
}

// The size of the last dimension of what labels are compared with; -1 where it is not known.
int64_t NumClasses(const Trainer& trainer) {
  const StepDescription& step = trainer.description();
  if (step.label_kind == LabelKind::kTarget) return -1;
  const Model& model = trainer.session().model();
  for (const ValueId output : trainer.session().outputs()) {
    if (model.value(output).name != step.logits) continue;
    const std::optional<std::vector<int64_t>> dims = ShapeOf(model, output);
    if (dims.has_value() && dims->size() >= 2) return dims->back();
  }
  return -1;
}

absl::StatusOr<DataSet> ReadTrainingData(const Trainer& trainer, const TrainArguments& a) {
  const StepDescription& step = trainer.description();
  std::vector<InputType> inputs;
  std::optional<InputType> labels;
  for (const std::string& name : trainer.session().InputNames()) {
    if (trainer.IsState(name)) continue;
    AMP_ASSIGN_OR_RETURN(InputType input, FindInput(trainer.session(), name));
    if (name == step.labels) {
      labels = std::move(input);
    } else {
      inputs.push_back(std::move(input));
    }
  }
  AMP_ASSIGN_OR_RETURN(DataSet data,
                       DataSet::Read(a.data, inputs, labels, step.label_kind,
                                     {.flag = "--data", .fit = a.fit, .num_classes = NumClasses(trainer)}));
  AMP_RETURN_IF_ERROR(data.CheckBatch(a.batch, a.drop_last));
  return data;
}

absl::Status CheckSameSamples(const TrainProgress& from, const TrainProgress& now) {
  if (from.num_samples != now.num_samples) {
    return UsageError("expected ", from.num_samples, " samples, as when it was written; found ", now.num_samples);
  }
  if (from.next_batch == 0) return absl::OkStatus();
  const bool is_same = from.batch == now.batch && from.drop_last == now.drop_last && from.shuffle == now.shuffle;
  if (is_same) return absl::OkStatus();
  return UsageError("it was written within an epoch: expected --batch ", from.batch,
                    from.drop_last ? " --drop-last" : "",
                    from.shuffle.has_value() ? absl::StrCat(" --shuffle ", *from.shuffle) : ", no --shuffle",
                    " as then, found others");
}

// Where the run begins: at the start, or where the checkpoint says.
absl::StatusOr<TrainProgress> FirstProgress(const TrainArguments& a, const DataSet& data, Trainer& trainer) {
  TrainProgress progress;
  progress.base_rate = a.learning_rate.value_or(trainer.learning_rate());
  if (!trainer.description().scale.empty()) {
    AMP_ASSIGN_OR_RETURN(const Tensor scale, trainer.State(trainer.description().scale));
    if (scale.dtype() == DType::kFloat32 && scale.num_elements() == 1) progress.loss_scale = scale.elements<float>()[0];
  }
  progress.batch = a.batch;
  progress.num_samples = data.num_samples();
  progress.drop_last = a.drop_last;
  progress.shuffle = a.shuffle;
  if (a.resume.empty()) return progress;
  AMP_ASSIGN_OR_RETURN(const std::string note, trainer.LoadCheckpoint(a.resume));
  absl::StatusOr<TrainProgress> resumed = ParseProgress(note);
  if (!resumed.ok()) return InFile(Escaped(a.resume), resumed.status());
  AMP_RETURN_IF_ERROR(InFile(Escaped(a.resume), CheckSameSamples(*resumed, progress)));
  resumed->batch = progress.batch;
  resumed->drop_last = progress.drop_last;
  resumed->shuffle = progress.shuffle;
  if (a.learning_rate.has_value()) resumed->base_rate = *a.learning_rate;
  return resumed;
}

absl::Status FinishRun(const TrainArguments& a, const Trainer& trainer, const TrainProgress& progress,
                       ResultsGoTo results, const ToolStreams& streams, ToolOutput& output) {
  const bool draws = a.curve || (results == ResultsGoTo::kTerminal && !a.quiet);
  if (draws) AMP_RETURN_IF_ERROR(streams.print(DrawCurve(progress.curve)));
  if (a.save_weights.empty()) return absl::OkStatus();
  AMP_RETURN_IF_ERROR(InFile(Escaped(a.save_weights), trainer.SaveWeights(a.save_weights, a.forward)));
  output.written = a.save_weights;
  if (!a.quiet) absl::StrAppend(&output.out, "wrote ", Escaped(a.save_weights), "\n");
  return absl::OkStatus();
}

void ReportStop(const TrainArguments& a, const TrainProgress& progress, int signal, ToolOutput& output) {
  output.exit_code = kSignalExitCode + signal;
  const std::string what = a.checkpoint.empty()
                               ? std::string("nothing is kept without --checkpoint")
                               : absl::StrCat("wrote ", Escaped(a.checkpoint), ", which --resume goes on from");
  absl::StrAppend(&output.err, "amp-train: stopped by ", signal == SIGINT ? "SIGINT" : "SIGTERM", " in epoch ",
                  progress.epoch + 1, " after ", progress.next_batch, " batches: ", what, "\n");
}

absl::Status Train(const TrainArguments& a, const ToolStreams& streams, ResultsGoTo results, ToolOutput& output) {
  streams.show_progress("loading");
  AMP_ASSIGN_OR_RETURN(const std::unique_ptr<Trainer> trainer, Trainer::Create(a.model, a.session));
  AMP_ASSIGN_OR_RETURN(const DataSet data, ReadTrainingData(*trainer, a));
  AMP_ASSIGN_OR_RETURN(TrainProgress progress, FirstProgress(a, data, *trainer));
  std::optional<Evaluator> evaluator;
  if (!a.eval_data.empty()) {
    AMP_ASSIGN_OR_RETURN(evaluator, Evaluator::Create(*trainer, a, NumClasses(*trainer)));
  } else if (!a.save_weights.empty()) {
    AMP_RETURN_IF_ERROR(
        trainer->MakeForward(a.forward).status());  // what cannot be saved is known before the first step
  }
  if (!a.quiet) AMP_RETURN_IF_ERROR(streams.print(data.Describe()));
  const StopSignals signals;
  const TrainTask task{.arguments = &a,
                       .trainer = trainer.get(),
                       .data = &data,
                       .evaluator = evaluator.has_value() ? &*evaluator : nullptr,
                       .streams = &streams,
                       .caught = [&] { return signals.Caught(); }};
  AMP_ASSIGN_OR_RETURN(const int signal, RunTrainLoop(task, progress));
  if (signal == 0) return FinishRun(a, *trainer, progress, results, streams, output);
  ReportStop(a, progress, signal, output);
  return absl::OkStatus();
}

absl::Status Run(const std::vector<std::string>& arguments, ToolStreams& streams, ResultsGoTo results,
                 ToolOutput& output) {
  if (!arguments.empty() && arguments[0] == "new")
    return MakeNewModel({arguments.begin() + 1, arguments.end()}, output);
  AMP_ASSIGN_OR_RETURN(const TrainArguments a, ParseTrainArguments(arguments));
  if (!a.text.empty()) {
    output.out = a.text;
    return absl::OkStatus();
  }
  if (a.quiet) streams.show_progress = [](const std::string&) {};
  return InFile(Escaped(a.model), Train(a, streams, results, output));
}

}  // namespace

ToolOutput RunAmpTrain(const std::vector<std::string>& arguments, ToolStreams streams, ResultsGoTo results) {
  ToolOutput output;
  if (!streams.print) streams.print = CollectIn(output);
  if (!streams.warn) streams.warn = [&](absl::string_view text) { output.err.append(text.data(), text.size()); };
  if (!streams.show_progress) streams.show_progress = [](const std::string&) {};
  absl::Status status;
  // Exceptions of the libraries below end here.
  try {
    status = Run(arguments, streams, results, output);
  } catch (const std::bad_alloc&) {
    status = LimitError("out of memory");
  } catch (const std::exception& error) {
    status = absl::InternalError(Escaped(error.what()));
  }
  if (!status.ok()) {
    output.exit_code = ExitCode(status);
    absl::StrAppend(&output.err, "amp-train: error: ", std::string(status.message()), "\n");
  }
  return output;
}

}  // namespace amp
