// Cast and CastLike among float32, float16, bfloat16, bool and integers of 8, 32 and 64 bits, by way of float32.
#include <algorithm>
#include <bit>
#include <limits>
#include <optional>

#include "ir/base/status.h"
#include "runtime/loops/best_loops.h"
#include "runtime/loops/families.h"
#include "runtime/loops/float_parts.h"

namespace amp {
namespace {

std::optional<DType> TargetType(const KernelContext& context) {
  if (context.node().op_type() == "CastLike") return context.Input(1).dtype();
  if (context.version() < 6) return std::nullopt;
  return GetDType(context.node(), "to");
}

bool IsSmallInteger(DType type) { return type == DType::kInt8 || type == DType::kUint8 || type == DType::kBool; }
bool IsInteger(DType type) { return IsSmallInteger(type) || type == DType::kInt32 || type == DType::kInt64; }

Refusal WhyNot(const KernelContext& context) {
  const DType from = context.Input(0).dtype();
  const std::optional<DType> to = TargetType(context);
  if (!to.has_value()) return "no type in the way of opset 6";
  if (HasAttribute(context.node(), "round_mode")) return "a way of rounding";
  if (IsLoopFloat(from) && (IsLoopFloat(*to) || IsInteger(*to))) return {};
  if (IsInteger(from) && IsLoopFloat(*to)) return {};
  return "types that do not go by way of float32";
}

// Cuts a number to the 24 bits of float32, the last of which becomes 1 if anything was cut off. So the number is
// rounded once, when it becomes bfloat16, and no half is made on the way. (Numbers that float16 would round a second
// time are infinite there.)
template <typename T>
const float* WidenToOdd(const Tensor& x, size_t first, size_t count, float* buffer) {
  constexpr int kBits = std::numeric_limits<float>::digits;
  const T* const from = x.elements<T>().data() + first;
  for (size_t i = 0; i < count; ++i) {
    const uint64_t magnitude = from[i] < 0 ? 0 - static_cast<uint64_t>(from[i]) : static_cast<uint64_t>(from[i]);
    const int shift = std::max(0, static_cast<int>(std::bit_width(magnitude)) - kBits);
    const uint64_t unit = uint64_t{1} << shift;
    const uint64_t kept = (magnitude >> shift) | ((magnitude & (unit - 1)) != 0 ? 1 : 0);
    const float number = static_cast<float>(kept) * static_cast<float>(unit);
    buffer[i] = from[i] < 0 ? -number : number;
  }
  return buffer;
}

// Elements [first, first + count) as float32, in the tensor itself or in the buffer.
const float* WidenPart(const Loops& loops, const Tensor& x, DType to, size_t first, size_t count, float* buffer) {
  if (to == DType::kBfloat16 && x.dtype() == DType::kInt32) return WidenToOdd<int32_t>(x, first, count, buffer);
  if (to == DType::kBfloat16 && x.dtype() == DType::kInt64) return WidenToOdd<int64_t>(x, first, count, buffer);
  switch (x.dtype()) {
    case DType::kInt8:
      loops.convert.widen_int8(x.elements<int8_t>().data() + first, buffer, count);
      return buffer;
    case DType::kBool:
    case DType::kUint8:
      loops.convert.widen_uint8(x.elements<uint8_t>().data() + first, buffer, count);
      return buffer;
    case DType::kInt32:
      loops.convert.widen_int32(x.elements<int32_t>().data() + first, buffer, count);
      return buffer;
    case DType::kInt64:
      loops.convert.widen_int64(x.elements<int64_t>().data() + first, buffer, count);
      return buffer;
    default:
      return FloatSource(loops, x).Read(first, count, buffer);
  }
}

void NarrowPart(const Loops& loops, const float* from, Tensor& y, size_t first, size_t count) {
  switch (y.dtype()) {
    case DType::kInt8:
      return loops.convert.narrow_int8(from, y.mutable_elements<int8_t>().data() + first, count);
    case DType::kUint8:
      return loops.convert.narrow_uint8(from, y.mutable_elements<uint8_t>().data() + first, count);
    case DType::kBool:
      return loops.convert.narrow_bool(from, y.mutable_elements<uint8_t>().data() + first, count);
    case DType::kInt32:
      return loops.convert.narrow_int32(from, y.mutable_elements<int32_t>().data() + first, count);
    case DType::kInt64:
      return loops.convert.narrow_int64(from, y.mutable_elements<int64_t>().data() + first, count);
    default:
      return FloatSink(loops, y).End(first, count, from);
  }
}

absl::Status Cast(KernelContext& context) {
  const Loops& loops = BestLoops();
  const Tensor& x = context.Input(0);
  const DType to = *TargetType(context);
  context.Report(loops.name, to);
  if (x.dtype() == to) {
    context.SetOutput(0, x);
    return absl::OkStatus();
  }
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutput(0, to, x.dims()));
  y->set_layout(x.layout());
  // Elements that are widened to float32 need no buffer in between.
  float* const whole = to == DType::kFloat32 ? y->mutable_elements<float>().data() : nullptr;
  ForEachPartTogether(static_cast<size_t>(x.num_elements()), [&](size_t first, size_t count) {
    float buffer[kPartSize];
    const float* const part = WidenPart(loops, x, to, first, count, whole == nullptr ? buffer : whole + first);
    if (whole == nullptr) NarrowPart(loops, part, *y, first, count);
  });
  return absl::OkStatus();
}

constexpr KernelRow kRows[] = {
    {.op_type = "Cast", .function = Cast, .refusal = WhyNot, .family = "loops", .takes_channels_last = true},
    {.op_type = "CastLike", .function = Cast, .refusal = WhyNot, .family = "loops"},
};

}  // namespace

absl::Span<const KernelRow> CastLoopKernels() { return kRows; }

}  // namespace amp
