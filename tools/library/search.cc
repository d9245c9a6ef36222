#include "tools/library/search.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "ir/base/status.h"
#include "ir/file/copy_model.h"
#include "tools/library/choice_order.h"
#include "tools/library/option_names.h"
#include "tools/library/part_errors.h"
#include "tools/library/sample_runs.h"
#include "tools/library/search_log.h"
#include "tools/library/user_metric.h"
#include "tools/library/verify_rewrite.h"

namespace amp {
namespace {

// Choices fit the samples that they were searched on: this much of the error is left to others.
constexpr double kMargin = 0.85;
constexpr int kMostCuts = 7;
// A number of the caller's own is costly: that of the original is among the evaluations.
constexpr int64_t kMostRuns = 20, kMostEvaluations = 8;
// A choice that is predicted to be this much beyond is not worth a run.
constexpr double kHopeless = 1.5;
constexpr double kLargeShare = 0.2, kLeastShare = 0.01;  // of the bytes that all low saves
constexpr size_t kFewestToHoldOut = 4;
constexpr double kJump = 3;            // times the error on other samples
constexpr int kMostRefused = 3;        // choices in a row that are not within on samples that were held out
constexpr int64_t kRunsToHoldOut = 4;  // that are left for those
constexpr size_t kNamedParts = 5;

class Searcher {
 public:
  explicit Searcher(const SensitivityTask& task) : task_(task), options_(task.options), metric_(task.options.metric) {}

  absl::StatusOr<FoundChoice> Run() {
    AMP_ASSIGN_OR_RETURN(samples_, IsToVerify() ? SampleRuns::MakeToVerify(options_, task_.load, *task_.to_verify)
                                                : SampleRuns::Make(options_, task_.load));
    AMP_RETURN_IF_ERROR(Begin());
    AMP_RETURN_IF_ERROR(FindParts());
    AMP_ASSIGN_OR_RETURN(const double of_all, ErrorOf(all_));
    report_.all_saved_bytes = report_.choices.front().saved_bytes;
    if (of_all > Target()) {
      AMP_RETURN_IF_ERROR(CutOrder());
      AMP_RETURN_IF_ERROR(GiveBack());
      AMP_RETURN_IF_ERROR(LookAround());
    }
    AMP_RETURN_IF_ERROR(Take());
    return Finish();
  }

 private:
  bool IsToVerify() const { return task_.to_verify != nullptr; }
  bool HasOwnMetric() const { return !options_.metric_command.empty() || options_.metric_function != nullptr; }

  absl::Status Begin() {
    const bool needs_original = HasOwnMetric() || !options_.search_log.empty();
    LoadedFile original;
    if (needs_original) {
      AMP_ASSIGN_OR_RETURN(original, task_.load());
    }
    AMP_ASSIGN_OR_RETURN(SearchLog log, SearchLog::Open(options_, original, *samples_));
    log_.emplace(std::move(log));
    num_searched_ = samples_->size();
    most_runs_ = options_.budget_runs.value_or(kMostRuns);
    if (HasOwnMetric()) return JudgeOriginal(original);
    using Metric = RewriteOptions::Metric;
    const size_t held_out =
        samples_->size() < kFewestToHoldOut
            ? 0
            : static_cast<size_t>(std::llround(options_.holdout * static_cast<double>(samples_->size())));
    num_searched_ -= std::min(held_out, samples_->size() - 1);
    is_quadratic_ = options_.metric == Metric::kCosine || options_.metric == Metric::kKl;
    report_.max_error = options_.max_error.value_or(UsualTolerance(task_.low));
    if (options_.metric == Metric::kSqnr) {
      constexpr double kDecibelsOfTen = 20;  // of an amplitude
      metric_ = Metric::kRelativeL2;
      report_.max_error = std::pow(10, -report_.max_error / kDecibelsOfTen);
    }
    report_.metric = NameOf(metric_);
    report_.samples = static_cast<int64_t>(num_searched_);
    report_.held_out_samples = static_cast<int64_t>(samples_->size() - num_searched_);
    target_ = (IsToVerify() ? 1 : kMargin) * report_.max_error;
    return absl::OkStatus();
  }

