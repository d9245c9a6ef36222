// Cross-entropies of training and their gradients, with one team of threads per row of logits.
#ifndef AMP_RUNTIME_DEVICE_RAW_LOSS_H_
#define AMP_RUNTIME_DEVICE_RAW_LOSS_H_

#include <cmath>
#include <cstdint>

#include "runtime/device/raw/element.h"
#include "runtime/device/raw/kernels.h"

namespace amp::device {

inline constexpr uint32_t kBitsOfNan = 0x7fc00000u;

// Rows of logits [rows, classes] and their wanted classes: one class each, or a target for each class.
struct Classification {
  const void *logits, *wanted;
  Storage logits_storage, wanted_storage;
  uint32_t rows, classes;
  bool has_labels;  // [rows], of floats or integers; else targets [rows, classes]

  AMP_BOTH float LogitAt(uint32_t row, uint32_t i) const {
    return LoadFloat(logits, logits_storage, static_cast<int64_t>(row) * classes + i);
  }
  AMP_BOTH float TargetAt(uint32_t row, uint32_t i) const {
    return LoadFloat(wanted, wanted_storage, static_cast<int64_t>(row) * classes + i);
  }
  // Returns the label truncated to an integer; below 0 if it is no class.
  AMP_BOTH int64_t LabelOf(uint32_t row) const {
    if (IsFloat(wanted_storage)) {
      const float label = truncf(LoadFloat(wanted, wanted_storage, row));
      return label >= 0 && label < static_cast<float>(classes) ? static_cast<int64_t>(label) : -1;
    }
    const int64_t label = LoadInteger(wanted, wanted_storage, row);
    return label < classes ? label : -1;
  }
};

// Computes -sum(target * log_p) of each row; NaN if the label is no class.
struct CrossEntropyArguments {
  static constexpr Kernel kKernel = Kernel::kCrossEntropy;
  Classification of;
  float* losses;  // by row
};

struct CrossEntropyBody {
  CrossEntropyArguments entropy;

  template <typename Team>
  AMP_BOTH void operator()(uint32_t row, Team& team) const {
    const Classification& of = entropy.of;
    const float largest = team.Max(of.classes, [=, this](uint32_t i) { return entropy.of.LogitAt(row, i); });
    const float log_sum =
        logf(team.Sum(of.classes, [=, this](uint32_t i) { return expf(entropy.of.LogitAt(row, i) - largest); }));
    if (of.has_labels) {
      const int64_t label = of.LabelOf(row);
      if (!team.IsFirst()) return;
      entropy.losses[row] =
          label < 0 ? FloatOf(kBitsOfNan) : log_sum - (of.LogitAt(row, static_cast<uint32_t>(label)) - largest);
      return;
    }
    const float loss = team.Sum(of.classes, [=, this](uint32_t i) {
      const float target = entropy.of.TargetAt(row, i);
      return target == 0 ? 0.0f : target * (log_sum - (entropy.of.LogitAt(row, i) - largest));
    });
    if (team.IsFirst()) entropy.losses[row] = loss;
  }
};

template <typename Runner>
int Start(Runner& runner, const CrossEntropyArguments& entropy) {
  return runner.ForRows(entropy.of.rows, CrossEntropyBody{entropy}, entropy.of.classes);
}

// Computes (p * sum(target) - target) * g / rows for each element.
struct CrossEntropyGradientArguments {
  static constexpr Kernel kKernel = Kernel::kCrossEntropyGradient;
  Classification of;
  const void* g;  // one number
  Storage g_storage;
  float* gradient;
};

struct CrossEntropyGradientBody {
  CrossEntropyGradientArguments entropy;

  template <typename Team>
  AMP_BOTH void operator()(uint32_t row, Team& team) const {
    const Classification& of = entropy.of;
    const float share = LoadFloat(entropy.g, entropy.g_storage, 0) / static_cast<float>(of.rows);
    const float largest = team.Max(of.classes, [=, this](uint32_t i) { return entropy.of.LogitAt(row, i); });
    const float sum =
        team.Sum(of.classes, [=, this](uint32_t i) { return expf(entropy.of.LogitAt(row, i) - largest); });
    const float factor = 1 / sum;
    float* const gradient = entropy.gradient + static_cast<int64_t>(row) * of.classes;
    if (of.has_labels) {
      const int64_t label = of.LabelOf(row);
      const float otherwise = label < 0 ? FloatOf(kBitsOfNan) : 0;
      team.ForEach(of.classes, [=, this](uint32_t i) {
        const float target = i == label ? 1.0f : otherwise;
        gradient[i] = (expf(entropy.of.LogitAt(row, i) - largest) * factor - target) * share;
      });
      return;
    }
    const float weight = team.Sum(of.classes, [=, this](uint32_t i) { return entropy.of.TargetAt(row, i); });
    team.ForEach(of.classes, [=, this](uint32_t i) {
      const float p = expf(entropy.of.LogitAt(row, i) - largest) * factor;
      gradient[i] = (p * weight - entropy.of.TargetAt(row, i)) * share;
    });
  }
};

template <typename Runner>
int Start(Runner& runner, const CrossEntropyGradientArguments& entropy) {
  return runner.ForRows(entropy.of.rows, CrossEntropyGradientBody{entropy}, entropy.of.classes);
}

}  // namespace amp::device

#endif  // AMP_RUNTIME_DEVICE_RAW_LOSS_H_
