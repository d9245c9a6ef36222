// ai.amp.GatherGradient in float32: each row of a table gets the sum of its picked rows' gradients, in the order of
// indices.
#include "ir/base/status.h"
#include "runtime/kernel/gather_gradient.h"
#include "runtime/kernel/move_elements.h"
#include "runtime/loops/best_loops.h"
#include "runtime/loops/families.h"
#include "runtime/loops/float_parts.h"

namespace amp {
namespace {

constexpr size_t kG = 2;

Refusal WhyNot(const KernelContext& context) {
  if (!IsLoopFloat(context.Input(kG).dtype())) return kNoLoopFloat;
  return GetDType(context.node(), "to") == DType::kFloat32 ? nullptr : "another type than float32";
}

absl::Status GatherGradient(KernelContext& context) {
  const Loops& loops = BestLoops();
  context.Report(loops.name, DType::kFloat32);
  AMP_ASSIGN_OR_RETURN(const PickedRows picked, ReadPickedRows(context));
  AMP_ASSIGN_OR_RETURN(Tensor * dx, context.MakeOutput(0, DType::kFloat32, picked.table));
  if (dx->num_elements() == 0) return absl::OkStatus();
  FillWithZero(*dx);
  const FloatSource gradients(loops, context.Input(kG));
  std::vector<float> buffer(picked.row_size);
  float* const table = dx->mutable_elements<float>().data();
  for (size_t i = 0; i < picked.rows.size(); ++i) {
    float* const row = table + picked.rows[i] * picked.row_size;
    const float* const g = gradients.Read(i * picked.row_size, picked.row_size, buffer.data());
    loops.binary.add.of_both(row, g, row, picked.row_size);
  }
  return absl::OkStatus();
}

constexpr KernelRow kRows[] = {{.op_type = "GatherGradient",
                                .function = GatherGradient,
                                .domain = "ai.amp",
                                .refusal = WhyNot,
                                .family = "loops"}};

}  // namespace

absl::Span<const KernelRow> GatherGradientLoopKernels() { return kRows; }

}  // namespace amp