  // Asks for the caller's number of the original, which is the first run.
  absl::Status JudgeOriginal(const LoadedFile& original) {
    own_metric_ = std::make_unique<UserMetric>(options_);
    most_runs_ = options_.budget_runs.value_or(kMostEvaluations);
    report_.metric = kOwnMetric;
    report_.max_error = target_ = *options_.max_drop;
    report_.samples = static_cast<int64_t>(num_searched_);
    AMP_RETURN_IF_ERROR(Report());
    AMP_ASSIGN_OR_RETURN(const double baseline, own_metric_->Of(original));
    if (!std::isfinite(baseline)) {
      return UsageError("--search: expected a finite number of the original model, found ", baseline);
    }
    report_.baseline = baseline;
    ++report_.runs;
    return log_->KeepBaseline(baseline);
  }

  // Runs the model with all parts low, to see on which samples it errs most, and predicts on these. Parts that no
  // sample has run stay float32: nobody could say what they do. --verify does not ask.
  absl::Status FindParts() {
    AMP_ASSIGN_OR_RETURN(LoadedFile all_low, task_.take_all_low());
    AMP_ASSIGN_OR_RETURN(const SampleErrors sample_errors,
                         samples_->ErrorsOf(std::move(all_low), 0, num_searched_, RewriteOptions::Metric::kRelativeL2));
    AMP_ASSIGN_OR_RETURN(errors_, PartErrors::Find(task_, *samples_, sample_errors.of_samples));
    report_.num_parts = std::ssize(errors_->parts());
    for (const Part& part : errors_->parts()) {
      all_.push_back(part.has_run || IsToVerify());
      if (!all_.back()) ++report_.not_run;
    }
    return absl::OkStatus();
  }

  double Target() const { return target_; }
  // One run is left for the samples that are held out.
  bool HasRuns() const { return report_.runs + (report_.held_out_samples > 0 ? 1 : 0) < most_runs_; }

  // ---- runs
  absl::StatusOr<SettledModel> Rewritten(const LowParts& low) const {
    SettledNodes settled;
    for (size_t i = 0; i < low.size(); ++i) {
      if (low[i]) continue;
      const std::vector<std::string>& nodes = errors_->parts()[i].nodes;
      settled.deny.insert(settled.deny.end(), nodes.begin(), nodes.end());
    }
    return task_.rewrite(settled);
  }

  absl::Status Report() const {
    if (!options_.on_progress) return absl::OkStatus();
    std::string step = "search";
    if (const std::optional<size_t> best = Best(report_.max_error)) {
      absl::StrAppendFormat(&step, " (best so far %.3g)", report_.choices[*best].error);
    }
    return options_.on_progress({step, report_.runs, most_runs_});
  }

  // Returns the error on the samples that are searched on. Every choice is run once.
  absl::StatusOr<double> ErrorOf(const LowParts& low) {
    const auto known = index_.find(low);
    if (known != index_.end()) return KnownError(known->second);
    AMP_RETURN_IF_ERROR(Report());
    AMP_ASSIGN_OR_RETURN(const LoggedChoice run, RunOf(low));
    ++report_.runs;
    VerifiedChoice choice;
    choice.error = run.error;
    choice.saved_bytes = run.saved_bytes;
    choice.is_converted = run.is_converted;
    for (size_t i = 0; i < low.size(); ++i) {
      if (!low[i]) choice.float32.push_back(errors_->parts()[i].name);
    }
    index_[low] = report_.choices.size();
    low_.push_back(low);
    report_.choices.push_back(std::move(choice));
    const size_t last = report_.choices.size() - 1;
    if (jumps_ && run.error <= Target() && report_.runs < most_runs_) AMP_RETURN_IF_ERROR(RunHeldOut(last).status());
    return KnownError(last);
  }

  // Returns the error on all samples that the choice has run.
  double KnownError(size_t i) const {
    return std::max(report_.choices[i].error, report_.choices[i].held_out.value_or(0));
  }

  // Runs a choice, or reads in the log what that gave.
  absl::StatusOr<LoggedChoice> RunOf(const LowParts& low) {
    if (const LoggedChoice* const known = log_->Find(low)) return *known;
    AMP_ASSIGN_OR_RETURN(SettledModel settled, Rewritten(low));
    LoggedChoice run;
    run.is_converted = settled.is_converted;
    double value_bytes = 0;
    if (own_metric_ != nullptr) {
      AMP_ASSIGN_OR_RETURN(const double number, own_metric_->Of(settled.file));
      run.error = std::isfinite(number) ? *report_.baseline - number : std::numeric_limits<double>::infinity();
      AMP_ASSIGN_OR_RETURN(value_bytes, samples_->ValueBytesOf(std::move(settled.file)));
    } else {
      AMP_ASSIGN_OR_RETURN(const SampleErrors errors,
                           samples_->ErrorsOf(std::move(settled.file), 0, num_searched_, metric_));
      run.error = errors.Largest();
      value_bytes = errors.value_bytes;
    }
    // A value is written and read, a weight is read.
    run.saved_bytes = settled.saved_weight_bytes + 2 * (samples_->value_bytes() - value_bytes);
    AMP_RETURN_IF_ERROR(log_->Keep(low, run));
    return run;
  }

