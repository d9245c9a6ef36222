// Arithmetic of two operands or more, comparisons, PRelu, the choice between two tensors; Gelu with a bias.
#include <algorithm>
#include <array>
#include <vector>

#include "ir/base/status.h"
#include "runtime/kernel/move_elements.h"
#include "runtime/kernel/shape_math.h"
#include "runtime/loops/best_loops.h"
#include "runtime/loops/families.h"
#include "runtime/loops/float_parts.h"
#include "runtime/loops/memory_broadcast.h"
#include "runtime/loops/row_parts.h"

namespace amp {
namespace {

Refusal WhyNotTogether(const KernelContext& context, size_t count) {
  const DType dtype = context.Input(0).dtype();
  if (!IsLoopFloat(dtype)) return kNoLoopFloat;
  for (size_t i = 1; i < count; ++i) {
    if (context.Input(i).dtype() != dtype) return "operands of different types";
  }
  return WhyNotInMemory(context, count);
}

Refusal WhyNotPair(const KernelContext& context) { return WhyNotTogether(context, 2); }

// ---- rows of two operands -----------------------------------------------------------------------------------------

// The float32 buffers of a row of two operands.
struct PairOfRows {
  PairOfRows(const Loops& loops, const KernelContext& context)
      : a(loops, context.Input(0)), b(loops, context.Input(1)) {}

  FloatSource a, b;
};

// y = of(a, b) for `count` elements, at most kPartSize of them.
template <typename Result>
void ZipPart(const BinaryForms<Result>& of, const PairOfRows& rows, const RowWalk& row, size_t first, size_t count,
             Result* y) {
  float buffer_a[kPartSize], buffer_b[kPartSize];
  const bool one_a = row.step(0) == 0 && row.count() > 1, one_b = row.step(1) == 0 && row.count() > 1;
  const float* a = rows.a.Read(row.At(0, first), one_a ? 1 : count, buffer_a);
  const float* b = rows.b.Read(row.At(1, first), one_b ? 1 : count, buffer_b);
  (one_a ? of.of_one_a : one_b ? of.of_one_b : of.of_both)(a, b, y, count);
}

// Rows of so few elements cost more than what is done to them: their operands are repeated first, all at once.
constexpr size_t kNarrowRow = 16;

// An operand as often as the result has it.
absl::StatusOr<Tensor> Repeated(const KernelContext& context, size_t port, const Broadcast& broadcast) {
  const Tensor& x = context.Input(port);
  if (x.num_elements() == ElementsBetween(broadcast.dims, 0, broadcast.dims.size())) return x;
  AMP_ASSIGN_OR_RETURN(Tensor repeated, context.MakeScratch(x.dtype(), broadcast.dims));
  AMP_RETURN_IF_ERROR(CopyStrided(x, 0, broadcast.strides[port], repeated));
  return repeated;
}

// The loops of a function of two elements: over float32, and over 16 bits where there are such.
struct PairLoops {
  BinaryLoop BinaryLoops::*wide;
  NarrowBinaryForms NarrowBinaryLoops::*narrow = nullptr;

