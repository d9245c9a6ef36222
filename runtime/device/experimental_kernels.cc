// ONNX's experimental operators before opset 10 on a device: Affine, ImageScaler, Scale.
#include <memory>

#include "ir/base/status.h"
#include "runtime/device/chain_program.h"
#include "runtime/device/families.h"
#include "runtime/device/storage.h"
#include "runtime/forms/activation.h"
#include "runtime/forms/image.h"

namespace amp {
namespace {

using device::UnaryFunction;

Refusal WhyNotFloat(const KernelContext& context) {
  return IsDeviceFloat(context.Input(0).dtype()) ? nullptr : kNoDeviceFloat;
}

// Returns the function a * x + b.
DeviceFunction Linear(float a, float b) { return {.function = UnaryFunction::kLinear, .a = a, .b = b}; }

absl::Status GiveChain(KernelContext& context, const ChainProgram& program) {
  context.Report("chain", DType::kFloat32);
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutputLike(0, 0));
  return program.Start(*context.resources().device, *y);
}

// Affine computes alpha * x + beta, and Scale computes scale * x.
absl::Status GiveLinear(KernelContext& context) {
  const ActivationNumbers numbers = ReadActivation(context.node(), context.version());
  ChainProgram program;
  program.AddMap(Linear(numbers.a, numbers.b), program.AddOperand(context.Input(0)), DType::kFloat32);
  return GiveChain(context, program);
}

Refusal WhyNotImageScaler(const KernelContext& context) {
  return ReadImageScaler(context).ok() ? WhyNotFloat(context) : "a bias that does not fit";
}

// Computes x * scale + bias, with one bias per channel.
absl::Status ImageScaler(KernelContext& context) {
  const Tensor& x = context.Input(0);
  AMP_ASSIGN_OR_RETURN(const ImageScalerForm form, ReadImageScaler(context));
  AMP_ASSIGN_OR_RETURN(const std::shared_ptr<const void> shared, ShareList(*context.resources().device, form.bias));
  Dims dims(x.rank() - 1, 1);
  dims[0] = x.dim(1);
  ChainProgram program;
  const size_t scaled = program.AddMap(Linear(form.scale, 0), program.AddOperand(x), DType::kFloat32);
  program.AddZip(device::BinaryFunction::kAdd, scaled, program.AddOperand(shared.get(), DType::kFloat32, dims),
                 DType::kFloat32);
  return GiveChain(context, program);
}

constexpr KernelRow kRows[] = {
    DeviceRow("Affine", GiveLinear, WhyNotFloat),
    DeviceRow("ImageScaler", ImageScaler, WhyNotImageScaler),
    DeviceRow("Scale", GiveLinear, WhyNotFloat),
};

}  // namespace

absl::Span<const KernelRow> ExperimentalDeviceKernels() { return kRows; }

}  // namespace amp