  // Returns the error on the samples that were held out.
  absl::StatusOr<double> HeldOutErrorOf(const LowParts& low) {
    LoggedChoice run = *log_->Find(low);
    if (run.held_out.has_value()) return *run.held_out;
    AMP_ASSIGN_OR_RETURN(SettledModel settled, Rewritten(low));
    AMP_ASSIGN_OR_RETURN(const SampleErrors errors,
                         samples_->ErrorsOf(std::move(settled.file), num_searched_, samples_->size(), metric_));
    run.held_out = errors.Largest();
    AMP_RETURN_IF_ERROR(log_->Keep(low, run));
    return *run.held_out;
  }

  // ---- predictions
  // Relative L2 errors are predicted; some metrics grow with their squares.
  double Unscaled(double squared_error) const { return is_quadratic_ ? squared_error : std::sqrt(squared_error); }
  double Predicted(const LowParts& low) const { return scale_ * Unscaled(errors_->SquaredError(low)); }
  // Scales predictions by the choice whose error came out nearest to the target. Returns whether there is one.
  bool Calibrate() {
    double nearest = std::numeric_limits<double>::infinity();
    for (size_t i = 0; i < report_.choices.size(); ++i) {
      const double measured = KnownError(i), predicted = Unscaled(errors_->SquaredError(low_[i]));
      const double distance =
          std::abs(std::log(measured / Target()));  // infinite or NaN where there is nothing to scale by
      if (predicted == 0 || !(distance < nearest)) continue;
      nearest = distance;
      scale_ = measured / predicted;
    }
    return std::isfinite(nearest);
  }

  // Where everything low is not finite, a part that overflows may be why.
  LowParts Harmful() const {
    LowParts harmful(all_.size(), false);
    if (std::isfinite(report_.choices.front().error)) return harmful;
    for (size_t part = 0; part < all_.size(); ++part) harmful[part] = errors_->parts()[part].overflows;
    return harmful;
  }

  // Finds the first choice of the order that is within.
  absl::Status CutOrder() {
    if (order_.empty()) {
      const auto may_go_on = [&] { return options_.may_go_on ? options_.may_go_on() : absl::OkStatus(); };
      AMP_ASSIGN_OR_RETURN(order_, OrderChoices(*errors_, all_, Harmful(), IsToVerify(), may_go_on));
    }
    const std::vector<LowParts>& order = order_;
    size_t beyond = 0, within = order.size() - 1;  // nothing is low in the last one
    for (int cut = 0; cut < kMostCuts && within - beyond > 1 && HasRuns(); ++cut) {
      Calibrate();
      size_t next = beyond + 1;
      while (next + 1 < within && Predicted(order[next]) > Target()) ++next;
      // Predictions that were wrong twice give way to halves.
      if (cut > 1 && (next == beyond + 1 || next + 1 == within)) next = beyond + (within - beyond) / 2;
      AMP_ASSIGN_OR_RETURN(const double error, ErrorOf(order[next]));
      (error <= Target() ? within : beyond) = next;
    }
    return absl::OkStatus();
  }

