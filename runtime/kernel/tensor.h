// Values at run time: tensors, and the sequences, maps and optionals that ONNX has beside them.
//
//   AMP_ASSIGN_OR_RETURN(Tensor y, Tensor::Create(DType::kFloat32, {2, 3}));
//   absl::Span<float> elements = y.mutable_elements<float>();
//
// A tensor's elements lie row by row, without gaps, unless its layout says otherwise; see runtime/kernel/element.h for
// their C++ types. Copies share the elements, and whoever made a tensor is the only one who writes to it, before it is
// copied. Elements may be in the memory of a device, where only kernels for that device see them.
#ifndef AMP_RUNTIME_KERNEL_TENSOR_H_
#define AMP_RUNTIME_KERNEL_TENSOR_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ir/base/check.h"
#include "ir/base/dtype.h"
#include "runtime/kernel/element.h"

namespace amp {

using Dims = std::vector<int64_t>;

// The largest number of elements of one tensor.
inline constexpr int64_t kMaxElements = int64_t{1} << 31;

// In what order the elements of a tensor [N, C, ...] lie: kChannelsLast is that of [N, ..., C], whatever the dims say.
// Only kernels that ask for it ever see it.
enum class Layout : uint8_t { kRowMajor, kChannelsLast };

class ElementMover;

// Where the elements of tensors come from; the heap, if nobody says otherwise.
class TensorMemory {
 public:
  virtual ~TensorMemory() = default;
  // Aligned for every use; not initialised. Null when there is none.
  virtual std::shared_ptr<void> Allocate(size_t size_bytes) = 0;
  virtual size_t alignment() const { return 64; }
  // Returns the mover of elements in the memory of a device (runtime/kernel/element_mover.h); null: the processor's
  // own.
  virtual ElementMover* mover() { return nullptr; }
};

class Tensor {
 public:
  static constexpr float kUnbounded = std::numeric_limits<float>::infinity();

  Tensor() = default;  // of type kUndefined, without elements

  // Elements are not initialised (strings are empty). Errors: kDataLoss (a negative dimension, kUndefined),
  // kResourceExhausted (more than kMaxElements, or more than there is memory).
  static absl::StatusOr<Tensor> Create(DType dtype, Dims dims, TensorMemory* memory = nullptr);
  // From elements that are at hand: as many as the dims say, of `dtype` as C++ has it. Where they are not, the tensor
  // holds nothing but that error, which status() tells, and whatever is given the tensor: Session::Run, Trainer::Step,
  // Trainer::SetState. Throws std::bad_alloc where there is no memory, as the containers of the standard library do.
  template <typename T>
  static Tensor Of(DType dtype, const Dims& dims, absl::Span<const T> elements);
  // kInvalidArgument for what Of could not make; else OK.
  absl::Status status() const;
  static Tensor OfInts(absl::Span<const int64_t> elements);  // int64[n]
  static Tensor Scalar(int64_t value);
  static Tensor Scalar(float value);
  static Tensor Scalar(bool value);

  DType dtype() const { return dtype_; }
  Layout layout() const { return layout_; }
  void set_layout(Layout layout) { layout_ = layout; }
  // Where the elements are: the same for copies. Null where there are none.
  const void* data() const { return data_.get(); }
  void* mutable_data() {
    if (magnitude_bound_ < kUnbounded) magnitude_bound_ = kUnbounded;  // else several threads may ask at once
    return data_.get();
  }
  // No element is larger than this, and none is NaN; kUnbounded: nothing is known of them. Whoever writes elements
  // through this tensor makes it unknown.
  float magnitude_bound() const { return magnitude_bound_; }
  void set_magnitude_bound(float bound) { magnitude_bound_ = bound; }
  // Returns the mover of the memory that the elements are in. Code that looks at elements needs them in the processor's
  // memory.
  ElementMover* mover() const { return mover_; }
  bool IsOnHost() const { return mover_ == nullptr; }
  // Whether nobody else has these elements, so that who holds the tensor may write to them.
  bool IsOnlyOwner() const { return data_.use_count() == 1; }
  const Dims& dims() const { return dims_; }
  size_t rank() const { return dims_.size(); }
  int64_t dim(size_t axis) const { return dims_[axis]; }
  int64_t num_elements() const { return num_elements_; }
  size_t size_bytes() const { return static_cast<size_t>(num_elements_) * ElementBytes(dtype_); }

  // The elements, for programs that do not know what a model gives. Errors: kInvalidArgument where T is not what an
  // element of dtype() is in C++, or the elements are in the memory of a device.
  template <typename T>
  absl::StatusOr<absl::Span<const T>> ElementsAs() const {
    if (absl::Status readable = CheckReadableAs(kIsString<T>, sizeof(T)); !readable.ok()) return readable;
    return absl::Span<const T>(static_cast<const T*>(data_.get()), static_cast<size_t>(num_elements_));
  }

