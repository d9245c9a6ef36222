#include "runtime/kernel/tensor.h"

#include <new>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ir/base/status.h"
#include "ir/file/tensor_view.h"
#include "runtime/kernel/host_memory.h"
#include "runtime/kernel/take_elements.h"

namespace amp {
namespace {

std::string DimsText(const Dims& dims) { return absl::StrCat("[", absl::StrJoin(dims, ","), "]"); }

std::shared_ptr<void> AllocateStrings(size_t count) {
  std::shared_ptr<std::string[]> strings(new (std::nothrow) std::string[count]);
  std::string* first = strings.get();
  return {std::move(strings), first};
}

}  // namespace

size_t ElementBytes(DType type) { return (static_cast<size_t>(BitsPerElement(type)) + 7) / 8; }

absl::StatusOr<Tensor> Tensor::Create(DType dtype, Dims dims, TensorMemory* memory) {
  if (dtype == DType::kUndefined) return ModelError("expected a tensor of some type, found none");
  const std::optional<int64_t> count = ElementCount(dims);
  for (const int64_t dim : dims) {
    if (dim < 0) return ModelError("expected dimensions of at least 0, found ", DimsText(dims));
  }
  if (!count.has_value() || *count > kMaxElements) {
    return LimitError("expected at most ", kMaxElements, " elements, found shape ", DimsText(dims));
  }
  Tensor tensor;
  tensor.dtype_ = dtype;
  tensor.dims_ = std::move(dims);
  tensor.num_elements_ = *count;
  if (*count == 0) return tensor;
  if (dtype == DType::kString) {
    tensor.data_ = AllocateStrings(static_cast<size_t>(*count));
  } else if (memory == nullptr) {
    tensor.data_ = AllocateHostMemory(tensor.size_bytes());
  } else {
    tensor.data_ = memory->Allocate(tensor.size_bytes());
    tensor.mover_ = memory->mover();
  }
  if (tensor.data_ == nullptr) {
    const char* const where = tensor.IsOnHost() ? "" : "the device is ";
    return LimitError(where, "out of memory for a tensor ", tensor.TypeText());
  }
  return tensor;
}

Tensor Tensor::ForElements(DType dtype, const Dims& dims, size_t count, bool is_string, size_t element_bytes) {
  absl::StatusOr<Tensor> made = Create(dtype, dims);
  const bool has_room_for_all = ElementCount(dims) == static_cast<int64_t>(count);
  if (!made.ok() && absl::IsResourceExhausted(made.status()) && has_room_for_all) throw std::bad_alloc();
  absl::Status status;
  if (!made.ok()) {
    status = UsageError(made.status().message());
  } else if (!has_room_for_all) {
    status = UsageError("expected ", made->num_elements(), " elements of ", made->TypeText(), ", found ", count);
  } else {
    status = made->CheckReadableAs(is_string, element_bytes);
  }
  if (status.ok()) return *std::move(made);
  Tensor failed;
  failed.data_ = std::make_shared<absl::Status>(std::move(status));
  return failed;
}

absl::Status Tensor::status() const {
  const bool has_failed = dtype_ == DType::kUndefined && data_ != nullptr;
  return has_failed ? *static_cast<const absl::Status*>(data_.get()) : absl::OkStatus();
}

absl::Status Tensor::CheckReadableAs(bool is_string, size_t element_bytes) const {
  AMP_RETURN_IF_ERROR(status());
  if (!IsOnHost()) return UsageError("expected elements that the processor sees, found ", TypeText(), " on a device");
  if (num_elements_ == 0) return absl::OkStatus();
  if (is_string ? dtype_ == DType::kString : dtype_ != DType::kString && element_bytes == ElementBytes(dtype_)) {
    return absl::OkStatus();
  }
  const std::string found = is_string ? "strings" : absl::StrCat("elements of ", element_bytes, " bytes each");
  return UsageError("expected elements as ", DTypeName(dtype_), " has them, found ", found);
}

Tensor Tensor::OfInts(absl::Span<const int64_t> elements) {
  return Of<int64_t>(DType::kInt64, {static_cast<int64_t>(elements.size())}, elements);
}
Tensor Tensor::Scalar(int64_t value) { return Of<int64_t>(DType::kInt64, {}, {value}); }
Tensor Tensor::Scalar(float value) { return Of<float>(DType::kFloat32, {}, {value}); }
Tensor Tensor::Scalar(bool value) { return Of<bool>(DType::kBool, {}, {value}); }

Tensor Tensor::Reshaped(Dims dims) const {
  AMP_CHECK(ElementCount(dims) == num_elements_);
  Tensor result = *this;
  result.dims_ = std::move(dims);
  return result;
}

Tensor Tensor::Reinterpreted(DType dtype) const {
  AMP_CHECK(ElementBytes(dtype) == ElementBytes(dtype_));
  Tensor result = *this;
  result.dtype_ = dtype;
  result.magnitude_bound_ = kUnbounded;
  return result;
}

std::string Tensor::TypeText() const { return absl::StrCat(DTypeName(dtype_), DimsText(dims_)); }

Datum::Datum(Sequence sequence) : content_(MakeSharedSequence(std::move(sequence))) {}
Datum::Datum(Map map) : content_(std::make_shared<const Map>(std::move(map))) {}

const Sequence* Datum::sequence() const {
  const auto* content = std::get_if<std::shared_ptr<const Sequence>>(&content_);
  return content == nullptr ? nullptr : content->get();
}

const Map* Datum::map() const {
  const auto* content = std::get_if<std::shared_ptr<const Map>>(&content_);
  return content == nullptr ? nullptr : content->get();
}

std::string Datum::TypeText() const {
  if (tensor() != nullptr) return tensor()->TypeText();
  if (sequence() != nullptr) return absl::StrCat("sequence of ", sequence()->elements.size());
  if (map() != nullptr) return absl::StrCat("map of ", map()->keys.num_elements());
  return "nothing";
}

}  // namespace amp
