// The ranks of a data-parallel run as amp-train sees them. Where there is one, nobody is asked and all is as it was.
#ifndef AMP_TOOLS_TRAIN_RANKS_H_
#define AMP_TOOLS_TRAIN_RANKS_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/parallel/rank_group.h"
#include "tools/library/trainer.h"

namespace amp {

// Gives nothing where a program runs alone. `most_silence`: until a rank counts as lost.
using RankOpener = std::function<absl::StatusOr<std::unique_ptr<RankGroup>>(std::chrono::milliseconds most_silence)>;

// The results of a step on the samples of one rank, or of all.
struct StepFigures {
  double loss = 0;  // a mean
  int64_t samples = 0, judged = 0, right = 0;
  int64_t measured = 0;       // samples that were compared with targets
  double absolute_error = 0;  // times those
};

class Ranks {
 public:
  Ranks() = default;  // one
  explicit Ranks(std::shared_ptr<RankGroup> group) : group_(std::move(group)) {}

  RankGroup* group() const { return group_.get(); }
  int rank() const { return group_ == nullptr ? 0 : group_->rank(); }
  int size() const { return group_ == nullptr ? 1 : group_->size(); }
  bool IsFirst() const { return rank() == 0; }
  // Whether the last error is one that every rank got, so that it is for the first one to tell.
  bool AllKnow() const { return all_know_; }

  // All ranks call the functions below in the same order. Errors of all of them: also those of the ranks.

  // `own`, or the error of the first rank that has one.
  absl::Status Agree(const absl::Status& own);
  // kInvalidArgument unless all ranks have the text that rank 0 has.
  absl::Status ExpectSame(const std::string& text);
  // Loss: the mean of means; the rest: sums.
  absl::StatusOr<StepFigures> Combine(const StepFigures& own);
  absl::Status Sum(absl::Span<double> values);
  absl::StatusOr<int64_t> Max(int64_t own);
  // Rank 0's become all ranks'.
  absl::Status ShareState(Trainer& trainer);
  absl::Status ShareText(std::string& text);
  // kFailedPrecondition, with what differs, unless all ranks have the same scale, counter and states, bit for bit.
  absl::Status CompareReplicas(const Trainer& trainer);
  absl::Status Finish() { return group_ == nullptr ? absl::OkStatus() : group_->Finish(); }

 private:
  template <typename T>
  absl::StatusOr<std::vector<T>> Gather(const T& own);
  absl::StatusOr<std::vector<std::string>> GatherTexts(const std::string& own);
  absl::Status KnownToAll(absl::Status status);

  std::shared_ptr<RankGroup> group_;
  bool all_know_ = false;
};

}  // namespace amp

#endif  // AMP_TOOLS_TRAIN_RANKS_H_
