// The lists of this folder, compiled in: name without ".list", and the text of the file.
#ifndef AMP_LISTS_EMBEDDED_LISTS_H_
#define AMP_LISTS_EMBEDDED_LISTS_H_

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace amp {

struct EmbeddedList {
  absl::string_view name;
  absl::string_view text;
};

// All of them, in the order of lists/CMakeLists.txt.
absl::Span<const EmbeddedList> EmbeddedLists();

}  // namespace amp

#endif  // AMP_LISTS_EMBEDDED_LISTS_H_
