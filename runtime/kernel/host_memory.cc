#include "runtime/kernel/host_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <fstream>

#include "absl/synchronization/mutex.h"

namespace amp {
namespace {

constexpr size_t kAlignment = 64;
constexpr const char* kGroupLimits[] = {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"};

std::atomic<size_t> allocated_bytes = 0;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)

size_t FindLimit() {
  const long pages = ::sysconf(_SC_PHYS_PAGES), page_bytes = ::sysconf(_SC_PAGESIZE);
  size_t limit = pages > 0 && page_bytes > 0 ? static_cast<size_t>(pages) * static_cast<size_t>(page_bytes) : SIZE_MAX;
  for (const char* file : kGroupLimits) {
    size_t of_group = 0;
    if (std::ifstream(file) >> of_group) limit = std::min(limit, of_group);  // "max" is no number
  }
  return limit / 10 * 9;
}

// Freed blocks, kept for the next allocations of their sizes. The system clears new memory page by page, which takes
// longer than a kernel takes to fill it. An allocation of another size frees them all, so that the process never has
// more memory than it needed at some time.
class FreedBlocks {
 public:
  static FreedBlocks& Get() {
    static FreedBlocks& blocks = *new FreedBlocks;
    return blocks;
  }

  // Null where there is none of the size.
  void* Take(size_t size_bytes) {
    const absl::MutexLock lock(&mutex_);
    for (size_t i = count_; i-- > 0;) {
      if (blocks_[i].size_bytes != size_bytes) continue;
      void* const memory = blocks_[i].memory;
      blocks_[i] = blocks_[--count_];
      return memory;
    }
    return nullptr;
  }

  // Whether there is room for it.
  bool Keep(void* memory, size_t size_bytes) {
    const absl::MutexLock lock(&mutex_);
    if (count_ == blocks_.size()) return false;
    blocks_[count_++] = {memory, size_bytes};
    return true;
  }

  void LetGo() {
    const absl::MutexLock lock(&mutex_);
    for (; count_ > 0; --count_) {
      std::free(blocks_[count_ - 1].memory);
      allocated_bytes -= blocks_[count_ - 1].size_bytes;
    }
  }

 private:
  struct Block {
    void* memory;
    size_t size_bytes;
  };

  absl::Mutex mutex_;
  std::array<Block, 512> blocks_ ABSL_GUARDED_BY(mutex_);
  size_t count_ ABSL_GUARDED_BY(mutex_) = 0;
};

// Smaller ones the heap keeps itself.
constexpr size_t kLargeBytes = size_t{1} << 20;

void Free(void* memory, size_t size_bytes) {
  if (size_bytes >= kLargeBytes && FreedBlocks::Get().Keep(memory, size_bytes)) return;
  std::free(memory);
  allocated_bytes -= size_bytes;
}

// Blocks of this size may get pages of 2 MiB, so that reading weights of megabytes looks up fewer pages.
constexpr size_t kHugePageBytes = size_t{2} << 20;

void* AllocateInHugePages(size_t size_bytes) {
  void* memory = nullptr;
  if (::posix_memalign(&memory, kHugePageBytes, size_bytes) != 0)
    return nullptr;  // of any size, as aligned_alloc is not
#ifdef MADV_HUGEPAGE
  // The rest stays in small ones. Where the system has no huge ones, all does.
  static_cast<void>(::madvise(memory, size_bytes / kHugePageBytes * kHugePageBytes, MADV_HUGEPAGE));
#endif
  return memory;
}

// Counted. Null where the limit does not allow it.
void* NewMemory(size_t size_bytes) {
  void* memory = nullptr;
  if (allocated_bytes.fetch_add(size_bytes) + size_bytes <= HostMemoryLimit()) {
    const bool is_huge = size_bytes >= 2 * kHugePageBytes;
    memory = is_huge ? AllocateInHugePages(size_bytes) : std::aligned_alloc(kAlignment, size_bytes);
  }
  if (memory == nullptr) allocated_bytes -= size_bytes;
  return memory;
}

}  // namespace

size_t HostMemoryLimit() {
  static const size_t limit = FindLimit();
  return limit;
}

std::shared_ptr<void> AllocateHostMemory(size_t size_bytes) {
  if (size_bytes > HostMemoryLimit()) return nullptr;
  const size_t rounded = (size_bytes + kAlignment - 1) / kAlignment * kAlignment;
  void* memory = rounded >= kLargeBytes ? FreedBlocks::Get().Take(rounded) : NewMemory(rounded);
  if (memory == nullptr) {
    FreedBlocks::Get().LetGo();
    memory = NewMemory(rounded);
  }
  if (memory == nullptr) return nullptr;
  return {memory, [rounded](void* freed) { Free(freed, rounded); }};
}

void GiveBackFreedMemory() {
  FreedBlocks::Get().LetGo();
#ifdef __GLIBC__
  ::malloc_trim(0);
#endif
}

bool DropHostPages(absl::Span<std::byte> bytes) {
  const long page_bytes = ::sysconf(_SC_PAGESIZE);
  if (page_bytes <= 0) return false;
  const auto page = static_cast<uintptr_t>(page_bytes), begin = reinterpret_cast<uintptr_t>(bytes.data());
  const uintptr_t first = (begin + page - 1) / page * page, end = (begin + bytes.size()) / page * page;
  if (first >= end) return false;
  // Where this fails, some pages may have gone.
  static_cast<void>(::madvise(bytes.data() + (first - begin), end - first, MADV_DONTNEED));
  return true;
}

}  // namespace amp
