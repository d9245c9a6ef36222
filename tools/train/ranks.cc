#include "tools/train/ranks.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/types/span.h"
#include "ir/base/status.h"
#include "passes/train/step_metadata.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace amp {
namespace {

template <typename T>
absl::Span<const std::byte> BytesOf(const T& value) {
  return {reinterpret_cast<const std::byte*>(&value), sizeof value};
}
absl::Span<const std::byte> BytesOf(const std::string& text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

// A digest of the state that replicas must share, small enough to be sent at every comparison.
struct Replica {
  uint64_t states = 0;  // a hash of all, in order
  int64_t num_steps = 0, good_steps = 0;
  float scale = 1;
  uint32_t padding = 0;

  bool operator==(const Replica& other) const {
    return states == other.states && num_steps == other.num_steps && good_steps == other.good_steps &&
           std::bit_cast<uint32_t>(scale) == std::bit_cast<uint32_t>(other.scale);
  }
};

absl::StatusOr<Replica> ReplicaOf(const Trainer& trainer) {
  Replica replica{.num_steps = trainer.num_steps()};
  XXH3_state_t hash;
  XXH3_64bits_reset(&hash);
  for (const std::string& name : trainer.StateNames()) {
    AMP_ASSIGN_OR_RETURN(const Tensor state, trainer.State(name));
    XXH3_64bits_update(&hash, state.bytes().data(), state.size_bytes());
    const bool is_scale = name == trainer.description().scale && state.dtype() == DType::kFloat32;
    const bool is_count = name == trainer.description().good_steps && state.dtype() == DType::kInt64;
    if (is_scale && state.num_elements() == 1) replica.scale = state.elements<float>()[0];
    if (is_count && state.num_elements() == 1) replica.good_steps = state.elements<int64_t>()[0];
  }
  replica.states = XXH3_64bits_digest(&hash);
  return replica;
}

std::string Describe(const Replica& replica) {
  return absl::StrFormat("loss scale %g, %d good steps, weights and other states of hash %016x", replica.scale,
                         replica.good_steps, replica.states);
}

struct Pace {
  int64_t num_steps = 0;
  double learning_rate = 0;
};

}  // namespace

template <typename T>
absl::StatusOr<std::vector<T>> Ranks::Gather(const T& own) {
  if (size() == 1) return std::vector<T>{own};
  AMP_ASSIGN_OR_RETURN(const auto gathered, group_->Gather(BytesOf(own)));
  std::vector<T> all(gathered.size());
  for (size_t rank = 0; rank < all.size(); ++rank) {
    if (gathered[rank].size() != sizeof(T)) return absl::InternalError("ranks ask each other different things");
    std::memcpy(&all[rank], gathered[rank].data(), sizeof(T));
  }
  return all;
}

absl::StatusOr<std::vector<std::string>> Ranks::GatherTexts(const std::string& own) {
  if (size() == 1) return std::vector<std::string>{own};
  AMP_ASSIGN_OR_RETURN(const auto gathered, group_->Gather(BytesOf(own)));
  std::vector<std::string> all;
  all.reserve(gathered.size());
  for (const std::vector<std::byte>& text : gathered) {
    all.emplace_back(reinterpret_cast<const char*>(text.data()), text.size());
  }
  return all;
}

absl::Status Ranks::KnownToAll(absl::Status status) {
  all_know_ = !status.ok();
  return status;
}

absl::Status Ranks::Agree(const absl::Status& own) {
  if (size() == 1) return own;
  AMP_ASSIGN_OR_RETURN(const std::vector<int64_t> codes, Gather(static_cast<int64_t>(own.raw_code())));
  AMP_ASSIGN_OR_RETURN(const std::vector<std::string> messages, GatherTexts(std::string(own.message())));
  for (size_t rank = 0; rank < codes.size(); ++rank) {
    if (codes[rank] == 0) continue;
    if (static_cast<int>(rank) == this->rank()) return KnownToAll(own);
    const absl::Status told(static_cast<absl::StatusCode>(codes[rank]), messages[rank]);
    return KnownToAll(InFile(absl::StrCat("rank ", rank), told));
  }
  return absl::OkStatus();
}

absl::Status Ranks::ExpectSame(const std::string& text) {
  AMP_ASSIGN_OR_RETURN(const std::vector<std::string> texts, GatherTexts(text));
  for (size_t rank = 0; rank < texts.size(); ++rank) {
    if (texts[rank] == texts[0]) continue;
    return KnownToAll(UsageError("all ranks must do the same: expected on rank ", rank, " as on rank 0: ", texts[0],
                                 "; found: ", texts[rank]));
  }
  return absl::OkStatus();
}

absl::StatusOr<StepFigures> Ranks::Combine(const StepFigures& own) {
  AMP_ASSIGN_OR_RETURN(const std::vector<StepFigures> all, Gather(own));
  StepFigures combined;
  for (const StepFigures& each : all) {
    combined.loss += each.loss;
    combined.samples += each.samples;
    combined.judged += each.judged;
    combined.right += each.right;
    combined.measured += each.measured;
    combined.absolute_error += each.absolute_error;
  }
  combined.loss /= static_cast<double>(all.size());
  return combined;
}

absl::Status Ranks::Sum(absl::Span<double> values) {
  if (size() == 1) return absl::OkStatus();
  const auto* const first = reinterpret_cast<const std::byte*>(values.data());
  AMP_ASSIGN_OR_RETURN(const auto all, group_->Gather({first, values.size() * sizeof(double)}));
  std::fill(values.begin(), values.end(), 0);
  for (const std::vector<std::byte>& bytes : all) {
    std::vector<double> each(values.size());
    std::memcpy(each.data(), bytes.data(), std::min(bytes.size(), each.size() * sizeof(double)));
    for (size_t i = 0; i < values.size(); ++i) values[i] += each[i];
  }
  return absl::OkStatus();
}

absl::StatusOr<int64_t> Ranks::Max(int64_t own) {
  AMP_ASSIGN_OR_RETURN(const std::vector<int64_t> all, Gather(own));
  return *std::max_element(all.begin(), all.end());
}

absl::Status Ranks::ShareState(Trainer& trainer) {
  if (size() == 1) return absl::OkStatus();
  for (const std::string& name : trainer.StateNames()) {
    AMP_ASSIGN_OR_RETURN(const Tensor own, trainer.State(name));
    AMP_ASSIGN_OR_RETURN(Tensor shared, Tensor::Create(own.dtype(), own.dims()));
    std::copy(own.bytes().begin(), own.bytes().end(), shared.mutable_bytes().begin());
    AMP_RETURN_IF_ERROR(group_->Broadcast(shared.mutable_bytes()));
    AMP_RETURN_IF_ERROR(trainer.SetState(name, std::move(shared)));
  }
  AMP_ASSIGN_OR_RETURN(const std::vector<Pace> paces, Gather(Pace{trainer.num_steps(), trainer.learning_rate()}));
  trainer.set_num_steps(paces[0].num_steps);
  trainer.set_learning_rate(static_cast<float>(paces[0].learning_rate));
  return absl::OkStatus();
}

absl::Status Ranks::ShareText(std::string& text) {
  AMP_ASSIGN_OR_RETURN(const std::vector<std::string> texts, GatherTexts(IsFirst() ? text : ""));
  text = texts[0];
  return absl::OkStatus();
}

absl::Status Ranks::CompareReplicas(const Trainer& trainer) {
  if (size() == 1) return absl::OkStatus();
  AMP_ASSIGN_OR_RETURN(const Replica own, ReplicaOf(trainer));
  AMP_ASSIGN_OR_RETURN(const std::vector<Replica> all, Gather(own));
  for (size_t rank = 0; rank < all.size(); ++rank) {
    if (all[rank] == all[0]) continue;
    return KnownToAll(absl::FailedPreconditionError(
        absl::StrCat("replicas differ after step ", all[0].num_steps, ": expected on rank ", rank,
                     " as on rank 0: ", Describe(all[0]), "; found: ", Describe(all[rank]))));
  }
  return absl::OkStatus();
}

}  // namespace amp
