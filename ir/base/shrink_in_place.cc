#include "ir/base/shrink_in_place.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>

namespace amp {
namespace {

// Copying less than this is faster than asking the system.
constexpr size_t kLeastGivenBack = size_t{64} << 10;

}  // namespace

void ShrinkInPlace(std::string& bytes, size_t size) {
  bytes.resize(size);
  if (bytes.capacity() - size < kLeastGivenBack) return bytes.shrink_to_fit();
  static const uintptr_t page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<uintptr_t>(bytes.data());
  const uintptr_t first = (begin + size + page) / page * page;  // behind the string's closing zero
  const uintptr_t last = (begin + bytes.capacity()) / page * page;
  // Memory from the heap is private and anonymous: what is given back reads as zero when it is touched again.
  if (first < last) static_cast<void>(::madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED));
}

}  // namespace amp
