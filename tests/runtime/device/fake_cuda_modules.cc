// Stands in for libcuda.so.1, so that cuDNN can plan on a machine without a driver, where planning makes kernels. Their
// code is accepted, not loaded, and most calls succeed. Nothing can be run with it.
#include <cstddef>

namespace {

char something;
int Give(void** handle) {
  *handle = &something;
  return 0;
}

}  // namespace

extern "C" {

int cuInit(unsigned) { return 100; }  // no GPU: NVRTC does not ask further

int cuLibraryLoadData(void** library, const void*, void*, void*, unsigned, void*, void*, unsigned) {
  return Give(library);
}
int cuLibraryLoadFromFile(void** library, const char*, void*, void*, unsigned, void*, void*, unsigned) {
  return Give(library);
}
int cuLibraryGetKernel(void** kernel, void*, const char*) { return Give(kernel); }
int cuKernelGetFunction(void** function, void*) { return Give(function); }
int cuModuleLoadData(void** module, const void*) { return Give(module); }
int cuModuleLoadDataEx(void** module, const void*, unsigned, void*, void*) { return Give(module); }
int cuModuleLoadFatBinary(void** module, const void*) { return Give(module); }
int cuModuleGetFunction(void** function, void*, const char*) { return Give(function); }
int cuCtxGetCurrent(void** context) { return Give(context); }
int cuDevicePrimaryCtxRetain(void** context, int) { return Give(context); }
int cuStreamGetCtx(void*, void** context) { return Give(context); }
int cuLinkCreate(unsigned, void*, void*, void** state) { return Give(state); }
int cuLinkCreate_v2(unsigned, void*, void*, void** state) { return Give(state); }
int cuDeviceGet(int* device, int ordinal) {
  *device = ordinal;
  return 0;
}
int cuDeviceGetCount(int* count) {
  *count = 1;
  return 0;
}
int cuDriverGetVersion(int* version) {
  *version = 13000;
  return 0;
}
int cuGetErrorName(int, const char** text) {
  *text = "none";
  return 0;
}
int cuGetErrorString(int, const char** text) {
  *text = "none";
  return 0;
}

// Asked for by name and, while plans are made, not called or of no effect.
#define AMP_SUCCEEDS(name) \
  int name() { return 0; }
AMP_SUCCEEDS(cuCtxGetDevice)
AMP_SUCCEEDS(cuCtxGetLimit)
AMP_SUCCEEDS(cuCtxPopCurrent)
AMP_SUCCEEDS(cuCtxPushCurrent)
AMP_SUCCEEDS(cuDeviceGetAttribute)
AMP_SUCCEEDS(cuDevicePrimaryCtxRelease)
AMP_SUCCEEDS(cuDevicePrimaryCtxReset)
AMP_SUCCEEDS(cuFuncGetAttribute)
AMP_SUCCEEDS(cuFuncSetAttribute)
AMP_SUCCEEDS(cuKernelGetAttribute)
AMP_SUCCEEDS(cuKernelSetAttribute)
AMP_SUCCEEDS(cuLaunchCooperativeKernel)
AMP_SUCCEEDS(cuLaunchKernel)
AMP_SUCCEEDS(cuLaunchKernelEx)
AMP_SUCCEEDS(cuLibraryUnload)
AMP_SUCCEEDS(cuLinkAddData)
AMP_SUCCEEDS(cuLinkAddData_v2)
AMP_SUCCEEDS(cuLinkAddFile_v2)
AMP_SUCCEEDS(cuLinkComplete)
AMP_SUCCEEDS(cuLinkDestroy)
AMP_SUCCEEDS(cuMemcpyDtoH_v2)
AMP_SUCCEEDS(cuModuleGetGlobal_v2)
AMP_SUCCEEDS(cuModuleUnload)
AMP_SUCCEEDS(cuOccupancyMaxActiveBlocksPerMultiprocessor)
AMP_SUCCEEDS(cuOccupancyMaxPotentialClusterSize)
AMP_SUCCEEDS(cuStreamSynchronize)
AMP_SUCCEEDS(cuTensorMapEncodeIm2col)
AMP_SUCCEEDS(cuTensorMapEncodeTiled)

}  // extern "C"
