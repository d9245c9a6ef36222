// Tests a trainer's weights on data that they were not trained on, through a forward model.
#ifndef AMP_TOOLS_TRAIN_EVALUATOR_H_
#define AMP_TOOLS_TRAIN_EVALUATOR_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "tools/data/data_set.h"
#include "tools/library/trainer.h"
#include "tools/train/ranks.h"
#include "tools/train/train_arguments.h"

namespace amp {

struct Evaluation {
  std::optional<double> loss, accuracy, absolute_error;  // nothing where they mean nothing
};

class Evaluator {
 public:
  // `batch`: samples at once. Errors: those of Trainer::MakeForward, and of DataSet::Read.
  static absl::StatusOr<Evaluator> Create(const Trainer& trainer, const TrainArguments& arguments, int64_t num_classes,
                                          int64_t batch);
  // Creates one that tests on the samples of the training data from `first` on. Errors, besides: kInvalidArgument, an
  // input of the forward model without training data.
  static absl::StatusOr<Evaluator> CreateOnRest(const Trainer& trainer, const TrainArguments& arguments,
                                                std::shared_ptr<const DataSet> data, int64_t first, int64_t batch);
  // With the weights as they are now; every rank tests its share of the batches.
  absl::StatusOr<Evaluation> Evaluate(const Trainer& trainer, Ranks& ranks) const;
  const DataSet& data() const { return *data_; }

 private:
  std::string forward_;
  std::shared_ptr<const DataSet> data_;
  int64_t first_ = 0;  // sample
  int64_t batch_ = 1;
};

}  // namespace amp

#endif  // AMP_TOOLS_TRAIN_EVALUATOR_H_