  // Lowers parts again that the order raised although little depends on them: as many at once as are predicted to be
  // within, half as many after a choice that was not. Where no choice was within, it begins with nothing low: the parts
  // that the order raises last may be too much even alone.
  absl::Status GiveBack() {
    std::vector<size_t> refused;
    size_t most = errors_->parts().size();
    while (HasRuns()) {
      const std::optional<size_t> best = Best(Target());
      Calibrate();
      PartErrors::Choice lowered =
          errors_->Evaluate(best.has_value() ? low_[*best] : LowParts(errors_->parts().size(), false));
      std::vector<size_t> parts;
      while (parts.size() < most) {
        std::optional<size_t> part = MostPromising(lowered, refused, parts.empty() ? kHopeless : 1);
        // Where nothing is within yet, predictions may be what is wrong.
        const bool is_desperate = !part.has_value() && parts.empty() && !best.has_value();
        if (is_desperate) part = MostPromising(lowered, refused, std::numeric_limits<double>::infinity());
        if (!part.has_value()) break;
        lowered = errors_->Changed(lowered, *part);
        parts.push_back(*part);
      }
      if (parts.empty()) {
        // Predictions know no more parts. Runs that are left go to those that save the most: it may be wrong of them.
        const std::optional<size_t> part = LargestSaving(lowered, refused);
        if (!part.has_value()) return absl::OkStatus();
        lowered = errors_->Changed(lowered, *part);
        parts.push_back(*part);
      }
      AMP_RETURN_IF_ERROR(ErrorOf(lowered.low).status());
      if (Best(Target()) != best) continue;
      most = std::max<size_t>(parts.size() / 2, 1);
      if (parts.size() == 1) refused.push_back(parts.front());
    }
    return absl::OkStatus();
  }

  // Returns the part that saves the most bytes per error if it is lowered; one of many bytes comes first. `most`: the
  // predicted error, by the target.
  std::optional<size_t> MostPromising(const PartErrors::Choice& from, const std::vector<size_t>& refused,
                                      double most) const {
    std::optional<size_t> best;
    std::pair<bool, double> best_worth;
    for (size_t part = 0; part < from.low.size(); ++part) {
      if (!all_[part] || from.low[part] || std::find(refused.begin(), refused.end(), part) != refused.end()) continue;
      const PartErrors::Choice lowered = errors_->Changed(from, part);
      const double more_saved = lowered.saved - from.saved, squared = lowered.SquaredError();
      if (more_saved <= 0 || scale_ * Unscaled(squared) > most * Target()) continue;
      const double more_error = std::max(squared - from.SquaredError(), std::numeric_limits<double>::min());
      const std::pair worth(more_saved > kLargeShare * report_.all_saved_bytes, more_saved / more_error);
      if (!best.has_value() || worth > best_worth) {
        best = part;
        best_worth = worth;
      }
    }
    return best;
  }

  // Returns the part that saves the most bytes if it is lowered, whatever its predicted error; nothing where that is
  // little.
  std::optional<size_t> LargestSaving(const PartErrors::Choice& from, const std::vector<size_t>& refused) const {
    std::optional<size_t> best;
    double most_saved = kLeastShare * std::max(report_.all_saved_bytes, 0.0);
    for (size_t part = 0; part < from.low.size(); ++part) {
      if (!all_[part] || from.low[part] || std::find(refused.begin(), refused.end(), part) != refused.end()) continue;
      const double more_saved = errors_->Changed(from, part).saved - from.saved;
      if (more_saved <= most_saved) continue;
      most_saved = more_saved;
      best = part;
    }
    return best;
  }

  // ---- neighbours
  // Spends runs that are left on choices that differ by a part or two from the best one, from everything low, or from
  // nothing low: predictions may be wrong, above all of outputs that are whole numbers.
  absl::Status LookAround() {
    const int64_t spare = report_.held_out_samples > 0 ? kRunsToHoldOut : 0;
    while (report_.runs + spare < most_runs_) {
      const std::optional<LowParts> next = MostPromisingNeighbour();
      if (!next.has_value()) return absl::OkStatus();
      AMP_RETURN_IF_ERROR(ErrorOf(*next).status());
    }
    return absl::OkStatus();
  }

  // Returns the choice, not yet run, that saves the most bytes more than the best one by the odds that it is within.
  std::optional<LowParts> MostPromisingNeighbour() {
    const double borne = PredictedToBear();
    const int steepness = PredictionsHold() ? 4 : 1;
    const LowParts nothing(all_.size(), false);
    const std::optional<size_t> best = Best(Target());
    const LowParts& from = best.has_value() ? low_[*best] : nothing;
    const double saved = errors_->SavedBytes(from);
    const auto worth = [&](const PartErrors::Choice& choice) {
      if (index_.contains(choice.low)) return 0.0;
      return (choice.saved - saved) / (1 + std::pow(Unscaled(choice.SquaredError()) / borne, steepness));
    };
    const double least = kLeastShare * std::max(errors_->SavedBytes(all_), 1.0);  // less is not worth a run
    return BestNeighbour(*errors_, all_, {all_, nothing, from}, order_, worth, least);
  }

