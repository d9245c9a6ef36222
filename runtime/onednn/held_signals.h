// Signals wait while the library's products by "gemm:jit" run: these kernels keep values below the stack pointer, where
// the handler of a signal has its frame, which then overwrites them. Seen with oneDNN 3.2 on processors with AVX2
// alone: products of few columns and 256 terms or more then write beyond their arrays.
#ifndef AMP_RUNTIME_ONEDNN_HELD_SIGNALS_H_
#define AMP_RUNTIME_ONEDNN_HELD_SIGNALS_H_

#include <signal.h>

#include <string>

namespace amp::onednn {

// Whether an implementation of the library, by its name, has such kernels.
bool KeepsValuesBelowStack(const std::string& implementation);

// Holds the calling thread's signals back, but for those that the thread itself causes, as long as it lives. In a run
// (below) they stay so for some milliseconds: two calls of the system for each product would cost more than small ones.
class HeldSignals {
 public:
  explicit HeldSignals(bool holds);
  ~HeldSignals();
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;

 private:
  bool restores_ = false;
};

// A run of the calling thread's: what happens to held signals between its products. Runs nest.
struct SignalsOfRun {
  static void Begin();
  static void BetweenNodes();
  static void End();
};

// Called on the threads of a team: all but the caller's hold signals back from now on, for good. A signal to the
// process is then handled by a thread of the host's.
void HoldSignalsOfWorker();

}  // namespace amp::onednn

#endif  // AMP_RUNTIME_ONEDNN_HELD_SIGNALS_H_
