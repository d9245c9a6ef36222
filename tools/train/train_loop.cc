#include "tools/train/train_loop.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numbers>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/types/span.h"
#include "ir/base/atomic_file.h"
#include "ir/base/status.h"
#include "passes/record/metadata_json.h"
#include "runtime/device_run/use_device.h"
#include "runtime/kernel/element.h"
#include "runtime/values/compare_values.h"
#include "tools/data/judge_batch.h"
#include "tools/library/version.h"
#include "tools/report/run_page.h"
#include "tools/train/epoch_order.h"
#include "tools/train/finite_states.h"
#include "tools/train/result_files.h"

namespace amp {
namespace {

using Clock = std::chrono::steady_clock;

double RateFactor(RateSchedule schedule, double part) {
  switch (schedule) {
    case RateSchedule::kConstant:
      return 1;
    case RateSchedule::kLinear:
      return 1 - part;
    case RateSchedule::kCosine:
      return (1 + std::cos(std::numbers::pi * part)) / 2;
  }
  return 1;
}

// "[=====>    ] 120/469"
std::string Bar(int64_t done, int64_t total) {
  constexpr int64_t kWidth = 24;
  const int64_t filled = total == 0 ? kWidth : done * kWidth / total;
  std::string bar(static_cast<size_t>(filled), '=');
  if (filled < kWidth) bar += '>';
  bar.resize(kWidth, ' ');
  return absl::StrCat("[", bar, "] ", done, "/", total);
}

class Loop {
 public:
  Loop(const TrainTask& task, TrainProgress& progress)
      : task_(task),
        args_(*task.arguments),
        trainer_(*task.trainer),
        ranks_(*task.ranks),
        progress_(progress),
        num_batches_(task.plan.count) {}

  absl::StatusOr<int> Run() {
    // A run that was killed may have left a table that lacks rows of its checkpoint.
    if (!progress_.history.empty()) AMP_RETURN_IF_ERROR(WriteLog());
    AMP_ASSIGN_OR_RETURN(const int signal, RunEpochs());
    if (!has_written_log_) AMP_RETURN_IF_ERROR(WriteLog());
    return signal;
  }

 private:
  absl::StatusOr<int> RunEpochs() {
    while (!IsOver()) {
      AMP_ASSIGN_OR_RETURN(const int signal, RunEpoch());
      if (signal != 0 && !IsOver()) return signal;
    }
    return 0;
  }

  bool IsOver() const { return progress_.epoch >= args_.epochs || HasStoppedEarly(args_, progress_); }

  absl::StatusOr<int> RunEpoch() {
    const std::vector<int64_t> order = EpochOrder(progress_.num_samples, progress_.shuffle, progress_.epoch);
    while (progress_.next_batch < num_batches_) {
      AMP_RETURN_IF_ERROR(RunBatch(order));
      AMP_ASSIGN_OR_RETURN(const int signal, CaughtByAny());
      if (IsDue(args_.check_replicas)) AMP_RETURN_IF_ERROR(ranks_.CompareReplicas(trainer_));
      const bool is_due = IsDue(args_.checkpoint_every);
      // At the end of an epoch its results are in the checkpoint.
      if ((signal != 0 || is_due) && progress_.next_batch < num_batches_) AMP_RETURN_IF_ERROR(SaveCheckpoint());
      if (signal != 0 && progress_.next_batch < num_batches_) return signal;
    }
    AMP_RETURN_IF_ERROR(FinishEpoch());
    return CaughtByAny();
  }

  absl::StatusOr<int> CaughtByAny() {
    AMP_ASSIGN_OR_RETURN(const int64_t signal, ranks_.Max(task_.caught ? task_.caught() : 0));
    return static_cast<int>(signal);
  }
  bool IsDue(int64_t every) const { return every > 0 && trainer_.num_steps() % every == 0; }

