#include "runtime/forms/pool.h"

#include <vector>

#include "ir/base/status.h"
#include "ir/graph/attributes.h"

namespace amp {
namespace {

std::vector<int64_t> KernelOf(const Node& node) {
  return GetInts(node, "kernel_shape").value_or(std::vector<int64_t>());
}

}  // namespace

absl::StatusOr<PoolForm> ReadPool(const Node& node, absl::Span<const int64_t> spatial, LargeWindow large) {
  PoolForm form;
  AMP_ASSIGN_OR_RETURN(form.window, SlideWindow(node, spatial, KernelOf(node), large));
  form.counts_padding = GetInt(node, "count_include_pad", 0) != 0;
  form.counts_by_columns = GetInt(node, "storage_order", 0) != 0;
  return form;
}

absl::StatusOr<Window> ReadAveragedWindow(const Node& node, absl::Span<const int64_t> x, absl::Span<const int64_t> g) {
  AMP_ASSIGN_OR_RETURN(Window window, ReadWindow(node, x.subspan(2), KernelOf(node)));
  for (size_t i = 0; i < window.size(); ++i) window[i].output = g[2 + i];
  return window;
}

bool HasChannelsLast(const Node& node) { return GetInt(node, "channels_last", 0) != 0; }

}  // namespace amp
