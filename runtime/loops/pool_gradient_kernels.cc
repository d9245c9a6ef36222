// ai.amp.MaxPoolGradient: what a window gives goes to the element that is its largest, the first of equal ones.
//
//   row-major        one image after another: the places of the largest, for a row of windows at a time
//   channels-last    window by window, all channels at once
//
// ai.amp.AveragePoolGradient: every element of a window has its share. A row of windows makes one row of shares, which
// every row that they have gets.
#include <algorithm>
#include <vector>

#include "ir/base/status.h"
#include "runtime/forms/pool.h"
#include "runtime/kernel/layout.h"
#include "runtime/kernel/parallel_for.h"
#include "runtime/kernel/shape_math.h"
#include "runtime/loops/best_loops.h"
#include "runtime/loops/families.h"
#include "runtime/loops/float_parts.h"
#include "runtime/loops/pool_windows.h"

namespace amp {
namespace {

Refusal WhyNot(const KernelContext& context) {
  const Tensor &x = context.Input(0), &g = context.Input(1);
  if (!IsLoopFloat(x.dtype()) || !IsLoopFloat(g.dtype())) return kNoLoopFloat;
  if (x.rank() < 3 || x.num_elements() == 0) return "no images";
  const absl::StatusOr<PoolForm> form = ReadPool(context.node(), SpatialDims(x));
  if (!form.ok()) return "a window that does not fit";
  if (g.dims() != OutputDims(form->window, x.dim(0), x.dim(1))) return "another shape than the pool's result";
  return WhyNotWindows(form->window);
}

struct Pooling {
  const Loops& loops;
  std::vector<Taps> rows, columns;
  size_t height, width;  // of x: rows of an image, and elements of a row

  size_t pixels() const { return height * width; }
  size_t results() const { return rows.size() * columns.size(); }  // of an image
};

Pooling PoolingOf(const Loops& loops, const Window& window, const Dims& x) {
  return {.loops = loops,
          .rows = RowsOf(window),
          .columns = TapsOf(window.back()),
          .height = static_cast<size_t>(ElementsBetween(x, 2, x.size() - 1)),
          .width = static_cast<size_t>(x.back())};
}

// ---- largest elements
// -----------------------------------------------------------------------------------------------------

// Spreads the gradient over images that have one channel each.
void SpreadOverImages(const Pooling& pooling, const WindowAxis& axis, const Tensor& x, const Tensor& g, Tensor& dx) {
  const FloatSource in(pooling.loops, x), results(pooling.loops, g);
  const FloatSink sink(pooling.loops, dx);
  const size_t pixels = pooling.pixels(), columns = pooling.columns.size();
  const size_t images = static_cast<size_t>(x.num_elements()) / pixels;
  ParallelFor(images, pixels, [&](const Share& share) {
    std::vector<float> buffer(pixels), result_buffer(columns), out_buffer(pixels);
    LargestOfRow largest(columns);
    for (size_t i = share.first, at = i * pooling.results(); i < share.end; ++i) {
      float* const out = sink.Begin(i * pixels, out_buffer.data());
      std::fill_n(out, pixels, 0.0f);
      const float* const image = in.Read(i * pixels, pixels, buffer.data());
      for (const Taps& row : pooling.rows) {
        FindLargest(pooling.loops, row, axis, image, largest);
        const float* const gradients = results.Read(at, columns, result_buffer.data());
        for (size_t c = 0; c < columns; ++c) out[std::max(largest.places[c], 0)] += gradients[c];
        at += columns;
      }
      sink.End(i * pixels, pixels, out);
    }
  });
}

// Visits the windows of one image, with the pixels that they have.
class Pixels {
 public:
  Pixels(const Pooling& pooling, size_t channels) : pooling_(pooling), channels_(channels) {}

  // `results`: of the image.
  void Spread(const float* image, const float* results, float* out) {
    std::fill_n(out, pooling_.pixels() * channels_, 0.0f);
    for (const Taps& row : pooling_.rows) {
      for (const Taps& column : pooling_.columns) {
        FindTaps(row, column, image, out);
        pooling_.loops.rows.give_to_largest(from_.data(), to_.data(), from_.size(), results, channels_);
        results += channels_;
      }
    }
  }