  // Whether errors were as many times the predicted ones in all runs, roughly.
  bool PredictionsHold() const {
    double least = std::numeric_limits<double>::infinity(), most = 0;
    for (size_t i = 0; i < report_.choices.size(); ++i) {
      const double times = KnownError(i) / Unscaled(errors_->SquaredError(low_[i]));
      if (std::isnan(times)) continue;  // nothing was predicted, and nothing happened
      least = std::min(least, times);
      most = std::max(most, times);
    }
    return most <= kJump * least && own_metric_ == nullptr && !jumps_;
  }

  // Returns the predicted error, not scaled, that is just within. Where no run tells, it is half of the least beyond.
  double PredictedToBear() {
    if (Calibrate() && Target() > 0) return Target() / scale_;
    double least = std::numeric_limits<double>::infinity();
    for (size_t i = 0; i < report_.choices.size(); ++i) {
      if (KnownError(i) > Target()) least = std::min(least, Unscaled(errors_->SquaredError(low_[i])));
    }
    return least / 2;
  }

  // ---- choices
  // Whether the choice is worth a model: everything low is what was asked for, another one has to save something. Where
  // a rewrite is mended, the model is to be low, whatever that saves.
  bool IsWorthIt(size_t i) const {
    const VerifiedChoice& choice = report_.choices[i];
    const double least = kLeastShare * std::max(report_.all_saved_bytes, 0.0);
    const bool saves = IsToVerify() || choice.saved_bytes > least || report_.all_saved_bytes <= 0;
    return i == 0 || (choice.is_converted && saves);
  }

  // Returns the choice of those within that saves the most.
  std::optional<size_t> Best(double limit) const {
    std::optional<size_t> best;
    for (size_t i = 0; i < report_.choices.size(); ++i) {
      const VerifiedChoice& choice = report_.choices[i];
      const bool is_within = choice.error <= limit && choice.held_out.value_or(0) <= report_.max_error;
      const bool is_better = !best.has_value() || choice.saved_bytes > report_.choices[*best].saved_bytes;
      if (is_within && IsWorthIt(i) && is_better) best = i;
    }
    return best;
  }

  // Takes the best choice that is within on the samples held out, too. After some that are not, the search goes on:
  // below an error that is as much smaller, or, where errors jump, with a look at those samples for each choice.
  absl::Status Take() {
    const double target = Target();
    for (int refused = 0;;) {
      std::optional<size_t> best = Best(Target());
      if (!best.has_value()) best = Best(report_.max_error);
      if (!best.has_value()) return Unreachable();
      report_.taken = *best;
      if (report_.held_out_samples == 0) return absl::OkStatus();
      if (report_.choices[*best].held_out.has_value()) return TakeBetter(target);
      if (report_.runs >= most_runs_) return Unreachable();
      AMP_ASSIGN_OR_RETURN(const double held_out, RunHeldOut(*best));
      if (held_out <= report_.max_error || !HasRuns()) continue;
      if (++refused % kMostRefused != 0 && Best(Target()).has_value()) continue;
      const double error = report_.choices[*best].error;
      // Whole numbers that differ, or values that are not finite, are no matter of size.
      jumps_ = jumps_ || !(held_out < kJump * error);
      if (!jumps_) target_ = std::min(Target(), kMargin * error * report_.max_error / held_out);
      AMP_RETURN_IF_ERROR(CutOrder());
      AMP_RETURN_IF_ERROR(GiveBack());
      AMP_RETURN_IF_ERROR(LookAround());
    }
  }

  // Runs on the samples held out what saves more and was passed over, as another choice had not been within on them.
  absl::Status TakeBetter(double target) {
    while (report_.runs < most_runs_) {
      std::optional<size_t> best;
      double most = report_.choices[report_.taken].saved_bytes;
      for (size_t i = 0; i < report_.choices.size(); ++i) {
        const VerifiedChoice& choice = report_.choices[i];
        if (choice.error > target || choice.held_out.has_value() || !IsWorthIt(i) || choice.saved_bytes <= most)
          continue;
        most = choice.saved_bytes;
        best = i;
      }
      if (!best.has_value()) break;
      AMP_ASSIGN_OR_RETURN(const double held_out, RunHeldOut(*best));
      if (held_out <= report_.max_error) report_.taken = *best;
    }
    return absl::OkStatus();
  }

  absl::StatusOr<double> RunHeldOut(size_t choice) {
    AMP_RETURN_IF_ERROR(Report());
    AMP_ASSIGN_OR_RETURN(const double held_out, HeldOutErrorOf(low_[choice]));
    ++report_.runs;
    report_.choices[choice].held_out = held_out;
    return held_out;
  }

