#include "runtime/hardware/open_shared_object.h"

#include <dlfcn.h>

#include <filesystem>
#include <system_error>
#include <vector>

namespace amp {
namespace {

std::vector<std::string> Places(const std::string& file) {
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  std::vector<std::string> places;
  if (!error) {
    const std::filesystem::path folder = program.parent_path();
    places.push_back((folder / file).string());
    places.push_back((folder.parent_path() / AMP_LIBRARY_FOLDER / file).string());
  }
  places.push_back((std::filesystem::path(AMP_INSTALLED_LIBRARIES) / file).string());
  places.push_back(file);
  return places;
}

}  // namespace

SharedObject OpenSharedObject(const std::string& file, const char* function) {
  SharedObject opened;
  for (const std::string& place : Places(file)) {
    void* handle = ::dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
      std::error_code error;
      const char* why = ::dlerror();
      // The error of a file that exists and does not load is more useful than that of a file that is not there.
      if (opened.why_not.empty() || std::filesystem::exists(place, error)) opened.why_not = why;
      continue;
    }
    opened.place = place;
    opened.entry = ::dlsym(handle, function);
    if (opened.entry == nullptr) opened.why_not = place + ": lacks " + function;
    return opened;
  }
  return opened;
}

}  // namespace amp
