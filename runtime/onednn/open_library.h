// Opens the shared object that holds oneDNN, once for the process.
#ifndef AMP_RUNTIME_ONEDNN_OPEN_LIBRARY_H_
#define AMP_RUNTIME_ONEDNN_OPEN_LIBRARY_H_

#include <string>

#include "runtime/onednn/interface.h"

namespace amp::onednn {

struct OpenedLibrary {
  const Library* library = nullptr;
  std::string why_not;  // where there is none
};

// Looked for beside the program, in the folder of libraries beside that of the program, where it was installed, and
// where the loader looks. Needs AVX2.
const OpenedLibrary& OpenLibrary();

// How many threads a run of this process asked for, and how many the system had, where these were fewer; else 0.
struct ThreadShortage {
  int asked_for = 0, had = 0;
};
ThreadShortage FindThreadShortage();
// Library::SetThreads of the opened one, of which FindThreadShortage knows.
void SetThreadsOf(const Library& library, int count);

}  // namespace amp::onednn

#endif  // AMP_RUNTIME_ONEDNN_OPEN_LIBRARY_H_
