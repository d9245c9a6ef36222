// Tensors [N, C, ...] of either layout with numbers for each channel, stretch by stretch.
//
//   row-major        a stretch is a part of one channel of one sample
//   channels-last    all channels in turn, as often as makes a stretch worth a call
//
// Numbers of channels are held as often as a stretch of the layout needs them: Repeat and Fold.
#ifndef AMP_RUNTIME_LOOPS_CHANNEL_STRETCHES_H_
#define AMP_RUNTIME_LOOPS_CHANNEL_STRETCHES_H_

#include <cstddef>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "runtime/kernel/tensor.h"
#include "runtime/loops/raw/loops.h"

namespace amp {

class ChannelStretches {
 public:
  // REQUIRES: there are elements; the tensor outlives this.
  ChannelStretches(const Loops& loops, const Tensor& x);

  struct Stretch {
    size_t first, count;  // elements in memory
    size_t at;            // of its first element in what Repeat gives
  };
  void ForEach(absl::FunctionRef<void(const Stretch&)> visit) const;
  // Visits the stretches with the threads of the run; `buffer` has room for the longest stretch.
  void ForEachTogether(absl::FunctionRef<void(const Stretch&, float* buffer)> visit) const;
  size_t longest() const { return longest_; }
  size_t elements_of_channel() const { return num_elements_ / channels_; }

  std::vector<float> Repeat(absl::Span<const double> of_channels) const;
  std::vector<double> Fold(absl::Span<const double> sums) const;
  size_t num_repeated() const { return has_all_channels_ ? longest_ : channels_; }

  // y = (x - centre) * factor + shift and sums += x, with what Repeat gives; sums as long as that.
  struct Affines {
    std::vector<float> centre, factor, shift;
  };
  void Transform(const Stretch& stretch, const float* x, float* y, const Affines& affines) const;
  void AddTo(const Stretch& stretch, const float* x, std::vector<double>& sums) const;

 private:
  const Loops& loops_;
  size_t channels_, num_elements_, pixels_;
  bool has_all_channels_;
  size_t longest_;
};

// The moments of every channel over batch and space.
struct ChannelMoments {
  std::vector<double> mean, variance;
};
// `x`: float32, float16 or bfloat16 of either layout. REQUIRES: there are elements.
ChannelMoments MomentsOfChannels(const Loops& loops, const Tensor& x);

}  // namespace amp

#endif  // AMP_RUNTIME_LOOPS_CHANNEL_STRETCHES_H_