  // Null where the type has none.
  const NarrowBinaryForms* Narrow(const Loops& loops, DType dtype) const {
    if (narrow == nullptr || dtype == DType::kFloat32) return nullptr;
    const NarrowBinaryLoops& of_type = dtype == DType::kFloat16 ? loops.narrow_float16 : loops.narrow_bfloat16;
    return &(of_type.*narrow);
  }
};
constexpr PairLoops kAdd = {&BinaryLoops::add, &NarrowBinaryLoops::add},
                    kSubtract = {&BinaryLoops::subtract, &NarrowBinaryLoops::subtract},
                    kMultiply = {&BinaryLoops::multiply, &NarrowBinaryLoops::multiply},
                    kDivide = {&BinaryLoops::divide, &NarrowBinaryLoops::divide},
                    kMax = {&BinaryLoops::max, &NarrowBinaryLoops::max},
                    kMin = {&BinaryLoops::min, &NarrowBinaryLoops::min}, kPower = {&BinaryLoops::power},
                    kPRelu = {&BinaryLoops::prelu};

absl::Status ZipNarrow(KernelContext& context, const NarrowBinaryForms& of, const Broadcast& broadcast, Tensor& y) {
  const uint16_t* const a = context.Input(0).elements<uint16_t>().data();
  const uint16_t* const b = context.Input(1).elements<uint16_t>().data();
  uint16_t* const out = y.mutable_elements<uint16_t>().data();
  ForEachRowPart(broadcast, static_cast<size_t>(y.num_elements()), [&](const RowWalk& row, size_t first, size_t count) {
    const bool one_a = row.step(0) == 0 && row.count() > 1, one_b = row.step(1) == 0 && row.count() > 1;
    const auto loop = one_a ? of.of_one_a : one_b ? of.of_one_b : of.of_both;
    loop(a + row.At(0, first), b + row.At(1, first), out + row.first() + first, count);
  });
  return absl::OkStatus();
}

absl::Status ZipRepeated(KernelContext& context, const BinaryLoop& of, const Broadcast& broadcast, Tensor& y) {
  const Loops& loops = BestLoops();
  AMP_ASSIGN_OR_RETURN(const Tensor a, Repeated(context, 0, broadcast));
  AMP_ASSIGN_OR_RETURN(const Tensor b, Repeated(context, 1, broadcast));
  const FloatSource in_a(loops, a), in_b(loops, b);
  const FloatSink out(loops, y);
  ForEachPartTogether(static_cast<size_t>(y.num_elements()), [&](size_t first, size_t count) {
    float buffer_a[kPartSize], buffer_b[kPartSize];
    of.of_both(in_a.Read(first, count, buffer_a), in_b.Read(first, count, buffer_b), out.Begin(first, buffer_a), count);
    out.End(first, count, buffer_a);
  });
  return absl::OkStatus();
}

absl::Status ZipFloats(KernelContext& context, const PairLoops& pair) {
  const Loops& loops = BestLoops();
  const BinaryLoop& of = loops.binary.*pair.wide;
  context.Report(loops.name, DType::kFloat32);
  AMP_ASSIGN_OR_RETURN(const MemoryBroadcast memory, BroadcastInMemory(context, 2));
  AMP_ASSIGN_OR_RETURN(Tensor * y, MakeBroadcastOutput(context, memory, context.Input(0).dtype()));
  if (y->num_elements() == 0) return absl::OkStatus();
  const auto num_elements = static_cast<size_t>(y->num_elements());
  const size_t row_size = RowWalk(memory.broadcast).count();
  if (row_size < kNarrowRow && row_size < num_elements) return ZipRepeated(context, of, memory.broadcast, *y);
  if (const NarrowBinaryForms* const narrow = pair.Narrow(loops, y->dtype())) {
    return ZipNarrow(context, *narrow, memory.broadcast, *y);
  }
  const PairOfRows rows(loops, context);
  const FloatSink out(loops, *y);
  ForEachRowPart(memory.broadcast, num_elements, [&](const RowWalk& row, size_t first, size_t count) {
    float buffer[kPartSize];
    const size_t at = row.first() + first;
    ZipPart(of, rows, row, first, count, out.Begin(at, buffer));
    out.End(at, count, buffer);
  });
  return absl::OkStatus();
}

template <const PairLoops& kPair>
absl::Status Zipped(KernelContext& context) {
  return ZipFloats(context, kPair);
}

template <CompareLoop BinaryLoops::*kLoop>
absl::Status Compared(KernelContext& context) {
  const Loops& loops = BestLoops();
  context.Report(loops.name, DType::kFloat32);
  AMP_ASSIGN_OR_RETURN(const MemoryBroadcast memory, BroadcastInMemory(context, 2));
  AMP_ASSIGN_OR_RETURN(Tensor * y, MakeBroadcastOutput(context, memory, DType::kBool));
  if (y->num_elements() == 0) return absl::OkStatus();
  const PairOfRows rows(loops, context);
  uint8_t* const out = y->mutable_elements<uint8_t>().data();
  ForEachRowPart(memory.broadcast, static_cast<size_t>(y->num_elements()),
                 [&](const RowWalk& row, size_t first, size_t count) {
                   ZipPart(loops.binary.*kLoop, rows, row, first, count, out + row.first() + first);
                 });
  return absl::OkStatus();
}

// ---- PRelu --------------------------------------------------------------------------------------------------------

Refusal WhyNotPRelu(const KernelContext& context) {
  if (context.version() < 7) return "slopes before opset 7";
  const absl::StatusOr<Dims> dims = BroadcastDims(context.Input(0).dims(), context.Input(1).dims());
  if (!dims.ok() || *dims != context.Input(0).dims()) return "a slope that does not fit";
  return WhyNotPair(context);
}

// ---- any number of operands ---------------------------------------------------------------------------------------

Refusal WhyNotFold(const KernelContext& context) {
  const size_t count = context.num_inputs();
  if (count < 2) return "one operand";
  for (size_t i = 1; i < count && count > 2; ++i) {
    const Tensor& x = context.Input(i);
    const bool is_like = x.dims() == context.Input(0).dims() && x.layout() == context.Input(0).layout();
    if (!is_like) return "several operands of different shapes";
  }
  return WhyNotTogether(context, count);
}

// Operands of one shape, part by part.
absl::Status FoldEqual(KernelContext& context, const BinaryLoop& of, float divisor) {
  const Loops& loops = BestLoops();
  context.Report(loops.name, DType::kFloat32);
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutputLike(0, 0));
  if (y->num_elements() == 0) return absl::OkStatus();
  std::vector<FloatSource> in;
  in.reserve(context.num_inputs());
  for (size_t i = 0; i < context.num_inputs(); ++i) in.emplace_back(loops, context.Input(i));
  const FloatSink out(loops, *y);
  ForEachPartTogether(static_cast<size_t>(y->num_elements()), [&](size_t first, size_t count) {
    float buffer[kPartSize], total[kPartSize];
    float* const result = out.Begin(first, total);
    of.of_both(in[0].Read(first, count, total), in[1].Read(first, count, buffer), result, count);
    for (size_t i = 2; i < in.size(); ++i) of.of_both(result, in[i].Read(first, count, buffer), result, count);
    if (divisor != 1) loops.binary.divide.of_one_b(result, &divisor, result, count);
    out.End(first, count, total);
  });
  return absl::OkStatus();
}

template <const PairLoops& kPair>
absl::Status Folded(KernelContext& context) {
  return context.num_inputs() == 2 ? ZipFloats(context, kPair) : FoldEqual(context, BestLoops().binary.*kPair.wide, 1);
}

// Two operands of different shapes as well would be rounded twice.
Refusal WhyNotMean(const KernelContext& context) {
  if (context.Input(0).dims() != context.Input(1).dims() || context.Input(0).layout() != context.Input(1).layout()) {
    return "operands of different shapes";
  }
  return WhyNotFold(context);
}

absl::Status Mean(KernelContext& context) {
  return FoldEqual(context, BestLoops().binary.add, static_cast<float>(context.num_inputs()));
}

// ---- Gelu with a bias ---------------------------------------------------------------------------------------------

Refusal WhyNotBiased(const KernelContext& context) {
  const Tensor& x = context.Input(0);
  if (!IsLoopFloat(x.dtype())) return kNoLoopFloat;
  if (!context.HasInput(1)) return {};
  const Tensor& bias = context.Input(1);
  if (x.layout() != Layout::kRowMajor || bias.layout() != Layout::kRowMajor) return "channels-last with a bias";
  const bool fits = bias.rank() == 1 && x.rank() > 0 && bias.dim(0) == x.dim(x.rank() - 1);
  return fits && bias.dtype() == x.dtype() ? nullptr : "a bias that is none of the last axis";
}

// of(x + bias), where the bias is one of the last axis.
template <UnaryLoop UnaryLoops::*kLoop>
absl::Status Biased(KernelContext& context) {
  const Loops& loops = BestLoops();
  if (!context.HasInput(1)) return MapOutput(context, loops.unary.*kLoop, {});
  context.Report(loops.name, DType::kFloat32);
  const std::vector<float> bias = ReadAll(loops, context.Input(1));
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutputLike(0, 0));
  const auto count = static_cast<size_t>(y->num_elements());
  if (count == 0) return absl::OkStatus();
  const FloatSource in(loops, context.Input(0));
  const FloatSink out(loops, *y);
  ParallelFor(count / bias.size(), bias.size(), [&](const Share& share) {
    float buffer[kPartSize];
    for (size_t start = share.first * bias.size(); start < share.end * bias.size(); start += bias.size()) {
      ForEachPart(bias.size(), [&](size_t first, size_t size) {
        float* const part = out.Begin(start + first, buffer);
        loops.binary.add.of_both(in.Read(start + first, size, buffer), bias.data() + first, part, size);
        (loops.unary.*kLoop)(part, part, size, {});
        out.End(start + first, size, buffer);
      });
    }
  });
  return absl::OkStatus();
}

