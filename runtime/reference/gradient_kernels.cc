// Gradients that are functions of domain ai.amp, whose bodies in passes/train say what they mean. Attribute `to` is the
// type that they are computed in, and that of weight gradients.
//
//   dw = ai.amp.ConvWeightGradient (x, g)   dw = ai.amp.MatrixWeightGradient (a, b)   dx = ai.amp.MaxPoolGradient (x, g)
#include <cmath>
#include <utility>

#include "runtime/kernel/shape_math.h"
#include "runtime/reference/accumulator.h"
#include "runtime/reference/convolution.h"
#include "runtime/reference/families.h"
#include "runtime/reference/gemm.h"
#include "runtime/reference/window.h"

namespace amp {
namespace {

absl::Status RoundToOutput(KernelContext& context, const Tensor& gradient, DType to) {
  AMP_ASSIGN_OR_RETURN(Tensor rounded, FromAccumulator(gradient, to));
  context.SetOutput(0, std::move(rounded));
  return absl::OkStatus();
}

DType StatedType(const KernelContext& context) { return GetDType(context.node(), "to").value_or(DType::kFloat32); }

absl::Status ConvWeightGradient(KernelContext& context) {
  AMP_ASSIGN_OR_RETURN(const Tensor x, ToFloat64(context.Input(0)));
  AMP_ASSIGN_OR_RETURN(const Tensor g, ToFloat64(context.Input(1)));
  AMP_ASSIGN_OR_RETURN(const Tensor gradient, ConvolveForWeights(context.node(), x, g));
  return RoundToOutput(context, gradient, StatedType(context));
}

absl::Status MatrixWeightGradient(KernelContext& context) {
  AMP_ASSIGN_OR_RETURN(const Tensor gradient, ComputeGemm(context));
  return RoundToOutput(context, gradient, StatedType(context));
}

// Which element of an image a window's largest is, of equal ones the first, as MaxPool says it; nothing but padding: the
// image's first.
size_t LargestOf(absl::Span<const double> image, absl::Span<const int64_t> places) {
  size_t largest = places.empty() ? 0 : static_cast<size_t>(places[0]);
  for (const int64_t candidate : places) {
    const auto place = static_cast<size_t>(candidate);
    if (image[place] > image[largest] || std::isnan(image[place])) largest = place;
  }
  return largest;
}

absl::Status MaxPoolGradient(KernelContext& context) {
  if (context.Input(0).rank() < 3) return ModelError("expected images, found ", context.Input(0).TypeText());
  AMP_ASSIGN_OR_RETURN(const Tensor x, ToFloat64(context.Input(0)));
  AMP_ASSIGN_OR_RETURN(const Tensor g, ToFloat64(context.Input(1)));
  const std::vector<int64_t> kernel = GetInts(context.node(), "kernel_shape").value_or(std::vector<int64_t>());
  AMP_ASSIGN_OR_RETURN(const Window window, SlideWindow(context.node(), SpatialDims(x), kernel));
  const Dims dims = OutputDims(window, x.dim(0), x.dim(1));
  if (g.dims() != dims) return ModelError("input 1: expected ", DimsText(dims), ", found ", DimsText(g.dims()));
  AMP_ASSIGN_OR_RETURN(Tensor gradient, FilledFloat64(x.dims(), 0));
  if (x.num_elements() == 0) return RoundToOutput(context, gradient, context.Input(0).dtype());
  const auto images = static_cast<size_t>(ElementsBetween(x.dims(), 0, 2));
  const size_t image_size = Doubles(x).size() / images, positions = NumPositions(window);
  const auto out = gradient.mutable_elements<double>();
  VisitWindows(window, [&](const WindowRun& run) {
    for (size_t i = 0; i < images * run.ends.size(); ++i) {
      const size_t image = i / run.ends.size(), position = i % run.ends.size(), first = image * image_size;
      out[first + LargestOf(Doubles(x).subspan(first, image_size), run.PlacesOf(position))] +=
          Doubles(g)[image * positions + run.first + position];
    }
  });
  return RoundToOutput(context, gradient, context.Input(0).dtype());
}

constexpr absl::string_view kDomain = "ai.amp";
constexpr KernelRow kRows[] = {
    {"ConvWeightGradient", ConvWeightGradient, kDomain},
    {"MatrixWeightGradient", MatrixWeightGradient, kDomain},
    {"MaxPoolGradient", MaxPoolGradient, kDomain},
};

}  // namespace

absl::Span<const KernelRow> GradientKernels() { return kRows; }

}  // namespace amp
