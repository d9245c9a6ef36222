// What only moves elements is computed on a device by the reference kernels themselves: what they call to move elements
// knows where these are (runtime/kernel/element_mover.h). Here are the operators for which that holds.
#include "runtime/device/families.h"
#include "runtime/device/storage.h"
#include "runtime/kernel/kernel_table.h"
#include "runtime/reference/reference_kernels.h"

namespace amp {
namespace {

// Of the inputs that are not read on the processor.
template <size_t kFirstHostInput>
const char* WhyNot(const KernelContext& context) {
  for (size_t i = 0; i < context.num_inputs() && i < kFirstHostInput; ++i) {
    const Tensor& x = context.Input(i);
    if (x.dtype() == DType::kString || ElementBytes(x.dtype()) == 0 || ElementBytes(x.dtype()) > 8) {
      return "elements of another size than 1, 2, 4 or 8 bytes";
    }
    if (x.rank() > device::kMaxAxes) return kTooManyAxes;
  }
  return nullptr;
}

// DepthToSpace has two axes more on its way.
const char* WhyNotImage(const KernelContext& context) {
  return context.Input(0).rank() == 4 ? WhyNot<1>(context) : "no images";
}

const char* WhyNotExpand(const KernelContext& context) {
  return context.Input(1).num_elements() > device::kMaxAxes ? kTooManyAxes : WhyNot<1>(context);
}

// Indices on the processor, that they are checked before anything is read.
const char* WhyNotGather(const KernelContext& context) {
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

constexpr size_t kAll = 1000;

constexpr KernelRow kRows[] = {
    DeviceRow("CenterCropPad", RunReference, WhyNot<1>, {1}),
    DeviceRow("Concat", RunReference, WhyNot<kAll>),
    DeviceRow("DepthToSpace", RunReference, WhyNotImage),
    DeviceRow("Expand", RunReference, WhyNotExpand, {1}),
    DeviceRow("Gather", RunReference, WhyNotGather, {1}),
    DeviceRow("GatherElements", RunReference, WhyNotGather, {1}),
    DeviceRow("GatherND", RunReference, WhyNotGather, {1}),
    DeviceRow("Pad", RunReference, WhyNot<1>, {1, 2, 3}),
    DeviceRow("Slice", RunReference, WhyNot<1>, {1, 2, 3, 4}),
    DeviceRow("SpaceToDepth", RunReference, WhyNotImage),
    DeviceRow("Split", RunReference, WhyNot<1>, {1}),
    DeviceRow("Tile", RunReference, WhyNot<1>, {1, 2}),
    DeviceRow("Transpose", RunReference, WhyNot<1>),
};

}  // namespace

absl::Span<const KernelRow> MoveDeviceKernels() { return kRows; }

}  // namespace amp
