// How much of a tensor's memory is there, for tests of what is given back.
#ifndef AMP_TESTS_RUNTIME_RESIDENT_H_
#define AMP_TESTS_RUNTIME_RESIDENT_H_

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "tests/catch2.h"

namespace amp {

// Returns the share of the pages, from the first to the last whole one, that the system keeps in memory.
inline double ResidentShare(absl::Span<const std::byte> bytes) {
  const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<uintptr_t>(bytes.data());
  const uintptr_t first = (begin + page - 1) / page * page, end = (begin + bytes.size()) / page * page;
  std::vector<unsigned char> is_there((end - first) / page);
  // NOLINTNEXTLINE(performance-no-int-to-ptr): pages are found by arithmetic
  REQUIRE(::mincore(reinterpret_cast<void*>(first), end - first, is_there.data()) == 0);
  const auto there =
      std::count_if(is_there.begin(), is_there.end(), [](unsigned char each) { return (each & 1) != 0; });
  return static_cast<double>(there) / static_cast<double>(is_there.size());
}

}  // namespace amp

#endif  // AMP_TESTS_RUNTIME_RESIDENT_H_
