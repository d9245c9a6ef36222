#include "runtime/kernel/copy_blocks.h"

#include <algorithm>

#include "ir/base/check.h"

namespace amp {
namespace {

constexpr size_t kShort = 16;  // elements: for fewer a call would cost more than the loop

template <typename T>
void CopyBlock(const T* from, T* to, size_t size) {
  if (size >= kShort) {
    std::copy_n(from, size, to);
    return;
  }
  for (size_t i = 0; i < size; ++i) to[i] = from[i];
}

}  // namespace

void CopyBlocks(const Tensor& from, BlockPlaces in, Tensor& to, BlockPlaces out, size_t size, size_t count) {
  AMP_CHECK(from.dtype() == to.dtype());
  if (size == 0) return;
  const bool known = VisitStorage(from.dtype(), [&]<typename T>(TypeTag<T>) {
    const T* const source = from.elements<T>().data() + in.first;
    T* const target = to.mutable_elements<T>().data() + out.first;
    for (size_t i = 0; i < count; ++i) CopyBlock(source + i * in.step, target + i * out.step, size);
  });
  AMP_CHECK(known);
}

}  // namespace amp
