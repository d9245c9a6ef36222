// NCCL, opened when a data-parallel run begins: no header of it is needed, nor the library where one GPU is enough.
#ifndef AMP_RUNTIME_CUDA_NCCL_H_
#define AMP_RUNTIME_CUDA_NCCL_H_

#include <cuda_runtime_api.h>

#include <cstddef>

#include "runtime/device/raw/ranks.h"

struct ncclComm;  // what NCCL's communicators point to

namespace amp::cuda {

inline constexpr int kLeastNccl = 21000;  // 2.10, as NCCL counts: the first with means

// Numbers of errors that are NCCL's are these and its own.
inline constexpr int kNcclErrors = 20000;
const char* NcclErrorText(int error);

// The GPUs of a data-parallel run as one of them sees them. All functions give 0, or an error; CUDA's, or one of NCCL's.
class NcclRanks {
 public:
  NcclRanks() = default;
  NcclRanks(const NcclRanks&) = delete;
  NcclRanks& operator=(const NcclRanks&) = delete;
  // REQUIRES: the thread uses the device.
  ~NcclRanks();

  // `id`: null: only whether there is a library. kNoRanks and the reason in `text`, else the library's name.
  static int Name(char* id, char* text);
  // All that can fail on one rank alone, before the others wait for it.
  int Prepare();
  // REQUIRES: Prepare gave 0.
  int Join(const char* id, int rank, int size, char* text);
  // What `stream` has been asked for comes before it.
  int StartFold(const device::FoldArguments& fold, cudaStream_t stream);
  // What `stream` is asked for comes behind all folds.
  int AwaitFolds(cudaStream_t stream);

 private:
  ncclComm* communicator_ = nullptr;
  cudaStream_t stream_ = nullptr;  // of the folds
  cudaEvent_t begin_ = nullptr, end_ = nullptr;
};

}  // namespace amp::cuda

#endif  // AMP_RUNTIME_CUDA_NCCL_H_
