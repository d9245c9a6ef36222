// Optimizer steps, learning rates, checks whether gradients are finite, and updates of the loss scale.
#ifndef AMP_RUNTIME_DEVICE_RAW_OPTIMIZER_H_
#define AMP_RUNTIME_DEVICE_RAW_OPTIMIZER_H_

#include <cmath>
#include <cstdint>

#include "runtime/device/raw/element.h"
#include "runtime/device/raw/kernels.h"
#include "runtime/device/raw/pack.h"

namespace amp::device {

// ---- the step of weights --------------------------------------------------------------------------------------------

enum class Optimizer : int32_t { kSgd, kMomentum, kNesterov, kRmsprop, kAdam };

// The settings that all tensors of one launch share.
struct OptimizerRule {
  Optimizer optimizer;
  float keep_first, keep_second, epsilon;
  float decay;                 // of weights, for a learning rate of 1
  const float* rate;           // one number
  const float* learning_rate;  // one number; null: weights do not decay
  const uint8_t* applies;      // whether there is a step at all; null: true
};

// A tensor of weights, all float32. The next values may be stored where the present ones are.
struct OptimizedTensor {
  const float *weight, *gradient, *slots[2];  // null: a slot that the optimizer does not have
  float *next_weight, *next_slots[2];         // null: there is no such slot, or nobody reads it
  uint32_t count, first_chunk;
};

inline constexpr uint32_t kOptimizedChunk = 4096;    // elements of a tensor that a block of threads updates
inline constexpr size_t kMostParameterBytes = 4096;  // of a kernel, on every device
inline constexpr size_t kBytesBesideTensors = 64;    // for the rule and for what the runner adds
inline constexpr uint32_t kMostOptimized = static_cast<uint32_t>(
    (kMostParameterBytes - sizeof(OptimizerRule) - kBytesBesideTensors) / sizeof(OptimizedTensor));

// The tensors' chunks, numbered one tensor after another: [0 .. 4095] [4096 .. 8191] [8192 .. 9999] [0 .. 9] ...
struct OptimizeArguments {
  static constexpr Kernel kKernel = Kernel::kOptimize;
  OptimizerRule rule;
  uint32_t num_tensors, num_chunks;
  OptimizedTensor tensors[kMostOptimized];

  // REQUIRES: there are fewer than kMostOptimized tensors; the count is above 0.
  void Add(OptimizedTensor tensor) {
    tensor.first_chunk = num_chunks;
    num_chunks += (tensor.count - 1) / kOptimizedChunk + 1;
    tensors[num_tensors++] = tensor;
  }
};
static_assert(sizeof(OptimizeArguments) + kBytesBesideTensors / 2 <= kMostParameterBytes);

struct OptimizeBody {
  OptimizeArguments step;

  // Returns the tensor that contains the chunk: the last one that begins at the chunk or before it.
  AMP_BOTH uint32_t Find(uint32_t chunk) const {
    uint32_t first = 0, end = step.num_tensors;
    while (end - first > 1) {
      const uint32_t middle = (first + end) / 2;
      step.tensors[middle].first_chunk <= chunk ? first = middle : end = middle;
    }
    return first;
  }

  AMP_BOTH void Move(float rate, float gradient, float& weight, float& first, float& second) const {
    const float keep = step.rule.keep_first;
    switch (step.rule.optimizer) {
      case Optimizer::kSgd:
        weight -= gradient * rate;
        return;
      case Optimizer::kMomentum:
        first = first * keep - gradient * rate;
        weight += first;
        return;
      case Optimizer::kNesterov:
        first = first * keep - gradient * rate;
        weight += first * keep - gradient * rate;
        return;
      case Optimizer::kRmsprop:
        first = first * keep + gradient * gradient * (1 - keep);
        weight -= gradient * rate / sqrtf(first + step.rule.epsilon);
        return;
      case Optimizer::kAdam:
        first += (gradient - first) * (1 - keep);
        second += (gradient * gradient - second) * (1 - step.rule.keep_second);
        if (step.rule.learning_rate != nullptr) weight -= weight * (step.rule.decay * *step.rule.learning_rate);
        weight -= first * rate / (sqrtf(second) + step.rule.epsilon);
        return;
    }
  }

