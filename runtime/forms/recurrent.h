// The attributes of RNN, GRU and LSTM, and the lengths of their sequences.
#ifndef AMP_RUNTIME_FORMS_RECURRENT_H_
#define AMP_RUNTIME_FORMS_RECURRENT_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/forms/recurrent_activations.h"
#include "runtime/kernel/kernel.h"

namespace amp {

enum class RecurrentCellKind { kRnn, kGru, kLstm };

// 1, 3, 4
int64_t NumGates(RecurrentCellKind kind);

struct RecurrentForm {
  int64_t num_directions = 1;
  bool starts_reversed = false;  // the first direction begins at the end of the sequences; a second one always does
  bool batch_first = false;      // X is [batch, steps, input], Y and the states likewise; else steps come first
  bool linear_before_reset = false, input_forget = false;
  std::optional<double> clip;
  std::optional<int64_t> hidden_size;            // as stated
  std::vector<RecurrentActivation> activations;  // of all directions
  bool has_usual_activations = true;             // the defaults of the operator, without parameters
};

// Errors: kDataLoss, an attribute that the operator does not know the value of.
absl::StatusOr<RecurrentForm> ReadRecurrent(const Node& node, RecurrentCellKind kind);

// Returns the length of each sequence of the batch, from input sequence_lens; without that input each is `num_steps`.
// Errors: kDataLoss, another number of lengths than sequences, or a length beyond the steps.
absl::StatusOr<std::vector<int64_t>> ReadSequenceLengths(const KernelContext& context, int64_t num_steps,
                                                         int64_t batch);

}  // namespace amp

#endif  // AMP_RUNTIME_FORMS_RECURRENT_H_
