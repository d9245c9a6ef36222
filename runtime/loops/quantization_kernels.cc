// QuantizeLinear and DequantizeLinear between float32 and 8 bits, with one scale or one for each index of an axis, and
// DynamicQuantizeLinear.
#include <algorithm>
#include <vector>

#include "ir/base/status.h"
#include "runtime/forms/quantize.h"
#include "runtime/kernel/layout.h"
#include "runtime/kernel/shape_math.h"
#include "runtime/loops/best_loops.h"
#include "runtime/loops/dynamic_quantization.h"
#include "runtime/loops/families.h"
#include "runtime/loops/float_parts.h"

namespace amp {
namespace {

bool IsByte(DType type) { return type == DType::kInt8 || type == DType::kUint8; }

// ---- which scale is whose -------------------------------------------------------------------------------------------

// Runs of elements in memory that share a scale; the next run has the next scale, and after the last the first again.
struct ScaledRuns {
  std::vector<float> scales, zero_points;
  size_t size = 1;
};

Refusal WhyNotScales(const KernelContext& context) {
  const Tensor& x = context.Input(0);
  const Tensor& scale = context.Input(1);
  if (scale.dtype() != DType::kFloat32) return "scales of another type than float32";
  if (const Refusal refusal = WhyNotPlainScales(context)) return refusal;
  if (scale.num_elements() == 1) return {};
  const size_t at = AxisInMemory(ReadQuantize(context)->axis, x.rank(), x.layout());
  return at + 1 < x.rank() ? nullptr : "a scale for every element of a run";
}

absl::StatusOr<ScaledRuns> ReadRuns(const KernelContext& context) {
  const Tensor& x = context.Input(0);
  const auto scales = context.Input(1).elements<float>();
  ScaledRuns runs = {.scales = {scales.begin(), scales.end()},
                     .zero_points = std::vector<float>(scales.size(), 0),
                     .size = static_cast<size_t>(x.num_elements())};
  if (context.HasInput(2)) {
    VisitIntegers(context.Input(2).dtype(), [&]<typename T>(TypeTag<T>) {
      const auto points = context.Input(2).elements<T>();
      for (size_t i = 0; i < points.size(); ++i) runs.zero_points[i] = static_cast<float>(points[i]);
    });
  }
  if (scales.size() == 1) return runs;
  AMP_ASSIGN_OR_RETURN(const QuantizeForm form, ReadQuantize(context));
  const size_t at = AxisInMemory(form.axis, x.rank(), x.layout());
  runs.size = static_cast<size_t>(ElementsBetween(DimsInMemory(x.dims(), x.layout()), at + 1, x.rank()));
  return runs;
}

// visit(first element, number of elements, scale, zero point), in parts that the threads of the run share out.
template <typename Visit>
void ForEachScaledPart(size_t count, const ScaledRuns& runs, Visit visit) {
  if (count == 0) return;
  const size_t parts = (runs.size + kPartSize - 1) / kPartSize;  // of a run
  ParallelFor(count / runs.size * parts, std::min(runs.size, kPartSize), [&](const Share& share) {
    for (size_t i = share.first; i < share.end; ++i) {
      const size_t run = i / parts, k = run % runs.scales.size(), first = i % parts * kPartSize;
      visit(run * runs.size + first, std::min(kPartSize, runs.size - first), runs.scales[k], runs.zero_points[k]);
    }
  });
}

// ---- QuantizeLinear -------------------------------------------------------------------------------------------------

Refusal WhyNotQuantize(const KernelContext& context) {
  if (context.Input(0).dtype() != DType::kFloat32) return "another type than float32";
  const absl::StatusOr<DType> type = ReadQuantizedType(context);
  if (!type.ok() || !IsByte(*type)) return "another type than 8 bits";
  return WhyNotScales(context);
}

absl::Status QuantizeLinear(KernelContext& context) {
  const Loops& loops = BestLoops();
  context.Report(loops.name, DType::kFloat32);
  const Tensor& x = context.Input(0);
  AMP_ASSIGN_OR_RETURN(const DType dtype, ReadQuantizedType(context));
  AMP_ASSIGN_OR_RETURN(const ScaledRuns runs, ReadRuns(context));
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutput(0, dtype, x.dims()));
  y->set_layout(x.layout());
  const float* const in = x.elements<float>().data();
  ForEachScaledPart(static_cast<size_t>(x.num_elements()), runs,
                    [&](size_t first, size_t count, float scale, float zero_point) {
                      if (dtype == DType::kInt8) {
                        loops.convert.quantize_int8(in + first, y->mutable_elements<int8_t>().data() + first, count,
                                                    scale, zero_point);
                      } else {
                        loops.convert.quantize_uint8(in + first, y->mutable_elements<uint8_t>().data() + first, count,
                                                     scale, zero_point);
                      }
                    });
  return absl::OkStatus();
}

// ---- DynamicQuantizeLinear ------------------------------------------------------------------------------------------

Refusal WhyNotDynamicQuantize(const KernelContext& context) {
  return context.Input(0).dtype() == DType::kFloat32 ? nullptr : "another type than float32";
}

absl::Status DynamicQuantizeLinear(KernelContext& context) {
  const Loops& loops = BestLoops();
  context.Report(loops.name, DType::kFloat32);
  const Tensor& x = context.Input(0);
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutput(0, DType::kUint8, x.dims()));
  y->set_layout(x.layout());
  const float* const in = x.elements<float>().data();
  uint8_t* const out = y->mutable_elements<uint8_t>().data();
  const auto count = static_cast<size_t>(x.num_elements());
  const DynamicQuantization of = DynamicQuantizationOf(in, count);
  ParallelFor((count + kPartSize - 1) / kPartSize, kPartSize, [&](const Share& share) {
    const size_t first = share.first * kPartSize, end = std::min(share.end * kPartSize, count);
    loops.convert.quantize_uint8(in + first, out + first, end - first, of.scale, of.zero_point);
  });
  context.SetOutput(1, Tensor::Scalar(of.scale));
  AMP_ASSIGN_OR_RETURN(Tensor * point, context.MakeOutput(2, DType::kUint8, {}));
  point->mutable_elements<uint8_t>()[0] = static_cast<uint8_t>(of.zero_point);
  return absl::OkStatus();
}

