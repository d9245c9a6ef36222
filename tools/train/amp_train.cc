#include "tools/train/amp_train.h"

#include <chrono>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ir/base/fenced.h"
#include "ir/base/status.h"
#include "ir/file/save.h"
#include "ir/graph/shape.h"
#include "runtime/device_run/use_device.h"
#include "tools/program/out_of_memory.h"
#include "tools/program/phase_times.h"
#include "tools/program/tuning_file.h"
#include "tools/train/batch_plan.h"
#include "tools/train/finite_states.h"
#include "tools/train/launcher.h"
#include "tools/train/new_model.h"
#include "tools/train/ranks.h"
#include "tools/train/result_files.h"
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
  NameInOutOfMemory(a.output);
  WritesInOutOfMemory(a.output);
  AMP_RETURN_IF_ERROR(CheckFileUses({.writes = {{"-o", a.output, FileKind::kModel}}, .force = a.force}));
  const bool is_mlp = a.kind == NewModelArguments::Kind::kMlp;
  AMP_ASSIGN_OR_RETURN(const LoadedFile file, is_mlp ? NewMlp(a.layers, a.seed, a.task) : NewCnn(a.seed));
  SaveOptions how;
  how.force = a.force;
  absl::StatusOr<SaveResult> saved = SaveModel(*file.model, file.weights(), a.output, how);
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
  return DataSet::Read(
      a.data, inputs, labels, step.label_kind,
      {.flag = "--data", .fit = a.fit, .num_classes = NumClasses(trainer), .device = a.session.device.get()});
}

// "; expected --validation-split 0.25 as then, found none", where that flag may be why the samples are others.
std::string OtherSplit(const TrainProgress& from, const TrainProgress& now) {
  constexpr char kFlag[] = "--validation-split";
  const auto split = [&](const TrainProgress& progress) {
    const auto it = progress.flags.find(kFlag);
    return it == progress.flags.end() || it->second == "0" ? std::string("none") : it->second;
  };
  const std::string before = split(from), after = split(now);
  if (before == after) return "";
  return before == "none" ? absl::StrCat("; expected no ", kFlag, " as then, found ", after)
                          : absl::StrCat("; expected ", kFlag, " ", before, " as then, found ", after);
}

absl::Status CheckSameSamples(const TrainProgress& from, const TrainProgress& now) {
  if (from.num_samples != now.num_samples) {
    return UsageError("expected ", from.num_samples, " samples, as when it was written; found ", now.num_samples,
                      OtherSplit(from, now));
  }
  if (from.next_batch == 0) return absl::OkStatus();
  const bool is_same = from.batch == now.batch && from.drop_last == now.drop_last && from.shuffle == now.shuffle;
  if (is_same) return absl::OkStatus();
  return UsageError("it was written within an epoch: expected --batch ", from.batch,
                    from.drop_last ? " --drop-last" : "",
                    from.shuffle.has_value() ? absl::StrCat(" --shuffle ", *from.shuffle) : ", no --shuffle",
                    " as then, found others");
}

// Where a run begins.
struct Beginning {
  TrainProgress progress;
  std::string changes;  // of flags, since the checkpoint was written
};

// At the start, or where the checkpoint says.
absl::StatusOr<Beginning> Begin(const TrainArguments& a, int64_t num_samples, Trainer& trainer, const Ranks& ranks) {
  TrainProgress progress;
  progress.base_rate = a.learning_rate.value_or(trainer.learning_rate());
  if (!trainer.description().scale.empty()) {
    AMP_ASSIGN_OR_RETURN(const Tensor scale, trainer.State(trainer.description().scale));
    if (scale.dtype() == DType::kFloat32 && scale.num_elements() == 1) progress.loss_scale = scale.elements<float>()[0];
  }
  progress.batch = a.batch;
  progress.num_samples = num_samples;
  progress.drop_last = a.drop_last;
  progress.shuffle = a.shuffle;
  progress.flags = StepFlags(a, progress.base_rate);
  if (a.resume.empty() || !ranks.IsFirst()) return Beginning{progress, ""};
  const absl::StatusOr<std::string> note = trainer.LoadCheckpoint(a.resume);
  if (!note.ok()) return InFile(Escaped(a.resume), note.status());
  absl::StatusOr<TrainProgress> resumed = ParseProgress(*note);
  if (!resumed.ok()) return InFile(Escaped(a.resume), resumed.status());
  AMP_RETURN_IF_ERROR(InFile(Escaped(a.resume), CheckSameSamples(*resumed, progress)));
  resumed->batch = progress.batch;
  resumed->drop_last = progress.drop_last;
  resumed->shuffle = progress.shuffle;
  if (a.learning_rate.has_value()) resumed->base_rate = *a.learning_rate;
  const auto before = std::exchange(resumed->flags, StepFlags(a, resumed->base_rate));
  return Beginning{*resumed, ChangesSince(before, resumed->flags)};
}

