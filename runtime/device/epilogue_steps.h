// Converts steps of an epilogue for a device: into a chain behind a result, or into steps before the result is stored.
#ifndef AMP_RUNTIME_DEVICE_EPILOGUE_STEPS_H_
#define AMP_RUNTIME_DEVICE_EPILOGUE_STEPS_H_

#include <cstddef>
#include <optional>

#include "absl/types/span.h"
#include "runtime/device/chain_program.h"
#include "runtime/device/raw/result_step.h"
#include "runtime/kernel/kernel.h"

namespace amp {

// Returns the function of a step; nothing for steps that read an operand.
std::optional<DeviceFunction> FunctionOf(const EpilogueStep& step);

// Adds the steps to a chain, without rounding their values, and returns the number of the last value.
size_t AddSteps(const KernelContext& context, absl::Span<const EpilogueStep> steps, size_t value,
                ChainProgram& program);

// Converts a step for a result of dims `y` [batch, channels, ...]. Returns nothing if the operand has another type than
// input 0, or is neither one number, nor one per channel, nor one per element.
std::optional<device::ResultStep> ResultStepOf(const KernelContext& context, const EpilogueStep& step, const Dims& y);

}  // namespace amp

#endif  // AMP_RUNTIME_DEVICE_EPILOGUE_STEPS_H_
