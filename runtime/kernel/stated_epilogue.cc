#include "runtime/kernel/stated_epilogue.h"

#include <string>

#include "ir/graph/attributes.h"

namespace amp {

std::optional<EpilogueStep> StepOfActivation(const Node& node) {
  const std::string name = GetString(node, "activation", "");
  const std::vector<float> parameters = GetFloats(node, "activation_params").value_or(std::vector<float>());
  const bool has_two = parameters.size() == 2;
  if (name == "Relu") return EpilogueStep{.kind = EpilogueKind::kRelu};
  if (name == "Tanh") return EpilogueStep{.kind = EpilogueKind::kTanh};
  if (name == "Sigmoid") return EpilogueStep{.kind = EpilogueKind::kSigmoid};
  if (name == "LeakyRelu" && parameters.size() == 1) {
    return EpilogueStep{.kind = EpilogueKind::kRelu, .alpha = parameters[0]};
  }
  if (name == "Clip" && has_two && parameters[0] <= parameters[1]) {
    return EpilogueStep{.kind = EpilogueKind::kClip, .alpha = parameters[0], .beta = parameters[1]};
  }
  if (name == "HardSigmoid" && has_two) {
    return EpilogueStep{.kind = EpilogueKind::kHardSigmoid, .alpha = parameters[0], .beta = parameters[1]};
  }
  return std::nullopt;
}

std::vector<EpilogueStep> StepsOf(const KernelContext& context) {
  std::vector<EpilogueStep> steps = context.epilogue().steps;
  if (!HasAttribute(context.node(), "activation")) return steps;
  if (context.HasInput(kFusedAddend)) steps.push_back({.kind = EpilogueKind::kAdd, .input = kFusedAddend});
  if (const auto step = StepOfActivation(context.node())) steps.push_back(*step);
  return steps;
}

}  // namespace amp
