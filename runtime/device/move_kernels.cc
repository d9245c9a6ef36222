// Operators that only move elements. The reference kernels compute them on a device, too, as the functions that they
// call to move elements know where these lie (runtime/kernel/element_mover.h). This file lists the operators.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "ir/base/status.h"
#include "runtime/device/families.h"
#include "runtime/device/raw/move.h"
#include "runtime/device/storage.h"
#include "runtime/forms/scatter.h"
#include "runtime/kernel/kernel_table.h"
#include "runtime/kernel/move_elements.h"
#include "runtime/reference/reference_kernels.h"

namespace amp {
namespace {

// Checks the inputs that the processor does not read, the first kFirstHostInput ones.
template <size_t kFirstHostInput>
Refusal WhyNot(const KernelContext& context) {
  for (size_t i = 0; i < context.num_inputs() && i < kFirstHostInput; ++i) {
    const Tensor& x = context.Input(i);
    if (x.dtype() == DType::kString || ElementBytes(x.dtype()) == 0 || ElementBytes(x.dtype()) > 8) {
      return "elements of another size than 1, 2, 4 or 8 bytes";
    }
    if (x.rank() > device::kMaxAxes) return kTooManyAxes;
  }
  return {};
}

// DepthToSpace needs two axes more in between.
Refusal WhyNotImage(const KernelContext& context) {
  return context.Input(0).rank() == 4 ? WhyNot<1>(context) : "no images";
}

Refusal WhyNotExpand(const KernelContext& context) {
  return context.Input(1).num_elements() > device::kMaxAxes ? kTooManyAxes : WhyNot<1>(context);
}

// The processor reads the indices, so that they are checked before any element is read.
Refusal WhyNotGather(const KernelContext& context) {
  const size_t rank = context.Input(0).rank() + context.Input(1).rank();
  return rank > device::kMaxAxes ? kTooManyAxes : WhyNot<1>(context);
}

absl::Status RunReference(KernelContext& context) {
  const Node& node = context.node();
  const std::vector<const KernelRow*> rows = FindReferenceKernels(node.domain(), node.op_type(), context.version());
  AMP_CHECK(!rows.empty());
  context.Report("move", context.Input(0).dtype());
  return rows[0]->function(context);
}

// ---- scattering -----------------------------------------------------------------------------------------------------

Refusal WhyNotScatter(const KernelContext& context) {
  if (ReadScatterReduction(context) != "none") return "updates that are added up";
  const Tensor &x = context.Input(0), &updates = context.Input(2);
  const absl::StatusOr<Dims> dims = ReadScatterUpdateDims(context);
  if (updates.dtype() != x.dtype() || !dims.ok() || updates.dims() != *dims) return "updates that do not fit";
  if (x.num_elements() == 0) return "no elements";
  return WhyNot<1>(context);
}

// Whether two updates write to the same place. The last one must win, and only the processor keeps that order.
bool DoMeet(std::vector<size_t> firsts) {
  std::sort(firsts.begin(), firsts.end());
  return std::adjacent_find(firsts.begin(), firsts.end()) != firsts.end();
}

absl::Status Scatter(KernelContext& context) {
  const Tensor &x = context.Input(0), &updates = context.Input(2);
  context.Report("move", x.dtype());
  AMP_ASSIGN_OR_RETURN(const Places places, ReadScatterPlaces(context));
  if (DoMeet(places.firsts)) return Refusal("updates that meet");
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutput(0, x.dtype(), x.dims()));
  CopyBlocks(x, {0, 0}, *y, {0, 0}, static_cast<size_t>(x.num_elements()), 1);
  if (updates.num_elements() == 0) return absl::OkStatus();
  Accelerator& device = *context.resources().device;
  const std::shared_ptr<const void> firsts =
      device.Share(std::vector<int64_t>(places.firsts.begin(), places.firsts.end()));
  if (firsts == nullptr) return device.Status();
  device.Start(device::ScatterRunsArguments{.from = updates.data(),
                                            .to = y->mutable_data(),
                                            .count = CountOf(updates),
                                            .element_bytes = ElementBytes(x.dtype()),
                                            .run = static_cast<uint32_t>(places.run),
                                            .firsts = static_cast<const int64_t*>(firsts.get())});
  return absl::OkStatus();
}

constexpr size_t kAll = 1000;

constexpr KernelRow kRows[] = {
    DeviceRow("CenterCropPad", RunReference, WhyNot<1>, {1}),
    DeviceRow("Concat", RunReference, WhyNot<kAll>),
    DeviceRow("Crop", RunReference, WhyNotImage),
    DeviceRow("DepthToSpace", RunReference, WhyNotImage),
    DeviceRow("Expand", RunReference, WhyNotExpand, {1}),
    DeviceRow("Gather", RunReference, WhyNotGather, {1}),
    DeviceRow("GatherElements", RunReference, WhyNotGather, {1}),
    DeviceRow("GatherND", RunReference, WhyNotGather, {1}),
    DeviceRow("Pad", RunReference, WhyNot<1>, {1, 2, 3}),
    DeviceRow("Scatter", Scatter, WhyNotScatter, {1}),
    DeviceRow("ScatterElements", Scatter, WhyNotScatter, {1}),
    DeviceRow("ScatterND", Scatter, WhyNotScatter, {1}),
    DeviceRow("Slice", RunReference, WhyNot<1>, {1, 2, 3, 4}),
    DeviceRow("SpaceToDepth", RunReference, WhyNotImage),
    DeviceRow("Split", RunReference, WhyNot<1>, {1}),
    DeviceRow("Tile", RunReference, WhyNot<1>, {1, 2}),
    DeviceRow("Transpose", RunReference, WhyNot<1>),
};

}  // namespace

absl::Span<const KernelRow> MoveDeviceKernels() { return kRows; }

}  // namespace amp
