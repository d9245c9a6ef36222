// Operators on the bits of integers, and BitCast, which gives bits another type.
#include <cstdint>
#include <optional>
#include <string>

#include "runtime/reference/elementwise.h"
#include "runtime/reference/families.h"

namespace amp {
namespace {

// y = of(a, b) of integers.
template <typename Function>
absl::Status ZipIntegers(KernelContext& context, Function of) {
  const Tensor& a = context.Input(0);
  const Tensor& b = context.Input(1);
  AMP_RETURN_IF_ERROR(CheckSameType(a, b));
  AMP_ASSIGN_OR_RETURN(const Broadcast broadcast, BroadcastPair(context));
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutput(0, a.dtype(), broadcast.dims));
  const bool known = VisitIntegers(a.dtype(), [&]<typename T>(TypeTag<T>) {
    Zip(broadcast, a.elements<T>(), b.elements<T>(), y->mutable_elements<T>(),
        [&of](T x, T z) { return static_cast<T>(of(x, z)); });
  });
  return known ? absl::OkStatus() : context.TypeError(a.dtype());
}

template <auto kFunction>
absl::Status Bitwise(KernelContext& context) {
  return ZipIntegers(context, kFunction);
}

absl::Status BitwiseNot(KernelContext& context) {
  const Tensor& x = context.Input(0);
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutput(0, x.dtype(), x.dims()));
  const bool known = VisitIntegers(x.dtype(), [&]<typename T>(TypeTag<T>) {
    const auto in = x.elements<T>();
    const auto out = y->mutable_elements<T>();
    for (size_t i = 0; i < in.size(); ++i) out[i] = static_cast<T>(~in[i]);
  });
  return known ? absl::OkStatus() : context.TypeError(x.dtype());
}

// By as many bits as the type has, or more, or a negative number: nothing is left but copies of the sign.
template <typename T>
T Shifted(T x, T by, bool left) {
  constexpr int kBits = 8 * static_cast<int>(sizeof(T));
  if (by < 0 || static_cast<uint64_t>(by) >= kBits) return !left && x < 0 ? static_cast<T>(-1) : T{0};
  if (left) return static_cast<T>(static_cast<uint64_t>(x) << static_cast<int>(by));
  return static_cast<T>(x >> static_cast<int>(by));
}

absl::Status BitShift(KernelContext& context) {
  const std::string direction = GetString(context.node(), "direction", "");
  if (direction != "LEFT" && direction != "RIGHT") {
    return ModelError("expected direction LEFT or RIGHT, found '", Escaped(direction), "'");
  }
  const bool left = direction == "LEFT";
  return ZipIntegers(context, [left](auto x, auto by) { return Shifted(x, by, left); });
}

// ---- BitCast ------------------------------------------------------------------------------------------------------

// Brings an element that has fewer bits than its byte into the form that its type has in memory: int4 and int2 carry
// their sign on, the others have zeros above. bool is 0 or 1.
uint8_t InMemory(uint8_t bits, DType type) {
  if (type == DType::kBool) return bits != 0 ? 1 : 0;
  const int unused = 8 - BitsPerElement(type);
  const auto low = static_cast<uint8_t>(bits << unused);
  const bool is_signed = type == DType::kInt4 || type == DType::kInt2;
  if (!is_signed) return static_cast<uint8_t>(low >> unused);
  return static_cast<uint8_t>(static_cast<int8_t>(low) >> unused);
}

absl::Status BitCast(KernelContext& context) {
  const Tensor& x = context.Input(0);
  const std::optional<DType> to = GetDType(context.node(), "to");
  if (!to.has_value()) return ModelError("expected an element type as the attribute to, found none");
  const int bits = BitsPerElement(x.dtype());
  if (bits == 0 || BitsPerElement(*to) != bits) {
    return ModelError("expected a type of as many bits as ", DTypeName(x.dtype()), ", found ", DTypeName(*to));
  }
  if (bits > 8 || *to == x.dtype()) {
    context.SetOutput(0, x.Reinterpreted(*to));
    return absl::OkStatus();
  }
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutput(0, *to, x.dims()));
  const auto in = x.elements<uint8_t>();
  const auto out = y->mutable_elements<uint8_t>();
  for (size_t i = 0; i < in.size(); ++i) out[i] = InMemory(in[i], *to);
  return absl::OkStatus();
}

constexpr KernelRow kRows[] = {
    {"BitCast", BitCast},
    {"BitShift", BitShift},
    {"BitwiseAnd", Bitwise<[](auto a, auto b) { return a & b; }>},
    {"BitwiseNot", BitwiseNot},
    {"BitwiseOr", Bitwise<[](auto a, auto b) { return a | b; }>},
    {"BitwiseXor", Bitwise<[](auto a, auto b) { return a ^ b; }>},
};

}  // namespace

absl::Span<const KernelRow> BitwiseKernels() { return kRows; }

}  // namespace amp