// ---- Where --------------------------------------------------------------------------------------------------------

ChooseLoop FindChooseLoop(const ChooseLoops& loops, size_t element_bytes) {
  switch (element_bytes) {
    case 1:
      return loops.of_1_byte;
    case 2:
      return loops.of_2_bytes;
    case 4:
      return loops.of_4_bytes;
    case 8:
      return loops.of_8_bytes;
    default:
      return nullptr;
  }
}

Refusal WhyNotWhere(const KernelContext& context) {
  const DType dtype = context.Input(1).dtype();
  if (context.Input(0).dtype() != DType::kBool || context.Input(2).dtype() != dtype) return "types that do not fit";
  const bool has_loop = dtype != DType::kString && FindChooseLoop(BestLoops().choose, ElementBytes(dtype)) != nullptr;
  return has_loop ? WhyNotInMemory(context, 3) : "elements of another size than 1, 2, 4 or 8 bytes";
}

absl::Status Where(KernelContext& context) {
  const Loops& loops = BestLoops();
  AMP_ASSIGN_OR_RETURN(const MemoryBroadcast memory, BroadcastInMemory(context, 3));
  const DType dtype = context.Input(1).dtype();
  context.Report(loops.name, dtype);
  AMP_ASSIGN_OR_RETURN(Tensor * y, MakeBroadcastOutput(context, memory, dtype));
  if (y->num_elements() == 0) return absl::OkStatus();
  const size_t bytes = ElementBytes(dtype);
  const ChooseLoop choose = FindChooseLoop(loops.choose, bytes);
  const auto condition = context.Input(0).elements<uint8_t>();
  const auto a = context.Input(1).bytes(), b = context.Input(2).bytes();
  std::byte* const out = y->mutable_bytes().data();
  ForEachRowPart(memory.broadcast, static_cast<size_t>(y->num_elements()),
                 [&](const RowWalk& row, size_t first, size_t count) {
                   choose({.condition = condition.data() + row.At(0, first),
                           .a = a.data() + row.At(1, first) * bytes,
                           .b = b.data() + row.At(2, first) * bytes,
                           .step_condition = row.step(0),
                           .step_a = row.step(1),
                           .step_b = row.step(2)},
                          out + (row.first() + first) * bytes, count);
                 });
  return absl::OkStatus();
}

