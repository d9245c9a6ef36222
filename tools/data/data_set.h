// All columns of a data set, as the inputs of a session want them.
#ifndef AMP_TOOLS_DATA_DATA_SET_H_
#define AMP_TOOLS_DATA_DATA_SET_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "passes/train/step_metadata.h"
#include "runtime/session.h"
#include "tools/data/data_column.h"
#include "tools/library/flag_words.h"

namespace amp {

struct DataSetOptions {
  std::string flag;  // that the files come from, for messages
  FitOptions fit;
  int64_t num_classes = -1;       // where it is known
  Accelerator* device = nullptr;  // that steps run on, which outlives the data
};

class DataSet {
 public:
  // `inputs`: those that may be given, without the labels. Inputs that no node reads need no file, and a file for one
  // is not read. Errors: kInvalidArgument, another input without a file, a file for no input, samples that do not fit,
  // files of different numbers of samples or of none; those of ReadDataFile.
  static absl::StatusOr<DataSet> Read(const NamedFiles& files, const std::vector<InputType>& inputs,
                                      const std::optional<InputType>& labels, LabelKind kind,
                                      const DataSetOptions& options);

  int64_t num_samples() const { return num_samples_; }
  bool Has(const std::string& input) const;
  // A line for each.
  std::string Describe() const;
  // As text: how the samples become a step's inputs, and a hash of all of them.
  std::string Fingerprint() const;
  // Labels are among them under their name.
  absl::StatusOr<NamedDatums> Batch(absl::Span<const int64_t> rows) const;
  // Checks a fixed batch. Errors: kInvalidArgument if a step would get another number of samples. `last`: the size of a
  // last, smaller batch; 0: there is none.
  absl::Status CheckBatch(int64_t batch, int64_t last) const;

 private:
  std::vector<DataColumn> columns_;
  std::vector<InputType> inputs_;  // that nodes read
  std::string notes_;              // on files that are not read
  int64_t num_samples_ = 0;
};

// Finds the session's input of that name.
absl::StatusOr<InputType> FindInput(const Session& session, const std::string& name);

}  // namespace amp

#endif  // AMP_TOOLS_DATA_DATA_SET_H_
