// Ends a program when memory has run out: unfinished files are removed, one line is printed, and the exit code is 5.
//
// Nothing is unwound. An exception would run destructors that cannot stand it: Abseil's hash tables state a new size
// before they have the memory for it, so they would free what they never had, and JSON values allocate when they go.
#ifndef AMP_TOOLS_PROGRAM_OUT_OF_MEMORY_H_
#define AMP_TOOLS_PROGRAM_OUT_OF_MEMORY_H_

#include <cstddef>

#include "absl/strings/string_view.h"

namespace amp {

// The line names this file from now on: "amp-run: error: FILE: out of memory ...". Escaped, and cut where it is long.
void NameInOutOfMemory(absl::string_view file);

// From the next time that files are put in place on, `file` is there and only the last words are missing: running out
// of memory is then a warning, with exit code 0.
void WritesInOutOfMemory(absl::string_view file);

// Whether this thread may leave now. Not while it changes several files together: whoever does takes them back.
bool MayLeaveOutOfMemory();

// These allocate nothing, and several threads may call them at once. The first one waits until no thread is changing
// several files together.
[[noreturn]] void LeaveOutOfMemory(size_t wanted_bytes) noexcept;
[[noreturn]] void LeaveWithoutThreads() noexcept;

}  // namespace amp

#endif  // AMP_TOOLS_PROGRAM_OUT_OF_MEMORY_H_
