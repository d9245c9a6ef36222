// MPI behind runtime/parallel/transport.h: the shared object's content. It only sends messages from rank to rank, so
// that the order of additions is this project's and not MPI's.
#include <mpi.h>

#include <algorithm>
#include <cstdlib>

#include "runtime/parallel/transport.h"

namespace amp {
namespace {

constexpr int kData = 1, kSign = 2;             // tags
constexpr size_t kMostBytes = size_t{1} << 30;  // of a message, whose size is an int

class MpiTransport : public Transport {
 public:
  MpiTransport() {
    MPI_Comm_dup(MPI_COMM_WORLD, &world_);
    MPI_Comm_set_errhandler(world_, MPI_ERRORS_RETURN);
    MPI_Comm_rank(world_, &rank_);
    MPI_Comm_size(world_, &size_);
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }

  void StartExchange(const std::vector<Bytes>& to, const std::vector<Bytes>& from) override {
    for (int other = 0; other < size_; ++other) {
      if (other != rank_)
        ForEachMessage(from[Index(other)], [&](void* data, int size, MPI_Request* request) {
          return MPI_Irecv(data, size, MPI_BYTE, other, kData, world_, request);
        });
    }
    for (int i = 1; i < size_; ++i) {  // not all to the same rank first
      const int other = (rank_ + i) % size_;
      ForEachMessage(to[Index(other)], [&](void* data, int size, MPI_Request* request) {
        return MPI_Isend(data, size, MPI_BYTE, other, kData, world_, request);
      });
    }
  }

  Progress Test() override {
    int is_done = 0;
    Note(MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &is_done, MPI_STATUSES_IGNORE));
    if (error_ != MPI_SUCCESS) return Progress::kFailed;
    if (is_done == 0) return Progress::kPending;
    requests_.clear();
    return Progress::kDone;
  }

  std::string Error() const override {
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    MPI_Error_string(error_, text, &length);
    return {text, static_cast<size_t>(length)};
  }

  void SendSign() override {
    int is_sent = 1;
    if (sign_ != MPI_REQUEST_NULL) MPI_Test(&sign_, &is_sent, MPI_STATUS_IGNORE);
    if (is_sent != 0) MPI_Isend(&nothing_, 0, MPI_BYTE, (rank_ + 1) % size_, kSign, world_, &sign_);
  }

  bool TakeSign() override {
    const int before = (rank_ + size_ - 1) % size_;
    bool is_there = false;
    for (int found = 1; found != 0; is_there |= found != 0) {
      if (MPI_Iprobe(before, kSign, world_, &found, MPI_STATUS_IGNORE) != MPI_SUCCESS) return is_there;
      if (found != 0) MPI_Recv(&nothing_, 0, MPI_BYTE, before, kSign, world_, MPI_STATUS_IGNORE);
    }
    return is_there;
  }

  void Finish() override { MPI_Finalize(); }

  [[noreturn]] void Abort(int exit_code) override {
    MPI_Abort(MPI_COMM_WORLD, exit_code);
    std::_Exit(exit_code);
  }

 private:
  static size_t Index(int rank) { return static_cast<size_t>(rank); }

  void Note(int error) {
    if (error_ == MPI_SUCCESS) error_ = error;
  }

  template <typename Start>
  void ForEachMessage(const Bytes& bytes, Start start) {
    for (size_t first = 0; first < bytes.size; first += kMostBytes) {
      const auto size = static_cast<int>(std::min(kMostBytes, bytes.size - first));
      Note(start(bytes.data + first, size, &requests_.emplace_back(MPI_REQUEST_NULL)));
    }
  }

  MPI_Comm world_ = MPI_COMM_NULL;
  int rank_ = 0, size_ = 1, error_ = MPI_SUCCESS;
  std::vector<MPI_Request> requests_;
  MPI_Request sign_ = MPI_REQUEST_NULL;
  char nothing_ = 0;
};

}  // namespace
}  // namespace amp

__attribute__((visibility("default"))) amp::Transport* AmpMpiTransport() {
  int provided = 0;
  if (MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided) != MPI_SUCCESS) return nullptr;
  return provided >= MPI_THREAD_FUNNELED ? new amp::MpiTransport : nullptr;
}
