#include "tools/library/option_names.h"

namespace amp {
const EnumNames<RewriteOptions::Dtype>& NamesOf(RewriteOptions::Dtype) {
  using Dtype = RewriteOptions::Dtype;
  static const EnumNames<Dtype> names = {{"float16", Dtype::kFloat16}, {"fp16", Dtype::kFloat16},
                                         {"half", Dtype::kFloat16},    {"bfloat16", Dtype::kBfloat16},
                                         {"bf16", Dtype::kBfloat16},   {"auto", Dtype::kAuto}};
  return names;
}

const EnumNames<RewriteOptions::Policy>& NamesOf(RewriteOptions::Policy) {
  using Policy = RewriteOptions::Policy;
  static const EnumNames<Policy> names = {{"mixed_float16", Policy::kMixedFloat16},
                                          {"mixed_bfloat16", Policy::kMixedBfloat16},
                                          {"float32", Policy::kFloat32},
                                          {"float16", Policy::kFloat16},
                                          {"bfloat16", Policy::kBfloat16}};
  return names;
}

const EnumNames<RewriteOptions::Level>& NamesOf(RewriteOptions::Level) {
  using Level = RewriteOptions::Level;
  static const EnumNames<Level> names = {{"default", Level::kDefault},
                                         {"treat-infer-as-deny", Level::kTreatInferAsDeny},
                                         {"tensor-cores-only", Level::kTensorCoresOnly},
                                         {"unsafe-force-all", Level::kUnsafeForceAll}};
  return names;
}

const EnumNames<RewriteOptions::Placement>& NamesOf(RewriteOptions::Placement) {
  using Placement = RewriteOptions::Placement;
  static const EnumNames<Placement> names = {
      {"paint", Placement::kPaint}, {"cut", Placement::kCut}, {"fewest-casts", Placement::kFewestCasts}};
  return names;
}

const EnumNames<RewriteOptions::Weights>& NamesOf(RewriteOptions::Weights) {
  using Weights = RewriteOptions::Weights;
  static const EnumNames<Weights> names = {{"convert", Weights::kConvert}, {"cast", Weights::kCast}};
  return names;
}

const EnumNames<RewriteOptions::ScaleWeights>& NamesOf(RewriteOptions::ScaleWeights) {
  using ScaleWeights = RewriteOptions::ScaleWeights;
  static const EnumNames<ScaleWeights> names = {
      {"low-data", ScaleWeights::kLowData}, {"always", ScaleWeights::kAlways}, {"never", ScaleWeights::kNever}};
  return names;
}

const EnumNames<RewriteOptions::Preserve>& NamesOf(RewriteOptions::Preserve) {
  using Preserve = RewriteOptions::Preserve;
  static const EnumNames<Preserve> names = {{"tensor", Preserve::kTensor}, {"node", Preserve::kNode}};
  return names;
}

const EnumNames<RewriteOptions::Guards>& NamesOf(RewriteOptions::Guards) {
  using Guards = RewriteOptions::Guards;
  static const EnumNames<Guards> names = {
      {"all", Guards::kAll}, {"constants", Guards::kConstants}, {"none", Guards::kNone}};
  return names;
}

const EnumNames<RewriteOptions::Functions>& NamesOf(RewriteOptions::Functions) {
  using Functions = RewriteOptions::Functions;
  static const EnumNames<Functions> names = {{"inline", Functions::kInline},
                                             {"inline-all", Functions::kInlineAll},
                                             {"keep", Functions::kKeep},
                                             {"specialise", Functions::kSpecialise}};
  return names;
}

const EnumNames<RewriteOptions::ExternalData>& NamesOf(RewriteOptions::ExternalData) {
  using ExternalData = RewriteOptions::ExternalData;
  static const EnumNames<ExternalData> names = {
      {"auto", ExternalData::kAuto}, {"always", ExternalData::kAlways}, {"never", ExternalData::kNever}};
  return names;
}

const EnumNames<RewriteOptions::Metric>& NamesOf(RewriteOptions::Metric) {
  using Metric = RewriteOptions::Metric;
  static const EnumNames<Metric> names = {
      {"rel-l2", Metric::kRelativeL2}, {"max-abs", Metric::kMaxAbs}, {"cosine", Metric::kCosine},
      {"sqnr", Metric::kSqnr},         {"kl", Metric::kKl},          {"top1", Metric::kTop1}};
  return names;
}

const EnumNames<Optimizer>& NamesOf(Optimizer) {
  static const EnumNames<Optimizer> names = {{"sgd", Optimizer::kSgd},
                                             {"momentum", Optimizer::kMomentum},
                                             {"rmsprop", Optimizer::kRmsprop},
                                             {"adam", Optimizer::kAdam},
                                             {"adamw", Optimizer::kAdamw}};
  return names;
}

}  // namespace amp
