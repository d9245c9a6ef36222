// The allocation functions of the programs. The library does not link them: allocation is its host's.
//
//   operator new            a failure ends the program: tools/program/out_of_memory.h
//   malloc and its kin      so does a failure of blocks below kSmallBytes, without which nobody can go on: protobuf,
//                           OpenMP, libzip and the loader ask for such. Larger blocks, such as tensors, get null, and
//                           their callers say what they are for.
//   pthread_create          OpenMP ends the process with words of its own if it gets no thread: ours come first
//
// Each function calls the next one in the order of the loader, so that a preloaded allocator is still in use. They are
// not linked with sanitizers, which replace the same functions (CMakeLists.txt), and only with glibc.
#include <dlfcn.h>
#include <pthread.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <new>

#include "tools/program/out_of_memory.h"

#if defined(__GLIBC__)
#define AMP_REPLACES __attribute__((visibility("default")))

extern "C" {
// glibc's own functions, whatever replaces them.
void* __libc_malloc(size_t size);                      // NOLINT(bugprone-reserved-identifier)
void* __libc_calloc(size_t count, size_t size);        // NOLINT(bugprone-reserved-identifier)
void* __libc_realloc(void* memory, size_t size);       // NOLINT(bugprone-reserved-identifier)
void* __libc_memalign(size_t alignment, size_t size);  // NOLINT(bugprone-reserved-identifier)
}

namespace {

constexpr size_t kSmallBytes = size_t{1} << 20;

using CreateThread = int(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);

int AlignedByGlibc(void** memory, size_t alignment, size_t size) {
  *memory = __libc_memalign(alignment, size);
  return *memory == nullptr ? ENOMEM : 0;
}

// The next definition of a function. It is looked up once; while that goes on, allocations get glibc's.
template <typename Function>
class Next {
 public:
  constexpr Next(const char* name, Function* meanwhile) : name_(name), meanwhile_(meanwhile) {}

  Function* Get() {
    Function* const found = found_.load(std::memory_order_acquire);
    return found != nullptr ? found : Find();
  }

 private:
  Function* Find() {
    thread_local bool is_looking = false;
    if (is_looking) return meanwhile_;
    is_looking = true;
    auto* found = reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name_));
    is_looking = false;
    if (found == nullptr) found = meanwhile_;
    found_.store(found, std::memory_order_release);
    return found;
  }

  const char* name_;
  Function* meanwhile_;
  std::atomic<Function*> found_ = nullptr;
};

constinit Next<void*(size_t)> next_malloc("malloc", __libc_malloc);
constinit Next<void*(size_t, size_t)> next_calloc("calloc", __libc_calloc);
constinit Next<void*(void*, size_t)> next_realloc("realloc", __libc_realloc);
constinit Next<void*(size_t, size_t)> next_memalign("memalign", __libc_memalign);
constinit Next<void*(size_t, size_t)> next_aligned_alloc("aligned_alloc", __libc_memalign);
constinit Next<int(void**, size_t, size_t)> next_posix_memalign("posix_memalign", AlignedByGlibc);
constinit Next<CreateThread> next_pthread_create("pthread_create", nullptr);

// Looks all of them up before main. dlsym frees the text of the last dlerror: a function that was first called, and so
// looked up, inside dlerror would take away what that is writing to.
__attribute__((constructor)) void FindAll() {
  next_malloc.Get();
  next_calloc.Get();
  next_realloc.Get();
  next_memalign.Get();
  next_aligned_alloc.Get();
  next_posix_memalign.Get();
  next_pthread_create.Get();
}

// `memory`, which is null where there was none.
void* OrLeaveIfSmall(void* memory, size_t size) {
  const bool has_failed = memory == nullptr && size > 0;
  if (has_failed && size < kSmallBytes && amp::MayLeaveOutOfMemory()) amp::LeaveOutOfMemory(size);
  return memory;
}

void* OrLeave(void* memory, size_t size) {
  if (memory != nullptr) return memory;
  if (amp::MayLeaveOutOfMemory()) amp::LeaveOutOfMemory(size);
  throw std::bad_alloc();
}

