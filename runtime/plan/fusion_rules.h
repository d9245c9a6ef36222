// The kernels that compute several nodes together: the processor's, or a device's.
#ifndef AMP_RUNTIME_PLAN_FUSION_RULES_H_
#define AMP_RUNTIME_PLAN_FUSION_RULES_H_

#include <vector>

#include "runtime/kernel/kernel.h"
#include "runtime/plan/find_fused_patterns.h"
#include "runtime/plan/find_updates.h"

namespace amp {

struct FusionRules {
  // Whether a product or convolution may have an epilogue if `row` is one of its kernels; null: all may have one.
  bool (*takes_epilogue)(const KernelRow& row) = nullptr;
  AttentionRule attention;
  FindPatternRow find_norm = nullptr;
  FindOperatorRow find_reduction = nullptr;
  std::vector<const KernelRow*> chains = {};
  FindFusedUpdate find_update = nullptr;  // null: optimizer steps run one by one
};

FusionRules ProcessorFusionRules();

}  // namespace amp

#endif  // AMP_RUNTIME_PLAN_FUSION_RULES_H_
