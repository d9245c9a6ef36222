// ai.amp.GatherGradient on a device: the gradient of a table from which rows were picked. The processor reads the
// indices, as it does for Gather, and sorts them by the rows that they name.
#include <algorithm>
#include <memory>
#include <numeric>
#include <vector>

#include "ir/base/status.h"
#include "runtime/device/families.h"
#include "runtime/device/raw/picked_rows.h"
#include "runtime/device/storage.h"
#include "runtime/kernel/gather_gradient.h"
#include "runtime/kernel/move_elements.h"

namespace amp {
namespace {

constexpr size_t kShape = 0, kIndices = 1, kG = 2;  // inputs

Refusal WhyNot(const KernelContext& context) {
  if (!IsDeviceFloat(context.Input(kG).dtype())) return kNoDeviceFloat;
  return GetDType(context.node(), "to") == DType::kFloat32 ? nullptr : "another type than float32";
}

// The picked rows of the table, each once. Row i gets the rows sources[starts[i]] to sources[starts[i + 1]] of g.
struct Sorted {
  std::vector<int64_t> rows, starts, sources;
};

Sorted SortByRow(const std::vector<size_t>& rows) {
  Sorted sorted;
  sorted.sources.resize(rows.size());
  std::iota(sorted.sources.begin(), sorted.sources.end(), int64_t{0});
  const auto row_of = [&](int64_t source) { return static_cast<int64_t>(rows[static_cast<size_t>(source)]); };
  std::stable_sort(sorted.sources.begin(), sorted.sources.end(),
                   [&](int64_t a, int64_t b) { return row_of(a) < row_of(b); });
  for (size_t i = 0; i < rows.size(); ++i) {
    const int64_t row = row_of(sorted.sources[i]);
    if (!sorted.rows.empty() && sorted.rows.back() == row) continue;
    sorted.rows.push_back(row);
    sorted.starts.push_back(static_cast<int64_t>(i));
  }
  sorted.starts.push_back(static_cast<int64_t>(rows.size()));
  return sorted;
}

absl::Status GatherGradient(KernelContext& context) {
  context.Report("add picked rows", DType::kFloat32);
  AMP_ASSIGN_OR_RETURN(const PickedRows picked, ReadPickedRows(context));
  AMP_ASSIGN_OR_RETURN(Tensor * dx, context.MakeOutput(0, DType::kFloat32, picked.table));
  if (dx->num_elements() == 0) return absl::OkStatus();
  FillWithZero(*dx);
  if (picked.rows.empty()) return absl::OkStatus();
  const Tensor& g = context.Input(kG);
  const Sorted sorted = SortByRow(picked.rows);
  std::vector<int64_t> list = sorted.rows;
  list.insert(list.end(), sorted.starts.begin(), sorted.starts.end());
  list.insert(list.end(), sorted.sources.begin(), sorted.sources.end());
  Accelerator& device = *context.resources().device;
  const std::shared_ptr<const void> shared = device.Share(list);
  if (shared == nullptr) return device.Status();
  const auto* const rows = static_cast<const int64_t*>(shared.get());
  device.Start(device::AddPickedRowsArguments{.g = g.data(),
                                              .dx = static_cast<float*>(dx->mutable_data()),
                                              .g_storage = StorageOf(g.dtype()),
                                              .count = static_cast<uint32_t>(sorted.rows.size() * picked.row_size),
                                              .row_size = static_cast<uint32_t>(picked.row_size),
                                              .rows = rows,
                                              .starts = rows + sorted.rows.size(),
                                              .sources = rows + sorted.rows.size() + sorted.starts.size()});
  return absl::OkStatus();
}

constexpr KernelRow kRows[] = {DeviceRow("GatherGradient", GatherGradient, WhyNot, {kShape, kIndices}, "ai.amp")};

}  // namespace

absl::Span<const KernelRow> GatherGradientDeviceKernels() { return kRows; }

}  // namespace amp