  template <typename Team>
  AMP_BOTH void operator()(uint32_t chunk, const Team& team) const {
    const OptimizedTensor& of = step.tensors[Find(chunk)];
    const uint32_t begin = (chunk - of.first_chunk) * kOptimizedChunk;
    const uint32_t rest = of.count - begin;
    const bool applies = step.rule.applies == nullptr || *step.rule.applies != 0;
    const float rate = *step.rule.rate;
    team.ForEach(rest < kOptimizedChunk ? rest : kOptimizedChunk, [&](uint32_t offset) {
      const uint32_t i = begin + offset;
      float weight = of.weight[i], slots[2] = {};
      for (int slot = 0; slot < 2; ++slot) {
        if (of.slots[slot] != nullptr) slots[slot] = of.slots[slot][i];
      }
      if (applies) Move(rate, of.gradient[i], weight, slots[0], slots[1]);
      of.next_weight[i] = weight;
      for (int slot = 0; slot < 2; ++slot) {
        if (of.next_slots[slot] != nullptr) of.next_slots[slot][i] = slots[slot];
      }
    });
  }
};

template <typename Runner>
int Start(Runner& runner, const OptimizeArguments& step) {
  return runner.ForRows(step.num_chunks, OptimizeBody{step}, kOptimizedChunk);
}

// Computes rate = learning_rate * sqrt(1 - beta2^t) / (1 - beta1^t) for update t, in float64, as the powers are nearly
// 1.
struct AdamRateArguments {
  static constexpr Kernel kKernel = Kernel::kAdamRate;
  const float* learning_rate;
  const int64_t* updates;  // before this one
  float* rate;
  float beta1, beta2;
};

AMP_BOTH inline float AdamRate(float learning_rate, int64_t updates, float beta1, float beta2) {
  const double count = static_cast<double>(updates) + 1;
  const double first = 1 - pow(static_cast<double>(beta1), count), second = 1 - pow(static_cast<double>(beta2), count);
  return static_cast<float>(static_cast<double>(learning_rate) * (sqrt(second) / first));
}

struct AdamRateBody {
  AdamRateArguments of;
  AMP_BOTH void operator()(uint32_t) const { *of.rate = AdamRate(*of.learning_rate, *of.updates, of.beta1, of.beta2); }
};

template <typename Runner>
int Start(Runner& runner, const AdamRateArguments& of) {
  return runner.ForEach(1, AdamRateBody{of});
}

// ---- the scale of a loss --------------------------------------------------------------------------------------------

struct CheckFiniteArguments {
  static constexpr Kernel kKernel = Kernel::kCheckFinite;
  const float* x;
  uint8_t* finite;  // one truth value
  uint32_t count;
};

struct SetTrueBody {
  uint8_t* truth;
  AMP_BOTH void operator()(uint32_t) const { *truth = 1; }
};

// Threads that find an infinity or NaN all store the same 0. Exactly these have all bits of the exponent set.
struct CheckFiniteBody {
  CheckFiniteArguments check;
  bool has_packs;
  AMP_BOTH void operator()(uint32_t pack) const {
    constexpr uint32_t kExponent = 0x7f800000u;
    float x[kPack];
    LoadPackOf<float>(check.x, {pack * kPack, check.count}, has_packs, x);
    bool is_finite = true;
    for (const float each : x) is_finite &= (BitsOf(each) & kExponent) != kExponent;
    if (!is_finite) *check.finite = 0;
  }
};

template <typename Runner>
int Start(Runner& runner, const CheckFiniteArguments& check) {
  if (const int error = runner.ForEach(1, SetTrueBody{check.finite}); error != 0) return error;
  return runner.ForEach(NumPacks(check.count), CheckFiniteBody{check, TakesPacks(check.x)});
}

// Updates as many scales as there are elements, each by its own count of steps.
struct UpdateLossScaleArguments {
  static constexpr Kernel kKernel = Kernel::kUpdateLossScale;
  const float* scale;
  const int64_t* good_steps;
  const uint8_t* finite;
  float* next_scale;
  int64_t* next_good_steps;
  uint32_t count;
  int64_t interval;
  float growth, backoff, floor, cap;
};

struct UpdateLossScaleBody {
  UpdateLossScaleArguments update;
  AMP_BOTH void operator()(uint32_t i) const {
    float scale = update.scale[i];
    int64_t good_steps = 0;
    if (update.finite[i] == 0) {
      const float smaller = scale * update.backoff;
      scale = smaller < update.floor ? update.floor : smaller;
    } else if (update.good_steps[i] + 1 < update.interval) {
      good_steps = update.good_steps[i] + 1;
    } else if (scale * update.growth <= update.cap) {
      scale *= update.growth;
    }
    update.next_scale[i] = scale;
    update.next_good_steps[i] = good_steps;
  }
};

template <typename Runner>
int Start(Runner& runner, const UpdateLossScaleArguments& update) {
  return runner.ForEach(update.count, UpdateLossScaleBody{update});
}

}  // namespace amp::device

#endif  // AMP_RUNTIME_DEVICE_RAW_OPTIMIZER_H_
