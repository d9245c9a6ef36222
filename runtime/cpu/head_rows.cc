#include "runtime/cpu/head_rows.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "runtime/kernel/parallel_for.h"
#include "runtime/kernel/shape_math.h"
#include "runtime/loops/best_loops.h"
#include "runtime/loops/float_parts.h"

namespace amp {
namespace {

class Mover {
 public:
  Mover(const HeadView& from, HeadView& to, const HeadSizes& sizes, const EditRow& edit)
      : from_(from),
        to_(to),
        columns_(static_cast<size_t>(sizes.columns)),
        element_(ElementBytes(from.tensor.dtype())),
        edit_(edit),
        source_(BestLoops(), from.tensor),
        sink_(BestLoops(), to.tensor),
        row_(edit ? columns_ : 0) {}

  void Move(const HeadPlace& at, const HeadPlace& target) {
    const size_t source = from_.Place(at), place = to_.Place(target);
    if (!edit_) {
      std::memcpy(to_.tensor.mutable_bytes().data() + place * element_, from_.tensor.bytes().data() + source * element_,
                  columns_ * element_);
      return;
    }
    const float* const found = source_.Read(source, columns_, row_.data());
    if (found != row_.data()) std::copy_n(found, columns_, row_.begin());
    edit_(at, row_.data());
    float* const written = sink_.Begin(place, row_.data());
    if (written != row_.data()) std::copy_n(row_.begin(), columns_, written);
    sink_.End(place, columns_, row_.data());
  }

 private:
  const HeadView& from_;
  HeadView& to_;
  size_t columns_, element_;
  const EditRow& edit_;
  FloatSource source_;
  FloatSink sink_;
  std::vector<float> row_;
};

}  // namespace

HeadView ViewOfColumns(const Tensor& tensor, int64_t first, int64_t width, int64_t columns) {
  return {.tensor = tensor, .first = static_cast<size_t>(first), .strides = {tensor.dim(1) * width, columns, width, 1}};
}

HeadView ViewOfHeads(const Tensor& tensor, size_t first) {
  const Dims strides = RowStrides(Dims(tensor.dims().end() - 4, tensor.dims().end()));
  return {.tensor = tensor, .first = first, .strides = {strides[0], strides[1], strides[2], strides[3]}};
}

void MoveRows(const HeadView& from, HeadView& to, const HeadSizes& sizes, const std::function<int64_t(int64_t)>& to_row,
              const EditRow& edit) {
  if (sizes.rows == 0 || sizes.columns == 0) return;
  const auto cost = static_cast<size_t>(sizes.rows * sizes.columns);
  ParallelFor(static_cast<size_t>(sizes.batch * sizes.heads), cost, [&](const Share& share) {
    Mover mover(from, to, sizes, edit);
    for (auto i = static_cast<int64_t>(share.first); i < static_cast<int64_t>(share.end); ++i) {
      HeadPlace at = {.batch = i / sizes.heads, .head = i % sizes.heads, .row = 0};
      HeadPlace target = at;
      target.row = to_row(at.batch);
      for (; at.row < sizes.rows; ++at.row, ++target.row) mover.Move(at, target);
    }
  });
}

}  // namespace amp
