// Conv, ConvTranspose, and com.microsoft::FusedConv: a convolution, an addend and an activation in one.
#include <utility>
#include <vector>

#include "runtime/kernel/shape_math.h"
#include "runtime/reference/accumulator.h"
#include "runtime/reference/convolution.h"
#include "runtime/reference/families.h"
#include "runtime/reference/fused_activation.h"

namespace amp {
namespace {

absl::Status AddBiasOfInput(KernelContext& context, Tensor& sum) {
  if (!context.HasInput(2)) return absl::OkStatus();
  AMP_ASSIGN_OR_RETURN(const Tensor bias, ToFloat64(context.Input(2)));
  return AddBias(bias, sum);
}

absl::Status RoundToOutput(KernelContext& context, const Tensor& sum) {
  AMP_ASSIGN_OR_RETURN(Tensor y, FromAccumulator(sum, context.Input(0).dtype()));
  context.SetOutput(0, std::move(y));
  return absl::OkStatus();
}

absl::StatusOr<Tensor> ConvolveInputs(KernelContext& context) {
  AMP_ASSIGN_OR_RETURN(const Tensor x, ToFloat64(context.Input(0)));
  AMP_ASSIGN_OR_RETURN(const Tensor w, ToFloat64(context.Input(1)));
  AMP_ASSIGN_OR_RETURN(Tensor sum, Convolve(context.node(), x, w));
  AMP_RETURN_IF_ERROR(AddBiasOfInput(context, sum));
  return sum;
}

absl::Status Conv(KernelContext& context) {
  AMP_ASSIGN_OR_RETURN(const Tensor sum, ConvolveInputs(context));
  return RoundToOutput(context, sum);
}

absl::Status ConvTranspose(KernelContext& context) {
  AMP_ASSIGN_OR_RETURN(const Tensor x, ToFloat64(context.Input(0)));
  AMP_ASSIGN_OR_RETURN(const Tensor w, ToFloat64(context.Input(1)));
  AMP_ASSIGN_OR_RETURN(Tensor sum, ConvolveTransposed(context.node(), x, w));
  AMP_RETURN_IF_ERROR(AddBiasOfInput(context, sum));
  return RoundToOutput(context, sum);
}

absl::Status FusedConv(KernelContext& context) {
  AMP_ASSIGN_OR_RETURN(Tensor sum, ConvolveInputs(context));
  const auto elements = sum.mutable_elements<double>();
  if (context.HasInput(3)) {
    AMP_ASSIGN_OR_RETURN(const Tensor z, ToFloat64(context.Input(3)));
    if (z.dims() != sum.dims()) return ModelError("expected Z of ", sum.TypeText(), ", found ", z.TypeText());
    for (size_t i = 0; i < elements.size(); ++i) elements[i] += Doubles(z)[i];
  }
  const std::vector<float> parameters = GetFloats(context.node(), "activation_params").value_or(std::vector<float>());
  AMP_ASSIGN_OR_RETURN(const Activation activation,
                       FindActivation(GetString(context.node(), "activation", ""), parameters));
  for (double& element : elements) element = activation(element);
  return RoundToOutput(context, sum);
}

constexpr KernelRow kRows[] = {
    {"Conv", Conv},
    {"ConvTranspose", ConvTranspose},
    {"FusedConv", FusedConv, "com.microsoft"},
};

}  // namespace

absl::Span<const KernelRow> ConvolutionKernels() { return kRows; }

}  // namespace amp