// ---- logic --------------------------------------------------------------------------------------------------------

Refusal WhyNotLogic(const KernelContext& context) {
  for (size_t i = 0; i < context.num_inputs(); ++i) {
    if (context.Input(i).dtype() != DType::kBool) return "no truth values";
  }
  return WhyNotInMemory(context, context.num_inputs());
}

// Chooses by the first operand: of one that is true `a`, else `b`. Null stands for the second operand.
absl::Status Chosen(KernelContext& context, const uint8_t* a, const uint8_t* b) {
  const Loops& loops = BestLoops();
  context.Report(loops.name, DType::kBool);
  const size_t num_operands = context.num_inputs();
  AMP_ASSIGN_OR_RETURN(const MemoryBroadcast memory, BroadcastInMemory(context, num_operands));
  AMP_ASSIGN_OR_RETURN(Tensor * y, MakeBroadcastOutput(context, memory, DType::kBool));
  if (y->num_elements() == 0) return absl::OkStatus();
  const auto condition = context.Input(0).elements<uint8_t>(),
             second = context.Input(num_operands - 1).elements<uint8_t>();
  uint8_t* const out = y->mutable_elements<uint8_t>().data();
  ForEachRowPart(memory.broadcast, static_cast<size_t>(y->num_elements()),
                 [&](const RowWalk& row, size_t first, size_t count) {
                   const size_t last = num_operands - 1;
                   const uint8_t* const other = second.data() + row.At(last, first);
                   loops.choose.of_1_byte({.condition = condition.data() + row.At(0, first),
                                           .a = a == nullptr ? other : a,
                                           .b = b == nullptr ? other : b,
                                           .step_condition = row.step(0),
                                           .step_a = a == nullptr ? row.step(last) : 0,
                                           .step_b = b == nullptr ? row.step(last) : 0},
                                          out + row.first() + first, count);
                 });
  return absl::OkStatus();
}

