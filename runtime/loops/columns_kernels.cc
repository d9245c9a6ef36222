// Col2Im in float32, row by row of the images.
#include <algorithm>
#include <vector>

#include "ir/base/status.h"
#include "runtime/forms/columns.h"
#include "runtime/kernel/parallel_for.h"
#include "runtime/loops/best_loops.h"
#include "runtime/loops/families.h"
#include "runtime/loops/float_parts.h"

namespace amp {
namespace {

Refusal WhyNot(const KernelContext& context) {
  if (!IsLoopFloat(context.Input(0).dtype())) return kNoLoopFloat;
  const absl::StatusOr<ColumnsForm> form = ReadColumns(context);
  if (!form.ok()) return "what does not fit";
  return form->image_size == 0 ? "no elements" : nullptr;
}

// Adding up fewer elements than these takes less time than the call of a loop.
constexpr size_t kFewest = 16;

absl::Status Col2Im(KernelContext& context) {
  const Loops& loops = BestLoops();
  context.Report(loops.name, DType::kFloat32);
  AMP_ASSIGN_OR_RETURN(const ColumnsForm form, ReadColumns(context));
  const Tensor& input = context.Input(0);
  AMP_ASSIGN_OR_RETURN(const Tensor x, Widened(context, input));
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutput(0, input.dtype(), form.dims));
  const auto images = static_cast<size_t>(form.dims[0] * form.dims[1]),
             stride = static_cast<size_t>(form.strides.back());
  const float* const columns = x.elements<float>().data();
  std::vector<ColumnsRow> rows;
  ForEachRow(form, [&](const ColumnsRow& row) { rows.push_back(row); });
  const FloatSink out(loops, *y);
  ParallelFor(images, form.columns_size, [&](const Share& share) {
    std::vector<float> buffer(input.dtype() == DType::kFloat32 ? 0 : form.image_size);
    for (size_t image = share.first; image < share.end; ++image) {
      const float* const in = columns + image * form.columns_size;
      float* const pixels = out.Begin(image * form.image_size, buffer.data());
      std::fill_n(pixels, form.image_size, 0.0f);
      for (const ColumnsRow& row : rows) {
        float* const to = pixels + row.to;
        if (stride == 1 && row.count >= kFewest) {
          loops.binary.add.of_both(to, in + row.from, to, row.count);
          continue;
        }
        for (size_t i = 0; i < row.count; ++i) to[i * stride] += in[row.from + i];
      }
      out.End(image * form.image_size, form.image_size, pixels);
    }
  });
  return absl::OkStatus();
}

constexpr KernelRow kRows[] = {{.op_type = "Col2Im", .function = Col2Im, .refusal = WhyNot, .family = "loops"}};

}  // namespace

absl::Span<const KernelRow> ColumnsLoopKernels() { return kRows; }

}  // namespace amp
