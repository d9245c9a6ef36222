#include "tools/c/values.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "ir/base/status.h"
#include "tools/c/context.h"

namespace amp {
namespace {

constexpr int32_t kMostDims = 1000;
constexpr int kMostNestedSequences = 64;

// Memory that is somebody else's.
class LentMemory : public TensorMemory {
 public:
  explicit LentMemory(const void* elements) : elements_(elements) {}
  // No tensor is the only owner, so that no run writes to the elements.
  std::shared_ptr<void> Allocate(size_t) override {
    thread_local const auto owner = std::make_shared<int>(0);
    return {owner, const_cast<void*>(elements_)};  // NOLINT: see above
  }

 private:
  const void* elements_;
};

absl::StatusOr<Dims> DimsOf(const AmpTensor& tensor) {
  if (tensor.rank < 0 || tensor.rank > kMostDims) {
    return UsageError("expected a rank from 0 to ", kMostDims, ", found ", tensor.rank);
  }
  if (tensor.rank > 0) AMP_RETURN_IF_ERROR(Expect("a shape", tensor.shape));
  Dims dims(tensor.shape, tensor.shape + tensor.rank);
  for (const int64_t dim : dims) {
    if (dim < 0) return UsageError("expected dimensions of at least 0, found ", dim);
  }
  return dims;
}

size_t BytesOfElement(DType dtype) { return dtype == DType::kString ? sizeof(AmpBytes) : ElementBytes(dtype); }

bool IsInOrder(const AmpTensor& tensor, const Dims& dims, size_t element_bytes) {
  if (tensor.strides == nullptr) return true;
  auto expected = static_cast<int64_t>(element_bytes);
  for (size_t axis = dims.size(); axis-- > 0;) {
    if (dims[axis] != 1 && tensor.strides[axis] != expected) return false;
    expected *= dims[axis];
  }
  return true;
}

// Calls `visit` with the address of each element in C order. REQUIRES: every dimension is 1 or more.
template <typename Visit>
void ForEachElement(const AmpTensor& tensor, const Dims& dims, size_t element_bytes, const Visit& visit) {
  std::vector<int64_t> strides(dims.size(), static_cast<int64_t>(element_bytes));
  for (size_t axis = dims.size(); axis-- > 0;) {
    if (tensor.strides != nullptr) {
      strides[axis] = tensor.strides[axis];
    } else if (axis + 1 < dims.size()) {
      strides[axis] = strides[axis + 1] * dims[axis + 1];
    }
  }
  std::vector<int64_t> at(dims.size(), 0);
  const auto* element = static_cast<const std::byte*>(tensor.data);
  while (true) {
    visit(element);
    size_t axis = dims.size();
    while (axis > 0) {
      --axis;
      element += strides[axis];
      if (++at[axis] < dims[axis]) break;
      element -= strides[axis] * dims[axis];
      at[axis] = 0;
      if (axis == 0) return;
    }
    if (dims.empty()) return;
  }
}

void CopyElements(const AmpTensor& from, Tensor& to) {
  const size_t element_bytes = BytesOfElement(to.dtype());
  if (to.dtype() == DType::kString) {
    auto string = to.mutable_elements<std::string>().begin();
    ForEachElement(from, to.dims(), element_bytes, [&](const std::byte* element) {
      AmpBytes bytes;
      std::memcpy(&bytes, element, sizeof bytes);
      *string++ = std::string(AsView(bytes));
    });
  } else if (IsInOrder(from, to.dims(), element_bytes)) {
    std::memcpy(to.mutable_data(), from.data, to.size_bytes());
  } else {
    auto* out = static_cast<std::byte*>(to.mutable_data());
    ForEachElement(from, to.dims(), element_bytes, [&](const std::byte* element) {
      std::memcpy(out, element, element_bytes);
      out += element_bytes;
    });
  }
}

absl::StatusOr<Tensor> CopyOf(const Tensor& tensor) {
  AMP_ASSIGN_OR_RETURN(Tensor copy, Tensor::Create(tensor.dtype(), tensor.dims()));
  if (tensor.num_elements() == 0) return copy;
  if (tensor.dtype() == DType::kString) {
    const auto from = tensor.elements<std::string>();
    std::copy(from.begin(), from.end(), copy.mutable_elements<std::string>().begin());
  } else {
    std::memcpy(copy.mutable_data(), tensor.data(), tensor.size_bytes());
  }
  return copy;
}

absl::StatusOr<Tensor> OwnTensor(Tensor tensor) {
  const bool is_shared = tensor.num_elements() > 0 && !tensor.IsOnlyOwner();
  return is_shared ? CopyOf(tensor) : absl::StatusOr<Tensor>(std::move(tensor));
}

absl::StatusOr<Datum> OwnDatum(Datum datum) {
  if (Tensor* const tensor = datum.mutable_tensor()) {
    AMP_ASSIGN_OR_RETURN(Tensor own, OwnTensor(std::move(*tensor)));
    return Datum(std::move(own));
  }
  if (const Map* const map = datum.map()) {
    Map own;
    AMP_ASSIGN_OR_RETURN(own.keys, CopyOf(map->keys));
    AMP_ASSIGN_OR_RETURN(own.values, CopyOf(map->values));
    return Datum(std::move(own));
  }
  const Sequence* const sequence = datum.sequence();
  if (sequence == nullptr) return datum;
  Sequence own;
  for (const Datum& element : sequence->elements) {
    AMP_ASSIGN_OR_RETURN(own.elements.emplace_back(), OwnDatum(element));
  }
  return Datum(std::move(own));
}

// Whether there is a place for just this tensor; then it is copied there.
bool CopyToPlace(const Datum& datum, const AmpTensor& place) {
  const Tensor* const tensor = datum.tensor();
  if (place.data == nullptr || tensor == nullptr || tensor->dtype() == DType::kString) return false;
  const bool fits = static_cast<int32_t>(tensor->dtype()) == place.dtype &&
                    static_cast<int32_t>(tensor->rank()) == place.rank &&
                    std::equal(tensor->dims().begin(), tensor->dims().end(), place.shape);
  if (!fits) return false;
  auto* const to = const_cast<void*>(place.data);  // NOLINT: the caller says that it is one to write to
  if (tensor->num_elements() > 0) std::memcpy(to, tensor->data(), tensor->size_bytes());
  return true;
}

absl::Status OfInput(const char* name, const absl::Status& status) {
  return {status.code(), absl::StrCat("input '", Escaped(name), "': ", status.message())};
}

}  // namespace

AmpKind KindOf(const Datum& datum) {
  return datum.tensor() != nullptr     ? AMP_TENSOR
         : datum.sequence() != nullptr ? AMP_SEQUENCE
         : datum.map() != nullptr      ? AMP_MAP
                                       : AMP_NOTHING;
}

AmpTensor ViewOf(const AmpValue& value) {
  const Tensor& tensor = *value.datum.tensor();
  const bool is_of_strings = tensor.dtype() == DType::kString;
  return {is_of_strings ? value.strings.data() : tensor.data(), tensor.dims().data(), nullptr,
          static_cast<int32_t>(tensor.dtype()), static_cast<int32_t>(tensor.rank())};
}

absl::StatusOr<Tensor> TensorOf(const AmpTensor& tensor, Elements elements) {
  if (tensor.dtype <= 0 || tensor.dtype >= kNumDTypes) {
    return UsageError("expected an element type from 1 to ", kNumDTypes - 1, ", found ", tensor.dtype);
  }
  const auto dtype = static_cast<DType>(tensor.dtype);
  AMP_ASSIGN_OR_RETURN(Dims dims, DimsOf(tensor));
  const size_t element_bytes = BytesOfElement(dtype);
  const bool is_aligned = reinterpret_cast<uintptr_t>(tensor.data) % element_bytes == 0;
  const bool is_lent = elements == Elements::kLend && dtype != DType::kString && is_aligned && tensor.data != nullptr &&
                       IsInOrder(tensor, dims, element_bytes);
  LentMemory lent(tensor.data);
  AMP_ASSIGN_OR_RETURN(Tensor made, Tensor::Create(dtype, std::move(dims), is_lent ? &lent : nullptr));
  if (is_lent || made.num_elements() == 0) return made;
  AMP_RETURN_IF_ERROR(Expect("elements", tensor.data));
  CopyElements(tensor, made);
  return made;
}

absl::StatusOr<NamedDatums> InputsOf(const AmpInput* inputs, size_t count, Elements elements) {
  if (count > 0) AMP_RETURN_IF_ERROR(Expect("inputs", inputs));
  NamedDatums datums;
  for (size_t i = 0; i < count; ++i) {
    const AmpInput& input = inputs[i];
    AMP_RETURN_IF_ERROR(Expect("the name of an input", input.name));
    Datum datum;
    if (input.value != nullptr) {
      datum = input.value->datum;
    } else {
      absl::StatusOr<Tensor> tensor = TensorOf(input.tensor, elements);
      if (!tensor.ok()) return OfInput(input.name, tensor.status());
      datum = *std::move(tensor);
    }
    if (!datums.emplace(input.name, std::move(datum)).second) {
      return UsageError("input '", Escaped(input.name), "': given twice");
    }
  }
  return datums;
}

absl::StatusOr<AmpValue*> NewValue(Datum datum) {
  AMP_ASSIGN_OR_RETURN(Datum own, OwnDatum(std::move(datum)));
  return new AmpValue(std::move(own));
}

absl::Status SetOutputs(absl::Span<Datum> datums, absl::Span<AmpOutput> outputs) {
  absl::InlinedVector<std::unique_ptr<AmpValue>, 4> values;
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (CopyToPlace(datums[i], outputs[i].tensor)) {
      values.push_back(nullptr);
      continue;
    }
    AMP_ASSIGN_OR_RETURN(AmpValue * value, NewValue(std::move(datums[i])));
    values.emplace_back(value);
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    AmpOutput& output = outputs[i];
    output.value = values[i].release();
    output.kind = output.value == nullptr ? AMP_PLACED : KindOf(output.value->datum);
    if (output.value == nullptr) continue;
    output.tensor = output.kind == AMP_TENSOR ? ViewOf(*output.value) : AmpTensor{};
  }
  return absl::OkStatus();
}

}  // namespace amp

