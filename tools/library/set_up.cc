#include "tools/library/set_up.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ir/base/status.h"
#include "passes/classify/op_list_file.h"
#include "passes/classify/suggest.h"
#include "runtime/device_run/open_device.h"
#include "runtime/hardware/compatibility.h"
#include "runtime/hardware/targets.h"
#include "tools/library/check_options.h"
#include "tools/library/foreign_words.h"
#include "tools/library/precision_policy.h"
#include "tools/library/rewrite_flags.h"
#include "tools/library/train_options.h"
#include "tools/report/html_report.h"

namespace amp {
namespace {

DType LowTypeOn(const Target& target) { return target.bfloat16 > target.float16 ? DType::kBfloat16 : DType::kFloat16; }

constexpr absl::string_view kTargetExample = "cuda:8.0";

// Returns a hint at targets of the same device, if the name is that of one.
std::string TargetHint(const std::string& found) {
  if (std::string hint = HintForValue("--target", found); !hint.empty()) return hint;
  std::vector<std::string> names = TargetNames(), of_device;
  std::replace(names.begin(), names.end(), std::string("cuda:CC"), std::string(kTargetExample));
  const std::string device = found.substr(0, found.find(':'));
  std::copy_if(names.begin(), names.end(), std::back_inserter(of_device),
               [&](const std::string& name) { return absl::StartsWith(name, absl::StrCat(device, ":")); });
  if (of_device.empty()) return DidYouMean(found, names);
  const std::string closest = found == device ? "" : ClosestName(found, of_device);
  return absl::StrCat("; did you mean '", closest.empty() ? of_device.front() : closest, "'?");
}

// Looks at the machine only if it is asked about.
absl::StatusOr<Choices> Choose(const RewriteOptions& options) {
  Choices choices;
  choices.options = choices.stated = options;
  choices.flags = ChangedFlags(options);
  AMP_RETURN_IF_ERROR(ApplyPolicy(choices.options));
  const auto dtype = choices.options.dtype.value_or(RewriteOptions::Dtype::kFloat16);
  const bool is_any = options.target == "any", is_auto = options.target == "auto";
  std::optional<Target> target = FindTarget(options.target);
  if (!is_any && !is_auto && !target) {
    return UsageError("--target: expected ", absl::StrJoin(TargetNames(), ", "), ", with a compute capability as in ",
                      kTargetExample, "; found '", Escaped(options.target), "'", TargetHint(options.target));
  }
  const bool picks_dtype = dtype == RewriteOptions::Dtype::kAuto;
  std::optional<Hardware> hardware;
  if (is_auto) hardware = UsableHardware(DetectHardware());
  if (is_any && picks_dtype) hardware = DetectHardware();
  if (picks_dtype) {
    // Without a target any runtime may get the model, and ONNX Runtime's CPU provider has no bfloat16 kernels.
    choices.low = is_any ? DType::kFloat16 : is_auto ? ChooseLowType(*hardware) : LowTypeOn(*target);
  } else {
    choices.low = dtype == RewriteOptions::Dtype::kBfloat16 ? DType::kBfloat16 : DType::kFloat16;
  }
  if (is_auto) target = ChooseTarget(*hardware, choices.low);
  if (target) {
    choices.target = {target->name, target->IsFastEnough(choices.low), target->promises};
  }
  if (hardware) {
    const Gate gate = choices.target.can_run_low ? Gate::kOpen : Gate::kClosed;
    choices.compatibility = CheckCompatibility(*hardware, choices.low, gate).Text(choices.low);
  } else if (target) {
    choices.compatibility = CheckCompatibility(*target, choices.low).Text(choices.low);
  }
  return choices;
}

absl::StatusOr<std::shared_ptr<const OpSignatures>> LoadSignatures(const RewriteOptions& options) {
  auto signatures = OpSignatures::WithBuiltIn(options.op_signatures);
  if (!signatures.ok()) return UsageError("--op-signature: ", signatures.status().message());
  return signatures;
}

absl::StatusOr<OpLists> LoadLists(const RewriteOptions& options, DType low,
                                  std::shared_ptr<const OpSignatures> signatures) {
  OpListOptions lists;
  lists.low = low;
  lists.signatures = std::move(signatures);
  AMP_ASSIGN_OR_RETURN(lists.profile, ProfileList(options.profile, low));
  lists.files = options.lists;
  const auto add = [&](OpClass op_class, const std::vector<std::string>& items) {
    for (const std::string& item : items) lists.edits.push_back({op_class, item});
  };
  add(OpClass::kAllow, options.allow);
  add(OpClass::kInfer, options.infer);
  add(OpClass::kDeny, options.deny);
  add(OpClass::kClear, options.clear);
  lists.allow_nodes = options.allow_node;
  lists.deny_nodes = options.deny_node;
  lists.deny_tensors = options.deny_tensor;
  lists.follow = options.follow;
  lists.placement = options.placement;
  return OpLists::Load(lists);
}

bool IsMixed(const RewriteOptions& options) {
  return options.policy == RewriteOptions::Policy::kMixedFloat16 ||
         options.policy == RewriteOptions::Policy::kMixedBfloat16;
}

RewriteSettings SettingsFrom(const Choices& choices) {
  const RewriteOptions& options = choices.options;
  RewriteSettings settings;
  settings.low = choices.low;
  settings.target = choices.target;
  settings.last_softmax_stays = IsMixed(options);
  settings.paint.level = options.level;
  settings.preserve = options.preserve;
  settings.guards = options.guards;
  settings.keep_io = {options.keep_io.value_or(true), options.keep_io_names};
  settings.weights = options.weights.value_or(WeightMode::kConvert);
  if (options.keep_opset) settings.opset.kind = OpsetChoice::Kind::kKeep;
  if (options.opset.has_value()) settings.opset = {OpsetChoice::Kind::kFixed, *options.opset};
  settings.functions = options.functions;
  if (options.keep_batch_norm) settings.batch_norms = BatchNormMode::kKeep;
  settings.limits = options.limits;
  settings.freeze_initializers = options.freeze_initializers;
  settings.keep_decomposed = options.keep_decomposed;
  settings.scale_weights = options.scale_weights;
  settings.max_weight_error = options.max_weight_error;
  settings.strict = options.strict;
  if (options.on_progress) {
    settings.on_stage = [report = options.on_progress](Stage stage) {
      return report({std::string(StageName(stage)), 0, 0});
    };
  }
  settings.may_go_on = options.may_go_on;
  settings.annotate = options.annotate;
  settings.draw_values = DrawsValues(options);
  settings.describe_graph = settings.draw_values || options.report_graph || !options.node_data_file.empty();
  settings.diff = options.diff;
  return settings;
}

// "x:0" -> "batch"
absl::Status AddFreedDimensions(const RewriteOptions& options, RewriteSettings& settings) {
  for (const auto& [place, symbol] : options.free_dims) {
    const size_t colon = place.rfind(':');
    size_t axis = 0;
    const bool is_place = colon != std::string::npos && colon > 0 && absl::SimpleAtoi(place.substr(colon + 1), &axis);
    if (!is_place || symbol.empty()) {
      return UsageError("--dim: expected INPUT:AXIS=NAME, as in x:0=batch, found '", Escaped(place), "=",
                        Escaped(symbol), "'");
    }
    settings.freed.push_back({place.substr(0, colon), axis, symbol});
  }
  return absl::OkStatus();
}

absl::Status AddStages(const RewriteOptions& options, RewriteSettings& settings) {
  if (!options.stop_after.empty()) {
    AMP_ASSIGN_OR_RETURN(settings.stop_after, FindStage("--stop-after", options.stop_after));
    if (const Reason why = ObstacleToStopping(*settings.stop_after); why && !options.dry_run) {
      return UsageError("--stop-after ", options.stop_after, ": ", why.sentence());
    }
    if (options.functions == RewriteOptions::Functions::kSpecialise && !options.dry_run) {
      return UsageError("--stop-after ", options.stop_after,
                        ": with --functions specialise, calls are functions again only after the last stage");
    }
  }
  for (const std::string& name : options.print_after) {
    if (name == "all") {
      for (const std::string& each : StageNames()) settings.print_after.push_back(*FindStage("", each));
      continue;
    }
    AMP_ASSIGN_OR_RETURN(const Stage stage, FindStage("--print-after", name));
    settings.print_after.push_back(stage);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Setup> SetUp(const RewriteOptions& options) {
  AMP_RETURN_IF_ERROR(CheckOptions(options));
  AMP_ASSIGN_OR_RETURN(Choices choices, Choose(options));
  AMP_ASSIGN_OR_RETURN(std::shared_ptr<const OpSignatures> signatures, LoadSignatures(options));
  AMP_ASSIGN_OR_RETURN(OpLists lists, LoadLists(options, choices.low, signatures));
  RewriteSettings settings = SettingsFrom(choices);
  AMP_RETURN_IF_ERROR(AddStages(options, settings));
  AMP_RETURN_IF_ERROR(AddFreedDimensions(options, settings));
  if (options.train.train) {
    const bool is_float32 = options.policy == RewriteOptions::Policy::kFloat32;
    AMP_ASSIGN_OR_RETURN(settings.step, MakeStepSettings(options.train, is_float32 ? DType::kFloat32 : choices.low));
  }
  if (WrapsTrainingGraph(options.train)) {
    AMP_ASSIGN_OR_RETURN(settings.wrap, MakeWrapSettings(options.train));
  }
  return Setup{std::move(choices), std::move(signatures), std::move(lists), std::move(settings)};
}

}  // namespace amp
