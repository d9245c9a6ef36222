// A page that shows runs: where the time and the memory of one went, how a training went, or how far the runs of two
// models are apart. As a report it is one HTML file that asks for nothing (tools/report/html_report.h).
//
//   {"kind": "profile", "model", "version", "run_us", "weight_bytes",
//    "nodes": [[path, operator, kernel, start_us, us], ...], "alive": [[node, bytes], ...]}
//   {"kind": "comparison", "model", "version", "other", "tolerance", "verdict",
//    "outputs": [[name, misfit, relative_error, largest_error, cosine, new_non_finite, unequal, elements], ...],
//    "values": [[name, node, operator, others_type, relative_error, largest_error, new_non_finite, elements,
//               misfit], ...]}
//   {"kind": "training", "model", "version", "name", "csv"}      csv: what amp-train --log FILE.csv writes
#ifndef AMP_TOOLS_REPORT_RUN_PAGE_H_
#define AMP_TOOLS_REPORT_RUN_PAGE_H_

#include <string>

#include "nlohmann/json.hpp"

namespace amp {

// Text that is not UTF-8 is shown with marks in its place.
std::string RunPage(const nlohmann::ordered_json& data);

}  // namespace amp

#endif  // AMP_TOOLS_REPORT_RUN_PAGE_H_
