#include "runtime/cpu/prepared.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "ir/base/status.h"
#include "runtime/kernel/host_memory.h"
#include "runtime/kernel/parallel_for.h"
#include "runtime/kernel/shape_math.h"
#include "runtime/loops/best_loops.h"
#include "runtime/onednn/open_library.h"

namespace amp {
namespace {

constexpr size_t kMostEntries = 8;

// A name that is the same for constants that are packed the same way.
std::string FormOf(DType compute, const onednn::Primitive& primitive) {
  return absl::StrCat(DTypeName(compute), " ", primitive.packing());
}

// Writes the elements of a packed constant as they were stored. REQUIRES: packing them was exact.
absl::Status Unpack(const onednn::Unpacker& unpacker, const Tensor& packed, DType compute, DType stored,
                    absl::Span<std::byte> elements) {
  const auto count = static_cast<int64_t>(elements.size() / ElementBytes(stored));
  Tensor wide;
  if (stored != compute) {
    AMP_ASSIGN_OR_RETURN(wide, Tensor::Create(compute, {count}));
  }
  void* const plain = stored == compute ? elements.data() : wide.mutable_bytes().data();
  const bool is_narrow = packed.dtype() != DType::kUint8;
  AMP_ASSIGN_OR_RETURN(const Tensor as_packed, is_narrow ? Converted(packed, compute, nullptr) : packed);
  if (!unpacker.Unpack(as_packed.bytes().data(), plain))
    return absl::InternalError("oneDNN does not unpack the weights");
  if (stored != compute) ConvertElements(plain, compute, elements.data(), stored, static_cast<size_t>(count));
  return absl::OkStatus();
}

// Elements that are converted at a time between two 16-bit types, through float32.
constexpr size_t kOnTheirWay = 1024;

// Returns packed elements of float32 in a type of 16 bits; the same, if that does not hold all of them exactly.
absl::StatusOr<Tensor> NarrowedIfExact(Tensor packed, DType kept_as) {
  const auto count = static_cast<size_t>(packed.num_elements()) / sizeof(float);
  AMP_ASSIGN_OR_RETURN(Tensor narrow, Tensor::Create(kept_as, {static_cast<int64_t>(count)}));
  ConvertElements(packed.bytes().data(), DType::kFloat32, narrow.mutable_bytes().data(), kept_as, count);
  float again[kOnTheirWay];
  for (size_t first = 0; first < count; first += kOnTheirWay) {
    const size_t size = std::min(kOnTheirWay, count - first);
    ConvertLine(narrow.bytes().data() + first * sizeof(uint16_t), kept_as, again, DType::kFloat32, size);
    const std::byte* const right = packed.bytes().data() + first * sizeof(float);
    if (std::memcmp(again, right, size * sizeof(float)) != 0) return packed;
  }
  DropHostPages(packed.mutable_bytes());  // else they stay with the process, for another block of their size
  return narrow;
}

}  // namespace

PreparedOperations::Made PreparedOperations::Get(const std::vector<int64_t>& key, const std::function<Made()>& make) {
  const absl::MutexLock lock(&mutex_);
  const auto it = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) { return entry.key == key; });
  if (it != entries_.end()) {
    entries_.splice(entries_.begin(), entries_, it);
    return it->operation;
  }
  Made operation = make();
  if (!operation.ok() && !IsRefusal(operation.status())) return operation;
  if (entries_.size() == kMostEntries) entries_.pop_back();
  entries_.push_front({key, operation});
  return operation;
}

absl::StatusOr<Tensor> PackedConstant(const KernelContext& context, size_t port, const onednn::Primitive& primitive,
                                      DType compute, DType kept_as, absl::FunctionRef<absl::StatusOr<Tensor>()> plain) {
  if (primitive.packed_bytes() == 0 && kept_as != compute) return context.Input(port);  // which has that type
  const auto pack = [&]() -> absl::StatusOr<Tensor> {
    AMP_ASSIGN_OR_RETURN(const ConstantHold hold, context.HoldConstant(port, ConstantUse::kOnce));
    AMP_ASSIGN_OR_RETURN(Tensor elements, plain());
    if (primitive.packed_bytes() == 0) return elements;
    AMP_ASSIGN_OR_RETURN(Tensor packed,
                         Tensor::Create(DType::kUint8, {static_cast<int64_t>(primitive.packed_bytes())}));
    if (!primitive.Pack(elements.bytes().data(), packed.mutable_bytes().data())) {
      return Refusal("the library does not pack the weights");
    }
    return kept_as == compute ? packed : NarrowedIfExact(std::move(packed), kept_as);
  };
  SharedTensors* const shared = context.resources().shared;
  if (shared == nullptr) return pack();
  const std::string form = absl::StrCat(FormOf(compute, primitive), " as ", DTypeName(kept_as));
  return shared->Get(context.Input(port).data(), form, pack);
}

