// The limits on what a model may cost (RewriteOptions::Limits), each with its flag, the largest value that can be kept
// to, and what it bounds. The program's flags and the library's options are checked against the same rows.
#ifndef AMP_TOOLS_LIMIT_FLAGS_H_
#define AMP_TOOLS_LIMIT_FLAGS_H_

#include <cstdint>
#include <limits>
#include <string>

#include "absl/status/status.h"
#include "ir/base/limits.h"
#include "tools/amp.h"

namespace amp {

// `options`: RewriteOptions::Limits, const or not. visit(flag, value, largest, help)
template <typename Options, typename Visit>
void ForEachLimit(Options& options, const Visit& visit) {
  constexpr int64_t kAny = std::numeric_limits<int64_t>::max();  // the size of a file bounds it
  constexpr int64_t kIds = std::numeric_limits<int32_t>::max();  // they are numbered in 32 bits
  visit("--max-model-bytes", options.model_bytes, kLargestModelBytes, "size of MODEL without external data");
  visit("--max-objects", options.objects, kAny, "messages and strings in MODEL (or bytes / 8, if that is more)");
  visit("--max-nesting", options.nesting, kLargestNesting, "messages within messages");
  visit("--max-graph-depth", options.graph_depth, kLargestGraphDepth, "graphs within graphs");
  visit("--max-nodes", options.nodes, kIds, "nodes of all graphs");
  visit("--max-initializers", options.initializers, kIds, "initializers of all graphs");
  visit("--max-functions", options.functions, kIds, "model-local functions");
  visit("--max-inlined-nodes", options.inlined_nodes, kIds, "nodes of all graphs once functions are inlined");
  visit("--max-inlined-bytes", options.inlined_bytes, kLargestModelBytes, "what inlining functions may add to MODEL");
  visit("--max-call-depth", options.call_depth, kLargestCallDepth, "functions calling functions");
  visit("--max-rank", options.rank, kIds, "dimensions of a tensor");
  visit("--max-elements", options.elements, kLargestElements, "elements of a tensor");
}

// kInvalidArgument where a limit is negative or larger than can be kept to.
absl::Status CheckLimits(const RewriteOptions::Limits& options);

// REQUIRES: CheckLimits passed.
Limits LimitsFrom(const RewriteOptions::Limits& options);
// For the model whose functions are inlined: whoever allows that many nodes by inlining allows them.
Limits LimitsAfterInlining(const RewriteOptions::Limits& options);

}  // namespace amp

#endif  // AMP_TOOLS_LIMIT_FLAGS_H_
