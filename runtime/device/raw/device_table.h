// The functions of a device, as its shared object exports them, and the pointer that they take as first argument.
//
//   DeviceTable table;
//   char why_not[kMaxWhyNot];
//   if (AmpCudaOpen(ordinal, &table, why_not) == 0) { ... table.close(table.self); }
//
// All work is done in the order of the calls, on one stream. Copies to the processor wait for it; other calls do not.
// Errors are numbers other than 0, which `error_text` describes. Errors other than kOutOfMemory are permanent, and so
// are those of copies, kernels and `finish`. Any thread may call these functions.
#ifndef AMP_RUNTIME_DEVICE_RAW_DEVICE_TABLE_H_
#define AMP_RUNTIME_DEVICE_RAW_DEVICE_TABLE_H_

#include <cstddef>

#include "runtime/device/raw/choices.h"
#include "runtime/device/raw/kernels.h"
#include "runtime/device/raw/library_operations.h"
#include "runtime/device/raw/product.h"
#include "runtime/device/raw/ranks.h"

namespace amp::device {

inline constexpr size_t kMemoryAlignment = 256;  // of the memory from `allocate`
inline constexpr int kOutOfMemory = 2;
inline constexpr size_t kMaxWhyNot = 512;
inline constexpr int kNumStages = 2;

// A copy to the processor's memory, which nobody reads meanwhile.
struct CopyOutArguments {
  void* to;
  const void* from;
  size_t size_bytes;
};

struct DeviceTable {
  void* self = nullptr;
  int (*allocate)(void* self, size_t size_bytes, void** memory) = nullptr;
  void (*release)(void* self, void* memory) = nullptr;
  int (*copy_in)(void* self, void* to, const void* from, size_t size_bytes) = nullptr;  // `from` may change afterwards
  int (*copy_out)(void* self, const CopyOutArguments* copies, size_t count) = nullptr;  // waits once for all copies
  int num_multiprocessors = 1;
  // Stages: pinned memory of the processor, which the device reads and writes by itself. There are kNumStages, numbered
  // by `slot`. A copy to or from a stage is done when `await_stage` returns, and not before. All null: there are none.
  // An error of `pin` is not permanent.
  size_t stage_bytes = size_t{8} << 20;  // of each stage
  int (*pin)(void* self, size_t size_bytes, void** memory) = nullptr;
  void (*unpin)(void* self, void* memory) = nullptr;
  int (*stage_in)(void* self, void* to, const void* from_stage, size_t size_bytes, int slot) = nullptr;
  int (*stage_out)(void* self, void* to_stage, const void* from, size_t size_bytes, int slot) = nullptr;
  int (*await_stage)(void* self, int slot) = nullptr;
  int (*set_zero)(void* self, void* to, size_t size_bytes) = nullptr;
  int (*finish)(void* self) = nullptr;  // waits for all work
  // Errors: kNoProduct if the library cannot compute it; kNoLibrary if it is missing; kOutOfMemory for the library,
  // whose purpose is in `text`. `text`: kMaxProductText bytes.
  int (*multiply)(void* self, const ProductArguments* product, char* text) = nullptr;
  // Return kNotTaken if the library is missing or cannot compute it; kWithoutTensorCores if it computed it without
  // them; kOutOfMemory as above. `text`: kMaxOperationText bytes.
  int (*convolve)(void* self, const LibraryConvolution* convolution, char* text) = nullptr;
  int (*attend)(void* self, const LibraryAttention* attention, char* text) = nullptr;
  // From now on, the first call of each operation times several ways, and the fastest is kept; null: heuristics choose.
  void (*use_choices)(void* self, const Choices* choices) = nullptr;
  // See ranks.h. `id`: kRanksIdBytes bytes, or null to find out only whether ranks can be joined. `text`: kMaxRanksText
  // bytes, the library's name, or with kNoRanks the reason why it is missing.
  int (*name_ranks)(void* self, char* id, char* text) = nullptr;
  int (*join_ranks)(void* self, const char* id, int rank, int size, char* text) = nullptr;
  int (*start_all_reduce)(void* self, const AllReduceArguments* fold) = nullptr;
  int (*await_all_reduces)(void* self) = nullptr;
  // After `start_recording`, kernels, products, all-reduces and fills are captured, not run. No thread may call
  // anything else until `stop_recording`. That returns a recording, which `replay` runs at the same addresses, or null
  // and an error if anything else was called. All four null: the device does not record.
  int (*start_recording)(void* self) = nullptr;
  int (*stop_recording)(void* self, void** recording) = nullptr;
  int (*replay)(void* self, void* recording) = nullptr;
  void (*release_recording)(void* self, void* recording) = nullptr;
  const char* (*error_text)(int error) = nullptr;
  void (*close)(void* self) = nullptr;
  LaunchTable kernels;
};

}  // namespace amp::device

// The function that libamp_cuda.so exports. Returns 0, or another number and a reason of less than kMaxWhyNot bytes.
// `table` gets its kernels in both cases. `ordinal`: the driver's number of the GPU.
extern "C" int AmpCudaOpen(int ordinal, amp::device::DeviceTable* table, char* why_not);

#endif  // AMP_RUNTIME_DEVICE_RAW_DEVICE_TABLE_H_
