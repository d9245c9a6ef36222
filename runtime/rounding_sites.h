// Where a rewrite rounds, and what each of these roundings does to an output of a model, as runs in lock step
// (runtime/lock_step.h) have shown it.
//
//   S(the output) = 1 ÷ |the output|²             S(value) = sum over its readers of gain² · S(what they give)
//   squared error of a rounding = |what it adds|² · S(value), or for one reader alone its gain² · S(what it gives)
//
// The squared relative error of the output is predicted as the sum over the roundings that a choice makes. Products of
// gains take errors for noise all the way. Convolutions and sums let smooth errors pass, and noise hardly, so that what
// has become of an early error is more than that. Derivatives of the output know better, where there are any.
//
// An output that is no float32, as the choice of ArgMax or what is cast to float64, is as right as the float32 value
// that it is made of.
#ifndef AMP_RUNTIME_ROUNDING_SITES_H_
#define AMP_RUNTIME_ROUNDING_SITES_H_

#include <cstddef>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "ir/graph/graph.h"
#include "runtime/lock_step.h"

namespace amp {

// A value on its way to one reader. It is rounded where its producer or the reader is low.
struct RoundingSite {
  ValueId value = kNone;
  NodeId producer = kNone;  // kNone: an input of the model or of a body
  NodeId reader = kNone;    // kNone: the value is an output of its graph
  size_t port = 0;          // of the reader
  double if_producer = 0;   // squared relative error of the output, where the producer is low,
  double if_reader = 0;     // and where the reader alone is
  bool by_derivatives = false;
};

// The weights of a node, rounded if it is low.
struct WeightSite {
  NodeId node = kNone;
  double squared_error = 0;  // relative, of the output
  bool by_derivatives = false;
};

struct RoundingSites {
  std::vector<RoundingSite> values;
  std::vector<WeightSite> weights;
};

// Looks at the sum over these outputs of the session's model, by their numbers. Where a gain was not seen, a relative
// error is taken to stay what it is. The body of a Loop or Scan goes round as often as it did on average, up to 64
// times. `known` may be null.
RoundingSites FindRoundingSites(const Model& model, const ErrorSums& sums, absl::Span<const size_t> outputs,
                                const Derivatives* known = nullptr);

}  // namespace amp

#endif  // AMP_RUNTIME_ROUNDING_SITES_H_