void DropPackedConstant(const KernelContext& context, size_t port, const onednn::Primitive& primitive, DType compute,
                        const Tensor& packed) {
  DroppableConstant* const constant = context.Droppable(port);
  SharedTensors* const shared = context.resources().shared;
  const Tensor& plain = context.Input(port);
  const bool is_exact = compute == plain.dtype() || compute == DType::kFloat32;
  if (constant == nullptr || !constant->MayGo() || shared == nullptr || primitive.packed_bytes() == 0 || !is_exact) {
    return;
  }
  const std::shared_ptr<const onednn::Unpacker> unpacker = primitive.MakeUnpacker();
  if (unpacker == nullptr) return;
  const auto restore = [unpacker, packed, compute, stored = plain.dtype()](absl::Span<std::byte> elements) {
    return Unpack(*unpacker, packed, compute, stored, elements);
  };
  const std::string form = absl::StrCat(DTypeName(plain.dtype()), " ", FormOf(compute, primitive));
  const bool comes_back = shared->Knows(form, [&] {
    const absl::StatusOr<ConstantHold> hold = constant->Hold(ConstantUse::kOnce);
    absl::StatusOr<Tensor> again = Tensor::Create(plain.dtype(), plain.dims());
    if (!hold.ok() || !again.ok() || !restore(again->mutable_bytes()).ok()) return false;
    const bool is_same = absl::c_equal(again->bytes(), plain.bytes());
    DropHostPages(again->mutable_bytes());  // else they stay with the process, for another block of their size
    return is_same;
  });
  if (comes_back) constant->Drop(restore);
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

namespace {

void Widen(const void* from, DType from_type, void* to, size_t count) {
  const ConvertLoops& loops = BestLoops().convert;
  (from_type == DType::kFloat16 ? loops.widen_float16 : loops.widen_bfloat16)(static_cast<const uint16_t*>(from),
                                                                              static_cast<float*>(to), count);
}
void Narrow(const void* from, void* to, DType to_type, size_t count) {
  const ConvertLoops& loops = BestLoops().convert;
  (to_type == DType::kFloat16 ? loops.narrow_float16 : loops.narrow_bfloat16)(static_cast<const float*>(from),
                                                                              static_cast<uint16_t*>(to), count);
}

}  // namespace

void ConvertLine(const void* from, DType from_type, void* to, DType to_type, size_t count) {
  if (from_type == to_type) {
    std::memcpy(to, from, count * ElementBytes(to_type));
  } else if (to_type == DType::kFloat32) {
    Widen(from, from_type, to, count);
  } else if (from_type == DType::kFloat32) {
    Narrow(from, to, to_type, count);
  } else {
    float wide[kOnTheirWay];
    for (size_t first = 0; first < count; first += kOnTheirWay) {
      const size_t size = std::min(kOnTheirWay, count - first);
      Widen(static_cast<const uint16_t*>(from) + first, from_type, wide, size);
      Narrow(wide, static_cast<uint16_t*>(to) + first, to_type, size);
    }
  }
}

void ConvertElements(const void* from, DType from_type, void* to, DType to_type, size_t count) {
  ParallelFor((count + kOnTheirWay - 1) / kOnTheirWay, kOnTheirWay, [&](const Share& share) {
    const size_t first = share.first * kOnTheirWay;
    ConvertLine(static_cast<const std::byte*>(from) + first * ElementBytes(from_type), from_type,
                static_cast<std::byte*>(to) + first * ElementBytes(to_type), to_type,
                std::min(share.end * kOnTheirWay, count) - first);
  });
}

void ConvertInto(const Tensor& from, Tensor& to) {
  ConvertElements(from.bytes().data(), from.dtype(), to.mutable_bytes().data(), to.dtype(),
                  static_cast<size_t>(from.num_elements()));
}

absl::StatusOr<Tensor> Converted(const Tensor& tensor, DType dtype, TensorMemory* memory) {
  if (tensor.dtype() == dtype) return tensor;
  AMP_ASSIGN_OR_RETURN(Tensor result, Tensor::Create(dtype, tensor.dims(), memory));
  result.set_layout(tensor.layout());
  ConvertInto(tensor, result);
  return result;
}

onednn::Operand RowMajorOperand(DType dtype, Dims dims) {
  Dims strides = RowStrides(dims);
  return {dtype, std::move(dims), std::move(strides)};
}

}  // namespace amp
