#include "runtime/loops/chain_operand.h"

#include <algorithm>
#include <type_traits>

namespace amp {

namespace {

// Rows are often of a few elements, for which a call costs more than the elements.
template <typename T>
void CopyRow(const T* from, size_t step, size_t count, T* to) {
  if (step == 0) {
    const T element = *from;
    for (size_t i = 0; i < count; ++i) to[i] = element;
  } else if (from != to) {
    for (size_t i = 0; i < count; ++i) to[i] = from[i];
  }
}

}  // namespace

std::optional<OperandWalk> OperandWalk::Over(const Dims& dims, const Dims& strides) {
  OperandWalk walk;
  size_t num_axes = 0;
  for (size_t axis = 0; axis < dims.size(); ++axis) {
    const auto dim = static_cast<size_t>(dims[axis]), stride = static_cast<size_t>(strides[axis]);
    if (dim == 1) continue;
    if (num_axes > 0 && walk.strides_[num_axes - 1] == stride * dim) {
      walk.dims_[num_axes - 1] *= dim;
      walk.strides_[num_axes - 1] = stride;
      continue;
    }
    if (num_axes == kMostAxes) return std::nullopt;
    walk.dims_[num_axes] = dim;
    walk.strides_[num_axes++] = stride;
  }
  if (num_axes == 0) return walk;
  walk.num_axes_ = num_axes - 1;
  walk.count_ = walk.dims_[num_axes - 1];
  walk.step_ = walk.strides_[num_axes - 1];
  return walk;
}

ChainOperand::ChainOperand(const Loops& loops, const Tensor& tensor, const std::optional<OperandWalk>& walk)
    : walk_(walk), repeats_parts_(walk.has_value() && walk->Repeats() && kChainPart % walk->count() == 0) {
  if (tensor.dtype() == DType::kBool) {
    truths_ = tensor.elements<uint8_t>().data();
  } else {
    floats_.emplace(loops, tensor);
  }
}

template <typename T>
const T* ChainOperand::Elements(size_t first, size_t count, T* buffer) const {
  if constexpr (std::is_same_v<T, float>) {
    return floats_->Read(first, count, buffer);
  } else {
    return truths_ + first;
  }
}

void ChainOperand::Advance(size_t count) {
  at_ += count;
  if (!walk_.has_value() || at_ < walk_->count()) return;
  at_ = 0;
  walk_->Next();
}

void ChainOperand::Start(size_t first) {
  at_ = first;
  if (!walk_.has_value()) return;
  walk_->Skip(first / walk_->count());
  at_ = first % walk_->count();
}

template <typename T>
ChainPart ChainOperand::ReadAs(size_t count, T* buffer) {
  if (!walk_.has_value()) {
    const ChainPart part{Elements(at_, count, buffer)};
    Advance(count);
    return part;
  }
  if (walk_->count() - at_ >= count) {
    const bool is_one = walk_->step() == 0;
    const ChainPart part{Elements(walk_->place() + at_ * walk_->step(), is_one ? 1 : count, buffer), is_one};
    Advance(count);
    return part;
  }
  if (repeats_parts_ && has_part_) return {buffer};
  has_part_ = true;
  for (size_t filled = 0; filled < count;) {
    const size_t size = std::min(count - filled, walk_->count() - at_);
    T* const to = buffer + filled;
    const size_t step = walk_->step();
    CopyRow(Elements(walk_->place() + at_ * step, step == 0 ? 1 : size, to), step, size, to);
    Advance(size);
    filled += size;
  }
  return {buffer};
}

ChainPart ChainOperand::Read(size_t count, void* buffer) {
  return floats_.has_value() ? ReadAs(count, static_cast<float*>(buffer))
                             : ReadAs(count, static_cast<uint8_t*>(buffer));
}

}  // namespace amp
