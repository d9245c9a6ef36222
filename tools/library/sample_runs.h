// Runs of a model and its rewritten forms on the samples of --calibration, every rounding applied.
#ifndef AMP_TOOLS_LIBRARY_SAMPLE_RUNS_H_
#define AMP_TOOLS_LIBRARY_SAMPLE_RUNS_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/session.h"
#include "tools/library/rewrite_options.h"
#include "tools/library/run_on_data.h"

namespace amp {

struct SampleErrors {
  std::vector<double> of_samples;  // by sample: the largest error of an output (tools/library/output_error.h)
  double value_bytes = 0;          // of the values that nodes gave on the first of them

  double Largest() const;  // 0 where there are no samples
};

class SampleRuns {
 public:
  // Reads the samples of options.calibration, and runs the model on them. Errors: those of reading samples and of
  // running the model; those of options.may_go_on. `options` must outlive this.
  static absl::StatusOr<std::unique_ptr<SampleRuns>> Make(const RewriteOptions& options, const ModelLoader& load);
  // Takes this sample instead. Errors of outputs are those of --verify, whatever the metric.
  static absl::StatusOr<std::unique_ptr<SampleRuns>> MakeToVerify(const RewriteOptions& options,
                                                                  const ModelLoader& load, NamedDatums sample);

  size_t size() const { return samples_.size(); }
  const NamedDatums& sample(size_t i) const { return samples_[i]; }
  // The outputs of the original for it.
  const std::vector<Datum>& expected(size_t i) const { return expected_[i]; }
  // Whether the original has a node of that path: rules by name speak of no other.
  bool HasNode(const std::string& path) const { return nodes_.contains(path); }

  // A session that rounds every value where it is produced.
  absl::StatusOr<std::unique_ptr<Session>> MakeSession(LoadedFile file) const;

  // Runs on the samples from `begin` up to `end`. Errors: those of running it; kInvalidArgument, there is nothing to
  // compare.
  absl::StatusOr<SampleErrors> ErrorsOf(const Session& session, size_t begin, size_t end,
                                        RewriteOptions::Metric metric) const;
  absl::StatusOr<SampleErrors> ErrorsOf(LoadedFile file, size_t begin, size_t end, RewriteOptions::Metric metric) const;

  // Returns the bytes of the values that nodes give on the first sample: in a model, and in the original.
  absl::StatusOr<double> ValueBytesOf(LoadedFile file) const;
  double value_bytes() const { return value_bytes_; }

 private:
  explicit SampleRuns(const RewriteOptions& options) : options_(options) {}
  absl::Status Add(const Session& original, NamedDatums sample);
  std::optional<double> ErrorOf(RewriteOptions::Metric metric, const Datum& expected, const Datum& found) const;
  // Makes the session of the original.
  absl::StatusOr<std::unique_ptr<Session>> Begin(const ModelLoader& load);
  // Adds up the bytes of the values that nodes give.
  absl::StatusOr<std::vector<Datum>> Run(const Session& session, const NamedDatums& sample, double& value_bytes) const;

  const RewriteOptions& options_;
  const NodeGate gate_ = [this](const Node&, absl::Span<const Datum* const>) { return options_.may_go_on(); };
  absl::flat_hash_set<std::string> nodes_;  // the paths of the original's nodes
  std::vector<NamedDatums> samples_;
  std::vector<std::vector<Datum>> expected_;  // by sample and output
  double value_bytes_ = 0;
  bool is_to_verify_ = false;
};

}  // namespace amp

#endif  // AMP_TOOLS_LIBRARY_SAMPLE_RUNS_H_