// The line about --save-best. `saved`: the epoch whose model this run wrote last, or 0.
void ReportBest(const TrainArguments& a, const TrainProgress& progress, int64_t saved, const ToolStreams& streams,
                ToolOutput& output) {
  if (a.save_best.empty()) return;
  const int64_t best = BestEpoch(progress.history);
  const std::string path = Escaped(a.save_best);
  if (best == 0) {
    streams.warn(
        absl::StrCat("amp-train: warning: --save-best: ", path, " is not written: no test loss is a number\n"));
  } else if (!a.quiet) {
    absl::StrAppend(&output.out,
                    saved == 0 ? absl::StrCat("left ", path, " as it is: ") : absl::StrCat("wrote ", path, ": "),
                    "the least test loss is that of epoch ", best, "\n");
  }
}

absl::Status FinishRun(const TrainArguments& a, const Trainer& trainer, const TrainProgress& progress,
                       ResultsGoTo results, const ToolStreams& streams, ToolOutput& output) {
  const bool draws = a.curve || (results == ResultsGoTo::kTerminal && !a.quiet);
  if (draws) AMP_RETURN_IF_ERROR(streams.print(DrawCurve(progress.curve)));
  if (a.save_weights.empty()) return absl::OkStatus();
  if (!a.allow_nan) {
    AMP_RETURN_IF_ERROR(CheckFiniteStates(trainer, StatesOf::kModel, "--save-weights", a.save_weights));
  }
  const absl::StatusOr<std::vector<std::string>> notes = trainer.SaveForward(a.save_weights, a.forward, OverwriteOf(a));
  if (!notes.ok()) return InFile(Escaped(a.save_weights), notes.status());
  output.written = a.save_weights;
  if (a.forward.empty()) {
    for (const std::string& note : *notes)
      streams.warn(absl::StrCat("amp-train: warning: ", Escaped(a.save_weights), ": ", note, "\n"));
  }
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

// All that a run needs before its ranks meet.
struct Preparations {
  std::unique_ptr<Trainer> trainer;
  std::shared_ptr<const DataSet> data;
  BatchPlan plan;
  TrainProgress progress;
  std::string changes;
  std::optional<Evaluator> evaluator;
};

// How many samples are trained on: with --validation-split the first ones, as many as Keras takes.
absl::StatusOr<int64_t> NumTrained(const TrainArguments& a, int64_t num_samples) {
  if (a.validation_split == 0) return num_samples;
  const auto trained = static_cast<int64_t>(std::floor(static_cast<double>(num_samples) * (1 - a.validation_split)));
  if (trained > 0 && trained < num_samples) return trained;
  return UsageError("--validation-split: expected samples to train on and to test on, found ", trained, " and ",
                    num_samples - trained);
}

absl::StatusOr<Preparations> Prepare(const TrainArguments& a, const Ranks& ranks, PhaseTimes& phases) {
  Preparations made;
  if (ranks.IsFirst()) AMP_RETURN_IF_ERROR(CheckResultFiles(a));
  AMP_ASSIGN_OR_RETURN(made.trainer, Trainer::Create(a.model, a.session));
  if (ranks.IsFirst()) AMP_RETURN_IF_ERROR(CheckDataFiles(a, *made.trainer));
  phases.End("load");
  Trainer& trainer = *made.trainer;
  AMP_ASSIGN_OR_RETURN(DataSet data, ReadTrainingData(trainer, a));
  made.data = std::make_shared<const DataSet>(std::move(data));
  AMP_ASSIGN_OR_RETURN(const int64_t num_samples, NumTrained(a, made.data->num_samples()));
  AMP_ASSIGN_OR_RETURN(made.plan, PlanBatches(num_samples, a.batch, a.drop_last, ranks.size()));
  AMP_RETURN_IF_ERROR(made.data->CheckBatch(made.plan.UsualShare(), made.plan.LastShare()));
  AMP_ASSIGN_OR_RETURN(Beginning beginning, Begin(a, num_samples, trainer, ranks));
  made.progress = std::move(beginning.progress);
  made.changes = std::move(beginning.changes);
  if (!a.eval_data.empty()) {
    AMP_ASSIGN_OR_RETURN(made.evaluator, Evaluator::Create(trainer, a, NumClasses(trainer), a.batch / ranks.size()));
  } else if (a.validation_split > 0) {
    AMP_ASSIGN_OR_RETURN(made.evaluator,
                         Evaluator::CreateOnRest(trainer, a, made.data, num_samples, a.batch / ranks.size()));
  } else if (!a.save_weights.empty()) {
    const auto as_it_is = [](onnx::ModelProto&) { return absl::OkStatus(); };
    AMP_RETURN_IF_ERROR(
        trainer.MakeEdited(a.forward, as_it_is).status());  // what cannot be saved is known before the first step
  }
  return made;
}

// The options that must be equal on all ranks: else they would take another number of steps, or other steps.
std::string Describe(const TrainArguments& a, const Preparations& made) {
  const std::map<std::string, std::string> flags = StepFlags(a, made.progress.base_rate);
  return absl::StrCat("step graph ", made.trainer->graph_hash(), ", ", made.progress.num_samples, " samples, --scale ",
                      flags.at("--scale"), " --resize ", flags.at("--resize"), " --batch ", a.batch, " --epochs ",
                      a.epochs, a.drop_last ? " --drop-last" : "",
                      a.shuffle ? absl::StrCat(" --shuffle ", *a.shuffle) : "", " --seed ", a.session.seed,
                      a.schedule == RateSchedule::kLinear   ? " --schedule linear"
                      : a.schedule == RateSchedule::kCosine ? " --schedule cosine"
                                                            : "",
                      a.learning_rate ? absl::StrCat(" --learning-rate ", *a.learning_rate) : "", " --check-replicas ",
                      a.check_replicas, a.patience >= 0 ? absl::StrCat(" --patience ", a.patience) : "",
                      a.terminate_on_nan ? " --terminate-on-nan" : "", a.allow_nan ? " --allow-nan" : "",
                      a.save_best.empty() ? "" : " --save-best", a.forward.empty() ? "" : " --forward", ", --data ",
                      made.data->Fingerprint(), a.eval_data.empty() ? "" : ", --eval-data ",
                      a.eval_data.empty() ? "" : made.evaluator->data().Fingerprint());
}

// Rank 0 has read the checkpoint, if any.
absl::Status Meet(const TrainArguments& a, Preparations& made, Ranks& ranks) {
  if (ranks.size() == 1) return absl::OkStatus();
  AMP_RETURN_IF_ERROR(ranks.ExpectSame(Describe(a, made)));
  AMP_RETURN_IF_ERROR(ranks.ShareState(*made.trainer));
  std::string progress = ProgressJson(made.progress);
  AMP_RETURN_IF_ERROR(ranks.ShareText(progress));
  AMP_ASSIGN_OR_RETURN(made.progress, ParseProgress(progress));
  return absl::OkStatus();
}

std::string DescribeShares(const BatchPlan& plan, const Accelerator* device) {
  if (plan.num_ranks == 1) return "";
  const std::string library = RanksText(device);
  const std::string left_out =
      plan.left_out == 0 ? "" : absl::StrCat("; ", plan.left_out, " of an epoch left out, which they cannot share");
  return absl::StrCat(plan.num_ranks, " ranks: ", plan.UsualShare(), " samples each per step", left_out,
                      library.empty() ? "" : absl::StrCat("; means of gradients by ", library), "\n");
}

absl::Status Train(const TrainArguments& a, const ToolStreams& streams, ResultsGoTo results, Ranks& ranks,
                   ToolOutput& output) {
  streams.show_progress("loading");
  PhaseTimes phases;
  absl::StatusOr<Preparations> made = Prepare(a, ranks, phases);
  AMP_RETURN_IF_ERROR(ranks.Agree(InFile(Escaped(a.model), made.status())));
  AMP_RETURN_IF_ERROR(Meet(a, *made, ranks));
  if (!a.quiet)
    AMP_RETURN_IF_ERROR(streams.print(made->data->Describe() + DescribeShares(made->plan, a.session.device.get())));
  if (!made->changes.empty()) {
    streams.warn(
        absl::StrCat("amp-train: warning: ", Escaped(a.resume), ": goes on with other flags: ", made->changes, "\n"));
  }
  if (made->progress.epoch >= a.epochs) {
    const int64_t done = made->progress.epoch;
    const std::string total =
        a.resume.empty() ? "" : absl::StrCat(", the total with what ", Escaped(a.resume), " has done");
    streams.warn(absl::StrCat("amp-train: warning: nothing to do: expected --epochs above ", done, total, "; found ",
                              a.epochs, "\n"));
  } else if (HasStoppedEarly(a, made->progress)) {
    streams.warn(absl::StrCat("amp-train: warning: nothing to do: --patience had run out behind epoch ",
                              made->progress.epoch, "\n"));
  }
  const StopSignals signals;
  int64_t saved_best = 0;
  const TrainTask task{.arguments = &a,
                       .trainer = made->trainer.get(),
                       .data = made->data.get(),
                       .plan = made->plan,
                       .ranks = &ranks,
                       .evaluator = made->evaluator.has_value() ? &*made->evaluator : nullptr,
                       .streams = &streams,
                       .caught = [&] { return signals.Caught(); },
                       .saved_best = [&](int64_t epoch) { saved_best = epoch; }};
  phases.End("data");
  AMP_ASSIGN_OR_RETURN(const int signal, RunTrainLoop(task, made->progress));
  phases.End("steps");
  if (!ranks.IsFirst()) {
    output.exit_code = signal == 0 ? 0 : kSignalExitCode + signal;
  } else if (signal != 0) {
    ReportStop(a, made->progress, signal, output);
  } else {
    ReportBest(a, made->progress, saved_best, streams, output);
    AMP_RETURN_IF_ERROR(FinishRun(a, *made->trainer, made->progress, results, streams, output));
    phases.End("save");
    const std::string copies = CopiesText(a.session.device.get());
    if (a.verbose) streams.warn(VerboseText("amp-train", made->trainer->session().DeviceName(), phases, copies));
  }
  return absl::OkStatus();
}

// Trains with --autotune: algorithms of products, convolutions and attention come from the file; new ones are added to
// it, once for all ranks.
absl::Status TrainTuned(const TrainArguments& a, const ToolStreams& streams, ResultsGoTo results, Ranks& ranks,
                        ToolOutput& output) {
  if (a.autotune.empty()) return InFile(Escaped(a.model), Train(a, streams, results, ranks, output));
  const absl::StatusOr<std::unique_ptr<TuningFile>> tuning = TuningFile::Open(a.autotune);
  AMP_RETURN_IF_ERROR(ranks.Agree(tuning.status()));
  UseChoices(*a.session.device, &(*tuning)->choices());
  const absl::Status status = Train(a, streams, results, ranks, output);
  UseChoices(*a.session.device, nullptr);
  if (ranks.IsFirst()) {
    for (const std::string& warning : (*tuning)->TakeWarnings()) {
      streams.warn(absl::StrCat("amp-train: warning: ", warning, "\n"));
    }
  }
  const absl::Status saved = ranks.IsFirst() ? (*tuning)->Save() : absl::OkStatus();
  return status.ok() ? saved : InFile(Escaped(a.model), status);
}

// The first rank speaks for all.
ToolStreams StreamsOf(const Ranks& ranks, const ToolStreams& streams, bool is_quiet) {
  ToolStreams own = streams;
  if (is_quiet || !ranks.IsFirst()) own.show_progress = [](const std::string&) {};
  if (ranks.IsFirst()) return own;
  own.print = [](absl::string_view) { return absl::OkStatus(); };
  own.warn = [](absl::string_view) {};
  return own;
}

// From device to device where they can, and else, which is said, through the processor's memory.
absl::Status JoinDevices(const TrainArguments& a, const ToolStreams& streams, Ranks& ranks) {
  AMP_RETURN_IF_ERROR(ranks.ExpectSame(a.session.device == nullptr ? "--device cpu" : "--device cuda"));
  if (ranks.size() == 1 || a.session.device == nullptr) return absl::OkStatus();
  const absl::Status joined = JoinRanks(*a.session.device, *ranks.group());
  if (!absl::IsUnimplemented(joined)) return ranks.Agree(joined);
  if (ranks.IsFirst()) {
    streams.warn(absl::StrCat(
        "amp-train: warning: means of gradients go through the processor's memory: ", joined.message(), "\n"));
  }
  return absl::OkStatus();
}

absl::Status Run(const std::vector<std::string>& arguments, const ToolStreams& streams, ResultsGoTo results,
                 const TrainHost& host, Ranks& ranks, ToolOutput& output) {
  if (!arguments.empty() && arguments[0] == "new")
    return MakeNewModel({arguments.begin() + 1, arguments.end()}, output);
  absl::StatusOr<TrainArguments> parsed = ParseTrainArguments(arguments);
  if (parsed.ok() && !parsed->text.empty()) {
    output.out = parsed->text;
    return absl::OkStatus();
  }
  if (parsed.ok()) NameInOutOfMemory(parsed->model);
  const int64_t seconds = (parsed.ok() ? *parsed : TrainArguments()).rank_timeout;
  if (host.open_ranks) {
    AMP_ASSIGN_OR_RETURN(std::unique_ptr<RankGroup> group, host.open_ranks(std::chrono::seconds(seconds)));
    ranks = Ranks(std::move(group));
  }
  AMP_RETURN_IF_ERROR(ranks.Agree(parsed.status()));
  TrainArguments& a = *parsed;
  AMP_RETURN_IF_ERROR(ranks.Agree(CheckFileUses(FilesOf(a))));
  a.session.ranks = ranks.group();
  if (ranks.size() > 1 && a.session.threads == 0) a.session.threads = ThreadsOfRank();
  const ChosenDevice chosen = ChooseDevice(a.device, host.devices, a.model, a.session.limits);
  if (!chosen.note.empty() && ranks.IsFirst() && !a.quiet) {
    streams.warn(absl::StrCat("amp-train: note: ", chosen.note, "\n"));
  }
  a.device.ordinal = chosen.ordinal;
  if (ranks.size() > 1 && chosen.ordinal.has_value() && a.takes_own_gpu) a.device.ordinal = NumberOnMachine();
  absl::StatusOr<std::shared_ptr<Accelerator>> device = OpenFlaggedDevice(a.device.ordinal, host.devices.open);
  AMP_RETURN_IF_ERROR(ranks.Agree(device.status()));
  a.session.device = *std::move(device);
  AMP_RETURN_IF_ERROR(JoinDevices(a, streams, ranks));
  AMP_RETURN_IF_ERROR(TrainTuned(a, StreamsOf(ranks, streams, a.quiet), results, ranks, output));
  if (ranks.size() > 1)
    streams.warn(std::exchange(output.err, {}));  // the launcher ends the others with the first to go
  return ranks.Finish();
}

// One line, of one rank, where all know; else the others, who wait for this one, end with it.
void ReportFailure(const absl::Status& status, const ToolStreams& streams, Ranks& ranks, ToolOutput& output) {
  output.exit_code = ExitCode(status);
  const bool is_own = ranks.size() > 1 && !ranks.AllKnow();
  const std::string line = absl::StrCat("amp-train: error: ", is_own ? absl::StrCat("rank ", ranks.rank(), ": ") : "",
                                        std::string(status.message()), "\n");
  if (ranks.size() == 1) {
    output.err += line;
    return;
  }
  if (is_own || ranks.IsFirst()) streams.warn(line);  // at once: the launcher ends all ranks with the first that goes
  if (is_own || !ranks.Finish().ok()) ranks.group()->Abort(output.exit_code);
}

}  // namespace

ToolOutput RunAmpTrain(const std::vector<std::string>& arguments, ToolStreams streams, ResultsGoTo results,
                       const TrainHost& host) {
  ToolOutput output;
  Ranks ranks;
  if (!streams.print) streams.print = CollectIn(output);
  if (!streams.warn) streams.warn = [&](absl::string_view text) { output.err.append(text.data(), text.size()); };
  if (!streams.show_progress) streams.show_progress = [](const std::string&) {};
  absl::Status status;
  // Exceptions of the libraries below end here.
  try {
    status = Run(arguments, streams, results, host, ranks, output);
  } catch (...) {
    status = StatusOfException("", OutOfMemory());
  }
  if (!status.ok()) ReportFailure(status, streams, ranks, output);
  return output;
}

}  // namespace amp
