// Steps of an epilogue as a device does them: in a chain behind a result, or before the result is stored.
#ifndef AMP_RUNTIME_DEVICE_EPILOGUE_STEPS_H_
#define AMP_RUNTIME_DEVICE_EPILOGUE_STEPS_H_

#include <cstddef>
#include <optional>

#include "absl/types/span.h"
#include "runtime/device/chain_program.h"
#include "runtime/device/raw/result_step.h"
#include "runtime/kernel/kernel.h"

namespace amp {

// Nothing for steps that read an operand.
std::optional<DeviceFunction> FunctionOf(const EpilogueStep& step);

// Adds the steps, whose values are not rounded, and gives the last one.
size_t AddSteps(const KernelContext& context, absl::Span<const EpilogueStep> steps, size_t value,
                ChainProgram& program);

// For a result of dims `y`: [batch, channels, ...]. Nothing for an operand that is neither one number, nor one for each
// channel, nor one for each element, or not of input 0's type.
std::optional<device::ResultStep> ResultStepOf(const KernelContext& context, const EpilogueStep& step, const Dims& y);

}  // namespace amp

#endif  // AMP_RUNTIME_DEVICE_EPILOGUE_STEPS_H_
