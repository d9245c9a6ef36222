#include "runtime/cpu/head_blocks.h"

#include <algorithm>
#include <cstring>

#include "ir/base/status.h"
#include "runtime/cpu/prepared.h"

namespace amp {
namespace {

size_t PlaceOf(const HeadStrides& strides, const HeadPlace& place) {
  return static_cast<size_t>(place.batch * strides[kBatchAxis] + place.head * strides[kHeadAxis] +
                             place.row * strides[kRowAxis]);
}

// Whether the rows' axis is contiguous instead of the columns'. Such a block is gathered transposed, as it lies.
bool IsTurned(const HeadStrides& strides) { return strides[kColumnAxis] != 1 && strides[kRowAxis] == 1; }

// Lines of elements to copy between the tensor and a gathered block. In the block, lines and their elements are
// contiguous. In the tensor, lines are `step` apart, and elements of a line `stride` apart.
struct Lines {
  int64_t count, length, step, stride;
};
Lines LinesOf(const HeadStrides& strides, const HeadBlock& block) {
  if (IsTurned(strides)) return {block.columns, block.rows, strides[kColumnAxis], 1};
  return {block.rows, block.columns, strides[kRowAxis], strides[kColumnAxis]};
}

constexpr int64_t kOnTheirWay = 256;  // elements of a strided line that are moved at a time

template <typename T>
void CopyApart(const T* from, int64_t from_stride, T* to, int64_t to_stride, int64_t count) {
  for (int64_t i = 0; i < count; ++i) to[i * to_stride] = from[i * from_stride];
}
void CopyApart(const std::byte* from, int64_t from_stride, std::byte* to, int64_t to_stride, int64_t count,
               DType dtype) {
  if (ElementBytes(dtype) == sizeof(uint16_t)) {
    CopyApart(reinterpret_cast<const uint16_t*>(from), from_stride, reinterpret_cast<uint16_t*>(to), to_stride, count);
  } else {
    CopyApart(reinterpret_cast<const uint32_t*>(from), from_stride, reinterpret_cast<uint32_t*>(to), to_stride, count);
  }
}

// GatherLine copies strided elements to a contiguous line of another type; ScatterLine copies them back.
void GatherLine(const std::byte* from, DType from_type, int64_t stride, std::byte* to, DType to_type, int64_t count) {
  if (stride == 1) return ConvertLine(from, from_type, to, to_type, static_cast<size_t>(count));
  alignas(float) std::byte line[kOnTheirWay * sizeof(float)];
  const auto from_bytes = static_cast<int64_t>(ElementBytes(from_type)),
             to_bytes = static_cast<int64_t>(ElementBytes(to_type));
  for (int64_t first = 0; first < count; first += kOnTheirWay) {
    const int64_t size = std::min(kOnTheirWay, count - first);
    CopyApart(from + first * stride * from_bytes, stride, line, 1, size, from_type);
    ConvertLine(line, from_type, to + first * to_bytes, to_type, static_cast<size_t>(size));
  }
}
void ScatterLine(const std::byte* from, DType from_type, std::byte* to, DType to_type, int64_t stride, int64_t count) {
  if (stride == 1) return ConvertLine(from, from_type, to, to_type, static_cast<size_t>(count));
  alignas(float) std::byte line[kOnTheirWay * sizeof(float)];
  const auto from_bytes = static_cast<int64_t>(ElementBytes(from_type)),
             to_bytes = static_cast<int64_t>(ElementBytes(to_type));
  for (int64_t first = 0; first < count; first += kOnTheirWay) {
    const int64_t size = std::min(kOnTheirWay, count - first);
    ConvertLine(from + first * from_bytes, from_type, line, to_type, static_cast<size_t>(size));
    CopyApart(line, 1, to + first * stride * to_bytes, stride, size, to_type);
  }
}

// Calls visit(offset in the tensor, offset in the gathered block, length) for each line of all heads. Lines that are
// contiguous in the tensor, too, are visited as one.
template <typename Visit>
void ForEachLine(const HeadStrides& strides, const HeadBlock& block, const HeadBlock& most, const Visit& visit) {
  const Lines lines = LinesOf(strides, block), of_most = LinesOf(strides, most);
  const bool is_one = lines.stride == 1 && lines.step == lines.length && of_most.length == lines.length;
  for (int64_t head = 0; head < block.heads; ++head) {
    const int64_t first = head * strides[kHeadAxis], gathered = head * most.rows * most.columns;
    if (is_one) {
      visit(first, gathered, lines.count * lines.length);
      continue;
    }
    for (int64_t i = 0; i < lines.count; ++i) {
      visit(first + i * lines.step, gathered + i * of_most.length, lines.length);
    }
  }
}

absl::StatusOr<Tensor> GatherMemory(const KernelContext& context, const HeadBlock& most, DType dtype) {
  return context.MakeScratch(dtype, {most.num_elements()});
}

}  // namespace

std::array<int64_t, 3> StridesOfBlock(const HeadStrides& strides, const HeadBlock& most, HeadAccess access) {
  if (access == HeadAccess::kWhereTheyLie) return {strides[kHeadAxis], strides[kRowAxis], strides[kColumnAxis]};
  if (IsTurned(strides)) return {most.rows * most.columns, 1, most.rows};
  return {most.rows * most.columns, most.columns, 1};
}

absl::StatusOr<HeadReader> HeadReader::Create(const KernelContext& context, const HeadOperand& operand,
                                              const HeadBlock& most, DType compute, HeadAccess access) {
  HeadReader reader;
  reader.operand_ = &operand;
  reader.most_ = most;
  if (access == HeadAccess::kWhereTheyLie) return reader;
  AMP_ASSIGN_OR_RETURN(reader.gathered_, GatherMemory(context, most, compute));
  return reader;
}

const void* HeadReader::Read(const HeadPlace& place, const HeadBlock& block) {
  const Tensor& x = operand_->tensor;
  const size_t element = ElementBytes(x.dtype());
  const std::byte* const from = x.bytes().data() + PlaceOf(operand_->strides, place) * element;
  if (gathered_.dtype() == DType::kUndefined) return from;
  std::byte* const to = gathered_.mutable_bytes().data();
  const int64_t stride = LinesOf(operand_->strides, block).stride;
  if (x.dtype() == gathered_.dtype() && stride == 1) {  // avoids a call for each of many short lines
    ForEachLine(operand_->strides, block, most_, [&](int64_t apart, int64_t gathered, int64_t length) {
      std::memcpy(to + static_cast<size_t>(gathered) * element, from + static_cast<size_t>(apart) * element,
                  static_cast<size_t>(length) * element);
    });
    return to;
  }
  ForEachLine(operand_->strides, block, most_, [&](int64_t apart, int64_t gathered, int64_t length) {
    GatherLine(from + apart * static_cast<int64_t>(element), x.dtype(), stride,
               to + gathered * static_cast<int64_t>(ElementBytes(gathered_.dtype())), gathered_.dtype(), length);
  });
  return to;
}

absl::StatusOr<HeadWriter> HeadWriter::Create(const KernelContext& context, Tensor& y, const HeadStrides& strides,
                                              const HeadBlock& most, DType result, HeadAccess access) {
  HeadWriter writer;
  writer.y_ = &y;
  writer.strides_ = strides;
  writer.most_ = most;
  if (access == HeadAccess::kWhereTheyLie) return writer;
  AMP_ASSIGN_OR_RETURN(writer.gathered_, GatherMemory(context, most, result));
  return writer;
}

void* HeadWriter::Begin(const HeadPlace& place) {
  if (gathered_.dtype() != DType::kUndefined) return gathered_.mutable_bytes().data();
  return y_->mutable_bytes().data() + PlaceOf(strides_, place) * ElementBytes(y_->dtype());
}

void HeadWriter::End(const HeadPlace& place, const HeadBlock& block) {
  if (gathered_.dtype() == DType::kUndefined) return;
  const size_t element = ElementBytes(y_->dtype());
  std::byte* const to = y_->mutable_bytes().data() + PlaceOf(strides_, place) * element;
  const std::byte* const from = gathered_.bytes().data();
  const int64_t stride = LinesOf(strides_, block).stride;
  if (y_->dtype() == gathered_.dtype() && stride == 1) {
    ForEachLine(strides_, block, most_, [&](int64_t apart, int64_t gathered, int64_t length) {
      std::memcpy(to + static_cast<size_t>(apart) * element, from + static_cast<size_t>(gathered) * element,
                  static_cast<size_t>(length) * element);
    });
    return;
  }
  ForEachLine(strides_, block, most_, [&](int64_t apart, int64_t gathered, int64_t length) {
    ScatterLine(from + gathered * static_cast<int64_t>(ElementBytes(gathered_.dtype())), gathered_.dtype(),
                to + apart * static_cast<int64_t>(element), y_->dtype(), stride, length);
  });
}

}  // namespace amp
