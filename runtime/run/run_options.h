// What a caller may ask of one run, and what it is told of it. Part of the public header, tools/library/amp.h.
#ifndef AMP_RUNTIME_RUN_RUN_OPTIONS_H_
#define AMP_RUNTIME_RUN_RUN_OPTIONS_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "ir/base/ids.h"
#include "runtime/kernel/tensor.h"

namespace amp {

using ValueId = Id<struct ValueTag>;

// Is told every value that a run computes or is given, as soon as it is; the id is the session's model's.
using ValueObserver = std::function<void(ValueId, const Datum&)>;

// When an instruction of a run began, on a clock of any origin, and how long it took.
struct InstructionTiming {
  Id<struct NodeTag> node;
  std::chrono::nanoseconds start, duration;
};

using NamedDatums = absl::flat_hash_map<std::string, Datum>;

// What a run does besides.
struct RunOptions {
  const ValueObserver* observer = nullptr;
  std::vector<InstructionTiming>* timings = nullptr;  // appended to
  std::optional<uint64_t> seed = std::nullopt;        // of this run, instead of the session's
  // By output: a tensor in the memory of the session's device. The output is copied into it, at the end of the run, and
  // given as that tensor, so that it never goes to the processor. Inputs may lie in the same tensors: a step of training
  // writes the next state where the present one is. Kernels that can write there at once, where nobody reads the input any
  // more: then a run that fails behind them, which its message says, has lost the input.
  const NamedDatums* places = nullptr;
  // Outputs with a place that are given where the processor sees them, all the same.
  const absl::flat_hash_set<std::string>* shown = nullptr;
};

// What a run copied between the processor's memory and a device's: to it, and from it.
struct CopyCounts {
  int64_t in = 0, in_bytes = 0, out = 0, out_bytes = 0;
};

}  // namespace amp

#endif  // AMP_RUNTIME_RUN_RUN_OPTIONS_H_
