#include "runtime/onednn/open_library.h"

#include <atomic>

#include "absl/strings/str_cat.h"
#include "runtime/hardware/hardware.h"
#include "runtime/hardware/open_shared_object.h"

namespace amp::onednn {
namespace {

OpenedLibrary Open() {
  if (!DetectCpu().avx2) return {.why_not = "the processor has no AVX2"};
  const SharedObject object = OpenSharedObject("libamp_onednn.so", "AmpOneDnnLibrary");
  if (object.entry == nullptr) return {.why_not = object.why_not};
  using Function = const Library* (*)();
  OpenedLibrary opened;
  opened.library = reinterpret_cast<Function>(object.entry)();
  if (opened.library == nullptr) opened.why_not = absl::StrCat(object.place, ": no oneDNN for this processor");
  return opened;
}

// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): the process has one number of threads
std::atomic<ThreadShortage> shortage;

}  // namespace

ThreadShortage FindThreadShortage() { return shortage.load(); }

void SetThreadsOf(const Library& library, int count) {
  library.SetThreads(count);
  const int had = static_cast<int>(library.size());  // fewer than `count` if the system has fewer
  if (had < count) shortage = ThreadShortage{.asked_for = count, .had = had};
}

const OpenedLibrary& OpenLibrary() {
  static const OpenedLibrary& opened = *new OpenedLibrary(Open());
  return opened;
}

}  // namespace amp::onednn
