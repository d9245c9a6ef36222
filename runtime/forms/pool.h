// The windows that pools and the gradients of pools slide over their images.
#ifndef AMP_RUNTIME_FORMS_POOL_H_
#define AMP_RUNTIME_FORMS_POOL_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ir/graph/graph.h"
#include "runtime/forms/window.h"

namespace amp {

struct PoolForm {
  Window window;
  bool counts_padding = false;     // a mean is over the padding too
  bool counts_by_columns = false;  // indices of largest elements count as if the last axis came first
};

// `spatial`: dims of the images. Errors: those of SlideWindow.
absl::StatusOr<PoolForm> ReadPool(const Node& node, absl::Span<const int64_t> spatial,
                                  LargeWindow large = LargeWindow::kError);

// The window of ai.amp's AveragePoolGradient, whose outputs are those of g [N, C, ...]; `x` has the shape of the pool's
// input. Errors: those of ReadWindow. REQUIRES: both have as many dims, at least 3.
absl::StatusOr<Window> ReadAveragedWindow(const Node& node, absl::Span<const int64_t> x, absl::Span<const int64_t> g);

// Whether images are [N, ..., C], for com.microsoft's pools of quantised numbers: attribute `channels_last`.
bool HasChannelsLast(const Node& node);

}  // namespace amp

#endif  // AMP_RUNTIME_FORMS_POOL_H_
