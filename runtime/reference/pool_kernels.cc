// Pooling: averages, maxima and norms of windows, or of whole images.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <utility>
#include <vector>

#include "runtime/forms/pool.h"
#include "runtime/kernel/move_elements.h"
#include "runtime/kernel/shape_math.h"
#include "runtime/reference/accumulator.h"
#include "runtime/reference/families.h"
#include "runtime/reference/quantized.h"

namespace amp {
namespace {

// The value of a window: its elements within the image, and how many taps it has there and in the padding.
using PoolFunction =
    std::function<double(absl::Span<const double> image, absl::Span<const int64_t> places, double size)>;

absl::Status CheckImages(const KernelContext& context) {
  if (context.Input(0).rank() >= 2) return absl::OkStatus();
  return ModelError("expected X [N, C, ..], found ", context.InputDatum(0).TypeText());
}

absl::StatusOr<PoolForm> ReadForm(const KernelContext& context) {
  AMP_RETURN_IF_ERROR(CheckImages(context));
  return ReadPool(context.node(), SpatialDims(context.Input(0)), LargeWindow::kCut);
}

// One window over the whole image. It has no taps where the image has no elements.
Window GlobalWindow(const Tensor& x) {
  Window window;
  for (const int64_t size : SpatialDims(x)) window.push_back({.input = size, .kernel = size, .output = 1});
  return window;
}

// Goes over the windows of all images: visit(image, index of the output, places, size).
template <typename Visit>
void VisitImageWindows(const Window& window, const Tensor& x, Visit visit) {
  const auto images = static_cast<size_t>(ElementsBetween(x.dims(), 0, 2));
  if (images == 0) return;
  const size_t positions = NumPositions(window);
  VisitWindows(window, [&](const WindowRun& run) {
    for (size_t image = 0; image < images; ++image) {
      for (size_t i = 0; i < run.ends.size(); ++i) {
        visit(image, image * positions + run.first + i, run.PlacesOf(i), run.sizes[i]);
      }
    }
  });
}

// Pools a tensor of float64.
absl::StatusOr<Tensor> PoolDoubles(const Tensor& x, const Window& window, const PoolFunction& function) {
  AMP_ASSIGN_OR_RETURN(Tensor result, FilledFloat64(OutputDims(window, x.dim(0), x.dim(1)), 0));
  const auto images = static_cast<size_t>(ElementsBetween(x.dims(), 0, 2));
  const size_t image_size = images == 0 ? 0 : Doubles(x).size() / images;
  const auto out = result.mutable_elements<double>();
  VisitImageWindows(window, x, [&](size_t image, size_t output, absl::Span<const int64_t> places, double size) {
    out[output] = function(Doubles(x).subspan(image * image_size, image_size), places, size);
  });
  return result;
}

absl::Status Pool(KernelContext& context, const Window& window, const PoolFunction& function) {
  AMP_ASSIGN_OR_RETURN(const Tensor wide, ToFloat64(context.Input(0)));
  AMP_ASSIGN_OR_RETURN(const Tensor result, PoolDoubles(wide, window, function));
  AMP_ASSIGN_OR_RETURN(Tensor y, FromAccumulator(result, context.Input(0).dtype()));
  context.SetOutput(0, std::move(y));
  return absl::OkStatus();
}

PoolFunction Average(bool count_padding) {
  return [count_padding](absl::Span<const double> image, absl::Span<const int64_t> places, double size) {
    double sum = 0;
    for (const int64_t place : places) sum += image[static_cast<size_t>(place)];
    return sum / (count_padding ? size : static_cast<double>(places.size()));
  };
}

// `p` is an integer except in version 1.
absl::StatusOr<PoolFunction> Norm(const Node& node) {
  const double p = GetInt(node, "p").has_value() ? static_cast<double>(GetInt(node, "p", 2)) : GetFloat(node, "p", 2);
  if (!(p > 0)) return ModelError("p: expected a number above 0, found ", p);
  return [p](absl::Span<const double> image, absl::Span<const int64_t> places, double) {
    double sum = 0;
    for (const int64_t place : places) {
      const double magnitude = std::fabs(image[static_cast<size_t>(place)]);
      sum += p == 2 ? magnitude * magnitude : std::pow(magnitude, p);
    }
    return p == 2 ? std::sqrt(sum) : std::pow(sum, 1 / p);
  };
}

absl::Status AveragePool(KernelContext& context) {
  AMP_ASSIGN_OR_RETURN(const PoolForm form, ReadForm(context));
  return Pool(context, form.window, Average(form.counts_padding));
}

// com.microsoft: of quantised numbers, X with scale and zero point, then those of Y. Padding stands for 0.
absl::Status QLinearAveragePool(KernelContext& context) {
  if (HasChannelsLast(context.node())) return ModelError("channels_last: expected 0, found another");
  AMP_ASSIGN_OR_RETURN(const PoolForm form, ReadForm(context));
  AMP_ASSIGN_OR_RETURN(const Quantization of_x, ReadQuantization(context, 1, 2));
  AMP_ASSIGN_OR_RETURN(const Quantization of_y, ReadQuantization(context, 3, 4));
  AMP_ASSIGN_OR_RETURN(const Tensor x, Dequantize(context.Input(0), of_x));
  AMP_ASSIGN_OR_RETURN(const Tensor means, PoolDoubles(x, form.window, Average(form.counts_padding)));
  AMP_ASSIGN_OR_RETURN(Tensor y, Quantize(means, of_y, context.Input(0).dtype()));
  context.SetOutput(0, std::move(y));
  return absl::OkStatus();
}

absl::Status LpPool(KernelContext& context) {
  AMP_ASSIGN_OR_RETURN(const PoolForm form, ReadForm(context));
  AMP_ASSIGN_OR_RETURN(const PoolFunction norm, Norm(context.node()));
  return Pool(context, form.window, norm);
}

absl::Status GlobalAveragePool(KernelContext& context) {
  AMP_RETURN_IF_ERROR(CheckImages(context));
  return Pool(context, GlobalWindow(context.Input(0)), Average(/*count_padding=*/false));
}

absl::Status GlobalLpPool(KernelContext& context) {
  AMP_RETURN_IF_ERROR(CheckImages(context));
  AMP_ASSIGN_OR_RETURN(const PoolFunction norm, Norm(context.node()));
  return Pool(context, GlobalWindow(context.Input(0)), norm);
}

// The number of an element if the image's last axis came first: storage_order 1.
int64_t ColumnMajor(int64_t place, absl::Span<const int64_t> dims) {
  int64_t result = 0, stride = ElementsBetween(dims, 0, dims.size());
  for (size_t i = dims.size(); i-- > 0; place /= dims[i]) {
    stride /= dims[i];
    result += place % dims[i] * stride;
  }
  return result;
}

// Whether `x` takes the place of the largest so far: NaN does, as in a comparison that answers with NaN.
template <typename T>
bool Exceeds(T x, T largest) {
  if constexpr (kIsFloat<T>) return ToDouble(x) > ToDouble(largest) || std::isnan(ToDouble(x));
  return Load(x) > Load(largest);
}

// The least of a type, for windows that have nothing but padding.
template <typename T>
T Least() {
  if constexpr (kIsFloat<T>) return FromDouble<T>(-INFINITY);
  if constexpr (!kIsFloat<T>) return std::numeric_limits<T>::lowest();
}

absl::Status MaxOver(KernelContext& context, const PoolForm& form) {
  const Tensor& x = context.Input(0);
  const Dims dims = OutputDims(form.window, x.dim(0), x.dim(1));
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutput(0, x.dtype(), dims));
  Tensor* indices = nullptr;
  if (context.HasOutput(1)) {
    AMP_ASSIGN_OR_RETURN(indices, context.MakeOutput(1, DType::kInt64, dims));
  }
  const int64_t image_size = ElementsBetween(x.dims(), 2, x.rank());
  const bool known = VisitNumbers(x.dtype(), [&]<typename T>(TypeTag<T>) {
    const auto in = x.elements<T>();
    const auto out = y->mutable_elements<T>();
    VisitImageWindows(form.window, x, [&](size_t image, size_t output, absl::Span<const int64_t> places, double) {
      const int64_t base = static_cast<int64_t>(image) * image_size;
      int64_t largest = places.empty() ? 0 : places[0];
      for (const int64_t place : places) {
        if (Exceeds(in[static_cast<size_t>(base + place)], in[static_cast<size_t>(base + largest)])) largest = place;
      }
      out[output] = places.empty() ? Least<T>() : in[static_cast<size_t>(base + largest)];
      if (indices == nullptr) return;
      indices->mutable_elements<int64_t>()[output] =
          base + (form.counts_by_columns && !places.empty() ? ColumnMajor(largest, SpatialDims(x)) : largest);
    });
  });
  return known ? absl::OkStatus() : context.TypeError(x.dtype());
}

absl::Status MaxPool(KernelContext& context) {
  AMP_ASSIGN_OR_RETURN(const PoolForm form, ReadForm(context));
  return MaxOver(context, form);
}

absl::Status GlobalMaxPool(KernelContext& context) {
  AMP_RETURN_IF_ERROR(CheckImages(context));
  return MaxOver(context, {.window = GlobalWindow(context.Input(0))});
}

// The shape that pooling gave X's shape from, as far as that can be told: its indices count in this one.
absl::StatusOr<Dims> UnpooledDims(const KernelContext& context) {
  AMP_RETURN_IF_ERROR(CheckImages(context));
  const Tensor& x = context.Input(0);
  const std::vector<int64_t> kernel = GetInts(context.node(), "kernel_shape").value_or(std::vector<int64_t>());
  AMP_ASSIGN_OR_RETURN(const Window window, ReadWindow(context.node(), SpatialDims(x), kernel));
  Dims dims = {x.dim(0), x.dim(1)};
  for (const WindowAxis& axis : window) {
    dims.push_back((axis.input - 1) * axis.stride + axis.kernel - axis.pad_begin - axis.pad_end);
    if (dims.back() < 0) return ModelError("expected pads within the output, found an output ", DimsText(dims));
  }
  return dims;
}

// `x` cut, or filled with zeros at the ends, to other dims.
absl::StatusOr<Tensor> Fit(const Tensor& x, const Dims& dims) {
  AMP_ASSIGN_OR_RETURN(Tensor y, Tensor::Create(x.dtype(), dims));
  FillWithZero(y);
  Dims common;
  for (size_t i = 0; i < dims.size(); ++i) common.push_back(std::min(dims[i], x.dim(i)));
  VisitStorage(x.dtype(), [&]<typename T>(TypeTag<T>) {
    for (StridedWalk walk(common, {RowStrides(x.dims()), RowStrides(dims)}); !walk.AtEnd(); walk.Next()) {
      y.mutable_elements<T>()[walk[1]] = x.elements<T>()[walk[0]];
    }
  });
  return y;
}

absl::Status MaxUnpool(KernelContext& context) {
  const Tensor& x = context.Input(0);
  AMP_ASSIGN_OR_RETURN(const Dims dims, UnpooledDims(context));
  AMP_ASSIGN_OR_RETURN(const std::vector<int64_t> indices, context.InputInts(1));
  if (context.Input(1).dims() != x.dims()) {
    return ModelError("expected indices ", DimsText(x.dims()), ", found ", context.Input(1).TypeText());
  }
  AMP_ASSIGN_OR_RETURN(Tensor unpooled, Tensor::Create(x.dtype(), dims));
  FillWithZero(unpooled);
  for (const int64_t index : indices) {
    if (index < 0 || index >= unpooled.num_elements()) {
      return ModelError("expected indices in [0, ", unpooled.num_elements(), "), found ", index);
    }
  }
  VisitStorage(x.dtype(), [&]<typename T>(TypeTag<T>) {
    for (size_t i = 0; i < indices.size(); ++i) {
      unpooled.mutable_elements<T>()[static_cast<size_t>(indices[i])] = x.elements<T>()[i];
    }
  });
  if (context.HasInput(2)) {
    AMP_ASSIGN_OR_RETURN(const Dims wanted, context.InputInts(2));
    if (wanted.size() != dims.size()) {
      return ModelError("output_shape: expected ", dims.size(), " dimensions, found ", DimsText(wanted));
    }
    AMP_ASSIGN_OR_RETURN(unpooled, Fit(unpooled, wanted));
  }
  context.SetOutput(0, std::move(unpooled));
  return absl::OkStatus();
}

constexpr KernelRow kRows[] = {
    {"AveragePool", AveragePool},
    {"QLinearAveragePool", QLinearAveragePool, "com.microsoft"},
    {"MaxPool", MaxPool},
    {"LpPool", LpPool},
    {"GlobalAveragePool", GlobalAveragePool},
    {"GlobalMaxPool", GlobalMaxPool},
    {"GlobalLpPool", GlobalLpPool},
    {"MaxUnpool", MaxUnpool},
};

}  // namespace

absl::Span<const KernelRow> PoolKernels() { return kRows; }

}  // namespace amp
