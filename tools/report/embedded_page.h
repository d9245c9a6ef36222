// The pages of this folder, compiled in: page.html and runs.html with style and scripts, cut where the data go.
#ifndef AMP_TOOLS_REPORT_EMBEDDED_PAGE_H_
#define AMP_TOOLS_REPORT_EMBEDDED_PAGE_H_

#include "absl/strings/string_view.h"

namespace amp {

struct EmbeddedPage {
  absl::string_view before_data, behind_data;
};

// Made by tools/report/embed.cmake.
EmbeddedPage GetEmbeddedPage();
EmbeddedPage GetEmbeddedRunPage();

}  // namespace amp

#endif  // AMP_TOOLS_REPORT_EMBEDDED_PAGE_H_
