// Signals wait while the library's products by "gemm:jit" run: these kernels keep values below the stack pointer, where
// the handler of a signal has its frame, which then overwrites them. Seen with oneDNN 3.2 on processors with AVX2
// alone: products of few columns and 256 terms or more then write beyond their arrays. Holding signals back costs two
// calls of the system, 0.9 us together, for each such product.
#ifndef AMP_RUNTIME_ONEDNN_HELD_SIGNALS_H_
#define AMP_RUNTIME_ONEDNN_HELD_SIGNALS_H_

#include <signal.h>

#include <string>

namespace amp::onednn {

// Whether an implementation of the library, by its name, has such kernels.
bool KeepsValuesBelowStack(const std::string& implementation);

// Holds the calling thread's signals back, but for those that the thread itself causes, as long as it lives.
class HeldSignals {
 public:
  explicit HeldSignals(bool holds);
  ~HeldSignals();
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;

 private:
  const bool holds_;
  sigset_t before_;
};

// Called on the threads of a team: all but the caller's hold signals back from now on, for good. A signal to the
// process is then handled by a thread of the host's.
void HoldSignalsOfWorker();

}  // namespace amp::onednn

#endif  // AMP_RUNTIME_ONEDNN_HELD_SIGNALS_H_
