// Exchanges over a Transport that give up when the rank before is lost: by the system's word, where it runs on the same
// machine, else for lack of signs of life. For the thread that uses the transport.
#ifndef AMP_RUNTIME_PARALLEL_EXCHANGER_H_
#define AMP_RUNTIME_PARALLEL_EXCHANGER_H_

#include <chrono>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "runtime/parallel/process_watch.h"
#include "runtime/parallel/transport.h"

namespace amp {

class Exchanger {
 public:
  Exchanger(std::unique_ptr<Transport> transport, std::chrono::milliseconds most_silence)
      : transport_(std::move(transport)), most_silence_(most_silence) {}

  int rank() const { return transport_->rank(); }
  int size() const { return transport_->size(); }
  Transport& transport() { return *transport_; }

  // Lets the system tell of the end of the rank before. Of all ranks together.
  absl::Status WatchRankBefore();
  // As Transport::StartExchange, to its end. Errors: kUnavailable, a rank is lost: then the bytes must stay.
  absl::Status Exchange(const std::vector<Transport::Bytes>& to, const std::vector<Transport::Bytes>& from);
  // Gives a sign of life and looks for one: to be called again and again. Errors: the same.
  absl::Status Watch();

 private:
  using Clock = std::chrono::steady_clock;

  int Before() const { return (rank() + size() - 1) % size(); }

  std::unique_ptr<Transport> transport_;
  std::chrono::milliseconds most_silence_;
  ProcessWatch process_;
  Clock::time_point last_look_, last_sign_, last_heard_ = Clock::now();
};

}  // namespace amp

#endif  // AMP_RUNTIME_PARALLEL_EXCHANGER_H_
