#include "tools/library/rewrite_checked.h"

#include <chrono>
#include <functional>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "ir/base/status.h"
#include "ir/file/copy_model.h"
#include "ir/graph/graph.h"
#include "passes/record/check_operator_names.h"
#include "passes/undo/undo_rewrite.h"
#include "runtime/kernel/host_memory.h"
#include "tools/library/check_options.h"
#include "tools/library/precision_policy.h"
#include "tools/library/search.h"
#include "tools/library/sensitivity.h"
#include "tools/library/take_model.h"
#include "tools/library/verify_model.h"

namespace amp {
namespace {

using Seconds = std::chrono::duration<double>;

// The one way from a loaded model to a rewritten one, wherever it was loaded from.
absl::StatusOr<RewriteOutcome> RewriteLoaded(LoadedFile& file, const Setup& setup) {
  const RewriteOptions& options = setup.choices.options;
  // A training step has more operators than the model in the file.
  const UnknownNames if_strict = options.train.train ? UnknownNames::kRefuse : UnknownNames::kRefuseAbsent;
  const UnknownNames unknown = options.strict ? if_strict : UnknownNames::kWarn;
  AMP_ASSIGN_OR_RETURN(const std::vector<std::string> misnamed,
                       CheckOperatorNames(*file.model, setup.lists, *setup.signatures, unknown));
  file.warnings.insert(file.warnings.begin(), misnamed.begin(), misnamed.end());
  if (TakesBack(options)) return UndoRewrite(file, setup.signatures, setup.settings);
  return RewriteModel(file, setup.signatures, setup.lists, setup.settings);
}

// Sets up what was asked for, with these nodes settled too.
absl::StatusOr<Setup> SetUpSettling(const Setup& setup, const SettledNodes& settled,
                                    std::function<absl::Status(const Progress&)> on_progress) {
  RewriteOptions other = setup.choices.stated;
  other.deny_node.insert(other.deny_node.end(), settled.deny.begin(), settled.deny.end());
  other.allow_node.insert(other.allow_node.end(), settled.allow.begin(), settled.allow.end());
  other.on_progress = std::move(on_progress);
  AMP_ASSIGN_OR_RETURN(Setup settling, SetUp(other));
  settling.settings.observed = setup.settings.observed;
  return settling;
}

// Rewrites the model once more.
absl::StatusOr<Rewritten> RewriteSettling(const Setup& setup, const ModelLoader& load, const SettledNodes& settled) {
  AMP_ASSIGN_OR_RETURN(Setup settling, SetUpSettling(setup, settled, nullptr));
  AMP_ASSIGN_OR_RETURN(LoadedFile file, load());
  AMP_ASSIGN_OR_RETURN(RewriteOutcome outcome, RewriteLoaded(file, settling));
  return Rewritten{std::move(file), std::move(outcome), std::move(settling.choices.flags), ""};
}

// Rewrites in the same way, for a run.
SettlingRewrite SettlingRewriteOf(const Setup& setup, const ModelLoader& load) {
  return [&](const SettledNodes& settled) -> absl::StatusOr<SettledModel> {
    AMP_ASSIGN_OR_RETURN(Rewritten other, RewriteSettling(setup, load, settled));
    SettledModel model;
    const amp::Report& report = other.outcome.report;
    if (!report.changed) {
      AMP_ASSIGN_OR_RETURN(model.file, load());
      return model;
    }
    AMP_ASSIGN_OR_RETURN(model.file, TakeModel(std::move(other.outcome.model), other.file.external));
    model.is_converted = true;
    model.saved_weight_bytes = static_cast<double>(report.weight_bytes_before - report.weight_bytes_after);
    return model;
  };
}

// The task takes the rewritten model, whose memory it needs: it is null then. REQUIRES: something was converted. All of
// these must outlive the task.
SensitivityTask SensitivityTaskOf(const RewriteOptions& options, const Setup& setup, const ModelLoader& load,
                                  Rewritten& rewritten) {
  return {.options = options,
          .low = setup.choices.low,
          .load = load,
          .take_all_low = [&] { return TakeModel(std::move(rewritten.outcome.model), rewritten.file.external); },
          .decide = [&]() -> absl::StatusOr<DecidedModel> {
            AMP_ASSIGN_OR_RETURN(LoadedFile file, load());
            return DecideModel(file, setup.signatures, setup.lists, setup.settings);
          },
          .external = rewritten.file.external,
          .rewrite = SettlingRewriteOf(setup, load),
          .to_verify = nullptr};
}

// Seeks the parts of a rewrite that have to stay float32 for this sample, as --search does for samples of a file.
absl::StatusOr<MendingNodes> FindMendingNodes(const Setup& setup, const ModelLoader& load, Rewritten& rewritten,
                                              const NamedDatums& sample, double tolerance) {
  const RewriteOptions usual;
  RewriteOptions options = setup.choices.options;
  if (options.functions == FunctionMode::kSpecialise) {
    return absl::FailedPreconditionError("with --functions specialise no parts are looked for that mend it");
  }
  options.max_error = tolerance;
  options.metric = usual.metric;
  options.metric_command.clear();
  options.metric_function = nullptr;
  options.budget_runs.reset();
  options.search_log.clear();
  if (options.on_progress) {
    options.on_progress = [&](const Progress& progress) {
      return setup.choices.options.on_progress({"mend", progress.done, progress.total});
    };
  }
  SensitivityTask task = SensitivityTaskOf(options, setup, load, rewritten);
  const Model& model = *rewritten.outcome.model;  // which is still verified
  task.take_all_low = [&] { return CopyModel(model.proto(), model.weights(), rewritten.file.external); };
  task.to_verify = &sample;
  AMP_ASSIGN_OR_RETURN(const FoundChoice found, SearchParts(task));
  return MendingNodes{found.deny, found.report.choice().error};
}

// Keeps the warnings that there are.
absl::Status RewriteAgain(const Setup& setup, const ModelLoader& load, const SettledNodes& settled,
                          Rewritten& rewritten) {
  std::vector<std::string> warnings = std::move(rewritten.file.warnings);
  AMP_ASSIGN_OR_RETURN(rewritten, RewriteSettling(setup, load, settled));
  rewritten.file.warnings = std::move(warnings);
  return absl::OkStatus();
}

bool IsVerified(const RewriteOptions& options) {
  using Verify = RewriteOptions::Verify;
  return options.verify == Verify::kOn || options.verify == Verify::kFix || VerifiesByItself(options);
}

// Checks a rewrite as --verify asks for, and mends it where it asks for that.
absl::Status VerifyRewritten(const Setup& setup, const ModelLoader& load, Seconds rewrite_time, Rewritten& rewritten) {
  using Verify = RewriteOptions::Verify;
  const RewriteOptions& options = setup.choices.options;
  if (!IsVerified(options)) return absl::OkStatus();
  if (!rewritten.outcome.report.changed) {
    if (options.verify != Verify::kAuto) rewritten.verification = "verified: nothing was converted";
    return absl::OkStatus();
  }
  const VerifyTask task = {options,
                           setup.choices.low,
                           load,
                           *rewritten.outcome.model,
                           rewritten.file.external,
                           SettlingRewriteOf(setup, load),
                           [&](const NamedDatums& sample, double tolerance) {
                             return FindMendingNodes(setup, load, rewritten, sample, tolerance);
                           },
                           rewritten.outcome.report.weight_bytes_before,
                           rewrite_time};
  AMP_ASSIGN_OR_RETURN(VerifyVerdict verdict, VerifyModel(task));
  std::string warning = std::move(verdict.warning);
  if (!verdict.mend.empty()) {
    AMP_RETURN_IF_ERROR(RewriteAgain(setup, load, {.deny = verdict.mend, .allow = {}}, rewritten));
    warning = absl::StrCat("--verify=fix keeps ", verdict.mend.size(), verdict.mend.size() == 1 ? " node" : " nodes",
                           " float32: ", warning);
  }
  if (!warning.empty()) rewritten.outcome.report.warnings.push_back(warning);
  rewritten.verification = std::move(verdict.line);
  return absl::OkStatus();
}

// Looks at everything low, before anything is mended. Gives nothing where it was not asked for. No model is left where
// none is asked for.
absl::StatusOr<std::optional<SensitivityReport>> FindSensitivity(const Setup& setup, const ModelLoader& load,
                                                                 Rewritten& rewritten) {
  const RewriteOptions& options = setup.choices.options;
  if (!options.sensitivity) return std::nullopt;
  SensitivityReport found;
  if (!rewritten.outcome.report.changed) {
    found.samples = std::ssize(options.calibration);
    return found;
  }
  AMP_ASSIGN_OR_RETURN(found, MeasureSensitivity(SensitivityTaskOf(options, setup, load, rewritten)));
  const bool is_needed = !options.dry_run || options.search || IsVerified(options);
  if (is_needed) AMP_RETURN_IF_ERROR(RewriteAgain(setup, load, {}, rewritten));
  return found;
}

// The nodes that a guard keeps float32: those that a list has to name, since ranges that were observed are not in it.
std::vector<std::string> GuardedNodes(const amp::Report& report) {
  std::vector<std::string> nodes;
  for (const NodeReport& node : report.nodes) {
    if (node.reason_kind == ReasonName(ReasonKind::kGuard)) nodes.push_back(node.path);
  }
  return nodes;
}

// The reasons of nodes that a search keeps, which were denied by name, but not by the caller.
void ExplainKept(const SearchReport& search, amp::Report& report) {
  constexpr double kPercent = 100;
  absl::flat_hash_map<std::string, const KeptPart*> parts;
  for (const KeptPart& part : search.kept) {
    for (const std::string& node : part.nodes) parts[node] = &part;
  }
  for (NodeReport& node : report.nodes) {
    const auto found = parts.find(node.path);
    if (found == parts.end() || node.is_low || node.reason_kind != ReasonName(ReasonKind::kNotProcessed)) continue;
    node.reason = absl::StrFormat("kept by --search: part '%s' has %.2g %% of the squared error",
                                  Escaped(found->second->name), kPercent * found->second->share);
  }
}

// Keeps the parts float32 that a search finds to need it: `setup` denies them from then on.
absl::Status SearchRewritten(Setup& setup, const ModelLoader& load, Rewritten& rewritten) {
  if (!setup.choices.options.search) return absl::OkStatus();
  if (!rewritten.outcome.report.changed) {
    rewritten.outcome.report.search.emplace();
    return absl::OkStatus();
  }
  AMP_ASSIGN_OR_RETURN(FoundChoice found,
                       SearchParts(SensitivityTaskOf(setup.choices.options, setup, load, rewritten)));
  const SettledNodes settled = {.deny = found.deny, .allow = {}};
  AMP_RETURN_IF_ERROR(RewriteAgain(setup, load, settled, rewritten));
  if (!found.deny.empty()) {
    AMP_ASSIGN_OR_RETURN(setup, SetUpSettling(setup, settled, setup.choices.options.on_progress));
  }
  found.report.guarded = GuardedNodes(rewritten.outcome.report);
  ExplainKept(found.report, rewritten.outcome.report);
  rewritten.outcome.report.search = std::move(found.report);
  return absl::OkStatus();
}

}  // namespace

absl::Status RewriteAndVerify(Setup& setup, const ModelLoader& load, Rewritten& rewritten) {
  AMP_ASSIGN_OR_RETURN(setup.settings.observed, ObserveModel(setup.choices.options, load, rewritten.file.warnings));
  const auto start = std::chrono::steady_clock::now();
  AMP_ASSIGN_OR_RETURN(rewritten.outcome, RewriteLoaded(rewritten.file, setup));
  rewritten.flags = setup.choices.flags;
  const Seconds rewrite_time = std::chrono::steady_clock::now() - start;
  AMP_ASSIGN_OR_RETURN(std::optional<SensitivityReport> sensitivity, FindSensitivity(setup, load, rewritten));
  AMP_RETURN_IF_ERROR(SearchRewritten(setup, load, rewritten));
  std::optional<SearchReport> search = std::move(rewritten.outcome.report.search);
  if (sensitivity.has_value() || search.has_value()) GiveBackFreedMemory();  // of their models and sessions
  AMP_RETURN_IF_ERROR(VerifyRewritten(setup, load, rewrite_time, rewritten));
  rewritten.outcome.report.sensitivity = std::move(sensitivity);
  rewritten.outcome.report.search = std::move(search);
  return absl::OkStatus();
}

}  // namespace amp
