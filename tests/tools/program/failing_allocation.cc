// A library to be preloaded (LD_PRELOAD). It makes some allocations of a process fail, or starts of its threads, by
// their number.
//
//   FAIL_COUNT=1             says at the end how many there were: "ALLOCATIONS 40123"
//   FAIL_AT=7 FAIL_FOR=2     the seventh and the eighth fail
//   FAIL_MIN=4096            blocks below that are neither counted nor failed
//   FAIL_THREADS=1           threads instead of allocations
//   FAIL_FORK=LOG FAIL_EVERY=3   at every third one a child goes on in which it fails, and this process, where it does
//                            not. A child that ends with anything but 0, or 5 and one line, is a line of the file LOG.
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>

extern "C" {  // names of the C library's own
// NOLINTBEGIN(bugprone-reserved-identifier)
void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* memory, size_t size);
void* __libc_memalign(size_t alignment, size_t size);
// NOLINTEND(bugprone-reserved-identifier)
}

namespace {

enum class Kind { kAllocation, kThread };

struct Wishes {
  long at = -1, count = 1, least_bytes = 0, every = 1;
  Kind kind = Kind::kAllocation;
  const char* log = nullptr;  // of children
};

long NumberOf(const char* variable, long otherwise) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? otherwise : std::atol(text);
}

const Wishes& Wished() {
  static Wishes wishes;
  static bool is_known = false;
  if (!is_known) {
    is_known = true;
    wishes.at = NumberOf("FAIL_AT", -1);
    wishes.count = NumberOf("FAIL_FOR", 1);
    wishes.least_bytes = NumberOf("FAIL_MIN", 0);
    wishes.every = NumberOf("FAIL_EVERY", 1);
    wishes.kind = NumberOf("FAIL_THREADS", 0) != 0 ? Kind::kThread : Kind::kAllocation;
    wishes.log = std::getenv("FAIL_FORK");
  }
  return wishes;
}

std::atomic<long> counted{0}, fails_until{0};
std::atomic<bool> is_child{false};

// Whether what the child said is one line about memory.
bool IsOneLine(int file) {
  char text[4096];
  const ssize_t size = ::pread(file, text, sizeof(text) - 1, 0);
  if (size <= 0) return false;
  text[size] = '\0';
  return std::strstr(text, "out of memory") != nullptr && std::strchr(text, '\n') == text + size - 1;
}

// True in the child, whose allocations fail from here on.
bool GoOnInChild(long number) {
  char name[] = "/tmp/failing_allocation_XXXXXX";
  const int words = ::mkstemp(name);
  ::unlink(name);
  const pid_t child = ::fork();
  if (child == 0) {
    is_child = true;
    ::alarm(60);
    ::dup2(words, STDERR_FILENO);
    const int nowhere = ::open("/dev/null", O_WRONLY);
    ::dup2(nowhere, STDOUT_FILENO);
    fails_until = number + Wished().count;
    return true;
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  const bool is_right = code == 0 || (code == 5 && IsOneLine(words));
  if (!is_right) {
    char said[200] = "", line[300];
    (void)!::pread(words, said, sizeof(said) - 1, 0);
    const int log = ::open(Wished().log, O_WRONLY | O_CREAT | O_APPEND, 0666);
    (void)!::write(log, line,
                   static_cast<size_t>(std::snprintf(line, sizeof(line), "allocation %ld: exit code %d: %.*s\n", number,
                                                     code, static_cast<int>(std::strcspn(said, "\n")), said)));
    ::close(log);
  }
  ::close(words);
  return false;
}

bool Fails(size_t size, Kind kind) {
  const Wishes& wishes = Wished();
  if (kind != wishes.kind || static_cast<long>(size) < wishes.least_bytes) return false;
  const long number = ++counted;
  if (wishes.log == nullptr) return wishes.at > 0 && number >= wishes.at && number - wishes.at < wishes.count;
  if (is_child) return number < fails_until;
  return number % wishes.every == 0 && GoOnInChild(number);
}

void* None() {
  errno = ENOMEM;
  return nullptr;
}

__attribute__((destructor)) void SayCount() {
  if (std::getenv("FAIL_COUNT") == nullptr || is_child) return;
  char line[64];
  (void)!::write(STDERR_FILENO, line,
                 static_cast<size_t>(std::snprintf(line, sizeof(line), "ALLOCATIONS %ld\n", counted.load())));
}

}  // namespace

extern "C" {

void* malloc(size_t size) { return Fails(size, Kind::kAllocation) ? None() : __libc_malloc(size); }
void* calloc(size_t count, size_t size) {
  return Fails(count * size, Kind::kAllocation) ? None() : __libc_calloc(count, size);
}
void* realloc(void* memory, size_t size) {
  return Fails(size, Kind::kAllocation) ? None() : __libc_realloc(memory, size);
}
void* memalign(size_t alignment, size_t size) {
  return Fails(size, Kind::kAllocation) ? None() : __libc_memalign(alignment, size);
}
void* aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }
int posix_memalign(void** memory, size_t alignment, size_t size) {
  void* const found = memalign(alignment, size);
  if (found == nullptr) return ENOMEM;
  *memory = found;
  return 0;
}

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*work)(void*), void* argument) {
  if (Fails(0, Kind::kThread)) return EAGAIN;
  using Create = int(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  return reinterpret_cast<Create*>(::dlsym(RTLD_NEXT, "pthread_create"))(thread, attributes, work, argument);
}

}  // extern "C"
