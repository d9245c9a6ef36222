// Stands in for libcudnn.so.9 of another version, FAKE_CUDNN, which starts with the status FAKE_CUDNN_CREATE. Tests use
// it to see what is said where cuDNN is too old, or does not start.
#include <cstddef>
#include <cstdlib>

namespace {

int NumberFrom(const char* name) {
  const char* text = std::getenv(name);
  return text == nullptr ? 0 : std::atoi(text);
}

}  // namespace

extern "C" {

size_t cudnnGetVersion() { return static_cast<size_t>(NumberFrom("FAKE_CUDNN")); }
const char* cudnnGetErrorString(int) { return "no error of this library's"; }
int cudnnCreate(void**) { return NumberFrom("FAKE_CUDNN_CREATE"); }
int cudnnDestroy(void*) { return 1; }
int cudnnSetStream(void*, void*) { return 1; }

}  // extern "C"
