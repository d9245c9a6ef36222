#include "tools/limit_flags.h"

#include <algorithm>

#include "ir/base/status.h"

namespace amp {

absl::Status CheckLimits(const RewriteOptions::Limits& options) {
  absl::Status status;
  ForEachLimit(options, [&](const char* flag, int64_t value, int64_t largest, const char*) {
    if (value < 0 || value > largest) {
      status.Update(UsageError(flag, ": expected a whole number from 0 to ", largest, ", found ", value));
    }
  });
  return status;
}

Limits LimitsFrom(const RewriteOptions::Limits& options) {
  Limits limits;
  limits.model_bytes = options.model_bytes;
  limits.nesting = options.nesting;
  limits.graph_depth = options.graph_depth;
  limits.call_depth = options.call_depth;
  limits.rank = options.rank;
  limits.objects = options.objects;
  limits.nodes = options.nodes;
  limits.initializers = options.initializers;
  limits.functions = options.functions;
  limits.elements = options.elements;
  limits.inlined_nodes = options.inlined_nodes;
  limits.inlined_bytes = options.inlined_bytes;
  return limits;
}

Limits LimitsAfterInlining(const RewriteOptions::Limits& options) {
  Limits limits = LimitsFrom(options);
  limits.nodes = std::max(limits.nodes, limits.inlined_nodes);
  return limits;
}

}  // namespace amp
