// Opens a shared object of this project at run time, so that its users need not link it.
#ifndef AMP_RUNTIME_HARDWARE_OPEN_SHARED_OBJECT_H_
#define AMP_RUNTIME_HARDWARE_OPEN_SHARED_OBJECT_H_

#include <string>

namespace amp {

struct SharedObject {
  std::string place;      // the path that it was loaded from
  void* entry = nullptr;  // the requested function; null: not found
  std::string why_not;    // the reason, if `entry` is null
};

// Looks beside the program, or the shared library that this is a part of, in the library folder beside that folder, in
// the installed library folder, and where the loader looks. The object stays open.
SharedObject OpenSharedObject(const std::string& file, const char* function);

}  // namespace amp

#endif  // AMP_RUNTIME_HARDWARE_OPEN_SHARED_OBJECT_H_
