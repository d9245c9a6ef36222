#include "runtime/cuda/cudnn_floors.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

namespace amp::cuda {
namespace {

std::string WhyNot(size_t version, size_t least, const char* what) {
  if (version >= least) return "";
  return "cuDNN " + CudnnVersionText(version) + " is too old" + what + ": expected " + CudnnVersionText(least) +
         " or newer";
}

// Whether the memory of the heads [batch, heads, rows, columns] has gaps: elements between theirs that are not theirs.
bool HasGaps(const device::HeadSteps& heads, const std::array<int64_t, 4>& dims) {
  std::array<std::pair<int64_t, int64_t>, 4> axes;  // stride and length of each axis, later sorted from the inside out
  for (size_t i = 0; i < axes.size(); ++i) axes[i] = {heads.steps[i], dims[i]};
  std::sort(axes.begin(), axes.end());
  int64_t elements = 1;
  for (const auto& [step, count] : axes) {
    if (count == 1) continue;
    if (step != elements) return true;
    elements *= count;
  }
  return false;
}

}  // namespace

std::string CudnnVersionText(size_t version) {
  constexpr size_t kMajor = 10000, kMinor = 100;
  return std::to_string(version / kMajor) + "." + std::to_string(version % kMajor / kMinor) + "." +
         std::to_string(version % kMinor);
}

std::string WhyTooOld(size_t version) { return WhyNot(version, kLeastCudnn, ""); }

std::string WhyTooOld(const device::LibraryConvolution& convolution, size_t version) {
  const bool is_depthwise = convolution.groups > 1 && convolution.groups == convolution.channels;
  return is_depthwise ? WhyNot(version, kLeastCudnnForDepthwise, " for depthwise convolutions") : "";
}

std::string WhyTooOld(const device::LibraryAttention& a, size_t version) {
  const bool has_gaps = HasGaps(a.q_steps, {a.batch, a.heads, a.queries, a.size}) ||
                        HasGaps(a.k_steps, {a.batch, a.key_heads, a.keys, a.size}) ||
                        HasGaps(a.v_steps, {a.batch, a.key_heads, a.keys, a.value_size}) ||
                        HasGaps(a.y_steps, {a.batch, a.heads, a.queries, a.value_size});
  std::string why_not = WhyNot(version, kLeastCudnnForAttention, " for attention");
  if (!why_not.empty() || !has_gaps) return why_not;
  return WhyNot(version, kLeastCudnnForGaps, " for attention to parts of tensors");
}

}  // namespace amp::cuda
