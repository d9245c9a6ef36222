#include "runtime/loops/float_rows.h"

#include <algorithm>

#include "ir/base/status.h"
#include "runtime/loops/best_loops.h"
#include "runtime/loops/float_parts.h"

namespace amp {
namespace {

using RowFunction = absl::FunctionRef<void(const float* in, float* out, size_t size)>;

constexpr size_t kColumns = 16;  // a cache line of float32

// Rows that lie across: some next to each other at a time, turned, worked on, and turned back.
void MapColumns(const FloatSource& source, const FloatSink& sink, const AxisView& view, float* turned, RowFunction of) {
  float buffer[kColumns];
  for (size_t row = 0; row < view.rows();) {
    const size_t first = view.First(row);
    const size_t columns = std::min(kColumns, view.inner - row % view.inner);
    for (size_t i = 0; i < view.size; ++i) {
      const float* const in = source.Read(first + i * view.inner, columns, buffer);
      for (size_t c = 0; c < columns; ++c) turned[c * view.size + i] = in[c];
    }
    for (size_t c = 0; c < columns; ++c) of(turned + c * view.size, turned + c * view.size, view.size);
    for (size_t i = 0; i < view.size; ++i) {
      float* const out = sink.Begin(first + i * view.inner, buffer);
      for (size_t c = 0; c < columns; ++c) out[c] = turned[c * view.size + i];
      sink.End(first + i * view.inner, columns, buffer);
    }
    row += columns;
  }
}

}  // namespace

absl::Status MapRows(KernelContext& context, const AxisView& view, RowFunction of) {
  const Loops& loops = BestLoops();
  context.Report(loops.name, DType::kFloat32);
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutputLike(0, 0));
  if (y->num_elements() == 0) return absl::OkStatus();
  const size_t rows_at_once = view.inner == 1 ? 1 : kColumns;
  AMP_ASSIGN_OR_RETURN(Tensor scratch,
                       context.MakeScratch(DType::kFloat32, {static_cast<int64_t>(rows_at_once * view.size)}));
  float* const buffer = scratch.mutable_elements<float>().data();
  const FloatSource source(loops, context.Input(0));
  const FloatSink sink(loops, *y);
  if (view.inner > 1) {
    MapColumns(source, sink, view, buffer, of);
    return absl::OkStatus();
  }
  for (size_t row = 0; row < view.rows(); ++row) {
    const size_t first = row * view.size;
    of(source.Read(first, view.size, buffer), sink.Begin(first, buffer), view.size);
    sink.End(first, view.size, buffer);
  }
  return absl::OkStatus();
}

}  // namespace amp
