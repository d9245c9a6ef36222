#include "tools/library/amp.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "google/protobuf/arena.h"
#include "ir/base/fenced.h"
#include "ir/base/replace_files.h"
#include "ir/base/status.h"
#include "ir/file/external_data.h"
#include "ir/file/model_file.h"
#include "ir/file/model_walk.h"
#include "ir/file/save.h"
#include "ir/graph/graph.h"
#include "passes/classify/op_list_file.h"
#include "passes/classify/op_lists.h"
#include "passes/record/check_operator_names.h"
#include "tools/library/check_options.h"
#include "tools/library/precision_policy.h"
#include "tools/library/ranges_file.h"
#include "tools/library/rewrite_checked.h"
#include "tools/library/run_on_data.h"
#include "tools/library/set_up.h"
#include "tools/library/train_options.h"
#include "tools/library/version.h"
#include "tools/report/html_report.h"
#include "tools/report/node_data.h"

namespace amp {
namespace {

// `save`: the model as it is about to be written; null where none is.
RewriteSummary Summarise(Rewritten& rewritten, const std::string& name, const Setup& setup, const PreparedSave* save) {
  const RewriteOptions& options = setup.choices.options;
  RewriteOutcome& outcome = rewritten.outcome;
  const std::vector<std::string>& early_warnings = rewritten.file.warnings;
  outcome.report.tool_version = kVersion;
  outcome.report.flags = rewritten.flags;
  outcome.report.model = name;
  if (save != nullptr) outcome.report.output_xxh3 = save->ModelHash();
  outcome.report.profile = options.profile;
  outcome.report.verification = rewritten.verification;
  const bool takes_back = TakesBack(options);
  if (!takes_back) outcome.report.placement = std::string(PlacementName(setup.lists.placement()));
  auto& warnings = outcome.report.warnings;
  warnings.insert(warnings.begin(), early_warnings.begin(), early_warnings.end());
  if (options.level == RewriteOptions::Level::kUnsafeForceAll) {
    warnings.push_back("--level unsafe-force-all ignores deny lists and guards: check the results");
  }
  RewriteSummary summary;
  summary.changed = outcome.report.changed;
  summary.verification = rewritten.verification;
  summary.line = outcome.line;
  const bool is_json = !options.report_file.empty() && KindOfReport(options) == FileKind::kJson;
  if (options.report || is_json) summary.report = ReportJson(outcome.report);
  const Shown shown = options.explain_float32 ? Shown::kFloat32 : Shown::kAll;
  if (options.explain || options.explain_float32) summary.explanation = ReportText(outcome.report, shown);
  if (outcome.report.search.has_value()) {
    summary.search = SearchLine(*outcome.report.search);
    summary.search_front = SearchFront(*outcome.report.search);
  }
  if (outcome.report.sensitivity.has_value()) summary.sensitivity = SensitivityText(*outcome.report.sensitivity);
  summary.diff = std::move(outcome.diff);
  summary.stages = std::move(outcome.stages);
  summary.unchanged_because = outcome.report.unchanged_because;
  const bool took_nothing_back = takes_back && !summary.changed;
  if (!took_nothing_back) summary.policy_dtypes = PolicyDtypes(options);
  summary.compatibility = setup.choices.compatibility;
  summary.warnings = warnings;
  summary.advice = outcome.report.AllAdvice();
  summary.hints = outcome.report.hints;
  summary.details = std::make_shared<const Report>(std::move(outcome.report));
  return summary;
}

std::vector<std::string> Joined(std::vector<std::string> first, std::vector<std::string> then) {
  std::move(then.begin(), then.end(), std::back_inserter(first));
  return first;
}

absl::Status RefuseExternalData(const onnx::ModelProto& model) {
  const onnx::TensorProto* external = nullptr;
  ForEachTensor(model, [&](const onnx::TensorProto& tensor) {
    if (external == nullptr && IsExternal(tensor)) external = &tensor;
  });
  if (external == nullptr) return absl::OkStatus();
  return UsageError("tensor '", Escaped(external->name()),
                    "': external data needs a path to be found by; see RewriteFile");
}

// Loads the file again, if the model in memory has been edited. Keeps the warnings.
absl::StatusOr<LoadedFile> ReloadModel(const std::string& path, const ReadOptions& read, LoadedFile edited) {
  AMP_ASSIGN_OR_RETURN(LoadedFile file, LoadModel(path, read));
  AMP_RETURN_IF_ERROR(EmbedSmallTensors(*file.model, *file.external));
  file.warnings = std::move(edited.warnings);
  return file;
}

// `error`, with what the model knows about it; as it is where the model cannot be read.
absl::Status ExplainByFile(const absl::Status& error, const std::string& input, const RewriteOptions& options) {
  ReadOptions read;
  read.limits = options.limits;
  const absl::StatusOr<LoadedFile> file = LoadModel(input, read);
  return file.ok() ? ExplainUnknownOperator(error, *file->model) : error;
}

absl::Status OfFlag(absl::string_view flag, const absl::Status& status) {
  absl::Status named(status.code(), absl::StrCat(flag, ": ", status.message()));
  status.ForEachPayload([&](absl::string_view url, const absl::Cord& payload) { named.SetPayload(url, payload); });
  return named;
}

std::vector<std::string> OfOutput(std::vector<std::string> notes, const std::string& output) {
  for (std::string& note : notes) note = absl::StrCat(Escaped(output), ": ", note);
  return notes;
}

// From files under temporary names to those that the caller asked for. `save` is null in a dry run.
// `ranges`: the text of that file; empty if none is to be written.
absl::Status ReplaceAll(std::unique_ptr<PreparedSave> save, const std::string& output, const RewriteOptions& options,
                        const std::string& ranges, RewriteSummary& summary) {
  std::vector<FinishedFile> others;
  const auto prepare = [&](absl::string_view flag, const std::string& path, FileKind kind, const std::string& text) {
    const NewContent content{kind, options.force};
    absl::StatusOr<FinishedFile> finished =
        PrepareFile(path, content, [&](AtomicFile& file) { return file.Append(text); });
    if (!finished.ok()) return OfFlag(flag, finished.status());
    others.push_back(*std::move(finished));
    return absl::OkStatus();
  };
  if (!options.report_file.empty()) {
    const FileKind kind = KindOfReport(options);
    const std::string text = kind == FileKind::kHtml ? ReportHtml(*summary.details) : summary.report;
    AMP_RETURN_IF_ERROR(prepare("--report", options.report_file, kind, text));
  }
  if (!options.node_data_file.empty()) {
    const std::string text = NodeDataJson(*summary.details);
    AMP_RETURN_IF_ERROR(prepare("--node-data", options.node_data_file, FileKind::kJson, text));
  }
  if (!ranges.empty()) AMP_RETURN_IF_ERROR(prepare("--ranges", options.ranges, FileKind::kJson, ranges));
  if (const std::optional<SearchReport>& search = summary.details->search; search.has_value()) {
    if (!options.search_list.empty()) {
      AMP_RETURN_IF_ERROR(prepare("--search-list", options.search_list, FileKind::kList, SearchList(*search)));
    }
    if (!options.pareto.empty()) {
      AMP_RETURN_IF_ERROR(prepare("--pareto", options.pareto, FileKind::kCsv, SearchCsv(*search)));
    }
  }
  if (!options.sensitivity_file.empty()) {
    const std::string csv = SensitivityCsv(*summary.details->sensitivity);
    AMP_RETURN_IF_ERROR(prepare("--sensitivity", options.sensitivity_file, FileKind::kCsv, csv));
  }
  if (options.before_replacing) AMP_RETURN_IF_ERROR(options.before_replacing(summary));
  if (save != nullptr) {
    AMP_ASSIGN_OR_RETURN(const SaveResult saved, save->Commit(std::move(others)));
    for (const std::string& warning : OfOutput(saved.notes, output)) {  // what has changed in the last moment
      if (!absl::c_linear_search(summary.warnings, warning)) summary.warnings.push_back(warning);
    }
    return absl::OkStatus();
  }
  for (FinishedFile& finished : others) {
    if (absl::Status placed = finished.file.Rename(finished.target); !placed.ok())
      return InFile(finished.target, placed);
  }
  return absl::OkStatus();
}

// Whole under temporary names; null in a dry run.
absl::StatusOr<std::unique_ptr<PreparedSave>> Prepare(const RewriteOutcome& outcome, const LoadedFile& file,
                                                      const std::string& output, const RewriteOptions& options) {
  if (options.dry_run) return nullptr;
  SaveOptions how;
  how.external_data = options.external_data;
  how.in_place = options.in_place;
  how.force = options.force;
  how.input = &file;
  how.limits = options.limits.AfterInlining();
  if (options.on_progress || options.may_go_on) {
    how.on_progress = [&](int64_t done, int64_t total) {
      if (options.may_go_on) AMP_RETURN_IF_ERROR(options.may_go_on());
      return options.on_progress ? options.on_progress({"write", done, total}) : absl::OkStatus();
    };
  }
  return outcome.report.changed ? PrepareSave(outcome.model->LendProto(), outcome.model->weights(), output, how)
                                : PrepareUnchanged(file, output, how);
}

absl::StatusOr<RewriteSummary> RewriteFileAs(Setup& setup, const std::string& input, const std::string& output,
                                             const RewriteOptions& options) {
  ReadOptions read;
  read.limits = options.limits;
  const ModelLoader load = [&]() -> absl::StatusOr<LoadedFile> {
    AMP_ASSIGN_OR_RETURN(LoadedFile loaded, LoadModel(input, read));
    AMP_RETURN_IF_ERROR(EmbedSmallTensors(*loaded.model, *loaded.external));
    return loaded;
  };
  Rewritten rewritten;
  AMP_ASSIGN_OR_RETURN(rewritten.file, load());
  FileUses uses = FilesOf(options, input, output);
  AddDataFiles("MODEL", *rewritten.file.external, uses);
  AMP_RETURN_IF_ERROR(CheckFileUses(uses));
  AMP_RETURN_IF_ERROR(RewriteAndVerify(setup, load, rewritten));
  LoadedFile& file = rewritten.file;
  RewriteOutcome& outcome = rewritten.outcome;
  if (!options.dry_run && !outcome.report.changed && outcome.is_edited) {
    outcome.model.reset();  // was edited in vain
    AMP_ASSIGN_OR_RETURN(file, ReloadModel(input, read, std::move(file)));
  }
  AMP_ASSIGN_OR_RETURN(std::unique_ptr<PreparedSave> save, Prepare(outcome, file, output, options));
  if (save != nullptr) file.warnings = Joined(std::move(file.warnings), OfOutput(save->Notes(), output));
  if (!outcome.report.changed && options.opset) {
    file.warnings.push_back("nothing was converted, so --opset is not applied either");
  }
  if (KindOfReport(options) == FileKind::kHtml) {
    AMP_ASSIGN_OR_RETURN(outcome.report.input_xxh3, HashOriginal(file));
  }
  RewriteSummary summary = Summarise(rewritten, input, setup, save.get());
  const std::string ranges =
      options.calibration.empty() || options.ranges.empty() ? "" : RangesJson(*setup.settings.observed);
  AMP_RETURN_IF_ERROR(ReplaceAll(std::move(save), output, options, ranges, summary));
  return summary;
}

struct RewrittenInMemory {
  std::unique_ptr<Model> model;  // its proto() is the result if anything changed
  RewriteSummary summary;
};

// Checks what ParseModel or a copy gave, as LoadModel does for a file.
absl::Status ValidateInMemory(LoadedFile& file, const Limits& limits) {
  AMP_RETURN_IF_ERROR(ValidateFile(file, limits));
  return RefuseExternalData(*file.model);
}

absl::StatusOr<LoadedFile> LoadFromBytes(absl::string_view model, const Limits& limits) {
  AMP_ASSIGN_OR_RETURN(LoadedFile file, ParseModel(model, limits));
  AMP_RETURN_IF_ERROR(ValidateInMemory(file, limits));
  return file;
}

absl::StatusOr<LoadedFile> CopyAsFile(const onnx::ModelProto& model, const Limits& limits) {
  LoadedFile file;
  file.arena = std::make_unique<google::protobuf::Arena>();
  file.model = google::protobuf::Arena::CreateMessage<onnx::ModelProto>(file.arena.get());
  file.model->CopyFrom(model);
  AMP_RETURN_IF_ERROR(ValidateInMemory(file, limits));
  return file;
}

absl::StatusOr<RewrittenInMemory> RewriteInMemory(const ModelLoader& load, const RewriteOptions& options) {
  AMP_RETURN_IF_ERROR(CheckOptionsForMemory(options));
  absl::StatusOr<Setup> setup = SetUp(options);
  if (!setup.ok() && !UnknownOperator(setup.status())) return setup.status();
  Rewritten rewritten;
  AMP_ASSIGN_OR_RETURN(rewritten.file, load());
  if (!setup.ok()) return ExplainUnknownOperator(setup.status(), *rewritten.file.model);
  AMP_RETURN_IF_ERROR(RewriteAndVerify(*setup, load, rewritten));
  RewriteSummary summary = Summarise(rewritten, "model", *setup, nullptr);
  return RewrittenInMemory{std::move(rewritten.outcome.model), std::move(summary)};
}

}  // namespace

absl::StatusOr<RewriteResult> Rewrite(const onnx::ModelProto& model, const RewriteOptions& options) {
  return Fenced("", [&]() -> absl::StatusOr<RewriteResult> {
    const ModelLoader load = [&] { return CopyAsFile(model, options.limits); };
    AMP_ASSIGN_OR_RETURN(RewrittenInMemory rewritten, RewriteInMemory(load, options));
    RewriteResult result;
    result.model = rewritten.summary.changed ? rewritten.model->proto() : model;
    result.summary = std::move(rewritten.summary);
    return result;
  });
}

absl::StatusOr<RewriteResult> Rewrite(onnx::ModelProto&& model, const RewriteOptions& options) {
  return Fenced("", [&]() -> absl::StatusOr<RewriteResult> {
    const ModelLoader load = [&] { return CopyAsFile(model, options.limits); };
    AMP_ASSIGN_OR_RETURN(RewrittenInMemory rewritten, RewriteInMemory(load, options));
    RewriteResult result;
    result.model = std::move(model);
    if (rewritten.summary.changed) {
      result.model = onnx::ModelProto();
      result.model = rewritten.model->proto();
    }
    result.summary = std::move(rewritten.summary);
    return result;
  });
}

absl::StatusOr<RewrittenBytes> RewriteBytes(absl::string_view model, const RewriteOptions& options) {
  return Fenced("", [&]() -> absl::StatusOr<RewrittenBytes> {
    const ModelLoader load = [&] { return LoadFromBytes(model, options.limits); };
    AMP_ASSIGN_OR_RETURN(RewrittenInMemory rewritten, RewriteInMemory(load, options));
    RewrittenBytes result;
    result.summary = std::move(rewritten.summary);
    if (result.summary.changed) {
      AMP_ASSIGN_OR_RETURN(result.model, SerializeModel(rewritten.model->proto()));
    } else {
      result.model = std::string(model);
    }
    return result;
  });
}

absl::StatusOr<RewriteSummary> RewriteFile(const std::string& input, const std::string& output,
                                           const RewriteOptions& options) {
  absl::StatusOr<Setup> setup = Fenced("", [&]() -> absl::StatusOr<Setup> {
    AMP_RETURN_IF_ERROR(CheckOptionsForFiles(options, input, output));
    absl::StatusOr<Setup> made = SetUp(options);
    if (!made.ok() && UnknownOperator(made.status())) return ExplainByFile(made.status(), input, options);
    return made;
  });
  if (!setup.ok()) return setup.status();
  return Fenced(input, [&] { return RewriteFileAs(*setup, input, output, options); });
}

absl::StatusOr<std::unique_ptr<Session>> MakeSession(const onnx::ModelProto& model, const SessionOptions& options) {
  return Fenced("", [&]() -> absl::StatusOr<std::unique_ptr<Session>> {
    AMP_ASSIGN_OR_RETURN(LoadedFile file, CopyAsFile(model, options.limits));
    return Session::Create(std::move(file), options);
  });
}

absl::StatusOr<std::unique_ptr<Session>> MakeSessionOfBytes(absl::string_view model, const SessionOptions& options) {
  return Fenced("", [&]() -> absl::StatusOr<std::unique_ptr<Session>> {
    AMP_ASSIGN_OR_RETURN(LoadedFile file, LoadFromBytes(model, options.limits));
    return Session::Create(std::move(file), options);
  });
}

absl::StatusOr<std::string> PrintLists(const RewriteOptions& options) {
  return Fenced("", [&]() -> absl::StatusOr<std::string> {
    AMP_ASSIGN_OR_RETURN(const Setup setup, SetUp(options));
    return setup.lists.Print();
  });
}

std::vector<std::string> ListProfiles() { return ProfileNames(); }

std::string DescribeProfiles() {
  const std::vector<std::string> names = ProfileNames();
  size_t width = 0;
  for (const std::string& name : names) width = std::max(width, name.size());
  std::string text;
  for (const std::string& name : names) {
    const Profile profile = DescribeProfile(name);
    absl::StrAppend(&text, name, std::string(width - name.size() + 2, ' '), profile.summary,
                    name == RewriteOptions().profile ? " (default); " : "; ", absl::StrJoin(profile.types, ", "), "\n");
  }
  return text;
}

}  // namespace amp
