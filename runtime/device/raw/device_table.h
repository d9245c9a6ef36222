// What a device can do, as the shared object that knows it offers it: functions and a pointer that they take first.
//
//   DeviceTable table;
//   char why_not[kMaxWhyNot];
//   if (AmpCudaOpen(ordinal, &table, why_not) == 0) { ... table.close(table.self); }
//
// Everything happens in the order in which it is asked for, on one stream; copies to the processor wait for it, all else
// does not. Errors are numbers other than 0 that `error_text` knows; one that is no kOutOfMemory lasts, and so does that of a copy,
// a kernel or `finish`. Any thread may call.
#ifndef AMP_RUNTIME_DEVICE_RAW_DEVICE_TABLE_H_
#define AMP_RUNTIME_DEVICE_RAW_DEVICE_TABLE_H_

#include <cstddef>

#include "runtime/device/raw/choices.h"
#include "runtime/device/raw/kernels.h"
#include "runtime/device/raw/library_operations.h"
#include "runtime/device/raw/product.h"
#include "runtime/device/raw/ranks.h"

namespace amp::device {

inline constexpr size_t kMemoryAlignment = 256;  // of what `allocate` gives
inline constexpr int kOutOfMemory = 2;
inline constexpr size_t kMaxWhyNot = 512;
inline constexpr int kNumStages = 2;

// To the processor's memory, which others do not look at meanwhile.
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
  int (*copy_out)(void* self, const CopyOutArguments* copies, size_t count) = nullptr;  // waits once, for all of them
  int num_multiprocessors = 1;
  // Memory of the processor that the device reads and writes by itself, of which there are kNumStages, numbered by `slot`:
  // a copy to or from it is done when `await_stage` comes back, and not sooner. Null, all of them: there is none; an error of
  // `pin` does not last.
  size_t stage_bytes = size_t{8} << 20;  // of each
  int (*pin)(void* self, size_t size_bytes, void** memory) = nullptr;
  void (*unpin)(void* self, void* memory) = nullptr;
  int (*stage_in)(void* self, void* to, const void* from_stage, size_t size_bytes, int slot) = nullptr;
  int (*stage_out)(void* self, void* to_stage, const void* from, size_t size_bytes, int slot) = nullptr;
  int (*await_stage)(void* self, int slot) = nullptr;
  int (*set_zero)(void* self, void* to, size_t size_bytes) = nullptr;
  int (*finish)(void* self) = nullptr;  // waits
  // kNoProduct where the library does not do it, kNoLibrary where it is missing; kOutOfMemory, for the library, with what
  // for in `text`. `text`: of kMaxProductText bytes.
  int (*multiply)(void* self, const ProductArguments* product, char* text) = nullptr;
  // kNotTaken where the library is missing, or does not do it; kWithoutTensorCores where that is how it did it; kOutOfMemory
  // as above. `text`: of kMaxOperationText bytes.
  int (*convolve)(void* self, const LibraryConvolution* convolution, char* text) = nullptr;
  int (*attend)(void* self, const LibraryAttention* attention, char* text) = nullptr;
  // Operations are timed when they are asked for first, and the fastest way is kept; null: as before.
  void (*use_choices)(void* self, const Choices* choices) = nullptr;
  // See ranks.h. `id`: of kRanksIdBytes, or null, only to find out whether ranks can be joined; `text`: of kMaxRanksText,
  // the library's name, or why it is missing: kNoRanks.
  int (*name_ranks)(void* self, char* id, char* text) = nullptr;
  int (*join_ranks)(void* self, const char* id, int rank, int size, char* text) = nullptr;
  int (*start_fold)(void* self, const FoldArguments* fold) = nullptr;
  int (*await_folds)(void* self) = nullptr;
  // From `start_recording` on, kernels, products, folds and zeroes are written down, not done; nothing else may be asked for then,
  // by any thread. `stop_recording` gives what `replay` does again, from the same places to the same places; null and an
  // error where something else was asked for. Null, all four: it does not record.
  int (*start_recording)(void* self) = nullptr;
  int (*stop_recording)(void* self, void** recording) = nullptr;
  int (*replay)(void* self, void* recording) = nullptr;
  void (*release_recording)(void* self, void* recording) = nullptr;
  const char* (*error_text)(int error) = nullptr;
  void (*close)(void* self) = nullptr;
  LaunchTable kernels;
};

}  // namespace amp::device

// What libamp_cuda.so exports. 0, or not and a reason of less than kMaxWhyNot bytes; `table` has its kernels either way. `ordinal`: as the driver counts.
extern "C" int AmpCudaOpen(int ordinal, amp::device::DeviceTable* table, char* why_not);

#endif  // AMP_RUNTIME_DEVICE_RAW_DEVICE_TABLE_H_
