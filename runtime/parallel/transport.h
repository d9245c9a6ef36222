// How bytes get from rank to rank: what runtime/parallel/exchange_rank_group.h is made of. One thread uses it.
//
// The shared object that holds MPI implements it, so that nothing here throws, or needs more than the standard library.
#ifndef AMP_RUNTIME_PARALLEL_TRANSPORT_H_
#define AMP_RUNTIME_PARALLEL_TRANSPORT_H_

#include <cstddef>
#include <string>
#include <vector>

namespace amp {

class Transport {
 public:
  struct Bytes {
    std::byte* data = nullptr;
    size_t size = 0;
  };
  enum class Progress { kDone, kPending, kFailed };

  virtual ~Transport() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;

  // Begins to send `to[r]` to rank r, and to receive `from[r]` of it, for each r but the own one. All ranks begin the
  // same exchanges in the same order, with sizes that fit. The bytes stay where they are until Test says kDone.
  // REQUIRES: none is under way.
  virtual void StartExchange(const std::vector<Bytes>& to, const std::vector<Bytes>& from) = 0;
  virtual Progress Test() = 0;
  virtual std::string Error() const = 0;  // after kFailed

  // A sign of life for the next rank; whether one came from the rank before since this was asked last.
  virtual void SendSign() = 0;
  virtual bool TakeSign() = 0;

  // REQUIRES: all ranks do it, and nothing else after it.
  virtual void Finish() = 0;
  [[noreturn]] virtual void Abort(int exit_code) = 0;
};

}  // namespace amp

// The shared object's one function. Starts MPI in the calling thread, which alone may use the transport from then on.
// Returns null if that fails.
extern "C" amp::Transport* AmpMpiTransport();

#endif  // AMP_RUNTIME_PARALLEL_TRANSPORT_H_
