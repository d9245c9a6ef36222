// The activation that com.microsoft::FusedConv states itself, as an epilogue.
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

// Returns the steps of a node: its addend and its activation, if it states one and that is a step, else its epilogue.
std::vector<EpilogueStep> StepsOf(const KernelContext& context);

}  // namespace amp

#endif  // AMP_RUNTIME_KERNEL_STATED_EPILOGUE_H_
