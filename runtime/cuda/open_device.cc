// The shared object's code: implements runtime/device/raw/device_table.h for an NVIDIA GPU. CUDA's runtime is linked
// statically and opens the driver itself; loading this needs nothing else of CUDA.
#include <cuda_runtime_api.h>

#include <cstdio>
#include <cstring>
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/cuda/library_operations.h"
#include "runtime/cuda/nccl.h"
#include "runtime/cuda/products.h"
#include "runtime/cuda/stream.h"
#include "runtime/device/raw/device_table.h"

namespace amp::cuda {
namespace {

static_assert(cudaErrorMemoryAllocation == device::kOutOfMemory);

constexpr size_t kStagingBytes = size_t{1} << 20;

// Pinned memory of the processor, to which the device can write on its own. Copies to other memory are waited for
// singly.
struct Staging {
  std::mutex mutex;
  void* memory = nullptr;
};

struct DeviceWithProducts : OpenDevice {
  explicit DeviceWithProducts(int ordinal) : OpenDevice{.ordinal = ordinal}, products(ordinal), operations(ordinal) {}

  int num_multiprocessors = 0;
  cudaEvent_t stages[device::kNumStages] = {};  // recorded behind the last copy of each stage; null: there was none
  Products products;
  LibraryOperations operations;
  NcclRanks ranks;
  Staging staging;
};
DeviceWithProducts& Of(void* self) { return static_cast<DeviceWithProducts&>(*static_cast<OpenDevice*>(self)); }

int Allocate(void* self, size_t size_bytes, void** memory) {
  if (const int error = UseDevice(self); error != 0) return error;
  const int error = cudaMalloc(memory, size_bytes);
  // Clears the error, so that the next call does not return it.
  if (error == device::kOutOfMemory) static_cast<void>(cudaGetLastError());
  return error;
}

void Release(void* self, void* memory) {
  // An error here is one that an earlier call has reported.
  if (UseDevice(self) != 0) return;
  if (cudaFree(memory) != cudaSuccess) static_cast<void>(cudaGetLastError());
}

int CopyIn(void* self, void* to, const void* from, size_t size_bytes) {
  if (const int error = UseDevice(self); error != 0) return error;
  return cudaMemcpyAsync(to, from, size_bytes, cudaMemcpyHostToDevice, StreamOf(self));
}

int Finish(void* self) {
  if (const int error = UseDevice(self); error != 0) return error;
  return cudaStreamSynchronize(StreamOf(self));
}

int CopyOut(void* self, const device::CopyOutArguments* copies, size_t count) {
  if (const int error = UseDevice(self); error != 0) return error;
  Staging& staging = Of(self).staging;
  const std::lock_guard<std::mutex> lock(staging.mutex);
  if (count > 1 && staging.memory == nullptr && cudaMallocHost(&staging.memory, kStagingBytes) != 0) {
    static_cast<void>(cudaGetLastError());  // clears the error: without staging, each copy is waited for
  }
  std::vector<const void*> staged(count);
  size_t taken = 0;
  for (size_t i = 0; i < count; ++i) {
    const device::CopyOutArguments& copy = copies[i];
    const bool is_staged = count > 1 && staging.memory != nullptr && copy.size_bytes <= kStagingBytes - taken;
    void* const to = is_staged ? static_cast<char*>(staging.memory) + taken : copy.to;
    if (is_staged) {
      staged[i] = to;
      taken += copy.size_bytes;
    }
    const int error = cudaMemcpyAsync(to, copy.from, copy.size_bytes, cudaMemcpyDeviceToHost, StreamOf(self));
    if (error != 0) return error;
  }
  if (const int error = Finish(self); error != 0) return error;
  for (size_t i = 0; i < count; ++i) {
    if (staged[i] != nullptr) std::memcpy(copies[i].to, staged[i], copies[i].size_bytes);
  }
  return 0;
}

int Pin(void* self, size_t size_bytes, void** memory) {
  if (const int error = UseDevice(self); error != 0) return error;
  const int error = cudaHostAlloc(memory, size_bytes, cudaHostAllocDefault);
  if (error != 0) static_cast<void>(cudaGetLastError());  // clears the error
  return error;
}

void Unpin(void* self, void* memory) {
  // An error here is one that an earlier call has reported.
  if (UseDevice(self) != 0) return;
  if (cudaFreeHost(memory) != cudaSuccess) static_cast<void>(cudaGetLastError());
}

int CopyStage(void* self, void* to, const void* from, size_t size_bytes, cudaMemcpyKind kind, int slot) {
  if (const int error = UseDevice(self); error != 0) return error;
  cudaEvent_t& done = Of(self).stages[slot];
  if (const int error = done != nullptr ? 0 : cudaEventCreateWithFlags(&done, cudaEventDisableTiming); error != 0) {
    return error;
  }
  const int error = cudaMemcpyAsync(to, from, size_bytes, kind, StreamOf(self));
  return error != 0 ? error : cudaEventRecord(done, StreamOf(self));
}

int StageIn(void* self, void* to, const void* from_stage, size_t size_bytes, int slot) {
  return CopyStage(self, to, from_stage, size_bytes, cudaMemcpyHostToDevice, slot);
}

int StageOut(void* self, void* to_stage, const void* from, size_t size_bytes, int slot) {
  return CopyStage(self, to_stage, from, size_bytes, cudaMemcpyDeviceToHost, slot);
}

int AwaitStage(void* self, int slot) {
  if (const int error = UseDevice(self); error != 0) return error;
  return cudaEventSynchronize(Of(self).stages[slot]);
}

int SetZero(void* self, void* to, size_t size_bytes) {
  if (const int error = UseDevice(self); error != 0) return error;
  return cudaMemsetAsync(to, 0, size_bytes, StreamOf(self));
}

int Multiply(void* self, const device::ProductArguments* product, char* text) {
  if (const int error = UseDevice(self); error != 0) return error;
  return Of(self).products.Multiply(*product, StreamOf(self), text);
}

int Convolve(void* self, const device::LibraryConvolution* convolution, char* text) {
  if (const int error = UseDevice(self); error != 0) return error;
  return Of(self).operations.Convolve(*convolution, StreamOf(self), text);
}

int Attend(void* self, const device::LibraryAttention* attention, char* text) {
  if (const int error = UseDevice(self); error != 0) return error;
  return Of(self).operations.Attend(*attention, StreamOf(self), text);
}

void UseChoices(void* self, const device::Choices* choices) {
  Of(self).products.UseChoices(choices);
  Of(self).operations.UseChoices(choices);
}

int NameRanks(void* self, char* id, char* text) {
  if (const int error = UseDevice(self); error != 0) return error;
  if (const int error = NcclRanks::Name(id, text); error != 0) return error;
  return Of(self).ranks.Prepare();
}

int JoinRanks(void* self, const char* id, int rank, int size, char* text) {
  if (const int error = UseDevice(self); error != 0) return error;
  return Of(self).ranks.Join(id, rank, size, text);
}

int StartAllReduce(void* self, const device::AllReduceArguments* fold) {
  if (const int error = UseDevice(self); error != 0) return error;
  return Of(self).ranks.StartAllReduce(*fold, StreamOf(self));
}

int AwaitAllReduces(void* self) {
  if (const int error = UseDevice(self); error != 0) return error;
  return Of(self).ranks.AwaitAllReduces(StreamOf(self));
}

// From now on, captures the stream's work (kernels, products, all-reduces, fills) as a graph. Other threads may
// allocate meanwhile.
int StartRecording(void* self) {
  if (const int error = UseDevice(self); error != 0) return error;
  const int error = cudaStreamBeginCapture(StreamOf(self), cudaStreamCaptureModeRelaxed);
  if (error != 0) static_cast<void>(cudaGetLastError());  // clears the error
  return error;
}

int StopRecording(void* self, void** recording) {
  *recording = nullptr;
  if (const int error = UseDevice(self); error != 0) return error;
  cudaGraph_t graph = nullptr;
  int error = cudaStreamEndCapture(StreamOf(self), &graph);
  cudaGraphExec_t ready = nullptr;
  if (error == 0) error = cudaGraphInstantiateWithFlags(&ready, graph, 0);
  if (graph != nullptr) {
    const int destroyed = cudaGraphDestroy(graph);
    if (error == 0) error = destroyed;
  }
  if (error != 0) static_cast<void>(cudaGetLastError());  // clears the error: nothing was started
  *recording = ready;
  return error;
}

int Replay(void* self, void* recording) {
  if (const int error = UseDevice(self); error != 0) return error;
  return cudaGraphLaunch(static_cast<cudaGraphExec_t>(recording), StreamOf(self));
}

void ReleaseRecording(void* self, void* recording) {
  // A replay that is running goes on to its end. An error here is one that an earlier call has reported.
  if (UseDevice(self) != 0) return;
  if (cudaGraphExecDestroy(static_cast<cudaGraphExec_t>(recording)) != cudaSuccess) {
    static_cast<void>(cudaGetLastError());
  }
}

const char* ErrorText(int error) {
  if (error == device::kBadArguments) return "arguments that no kernel takes";
  if (error >= kNcclErrors) return NcclErrorText(error);
  return cudaGetErrorString(static_cast<cudaError_t>(error));
}

void Close(void* self) {
  std::unique_ptr<DeviceWithProducts> opened(&Of(self));
  if (UseDevice(self) != 0) return;
  for (cudaEvent_t done : opened->stages) {
    if (done != nullptr) static_cast<void>(cudaEventDestroy(done));
  }
  cudaStream_t stream = opened->stream;
  static_cast<void>(cudaFreeHost(opened->staging.memory));
  opened.reset();  // first: libraries' handles are bound to the stream
  static_cast<void>(cudaStreamDestroy(stream));
}

// Returns the name of the call that failed, or null.
const char* Open(DeviceWithProducts& opened, int& error) {
  int count = 0;
  if (error = cudaGetDeviceCount(&count); error != 0) return "cudaGetDeviceCount";
  if (error = cudaSetDevice(opened.ordinal); error != 0) return "cudaSetDevice";
  if (error = cudaDeviceGetAttribute(&opened.num_multiprocessors, cudaDevAttrMultiProcessorCount, opened.ordinal);
      error != 0) {
    return "cudaDeviceGetAttribute";
  }
  if (error = cudaStreamCreateWithFlags(&opened.stream, cudaStreamNonBlocking); error != 0) return "cudaStreamCreate";
  return nullptr;
}

}  // namespace
}  // namespace amp::cuda

