#include "runtime/onednn/open_library.h"

#include <dlfcn.h>

#include <filesystem>
#include <system_error>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/hardware/hardware.h"

namespace amp::onednn {
namespace {

constexpr const char* kFile = "libamp_onednn.so";

std::vector<std::string> Places() {
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  std::vector<std::string> places;
  if (!error) {
    const std::filesystem::path folder = program.parent_path();
    places.push_back((folder / kFile).string());
    places.push_back((folder.parent_path() / AMP_LIBRARY_FOLDER / kFile).string());
  }
  places.push_back((std::filesystem::path(AMP_INSTALLED_LIBRARIES) / kFile).string());
  places.emplace_back(kFile);
  return places;
}

OpenedLibrary Open() {
  if (!DetectCpu().avx2) return {.why_not = "the processor has no AVX2"};
  OpenedLibrary opened;
  for (const std::string& place : Places()) {
    void* handle = ::dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
      std::error_code error;
      const char* why = ::dlerror();
      // What was found and does not load says more than what was not found.
      if (opened.why_not.empty() || std::filesystem::exists(place, error)) opened.why_not = why;
      continue;
    }
    using Function = const Library* (*)();
    const auto function = reinterpret_cast<Function>(::dlsym(handle, "AmpOneDnnLibrary"));
    if (function != nullptr) opened.library = function();
    if (opened.library == nullptr) opened.why_not = absl::StrCat(place, ": no oneDNN for this processor");
    return opened;
  }
  return opened;
}

}  // namespace

const OpenedLibrary& OpenLibrary() {
  static const OpenedLibrary& opened = *new OpenedLibrary(Open());
  return opened;
}

}  // namespace amp::onednn
