// Opens NCCL when a data-parallel run begins. No header of NCCL is needed, nor the library if one GPU is enough.
#ifndef AMP_RUNTIME_CUDA_NCCL_H_
#define AMP_RUNTIME_CUDA_NCCL_H_

#include <cuda_runtime_api.h>

#include <cstddef>

#include "runtime/device/raw/ranks.h"

struct ncclComm;  // the type that NCCL's communicators point to

namespace amp::cuda {

inline constexpr int kLeastNccl = 21000;  // 2.10 in NCCL's numbering: the first with means

// Added to NCCL's error numbers, to tell them from CUDA's.
inline constexpr int kNcclErrors = 20000;
const char* NcclErrorText(int error);

// The ranks of a data-parallel run, as one of their GPUs sees them. All functions return 0 or an error, CUDA's or
// NCCL's.
class NcclRanks {
 public:
  NcclRanks() = default;
  NcclRanks(const NcclRanks&) = delete;
  NcclRanks& operator=(const NcclRanks&) = delete;
  // REQUIRES: the thread uses the device.
  ~NcclRanks();

  // Writes the library's name to `text` and, unless `id` is null, makes an id for the ranks to join by. Without a
  // library, returns kNoRanks and writes the reason to `text`.
  static int Name(char* id, char* text);
  // Does everything that can fail on one rank alone, before the other ranks wait for it.
  int Prepare();
  // REQUIRES: Prepare gave 0.
  int Join(const char* id, int rank, int size, char* text);
  // Starts an all-reduce, which comes after the work that `stream` has been given so far.
  int StartAllReduce(const device::AllReduceArguments& fold, cudaStream_t stream);
  // Makes the work that `stream` is given from now on come after all all-reduces.
  int AwaitAllReduces(cudaStream_t stream);

 private:
  ncclComm* communicator_ = nullptr;
  cudaStream_t stream_ = nullptr;  // for the all-reduces
  cudaEvent_t begin_ = nullptr, end_ = nullptr;
};

}  // namespace amp::cuda

#endif  // AMP_RUNTIME_CUDA_NCCL_H_