__attribute__((visibility("default"))) int AmpCudaOpen(int ordinal, amp::device::DeviceTable* table, char* why_not) {
  namespace cuda = amp::cuda;
  *table = {};
  cuda::AddConvolutionLaunches(table->kernels);
  cuda::AddElementwiseLaunches(table->kernels);
  cuda::AddGradientLaunches(table->kernels);
  cuda::AddMoveLaunches(table->kernels);
  cuda::AddQuantizedLaunches(table->kernels);
  cuda::AddRowLaunches(table->kernels);
  cuda::AddSelectLaunches(table->kernels);
  cuda::AddTrainingLaunches(table->kernels);
  auto opened = std::make_unique<cuda::DeviceWithProducts>(ordinal);
  int error = 0;
  if (const char* const what = cuda::Open(*opened, error); what != nullptr) {
    std::snprintf(why_not, amp::device::kMaxWhyNot, "%s: %s (error %d)", what, cuda::ErrorText(error), error);
    return error;
  }
  const int num_multiprocessors = opened->num_multiprocessors;
  *table = {.self = static_cast<cuda::OpenDevice*>(opened.release()),
            .allocate = cuda::Allocate,
            .release = cuda::Release,
            .copy_in = cuda::CopyIn,
            .copy_out = cuda::CopyOut,
            .num_multiprocessors = num_multiprocessors,
            .pin = cuda::Pin,
            .unpin = cuda::Unpin,
            .stage_in = cuda::StageIn,
            .stage_out = cuda::StageOut,
            .await_stage = cuda::AwaitStage,
            .set_zero = cuda::SetZero,
            .finish = cuda::Finish,
            .multiply = cuda::Multiply,
            .convolve = cuda::Convolve,
            .attend = cuda::Attend,
            .use_choices = cuda::UseChoices,
            .name_ranks = cuda::NameRanks,
            .join_ranks = cuda::JoinRanks,
            .start_all_reduce = cuda::StartAllReduce,
            .await_all_reduces = cuda::AwaitAllReduces,
            .start_recording = cuda::StartRecording,
            .stop_recording = cuda::StopRecording,
            .replay = cuda::Replay,
            .release_recording = cuda::ReleaseRecording,
            .error_text = cuda::ErrorText,
            .close = cuda::Close,
            .kernels = table->kernels};
  return 0;
}
