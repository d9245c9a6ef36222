#include "runtime/device/product_epilogue.h"

#include "ir/base/status.h"
#include "runtime/device/chain_program.h"
#include "runtime/device/epilogue_steps.h"
#include "runtime/device/storage.h"
#include "runtime/kernel/shape_math.h"

namespace amp {
namespace {

using device::ProductActivation;

// Whether the operand has one number for each column.
bool IsRow(const Tensor& operand, int64_t columns) {
  return operand.num_elements() == columns && operand.rank() > 0 && operand.dims().back() == columns;
}

// Whether the operand has one number for each element of the result, in the product's type.
bool IsWhole(const KernelContext& context, const Tensor& operand, const Dims& dims) {
  return operand.dims() == dims && operand.dtype() == context.Input(0).dtype() && operand.layout() == Layout::kRowMajor;
}

ProductActivation ActivationOf(const EpilogueStep& step) {
  if (step.kind == EpilogueKind::kRelu && step.alpha == 0) return ProductActivation::kRelu;
  return step.kind == EpilogueKind::kGeluTanh ? ProductActivation::kGeluTanh : ProductActivation::kNone;
}

DType StoredType(const KernelContext& context) {
  const DType stores_as = context.epilogue().stores_as;
  return stores_as == DType::kUndefined ? context.Input(0).dtype() : stores_as;
}

// Returns the remaining steps as a chain. Its values are not rounded in between, like those of other epilogues.
ChainProgram RestOf(const KernelContext& context, const ProductEpilogue& done, const void* product, const Dims& dims) {
  ChainProgram program;
  size_t value = program.AddOperand(product, context.Input(0).dtype(), dims);
  value = AddSteps(context, absl::MakeConstSpan(context.epilogue().steps).subspan(done.num_steps), value, program);
  program.AddRounding(value, StoredType(context));
  return program;
}

}  // namespace

ProductEpilogue FitProductEpilogue(const KernelContext& context, const Dims& dims, int64_t columns, bool has_bias) {
  ProductEpilogue fitted;
  const std::vector<EpilogueStep>& steps = context.epilogue().steps;
  for (; fitted.num_steps < steps.size() && steps[fitted.num_steps].kind == EpilogueKind::kAdd; ++fitted.num_steps) {
    const size_t port = steps[fitted.num_steps].input;
    const Tensor& operand = context.Input(port);
    if (!has_bias && !fitted.bias_port.has_value() && IsRow(operand, columns)) {
      fitted.bias_port = port;
    } else if (!fitted.addend_port.has_value() && IsWhole(context, operand, dims)) {
      fitted.addend_port = port;
    } else {
      break;
    }
  }
  if (fitted.num_steps < steps.size()) fitted.activation = ActivationOf(steps[fitted.num_steps]);
  if (fitted.activation != ProductActivation::kNone) ++fitted.num_steps;
  return fitted;
}

bool NeedsChain(const KernelContext& context, const ProductEpilogue& done) {
  return done.num_steps < context.epilogue().steps.size() || StoredType(context) != context.Input(0).dtype();
}

Refusal WhyNotChain(const KernelContext& context, const ProductEpilogue& done, const Dims& dims) {
  if (!NeedsChain(context, done)) return {};
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
