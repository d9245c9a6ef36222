#include "runtime/parallel/means_over_ranks.h"

#include <algorithm>
#include <utility>

#include "ir/base/status.h"

namespace amp {

void MeansOverRanks::Start(int64_t key, absl::Span<const float> values) {
  if (open_.empty()) open_.reserve(std::max(bucket_, values.size()));
  places_[key] = {.bucket = sent_.size(), .first = open_.size()};
  open_.insert(open_.end(), values.begin(), values.end());
  if (open_.size() >= bucket_) SendBucket();
}

void MeansOverRanks::SendBucket() { sent_.push_back(ranks_.StartMean(std::exchange(open_, {}))); }

absl::Status MeansOverRanks::Take(int64_t key, absl::Span<float> mean) {
  const auto found = places_.find(key);
  if (found == places_.end()) return ModelError("expected a mean over ranks that was started, found none");
  const Place place = found->second;
  if (!open_.empty()) SendBucket();
  if (mean.empty()) return absl::OkStatus();
  AMP_ASSIGN_OR_RETURN(const absl::Span<const float> means, sent_[place.bucket]->Wait());
  std::copy_n(means.begin() + static_cast<std::ptrdiff_t>(place.first), mean.size(), mean.begin());
  return absl::OkStatus();
}

}  // namespace amp
