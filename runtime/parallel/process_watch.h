// Tells at once when another process of this machine has ended, however it did.
#ifndef AMP_RUNTIME_PARALLEL_PROCESS_WATCH_H_
#define AMP_RUNTIME_PARALLEL_PROCESS_WATCH_H_

#include <cstdint>
#include <utility>

namespace amp {

// Of fixed size, so that processes can tell each other. Numbers of processes mean the same where the rest is the same.
struct ProcessIdentity {
  char boot[40] = "";      // of the running kernel
  uint64_t numbering = 0;  // the namespace that `process` is of
  int64_t process = 0;
};
ProcessIdentity OwnIdentity();

class ProcessWatch {
 public:
  ProcessWatch() = default;  // of none
  // Of none where the process is this one, on another machine or in another namespace, or where the kernel has no such
  // thing.
  explicit ProcessWatch(const ProcessIdentity& identity);
  ProcessWatch(const ProcessWatch&) = delete;
  ProcessWatch& operator=(const ProcessWatch&) = delete;
  ProcessWatch& operator=(ProcessWatch&& other) noexcept {
    std::swap(file_, other.file_);
    return *this;
  }
  ~ProcessWatch();

  bool IsOfOne() const { return file_ >= 0; }
  bool HasEnded() const;
  void Kill() const;

 private:
  int file_ = -1;
};

}  // namespace amp

#endif  // AMP_RUNTIME_PARALLEL_PROCESS_WATCH_H_
