#include "ir/patterns/pattern.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ir/base/status.h"

namespace amp {
namespace {

absl::string_view KeysName(AttentionForm::Keys keys) {
  switch (keys) {
    case AttentionForm::Keys::kRows:
      return "rows";
    case AttentionForm::Keys::kColumns:
      return "columns";
    case AttentionForm::Keys::kBeforeHeads:
      return "before heads";
  }
  return "";
}

std::string MaskText(const AttentionForm::Mask& mask) {
  switch (mask.kind) {
    case AttentionForm::Mask::Kind::kAdded:
      return "added";
    case AttentionForm::Mask::Kind::kKeepsWhereTrue:
      return absl::StrCat("false ", mask.fill);
    case AttentionForm::Mask::Kind::kKeepsWhereFalse:
      return absl::StrCat("true ", mask.fill);
  }
  return "";
}

absl::string_view PairsName(RotaryForm::Pairs pairs) {
  switch (pairs) {
    case RotaryForm::Pairs::kHalves:
      return "halves";
    case RotaryForm::Pairs::kInterleaved:
      return "interleaved";
    case RotaryForm::Pairs::kLastAxis:
      return "last axis";
  }
  return "";
}

std::string FormText(const AttentionForm& form) {
  std::string text = absl::StrCat(" keys ", KeysName(form.keys));
  if (form.scale != 1) absl::StrAppend(&text, " scale ", form.scale);
  if (form.soft_cap != 0) absl::StrAppend(&text, " cap ", form.soft_cap);
  const auto add_mask = [](std::string* out, const AttentionForm::Mask& mask) { absl::StrAppend(out, MaskText(mask)); };
  if (!form.masks.empty()) absl::StrAppend(&text, " masks ", absl::StrJoin(form.masks, ", ", add_mask));
  return text;
}

std::string FormText(const RotaryForm& form) {
  std::string text = absl::StrCat(" ", PairsName(form.pairs), form.has_whole_angles ? " whole angles" : "");
  if (form.rotated > 0) absl::StrAppend(&text, " rotated ", form.rotated);
  return text;
}

}  // namespace

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
    case PatternKind::kAttention:
      return "Attention";
    case PatternKind::kRotary:
      return "Rotary";
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
  if (pattern.attention) absl::StrAppend(&text, FormText(*pattern.attention));
  if (pattern.rotary) absl::StrAppend(&text, FormText(*pattern.rotary));
  return text;
}

}  // namespace amp
