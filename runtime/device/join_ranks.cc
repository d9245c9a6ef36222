#include <string>
#include <vector>

#include "ir/base/status.h"
#include "runtime/device/accelerator.h"
#include "runtime/parallel/rank_group.h"

namespace amp {
namespace {

// Returns the first text of a rank that is not empty, the same on all ranks.
absl::StatusOr<std::string> FirstText(RankGroup& ranks, const std::string& own) {
  const auto* const bytes = reinterpret_cast<const std::byte*>(own.data());
  AMP_ASSIGN_OR_RETURN(const auto texts, ranks.Gather({bytes, own.size()}));
  for (size_t rank = 0; rank < texts.size(); ++rank) {
    if (texts[rank].empty()) continue;
    const std::string text(reinterpret_cast<const char*>(texts[rank].data()), texts[rank].size());
    return absl::StrCat("rank ", rank, ": ", text);
  }
  return std::string();
}

}  // namespace

absl::Status Accelerator::JoinRanks(RankGroup& ranks) {
  char text[device::kMaxRanksText] = "no way from device to device";
  std::vector<char> id(device::kRanksIdBytes);
  char* const given = ranks.rank() == 0 ? id.data() : nullptr;
  int error = table_.name_ranks == nullptr ? device::kNoRanks : table_.name_ranks(table_.self, given, text);
  // All ranks fail together, so that none waits for one that cannot join.
  const auto complain = [&] { return error == device::kNoRanks ? std::string(text) : table_.error_text(error); };
  AMP_ASSIGN_OR_RETURN(std::string why_not, FirstText(ranks, error == 0 ? "" : complain()));
  if (!why_not.empty()) return DeviceError(Escaped(why_not));
  AMP_RETURN_IF_ERROR(ranks.Broadcast({reinterpret_cast<std::byte*>(id.data()), id.size()}));
  error = table_.join_ranks(table_.self, id.data(), ranks.rank(), ranks.size(), text);
  AMP_ASSIGN_OR_RETURN(why_not, FirstText(ranks, error == 0 ? "" : complain()));
  if (!why_not.empty()) return DeviceError(Escaped(why_not));  // for example, two ranks use one GPU
  ranks_text_ = text;
  return absl::OkStatus();
}

void Accelerator::StartAllReduce(Tensor& values, device::AllReduce operation) {
  const device::AllReduceArguments arguments = {
      .values = values.mutable_data(), .count = static_cast<size_t>(values.num_elements()), .operation = operation};
  Note(table_.start_all_reduce(table_.self, &arguments));
}

}  // namespace amp
