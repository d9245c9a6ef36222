// Stands in for libcuda.so.1, so that GPU detection is tested where there is no GPU. FAKE_GPUS describes the machine:
// "NVIDIA H200=9.0,Tesla P4=6.1", or the error code that cuInit returns; FAKE_CUDA_VERSION: up to which it knows CUDA.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

struct FakeGpu {
  std::string name;
  int major = 0, minor = 0;
};

std::vector<FakeGpu> Gpus() {
  std::vector<FakeGpu> gpus;
  const char* text = std::getenv("FAKE_GPUS");
  std::string rest = text == nullptr ? "" : text;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find(','), rest.size());
    const std::string entry = rest.substr(0, end);
    rest.erase(0, end + 1);
    FakeGpu gpu;
    gpu.name = entry.substr(0, entry.find('='));
    std::sscanf(entry.c_str() + gpu.name.size(), "=%d.%d", &gpu.major, &gpu.minor);
    gpus.push_back(gpu);
  }
  return gpus;
}

}  // namespace

extern "C" {

int cuInit(unsigned int) {
  const char* text = std::getenv("FAKE_GPUS");
  return text == nullptr ? 100 : std::atoi(text);
}

int cuDriverGetVersion(int* version) {
  const char* text = std::getenv("FAKE_CUDA_VERSION");
  *version = text == nullptr ? 99000 : std::atoi(text);
  return 0;
}

int cuDeviceGetCount(int* count) {
  *count = static_cast<int>(Gpus().size());
  return 0;
}

int cuDeviceGet(int* device, int ordinal) {
  *device = ordinal + 1000;  // a handle is not an ordinal
  return 0;
}

int cuDeviceGetName(char* name, int length, int device) {
  std::snprintf(name, static_cast<size_t>(length), "%s", Gpus().at(static_cast<size_t>(device - 1000)).name.c_str());
  return 0;
}

int cuDeviceGetAttribute(int* value, int attribute, int device) {
  const FakeGpu gpu = Gpus().at(static_cast<size_t>(device - 1000));
  if (gpu.major == 0) return 1;
  *value = attribute == 75 ? gpu.major : attribute == 76 ? gpu.minor : -1;
  return 0;
}

}  // extern "C"