  // ---- for who knows the type: the process ends where what is required does not hold.
  // REQUIRES of all that follow: IsOnHost().
  // REQUIRES: T takes as many bytes as an element of dtype(), and is std::string for strings.
  template <typename T>
  absl::Span<const T> elements() const {
    CheckStoredAs<T>();
    return absl::Span<const T>(static_cast<const T*>(data_.get()), static_cast<size_t>(num_elements_));
  }
  template <typename T>
  absl::Span<T> mutable_elements() {
    CheckStoredAs<T>();
    return absl::Span<T>(static_cast<T*>(mutable_data()), static_cast<size_t>(num_elements_));
  }
  // The real and imaginary parts of complex elements in turn. REQUIRES: T is their type.
  template <typename T>
  absl::Span<const T> Parts() const {
    AMP_CHECK(IsOnHost() && (num_elements_ == 0 || 2 * sizeof(T) == ElementBytes(dtype_)));
    return absl::Span<const T>(static_cast<const T*>(data_.get()), 2 * static_cast<size_t>(num_elements_));
  }
  // REQUIRES: no strings.
  absl::Span<const std::byte> bytes() const {
    AMP_CHECK(IsOnHost() && dtype_ != DType::kString);
    return absl::Span<const std::byte>(static_cast<const std::byte*>(data_.get()), size_bytes());
  }
  absl::Span<std::byte> mutable_bytes() {
    AMP_CHECK(IsOnHost() && dtype_ != DType::kString);
    return absl::Span<std::byte>(static_cast<std::byte*>(mutable_data()), size_bytes());
  }

  // Returns the elements under other dims, or as another type of the same size. REQUIRES: as many elements, or bytes.
  Tensor Reshaped(Dims dims) const;
  Tensor Reinterpreted(DType dtype) const;

  std::string TypeText() const;  // "float32[2,3]"

 private:
  template <typename T>
  static constexpr bool kIsString = std::is_same_v<T, std::string>;
  template <typename T>
  void CheckStoredAs() const {
    AMP_CHECK(IsOnHost());
    AMP_CHECK(num_elements_ == 0 || (kIsString<T> ? dtype_ == DType::kString : sizeof(T) == ElementBytes(dtype_)));
  }
  absl::Status CheckReadableAs(bool is_string, size_t element_bytes) const;
  // With room for `count` elements; or the error, and room for none.
  static Tensor ForElements(DType dtype, const Dims& dims, size_t count, bool is_string, size_t element_bytes);

  DType dtype_ = DType::kUndefined;
  Layout layout_ = Layout::kRowMajor;
  float magnitude_bound_ = kUnbounded;
  Dims dims_ = {0};
  int64_t num_elements_ = 0;
  std::shared_ptr<void> data_;  // of type kUndefined: the error, if there is one
  ElementMover* mover_ = nullptr;
};

class Datum;
struct Sequence {
  std::vector<Datum> elements;
};
struct Map {
  Tensor keys, values;  // [n] each; keys are integers or strings
};

// A tensor, sequence or map, or nothing: an empty optional.
class Datum {
 public:
  Datum() = default;
  Datum(Tensor tensor) : content_(std::move(tensor)) {}  // NOLINT(google-explicit-constructor): a tensor is one
  Datum(Sequence sequence);                              // NOLINT(google-explicit-constructor)
  Datum(Map map);                                        // NOLINT(google-explicit-constructor)

  bool IsEmpty() const { return std::holds_alternative<std::monostate>(content_); }
  // Null when it is something else.
  const Tensor* tensor() const { return std::get_if<Tensor>(&content_); }
  Tensor* mutable_tensor() { return std::get_if<Tensor>(&content_); }
  const Sequence* sequence() const;
  const Map* map() const;

  std::string TypeText() const;  // "float32[2,3]", "sequence of 3", "map of 2", "nothing"

 private:
  std::variant<std::monostate, Tensor, std::shared_ptr<const Sequence>, std::shared_ptr<const Map>> content_;
};

template <typename T>
Tensor Tensor::Of(DType dtype, const Dims& dims, absl::Span<const T> elements) {
  Tensor tensor = ForElements(dtype, dims, elements.size(), kIsString<T>, sizeof(T));
  if (tensor.num_elements_ > 0) std::copy(elements.begin(), elements.end(), tensor.mutable_elements<T>().begin());
  return tensor;
}

}  // namespace amp

#endif  // AMP_RUNTIME_KERNEL_TENSOR_H_
