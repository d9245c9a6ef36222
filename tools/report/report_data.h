// The data of a report's HTML form: the report in columns, each string once, as one line of JSON.
//
//   {"format":1, ..., "strings":["MatMul","/a/MatMul"],"nodes":{"path":[1],"operator":[0],...}}
//
// The text can stand in a script element: no "<", and no character that ends a line of JavaScript, is in it as such.
// Names may hold any bytes. tools/report/data.js reads it; the names of members are told there.
#ifndef AMP_TOOLS_REPORT_REPORT_DATA_H_
#define AMP_TOOLS_REPORT_REPORT_DATA_H_

#include <string>

#include "absl/strings/string_view.h"
#include "passes/report/report.h"

namespace amp {

// A report without a graph has none in the data either. Linear in the length of all names.
std::string ReportData(const Report& report);

// A JSON string of any bytes, which can stand in a script element.
std::string ScriptSafeString(absl::string_view text);

}  // namespace amp

#endif  // AMP_TOOLS_REPORT_REPORT_DATA_H_
