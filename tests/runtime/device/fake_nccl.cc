// Stands in for libnccl.so.2 of another version, FAKE_NCCL.
#include <cstddef>
#include <cstdlib>
#include <cstring>

extern "C" {

struct FakeNcclId {
  char bytes[128];
};

int ncclGetVersion(int* version) {
  const char* text = std::getenv("FAKE_NCCL");
  *version = text == nullptr ? 0 : std::atoi(text);
  return 0;
}
const char* ncclGetErrorString(int) { return "an error of this library's"; }
int ncclGetUniqueId(FakeNcclId* id) {
  std::memset(id->bytes, 7, sizeof id->bytes);
  return 0;
}
int ncclCommInitRank(void**, int, FakeNcclId, int) { return 2; }
int ncclCommDestroy(void*) { return 2; }
int ncclCommGetAsyncError(void*, int*) { return 2; }
int ncclAllReduce(const void*, void*, size_t, int, int, void*, void*) { return 2; }

}  // extern "C"
