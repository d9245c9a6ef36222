#include "tools/library/verify_model.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "ir/base/status.h"
#include "ir/file/copy_model.h"
#include "runtime/hardware/usable_memory.h"
#include "runtime/hardware/usable_threads.h"
#include "runtime/kernel/no_kernel_error.h"
#include "runtime/plan/all_kernels.h"
#include "runtime/session.h"
#include "tools/library/made_up_inputs.h"
#include "tools/library/verify_cost.h"
#include "tools/library/verify_rewrite.h"

namespace amp {
namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;
using VerifyMode = RewriteOptions::Verify;

constexpr char kHowToGive[] = "--verify=FILE.npz";
constexpr Seconds kUsualBudget{2};
// Both models together hold the weights as they are stored, copied, packed and widened; and what that takes.
constexpr double kCopiesOfWeights = 5, kSecondsOfWeightByte = 2.5e-9;
// Below these, preparing a model for oneDNN, or waking threads, takes longer than running it.
constexpr double kSmallFlops = 4e6, kFlopsOfOneThread = 1e8;

// Runs both models, and decides what follows.
class ModelVerifier {
 public:
  explicit ModelVerifier(const VerifyTask& task)
      : task_(task),
        options_(task.options),
        cost_(EstimateRun(task.rewritten, task.options.dims)),
        start_(Clock::now()) {}

  absl::StatusOr<VerifyVerdict> Run() {
    if (!IsAuto()) return RunAsked();
    const std::string why_not = WhyTooLarge();
    if (!why_not.empty()) return NotVerified(why_not);
    absl::StatusOr<VerifyVerdict> verdict = RunAsked();
    if (!callers_error_.ok()) return callers_error_;
    const bool is_of_flags = absl::IsInvalidArgument(verdict.status()) && !options_.dims.empty();
    if (verdict.ok() || is_of_flags || absl::IsFailedPrecondition(verdict.status())) return verdict;
    return NotVerified(absl::IsDeadlineExceeded(verdict.status()) ? TooLong()
                                                                  : std::string(verdict.status().message()));
  }

 private:
  bool IsAuto() const { return options_.verify == VerifyMode::kAuto; }
  bool IsFix() const { return options_.verify == VerifyMode::kFix; }
  // A sample that a user gave, rather than one of calibration.
  const std::string& File() const { return options_.verify_file; }

  Seconds Budget() const { return std::max(kUsualBudget, 2 * task_.rewrite_time); }
  std::string TooLong() const {
    return absl::StrFormat("it would take longer than %.2g s; --verify has no limit", Budget().count());
  }
  VerifyVerdict NotVerified(const std::string& why) const {
    return {.line = absl::StrCat("not verified: ", absl::StripPrefix(why, "--verify: "))};
  }

  std::string WhyTooLarge() const {
    const auto weight_bytes = static_cast<double>(task_.weight_bytes);
    const double seconds = 2 * cost_.Seconds(UsableThreads()) + weight_bytes * kSecondsOfWeightByte;
    if (seconds > Budget().count()) return TooLong();
    const double bytes = weight_bytes * kCopiesOfWeights + 2 * cost_.bytes;
    const bool is_too_large = bytes > static_cast<double>(UsableMemory()) / 2;
    return is_too_large ? "it would take more than half of the memory that is left; --verify has no limit" : "";
  }

  bool InTime() const { return Clock::now() - start_ < Budget(); }
  absl::Status CheckTime(double seconds_ahead) const {
    const bool is_over = Clock::now() - start_ + Seconds(seconds_ahead) > Budget();
    return IsAuto() && is_over ? absl::DeadlineExceededError("out of time") : absl::OkStatus();
  }

  // The estimate is for inputs that are made up: a sample may be larger.
  bool IsOnMadeUp() const { return IsAuto() && options_.calibration.empty(); }
  bool HasSmallRuns() const { return IsOnMadeUp() && cost_.flops < kSmallFlops; }
  int Threads() const { return IsOnMadeUp() && cost_.flops < kFlopsOfOneThread ? 1 : UsableThreads(); }
  double FlopsPerSecond() const { return HasSmallRuns() ? kReferenceFlopsPerSecond : kFlopsPerSecond * Threads(); }

  absl::StatusOr<std::unique_ptr<Session>> MakeSession(LoadedFile file) const {
    SessionOptions how;
    how.limits = options_.limits;
    if (HasSmallRuns()) how.find_kernels = FindOwnKernels;
    how.threads = Threads();
    return Session::Create(std::move(file), OneByOne(how));
  }
  absl::StatusOr<std::unique_ptr<Session>> MakeSession(const Model& model,
                                                       std::shared_ptr<ExternalData> external) const {
    AMP_ASSIGN_OR_RETURN(LoadedFile file, CopyModel(model.proto(), model.weights(), std::move(external)));
    return MakeSession(std::move(file));
  }

  // The inputs, and what is to be said of them.
  struct Sample {
    std::vector<NamedDatums> inputs;
    std::vector<std::vector<Datum>> outputs;  // of the original, where it has run
    std::string note;
    bool is_made_up = false;
  };