AmpValue::AmpValue(amp::Datum content) : datum(std::move(content)) {
  const amp::Tensor* const tensor = datum.tensor();
  if (tensor == nullptr || tensor->dtype() != amp::DType::kString || tensor->num_elements() == 0) return;
  for (const std::string& string : tensor->elements<std::string>()) strings.push_back({string.data(), string.size()});
}

extern "C" {

AmpCode amp_value_of_tensor(AmpContext* context, const AmpTensor* tensor, AmpValue** value) {
  return amp::Call(context, [&]() -> absl::Status {
    AMP_RETURN_IF_ERROR(amp::Expect("a tensor", tensor));
    AMP_RETURN_IF_ERROR(amp::Expect("a place for the value", value));
    AMP_ASSIGN_OR_RETURN(amp::Tensor made, amp::TensorOf(*tensor, amp::Elements::kCopy));
    *value = new AmpValue(amp::Datum(std::move(made)));
    return absl::OkStatus();
  });
}

AmpCode amp_value_of_sequence(AmpContext* context, const AmpValue* const* elements, size_t size, AmpValue** value) {
  return amp::Call(context, [&]() -> absl::Status {
    if (size > 0) AMP_RETURN_IF_ERROR(amp::Expect("elements", elements));
    AMP_RETURN_IF_ERROR(amp::Expect("a place for the value", value));
    amp::Sequence sequence;
    int depth = 0;
    for (size_t i = 0; i < size; ++i) {
      AMP_RETURN_IF_ERROR(amp::Expect("an element", elements[i]));
      sequence.elements.push_back(elements[i]->datum);
      depth = std::max(depth, elements[i]->depth + 1);
    }
    if (depth > amp::kMostNestedSequences) {
      return amp::UsageError("expected sequences nested at most ", amp::kMostNestedSequences, " deep");
    }
    *value = new AmpValue(amp::Datum(std::move(sequence)));
    (*value)->depth = depth;
    return absl::OkStatus();
  });
}

AmpCode amp_value_of_map(AmpContext* context, const AmpValue* keys, const AmpValue* values, AmpValue** value) {
  return amp::Call(context, [&]() -> absl::Status {
    AMP_RETURN_IF_ERROR(amp::Expect("keys", keys));
    AMP_RETURN_IF_ERROR(amp::Expect("values", values));
    AMP_RETURN_IF_ERROR(amp::Expect("a place for the value", value));
    const amp::Tensor* const k = keys->datum.tensor();
    const amp::Tensor* const v = values->datum.tensor();
    const bool fits = k != nullptr && v != nullptr && k->rank() == 1 && v->rank() == 1 && k->dim(0) == v->dim(0) &&
                      (k->dtype() == amp::DType::kString || amp::VisitIntegers(k->dtype(), [](auto) {}));
    if (!fits) {
      return amp::UsageError("expected keys, integers or strings, and values of one length, found ",
                             keys->datum.TypeText(), " and ", values->datum.TypeText());
    }
    *value = new AmpValue(amp::Datum(amp::Map{*k, *v}));
    return absl::OkStatus();
  });
}

AmpCode amp_value_of_nothing(AmpContext* context, AmpValue** value) {
  return amp::Call(context, [&]() -> absl::Status {
    AMP_RETURN_IF_ERROR(amp::Expect("a place for the value", value));
    *value = new AmpValue(amp::Datum());
    return absl::OkStatus();
  });
}

AmpKind amp_value_kind(const AmpValue* value) { return value == nullptr ? AMP_NOTHING : amp::KindOf(value->datum); }

AmpCode amp_value_tensor(AmpContext* context, const AmpValue* value, AmpTensor* tensor) {
  return amp::Call(context, [&]() -> absl::Status {
    AMP_RETURN_IF_ERROR(amp::Expect("a value", value));
    AMP_RETURN_IF_ERROR(amp::Expect("a place for the tensor", tensor));
    if (value->datum.tensor() == nullptr) {
      return amp::UsageError("expected a tensor, found ", value->datum.TypeText());
    }
    *tensor = amp::ViewOf(*value);
    return absl::OkStatus();
  });
}

size_t amp_value_size(const AmpValue* value) {
  const amp::Sequence* const sequence = value == nullptr ? nullptr : value->datum.sequence();
  return sequence == nullptr ? 0 : sequence->elements.size();
}

AmpCode amp_value_element(AmpContext* context, const AmpValue* value, size_t at, AmpValue** element) {
  return amp::Call(context, [&]() -> absl::Status {
    AMP_RETURN_IF_ERROR(amp::Expect("a value", value));
    AMP_RETURN_IF_ERROR(amp::Expect("a place for the element", element));
    const amp::Sequence* const sequence = value->datum.sequence();
    const amp::Map* const map = value->datum.map();
    const size_t size = sequence != nullptr ? sequence->elements.size() : map != nullptr ? 2 : 0;
    if (at >= size) return amp::UsageError("expected an element of ", value->datum.TypeText(), ", found ", at);
    *element =
        new AmpValue(sequence != nullptr ? sequence->elements[at] : amp::Datum(at == 0 ? map->keys : map->values));
    return absl::OkStatus();
  });
}

void amp_value_free(AmpValue* value) { delete value; }

}  // extern "C"
