// What com.microsoft::FusedConv states itself, in the words of an epilogue.
//
//   FusedConv <activation = "Clip", activation_params = [0, 6]> (x, w, b, z)      steps add(z), clip(0, 6)
#ifndef AMP_RUNTIME_KERNEL_STATED_EPILOGUE_H_
#define AMP_RUNTIME_KERNEL_STATED_EPILOGUE_H_

#include <cstddef>
#include <optional>
#include <vector>

#include "runtime/kernel/epilogue.h"
#include "runtime/kernel/kernel.h"

namespace amp {

inline constexpr size_t kFusedAddend = 3;  // Z

// Nothing for names that are no step.
std::optional<EpilogueStep> StepOfActivation(const Node& node);

// Of a node with an activation: what it adds, and that, if it is a step. Of others: the epilogue.
std::vector<EpilogueStep> StepsOf(const KernelContext& context);

}  // namespace amp

#endif  // AMP_RUNTIME_KERNEL_STATED_EPILOGUE_H_
