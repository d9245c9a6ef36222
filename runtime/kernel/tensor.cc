#include "runtime/kernel/tensor.h"

#include <cstdlib>
#include <new>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ir/base/status.h"
#include "ir/file/tensor_view.h"

namespace amp {
namespace {

constexpr size_t kAlignment = 64;  // a cache line, and the widest vector register

std::string DimsText(const Dims& dims) { return absl::StrCat("[", absl::StrJoin(dims, ","), "]"); }

std::shared_ptr<void> AllocateBytes(size_t size_bytes, TensorMemory* memory) {
  if (memory != nullptr) return memory->Allocate(size_bytes);
  const size_t rounded = (size_bytes + kAlignment - 1) / kAlignment * kAlignment;
  return {std::aligned_alloc(kAlignment, rounded), std::free};
}

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
  tensor.data_ = dtype == DType::kString ? AllocateStrings(static_cast<size_t>(*count))
                                         : AllocateBytes(tensor.size_bytes(), memory);
  if (tensor.data_ == nullptr) return LimitError("out of memory for a tensor ", tensor.TypeText());
  return tensor;
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
  return result;
}

std::string Tensor::TypeText() const { return absl::StrCat(DTypeName(dtype_), DimsText(dims_)); }

Datum::Datum(Sequence sequence) : content_(std::make_shared<const Sequence>(std::move(sequence))) {}
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
