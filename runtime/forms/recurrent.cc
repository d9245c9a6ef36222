#include "runtime/forms/recurrent.h"

#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "ir/base/status.h"
#include "ir/graph/attributes.h"

namespace amp {
namespace {

// The default activations of one direction.
absl::Span<const absl::string_view> UsualActivations(RecurrentCellKind kind) {
  static constexpr absl::string_view kRnn[] = {"Tanh"};
  static constexpr absl::string_view kGru[] = {"Sigmoid", "Tanh"};
  static constexpr absl::string_view kLstm[] = {"Sigmoid", "Tanh", "Tanh"};
  switch (kind) {
    case RecurrentCellKind::kRnn:
      return kRnn;
    case RecurrentCellKind::kGru:
      return kGru;
    case RecurrentCellKind::kLstm:
      return kLstm;
  }
  return {};
}

// Whether the names that are stated are these, as often as there are directions or more.
bool AreUsual(const Node& node, absl::Span<const absl::string_view> usual) {
  const auto stated = GetStrings(node, "activations");
  if (!stated.has_value()) return true;
  for (size_t i = 0; i < stated->size(); ++i) {
    if ((*stated)[i] != usual[i % usual.size()]) return false;
  }
  return stated->size() % usual.size() == 0;
}

// "foward" is the default that GRU's first version states.
absl::Status ReadDirection(const Node& node, RecurrentForm& form) {
  const std::string direction = GetString(node, "direction", "forward");
  form.num_directions = direction == "bidirectional" ? 2 : 1;
  form.starts_reversed = direction == "reverse";
  if (direction == "bidirectional" || direction == "reverse" || direction == "forward" || direction == "foward") {
    return absl::OkStatus();
  }
  return ModelError("expected direction forward, reverse or bidirectional, found '", Escaped(direction), "'");
}

}  // namespace

int64_t NumGates(RecurrentCellKind kind) {
  switch (kind) {
    case RecurrentCellKind::kRnn:
      return 1;
    case RecurrentCellKind::kGru:
      return 3;
    case RecurrentCellKind::kLstm:
      return 4;
  }
  return 0;
}

absl::StatusOr<RecurrentForm> ReadRecurrent(const Node& node, RecurrentCellKind kind) {
  RecurrentForm form;
  form.batch_first = GetInt(node, "layout", 0) == 1;
  form.linear_before_reset = GetInt(node, "linear_before_reset", 0) != 0;
  form.input_forget = GetInt(node, "input_forget", 0) != 0;
  if (const auto clip = GetFloat(node, "clip")) {
    if (!(*clip >= 0)) return ModelError("expected a clip of at least 0, found ", *clip);
    form.clip = *clip;
  }
  if (HasAttribute(node, "hidden_size")) form.hidden_size = GetInt(node, "hidden_size", 0);
  AMP_RETURN_IF_ERROR(ReadDirection(node, form));
  const absl::Span<const absl::string_view> usual = UsualActivations(kind);
  AMP_ASSIGN_OR_RETURN(form.activations, ReadActivations(node, static_cast<size_t>(form.num_directions), usual));
  form.has_usual_activations = AreUsual(node, usual);
  return form;
}

absl::StatusOr<std::vector<int64_t>> ReadSequenceLengths(const KernelContext& context, int64_t num_steps,
                                                         int64_t batch) {
  constexpr size_t kLengths = 4;
  if (!context.HasInput(kLengths)) return std::vector<int64_t>(static_cast<size_t>(batch), num_steps);
  AMP_ASSIGN_OR_RETURN(std::vector<int64_t> lengths, context.InputInts(kLengths));
  if (static_cast<int64_t>(lengths.size()) != batch) {
    return ModelError("sequence_lens: expected ", batch, " lengths, found ", lengths.size());
  }
  for (const int64_t length : lengths) {
    if (length < 0 || length > num_steps) {
      return ModelError("sequence_lens: expected lengths in [0, ", num_steps, "], found ", length);
    }
  }
  return lengths;
}

}  // namespace amp
