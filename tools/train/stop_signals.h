// Lets SIGINT and SIGTERM ask a loop to come to an end instead of ending the process at once.
#ifndef AMP_TOOLS_TRAIN_STOP_SIGNALS_H_
#define AMP_TOOLS_TRAIN_STOP_SIGNALS_H_

#include <signal.h>

namespace amp {

// While one exists. The second signal does what it did before. One at a time.
class StopSignals {
 public:
  StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;
  ~StopSignals();

  // SIGINT or SIGTERM once one came, else 0.
  int Caught() const;

 private:
  struct sigaction before_interrupt_ = {}, before_terminate_ = {};
};

}  // namespace amp

#endif  // AMP_TOOLS_TRAIN_STOP_SIGNALS_H_
