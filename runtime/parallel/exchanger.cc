#include "runtime/parallel/exchanger.h"

#include <thread>

#include "ir/base/status.h"

namespace amp {
namespace {

using Bytes = Transport::Bytes;

Bytes BytesOf(ProcessIdentity& identity) { return {reinterpret_cast<std::byte*>(&identity), sizeof identity}; }

// Waits between two looks at an exchange. A long exchange is looked at more rarely, so that other threads compute.
void Pause(int64_t round) {
  if (round < 100) {
    std::this_thread::yield();
  } else {
    std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
}

}  // namespace

absl::Status Exchanger::WatchRankBefore() {
  ProcessIdentity own = OwnIdentity();
  std::vector<ProcessIdentity> all(static_cast<size_t>(size()));
  std::vector<Bytes> from;
  from.reserve(all.size());
  for (ProcessIdentity& identity : all) from.push_back(BytesOf(identity));
  AMP_RETURN_IF_ERROR(Exchange(std::vector<Bytes>(all.size(), BytesOf(own)), from));
  if (size() > 1) process_ = ProcessWatch(all[static_cast<size_t>(Before())]);
  return absl::OkStatus();
}

absl::Status Exchanger::Exchange(const std::vector<Bytes>& to, const std::vector<Bytes>& from) {
  transport_->StartExchange(to, from);
  for (int64_t round = 0;; ++round) {
    const absl::Status watched = Watch();  // first: what was sent before a process ended still counts
    switch (transport_->Test()) {
      case Transport::Progress::kDone:
        return absl::OkStatus();
      case Transport::Progress::kFailed:
        return IoError("MPI: ", Escaped(transport_->Error()));
      case Transport::Progress::kPending:
        AMP_RETURN_IF_ERROR(watched);
        Pause(round);
    }
  }
}

absl::Status Exchanger::Watch() {
  const Clock::time_point now = Clock::now();
  if (size() == 1 || now - last_look_ < most_silence_ / 1000) return absl::OkStatus();
  if (now - last_look_ > most_silence_ / 2) last_heard_ = now;  // this process stood still: that says nothing of others
  last_look_ = now;
  if (now - last_sign_ >= most_silence_ / 20) {
    transport_->SendSign();
    last_sign_ = now;
  }
  if (transport_->TakeSign()) last_heard_ = now;
  if (process_.HasEnded()) return IoError("rank ", Before(), " of ", size(), " has ended");
  if (now - last_heard_ <= most_silence_) return absl::OkStatus();
  process_.Kill();  // given up: it must not come back, and give the others up in turn
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(most_silence_).count();
  return IoError("rank ", Before(), " of ", size(), " gave no sign of life for ", seconds, " s");
}

}  // namespace amp
