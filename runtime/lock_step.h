// How far rounding errors go in a model, found in one run: each node runs in float32, and in step with that on values
// that are rounded as a rewrite would round them.
//
//   x ── MatMul ── h ── Exp ── y       per node, beside the float32 run:
//         w                              on rounded values                        -> what it hands on
//                                        on one rounded value after the other     -> the gain from each input
//                                        on rounded weights, all else exact       -> the error of the weights
//
//   gain² = |change of the output|² ÷ |change of the input|²
//
// Errors of different roundings are taken to be independent, so that their squares add up. A gain belongs to an input
// of a node and not to a value, since the readers of one value may differ much: a residual stream passes by a block
// almost unharmed. There are two of them. Rounded values are noise, which sums and averages cancel; a rounded weight is
// wrong everywhere in the same way, and its errors add up. So values and weights are rounded in runs of their own.
//
// Only sums are kept, for all runs and all rounds of a body together. Values in sequences, and those that a Scan has
// sliced, count as exact.
#ifndef AMP_RUNTIME_LOCK_STEP_H_
#define AMP_RUNTIME_LOCK_STEP_H_

#include <cstdint>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "ir/graph/graph.h"
#include "runtime/session.h"

namespace amp {

// Which ports of a node are in the low type. Empty: none.
struct LowPorts {
  std::vector<bool> inputs, outputs;

  bool HasInput(size_t port) const { return port < inputs.size() && inputs[port]; }
  bool HasOutput(size_t port) const { return port < outputs.size() && outputs[port]; }
};

// Sums over the rounds of a value.
struct ValueErrors {
  int64_t rounds = 0;
  int64_t elements = 0;         // of all rounds
  double squared_norm = 0;      // of the elements that are finite
  double squared_rounding = 0;  // what rounding it adds, over the elements that are finite in the low type as well
  double squared_result = 0;    // what rounding adds to it where its producer has read rounded inputs: none for Relu
  bool overflows = false;       // a finite element is not finite in the low type
};

// The origin of errors.
enum class ErrorSource { kValues, kWeights };
inline constexpr ErrorSource kErrorSources[] = {ErrorSource::kValues, ErrorSource::kWeights};

// Sums over the rounds of a node: a change that it was given, and what it made of that.
struct GainSums {
  double squared_in = 0, squared_out = 0;
};
using GainsByPort = std::vector<std::vector<GainSums>>;  // by input port and output port

// Sums over the rounds of a node.
struct NodeErrors {
  int64_t rounds = 0;
  GainsByPort gains[std::size(kErrorSources)];  // by source
  std::vector<double> squared_of_weights;       // by output port: the change if all weights are rounded
  bool overflows = false;                       // its results are finite on exact inputs alone

  const GainsByPort& GainsOf(ErrorSource source) const { return gains[static_cast<size_t>(source)]; }
};

// In the ids of the session's model.
struct ErrorSums {
  IdVector<ValueId, ValueErrors> values;
  IdVector<NodeId, NodeErrors> nodes;
  IdVector<GraphId, int64_t> rounds;
};

// Known effects of roundings, by derivatives of outputs (tools/library/output_derivatives.h): these need no gains.
struct Derivatives {
  // By node and port: the squared relative error of the outputs, by the squared error of the value on its way there.
  absl::flat_hash_map<std::pair<NodeId, size_t>, double> inputs;
  absl::flat_hash_map<ValueId, double> values;  // the same of an error that all readers of the value read
  // The squared relative error of the outputs, where the weights of the node are rounded.
  absl::flat_hash_map<NodeId, double> weights;
  bool is_whole = false;  // every rounding is among them
};

class LockStep {
 public:
  // `session`: float32, nothing fused (OneByOne), on the processor. `low`: by node, what a rewrite would make low.
  // `known`: where gains need not be found; may be null. All must outlive this.
  LockStep(const Session& session, DType low_type, const IdVector<NodeId, LowPorts>& low,
           const Derivatives* known = nullptr);
  ~LockStep();

  // Adds a run on these inputs. `may_go_on` may be null. Errors: those of Session::Run.
  absl::Status Run(const NamedDatums& inputs, const NodeGate* may_go_on = nullptr);
  const ErrorSums& sums() const;

 private:
  class Witness;
  const Session& session_;
  std::unique_ptr<Witness> witness_;
};

}  // namespace amp

#endif  // AMP_RUNTIME_LOCK_STEP_H_
