// An operand of a chain, read and kept part after part.
#ifndef AMP_RUNTIME_LOOPS_CHAIN_OPERAND_H_
#define AMP_RUNTIME_LOOPS_CHAIN_OPERAND_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "runtime/kernel/tensor.h"
#include "runtime/loops/float_parts.h"

namespace amp {

// How many elements parts have: those of a few values stay in the nearest cache of every processor.
inline constexpr size_t kChainPart = 512;

// A part of a value: float32, or bytes of truth; `is_one`: one element stands for all.
struct ChainPart {
  const void* data = nullptr;
  bool is_one = false;

  const float* floats() const { return static_cast<const float*>(data); }
  const uint8_t* truths() const { return static_cast<const uint8_t*>(data); }
};

// Finds the elements of an operand that broadcasts, row by row of the result. A row is as long as the operand lies in
// one piece, or repeats one element.
class OperandWalk {
 public:
  // Nothing where that takes too many axes. `strides`: of the operand, along the axes of the result; 0: repeated.
  static std::optional<OperandWalk> Over(const Dims& dims, const Dims& strides);

  size_t count() const { return count_; }  // elements of a row
  size_t step() const { return step_; }    // 1, or 0
  size_t place() const { return place_; }  // of the row's first element
  // Whether all rows are one.
  bool Repeats() const { return num_axes_ == 1 && strides_[0] == 0; }
  // From the first row on, to the one behind so many. REQUIRES: there is such a row.
  void Skip(size_t rows) {
    for (size_t axis = num_axes_; axis-- > 0; rows /= dims_[axis]) {
      index_[axis] = rows % dims_[axis];
      place_ += strides_[axis] * index_[axis];
    }
  }
  void Next() {
    for (size_t axis = num_axes_; axis-- > 0;) {
      place_ += strides_[axis];
      if (++index_[axis] < dims_[axis]) return;
      place_ -= strides_[axis] * dims_[axis];
      index_[axis] = 0;
    }
  }

 private:
  static constexpr size_t kMostAxes = 8;
  size_t count_ = 1, step_ = 0, place_ = 0, num_axes_ = 0;
  std::array<size_t, kMostAxes> dims_ = {}, strides_ = {}, index_ = {};  // of the axes ahead of the row
};

// An input of a chain, as it broadcasts to the result.
class ChainOperand {
 public:
  // `walk`: nothing where it is as large as the result.
  ChainOperand(const Loops& loops, const Tensor& tensor, const std::optional<OperandWalk>& walk);

  // Once, before anything is read: to the element of the result that is read first, a multiple of kChainPart.
  void Start(size_t first);
  // The next `count` elements, behind those of the calls before; `buffer` has room for kChainPart of them, and is
  // nobody else's.
  ChainPart Read(size_t count, void* buffer);

 private:
  template <typename T>
  const T* Elements(size_t first, size_t count, T* buffer) const;
  template <typename T>
  ChainPart ReadAs(size_t count, T* buffer);
  void Advance(size_t count);

  std::optional<FloatSource> floats_;
  const uint8_t* truths_ = nullptr;
  std::optional<OperandWalk> walk_;
  size_t at_ = 0;               // in the row, or in the whole
  bool repeats_parts_ = false;  // what the first part put into the buffer is there for all others
  bool has_part_ = false;
};

}  // namespace amp

#endif  // AMP_RUNTIME_LOOPS_CHAIN_OPERAND_H_
