#include "tools/report/html_report.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tools/report/embedded_page.h"
#include "tools/report/report_data.h"

namespace amp {

bool IsHtmlFile(absl::string_view path) { return absl::EndsWithIgnoreCase(path, ".html"); }

std::string ReportHtml(const Report& report) {
  const EmbeddedPage page = GetEmbeddedPage();
  return absl::StrCat(page.before_data, ReportData(report), page.behind_data);
}

}  // namespace amp
