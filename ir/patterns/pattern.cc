#include "ir/patterns/pattern.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ir/base/status.h"

namespace amp {

absl::string_view PatternName(PatternKind kind) {
  switch (kind) {
    case PatternKind::kLayerNorm:
      return "LayerNorm";
    case PatternKind::kRmsNorm:
      return "RMSNorm";
    case PatternKind::kInstanceNorm:
      return "InstanceNorm";
    case PatternKind::kGroupNorm:
      return "GroupNorm";
    case PatternKind::kSoftmax:
      return "Softmax";
    case PatternKind::kLogSoftmax:
      return "LogSoftmax";
    case PatternKind::kLogSumExp:
      return "LogSumExp";
    case PatternKind::kGelu:
      return "Gelu";
    case PatternKind::kTanhGelu:
      return "TanhGelu";
    case PatternKind::kSilu:
      return "Silu";
    case PatternKind::kHardSwish:
      return "HardSwish";
  }
  return "";
}

std::string PatternText(const Model& model, const Pattern& pattern) {
  const auto add_name = [&](std::string* out, ValueId value) {
    absl::StrAppend(out, value == kNone ? "-" : Escaped(model.value(value).name));
  };
  std::string text = absl::StrCat(PatternName(pattern.kind), "(", absl::StrJoin(pattern.inputs, ", ", add_name), ")");
  if (!pattern.axes.empty()) absl::StrAppend(&text, " axes ", absl::StrJoin(pattern.axes, ","));
  if (pattern.groups > 0) absl::StrAppend(&text, " groups ", pattern.groups);
  if (pattern.epsilon) absl::StrAppend(&text, " epsilon ", *pattern.epsilon);
  return text;
}

}  // namespace amp