  std::vector<double> Shares() const {
    std::vector<double> shares;
    double sum = 0;
    for (size_t i = 0; i < errors_->parts().size(); ++i) {
      shares.push_back(errors_->SquaredError(errors_->Alone(i)));
      sum += shares.back();
    }
    for (double& share : shares) share = sum > 0 ? share / sum : 0;
    return shares;
  }

  absl::Status Unreachable() const {
    const VerifiedChoice* best = &report_.choices.front();
    for (const VerifiedChoice& choice : report_.choices) {
      if (std::max(choice.error, choice.held_out.value_or(0)) < std::max(best->error, best->held_out.value_or(0))) {
        best = &choice;
      }
    }
    const std::vector<double> shares = Shares();
    std::vector<size_t> order(shares.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return shares[a] > shares[b]; });
    order.resize(std::min(order.size(), kNamedParts));
    std::string parts;
    for (const size_t part : order) {
      absl::StrAppendFormat(&parts, "%s'%s' %.0f %%", parts.empty() ? "" : ", ", Escaped(errors_->parts()[part].name),
                            100 * shares[part]);
    }
    const double error = std::max(best->error, best->held_out.value_or(0));
    const bool lacks_runs = report_.held_out_samples > 0 && !best->held_out.has_value() &&
                            best->error <= report_.max_error && report_.runs >= most_runs_;
    const std::string why =
        lacks_runs ? "the runs were used up before the samples that are held out: --budget-runs"
        : error <= report_.max_error && report_.runs >= most_runs_
            ? "what is within of these moves no fewer bytes in a run, casts included: --budget-runs for more of them"
        : error <= report_.max_error
            ? "what is within moves no fewer bytes in a run, casts included: leave the model float32"
            : absl::StrCat("of the squared error have ", parts);
    return absl::FailedPreconditionError(absl::StrFormat(
        "--search: no choice of parts is within %s%.3g%s, after %d run%s; the best one has %.3g with %d "
        "of %d parts float32; %s",
        own_metric_ != nullptr ? "a drop of " : "", report_.max_error, IsToVerify() ? "" : " and saves bytes",
        report_.runs, report_.runs == 1 ? "" : "s", error, best->float32.size(), report_.num_parts, why));
  }

  FoundChoice Finish() {
    const LowParts& low = low_[report_.taken];
    const std::vector<double> shares = Shares();
    FoundChoice found;
    for (size_t i = 0; i < low.size(); ++i) {
      if (low[i]) continue;
      const Part& part = errors_->parts()[i];
      report_.kept.push_back({part.name, part.nodes, shares[i]});
      found.deny.insert(found.deny.end(), part.nodes.begin(), part.nodes.end());
    }
    std::stable_sort(report_.kept.begin(), report_.kept.end(),
                     [](const KeptPart& a, const KeptPart& b) { return a.share > b.share; });
    for (VerifiedChoice& choice : report_.choices) {
      choice.is_on_front =
          std::none_of(report_.choices.begin(), report_.choices.end(), [&](const VerifiedChoice& other) {
            const bool is_no_worse = other.saved_bytes >= choice.saved_bytes && other.error <= choice.error;
            return is_no_worse && (other.saved_bytes > choice.saved_bytes || other.error < choice.error);
          });
    }
    found.report = std::move(report_);
    return found;
  }

  const SensitivityTask& task_;
  const RewriteOptions& options_;
  RewriteOptions::Metric metric_;
  std::unique_ptr<SampleRuns> samples_;
  std::optional<SearchLog> log_;
  std::unique_ptr<UserMetric> own_metric_;  // null where errors of outputs are bounded
  bool is_quadratic_ = false;
  int64_t most_runs_ = 0;
  size_t num_searched_ = 0;  // the first samples; the others are held out
  std::optional<PartErrors> errors_;
  LowParts all_;                 // the parts that some sample has run
  std::vector<LowParts> order_;  // by predictions
  bool jumps_ = false;           // errors differ much from sample to sample
  double target_ = 0;            // the error that a choice has to be within
  double scale_ = 1;             // of predictions
  SearchReport report_;
  std::vector<LowParts> low_;  // by choice
  std::map<LowParts, size_t> index_;
};

}  // namespace

absl::StatusOr<FoundChoice> SearchParts(const SensitivityTask& task) { return Searcher(task).Run(); }

}  // namespace amp
