#include <string>
#include <vector>

#include "ir/base/status.h"
#include "runtime/device/accelerator.h"
#include "runtime/parallel/reduction.h"

namespace amp {
namespace {

// The first rank's text that is not empty, told to all.
absl::StatusOr<std::string> FirstText(Reduction& reduction, const std::string& own) {
  const auto* const bytes = reinterpret_cast<const std::byte*>(own.data());
  AMP_ASSIGN_OR_RETURN(const auto texts, reduction.Gather({bytes, own.size()}));
  for (size_t rank = 0; rank < texts.size(); ++rank) {
    if (texts[rank].empty()) continue;
    const std::string text(reinterpret_cast<const char*>(texts[rank].data()), texts[rank].size());
    return absl::StrCat("rank ", rank, ": ", text);
  }
  return std::string();
}

}  // namespace

absl::Status Accelerator::JoinRanks(Reduction& reduction) {
  char text[device::kMaxRanksText] = "no way from device to device";
  std::vector<char> id(device::kRanksIdBytes);
  char* const given = reduction.rank() == 0 ? id.data() : nullptr;
  int error = table_.name_ranks == nullptr ? device::kNoRanks : table_.name_ranks(table_.self, given, text);
  // Nobody waits for one who cannot come.
  const auto complain = [&] { return error == device::kNoRanks ? std::string(text) : table_.error_text(error); };
  AMP_ASSIGN_OR_RETURN(std::string why_not, FirstText(reduction, error == 0 ? "" : complain()));
  if (!why_not.empty()) return DeviceError(Escaped(why_not));
  AMP_RETURN_IF_ERROR(reduction.Broadcast({reinterpret_cast<std::byte*>(id.data()), id.size()}));
  error = table_.join_ranks(table_.self, id.data(), reduction.rank(), reduction.size(), text);
  AMP_ASSIGN_OR_RETURN(why_not, FirstText(reduction, error == 0 ? "" : complain()));
  if (!why_not.empty()) return DeviceError(Escaped(why_not));  // two with one GPU, for instance
  ranks_text_ = text;
  return absl::OkStatus();
}

void Accelerator::StartFold(Tensor& values, device::Fold fold) {
  const device::FoldArguments arguments = {
      .values = values.mutable_data(), .count = static_cast<size_t>(values.num_elements()), .fold = fold};
  Note(table_.start_fold(table_.self, &arguments));
}

}  // namespace amp
