// Steps of optimizers, and whether gradients are finite.
#include "runtime/loops/raw/lanes.h"
#include "runtime/loops/raw/loops.h"

namespace amp::AMP_LOOPS_ISA {

extern const TrainLoops kTrain;

namespace {

// `of` changes a weight and what is kept for it by its gradient.
template <size_t kSlots, typename Of>
[[gnu::flatten, gnu::noinline]] void Update(const OptimizerTensors& t, size_t count, Of of) {
  size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    Floats weight = Load(t.weight + i), slots[2] = {};
    for (size_t s = 0; s < kSlots; ++s) slots[s] = Load(t.slots[s] + i);
    of(weight, Load(t.gradient + i), slots);
    Store(weight, t.next_weight + i);
    for (size_t s = 0; s < kSlots; ++s) Store(slots[s], t.next_slots[s] + i);
  }
  if (i == count) return;
  const size_t rest = count - i;
  Floats weight = LoadFew(t.weight + i, rest), slots[2] = {};
  for (size_t s = 0; s < kSlots; ++s) slots[s] = LoadFew(t.slots[s] + i, rest);
  of(weight, LoadFew(t.gradient + i, rest), slots);
  __builtin_memcpy(t.next_weight + i, &weight, rest * sizeof(float));
  for (size_t s = 0; s < kSlots; ++s) __builtin_memcpy(t.next_slots[s] + i, &slots[s], rest * sizeof(float));
}

void Sgd(const OptimizerTensors& tensors, size_t count, OptimizerParameters p) {
  Update<0>(tensors, count, [p](Floats& weight, Floats gradient, Floats*) { weight -= gradient * p.rate; });
}

void Momentum(const OptimizerTensors& tensors, size_t count, OptimizerParameters p) {
  Update<1>(tensors, count, [p](Floats& weight, Floats gradient, Floats* slots) {
    slots[0] = slots[0] * p.keep_first - gradient * p.rate;
    weight += slots[0];
  });
}

void Nesterov(const OptimizerTensors& tensors, size_t count, OptimizerParameters p) {
  Update<1>(tensors, count, [p](Floats& weight, Floats gradient, Floats* slots) {
    const Floats step = gradient * p.rate;
    slots[0] = slots[0] * p.keep_first - step;
    weight += slots[0] * p.keep_first - step;
  });
}

void Rmsprop(const OptimizerTensors& tensors, size_t count, OptimizerParameters p) {
  const float take = 1 - p.keep_first;
  Update<1>(tensors, count, [p, take](Floats& weight, Floats gradient, Floats* slots) {
    slots[0] = slots[0] * p.keep_first + gradient * gradient * take;
    weight -= gradient * p.rate / Sqrt(slots[0] + p.epsilon);
  });
}

void Adam(const OptimizerTensors& tensors, size_t count, OptimizerParameters p) {
  const float take_first = 1 - p.keep_first, take_second = 1 - p.keep_second;
  Update<2>(tensors, count, [=](Floats& weight, Floats gradient, Floats* slots) {
    slots[0] += (gradient - slots[0]) * take_first;
    slots[1] += (gradient * gradient - slots[1]) * take_second;
    weight -= weight * p.decay;
    weight -= slots[0] * p.rate / (Sqrt(slots[1]) + p.epsilon);
  });
}

// All bits of the exponent are set in infinities and NaN, and in nothing else.
[[gnu::flatten]] bool AllFinite(const float* x, size_t count) {
  Ints found = {};
  size_t i = 0;
  const auto note = [&](Floats v) { found |= (Bits<Words>(v) & 0x7f800000u) == (Words{} + 0x7f800000u); };
  for (; i + kLanes <= count; i += kLanes) note(Load(x + i));
  if (i < count) note(LoadFew(x + i, count - i));
  int any = 0;
  for (size_t lane = 0; lane < kLanes; ++lane) any |= found[lane];
  return any == 0;
}

}  // namespace

const TrainLoops kTrain = {
    .sgd = Sgd, .momentum = Momentum, .nesterov = Nesterov, .rmsprop = Rmsprop, .adam = Adam, .all_finite = AllFinite};

}  // namespace amp::AMP_LOOPS_ISA
