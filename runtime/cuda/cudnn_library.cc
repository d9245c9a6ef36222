#include "runtime/cuda/cudnn_library.h"

#include <cudnn.h>
#include <dlfcn.h>

namespace amp::cuda {
namespace {

constexpr char kName[] = "libcudnn.so.9";

// The functions that are called here, by the names that they have there; plans find theirs by themselves.
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

const Opened& OpenOnce() {
  static const Opened& opened = *new Opened(Open());
  return opened;
}

}  // namespace

const CudnnLibrary& OpenCudnn() { return OpenOnce().library; }

cudnnContext* MakeCudnnHandle(CUstream_st* stream, std::string& why_not) {
  const Functions& functions = OpenOnce().functions;
  cudnnHandle_t handle = nullptr;
  cudnnStatus_t status = functions.create(&handle);
  if (status != CUDNN_STATUS_SUCCESS) {
    why_not = std::string("cudnnCreate: ") + functions.error_text(status);
    return nullptr;
  }
  status = functions.set_stream(handle, stream);
  if (status == CUDNN_STATUS_SUCCESS) return handle;
  why_not = std::string("cudnnSetStream: ") + functions.error_text(status);
  DestroyCudnnHandle(handle);
  return nullptr;
}

// Nothing can be done about what fails here.
void DestroyCudnnHandle(cudnnContext* handle) { static_cast<void>(OpenOnce().functions.destroy(handle)); }

}  // namespace amp::cuda
