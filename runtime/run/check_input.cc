#include "runtime/run/check_input.h"

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ir/base/status.h"
#include "ir/graph/shape.h"
#include "ir/graph/value_type.h"

namespace amp {
namespace {

template <typename... Words>
absl::Status Complaint(const Model& model, ValueId input, const Words&... words) {
  return UsageError("input '", Escaped(model.value(input).name), "': ", words...);
}

absl::Status CheckTensor(const Model& model, ValueId input, const Tensor& tensor) {
  const Value& value = model.value(input);
  const auto complain = [&] {
    return Complaint(model, input, "expected ", TypeText(model, input), ", found ", tensor.TypeText());
  };
  if (value.dtype != DType::kUndefined && tensor.dtype() != value.dtype) return complain();
  const std::optional<std::vector<int64_t>> dims = ShapeOf(model, input);
  if (!dims.has_value()) return absl::OkStatus();
  if (dims->size() != tensor.rank()) return complain();
  for (size_t i = 0; i < dims->size(); ++i) {
    if ((*dims)[i] != kUnknownDim && (*dims)[i] != tensor.dim(i)) return complain();
  }
  return absl::OkStatus();
}

// Returns an error for the first tensor in `datum` that Tensor::Of failed to make, or whose layout is neither row-major
// nor one that a run can convert. Channels-last tensors can be converted unless they are elements of a sequence.
absl::Status CheckSound(const Datum& datum, bool is_in_sequence = false) {
  if (const Tensor* tensor = datum.tensor(); tensor != nullptr) {
    AMP_RETURN_IF_ERROR(tensor->status());
    constexpr size_t kLeastForChannelsLast = 3, kMostElementBytes = 8;
    const bool can_turn = !is_in_sequence && tensor->rank() >= kLeastForChannelsLast &&
                          tensor->dtype() != DType::kString && ElementBytes(tensor->dtype()) <= kMostElementBytes;
    return tensor->layout() == Layout::kRowMajor || can_turn ? absl::OkStatus()
                                                             : UsageError("expected elements row by row");
  }
  if (const Sequence* sequence = datum.sequence(); sequence != nullptr) {
    for (const Datum& element : sequence->elements) AMP_RETURN_IF_ERROR(CheckSound(element, true));
  }
  if (const Map* map = datum.map(); map != nullptr) {
    AMP_RETURN_IF_ERROR(map->keys.status());
    return map->values.status();
  }
  return absl::OkStatus();
}

// Returns "" if the datum is of the type, else what was expected and found. Ignores shapes.
std::string Misfit(const ValueType& type, const Datum& datum) {
  const std::string found = absl::StrCat(", found ", datum.TypeText());
  switch (type.kind) {
    case ValueType::Kind::kUnknown:
      return "";
    case ValueType::Kind::kTensor:
      if (datum.tensor() == nullptr) return absl::StrCat("expected a tensor", found);
      if (type.dtype == DType::kUndefined || datum.tensor()->dtype() == type.dtype) return "";
      return absl::StrCat("expected ", DTypeName(type.dtype), found);
    case ValueType::Kind::kSequence:
      if (datum.sequence() == nullptr) return absl::StrCat("expected a sequence", found);
      for (const Datum& element : datum.sequence()->elements) {
        const std::string misfit = Misfit(type.inside[0], element);
        if (!misfit.empty()) return absl::StrCat("in the sequence: ", misfit);
      }
      return "";
    case ValueType::Kind::kOptional:
      return datum.IsEmpty() ? "" : Misfit(type.inside[0], datum);
    case ValueType::Kind::kMap:
      if (datum.map() == nullptr) return absl::StrCat("expected a map", found);
      if (datum.map()->keys.dtype() != type.dtype) {
        return absl::StrCat("expected keys ", DTypeName(type.dtype), ", found ", datum.map()->keys.TypeText());
      }
      return Misfit(type.inside[0], Datum(datum.map()->values));
  }
  return "";
}

}  // namespace

absl::Status CheckInput(const Model& model, ValueId input, const Datum& datum) {
  if (const absl::Status sound = CheckSound(datum); !sound.ok()) return Complaint(model, input, sound.message());
  const Value& value = model.value(input);
  if (value.is_tensor && datum.tensor() == nullptr) {
    return Complaint(model, input, "expected a tensor, found ", datum.TypeText());
  }
  if (value.is_tensor || value.type == nullptr) {
    return datum.tensor() == nullptr ? absl::OkStatus() : CheckTensor(model, input, *datum.tensor());
  }
  const std::string misfit = Misfit(TypeOf(model, input), datum);
  return misfit.empty() ? absl::OkStatus() : Complaint(model, input, misfit);
}

}  // namespace amp