  absl::Status RunBatch(const std::vector<int64_t>& order) {
    const auto start = Clock::now();
    const absl::Span<const int64_t> rows = task_.plan.RowsOf(order, progress_.next_batch, ranks_.rank());
    AMP_ASSIGN_OR_RETURN(const NamedDatums inputs, task_.data->Batch(rows));
    SetRate();
    AMP_ASSIGN_OR_RETURN(const TrainStep step, trainer_.Step(inputs));
    const StepFigures own = FiguresOf(step, inputs, static_cast<int64_t>(rows.size()));
    AMP_ASSIGN_OR_RETURN(const StepFigures figures, ranks_.Combine(own));
    Count(step.finite, figures);
    ++progress_.next_batch;
    progress_.totals.seconds += std::chrono::duration<double>(Clock::now() - start).count();
    task_.streams->show_progress(absl::StrFormat("epoch %d/%d %s loss %.4f", progress_.epoch + 1, args_.epochs,
                                                 Bar(progress_.next_batch, num_batches_), figures.loss));
    WarnOfDevice();
    WarnOfLoss(step);
    AMP_RETURN_IF_ERROR(CheckSkips(step, inputs));
    return CheckLoss(figures.loss);
  }

  // All ranks have the same mean.
  absl::Status CheckLoss(double loss) const {
    if (!args_.terminate_on_nan || std::isfinite(loss)) return absl::OkStatus();
    return RefusedError("--terminate-on-nan: the loss is ", std::isnan(loss) ? "NaN" : "infinite", " in epoch ",
                        progress_.epoch + 1, " after ", progress_.next_batch,
                        " batches; no model is saved, and a checkpoint is of before");
  }

  void SetRate() {
    const double done = static_cast<double>(progress_.epoch) * static_cast<double>(num_batches_) +
                        static_cast<double>(progress_.next_batch);
    const double all = static_cast<double>(args_.epochs) * static_cast<double>(num_batches_);
    const auto rate = static_cast<float>(progress_.base_rate * RateFactor(args_.schedule, done / all));
    if (rate != trainer_.learning_rate()) trainer_.set_learning_rate(rate);
  }

  StepFigures FiguresOf(const TrainStep& step, const NamedDatums& inputs, int64_t samples) const {
    StepFigures figures{.loss = step.loss, .samples = samples};
    const StepDescription& description = trainer_.description();
    const auto labels = inputs.find(description.labels);
    if (labels == inputs.end()) return figures;
    if (description.label_kind == LabelKind::kTarget) {
      const std::optional<double> error = MeanAbsoluteError(step.logits, *labels->second.tensor());
      figures.measured = error.has_value() ? samples : 0;
      figures.absolute_error = error.value_or(0) * static_cast<double>(samples);
      return figures;
    }
    if (const std::optional<int64_t> right = CountRight(step.logits, *labels->second.tensor())) {
      figures.judged = samples;
      figures.right = *right;
    }
    return figures;
  }

  // A step that is skipped counts among the steps alone.
  void Count(bool is_finite, const StepFigures& figures) {
    EpochTotals& totals = progress_.totals;
    ++totals.steps;
    if (!is_finite) {
      ++totals.skipped;
      return;
    }
    totals.samples += figures.samples;
    totals.loss += figures.loss * static_cast<double>(figures.samples);
    totals.judged += figures.judged;
    totals.right += figures.right;
    totals.measured += figures.measured;
    totals.absolute_error += figures.absolute_error;
    progress_.curve.Add(figures.loss);
  }

  void WarnOfDevice() {
    for (const std::string& warning : TakeWarnings(args_.session.device.get())) {
      task_.streams->warn(absl::StrCat("amp-train: warning: ", warning, "\n"));
    }
  }

