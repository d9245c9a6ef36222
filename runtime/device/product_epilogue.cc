#include "runtime/device/product_epilogue.h"

#include "ir/base/status.h"
#include "runtime/device/chain_program.h"
#include "runtime/device/epilogue_steps.h"
#include "runtime/device/storage.h"
#include "runtime/kernel/shape_math.h"

namespace amp {
namespace {

using device::ProductActivation;

// One number for each column.
bool IsRow(const Tensor& operand, int64_t columns) {
  return operand.num_elements() == columns && operand.rank() > 0 && operand.dims().back() == columns;
}

ProductActivation ActivationOf(const EpilogueStep& step) {
  if (step.kind == EpilogueKind::kRelu && step.alpha == 0) return ProductActivation::kRelu;
  return step.kind == EpilogueKind::kGeluTanh ? ProductActivation::kGeluTanh : ProductActivation::kNone;
}

DType StoredType(const KernelContext& context) {
  const DType stores_as = context.epilogue().stores_as;
  return stores_as == DType::kUndefined ? context.Input(0).dtype() : stores_as;
}

// Values inside are not rounded, as those of the other epilogues.
ChainProgram RestOf(const KernelContext& context, const ProductEpilogue& done, const void* product, const Dims& dims) {
  ChainProgram program;
  size_t value = program.AddOperand(product, context.Input(0).dtype(), dims);
  value = AddSteps(context, absl::MakeConstSpan(context.epilogue().steps).subspan(done.num_steps), value, program);
  program.AddRounding(value, StoredType(context));
  return program;
}

}  // namespace

ProductEpilogue FitProductEpilogue(const KernelContext& context, int64_t columns, bool has_bias) {
  ProductEpilogue fitted;
  const std::vector<EpilogueStep>& steps = context.epilogue().steps;
  const bool starts_with_sum = !steps.empty() && steps[0].kind == EpilogueKind::kAdd && !has_bias;
  if (starts_with_sum && IsRow(context.Input(steps[0].input), columns)) {
    fitted.bias_port = steps[0].input;
    fitted.num_steps = 1;
  }
  if (fitted.num_steps < steps.size()) fitted.activation = ActivationOf(steps[fitted.num_steps]);
  if (fitted.activation != ProductActivation::kNone) ++fitted.num_steps;
  return fitted;
}

bool NeedsChain(const KernelContext& context, const ProductEpilogue& done) {
  return done.num_steps < context.epilogue().steps.size() || StoredType(context) != context.Input(0).dtype();
}

const char* WhyNotChain(const KernelContext& context, const ProductEpilogue& done, const Dims& dims) {
  if (!NeedsChain(context, done)) return nullptr;
  for (const EpilogueStep& step : context.epilogue().steps) {
    const bool reads = step.kind == EpilogueKind::kAdd || step.kind == EpilogueKind::kMul;
    if (reads && !IsDeviceFloat(context.Input(step.input).dtype())) return kNoDeviceFloat;
  }
  const bool fits = RestOf(context, done, nullptr, dims).Arguments(dims).ok();
  return fits ? nullptr : "an epilogue that no chain takes";
}

absl::Status FinishProduct(KernelContext& context, const ProductEpilogue& done, const Tensor& product, Tensor& y) {
  return RestOf(context, done, product.data(), y.dims()).Start(*context.resources().device, y);
}

}  // namespace amp
