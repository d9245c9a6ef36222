// Stands in for libcudnn.so.9 of another version, FAKE_CUDNN: what is said where cuDNN is too old.
#include <cstddef>
#include <cstdlib>

extern "C" {

size_t cudnnGetVersion() {
  const char* text = std::getenv("FAKE_CUDNN");
  return text == nullptr ? 0 : static_cast<size_t>(std::atoi(text));
}
const char* cudnnGetErrorString(int) { return "no error of this library's"; }
int cudnnCreate(void**) { return 1; }
int cudnnDestroy(void*) { return 1; }
int cudnnSetStream(void*, void*) { return 1; }

}  // extern "C"