// ---- DequantizeLinear -----------------------------------------------------------------------------------------------

Refusal WhyNotDequantize(const KernelContext& context) {
  const DType dtype = context.Input(0).dtype();
  if (!IsByte(dtype)) return "another type than 8 bits";
  if (context.HasInput(2) && context.Input(2).dtype() != dtype) return "zero points of another type";
  const absl::StatusOr<QuantizeForm> form = ReadQuantize(context);
  if (form.ok() && form->output.value_or(DType::kFloat32) != DType::kFloat32) return "another type than float32";
  return WhyNotScales(context);
}

absl::Status DequantizeLinear(KernelContext& context) {
  const Loops& loops = BestLoops();
  context.Report(loops.name, DType::kFloat32);
  const Tensor& x = context.Input(0);
  AMP_ASSIGN_OR_RETURN(const ScaledRuns runs, ReadRuns(context));
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutput(0, DType::kFloat32, x.dims()));
  y->set_layout(x.layout());
  float* const out = y->mutable_elements<float>().data();
  ForEachScaledPart(
      static_cast<size_t>(x.num_elements()), runs, [&](size_t first, size_t count, float scale, float zero_point) {
        if (x.dtype() == DType::kInt8) {
          loops.convert.widen_int8(x.elements<int8_t>().data() + first, out + first, count);
        } else {
          loops.convert.widen_uint8(x.elements<uint8_t>().data() + first, out + first, count);
        }
        loops.rows.transform(out + first, out + first, count, {.centre = zero_point, .factor = scale, .shift = 0});
      });
  return absl::OkStatus();
}

constexpr KernelRow Row(absl::string_view op_type, KernelFunction function, RefusalFunction refusal) {
  return {.op_type = op_type, .function = function, .refusal = refusal, .family = "loops", .takes_channels_last = true};
}

constexpr KernelRow kRows[] = {
    Row("DequantizeLinear", DequantizeLinear, WhyNotDequantize),
    Row("DynamicQuantizeLinear", DynamicQuantizeLinear, WhyNotDynamicQuantize),
    Row("QuantizeLinear", QuantizeLinear, WhyNotQuantize),
};

}  // namespace

absl::Span<const KernelRow> QuantizationLoopKernels() { return kRows; }

}  // namespace amp
