// Opens the shared object that holds oneDNN, once per process.
#ifndef AMP_RUNTIME_ONEDNN_OPEN_LIBRARY_H_
#define AMP_RUNTIME_ONEDNN_OPEN_LIBRARY_H_

#include <string>

#include "runtime/onednn/interface.h"

namespace amp::onednn {

struct OpenedLibrary {
  const Library* library = nullptr;
  std::string why_not;  // the reason, if `library` is null
};

// Looks beside the program, in the library folder beside the program's folder, in the installed library folder, and
// where the loader looks. Needs AVX2.
const OpenedLibrary& OpenLibrary();

// How many threads a run of this process asked for, and how many the system had, if these were fewer; else both are 0.
struct ThreadShortage {
  int asked_for = 0, had = 0;
};
ThreadShortage FindThreadShortage();
// Calls SetThreads of the opened library, and records a shortage for FindThreadShortage.
void SetThreadsOf(const Library& library, int count);

// Library::BeginRun and EndRun. `library` may be null.
class RunScope {
 public:
  explicit RunScope(const Library* library) : library_(library) {
    if (library_ != nullptr) library_->BeginRun();
  }
  ~RunScope() {
    if (library_ != nullptr) library_->EndRun();
  }
  RunScope(const RunScope&) = delete;
  RunScope& operator=(const RunScope&) = delete;

 private:
  const Library* library_;
};

}  // namespace amp::onednn

#endif  // AMP_RUNTIME_ONEDNN_OPEN_LIBRARY_H_
