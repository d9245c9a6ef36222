#include "runtime/plan/widened.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "ir/base/status.h"
#include "ir/operators/operator_facts.h"
#include "runtime/kernel/no_kernel_error.h"

namespace amp {
namespace {

bool IsLow(DType dtype) { return dtype == DType::kFloat16 || dtype == DType::kBfloat16; }

bool CanOnlyBeWidened(const Model& model, const Instruction& instruction) {
  return instruction.unfused.empty() &&
         std::all_of(instruction.kernels.begin(), instruction.kernels.end(),
                     [&](const KernelRow* row) { return IsWidened(model, instruction, *row); });
}

}  // namespace

bool HasLowResult(const Model& model, const Instruction& instruction) {
  return std::any_of(instruction.outputs.begin(), instruction.outputs.end(),
                     [&](ValueId output) { return output != kNone && IsLow(model.value(output).dtype); });
}

bool Computes(const Model& model, NodeId node) {
  return model.node(node).bodies.empty() && !CopiesElements(model, node);
}

bool IsWidened(const Model& model, const Instruction& instruction, const KernelRow& row) {
  return row.family == kReferenceFamily && HasLowResult(model, instruction) && Computes(model, instruction.node);
}

std::string WhyWidened(absl::string_view why_not_better) {
  return why_not_better.empty() ? "no vectorised kernel of it" : std::string(why_not_better);
}

absl::Status WidenedError(absl::string_view why_not_better) {
  return NoKernelError(absl::StrCat("its 16-bit values would be computed in float64 by a reference kernel (",
                                    WhyWidened(why_not_better), "), which --strict refuses"));
}

absl::Status RefuseWidened(const Model& model, const Program& program) {
  for (const Instruction& instruction : program.blocks[kMainGraph]) {
    if (!CanOnlyBeWidened(model, instruction)) continue;
    return ModelError(Describe(model, instruction.node), ": ", WidenedError("").message());
  }
  return absl::OkStatus();
}

}  // namespace amp
