#include "passes/train/gradient/windows.h"

#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "ir/base/status.h"

namespace amp {
namespace {

constexpr int64_t kLargest = int64_t{1} << 20;     // of an attribute
constexpr int64_t kLargestDim = int64_t{1} << 40;  // products of both do not overflow

absl::StatusOr<Axes> Attribute(const Backward& node, absl::string_view name, size_t count, int64_t fallback,
                               int64_t least) {
  Axes values = node.Ints(name).value_or(Axes(count, fallback));
  const bool is_in_range =
      std::all_of(values.begin(), values.end(), [&](int64_t v) { return v >= least && v <= kLargest; });
  if (values.size() != count || !is_in_range) {
    return ModelError("attribute ", name, ": expected ", count, " numbers of at least ", least);
  }
  return values;
}

// The padding that ONNX adds altogether so that there is one result for every `stride` elements.
int64_t SamePad(const Windows& windows, size_t axis) {
  const int64_t stride = windows.strides[axis];
  if (stride == 1) return windows.Reach(axis) - 1;
  const int64_t results = (windows.sizes[axis] + stride - 1) / stride;
  return std::max<int64_t>((results - 1) * stride + windows.Reach(axis) - windows.sizes[axis], 0);
}

absl::Status ResolvePads(const Backward& node, Windows& windows) {
  const size_t count = windows.num_axes();
  const std::string mode = node.String("auto_pad", "NOTSET");
  if (mode == "NOTSET") {
    AMP_ASSIGN_OR_RETURN(const Axes pads, Attribute(node, "pads", 2 * count, 0, 0));
    windows.begin_pads.assign(pads.begin(), pads.begin() + static_cast<int64_t>(count));
    windows.end_pads.assign(pads.begin() + static_cast<int64_t>(count), pads.end());
    return absl::OkStatus();
  }
  windows.begin_pads = windows.end_pads = Axes(count, 0);
  if (mode == "VALID") return absl::OkStatus();
  for (size_t i = 0; i < count; ++i) {
    if (windows.strides[i] > 1 && windows.sizes[i] == kUnknownDim) {
      return Backward::Refuse("auto_pad with strides needs spatial dimensions that are known");
    }
    const int64_t pad = SamePad(windows, i);
    windows.begin_pads[i] = mode == "SAME_LOWER" ? pad - pad / 2 : pad / 2;
    windows.end_pads[i] = pad - windows.begin_pads[i];
  }
  return absl::OkStatus();
}

}  // namespace

Axes Windows::Pads() const {
  Axes pads = begin_pads;
  pads.insert(pads.end(), end_pads.begin(), end_pads.end());
  return pads;
}

absl::StatusOr<Windows> WindowsOf(const Backward& node, ValueId data, ValueId results, const Axes& kernel) {
  const auto before = node.Shape(data), after = node.Shape(results);
  if (!before.has_value() || before->size() != kernel.size() + 2) {
    return Backward::Refuse("the rank of its operand has to be known, and to fit its kernel");
  }
  if (std::any_of(kernel.begin(), kernel.end(), [](int64_t k) { return k < 1 || k > kLargest; })) {
    return Backward::Refuse("the size of its kernel has to be known");
  }
  Windows windows;
  const size_t count = kernel.size();
  windows.kernel = kernel;
  AMP_ASSIGN_OR_RETURN(windows.strides, Attribute(node, "strides", count, 1, 1));
  AMP_ASSIGN_OR_RETURN(windows.dilations, Attribute(node, "dilations", count, 1, 1));
  windows.sizes.assign(before->begin() + 2, before->end());
  windows.results = after.has_value() && after->size() == count + 2 ? Axes(after->begin() + 2, after->end())
                                                                    : Axes(count, kUnknownDim);
  const auto is_huge = [](int64_t dim) { return dim > kLargestDim; };
  if (std::any_of(windows.sizes.begin(), windows.sizes.end(), is_huge) ||
      std::any_of(windows.results.begin(), windows.results.end(), is_huge)) {
    return Backward::Refuse("its spatial dimensions are too large");
  }
  AMP_RETURN_IF_ERROR(ResolvePads(node, windows));
  for (size_t i = 0; i < count; ++i) {
    const bool are_known = windows.results[i] != kUnknownDim && windows.sizes[i] != kUnknownDim;
    const int64_t last = (windows.results[i] - 1) * windows.strides[i];
    if (node.Int("ceil_mode", 0) == 0 || !are_known || last < windows.sizes[i] + windows.begin_pads[i]) continue;
    return Backward::Refuse(
        "ceil_mode lets a window begin in the padding, which shape inference counts and runtimes do not");
  }
  return windows;
}

std::optional<Axes> ElementsBeyond(const Windows& windows) {
  Axes beyond(windows.num_axes(), 0);
  for (size_t i = 0; i < windows.num_axes(); ++i) {
    if (windows.strides[i] == 1) continue;
    const int64_t size = windows.sizes[i], results = windows.results[i];
    if (size == kUnknownDim || results == kUnknownDim) return std::nullopt;
    beyond[i] =
        size + windows.begin_pads[i] + windows.end_pads[i] - ((results - 1) * windows.strides[i] + windows.Reach(i));
  }
  return beyond;
}

Term SpreadWindows(Backward& node, const Term& g, const Term& w, const Windows& windows, int64_t group, ValueId like) {
  NewAttributes attributes = {{"strides", windows.strides},
                              {"dilations", windows.dilations},
                              {"group", group},
                              {"kernel_shape", windows.kernel}};
  if (const std::optional<Axes> beyond = ElementsBeyond(windows)) {
    attributes.emplace_back("pads", windows.Pads());
    attributes.emplace_back("output_padding", *beyond);
    return node.write().Op("ConvTranspose", {g, w}, attributes);
  }
  const Term whole = node.write().Op("ConvTranspose", {g, w}, attributes);
  const size_t rank = windows.num_axes() + 2;
  Axes pads(2 * rank, 0), axes, ends;
  for (size_t i = 0; i < windows.num_axes(); ++i) {
    pads[rank + 2 + i] = windows.strides[i] - 1;
    axes.push_back(static_cast<int64_t>(i) + 2);
  }
  const Term enough = node.write().Op("Pad", {whole, node.write().Integers(pads)});
  const Term starts = node.write().Integers(windows.begin_pads);
  const Term sizes = Slice(node.write().ShapeOf(like), {2}, {std::numeric_limits<int64_t>::max()}, {0});
  return node.write().Op("Slice", {enough, starts, starts + sizes, node.write().Integers(axes)});
}

}  // namespace amp
