// A step of a recurrent layer after its products: computes gates, the new state and the output.
#ifndef AMP_RUNTIME_DEVICE_RAW_RECURRENT_H_
#define AMP_RUNTIME_DEVICE_RAW_RECURRENT_H_

#include <cmath>
#include <cstdint>

#include "runtime/device/raw/element.h"
#include "runtime/device/raw/functions.h"
#include "runtime/device/raw/kernels.h"

namespace amp::device {

// The gates are i, o, f, c for LSTM, and z, r, h for GRU. kGru multiplies the hidden state with the weights of h and
// then resets the product; kGruResetFirst resets the hidden state first.
enum class RecurrentCell : int32_t { kLstm, kGru, kGruResetFirst };

// All states are [batch, hidden]. The products have the gates one after another in each row. Only LSTM has a cell
// state. If a sequence has ended, its states stay.
struct RecurrentStepArguments {
  static constexpr Kernel kKernel = Kernel::kRecurrentStep;
  const float *of_input, *of_hidden;  // products [batch, gates * hidden]; of_hidden null: zeros
  const float* of_reset;              // kGruResetFirst: the product for gate h, which of_hidden lacks; null: zeros
  const void* bias;                   // [2, gates * hidden], for input and hidden state; null: zeros
  const void* hidden_before;          // null: zeros
  const void* cell_before;            // null: zeros
  void* hidden_now;                   // may be hidden_before
  void* given;  // the output: the hidden state while the sequence runs, then 0; null: nobody reads it
  float* cell_now;
  void *last_hidden,
      *last_cell;        // outputs after the last step; null: this is not the last step, or nobody reads them
  Storage storage;       // of bias, hidden states and outputs
  Storage cell_storage;  // of cell_before
  uint32_t count, hidden;
  RecurrentCell cell;
  const int32_t* lengths;  // of the sequences; null: none ends early
  int32_t position;        // of the step in the sequences
};

struct RecurrentStepBody {
  RecurrentStepArguments step;

  AMP_BOTH uint32_t Gates() const { return step.cell == RecurrentCell::kLstm ? 4 : 3; }
  AMP_BOTH float BiasOf(uint32_t half, uint32_t gate, uint32_t unit) const {
    if (step.bias == nullptr) return 0;
    return LoadFloat(step.bias, step.storage, (static_cast<int64_t>(half) * Gates() + gate) * step.hidden + unit);
  }
  AMP_BOTH float OfInput(uint32_t row, uint32_t gate, uint32_t unit) const {
    return step.of_input[(static_cast<int64_t>(row) * Gates() + gate) * step.hidden + unit] + BiasOf(0, gate, unit);
  }
  AMP_BOTH float OfHidden(uint32_t row, uint32_t gate, uint32_t unit) const {
    const bool resets_first = step.cell == RecurrentCell::kGruResetFirst, is_reset = resets_first && gate == 2;
    const float* const product = is_reset ? step.of_reset : step.of_hidden;
    const uint32_t products = is_reset ? 1 : resets_first ? 2 : Gates();
    const int64_t at = (static_cast<int64_t>(row) * products + (is_reset ? 0 : gate)) * step.hidden + unit;
    return (product == nullptr ? 0 : product[at]) + BiasOf(1, gate, unit);
  }
  AMP_BOTH float Gate(uint32_t row, uint32_t gate, uint32_t unit) const {
    return Sigmoid(OfInput(row, gate, unit) + OfHidden(row, gate, unit));
  }

  AMP_BOTH bool IsRunning(uint32_t row) const { return step.lengths == nullptr || step.position < step.lengths[row]; }
  AMP_BOTH float HiddenBefore(uint32_t i) const {
    return step.hidden_before == nullptr ? 0 : LoadFloat(step.hidden_before, step.storage, i);
  }

  AMP_BOTH float Lstm(uint32_t i, uint32_t row, uint32_t unit) const {
    const float before = step.cell_before == nullptr ? 0 : LoadFloat(step.cell_before, step.cell_storage, i);
    const float fresh = tanhf(OfInput(row, 3, unit) + OfHidden(row, 3, unit));
    const float cell = IsRunning(row) ? Gate(row, 2, unit) * before + Gate(row, 0, unit) * fresh : before;
    step.cell_now[i] = cell;
    if (step.last_cell != nullptr) StoreFloat(step.last_cell, step.storage, i, cell);
    return Gate(row, 1, unit) * tanhf(cell);
  }

  AMP_BOTH float Gru(uint32_t i, uint32_t row, uint32_t unit) const {
    const float update = Gate(row, 0, unit);
    const float reset = step.cell == RecurrentCell::kGru ? Gate(row, 1, unit) : 1;
    const float fresh = tanhf(OfInput(row, 2, unit) + reset * OfHidden(row, 2, unit));
    return (1 - update) * fresh + update * HiddenBefore(i);
  }

  AMP_BOTH void operator()(uint32_t i) const {
    const uint32_t row = i / step.hidden, unit = i % step.hidden;
    const float computed = step.cell == RecurrentCell::kLstm ? Lstm(i, row, unit) : Gru(i, row, unit);
    const float hidden = IsRunning(row) ? computed : HiddenBefore(i);
    StoreFloat(step.hidden_now, step.storage, i, hidden);
    if (step.given != nullptr) StoreFloat(step.given, step.storage, i, IsRunning(row) ? hidden : 0);
    if (step.last_hidden != nullptr) StoreFloat(step.last_hidden, step.storage, i, hidden);
  }
};

template <typename Runner>
int Start(Runner& runner, const RecurrentStepArguments& step) {
  return runner.ForEach(step.count, RecurrentStepBody{step});
}

// Computes reset = r * hidden_before, ahead of a step of kGruResetFirst; it is multiplied with the weights of gate h.
struct ResetHiddenArguments {
  static constexpr Kernel kKernel = Kernel::kResetHidden;
  RecurrentStepArguments step;
  void* reset;  // [batch, hidden]
};

struct ResetHiddenBody {
  ResetHiddenArguments arguments;

  AMP_BOTH void operator()(uint32_t i) const {
    const RecurrentStepBody body{arguments.step};
    const uint32_t row = i / arguments.step.hidden, unit = i % arguments.step.hidden;
    StoreFloat(arguments.reset, arguments.step.storage, i, body.Gate(row, 1, unit) * body.HiddenBefore(i));
  }
};

template <typename Runner>
int Start(Runner& runner, const ResetHiddenArguments& reset) {
  return runner.ForEach(reset.step.count, ResetHiddenBody{reset});
}

}  // namespace amp::device

#endif  // AMP_RUNTIME_DEVICE_RAW_RECURRENT_H_
