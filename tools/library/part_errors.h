// The parts of a model that may become low (passes/decide/find_units.h), and what is predicted of every choice among
// them: the error of the outputs, and the bytes that are saved. Roundings are seen in a run in lock step
// (runtime/lock_step.h). What they do to the outputs is told by derivatives (tools/library/output_derivatives.h), or by
// gains in that run where there are none.
#ifndef AMP_TOOLS_LIBRARY_PART_ERRORS_H_
#define AMP_TOOLS_LIBRARY_PART_ERRORS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/library/sample_runs.h"
#include "tools/library/sensitivity.h"

namespace amp {

struct Part {
  std::string name;                      // the path of its heavy node
  std::vector<std::string> nodes;        // the paths of its nodes, as far as the original has them
  int64_t weight_bytes = 0;              // in float32, of the constants that it reads low
  double macs = 0;                       // multiplications with additions of its heavy nodes in a run
  int64_t casts = 0;                     // beside it, where all parts are low
  std::vector<std::string> plain_nodes;  // those of `nodes` that have no bodies
  bool has_run = false;                  // on a sample: not where it lies in a branch that none takes
  bool overflows = false;                // finite values are not finite in the low type, on exact inputs alone
  bool by_derivatives = true;            // what its roundings do is told by derivatives, of none by gains
};

// Which parts are low, by their index.
using LowParts = std::vector<bool>;

class PartErrors {
 public:
  // Runs the model that is decided about in step on the samples whose errors are the largest where everything is low,
  // two at most. Errors: those of running it; those of task.decide, and of
  // on_progress and may_go_on of its options.
  static absl::StatusOr<PartErrors> Find(const SensitivityTask& task, const SampleRuns& samples,
                                         const std::vector<double>& sample_errors);

  const std::vector<Part>& parts() const { return parts_; }
  // The reason why some are not predicted by derivatives; "" where there is none.
  const std::string& why_gains() const { return why_gains_; }
  LowParts All() const { return LowParts(parts_.size(), true); }
  LowParts Alone(size_t part) const;

  // The squared relative error of the output that has the largest.
  double SquaredError(const LowParts& low) const;
  // The bytes that a run moves less than in float32, casts included: values, and each weight once.
  double SavedBytes(const LowParts& low) const;

  // A choice with its sums, so that a part more or less is looked at without adding up all others.
  struct Choice {
    LowParts low;
    std::vector<double> squared;  // by output
    double saved = 0;

    double SquaredError() const;
  };
  Choice Evaluate(const LowParts& low) const;
  // Returns the choice with this part of the other type. Linear in what is beside the part, and in parts and outputs.
  Choice Changed(const Choice& from, size_t part) const;

  // Returns the choices of parts that may be low for which no other has both a smaller error, summed over the outputs,
  // and more saved bytes for some price of an error: the convex hull, from the largest error down to nothing low. A
  // minimum cut for each. They see what single parts do not: that casts go where neighbours change together. Errors:
  // those of `may_go_on`, which is asked before each cut.
  absl::StatusOr<std::vector<LowParts>> BestChoices(const LowParts& may_be_low,
                                                    const std::function<absl::Status()>& may_go_on) const;

 private:
  friend class PartErrorFinder;
  // A rounding on the way from one part to another, each `num_parts` where that is no part. Of weights: if_producer is
  // 0, and the part is the reader.
  struct Site {
    size_t producer = 0, reader = 0;
    double if_producer = 0, if_reader = 0;
  };
  // A value with its elements, and who gives and reads it. In a run it is written and read, a weight is read. Where it
  // is wanted in both types it is there in both, as a cast serves all readers.
  struct Traffic {
    size_t producer = 0;
    std::vector<size_t> readers;
    double elements = 0;
    bool is_weight = false;

    double LowBytes() const { return (is_weight ? 2 : 4) * elements; }
    double HighBytes() const { return 2 * LowBytes(); }
  };

  class Cutter;

  double ErrorAt(const Site& site, const LowParts& low) const;
  double SavedBy(const Traffic& traffic, const LowParts& low) const;

  std::vector<Part> parts_;
  std::string why_gains_;
  std::vector<std::vector<Site>> sites_;  // by output
  std::vector<Traffic> traffic_;
  std::vector<std::vector<std::vector<size_t>>> sites_of_;  // by output and part: places in sites_
  std::vector<std::vector<size_t>> traffic_of_;             // by part: places in traffic_
};

}  // namespace amp

#endif  // AMP_TOOLS_LIBRARY_PART_ERRORS_H_