size_t AtLeastOne(size_t size) { return size == 0 ? 1 : size; }
void* Allocate(size_t size) { return next_malloc.Get()(AtLeastOne(size)); }
void* AllocateAligned(size_t size, std::align_val_t alignment) {
  void* memory = nullptr;
  const size_t least = sizeof(void*), wanted = static_cast<size_t>(alignment);
  return next_posix_memalign.Get()(&memory, wanted < least ? least : wanted, AtLeastOne(size)) == 0 ? memory : nullptr;
}

bool IsOfOpenMp(const void* code) {
  Dl_info place = {};
  return ::dladdr(code, &place) != 0 && place.dli_fname != nullptr && std::strstr(place.dli_fname, "omp") != nullptr;
}

}  // namespace

extern "C" {

AMP_REPLACES void* malloc(size_t size) noexcept { return OrLeaveIfSmall(next_malloc.Get()(size), size); }
AMP_REPLACES void* calloc(size_t count, size_t size) noexcept {
  void* const memory = next_calloc.Get()(count, size);
  const bool overflows = size != 0 && count > SIZE_MAX / size;
  return overflows ? memory : OrLeaveIfSmall(memory, count * size);
}
AMP_REPLACES void* realloc(void* memory, size_t size) noexcept {
  return OrLeaveIfSmall(next_realloc.Get()(memory, size), size);
}
AMP_REPLACES void* memalign(size_t alignment, size_t size) noexcept {
  return OrLeaveIfSmall(next_memalign.Get()(alignment, size), size);
}
AMP_REPLACES void* aligned_alloc(size_t alignment, size_t size) noexcept {
  return OrLeaveIfSmall(next_aligned_alloc.Get()(alignment, size), size);
}
AMP_REPLACES int posix_memalign(void** memory, size_t alignment, size_t size) noexcept {
  const int error = next_posix_memalign.Get()(memory, alignment, size);
  if (error == ENOMEM) OrLeaveIfSmall(nullptr, size);
  return error;
}

AMP_REPLACES int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*work)(void*),
                                void* argument) noexcept {
  const int error = next_pthread_create.Get()(thread, attributes, work, argument);
  if (error != 0 && IsOfOpenMp(__builtin_return_address(0))) amp::LeaveWithoutThreads();
  return error;
}

}  // extern "C"

// The other forms of the standard library call these, or free, which is not replaced.
AMP_REPLACES void* operator new(size_t size) { return OrLeave(Allocate(size), size); }
AMP_REPLACES void* operator new[](size_t size) { return OrLeave(Allocate(size), size); }
AMP_REPLACES void* operator new(size_t size, std::align_val_t alignment) {
  return OrLeave(AllocateAligned(size, alignment), size);
}
AMP_REPLACES void* operator new[](size_t size, std::align_val_t alignment) {
  return OrLeave(AllocateAligned(size, alignment), size);
}
// Who asks in this way can go on without.
AMP_REPLACES void* operator new(size_t size, const std::nothrow_t&) noexcept { return Allocate(size); }
AMP_REPLACES void* operator new[](size_t size, const std::nothrow_t&) noexcept { return Allocate(size); }
AMP_REPLACES void* operator new(size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return AllocateAligned(size, alignment);
}
AMP_REPLACES void* operator new[](size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return AllocateAligned(size, alignment);
}
AMP_REPLACES void operator delete(void* memory) noexcept { std::free(memory); }
AMP_REPLACES void operator delete[](void* memory) noexcept { std::free(memory); }
AMP_REPLACES void operator delete(void* memory, size_t) noexcept { std::free(memory); }
AMP_REPLACES void operator delete[](void* memory, size_t) noexcept { std::free(memory); }
AMP_REPLACES void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
AMP_REPLACES void operator delete[](void* memory, std::align_val_t) noexcept { std::free(memory); }
AMP_REPLACES void operator delete(void* memory, size_t, std::align_val_t) noexcept { std::free(memory); }
AMP_REPLACES void operator delete[](void* memory, size_t, std::align_val_t) noexcept { std::free(memory); }

#endif
