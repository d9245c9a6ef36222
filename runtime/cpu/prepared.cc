#include "runtime/cpu/prepared.h"

#include <algorithm>
#include <utility>

#include "ir/base/convert.h"
#include "ir/base/status.h"
#include "runtime/kernel/shape_math.h"
#include "runtime/onednn/open_library.h"

namespace amp {
namespace {

constexpr size_t kMostEntries = 8;

void Widened(const Tensor& from, Tensor& to) {
  Widen({reinterpret_cast<const uint16_t*>(from.bytes().data()), static_cast<size_t>(from.num_elements())},
        from.dtype(), to.mutable_elements<float>());
}

void Narrowed(const Tensor& from, Tensor& to) {
  Narrow(from.elements<float>(), to.dtype(),
         {reinterpret_cast<uint16_t*>(to.mutable_bytes().data()), static_cast<size_t>(to.num_elements())});
}

}  // namespace

PreparedOperations::Made PreparedOperations::Get(const std::vector<int64_t>& key, const std::function<Made()>& make) {
  const absl::MutexLock lock(&mutex_);
  const auto it = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) { return entry.key == key; });
  if (it != entries_.end()) {
    entries_.splice(entries_.begin(), entries_, it);
    return it->operation;
  }
  AMP_ASSIGN_OR_RETURN(std::shared_ptr<PreparedOperation> operation, make());
  if (entries_.size() == kMostEntries) entries_.pop_back();
  entries_.push_front({key, operation});
  return operation;
}

absl::StatusOr<Tensor> PreparedOperations::Packed(const onednn::Primitive& primitive, const Tensor& plain,
                                                  DType compute) {
  const absl::MutexLock lock(&packed_mutex_);
  Tensor& packed = packed_[primitive.packing()];
  if (packed.dtype() != DType::kUndefined) return packed;
  AMP_ASSIGN_OR_RETURN(const Tensor converted, Converted(plain, compute, nullptr));
  if (primitive.packed_bytes() == 0) return packed = converted;
  AMP_ASSIGN_OR_RETURN(Tensor bytes, Tensor::Create(DType::kUint8, {static_cast<int64_t>(primitive.packed_bytes())}));
  if (!primitive.Pack(converted.bytes().data(), bytes.mutable_bytes().data())) {
    return absl::UnimplementedError("the library does not pack the weights");
  }
  packed = bytes;
  return packed;
}

DType ComputeTypeFor(const KernelContext& context, DType stored) {
  const onednn::Library& library = *onednn::OpenLibrary().library;
  const bool may_be_bfloat16 = stored == DType::kFloat16 && context.resources().allows_bfloat16;
  const DType wanted = may_be_bfloat16 && !library.ComputesIn(stored) ? DType::kBfloat16 : stored;
  return library.ComputesIn(wanted) ? wanted : DType::kFloat32;
}

bool IsFloatOfLibrary(DType dtype) {
  return dtype == DType::kFloat32 || dtype == DType::kFloat16 || dtype == DType::kBfloat16;
}

void ConvertInto(const Tensor& from, Tensor& to) {
  if (from.dtype() == to.dtype()) {
    std::copy(from.bytes().begin(), from.bytes().end(), to.mutable_bytes().begin());
  } else if (to.dtype() == DType::kFloat32) {
    Widened(from, to);
  } else {
    Narrowed(from, to);
  }
}

absl::StatusOr<Tensor> Converted(const Tensor& tensor, DType dtype, TensorMemory* memory) {
  if (tensor.dtype() == dtype) return tensor;
  if (tensor.dtype() != DType::kFloat32 && dtype != DType::kFloat32) {
    AMP_ASSIGN_OR_RETURN(const Tensor wide, Converted(tensor, DType::kFloat32, memory));
    return Converted(wide, dtype, memory);
  }
  AMP_ASSIGN_OR_RETURN(Tensor result, Tensor::Create(dtype, tensor.dims(), memory));
  result.set_layout(tensor.layout());
  if (tensor.num_elements() > 0) ConvertInto(tensor, result);
  return result;
}

onednn::Operand RowMajorOperand(DType dtype, Dims dims) {
  Dims strides = RowStrides(dims);
  return {dtype, std::move(dims), std::move(strides)};
}

}  // namespace amp
