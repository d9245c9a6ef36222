// Opens a shared object of this project, which what needs it need not link.
#ifndef AMP_RUNTIME_HARDWARE_OPEN_SHARED_OBJECT_H_
#define AMP_RUNTIME_HARDWARE_OPEN_SHARED_OBJECT_H_

#include <string>

namespace amp {

struct SharedObject {
  std::string place;      // that it was found in
  void* entry = nullptr;  // the function that was asked for; null: none
  std::string why_not;    // where there is none
};

// Looked for beside the program, in the folder of libraries beside that of the program, where it was installed, and
// where the loader looks. Stays open.
SharedObject OpenSharedObject(const std::string& file, const char* function);

}  // namespace amp

#endif  // AMP_RUNTIME_HARDWARE_OPEN_SHARED_OBJECT_H_
