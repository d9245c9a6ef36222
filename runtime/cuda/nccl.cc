#include "runtime/cuda/nccl.h"

#include <dlfcn.h>

#include <cstdio>
#include <cstring>
#include <string>

namespace amp::cuda {
namespace {

constexpr char kName[] = "libnccl.so.2";

// The part of NCCL's interface that is used here, as nccl.h has had it since 2.10. Source: NVIDIA NCCL User Guide,
// "NCCL API".
enum NcclType { kNcclUint8 = 1, kNcclFloat32 = 7 };
enum NcclFold { kNcclLeast = 3, kNcclMean = 4 };
struct NcclId {
  char bytes[device::kRanksIdBytes];
};

struct Functions {
  int (*get_version)(int*) = nullptr;
  const char* (*error_text)(int) = nullptr;
  int (*make_id)(NcclId*) = nullptr;
  int (*join)(ncclComm**, int size, NcclId id, int rank) = nullptr;
  int (*leave)(ncclComm*) = nullptr;
  int (*find_error)(ncclComm*, int*) = nullptr;
  int (*reduce)(const void*, void*, size_t, int type, int fold, ncclComm*, cudaStream_t) = nullptr;
};

struct Opened {
  Functions functions;
  std::string name, why_not;  // "NCCL 2.27.7"
};

// Converts NCCL's numbering to text: 22707 is 2.27.7, and up to 2.8, 2804 is 2.8.4.
std::string VersionText(int version) {
  constexpr int kMinor = 100;
  const int major = version < 10000 ? 1000 : 10000;
  return std::to_string(version / major) + "." + std::to_string(version % major / kMinor) + "." +
         std::to_string(version % kMinor);
}

template <typename Function>
bool Find(void* handle, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(handle, name));
  return function != nullptr;
}

bool FindAll(void* handle, Functions& functions) {
  return Find(handle, "ncclGetVersion", functions.get_version) &&
         Find(handle, "ncclGetErrorString", functions.error_text) &&
         Find(handle, "ncclGetUniqueId", functions.make_id) && Find(handle, "ncclCommInitRank", functions.join) &&
         Find(handle, "ncclCommDestroy", functions.leave) &&
         Find(handle, "ncclCommGetAsyncError", functions.find_error) && Find(handle, "ncclAllReduce", functions.reduce);
}

Opened Open() {
  Opened opened;
  void* const handle = ::dlopen(kName, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    opened.why_not = std::string("NCCL cannot be opened: ") + ::dlerror();
    return opened;
  }
  int version = 0;
  if (!FindAll(handle, opened.functions) || opened.functions.get_version(&version) != 0) {
    opened.why_not = std::string(kName) + " lacks a function";
    return opened;
  }
  opened.name = "NCCL " + VersionText(version);
  if (version < kLeastNccl) {
    opened.why_not = opened.name + " is too old: expected " + VersionText(kLeastNccl) + " or newer";
  }
  return opened;
}

const Opened& OpenOnce() {
  static const Opened& opened = *new Opened(Open());
  return opened;
}

int ErrorOf(int result) { return result == 0 ? 0 : kNcclErrors + result; }

}  // namespace

const char* NcclErrorText(int error) { return OpenOnce().functions.error_text(error - kNcclErrors); }

int NcclRanks::Name(char* id, char* text) {
  const Opened& opened = OpenOnce();
  const bool is_there = opened.why_not.empty();
  std::snprintf(text, device::kMaxRanksText, "%s", is_there ? opened.name.c_str() : opened.why_not.c_str());
  if (!is_there) return device::kNoRanks;
  if (id == nullptr) return 0;
  NcclId made;
  const int result = opened.functions.make_id(&made);
  std::memcpy(id, made.bytes, sizeof made.bytes);
  return ErrorOf(result);
}

int NcclRanks::Prepare() {
  if (end_ != nullptr) return 0;
  if (const int error = cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking); error != 0) return error;
  if (const int error = cudaEventCreateWithFlags(&begin_, cudaEventDisableTiming); error != 0) return error;
  return cudaEventCreateWithFlags(&end_, cudaEventDisableTiming);
}

int NcclRanks::Join(const char* id, int rank, int size, char* text) {
  if (const int error = Name(nullptr, text); error != 0) return error;
  NcclId given;
  std::memcpy(given.bytes, id, sizeof given.bytes);
  return ErrorOf(OpenOnce().functions.join(&communicator_, size, given, rank));
}

int NcclRanks::StartAllReduce(const device::AllReduceArguments& fold, cudaStream_t stream) {
  if (communicator_ == nullptr) return device::kNoRanks;
  const Functions& functions = OpenOnce().functions;
  int result = 0;
  if (const int error = ErrorOf(functions.find_error(communicator_, &result)); error != 0) return error;
  if (result != 0) return ErrorOf(result);
  if (const int error = cudaEventRecord(begin_, stream); error != 0) return error;
  if (const int error = cudaStreamWaitEvent(stream_, begin_, 0); error != 0) return error;
  const bool is_mean = fold.operation == device::AllReduce::kMean;
  return ErrorOf(functions.reduce(fold.values, fold.values, fold.count, is_mean ? kNcclFloat32 : kNcclUint8,
                                  is_mean ? kNcclMean : kNcclLeast, communicator_, stream_));
}

int NcclRanks::AwaitAllReduces(cudaStream_t stream) {
  if (communicator_ == nullptr) return device::kNoRanks;
  if (const int error = cudaEventRecord(end_, stream_); error != 0) return error;
  return cudaStreamWaitEvent(stream, end_, 0);
}

// Errors are ignored, as nothing can be done about them here.
NcclRanks::~NcclRanks() {
  if (communicator_ != nullptr) static_cast<void>(OpenOnce().functions.leave(communicator_));
  if (begin_ != nullptr) static_cast<void>(cudaEventDestroy(begin_));
  if (end_ != nullptr) static_cast<void>(cudaEventDestroy(end_));
  if (stream_ != nullptr) static_cast<void>(cudaStreamDestroy(stream_));
}

}  // namespace amp::cuda
