// Operators that ONNX had as experiments before opset 10, on a device: Affine, ImageScaler, Scale.
#include <memory>
#include <vector>

#include "ir/base/status.h"
#include "runtime/device/chain_program.h"
#include "runtime/device/families.h"
#include "runtime/device/storage.h"

namespace amp {
namespace {

using device::UnaryFunction;

const char* WhyNotFloat(const KernelContext& context) {
  return IsDeviceFloat(context.Input(0).dtype()) ? nullptr : kNoDeviceFloat;
}

// a * x + b
DeviceFunction Linear(float a, float b) { return {.function = UnaryFunction::kLinear, .a = a, .b = b}; }

absl::Status GiveChain(KernelContext& context, const ChainProgram& program) {
  context.Report("chain", DType::kFloat32);
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutputLike(0, 0));
  return program.Start(*context.resources().device, *y);
}

absl::Status GiveLinear(KernelContext& context, float a, float b) {
  ChainProgram program;
  program.AddMap(Linear(a, b), program.AddOperand(context.Input(0)), DType::kFloat32);
  return GiveChain(context, program);
}

absl::Status Affine(KernelContext& context) {
  return GiveLinear(context, GetFloat(context.node(), "alpha", 1), GetFloat(context.node(), "beta", 0));
}

absl::Status Scale(KernelContext& context) { return GiveLinear(context, GetFloat(context.node(), "scale", 1), 0); }

std::vector<float> BiasOf(const KernelContext& context) {
  return GetFloats(context.node(), "bias").value_or(std::vector<float>());
}

const char* WhyNotImageScaler(const KernelContext& context) {
  const Tensor& x = context.Input(0);
  const bool fits = x.rank() >= 2 && static_cast<int64_t>(BiasOf(context).size()) == x.dim(1);
  return fits ? WhyNotFloat(context) : "a bias that does not fit";
}

// Times a number, plus one number for each channel.
absl::Status ImageScaler(KernelContext& context) {
  const Tensor& x = context.Input(0);
  const std::vector<float> bias = BiasOf(context);
  AMP_ASSIGN_OR_RETURN(const std::shared_ptr<const void> shared, ShareList(*context.resources().device, bias));
  Dims dims(x.rank() - 1, 1);
  dims[0] = x.dim(1);
  ChainProgram program;
  const size_t scaled =
      program.AddMap(Linear(GetFloat(context.node(), "scale", 1), 0), program.AddOperand(x), DType::kFloat32);
  program.AddZip(device::BinaryFunction::kAdd, scaled, program.AddOperand(shared.get(), DType::kFloat32, dims),
                 DType::kFloat32);
  return GiveChain(context, program);
}

constexpr KernelRow kRows[] = {
    DeviceRow("Affine", Affine, WhyNotFloat),
    DeviceRow("ImageScaler", ImageScaler, WhyNotImageScaler),
    DeviceRow("Scale", Scale, WhyNotFloat),
};

}  // namespace

absl::Span<const KernelRow> ExperimentalDeviceKernels() { return kRows; }

}  // namespace amp
