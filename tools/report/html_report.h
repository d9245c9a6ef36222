// A report as one HTML file that needs no other: it is opened from disk, and asks nothing of any network.
//
//   <style> ... </style> <script type="application/json"> the data </script> <script> tools/report/*.js </script>
//
// Names of a model are strangers' text. They are in the data alone, and the scripts show them as text, never as HTML; a
// policy in the file forbids every script but its own, by hash, and every request.
#ifndef AMP_TOOLS_REPORT_HTML_REPORT_H_
#define AMP_TOOLS_REPORT_HTML_REPORT_H_

#include <string>

#include "absl/strings/string_view.h"
#include "passes/report/report.h"

namespace amp {

// Whether a report that is written to `path` is HTML: its name ends in ".html".
bool IsHtmlFile(absl::string_view path);

// Linear in the length of all names. Tested by tests/tools/report/html_report_test.cc and, in a browser, by
// tests/tools/report/browser_test.py.
std::string ReportHtml(const Report& report);

}  // namespace amp

#endif  // AMP_TOOLS_REPORT_HTML_REPORT_H_
