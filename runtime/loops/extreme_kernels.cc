// ArgMax and ArgMin of rows that lie across each other, and of rows of a few elements, which are made such.
#include <algorithm>
#include <limits>

#include "ir/base/status.h"
#include "runtime/forms/select.h"
#include "runtime/kernel/parallel_for.h"
#include "runtime/kernel/shape_math.h"
#include "runtime/loops/best_loops.h"
#include "runtime/loops/families.h"
#include "runtime/loops/float_parts.h"
#include "runtime/loops/float_rows.h"

namespace amp {
namespace {

Refusal WhyNot(const KernelContext& context) {
  const Tensor& x = context.Input(0);
  if (!IsLoopFloat(x.dtype())) return kNoLoopFloat;
  const absl::StatusOr<ExtremeForm> form = ReadExtreme(context);
  if (!form.ok() || x.num_elements() == 0) return "no elements";
  const AxisView view(x.dims(), form->axis);
  if (view.inner == 1 && view.size >= kShortRow) return "long rows, whose best element seldom changes";
  return view.size <= std::numeric_limits<int32_t>::max() ? nullptr : "rows of too many elements";
}

// The best elements of up to kMaxColumns rows so far, and their places.
struct Best {
  float elements[kMaxColumns];
  int32_t places[kMaxColumns] = {};
};

// Finds those of rows [column, column + width) among the rows that lie across each other in block `outer`.
void TakeAcross(const FloatSource& in, const AxisView& view, size_t outer, size_t column, size_t width,
                RowLoops::TakeExtremes take, Best& best) {
  float buffer[kMaxColumns];
  for (size_t i = 0; i < view.size; ++i) {
    const float* const row = in.Read((outer * view.size + i) * view.inner + column, width, buffer);
    if (i == 0) std::copy_n(row, width, best.elements);
    if (i != 0) take(row, static_cast<int32_t>(i), best.elements, best.places, width);
  }
}

// Finds those of rows [row, row + width), the elements of each of which lie next to each other.
void TakeRows(const FloatSource& in, const AxisView& view, size_t row, size_t width, RowLoops::TakeExtremes take,
              Best& best) {
  float buffer[kShortRow * kMaxColumns], column[kMaxColumns];
  const float* const rows = in.Read(row * view.size, width * view.size, buffer);
  for (size_t c = 0; c < width; ++c) best.elements[c] = rows[c * view.size];
  for (size_t i = 1; i < view.size; ++i) {
    for (size_t c = 0; c < width; ++c) column[c] = rows[c * view.size + i];
    take(column, static_cast<int32_t>(i), best.elements, best.places, width);
  }
}

template <RowLoops::TakeExtremes RowLoops::*kFirst, RowLoops::TakeExtremes RowLoops::*kLast>
absl::Status GivePlaces(KernelContext& context) {
  const Loops& loops = BestLoops();
  context.Report(loops.name, DType::kFloat32);
  AMP_ASSIGN_OR_RETURN(const ExtremeForm form, ReadExtreme(context));
  const auto take = form.takes_last ? loops.rows.*kLast : loops.rows.*kFirst;
  const Tensor& x = context.Input(0);
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutput(0, DType::kInt64, form.dims));
  const AxisView view(x.dims(), form.axis);
  const FloatSource in(loops, x);
  int64_t* const out = y->mutable_elements<int64_t>().data();
  const bool lies_across = view.inner > 1;
  const size_t rows = lies_across ? view.inner : view.outer, blocks = lies_across ? view.outer : 1;
  const size_t parts = (rows + kMaxColumns - 1) / kMaxColumns;
  ParallelFor(blocks * parts, kMaxColumns * view.size, [&](const Share& share) {
    for (size_t i = share.first; i < share.end; ++i) {
      const size_t block = i / parts, first = i % parts * kMaxColumns, width = std::min(kMaxColumns, rows - first);
      Best best;
      if (lies_across) {
        TakeAcross(in, view, block, first, width, take, best);
      } else {
        TakeRows(in, view, first, width, take, best);
      }
      std::copy_n(best.places, width, out + block * rows + first);
    }
  });
  return absl::OkStatus();
}

constexpr KernelRow kRows[] = {
    {.op_type = "ArgMax",
     .function = GivePlaces<&RowLoops::take_first_largest, &RowLoops::take_last_largest>,
     .refusal = WhyNot,
     .family = "loops"},
    {.op_type = "ArgMin",
     .function = GivePlaces<&RowLoops::take_first_smallest, &RowLoops::take_last_smallest>,
     .refusal = WhyNot,
     .family = "loops"},
};

}  // namespace

absl::Span<const KernelRow> ExtremeLoopKernels() { return kRows; }

}  // namespace amp
