#include "runtime/loops/memory_broadcast.h"

#include <algorithm>

#include "ir/base/status.h"
#include "runtime/kernel/layout.h"

namespace amp {
namespace {

// The rank of the inputs that are channels-last; 0: there is none.
size_t ChannelsLastRank(const KernelContext& context, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (context.Input(i).layout() == Layout::kChannelsLast) return context.Input(i).rank();
  }
  return 0;
}

Dims WithRank(const Dims& dims, size_t rank) {
  Dims filled(rank - dims.size(), 1);
  filled.insert(filled.end(), dims.begin(), dims.end());
  return filled;
}

// Whether a row-major tensor of these dims has its elements in the same order as a channels-last one.
bool HasOneOrder(const Dims& dims) {
  return dims[1] == 1 || std::all_of(dims.begin() + 2, dims.end(), [](int64_t dim) { return dim == 1; });
}

bool MayReuse(const KernelContext& context, size_t port, const MemoryBroadcast& broadcast, DType dtype) {
  const Tensor& x = context.Input(port);
  return x.dtype() == dtype && x.layout() == broadcast.layout && x.dims() == broadcast.dims && x.IsOnlyOwner();
}

}  // namespace

Refusal WhyNotInMemory(const KernelContext& context, size_t count, BroadcastRule rule) {
  const size_t rank = ChannelsLastRank(context, count);
  if (rank == 0) return {};
  for (size_t i = 0; i < count; ++i) {
    const Tensor& x = context.Input(i);
    if (rule == BroadcastRule::kOfOperator && context.version() < 7 && x.dims() != context.Input(0).dims())
      return "channels-last before opset 7";
    const bool is_last = x.layout() == Layout::kChannelsLast;
    const bool fits = is_last ? x.rank() == rank : x.rank() <= rank && HasOneOrder(WithRank(x.dims(), rank));
    if (!fits) return "operands in different layouts";
  }
  return {};
}

absl::StatusOr<MemoryBroadcast> BroadcastInMemory(const KernelContext& context, size_t count, BroadcastRule rule) {
  MemoryBroadcast result;
  const size_t rank = ChannelsLastRank(context, count);
  if (rank == 0) {
    const bool is_pair = count == 2 && rule == BroadcastRule::kOfOperator;
    AMP_ASSIGN_OR_RETURN(result.broadcast, is_pair ? BroadcastPair(context) : BroadcastInputs(context, count));
    result.dims = result.broadcast.dims;
    return result;
  }
  result.layout = Layout::kChannelsLast;
  for (size_t i = 0; i < count; ++i) {
    AMP_ASSIGN_OR_RETURN(result.dims, BroadcastDims(result.dims, context.Input(i).dims()));
  }
  result.broadcast.dims = DimsInMemory(result.dims, result.layout);
  for (size_t i = 0; i < count; ++i) {
    const Dims dims = DimsInMemory(WithRank(context.Input(i).dims(), rank), result.layout);
    result.broadcast.strides.push_back(BroadcastStrides(dims, result.broadcast.dims));
  }
  return result;
}

absl::StatusOr<Tensor*> MakeBroadcastOutput(KernelContext& context, const MemoryBroadcast& broadcast, DType dtype) {
  for (size_t i = 0; i < broadcast.broadcast.strides.size(); ++i) {
    if (MayReuse(context, i, broadcast, dtype)) return context.MakeOutputLike(0, i);
  }
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutput(0, dtype, broadcast.dims));
  y->set_layout(broadcast.layout);
  return y;
}

}  // namespace amp
