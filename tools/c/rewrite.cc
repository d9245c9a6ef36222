// Rewriting, and what it is decided by: the functions of tools/c/amp_c.h.
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "ir/base/atomic_file.h"
#include "ir/file/save.h"
#include "nlohmann/json.hpp"
#include "passes/record/metadata_json.h"
#include "passes/report/report.h"
#include "runtime/device_run/open_device.h"
#include "runtime/hardware/compatibility.h"
#include "runtime/hardware/hardware.h"
#include "tools/c/amp_c.h"
#include "tools/c/context.h"
#include "tools/c/options_json.h"
#include "tools/library/amp.h"
#include "tools/library/file_uses.h"
#include "tools/library/option_names.h"
#include "tools/library/precision_policy.h"
#include "tools/program/flag_values.h"
#include "tools/report/html_report.h"
#include "tools/train/train_arguments.h"

namespace amp {
namespace {

using Json = nlohmann::ordered_json;

Json Texts(const std::vector<std::string>& texts) {
  Json array = Json::array();
  for (const std::string& text : texts) array.push_back(TextOfBytes(text));
  return array;
}

std::string SummaryJson(const RewriteSummary& summary) {
  Json json = {{"changed", summary.changed},
               {"line", TextOfBytes(summary.line)},
               {"unchanged_because", TextOfBytes(summary.unchanged_because)},
               {"verification", TextOfBytes(summary.verification)},
               {"compatibility", TextOfBytes(summary.compatibility)},
               {"policy_dtypes", summary.policy_dtypes},
               {"warnings", Texts(summary.warnings)},
               {"advice", Texts(summary.advice)},
               {"diff", TextOfBytes(summary.diff)},
               {"stages", TextOfBytes(summary.stages)}};
  return json.dump();
}

// Sets what a rewrite gives besides a model. All is made before anything is set.
void SetOutcome(AmpContext& context, RewriteSummary result, const char** summary, AmpReport** report) {
  const char* const text = summary == nullptr ? nullptr : context.Give(SummaryJson(result));
  if (report != nullptr) *report = new AmpReport{std::move(result.details)};
  if (summary != nullptr) *summary = text;
}

absl::StatusOr<RewriteOptions> Options(AmpContext& context, const char* json) {
  AMP_ASSIGN_OR_RETURN(RewriteOptions options, RewriteOptionsOfJson(json));
  if (context.TellsProgress()) {
    options.on_progress = [&context](const Progress& progress) {
      return context.TellProgress(progress.step, progress.done, progress.total);
    };
  }
  if (context.HasMetric()) {
    options.metric_function = [&context](const std::string& model) { return context.AskMetric(model); };
  }
  if (context.AsksWhetherToGoOn()) {
    context.BeginToAsk();
    options.may_go_on = [&context] { return context.MayGoOn(); };
  }
  return options;
}

absl::StatusOr<DType> LowType(const char* name) {
  using Dtype = RewriteOptions::Dtype;
  AMP_ASSIGN_OR_RETURN(const Dtype dtype, ParseChoice(name, NamesOf(Dtype()), "float16|bfloat16|auto", "--dtype"));
  if (dtype == Dtype::kAuto) return ChooseLowType(UsableHardware(DetectHardware()));
  return dtype == Dtype::kBfloat16 ? DType::kBfloat16 : DType::kFloat16;
}

}  // namespace
}  // namespace amp

