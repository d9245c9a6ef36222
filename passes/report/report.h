// The decisions and their reasons as data, for every node, cast and weight. Printed by --report and --explain.
#ifndef AMP_PASSES_REPORT_REPORT_H_
#define AMP_PASSES_REPORT_REPORT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "passes/cast/insert_casts.h"
#include "passes/cast/narrow_weights.h"
#include "passes/classify/classify_nodes.h"
#include "passes/paint/paint_graph.h"
#include "passes/report/report_graph.h"
#include "passes/report/search_report.h"
#include "passes/report/sensitivity_report.h"

namespace amp {

struct NodeReport {
  std::string path;     // "/encoder/MatMul_3", or "Conv#12" for a node without a name; bodies: "if1.then/Add_1"
  std::string op_type;  // "com.microsoft::Gelu" outside ai.onnx
  OpClass op_class = OpClass::kUnlisted;
  std::string class_name;    // the class, or "cast" and "constant" for what is on no list by its nature
  std::string class_origin;  // "tf-1.15-float16.list:12", "--deny"
  std::string class_why;
  bool is_low = false;
  std::string type;         // float32 or a 16-bit type; "-" where there is neither
  bool is_heavy = false;    // IsHeavy (ir/operators/operator_facts.h) on float32
  std::string reason_kind;  // stable names, see ReasonName
  std::string reason;       // a sentence
  int num_casts = 0;        // casts that feed it or read it
};

// A node that something else took the place of.
struct ReplacedNode {
  NodeId node = kNone;      // erased by now
  NodeId stand_in = kNone;  // what gives its result
  std::string path;         // as of NodeReport
  Classification classification;
  std::string how;  // "folded into 'conv1'"
};

struct CastReport {
  std::string name, value;
  DType from = DType::kUndefined, to = DType::kUndefined;
  std::vector<std::string> readers;
  int64_t num_elements = -1;  // -1: not known
  // For Report::graph: the value, and those of the nodes that read the cast.
  std::optional<uint32_t> graph_value;
  std::vector<uint32_t> reading_nodes;
};

// Nodes that went, as paths, and what stands for them: "folded into 'conv1'", "LayerNormalization n_1".
struct ReplacedReport {
  std::vector<std::string> nodes;
  std::string how;
};

struct Report {
  static constexpr int kSchemaVersion = 1;

  std::string tool_version;        // of this program
  std::vector<std::string> flags;  // what was asked for: "--dtype=bfloat16"
  std::string model;
  std::string verification;  // "verified: ...", "not verified: why"; "" where nothing was to be verified
  std::string input_xxh3;    // XXH3 (64 bits) of the file that was read, for HTML alone; "" where it is not known
  std::string output_xxh3;   // XXH3 (64 bits) of the model that is written with the report; "" where none is
  DType low = DType::kFloat16;
  std::string profile;
  std::string placement;  // what chose where classes leave a choice; "" where nothing was decided
  std::string target = "any";
  bool changed = false;
  std::string unchanged_because;  // when !changed
  int opset_before = 0, opset_after = 0;
  int ir_version_before = 0, ir_version_after = 0;
  std::optional<SensitivityReport> sensitivity;  // where it was asked for
  std::optional<SearchReport> search;            // where it was asked for
  std::vector<NodeReport> nodes;
  std::optional<ReportGraph> graph;  // if it was asked for; for HTML alone
  std::vector<ReplacedReport> replaced;
  std::vector<CastReport> casts;
  size_t num_casts_of_overridable = 0;  // of these, those of weights that callers may override
  std::vector<NarrowedWeight> weights;
  // The user's casts that folding made superfluous; of a rewrite that was taken back, those that it had inserted.
  std::vector<std::string> removed_casts;
  std::vector<std::string> widened_weights;    // by taking a rewrite back
  int inlined_calls = 0;                       // of model-local functions
  std::vector<std::string> inlined_functions;  // "domain::name", those whose calls were inlined
  // --functions specialise: calls that were made calls of new functions again, those functions, and calls that went
  // back to their original function.
  int specialised_calls = 0, original_calls = 0;
  std::vector<std::string> specialised_functions;
  std::vector<std::string> advice;
  std::vector<std::string> hints;  // advice about the model that is for reports alone
  std::vector<std::string> warnings;
  int64_t weight_bytes_before = 0, weight_bytes_after = 0;          // all constants of the model
  int64_t activation_bytes_before = 0, activation_bytes_after = 0;  // node outputs of known size

  int NumLow() const;
  std::vector<std::string> AllAdvice() const;  // hints last
};

// One JSON object, indented; passes/README.md documents the fields.
std::string ReportJson(const Report& report);
// A table for people: a line per node, the casts, the weights, totals and advice; or a line per node that stays float32
// (without constants and casts, which are what their readers are), totals and advice.
enum class Shown { kAll, kFloat32 };
std::string ReportText(const Report& report, Shown shown = Shown::kAll);
// "512 B", "1.5 kB", "12.0 MB".
std::string ByteText(int64_t bytes);
// "weights 97.5 MB -> 48.8 MB"
std::string WeightsLine(const Report& report);
// "Converted 41 of 57 nodes to float16 with 6 casts; weights 97.5 MB -> 48.8 MB", what was raised, and, where it is
// worth it, which flag would do without casts.
std::string SummaryLine(const Report& report);

}  // namespace amp

#endif  // AMP_PASSES_REPORT_REPORT_H_
