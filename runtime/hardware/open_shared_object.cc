#include "runtime/hardware/open_shared_object.h"

#include <dlfcn.h>

#include <cstring>
#include <filesystem>
#include <system_error>
#include <vector>

namespace amp {
namespace {

// The file that holds this code: the program, or a shared library that another program has opened.
std::filesystem::path OwnFile() {
  std::error_code error;
  Dl_info own = {};
  const bool is_known = ::dladdr(reinterpret_cast<const void*>(&OwnFile), &own) != 0 && own.dli_fname != nullptr;
  const bool is_library = is_known && std::strstr(own.dli_fname, ".so") != nullptr;
  if (is_library) {  // a program's name is what it was called as, and says nothing about its place
    const std::filesystem::path file = std::filesystem::canonical(own.dli_fname, error);
    if (!error) return file;
  }
  return std::filesystem::read_symlink("/proc/self/exe", error);
}

std::vector<std::string> Places(const std::string& file) {
  const std::filesystem::path own = OwnFile();
  std::vector<std::string> places;
  if (!own.empty()) {
    const std::filesystem::path folder = own.parent_path();
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
