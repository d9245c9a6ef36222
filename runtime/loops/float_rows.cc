#include "runtime/loops/float_rows.h"

#include <algorithm>
#include <vector>

#include "ir/base/status.h"
#include "runtime/loops/best_loops.h"
#include "runtime/loops/float_parts.h"

namespace amp {
namespace {

void MapWhole(const FloatSource& source, const FloatSink& sink, const AxisView& view, const Share& rows, float* buffer,
              RowFunction of) {
  for (size_t row = rows.first; row < rows.end; ++row) {
    const size_t first = row * view.size;
    of(source.Read(first, view.size, buffer), sink.Begin(first, buffer), view.size);
    sink.End(first, view.size, buffer);
  }
}

bool HasShortRows(const AxisView& view) { return view.inner == 1 && view.size < kShortRow && view.outer > 1; }

enum class ShortRows { kAsTheyAre, kAsColumns };

// kMaxColumns rows at a time, as columns.
void MapTransposed(const FloatSource& source, const FloatSink& sink, const AxisView& view, const Share& groups,
                   float* columns, ColumnsFunction of) {
  float buffer[kShortRow * kMaxColumns];
  for (size_t group = groups.first; group < groups.end; ++group) {
    const size_t row = group * kMaxColumns, width = std::min(kMaxColumns, view.outer - row);
    const size_t first = row * view.size, count = width * view.size;
    const float* const rows = source.Read(first, count, buffer);
    for (size_t i = 0; i < view.size; ++i) {
      for (size_t c = 0; c < width; ++c) columns[i * width + c] = rows[c * view.size + i];
    }
    of(columns, view.size, width);
    float* const out = sink.Begin(first, buffer);
    for (size_t i = 0; i < view.size; ++i) {
      for (size_t c = 0; c < width; ++c) out[c * view.size + i] = columns[i * width + c];
    }
    sink.End(first, count, buffer);
  }
}

// As many rows at a time as lie next to each other, up to kMaxColumns.
size_t GroupsOf(const AxisView& view) { return (view.inner + kMaxColumns - 1) / kMaxColumns; }

void MapAcross(const FloatSource& source, const FloatSink& sink, const AxisView& view, const Share& groups,
               float* columns, ColumnsFunction of) {
  float buffer[kMaxColumns];
  for (size_t group = groups.first; group < groups.end; ++group) {
    const size_t column = group % GroupsOf(view) * kMaxColumns, width = std::min(kMaxColumns, view.inner - column);
    const size_t first = view.First(group / GroupsOf(view) * view.inner + column);
    for (size_t i = 0; i < view.size; ++i) {
      std::copy_n(source.Read(first + i * view.inner, width, buffer), width, columns + i * width);
    }
    of(columns, view.size, width);
    for (size_t i = 0; i < view.size; ++i) {
      const size_t at = first + i * view.inner;
      std::copy_n(columns + i * width, width, sink.Begin(at, buffer));
      sink.End(at, width, buffer);
    }
  }
}

absl::Status MapAll(KernelContext& context, const AxisView& view, RowFunction of, ColumnsFunction of_columns,
                    ShortRows short_rows) {
  const Loops& loops = BestLoops();
  context.Report(loops.name, DType::kFloat32);
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutputLike(0, 0));
  if (y->num_elements() == 0) return absl::OkStatus();
  const bool has_short_rows = short_rows == ShortRows::kAsColumns && HasShortRows(view);
  const size_t at_once = (has_short_rows ? kMaxColumns : std::min(kMaxColumns, view.inner)) * view.size;
  const size_t count = has_short_rows    ? (view.outer + kMaxColumns - 1) / kMaxColumns
                       : view.inner == 1 ? view.rows()
                                         : view.outer * GroupsOf(view);
  const auto buffers = static_cast<int64_t>(NumShares(count, at_once) * at_once);
  AMP_ASSIGN_OR_RETURN(Tensor scratch, context.MakeScratch(DType::kFloat32, {buffers}));
  const FloatSource source(loops, context.Input(0));
  const FloatSink sink(loops, *y);
  ParallelFor(count, at_once, [&](const Share& share) {
    float* const buffer = scratch.mutable_elements<float>().data() + share.index * at_once;
    if (has_short_rows) {
      MapTransposed(source, sink, view, share, buffer, of_columns);
    } else if (view.inner == 1) {
      MapWhole(source, sink, view, share, buffer, of);
    } else {
      MapAcross(source, sink, view, share, buffer, of_columns);
    }
  });
  return absl::OkStatus();
}

}  // namespace

absl::Status MapRowsAndColumns(KernelContext& context, const AxisView& view, RowFunction of,
                               ColumnsFunction of_columns) {
  return MapAll(context, view, of, of_columns, ShortRows::kAsColumns);
}

absl::Status MapRows(KernelContext& context, const AxisView& view, RowFunction of) {
  const auto of_columns = [&](float* columns, size_t size, size_t width) {
    std::vector<float> row(size);
    for (size_t c = 0; c < width; ++c) {
      for (size_t i = 0; i < size; ++i) row[i] = columns[i * width + c];
      of(row.data(), row.data(), size);
      for (size_t i = 0; i < size; ++i) columns[i * width + c] = row[i];
    }
  };
  return MapAll(context, view, of, of_columns, ShortRows::kAsTheyAre);
}

}  // namespace amp
