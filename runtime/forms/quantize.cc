#include "runtime/forms/quantize.h"

#include "absl/strings/string_view.h"
#include "ir/base/status.h"
#include "runtime/kernel/shape_math.h"

namespace amp {
namespace {

// The type that an attribute names; nothing if it is absent or 0.
absl::StatusOr<std::optional<DType>> ReadType(const Node& node, absl::string_view name) {
  if (GetInt(node, name, 0) == 0) return std::optional<DType>();
  const std::optional<DType> dtype = GetDType(node, name);
  if (!dtype.has_value()) return ModelError("expected an element type as the attribute ", name, ", found none");
  return dtype;
}

// The default of the attribute, 1, is no axis of a list of numbers.
absl::StatusOr<size_t> ReadScaleAxis(const KernelContext& context) {
  const size_t rank = context.Input(QuantizeForm::kX).rank();
  if (rank == 0) {
    return ModelError("expected one scale, found ", DimsText(context.Input(QuantizeForm::kScale).dims()));
  }
  const int64_t default_axis = rank == 1 && !HasAttribute(context.node(), "axis") ? 0 : 1;
  return NormalizeAxis(GetInt(context.node(), "axis", default_axis), rank);
}

}  // namespace

absl::StatusOr<QuantizeForm> ReadQuantize(const KernelContext& context) {
  const Node& node = context.node();
  QuantizeForm form;
  form.block_size = GetInt(node, "block_size", 0);
  const bool is_one = context.Input(QuantizeForm::kScale).num_elements() == 1 && !form.HasBlocks();
  if (!is_one) {
    AMP_ASSIGN_OR_RETURN(form.axis, ReadScaleAxis(context));
  }
  AMP_ASSIGN_OR_RETURN(form.precision, ReadType(node, "precision"));
  AMP_ASSIGN_OR_RETURN(form.output, ReadType(node, "output_dtype"));
  return form;
}

absl::StatusOr<DType> ReadQuantizedType(const KernelContext& context) {
  AMP_ASSIGN_OR_RETURN(const std::optional<DType> stated, ReadType(context.node(), "output_dtype"));
  if (!context.HasInput(QuantizeForm::kZeroPoint)) return stated.value_or(DType::kUint8);
  const DType type = context.Input(QuantizeForm::kZeroPoint).dtype();
  if (stated.value_or(type) != type) {
    return ModelError("expected output_dtype ", DTypeName(type), " as the zero point's, found ", DTypeName(*stated));
  }
  return type;
}

absl::StatusOr<size_t> ReadQuantizedConcatAxis(const KernelContext& context) {
  constexpr size_t kFirstPart = 2;
  return NormalizeAxis(GetInt(context.node(), "axis", 1), context.Input(kFirstPart).rank());
}

Refusal WhyNotPlainScales(const KernelContext& context) {
  const absl::StatusOr<QuantizeForm> form = ReadQuantize(context);
  if (!form.ok()) return "attributes that do not fit";
  if (form->HasBlocks()) return "scales of blocks";
  if (form->precision.has_value()) return "a type to divide in";
  const Tensor &x = context.Input(QuantizeForm::kX), &scale = context.Input(QuantizeForm::kScale),
               &points = context.Input(QuantizeForm::kZeroPoint);
  const bool is_one = scale.num_elements() == 1;
  const bool fits = points.dims() == scale.dims() || (is_one && points.num_elements() == 1);
  if (context.HasInput(QuantizeForm::kZeroPoint) && !fits) return "zero points that do not fit";
  return is_one || scale.dims() == Dims{x.dim(form->axis)} ? nullptr : "scales that do not fit";
}

}  // namespace amp
