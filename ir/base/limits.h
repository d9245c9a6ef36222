// Upper bounds on what a model may cost. Every one is a flag (--max-...); exceeding one is kResourceExhausted.
#ifndef AMP_IR_BASE_LIMITS_H_
#define AMP_IR_BASE_LIMITS_H_

#include <algorithm>
#include <cstdint>
#include <limits>

namespace amp {

// The largest limits that can be kept to.
inline constexpr int64_t kLargestModelBytes = std::numeric_limits<int32_t>::max();  // protobuf writes no more
inline constexpr int kLargestNesting = 100;                                         // protobuf reads no more
inline constexpr int kLargestGraphDepth = (kLargestNesting + 1) / 3;  // a graph in a graph is three messages deeper
inline constexpr int kLargestCallDepth = 400;                         // each takes some 4 KiB of stack
inline constexpr int64_t kLargestElements = std::numeric_limits<int64_t>::max() / 128;  // of 128 bits at most

inline constexpr int64_t kBytesPerObject = 8;

struct Limits {
  int64_t model_bytes = kLargestModelBytes;
  int nesting = kLargestNesting;  // messages within messages
  int graph_depth = 32;           // graphs within graphs, the main graph included
  // Sub-messages, strings and unknown fields, each of which costs far more memory than bytes of file. The limit in
  // force is the larger of `objects` and file bytes / kBytesPerObject.
  int64_t objects = 2'000'000;
  int64_t nodes = 1'000'000;         // of all graphs and functions together
  int64_t initializers = 1'000'000;  // dense and sparse, of all graphs together
  int64_t functions = 10'000;        // model-local
  int call_depth = 100;              // model-local functions calling each other
  int64_t inlined_nodes = 1'000'000;
  int64_t inlined_bytes = int64_t{1} << 30;  // that inlining adds
  int rank = 64;
  int64_t elements = int64_t{1} << 40;  // per tensor

  // For the model whose functions are inlined: whoever allows that many nodes by inlining allows them.
  Limits AfterInlining() const {
    Limits after = *this;
    after.nodes = std::max(nodes, inlined_nodes);
    return after;
  }
};

}  // namespace amp

#endif  // AMP_IR_BASE_LIMITS_H_
