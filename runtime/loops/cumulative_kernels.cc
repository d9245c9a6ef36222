// CumSum of rows that lie across each other: element i of all of them is added to their totals, in float64, at a time.
#include <algorithm>
#include <vector>

#include "ir/base/status.h"
#include "runtime/forms/cumulative.h"
#include "runtime/kernel/parallel_for.h"
#include "runtime/kernel/shape_math.h"
#include "runtime/loops/best_loops.h"
#include "runtime/loops/families.h"
#include "runtime/loops/float_parts.h"

namespace amp {
namespace {

Refusal WhyNot(const KernelContext& context) {
  const Tensor& x = context.Input(0);
  if (!IsLoopFloat(x.dtype())) return kNoLoopFloat;
  if (x.num_elements() == 0) return "no elements";
  const absl::StatusOr<CumulativeForm> form = ReadCumulative(context);
  if (!form.ok()) return "what does not fit";
  return AxisView(x.dims(), form->axis).inner > 1 ? nullptr : "elements that lie next to each other";
}

// Rows [column, column + width) of those that lie across each other in block `outer`.
void AddAcross(const Loops& loops, const FloatSource& in, const FloatSink& out, const AxisView& view,
               const CumulativeForm& form, size_t outer, size_t column, size_t width) {
  double totals[kPartSize] = {};
  float buffer[kPartSize];
  for (size_t i = 0; i < view.size; ++i) {
    const size_t at = form.reverse ? view.size - 1 - i : i;
    const size_t first = (outer * view.size + at) * view.inner + column;
    const auto write = [&] {
      float* const to = out.Begin(first, buffer);
      loops.rows.to_float(totals, to, width);
      out.End(first, width, to);
    };
    if (form.exclusive) write();
    loops.rows.add_to(in.Read(first, width, buffer), totals, width);
    if (!form.exclusive) write();
  }
}

absl::Status CumSum(KernelContext& context) {
  const Loops& loops = BestLoops();
  context.Report(loops.name, DType::kFloat32);
  AMP_ASSIGN_OR_RETURN(const CumulativeForm form, ReadCumulative(context));
  const Tensor& x = context.Input(0);
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutput(0, x.dtype(), x.dims()));
  const AxisView view(x.dims(), form.axis);
  const FloatSource in(loops, x);
  const FloatSink out(loops, *y);
  const size_t parts = (view.inner + kPartSize - 1) / kPartSize;
  ParallelFor(view.outer * parts, view.size * std::min(kPartSize, view.inner), [&](const Share& share) {
    for (size_t i = share.first; i < share.end; ++i) {
      const size_t column = i % parts * kPartSize;
      AddAcross(loops, in, out, view, form, i / parts, column, std::min(kPartSize, view.inner - column));
    }
  });
  return absl::OkStatus();
}

constexpr KernelRow kRows[] = {{.op_type = "CumSum", .function = CumSum, .refusal = WhyNot, .family = "loops"}};

}  // namespace

absl::Span<const KernelRow> CumulativeLoopKernels() { return kRows; }

}  // namespace amp