  // All ranks skip the same steps.
  absl::Status CheckSkips(const TrainStep& step, const NamedDatums& inputs) {
    const bool is_at_floor = !step.finite && step.loss_scale == progress_.loss_scale;
    progress_.skips_in_a_row = step.finite ? 0 : progress_.skips_in_a_row + 1;
    progress_.skips_at_floor = is_at_floor ? progress_.skips_at_floor + 1 : 0;
    progress_.loss_scale = step.loss_scale;
    if (progress_.skips_in_a_row >= kMostSkips) return NothingIsLearnt(inputs);
    if (!trainer_.description().scale.empty() && progress_.skips_at_floor == kSkipsAtFloorWorthAWarning) {
      task_.streams->warn(absl::StrCat(
          "amp-train: warning: ", kSkipsAtFloorWorthAWarning, " steps in a row were skipped at a loss scale of ",
          step.loss_scale, ", which goes no lower: something else keeps the gradients from being finite\n"));
    }
    return absl::OkStatus();
  }

  absl::Status NothingIsLearnt(const NamedDatums& inputs) const {
    AMP_ASSIGN_OR_RETURN(const std::string origin, trainer_.FindOriginInStep(inputs));
    return absl::FailedPreconditionError(absl::StrCat(
        progress_.skips_in_a_row, " steps in a row were skipped, the last one in epoch ", progress_.epoch + 1,
        " after ", progress_.next_batch, " batches: expected gradients that are finite, found NaN or infinities",
        !origin.empty()     ? absl::StrCat(", first in ", origin)
        : ranks_.size() > 1 ? std::string(", which begin in another rank")
                            : std::string()));
  }

  // Where every step is done, one of these spoils the weights for good.
  void WarnOfLoss(const TrainStep& step) {
    if (has_warned_of_loss_ || !step.finite || std::isfinite(step.loss)) return;
    has_warned_of_loss_ = true;
    task_.streams->warn(absl::StrCat("amp-train: warning: the loss is no finite number any more, in epoch ",
                                     progress_.epoch + 1, " after ", progress_.next_batch, " batches\n"));
  }

  // A loss scale that is too large skips the first steps of a sound run. Weights that are not finite skip them all.
  absl::Status WarnOfSkippedEpoch(const EpochRecord& record) {
    const bool is_skipped = record.totals.steps > 0 && record.totals.skipped == record.totals.steps;
    if (!is_skipped || has_warned_of_epoch_) return absl::OkStatus();
    AMP_ASSIGN_OR_RETURN(const std::string name, FirstNotFinite(trainer_, StatesOf::kCheckpoint));
    if (name.empty() && record.epoch < args_.epochs) return absl::OkStatus();
    has_warned_of_epoch_ = true;
    const std::string why =
        name.empty() ? "gradients that are not finite" : absl::StrCat(name, ", which are not finite");
    task_.streams->warn(absl::StrCat("amp-train: warning: all steps of epoch ", record.epoch, " were skipped for ", why,
                                     ": nothing is learnt\n"));
    return absl::OkStatus();
  }

  absl::Status FinishEpoch() {
    AMP_RETURN_IF_ERROR(ranks_.CompareReplicas(trainer_));
    EpochRecord record{.epoch = progress_.epoch + 1,
                       .totals = std::exchange(progress_.totals, {}),
                       .learning_rate = trainer_.learning_rate(),
                       .loss_scale = progress_.loss_scale,
                       .test_loss = {},
                       .test_accuracy = {},
                       .test_absolute_error = {}};
    if (task_.evaluator != nullptr) {
      task_.streams->show_progress(absl::StrCat("epoch ", record.epoch, "/", args_.epochs, " testing"));
      AMP_ASSIGN_OR_RETURN(const Evaluation evaluation, task_.evaluator->Evaluate(trainer_, ranks_));
      record.test_loss = evaluation.loss;
      record.test_accuracy = evaluation.accuracy;
      record.test_absolute_error = evaluation.absolute_error;
      const bool needs_loss = args_.patience >= 0 || !args_.save_best.empty();
      if (needs_loss && !evaluation.loss.has_value()) {
        return UsageError(args_.patience >= 0 ? "--patience" : "--save-best",
                          ": expected a test loss, found none for this forward model");
      }
    }
    progress_.history.push_back(record);
    ++progress_.epoch;
    progress_.next_batch = 0;
    if (!args_.quiet) {
      const StepDescription& step = trainer_.description();
      const StepChecks checks = {.has_scale = !step.scale.empty(), .may_skip = !step.finite.empty()};
      AMP_RETURN_IF_ERROR(task_.streams->print(EpochLine(record, args_.epochs, checks)));
    }
    AMP_RETURN_IF_ERROR(WarnOfSkippedEpoch(record));
    // First, so that a checkpoint of which this epoch is the best one has its model beside it.
    AMP_RETURN_IF_ERROR(SaveBest(record.epoch));
    AMP_RETURN_IF_ERROR(SaveCheckpoint());
    AMP_RETURN_IF_ERROR(WriteLog());
    return SayStoppedEarly();
  }

