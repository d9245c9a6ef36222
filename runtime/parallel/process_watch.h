// Tells at once when another process of this machine has ended, however it did.
#ifndef AMP_RUNTIME_PARALLEL_PROCESS_WATCH_H_
#define AMP_RUNTIME_PARALLEL_PROCESS_WATCH_H_

#include <cstdint>
#include <utility>

namespace amp {

// Identifies a process to others. Its size is fixed, so that it can be sent. Two process numbers can be compared if the
// other members are equal.
struct ProcessIdentity {
  char boot[40] = "";      // of the running kernel
  uint64_t numbering = 0;  // the namespace that `process` is of
  int64_t process = 0;
};
ProcessIdentity OwnIdentity();

class ProcessWatch {
 public:
  ProcessWatch() = default;  // of none
  // Watches no process if it is this one, on another machine or in another namespace, or if the kernel cannot watch.
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
