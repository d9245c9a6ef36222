// Windows that slide over images: what convolutions and pooling share.
//
//   input 5, pads (1, 1), kernel 3, stride 2:   . 0 1 2 3 4 .
//                                              |-----|          output 0: places -, 0, 1
//                                                  |-----|      output 1: places 1, 2, 3
//                                                      |-----|  output 2: places 3, 4, -
//
// The elements of a window are its taps, in row-major order of the kernel's axes; positions are the outputs', in
// row-major order; a place is the offset of an element within one image (one channel of one batch).
#ifndef AMP_RUNTIME_FORMS_WINDOW_H_
#define AMP_RUNTIME_FORMS_WINDOW_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ir/graph/graph.h"
#include "runtime/kernel/tensor.h"

namespace amp {

struct WindowAxis {
  int64_t input = 1, kernel = 1, stride = 1, dilation = 1, pad_begin = 0, pad_end = 0;
  int64_t output = 0;

  // From the first tap to the last one.
  int64_t Extent() const { return (kernel - 1) * dilation + 1; }
};
// One per spatial axis. Products of two of the numbers fit int64.
using Window = std::vector<WindowAxis>;

// Axes without their outputs, from `strides`, `dilations` and `pads`, where absent 1, 1 and 0. Errors: as many as there
// are axes expected; numbers out of range.
absl::StatusOr<Window> ReadWindow(const Node& node, absl::Span<const int64_t> input, absl::Span<const int64_t> kernel);
// The treatment of a window that is larger than the padded input. kCut: if it hangs over by less than a stride, it is
// cut off where the input ends, as ONNX's shape inference (whose division rounds towards zero) and ONNX Runtime do for
// pools. Before opset 19 the part that is cut off counts as padding.
enum class LargeWindow { kError, kCut };
// Reads the window's axes with their outputs. Pads follow `auto_pad` if it is SAME_UPPER, SAME_LOWER or VALID. With
// `ceil_mode` the last window may hang over the end, but not begin there. Errors: those of ReadWindow; a window larger
// than the padded input.
absl::StatusOr<Window> SlideWindow(const Node& node, absl::Span<const int64_t> input, absl::Span<const int64_t> kernel,
                                   LargeWindow large = LargeWindow::kError);
// Attribute `auto_pad`. Errors: another one than the schema knows.
absl::StatusOr<std::string> ReadAutoPad(const Node& node);

// The spatial dims of a tensor [N, C, ...]. REQUIRES: it has a rank of at least 2.
absl::Span<const int64_t> SpatialDims(const Tensor& x);
// [N, C, outputs of the axes].
Dims OutputDims(const Window& window, int64_t batch, int64_t channels);

// The numbers of taps and of positions. REQUIRES: at least one of each, and a tensor of that shape exists.
size_t NumTaps(const Window& window);
size_t NumPositions(const Window& window);

// The places of each tap's elements at positions [first, first + count), one row of `count` for each tap; -1: padding.
std::vector<int64_t> TapPlaces(const Window& window, size_t first, size_t count);

// Consecutive positions with the places within the image that each has.
struct WindowRun {
  size_t first = 0;             // position
  std::vector<size_t> ends;     // where the places of position first + i end
  std::vector<int64_t> places;  // of all, in a row
  std::vector<double> sizes;    // how many taps are within image or padding

  absl::Span<const int64_t> PlacesOf(size_t i) const;
};
// Visits all positions, as many at a time as make it cheap to go over several images for each run.
void VisitWindows(const Window& window, const std::function<void(const WindowRun&)>& visit);

}  // namespace amp

#endif  // AMP_RUNTIME_FORMS_WINDOW_H_