extern "C" {

AmpCode amp_options_schema(AmpContext* context, const char* of, const char** json) {
  return amp::Call(context, [&]() -> absl::Status {
    AMP_RETURN_IF_ERROR(amp::Expect("what the options are of", of));
    AMP_RETURN_IF_ERROR(amp::Expect("a place for the text", json));
    AMP_ASSIGN_OR_RETURN(std::string schema, amp::OptionsSchema(of));
    *json = context->Give(std::move(schema));
    return absl::OkStatus();
  });
}

AmpCode amp_rewrite(AmpContext* context, AmpBytes model, const char* options, AmpBytes* rewritten, const char** summary,
                    AmpReport** report) {
  return amp::Call(context, [&]() -> absl::Status {
    AMP_RETURN_IF_ERROR(amp::ExpectBytes("a model", model));
    AMP_RETURN_IF_ERROR(amp::Expect("a place for the model", rewritten));
    AMP_ASSIGN_OR_RETURN(amp::RewriteOptions how, amp::Options(*context, options));
    how.report_graph = how.report_values = report != nullptr;
    AMP_ASSIGN_OR_RETURN(amp::RewrittenBytes result, amp::RewriteBytes(amp::AsView(model), how));
    const AmpBytes bytes = context->GiveBytes(std::move(result.model));
    amp::SetOutcome(*context, std::move(result.summary), summary, report);
    *rewritten = bytes;
    return absl::OkStatus();
  });
}

AmpCode amp_rewrite_file(AmpContext* context, const char* input, const char* output, const char* options,
                         const char** summary, AmpReport** report) {
  return amp::Call(context, [&]() -> absl::Status {
    AMP_RETURN_IF_ERROR(amp::Expect("a path to a model", input));
    AMP_ASSIGN_OR_RETURN(amp::RewriteOptions how, amp::Options(*context, options));
    how.report_graph = report != nullptr || context->AsksBeforeReplacing();
    if (context->AsksBeforeReplacing()) {
      how.before_replacing = [context](const amp::RewriteSummary& decided) {
        auto report = std::make_unique<AmpReport>(AmpReport{decided.details});
        return context->MayReplace(amp::SummaryJson(decided), std::move(report));
      };
    }
    const std::string target = output != nullptr ? output : how.in_place ? input : "";
    AMP_ASSIGN_OR_RETURN(amp::RewriteSummary result, amp::RewriteFile(input, target, how));
    amp::SetOutcome(*context, std::move(result), summary, report);
    return absl::OkStatus();
  });
}

AmpCode amp_report_json(AmpContext* context, const AmpReport* report, const char** json) {
  return amp::Call(context, [&]() -> absl::Status {
    AMP_RETURN_IF_ERROR(amp::Expect("a report", report));
    AMP_RETURN_IF_ERROR(amp::Expect("a place for the text", json));
    *json = context->Give(amp::ReportJson(*report->details));
    return absl::OkStatus();
  });
}

AmpCode amp_report_html(AmpContext* context, const AmpReport* report, const char** html) {
  return amp::Call(context, [&]() -> absl::Status {
    AMP_RETURN_IF_ERROR(amp::Expect("a report", report));
    AMP_RETURN_IF_ERROR(amp::Expect("a place for the text", html));
    *html = context->Give(amp::ReportHtml(*report->details));
    return absl::OkStatus();
  });
}

AmpCode amp_report_text(AmpContext* context, const AmpReport* report, int float32_only, const char** text) {
  return amp::Call(context, [&]() -> absl::Status {
    AMP_RETURN_IF_ERROR(amp::Expect("a report", report));
    AMP_RETURN_IF_ERROR(amp::Expect("a place for the text", text));
    const amp::Shown shown = float32_only != 0 ? amp::Shown::kFloat32 : amp::Shown::kAll;
    *text = context->Give(amp::ReportText(*report->details, shown));
    return absl::OkStatus();
  });
}

void amp_report_free(AmpReport* report) { delete report; }

AmpCode amp_save_model(AmpContext* context, AmpBytes model, const char* path, const char* input, int force) {
  return amp::Call(context, [&]() -> absl::Status {
    AMP_RETURN_IF_ERROR(amp::Expect("a model", model.size == 0 ? nullptr : model.data));
    AMP_RETURN_IF_ERROR(amp::Expect("a path", path));
    amp::FileUses uses{.force = force != 0};
    if (input != nullptr) uses.reads.push_back({"the model", input});
    uses.writes.push_back({"path", path, amp::FileKind::kModel});
    AMP_RETURN_IF_ERROR(amp::CheckFileUses(uses));
    return amp::InFile(
        path, amp::WriteFileAtomically(path, {amp::FileKind::kModel, force != 0},
                                       [&](amp::AtomicFile& file) { return file.Append(amp::AsView(model)); }));
  });
}

AmpCode amp_print_lists(AmpContext* context, const char* options, const char** text) {
  return amp::Call(context, [&]() -> absl::Status {
    AMP_RETURN_IF_ERROR(amp::Expect("a place for the text", text));
    AMP_ASSIGN_OR_RETURN(const amp::RewriteOptions how, amp::RewriteOptionsOfJson(options));
    AMP_ASSIGN_OR_RETURN(std::string lists, amp::PrintLists(how));
    *text = context->Give(std::move(lists));
    return absl::OkStatus();
  });
}

AmpCode amp_list_profiles(AmpContext* context, const char** text) {
  return amp::Call(context, [&]() -> absl::Status {
    AMP_RETURN_IF_ERROR(amp::Expect("a place for the text", text));
    *text = context->Give(amp::DescribeProfiles());
    return absl::OkStatus();
  });
}

AmpCode amp_policy(AmpContext* context, const char* name, const char** json) {
  return amp::Call(context, [&]() -> absl::Status {
    AMP_RETURN_IF_ERROR(amp::Expect("the name of a policy", name));
    AMP_RETURN_IF_ERROR(amp::Expect("a place for the text", json));
    using Policy = amp::RewriteOptions::Policy;
    AMP_ASSIGN_OR_RETURN(const Policy policy,
                         amp::ParseChoice(name, amp::NamesOf(Policy()),
                                          "mixed_float16, mixed_bfloat16, float32, float16 or bfloat16", "--policy"));
    const amp::PolicyTypes types = amp::TypesOf(policy);
    *json = context->Give(amp::Json{{"compute_dtype", types.compute}, {"variable_dtype", types.variables}}.dump());
    return absl::OkStatus();
  });
}

AmpCode amp_check_compatibility(AmpContext* context, const char* dtype, const char** text) {
  return amp::Call(context, [&]() -> absl::Status {
    AMP_RETURN_IF_ERROR(amp::Expect("a type", dtype));
    AMP_RETURN_IF_ERROR(amp::Expect("a place for the text", text));
    AMP_ASSIGN_OR_RETURN(const amp::DType low, amp::LowType(dtype));
    *text = context->Give(amp::CheckCompatibility(amp::DetectHardware(), low).Text(low));
    return absl::OkStatus();
  });
}

AmpCode amp_new_model(AmpContext* context, const char* kind, const char* layers, const char* options, AmpBytes* model) {
  return amp::Call(context, [&]() -> absl::Status {
    AMP_RETURN_IF_ERROR(amp::Expect("a kind of model", kind));
    AMP_RETURN_IF_ERROR(amp::Expect("a place for the model", model));
    AMP_ASSIGN_OR_RETURN(const amp::NewModelChoices choices, amp::NewModelChoicesOfJson(options));
    if (*kind == '-' || (layers != nullptr && *layers == '-')) {
      return amp::UsageError("expected a kind of model and its layers, found a flag");
    }
    std::vector<std::string> words = {kind};
    if (layers != nullptr) words.emplace_back(layers);
    if (!choices.task.empty()) words.push_back("--task=" + choices.task);
    words.insert(words.end(), {absl::StrCat("--seed=", choices.seed), "--output=model.onnx"});
    AMP_ASSIGN_OR_RETURN(const amp::NewModelArguments arguments, amp::ParseNewModelArguments(words));
    const bool is_mlp = arguments.kind == amp::NewModelArguments::Kind::kMlp;
    AMP_ASSIGN_OR_RETURN(const amp::LoadedFile file, is_mlp
                                                         ? amp::NewMlp(arguments.layers, arguments.seed, arguments.task)
                                                         : amp::NewCnn(arguments.seed));
    AMP_ASSIGN_OR_RETURN(std::string bytes, amp::SerializeModel(*file.model));
    *model = context->GiveBytes(std::move(bytes));
    return absl::OkStatus();
  });
}

}  // extern "C"
