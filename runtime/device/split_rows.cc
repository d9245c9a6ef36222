#include "runtime/device/split_rows.h"

#include <algorithm>
#include <optional>

#include "ir/base/status.h"
#include "runtime/device/raw/split_rows.h"
#include "runtime/device/storage.h"

namespace amp {
namespace {

// Returns how rows are cut; nothing if they are many, or short.
std::optional<device::RowParts> PartsOf(const Accelerator& device, uint32_t rows, uint32_t length) {
  constexpr uint32_t kLong = 16384, kLeastPart = 4096;  // kLeastPart: 16 elements for each thread of a team
  constexpr uint32_t kTeamsOfEach = 4;                  // number of teams that each multiprocessor should have
  const auto multiprocessors = static_cast<uint32_t>(device.num_multiprocessors());
  if (rows == 0 || rows >= 2 * multiprocessors || length <= kLong) return std::nullopt;
  const uint32_t wanted = std::clamp((kTeamsOfEach * multiprocessors + rows - 1) / rows, 2U, length / kLeastPart);
  const uint32_t size = (length + wanted - 1) / wanted;
  return device::RowParts{.count = (length + size - 1) / size, .size = size};
}

// Returns the reduction that combines the results of parts. Norms and logarithms combine by themselves.
device::Reduction Joining(device::Reduction reduction) {
  switch (reduction) {
    case device::Reduction::kSumOfMagnitudes:
    case device::Reduction::kSumOfSquares:
      return device::Reduction::kSum;
    case device::Reduction::kSum:
    case device::Reduction::kNorm:
    case device::Reduction::kLogOfSum:
    case device::Reduction::kLogOfPowers:
    case device::Reduction::kMax:
    case device::Reduction::kMin:
      return reduction;
  }
  return reduction;
}

// Allocates the results of parts, [rows, parts, numbers].
absl::StatusOr<Tensor> MakeFound(const KernelContext& context, uint32_t rows, const device::RowParts& parts,
                                 int64_t numbers) {
  return context.MakeScratch(DType::kFloat32, {rows, parts.count, numbers});
}

}  // namespace

absl::Status StartRows(const KernelContext& context, const device::ReduceArguments& reduce) {
  Accelerator& device = *context.resources().device;
  const std::optional<device::RowParts> parts = PartsOf(device, reduce.results, reduce.count);
  if (!parts.has_value()) {
    device.Start(reduce);
    return absl::OkStatus();
  }
  AMP_ASSIGN_OR_RETURN(Tensor found, MakeFound(context, reduce.results, *parts, 1));
  auto* const results = static_cast<float*>(found.mutable_data());
  device::ReducePartsArguments of = {.reduce = reduce, .parts = *parts, .results = results};
  if (reduce.reduction == device::Reduction::kLogOfSum) of.reduce.reduction = device::Reduction::kSum;
  device.Start(of);
  device::ReduceArguments join = reduce;
  join.x = results;
  join.storage = device::Storage::kFloat32;
  join.reduction = Joining(reduce.reduction);
  join.count = parts->count;
  join.kept = {.rank = 1, .dims = {reduce.results}, .strides = {{parts->count}}};
  join.reduced = {.rank = 1, .dims = {parts->count}, .strides = {{1}}};
  device.Start(join);
  return absl::OkStatus();
}

namespace {

// Starts one launch in which a team computes a whole row, or two: the first finds two numbers for each part of a row,
// and the second combines them.
template <typename Parts, typename OfParts, typename Whole>
absl::Status StartWholeOrParts(const KernelContext& context, const Whole& whole) {
  Accelerator& device = *context.resources().device;
  const std::optional<device::RowParts> parts = PartsOf(device, whole.rows, whole.size);
  if (!parts.has_value()) {
    device.Start(whole);
    return absl::OkStatus();
  }
  AMP_ASSIGN_OR_RETURN(Tensor found, MakeFound(context, whole.rows, *parts, 2));
  const Parts of = {whole, *parts, static_cast<float*>(found.mutable_data())};
  device.Start(of);
  device.Start(OfParts{of});
  return absl::OkStatus();
}

}  // namespace

absl::Status StartRows(const KernelContext& context, const device::SoftmaxArguments& softmax) {
  return StartWholeOrParts<device::SoftmaxPartsArguments, device::SoftmaxOfPartsArguments>(context, softmax);
}

absl::Status StartRows(const KernelContext& context, const device::NormalizeArguments& norm) {
  return StartWholeOrParts<device::NormalizePartsArguments, device::NormalizeOfPartsArguments>(context, norm);
}

}  // namespace amp