constexpr uint8_t kFalse = 0, kTrue = 1;
absl::Status And(KernelContext& context) { return Chosen(context, nullptr, &kFalse); }
absl::Status Or(KernelContext& context) { return Chosen(context, &kTrue, nullptr); }
absl::Status Not(KernelContext& context) { return Chosen(context, &kFalse, &kTrue); }

// ---- rows ---------------------------------------------------------------------------------------------------------

constexpr KernelRow Row(absl::string_view op_type, KernelFunction function, RefusalFunction refusal = WhyNotPair,
                        absl::string_view domain = "") {
  return {.op_type = op_type,
          .function = function,
          .domain = domain,
          .refusal = refusal,
          .family = "loops",
          .takes_channels_last = true};
}

constexpr std::array kInTheirLayouts = {
    Row("Add", Zipped<kAdd>),
    Row("Div", Zipped<kDivide>),
    Row("Mul", Zipped<kMultiply>),
    Row("Sub", Zipped<kSubtract>),
    Row("Pow", Zipped<kPower>),
    Row("PRelu", Zipped<kPRelu>, WhyNotPRelu),
    Row("Equal", Compared<&BinaryLoops::equal>),
    Row("Greater", Compared<&BinaryLoops::greater>),
    Row("GreaterOrEqual", Compared<&BinaryLoops::greater_or_equal>),
    Row("Less", Compared<&BinaryLoops::less>),
    Row("LessOrEqual", Compared<&BinaryLoops::less_or_equal>),
    Row("Max", Folded<kMax>, WhyNotFold),
    Row("Mean", Mean, WhyNotMean),
    Row("Min", Folded<kMin>, WhyNotFold),
    Row("Sum", Folded<kAdd>, WhyNotFold),
    Row("Where", Where, WhyNotWhere),
    Row("And", And, WhyNotLogic),
    Row("Or", Or, WhyNotLogic),
    Row("Not", Not, WhyNotLogic),
    Row("BiasGelu", Biased<&UnaryLoops::gelu>, WhyNotBiased, "com.microsoft"),
    Row("FastGelu", Biased<&UnaryLoops::gelu_tanh>, WhyNotBiased, "com.microsoft"),
    Row("Gelu", Biased<&UnaryLoops::gelu>, WhyNotBiased, "com.microsoft"),
};

// All rows, and once more for operands in different layouts, after they are made row-major.
constexpr auto kRows = [] {
  std::array<KernelRow, 2 * kInTheirLayouts.size()> rows = {};
  for (size_t i = 0; i < kInTheirLayouts.size(); ++i) {
    rows[i] = rows[kInTheirLayouts.size() + i] = kInTheirLayouts[i];
    rows[kInTheirLayouts.size() + i].takes_channels_last = false;
  }
  return rows;
}();

}  // namespace

absl::Span<const KernelRow> BinaryLoopKernels() { return kRows; }

}  // namespace amp