 private:
  // A window that has nothing but padding gives to the first pixel.
  void FindTaps(const Taps& row, const Taps& column, const float* image, float* out) {
    from_.clear();
    to_.clear();
    for (const size_t r : row.places) {
      for (const size_t c : column.places) AddPixel(r * pooling_.width + c, image, out);
    }
    if (from_.empty()) AddPixel(0, image, out);
  }
  void AddPixel(size_t pixel, const float* image, float* out) {
    from_.push_back(image + pixel * channels_);
    to_.push_back(out + pixel * channels_);
  }

  const Pooling& pooling_;
  size_t channels_;
  std::vector<const float*> from_;
  std::vector<float*> to_;
};

void SpreadOverPixels(const Pooling& pooling, const Tensor& x, const Tensor& g, Tensor& dx) {
  const auto channels = static_cast<size_t>(x.dim(1)), batch = static_cast<size_t>(x.dim(0));
  const size_t image_size = pooling.pixels() * channels, results_size = pooling.results() * channels;
  const FloatSource in(pooling.loops, x), results(pooling.loops, g);
  const FloatSink sink(pooling.loops, dx);
  ParallelFor(batch, image_size, [&](const Share& share) {
    std::vector<float> buffer(image_size), results_buffer(results_size), out_buffer(image_size);
    Pixels pixels(pooling, channels);
    for (size_t n = share.first; n < share.end; ++n) {
      float* const out = sink.Begin(n * image_size, out_buffer.data());
      pixels.Spread(in.Read(n * image_size, image_size, buffer.data()),
                    results.Read(n * results_size, results_size, results_buffer.data()), out);
      sink.End(n * image_size, image_size, out);
    }
  });
}

absl::Status MaxPoolGradient(KernelContext& context) {
  const Loops& loops = BestLoops();
  context.Report(loops.name, DType::kFloat32);
  const Tensor& x = context.Input(0);
  AMP_ASSIGN_OR_RETURN(const Tensor g, InLayout(context.Input(1), x.layout(), context.memory()));
  AMP_ASSIGN_OR_RETURN(const PoolForm form, ReadPool(context.node(), SpatialDims(context.Input(0))));
  const Window& window = form.window;
  const Pooling pooling = PoolingOf(loops, window, x.dims());
  AMP_ASSIGN_OR_RETURN(Tensor * dx, context.MakeOutput(0, x.dtype(), x.dims()));
  dx->set_layout(x.layout());
  if (x.layout() == Layout::kChannelsLast) {
    SpreadOverPixels(pooling, x, g, *dx);
  } else {
    SpreadOverImages(pooling, window.back(), x, g, *dx);
  }
  return absl::OkStatus();
}

// ---- averages
// -----------------------------------------------------------------------------------------------------------

constexpr size_t kG = 0, kShare = 1, kShape = 2;  // inputs

// The shape of x, and its windows: as many as g has results.
struct Average {
  Dims dims;
  Window window;
};

absl::StatusOr<Average> ReadAverage(const KernelContext& context) {
  Average average;
  const Dims& g = context.Input(kG).dims();
  AMP_ASSIGN_OR_RETURN(average.dims, context.InputInts(kShape));
  const Dims& x = average.dims;
  const bool fits = x.size() >= 3 && x.size() == g.size() && x[0] == g[0] && x[1] == g[1] &&
                    std::all_of(x.begin(), x.end(), [](int64_t dim) { return dim > 0; });
  if (!fits) return Refusal("shapes that do not fit");
  AMP_ASSIGN_OR_RETURN(average.window, ReadAveragedWindow(context.node(), x, g));
  return average;
}

Refusal WhyNotAverage(const KernelContext& context) {
  const Tensor &g = context.Input(kG), &share = context.Input(kShare);
  if (!IsLoopFloat(g.dtype()) || share.dtype() != DType::kFloat32) return kNoLoopFloat;
  if (g.rank() < 3 || g.num_elements() == 0) return "no images";
  const bool is_number = share.num_elements() == 1,
             is_image = share.num_elements() * g.dim(0) * g.dim(1) == g.num_elements();
  if (!is_number && !is_image) return "shares of another shape";
  const absl::StatusOr<Average> average = ReadAverage(context);
  return average.ok() ? WhyNotWindows(average->window) : "a window that does not fit";
}

// Spreads the results of images whose pixels have one channel, or all.
class Shares {
 public:
  Shares(const Pooling& pooling, const Tensor& share, size_t channels)
      : pooling_(pooling), share_(share), channels_(channels), line_(pooling.width * channels) {}

