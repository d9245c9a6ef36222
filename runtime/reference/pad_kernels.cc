// Pad: what lies around a tensor, from a constant or from the tensor itself.
//
//   [a,b,c], 2 before and 2 after   constant 0: [0,0,a,b,c,0,0]   edge: [a,a,a,b,c,c,c]
//                                   reflect: [c,b,a,b,c,b,a]      wrap: [b,c,a,b,c,a,b]
//
// Negative counts cut elements off first; what is left is then padded on the other side.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/kernel/layout.h"
#include "runtime/kernel/move_elements.h"
#include "runtime/kernel/shape_math.h"
#include "runtime/reference/families.h"

namespace amp {
namespace {

enum class Mode { kConstant, kReflect, kEdge, kWrap };

absl::StatusOr<Mode> ReadMode(const Node& node) {
  const std::string mode = GetString(node, "mode", "constant");
  if (mode == "constant") return Mode::kConstant;
  if (mode == "reflect") return Mode::kReflect;
  if (mode == "edge") return Mode::kEdge;
  if (mode == "wrap") return Mode::kWrap;
  return ModelError("expected mode constant, reflect, edge or wrap, found ", Escaped(mode));
}

// How an axis is padded: `kept` elements from `first` on, with so many before and after them.
struct AxisPads {
  int64_t first = 0, kept = 0, before = 0, after = 0;
};

absl::StatusOr<AxisPads> PadsOfAxis(int64_t dim, int64_t before, int64_t after) {
  if (std::min(before, after) < -kMaxElements || std::max(before, after) > kMaxElements) {
    return LimitError("expected pads of at most ", kMaxElements, ", found ", before, " and ", after);
  }
  const int64_t first = std::max<int64_t>(-before, 0), kept = dim - first - std::max<int64_t>(-after, 0);
  if (kept < 0) return ModelError("expected to cut at most ", dim, " elements off, found ", before, " and ", after);
  return AxisPads{first, kept, std::max<int64_t>(before, 0), std::max<int64_t>(after, 0)};
}

// The index that element i of n stands for where i lies outside [0, n).
int64_t Outside(int64_t i, int64_t n, Mode mode) {
  const auto modulo = [](int64_t a, int64_t b) { return (a % b + b) % b; };
  switch (mode) {
    case Mode::kConstant:
      return kNowhere;
    case Mode::kEdge:
      return i < 0 ? 0 : n - 1;
    case Mode::kWrap:
      return modulo(i, n);
    case Mode::kReflect: {
      const int64_t period = std::max<int64_t>(2 * (n - 1), 1);  // there and back
      const int64_t at = modulo(i, period);
      return std::min(at, period - at) % n;
    }
  }
  AMP_CHECK(false);
}

absl::StatusOr<std::vector<int64_t>> PicksOfAxis(const AxisPads& pads, Mode mode) {
  if (pads.kept == 0 && mode != Mode::kConstant) return ModelError("expected elements to pad with, found none");
  std::vector<int64_t> picks;
  for (int64_t i = -pads.before; i < pads.kept + pads.after; ++i) {
    const int64_t index = i >= 0 && i < pads.kept ? i : Outside(i, pads.kept, mode);
    picks.push_back(index == kNowhere ? kNowhere : pads.first + index);
  }
  return picks;
}

// The axes that the pads are for: all of them where nothing is said.
absl::StatusOr<std::vector<size_t>> PaddedAxes(const KernelContext& context, size_t rank) {
  std::vector<size_t> axes;
  if (!context.HasInput(3)) {
    for (size_t axis = 0; axis < rank; ++axis) axes.push_back(axis);
    return axes;
  }
  AMP_ASSIGN_OR_RETURN(const std::vector<int64_t> given, context.InputInts(3));
  AMP_RETURN_IF_ERROR(NormalizeAxes(given, rank).status());
  for (const int64_t axis : given) {
    AMP_ASSIGN_OR_RETURN(const size_t normal, NormalizeAxis(axis, rank));
    axes.push_back(normal);
  }
  return axes;
}

absl::StatusOr<std::vector<AxisPads>> ReadPads(const KernelContext& context, const Tensor& x) {
  AMP_ASSIGN_OR_RETURN(const std::optional<std::vector<int64_t>> pads,
                       context.IntsOfInputOrAttribute(1, context.version() == 1 ? "paddings" : "pads"));
  AMP_ASSIGN_OR_RETURN(const std::vector<size_t> axes, PaddedAxes(context, x.rank()));
  if (!pads.has_value() || pads->size() != 2 * axes.size()) {
    return ModelError("expected ", 2 * axes.size(), " pads, found ", pads.has_value() ? pads->size() : 0);
  }
  std::vector<AxisPads> result;
  for (const int64_t dim : x.dims()) result.push_back({.first = 0, .kept = dim, .before = 0, .after = 0});
  for (size_t i = 0; i < axes.size(); ++i) {
    AMP_ASSIGN_OR_RETURN(result[axes[i]], PadsOfAxis(x.dim(axes[i]), (*pads)[i], (*pads)[axes.size() + i]));
  }
  return result;
}

// The element for mode constant, as a tensor of one; nothing for zero.
absl::StatusOr<std::optional<Tensor>> ReadFill(const KernelContext& context, DType dtype) {
  if (context.HasInput(2)) {
    const Tensor& fill = context.Input(2);
    if (fill.dtype() == dtype && fill.num_elements() == 1) return std::optional<Tensor>(fill);
    return ModelError("expected one ", DTypeName(dtype), " to pad with, found ", fill.TypeText());
  }
  const float value = GetFloat(context.node(), "value", 0);
  if (value == 0 || context.version() >= 11) return std::optional<Tensor>();
  AMP_ASSIGN_OR_RETURN(Tensor fill, Tensor::Create(dtype, {1}));
  const bool known = VisitFloats(dtype, [&]<typename T>(TypeTag<T>) {
    fill.mutable_elements<T>()[0] = FromDouble<T>(static_cast<double>(value));
  });
  if (!known) return context.TypeError(dtype);
  return std::optional<Tensor>(std::move(fill));
}

absl::Status Pad(KernelContext& context) {
  const Tensor& x = context.Input(0);
  AMP_ASSIGN_OR_RETURN(const Mode mode, ReadMode(context.node()));
  AMP_ASSIGN_OR_RETURN(const std::vector<AxisPads> pads, ReadPads(context, x));
  AMP_ASSIGN_OR_RETURN(const std::optional<Tensor> fill, ReadFill(context, x.dtype()));
  Dims dims;
  for (const AxisPads& axis : pads) {
    int64_t dim = 0;
    if (__builtin_add_overflow(axis.kept, axis.before + axis.after, &dim)) {
      return LimitError("expected pads that fit, found ", axis.before, " and ", axis.after, " around ", axis.kept);
    }
    dims.push_back(dim);
  }
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutput(0, x.dtype(), std::move(dims)));
  y->set_layout(x.layout());
  if (y->num_elements() == 0) return absl::OkStatus();
  std::vector<std::vector<int64_t>> picks;
  for (const AxisPads& axis : pads) {
    AMP_ASSIGN_OR_RETURN(std::vector<int64_t> picked, PicksOfAxis(axis, mode));
    picks.push_back(std::move(picked));
  }
  if (x.layout() == Layout::kChannelsLast) std::rotate(picks.begin() + 1, picks.begin() + 2, picks.end());
  Tensor in_memory = AsInMemory(*y);
  return CopyPicked(AsInMemory(x), picks, fill.has_value() ? &*fill : nullptr, in_memory);
}

constexpr KernelRow kRows[] = {{.op_type = "Pad", .function = Pad, .takes_channels_last = true}};

}  // namespace

absl::Span<const KernelRow> PadKernels() { return kRows; }

}  // namespace amp
