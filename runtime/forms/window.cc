#include "runtime/forms/window.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "ir/base/status.h"
#include "ir/graph/attributes.h"
#include "runtime/kernel/shape_math.h"

namespace amp {
namespace {

constexpr int64_t kLargest = int64_t{1} << 31;  // of any number here

// Attribute `name` with `count` numbers in [least, kLargest); `fallback` for each where it is absent or empty.
absl::StatusOr<std::vector<int64_t>> ReadNumbers(const Node& node, absl::string_view name, size_t count,
                                                 int64_t fallback) {
  const std::optional<std::vector<int64_t>> given = GetInts(node, name);
  if (!given.has_value() || given->empty()) return std::vector<int64_t>(count, fallback);
  if (given->size() != count) return ModelError(name, ": expected ", count, " numbers, found ", given->size());
  for (const int64_t number : *given) {
    if (number < fallback || number >= kLargest) {
      return ModelError(name, ": expected numbers in [", fallback, ", ", kLargest, "), found ", number);
    }
  }
  return *given;
}

int64_t FloorDivide(int64_t a, int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

absl::Status SetOutput(bool ceil, LargeWindow large, WindowAxis& axis) {
  const int64_t rest = axis.input + axis.pad_begin + axis.pad_end - axis.Extent();
  axis.output = FloorDivide(ceil ? rest + axis.stride - 1 : rest, axis.stride) + 1;
  if (ceil && (axis.output - 1) * axis.stride >= axis.input + axis.pad_begin) --axis.output;
  if (axis.output >= 1) return absl::OkStatus();
  if (axis.input == 0) {
    axis.output = 0;
    return absl::OkStatus();
  }
  if (large == LargeWindow::kCut && -rest < axis.stride) {
    axis.output = 1;
    return absl::OkStatus();
  }
  return ModelError("expected a window within ", axis.input, " elements and pads of ", axis.pad_begin, " and ",
                    axis.pad_end, ", found one of ", axis.Extent());
}

void PadToSame(bool more_at_end, WindowAxis& axis) {
  axis.output = (axis.input + axis.stride - 1) / axis.stride;
  const int64_t total = std::max<int64_t>(0, (axis.output - 1) * axis.stride + axis.Extent() - axis.input);
  axis.pad_begin = more_at_end ? total / 2 : total - total / 2;
  axis.pad_end = total - axis.pad_begin;
}

// Taps [begin, end) of an axis whose window begins at `start` and that lie in [from, to).
struct TapRange {
  int64_t begin, end;
  int64_t size() const { return std::max<int64_t>(0, end - begin); }
};
TapRange TapsWithin(const WindowAxis& axis, int64_t start, int64_t from, int64_t to) {
  const auto taps_before = [&](int64_t coordinate) {
    return std::clamp<int64_t>(FloorDivide(coordinate - start + axis.dilation - 1, axis.dilation), 0, axis.kernel);
  };
  return {taps_before(from), taps_before(to)};
}

Dims Outputs(const Window& window) {
  Dims result;
  for (const WindowAxis& axis : window) result.push_back(axis.output);
  return result;
}

Dims Inputs(const Window& window) {
  Dims result;
  for (const WindowAxis& axis : window) result.push_back(axis.input);
  return result;
}

// Index of a position, or of a tap.
Dims IndexOf(size_t position, absl::Span<const int64_t> dims) {
  Dims index(dims.size());
  auto rest = static_cast<int64_t>(position);
  for (size_t i = dims.size(); i-- > 0; rest /= dims[i]) index[i] = rest % dims[i];
  return index;
}

// Appends the places of the window at `index`.
void AddPlaces(const Window& window, const Dims& index, WindowRun& run) {
  const Dims strides = RowStrides(Inputs(window));
  std::vector<TapRange> ranges;
  bool empty = false;
  double size = 1;
  for (size_t i = 0; i < window.size(); ++i) {
    const WindowAxis& axis = window[i];
    const int64_t begin = index[i] * axis.stride - axis.pad_begin;
    ranges.push_back(TapsWithin(axis, begin, 0, axis.input));
    empty = empty || ranges.back().size() == 0;
    size *= static_cast<double>(TapsWithin(axis, begin, -axis.pad_begin, axis.input + axis.pad_end).size());
  }
  if (!empty) {
    Dims counts, steps;
    int64_t start = 0;
    for (size_t i = 0; i < window.size(); ++i) {
      const WindowAxis& axis = window[i];
      counts.push_back(ranges[i].size());
      steps.push_back(axis.dilation * strides[i]);
      start += (index[i] * axis.stride - axis.pad_begin + ranges[i].begin * axis.dilation) * strides[i];
    }
    StridedWalk walk(counts, {steps});
    walk.Start(0, start);
    for (; !walk.AtEnd(); walk.Next()) run.places.push_back(static_cast<int64_t>(walk[0]));
  }
  run.ends.push_back(run.places.size());
  run.sizes.push_back(size);
}

}  // namespace

absl::StatusOr<std::string> ReadAutoPad(const Node& node) {
  std::string result = GetString(node, "auto_pad", "NOTSET");
  if (result.empty()) result = "NOTSET";
  for (const absl::string_view known : {"NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"}) {
    if (result == known) return result;
  }
  return ModelError("auto_pad: expected NOTSET, SAME_UPPER, SAME_LOWER or VALID, found ", Escaped(result));
}

absl::StatusOr<Window> ReadWindow(const Node& node, absl::Span<const int64_t> input, absl::Span<const int64_t> kernel) {
  const size_t rank = input.size();
  if (kernel.size() != rank) return ModelError("expected a kernel of ", rank, " axes, found ", DimsText(kernel));
  AMP_ASSIGN_OR_RETURN(const std::vector<int64_t> strides, ReadNumbers(node, "strides", rank, 1));
  AMP_ASSIGN_OR_RETURN(const std::vector<int64_t> dilations, ReadNumbers(node, "dilations", rank, 1));
  AMP_ASSIGN_OR_RETURN(const std::vector<int64_t> pads, ReadNumbers(node, "pads", 2 * rank, 0));
  Window window;
  for (size_t i = 0; i < rank; ++i) {
    if (kernel[i] < 1 || kernel[i] >= kLargest || input[i] >= kLargest) {
      return ModelError("expected a kernel of at least 1 in each axis, found ", DimsText(kernel), " over ",
                        DimsText(input));
    }
    window.push_back({input[i], kernel[i], strides[i], dilations[i], pads[i], pads[rank + i]});
  }
  return window;
}

absl::StatusOr<Window> SlideWindow(const Node& node, absl::Span<const int64_t> input, absl::Span<const int64_t> kernel,
                                   LargeWindow large) {
  AMP_ASSIGN_OR_RETURN(Window window, ReadWindow(node, input, kernel));
  AMP_ASSIGN_OR_RETURN(const std::string auto_pad, ReadAutoPad(node));
  const bool ceil = GetInt(node, "ceil_mode", 0) != 0 && auto_pad == "NOTSET";
  for (WindowAxis& axis : window) {
    if (auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER") {
      PadToSame(auto_pad == "SAME_UPPER", axis);
      continue;
    }
    if (auto_pad == "VALID") axis.pad_begin = axis.pad_end = 0;
    AMP_RETURN_IF_ERROR(SetOutput(ceil, large, axis));
  }
  return window;
}

absl::Span<const int64_t> SpatialDims(const Tensor& x) { return absl::MakeConstSpan(x.dims()).subspan(2); }

Dims OutputDims(const Window& window, int64_t batch, int64_t channels) {
  Dims dims = Outputs(window);
  dims.insert(dims.begin(), {batch, channels});
  return dims;
}

size_t NumTaps(const Window& window) {
  size_t result = 1;
  for (const WindowAxis& axis : window) result *= static_cast<size_t>(axis.kernel);
  return result;
}

size_t NumPositions(const Window& window) {
  size_t result = 1;
  for (const WindowAxis& axis : window) result *= static_cast<size_t>(axis.output);
  return result;
}

std::vector<int64_t> TapPlaces(const Window& window, size_t first, size_t count) {
  const size_t rank = window.size(), taps = NumTaps(window);
  const Dims outputs = Outputs(window), strides = RowStrides(Inputs(window));
  Dims kernel;
  for (const WindowAxis& axis : window) kernel.push_back(axis.kernel);
  std::vector<int64_t> starts;  // coordinates of the windows
  for (size_t i = 0; i < count; ++i) {
    const Dims index = IndexOf(first + i, outputs);
    for (size_t j = 0; j < rank; ++j) starts.push_back(index[j] * window[j].stride - window[j].pad_begin);
  }
  std::vector<int64_t> places(taps * count, -1);
  for (size_t tap = 0; tap < taps; ++tap) {
    const Dims index = IndexOf(tap, kernel);
    for (size_t i = 0; i < count; ++i) {
      int64_t place = 0;
      bool inside = true;
      for (size_t j = 0; j < rank; ++j) {
        const int64_t coordinate = starts[i * rank + j] + index[j] * window[j].dilation;
        inside = inside && coordinate >= 0 && coordinate < window[j].input;
        place += inside ? coordinate * strides[j] : 0;
      }
      if (inside) places[tap * count + i] = place;
    }
  }
  return places;
}

absl::Span<const int64_t> WindowRun::PlacesOf(size_t i) const {
  const size_t begin = i == 0 ? 0 : ends[i - 1];
  return absl::MakeConstSpan(places).subspan(begin, ends[i] - begin);
}

void VisitWindows(const Window& window, const std::function<void(const WindowRun&)>& visit) {
  constexpr size_t kPlacesPerRun = size_t{1} << 16;
  const Dims outputs = Outputs(window);
  const size_t positions = NumPositions(window);
  WindowRun run;
  for (size_t position = 0; position < positions; ++position) {
    AddPlaces(window, IndexOf(position, outputs), run);
    if (run.places.size() + run.ends.size() < kPlacesPerRun && position + 1 < positions) continue;
    visit(run);
    run = WindowRun();
    run.first = position + 1;
  }
}

}  // namespace amp
