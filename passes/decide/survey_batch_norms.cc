#include "passes/decide/survey_batch_norms.h"

#include <optional>

#include "absl/strings/str_cat.h"
#include "ir/patterns/batch_norm.h"
#include "passes/record/rewrite_record.h"

namespace amp {
namespace {

bool MayReplaceAny(const RewriteSettings& settings) {
  return settings.batch_norms == BatchNormMode::kReplace && settings.MayComputeConstants();
}

}  // namespace

BatchNorms SurveyBatchNorms(const Model& model, const RewriteSettings& settings) {
  BatchNorms norms;
  if (!MayReplaceAny(settings)) return norms;
  std::optional<bool> has_record;
  for (const NodeId id : model.AllNodes()) {
    if (!IsInferenceNorm(model, id)) continue;
    if (!has_record.has_value()) has_record = HasRecord(model);
    if (HasOverridableStatistics(model, id)) continue;
    const Reason why =
        *has_record ? "an earlier rewrite has to be taken back first" : ObstacleToScaleAndShift(model, id);
    if (why) {
      norms.stay_float32.emplace(id, absl::StrCat("it cannot be replaced: ", why.sentence()));
    } else {
      norms.replaceable.insert(id);
    }
  }
  return norms;
}

}  // namespace amp
