// The limits on what a model may cost (ir/base/limits.h), each with its flag, the largest value that can be kept
// to, and what it bounds. The program's flags and the library's options are checked against the same rows.
#ifndef AMP_TOOLS_LIBRARY_LIMIT_FLAGS_H_
#define AMP_TOOLS_LIBRARY_LIMIT_FLAGS_H_

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "ir/base/limits.h"

namespace amp {

// `limits`: const or not. visit(flag, value, largest, help)
template <typename MaybeConstLimits, typename Visit>
void ForEachLimit(MaybeConstLimits& limits, const Visit& visit) {
  constexpr int64_t kAny = std::numeric_limits<int64_t>::max();  // the size of a file bounds it
  constexpr int64_t kIds = std::numeric_limits<int32_t>::max();  // they are numbered in 32 bits
  visit("--max-model-bytes", limits.model_bytes, kLargestModelBytes, "size of MODEL without external data");
  visit("--max-objects", limits.objects, kAny, "messages and strings in MODEL (or bytes / 8, if that is more)");
  visit("--max-nesting", limits.nesting, kLargestNesting, "messages within messages");
  visit("--max-graph-depth", limits.graph_depth, kLargestGraphDepth, "graphs within graphs");
  visit("--max-nodes", limits.nodes, kIds, "nodes of all graphs");
  visit("--max-initializers", limits.initializers, kIds, "initializers of all graphs");
  visit("--max-functions", limits.functions, kIds, "model-local functions");
  visit("--max-inlined-nodes", limits.inlined_nodes, kIds, "nodes of all graphs once functions are inlined");
  visit("--max-inlined-bytes", limits.inlined_bytes, kLargestModelBytes, "what inlining functions may add to MODEL");
  visit("--max-call-depth", limits.call_depth, kLargestCallDepth, "functions calling functions");
  visit("--max-rank", limits.rank, kIds, "dimensions of a tensor");
  visit("--max-elements", limits.elements, kLargestElements, "elements of a tensor");
}

// kInvalidArgument where a limit is negative or larger than can be kept to.
absl::Status CheckLimits(const Limits& limits);

// "--max-nodes=5" for each limit that is not the usual one.
std::vector<std::string> ChangedLimits(const Limits& limits);

}  // namespace amp

#endif  // AMP_TOOLS_LIBRARY_LIMIT_FLAGS_H_