  absl::StatusOr<Sample> MakeSample(const Session& session, const RunOptions& how) const {
    const bool has_calibration = options_.verify != VerifyMode::kOn && !options_.calibration.empty();
    const std::string& file = has_calibration && File().empty() ? options_.calibration.front() : File();
    if (!file.empty()) {
      AMP_ASSIGN_OR_RETURN(NamedDatums sample, ReadNumbers(file, session));
      return Sample{{std::move(sample)}, {}, ""};
    }
    const RandomInputOptions making = {.dims = options_.dims};
    absl::StatusOr<MadeUpInputs> made_up = MakeFittingInputs(session, making, how);
    if (!made_up.ok()) return ExplainMadeUp(made_up.status(), session, making, kHowToGive);
    std::string note = " (inputs made up by declared type and shape";
    if (made_up->other_dim != MadeUpInputs::kUsualDim) {
      absl::StrAppend(&note, ", unknown dimensions ", made_up->other_dim, " as none of ", MadeUpInputs::kUsualDim,
                      " fits");
    }
    Sample sample = {{std::move(made_up->inputs)}, {}, note + ": give a file for real ones)", true};
    if (!made_up->outputs.empty()) sample.outputs.push_back(std::move(made_up->outputs));
    return sample;
  }

  absl::StatusOr<VerifyVerdict> RunAsked() {
    AMP_ASSIGN_OR_RETURN(LoadedFile original, task_.load());
    AMP_ASSIGN_OR_RETURN(const std::unique_ptr<Session> before, MakeSession(std::move(original)));
    AMP_RETURN_IF_ERROR(CheckTime(0));
    AMP_ASSIGN_OR_RETURN(const std::unique_ptr<Session> after, MakeSession(task_.rewritten, task_.external));
    AMP_RETURN_IF_ERROR(CheckTime(0));
    const NodeGate gate = [&](const Node& node, absl::Span<const Datum* const> inputs) {
      if (options_.may_go_on) AMP_RETURN_IF_ERROR(callers_error_ = options_.may_go_on());
      return IsAuto() ? CheckTime(FlopsOfNode(node, inputs) / FlopsPerSecond()) : absl::OkStatus();
    };
    RunOptions how;
    if (IsAuto() || options_.may_go_on) how.may_go_on = &gate;
    AMP_ASSIGN_OR_RETURN(const Sample sample, MakeSample(*before, how));
    const auto rewrite_denying =
        [&](const std::vector<std::string>& nodes) -> absl::StatusOr<std::unique_ptr<Session>> {
      AMP_ASSIGN_OR_RETURN(SettledModel denied, task_.rewrite({.deny = nodes, .allow = {}}));
      return MakeSession(std::move(denied.file));
    };
    Verification verification = {.original = *before,
                                 .rewritten = *after,
                                 .samples = sample.inputs,
                                 .expected = sample.outputs,
                                 .tolerance = options_.tolerance.value_or(UsualTolerance(task_.low)),
                                 .deny = nullptr,
                                 .on_progress = nullptr,
                                 .how = how,
                                 .in_time = nullptr};
    if (!IsFix()) verification.deny = rewrite_denying;
    if (IsAuto()) verification.in_time = [&] { return InTime(); };
    if (options_.on_progress) {
      verification.on_progress = [&](const Progress& progress) {
        return callers_error_ = options_.on_progress(progress);
      };
    }
    const absl::StatusOr<Verified> verified = Verify(verification);
    if (!verified.ok()) {
      return sample.is_made_up ? ExplainMadeUp(verified.status(), *before, {.dims = options_.dims}, kHowToGive)
                               : verified.status();
    }
    const bool is_to_mend = IsFix() && !verified->difference.empty();
    return is_to_mend ? Fix(*verified, sample, verification.tolerance) : Conclude(*verified, sample);
  }

  absl::StatusOr<VerifyVerdict> Fix(const Verified& verified, const Sample& sample, double tolerance) const {
    const absl::StatusOr<MendingNodes> mend = task_.find_mend(sample.inputs.front(), tolerance);
    if (absl::IsFailedPrecondition(mend.status())) {
      return absl::FailedPreconditionError(absl::StrCat("--verify: ", verified.difference, "; ",
                                                        absl::StripPrefix(mend.status().message(), "--search: ")));
    }
    AMP_RETURN_IF_ERROR(mend.status());
    const size_t count = mend->nodes.size();
    const std::string line = absl::StrFormat("verified with %d node%s more in float32: relative error %.3g%s", count,
                                             count == 1 ? "" : "s", mend->error, sample.note);
    return VerifyVerdict{.line = line, .warning = verified.difference, .mend = mend->nodes};
  }

  absl::StatusOr<VerifyVerdict> Conclude(const Verified& verified, const Sample& sample) const {
    if (verified.difference.empty()) {
      const std::string brief = verified.brief + (sample.is_made_up ? " on made-up inputs" : "");
      return VerifyVerdict{.line = IsAuto() ? brief : verified.line + sample.note};
    }
    if (!IsAuto() || options_.strict) {
      return absl::FailedPreconditionError(absl::StrCat("--verify: ", verified.difference));
    }
    const std::string on = sample.is_made_up ? "on inputs that are made up, " : "on the first calibration sample, ";
    const std::string real = sample.is_made_up ? ", --verify=FILE.npz judges real inputs" : "";
    return VerifyVerdict{.line = "not verified: the models differ, see the warning",
                         .warning = absl::StrCat(on, verified.difference,
                                                 "; --verify=fix looks for what mends it at the least cost", real)};
  }

  const VerifyTask& task_;
  const RewriteOptions& options_;
  const RunCost cost_;
  const Clock::time_point start_;
  absl::Status callers_error_;  // of the caller's functions
};

}  // namespace

absl::StatusOr<VerifyVerdict> VerifyModel(const VerifyTask& task) { return ModelVerifier(task).Run(); }

}  // namespace amp
