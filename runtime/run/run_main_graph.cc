#include "runtime/run/run_main_graph.h"

#include <algorithm>
#include <utility>

#include "ir/base/status.h"

namespace amp {
namespace {

// Copies the tensors of `datum` that lie in the arena to the heap.
absl::Status MoveOut(const Arena& arena, Datum& datum) {
  if (const Tensor* tensor = datum.tensor(); tensor != nullptr) {
    const bool is_own = tensor->dtype() == DType::kString || !tensor->IsOnHost();  // or left in the device's memory
    if (is_own || !arena.Owns(tensor->data())) return absl::OkStatus();
    AMP_ASSIGN_OR_RETURN(Tensor copy, Tensor::Create(tensor->dtype(), tensor->dims()));
    std::copy(tensor->bytes().begin(), tensor->bytes().end(), copy.mutable_bytes().begin());
    datum = Datum(std::move(copy));
  } else if (const Sequence* sequence = datum.sequence(); sequence != nullptr) {
    Sequence copy = *sequence;
    for (Datum& element : copy.elements) AMP_RETURN_IF_ERROR(MoveOut(arena, element));
    datum = Datum(std::move(copy));
  } else if (const Map* map = datum.map(); map != nullptr) {
    Datum keys(map->keys), values(map->values);
    AMP_RETURN_IF_ERROR(MoveOut(arena, keys));
    AMP_RETURN_IF_ERROR(MoveOut(arena, values));
    datum = Datum(Map{*keys.tensor(), *values.tensor()});
  }
  return absl::OkStatus();
}

}  // namespace

std::vector<int64_t> ShapeKey(const std::vector<Datum>& inputs) {
  std::vector<int64_t> key;
  for (const Datum& input : inputs) {
    const Tensor* tensor = input.tensor();
    key.push_back(tensor == nullptr ? -1 : static_cast<int64_t>(tensor->rank()));
    if (tensor != nullptr) key.insert(key.end(), tensor->dims().begin(), tensor->dims().end());
  }
  return key;
}

absl::StatusOr<std::vector<Datum>> RunMainGraph(Execution& execution, MainCall& call) {
  execution.Observe(call.options.observer);
  execution.Ask(call.options.may_go_on);
  execution.ShowTo(call.options.witness);
  execution.Time(call.options.timings);
  AMP_ASSIGN_OR_RETURN(std::vector<Datum> outputs, execution.Run(kMainGraph, std::move(call.inputs)));
  for (Datum& output : outputs) AMP_RETURN_IF_ERROR(MoveOut(call.arena, output));
  return outputs;
}

}  // namespace amp
