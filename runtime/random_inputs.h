// Inputs for a model that nobody gave any: of the declared types and shapes, with numbers that make sense where the
// model says what they are for.
//
//   float tensors                    normal, around 0, of standard deviation 1
//   integers that index a table      below its size: the 1000 rows that a Gather picks from
//   integers that are compared       the constant that they are compared with: a sample rate of 16000
//   masks                            ones: integers, or floats of that name that are multiplied or added to others
//   lengths (by name)                the longest dimension of the other inputs: nothing is cut off
//   counts of tokens                 those of the past and the new ones, where attention has a cache (seqlens_k)
//   other integers                   ones
//   truth values                     true
#ifndef AMP_RUNTIME_RANDOM_INPUTS_H_
#define AMP_RUNTIME_RANDOM_INPUTS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/session.h"

namespace amp {

struct RandomInputOptions {
  uint64_t seed = 0;
  // Sizes for dimensions of unknown size, by their name or by input and axis: "x:1".
  std::map<std::string, int64_t> dims = {};
  NamedDatums given = {};  // inputs that are not made up, and go with the others
  // The size of unknown dimensions that `dims` and `given` do not set. The first of several dimensions of an input is a
  // batch of size 1; all dimensions of one name have one size, 1 if any of them is a batch.
  int64_t other_dim = 16;
  int64_t most_elements = kMaxElements;   // of an input
  int64_t most_bytes = int64_t{1} << 30;  // of all that are made up
  bool only_last = false;  // of dimensions without a name, `other_dim` sizes an input's last alone: the others are 1
};

// The dimensions of unknown size of inputs that are made up, by name, each once. Those that `dims` or a given input
// sizes are left out.
std::vector<std::string> UnsizedSymbols(const Session& session, const RandomInputOptions& options);

// Makes up all inputs that are not given; one seed makes the same inputs every time. Given inputs are checked first.
// Errors: kInvalidArgument for a name in `dims` that no input has, for two sizes of one dimension there, for a given
// input of another type or shape, and for an input that is not given and is no tensor, or one of unknown rank;
// kResourceExhausted for more elements or bytes than the limits, before anything is made.
absl::StatusOr<NamedDatums> MakeRandomInputs(const Session& session, const RandomInputOptions& options);

}  // namespace amp

#endif  // AMP_RUNTIME_RANDOM_INPUTS_H_
