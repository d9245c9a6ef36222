#include "runtime/cuda/cublaslt.h"

#include <cuda_runtime_api.h>
#include <dlfcn.h>

#include <cstdio>
#include <string>

namespace amp::cuda {
namespace {

struct Opened {
  CublasLt functions;
  std::string why_not;
};

class Symbols {
 public:
  explicit Symbols(void* handle) : handle_(handle) {}

  template <typename Function>
  void Find(const char* name, Function& function) {
    function = reinterpret_cast<Function>(::dlsym(handle_, name));
    if (function == nullptr && missing_ == nullptr) missing_ = name;
  }
  const char* missing() const { return missing_; }

 private:
  void* handle_;
  const char* missing_ = nullptr;
};

Opened Open() {
  Opened opened;
  // The major version is that of this build; within it, minor versions are compatible.
  const std::string name = "libcublasLt.so." + std::to_string(CUDART_VERSION / 1000);
  void* const handle = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    opened.why_not = std::string("cuBLASLt cannot be opened: ") + ::dlerror();
    return opened;
  }
  CublasLt& functions = opened.functions;
  Symbols symbols(handle);
  symbols.Find("cublasLtCreate", functions.create);
  symbols.Find("cublasLtDestroy", functions.destroy);
  symbols.Find("cublasLtGetVersion", functions.get_version);
  symbols.Find("cublasLtMatmul", functions.matmul);
  symbols.Find("cublasLtMatmulAlgoCapGetAttribute", functions.get_capability);
  symbols.Find("cublasLtMatmulAlgoCheck", functions.check);
  symbols.Find("cublasLtMatmulAlgoConfigGetAttribute", functions.get_configuration);
  symbols.Find("cublasLtMatmulAlgoGetHeuristic", functions.get_heuristic);
  symbols.Find("cublasLtMatmulDescCreate", functions.create_operation);
  symbols.Find("cublasLtMatmulDescDestroy", functions.destroy_operation);
  symbols.Find("cublasLtMatmulDescSetAttribute", functions.set_operation);
  symbols.Find("cublasLtMatmulPreferenceCreate", functions.create_preference);
  symbols.Find("cublasLtMatmulPreferenceDestroy", functions.destroy_preference);
  symbols.Find("cublasLtMatmulPreferenceSetAttribute", functions.set_preference);
  symbols.Find("cublasLtMatrixLayoutCreate", functions.create_layout);
  symbols.Find("cublasLtMatrixLayoutDestroy", functions.destroy_layout);
  symbols.Find("cublasLtMatrixLayoutSetAttribute", functions.set_layout);
  if (symbols.missing() != nullptr) opened.why_not = name + " lacks " + symbols.missing();
  return opened;
}

}  // namespace

const CublasLt* OpenCublasLt(char* why_not, size_t size) {
  static const Opened& opened = *new Opened(Open());
  if (opened.why_not.empty()) return &opened.functions;
  std::snprintf(why_not, size, "%s", opened.why_not.c_str());
  return nullptr;
}

}  // namespace amp::cuda
