// Reductions of floats along any axes on a device, and global pools.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <vector>

#include "ir/base/status.h"
#include "runtime/device/column_sums.h"
#include "runtime/device/families.h"
#include "runtime/device/raw/rows.h"
#include "runtime/device/split_rows.h"
#include "runtime/device/storage.h"
#include "runtime/forms/reduction.h"
#include "runtime/kernel/layout.h"
#include "runtime/kernel/shape_math.h"

namespace amp {
namespace {

// The axes of x that are kept and reduced, with their strides in x. Neighbouring axes of one kind are merged.
struct Axes {
  Broadcast kept, reduced;
};

Axes SplitAxes(const Tensor& x, absl::Span<const size_t> axes) {
  const Dims& dims = x.dims();
  const Dims strides = RowStrides(DimsInMemory(dims, x.layout()));
  std::vector<bool> is_reduced(dims.size(), false);
  for (const size_t axis : axes) is_reduced[axis] = true;
  Axes split = {.kept = {{}, {{}}}, .reduced = {{}, {{}}}};
  for (size_t axis = 0; axis < dims.size(); ++axis) {
    Broadcast& side = is_reduced[axis] ? split.reduced : split.kept;
    side.dims.push_back(dims[axis]);
    side.strides[0].push_back(strides[AxisInMemory(axis, dims.size(), x.layout())]);
  }
  split.kept = MergeAxes(split.kept);
  split.reduced = MergeAxes(split.reduced);
  return split;
}

Refusal WhyNot(const KernelContext& context) {
  const Tensor& x = context.Input(0);
  if (!IsDeviceFloat(x.dtype())) return kNoDeviceFloat;
  if (x.num_elements() == 0) return "nothing to reduce";
  return x.rank() > device::kMaxAxes ? kTooManyAxes : nullptr;
}

Refusal WhyNotGlobal(const KernelContext& context) {
  return context.Input(0).rank() < 2 ? "no channels" : WhyNot(context);
}

// Returns the result's type. It differs from the input's if a cast of the input was fused with the node.
DType TypeOfResult(const KernelContext& context) {
  const DType stated = context.model().value(context.node().Output(0)).dtype;
  return IsDeviceFloat(stated) ? stated : context.Input(0).dtype();
}

struct Rule {
  device::Reduction reduction;
  bool is_mean = false;
};

// Whether many rows of [rows, columns] are added up. Then neighbouring columns are summed together.
bool AddsRows(const Axes& split, const Rule& rule) {
  constexpr int64_t kManyRows = 256;
  const Broadcast &kept = split.kept, &reduced = split.reduced;
  return rule.reduction == device::Reduction::kSum && kept.dims.size() == 1 && kept.strides[0][0] == 1 &&
         reduced.dims.size() == 1 && reduced.strides[0][0] == kept.dims[0] && kept.dims[0] > 1 &&
         reduced.dims[0] >= kManyRows;
}

absl::Status AddRows(KernelContext& context, const Axes& split, float scale, Tensor& y) {
  const Tensor& x = context.Input(0);
  const device::SumColumnsArguments sum = {.of = {.x = nullptr,
                                                  .scale = nullptr,
                                                  .g = x.data(),
                                                  .x_storage = device::Storage::kFloat32,
                                                  .scale_storage = device::Storage::kFloat32,
                                                  .g_storage = StorageOf(x.dtype())},
                                           .rows = static_cast<uint32_t>(split.reduced.dims[0]),
                                           .columns = static_cast<uint32_t>(split.kept.dims[0]),
                                           .parts = 0,
                                           .part_size = 0,
                                           .mean = nullptr,
                                           .inverse_deviation = nullptr,
                                           .sums = nullptr};
  return StartColumnSums(context, sum, scale, y);
}

absl::Status ReduceAlong(KernelContext& context, const ReductionForm& form, const Rule& rule) {
  context.Report("reduce", DType::kFloat32);
  const Tensor& x = context.Input(0);
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutput(0, TypeOfResult(context), form.dims));
  const Axes split = SplitAxes(x, form.axes);
  const int64_t count = x.num_elements() / y->num_elements();
  const float scale = rule.is_mean ? static_cast<float>(1 / static_cast<double>(count)) : 1;
  if (AddsRows(split, rule)) return AddRows(context, split, scale, *y);
  return StartRows(context, device::ReduceArguments{.x = x.data(),
                                                    .y = y->mutable_data(),
                                                    .storage = StorageOf(x.dtype()),
                                                    .stored_as = StorageOf(y->dtype()),
                                                    .reduction = rule.reduction,
                                                    .scale = scale,
                                                    .results = CountOf(*y),
                                                    .count = static_cast<uint32_t>(count),
                                                    .kept = ShapeOf<1>(split.kept),
                                                    .reduced = ShapeOf<1>(split.reduced)});
}

constexpr Rule kSum = {device::Reduction::kSum};
constexpr Rule kMean = {device::Reduction::kSum, true};
constexpr Rule kSumOfMagnitudes = {device::Reduction::kSumOfMagnitudes};
constexpr Rule kSumOfSquares = {device::Reduction::kSumOfSquares};
constexpr Rule kNorm = {device::Reduction::kNorm};
constexpr Rule kLogOfSum = {device::Reduction::kLogOfSum};
constexpr Rule kLogOfPowers = {device::Reduction::kLogOfPowers};
constexpr Rule kMax = {device::Reduction::kMax};
constexpr Rule kMin = {device::Reduction::kMin};

template <const Rule& kRule>
absl::Status Reduce(KernelContext& context) {
  AMP_ASSIGN_OR_RETURN(const ReductionForm form, ReadReduction(context));
  return ReduceAlong(context, form, kRule);
}

template <const Rule& kRule>
absl::Status ReduceImages(KernelContext& context) {
  return ReduceAlong(context, ReadGlobalReduction(context), kRule);
}

constexpr KernelRow Row(absl::string_view op_type, KernelFunction function, RefusalFunction refusal,
                        PortSet host_inputs = {}) {
  KernelRow row = DeviceRow(op_type, function, refusal, host_inputs);
  row.takes_channels_last = true;
  return row;
}
constexpr KernelRow kRows[] = {
    Row("ReduceL1", Reduce<kSumOfMagnitudes>, WhyNot, {1}),
    Row("ReduceL2", Reduce<kNorm>, WhyNot, {1}),
    Row("ReduceLogSum", Reduce<kLogOfSum>, WhyNot, {1}),
    Row("ReduceLogSumExp", Reduce<kLogOfPowers>, WhyNot, {1}),
    Row("ReduceMax", Reduce<kMax>, WhyNot, {1}),
    Row("ReduceMean", Reduce<kMean>, WhyNot, {1}),
    Row("ReduceMin", Reduce<kMin>, WhyNot, {1}),
    Row("ReduceSum", Reduce<kSum>, WhyNot, {1}),
    Row("ReduceSumSquare", Reduce<kSumOfSquares>, WhyNot, {1}),
    Row("GlobalAveragePool", ReduceImages<kMean>, WhyNotGlobal),
    Row("GlobalMaxPool", ReduceImages<kMax>, WhyNotGlobal),
};

}  // namespace

absl::Span<const KernelRow> ReductionDeviceKernels() { return kRows; }

const KernelRow* FindDeviceReductionRow(absl::string_view domain, absl::string_view op_type) {
  const auto* row = std::find_if(std::begin(kRows), std::end(kRows), [&](const KernelRow& candidate) {
    return candidate.domain == domain && candidate.op_type == op_type;
  });
  return row == std::end(kRows) ? nullptr : row;
}

}  // namespace amp