  void Spread(const float* results, float* out) {
    const auto shares = share_.elements<float>();
    for (size_t row = 0, at = 0; row < pooling_.rows.size(); ++row) {
      std::fill(line_.begin(), line_.end(), 0.0f);
      for (const Taps& column : pooling_.columns) {
        for (const size_t c : column.places)
          Add(results, shares[shares.size() == 1 ? 0 : at], line_.data() + c * channels_);
        results += channels_;
        ++at;
      }
      for (const size_t r : pooling_.rows[row].places) {
        float* const to = out + r * line_.size();
        pooling_.loops.binary.add.of_both(to, line_.data(), to, line_.size());
      }
    }
  }

 private:
  // Few are not worth a call.
  void Add(const float* results, float share, float* to) const {
    constexpr size_t kFew = 16;
    if (channels_ >= kFew) return pooling_.loops.rows.add_scaled(results, share, to, channels_);
    for (size_t c = 0; c < channels_; ++c) to[c] += results[c] * share;
  }

  const Pooling& pooling_;
  const Tensor& share_;
  size_t channels_;
  std::vector<float> line_;
};

absl::Status AveragePoolGradient(KernelContext& context) {
  const Loops& loops = BestLoops();
  context.Report(loops.name, DType::kFloat32);
  AMP_ASSIGN_OR_RETURN(const Average average, ReadAverage(context));
  const Tensor& g = context.Input(kG);
  AMP_ASSIGN_OR_RETURN(Tensor * dx, context.MakeOutput(0, g.dtype(), average.dims));
  dx->set_layout(g.layout());
  const Dims& dims = average.dims;
  const Pooling pooling = PoolingOf(loops, average.window, dims);
  const bool is_last = g.layout() == Layout::kChannelsLast;
  const auto channels = static_cast<size_t>(is_last ? dims[1] : 1);
  const size_t results_size = pooling.results() * channels, image_size = pooling.pixels() * channels;
  const FloatSource results(loops, g);
  const FloatSink sink(loops, *dx);
  ParallelFor(static_cast<size_t>(dx->num_elements()) / image_size, image_size, [&](const Share& share) {
    std::vector<float> buffer(results_size), out_buffer(image_size);
    Shares shares(pooling, context.Input(kShare), channels);
    for (size_t i = share.first; i < share.end; ++i) {
      float* const out = sink.Begin(i * image_size, out_buffer.data());
      std::fill_n(out, image_size, 0.0f);
      shares.Spread(results.Read(i * results_size, results_size, buffer.data()), out);
      sink.End(i * image_size, image_size, out);
    }
  });
  return absl::OkStatus();
}

constexpr KernelRow RowOf(absl::string_view name, KernelFunction function, RefusalFunction refusal) {
  return {.op_type = name,
          .function = function,
          .domain = "ai.amp",
          .refusal = refusal,
          .family = "loops",
          .takes_channels_last = true};
}

constexpr KernelRow kRows[] = {RowOf("AveragePoolGradient", AveragePoolGradient, WhyNotAverage),
                               RowOf("MaxPoolGradient", MaxPoolGradient, WhyNot)};

}  // namespace

absl::Span<const KernelRow> PoolGradientLoopKernels() { return kRows; }

}  // namespace amp
