#include "runtime/cuda/cudnn_library.h"

#include <cudnn.h>
#include <dlfcn.h>

namespace amp::cuda {
namespace {

constexpr char kName[] = "libcudnn.so.9";

// The functions of cuDNN that this file calls. The front end, which makes plans, finds the others by itself.
struct Functions {
  decltype(&cudnnGetVersion) get_version = nullptr;
  decltype(&cudnnGetErrorString) error_text = nullptr;
  decltype(&cudnnCreate) create = nullptr;
  decltype(&cudnnDestroy) destroy = nullptr;
  decltype(&cudnnSetStream) set_stream = nullptr;
};

struct Opened {
  CudnnLibrary library;
  Functions functions;
};

template <typename Function>
bool Find(void* handle, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(handle, name));
  return function != nullptr;
}

bool FindAll(void* handle, Functions& functions) {
  return Find(handle, "cudnnGetVersion", functions.get_version) &&
         Find(handle, "cudnnGetErrorString", functions.error_text) && Find(handle, "cudnnCreate", functions.create) &&
         Find(handle, "cudnnDestroy", functions.destroy) && Find(handle, "cudnnSetStream", functions.set_stream);
}

Opened Open() {
  Opened opened;
  void* const handle = ::dlopen(kName, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    opened.library.why_not = std::string("cuDNN cannot be opened: ") + ::dlerror();
    return opened;
  }
  if (!FindAll(handle, opened.functions)) {
    opened.library.why_not = std::string(kName) + " lacks a function";
    return opened;
  }
  const size_t version = opened.functions.get_version();
  opened.library = {.handle = handle, .version = version, .why_not = WhyTooOld(version)};
  if (!opened.library.why_not.empty()) opened.library.version = 0;
  return opened;
}

// Whether memory of the processor or of the device is lacking.
bool LacksMemory(cudnnStatus_t status) {
  return status == CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED ||
         status == CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED;
}

const Opened& OpenOnce() {
  static const Opened& opened = *new Opened(Open());
  return opened;
}

}  // namespace

const CudnnLibrary& OpenCudnn() { return OpenOnce().library; }

cudnnContext* MakeCudnnHandle(CUstream_st* stream, CudnnFailure& failure) {
  const Functions& functions = OpenOnce().functions;
  const auto fail = [&](const char* what, cudnnStatus_t status) {
    failure = {.text = std::string(what) + ": " + functions.error_text(status),
               .is_out_of_memory = LacksMemory(status)};
    return nullptr;
  };
  cudnnHandle_t handle = nullptr;
  cudnnStatus_t status = functions.create(&handle);
  if (status != CUDNN_STATUS_SUCCESS) return fail("cudnnCreate", status);
  status = functions.set_stream(handle, stream);
  if (status == CUDNN_STATUS_SUCCESS) return handle;
  DestroyCudnnHandle(handle);
  return fail("cudnnSetStream", status);
}

// Errors are ignored, as nothing can be done about them here.
void DestroyCudnnHandle(cudnnContext* handle) { static_cast<void>(OpenOnce().functions.destroy(handle)); }

}  // namespace amp::cuda