  absl::Status CheckFinite(StatesOf states, const std::string& flag, const std::string& path) const {
    return args_.allow_nan ? absl::OkStatus() : CheckFiniteStates(trainer_, states, flag, path);
  }

  absl::Status SaveBest(int64_t epoch) {
    if (args_.save_best.empty() || !ranks_.IsFirst() || BestEpoch(progress_.history) != epoch) return absl::OkStatus();
    AMP_RETURN_IF_ERROR(CheckFinite(StatesOf::kModel, "--save-best", args_.save_best));
    absl::Status saved = trainer_.SaveForward(args_.save_best, args_.forward, OverwriteOf(args_)).status();
    if (!saved.ok()) return InFile(Escaped(args_.save_best), saved);
    if (task_.saved_best) task_.saved_best(epoch);
    return saved;
  }

  absl::Status SayStoppedEarly() {
    if (args_.quiet || !HasStoppedEarly(args_, progress_)) return absl::OkStatus();
    const int64_t best = BestEpoch(progress_.history), epochs = EpochsSinceBest(progress_.history);
    const std::string why =
        best == 0 ? absl::StrCat("the test loss was no number in any of ", epochs, " epochs")
                  : absl::StrCat("the least test loss is that of epoch ", best, ", ", epochs, " epochs before");
    return task_.streams->print(absl::StrCat("stopped early: ", why, "\n"));
  }

  absl::Status WriteLog() {
    has_written_log_ = true;
    if (args_.log.empty() || !ranks_.IsFirst()) return absl::OkStatus();
    const FileKind kind = KindOfLog(args_.log);
    std::string text = HistoryCsv(progress_.history);
    if (kind == FileKind::kHtml) text = TrainingPage(text);
    return WriteFileAtomically(args_.log, {kind, args_.force}, [&](AtomicFile& file) { return file.Append(text); });
  }

  std::string TrainingPage(const std::string& csv) const {
    return RunPage({{"kind", "training"},
                    {"model", TextOfBytes(args_.model)},
                    {"version", kVersion},
                    {"name", TextOfBytes(args_.log)},
                    {"csv", csv}});
  }

  absl::Status SaveCheckpoint() {
    if (args_.checkpoint.empty() || !ranks_.IsFirst()) return absl::OkStatus();
    AMP_RETURN_IF_ERROR(CheckFinite(StatesOf::kCheckpoint, "--checkpoint", args_.checkpoint));
    return trainer_.SaveNamedCheckpoint(args_.checkpoint, ProgressJson(progress_), OverwriteOf(args_));
  }

  const TrainTask& task_;
  const TrainArguments& args_;
  Trainer& trainer_;
  Ranks& ranks_;
  TrainProgress& progress_;
  int64_t num_batches_;
  bool has_warned_of_loss_ = false, has_warned_of_epoch_ = false, has_written_log_ = false;
};

}  // namespace

bool HasStoppedEarly(const TrainArguments& arguments, const TrainProgress& progress) {
  if (arguments.patience < 0 || progress.history.size() < 2) return false;
  return EpochsSinceBest(progress.history) >= std::max<int64_t>(arguments.patience, 1);
}

absl::StatusOr<int> RunTrainLoop(const TrainTask& task, TrainProgress& progress) { return Loop(task, progress).Run(); }

}  // namespace amp
