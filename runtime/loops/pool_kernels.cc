// MaxPool and AveragePool over images of any number of axes in both layouts. Rows lie along the last axis; which of
// them a window has is found for all axes before that at once.
//
//   row-major        one image after another: the rows of a window are joined, then the columns of what that gives
//   channels-last    row by row of the result: all pixels of a window at once, in as many windows as lie alike
//   with indices     one image after another: the largest so far and its place, for a row of windows at a time
#include <algorithm>
#include <limits>
#include <utility>
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

enum class Kind { kMax, kAverage };

absl::StatusOr<PoolForm> ReadForm(const KernelContext& context) {
  return ReadPool(context.node(), SpatialDims(context.Input(0)), LargeWindow::kCut);
}

Refusal WhyNot(const KernelContext& context) {
  const Tensor& x = context.Input(0);
  if (!IsLoopFloat(x.dtype())) return kNoLoopFloat;
  if (x.rank() < 3 || x.num_elements() == 0) return "no images";
  const absl::StatusOr<PoolForm> form = ReadForm(context);
  if (!form.ok()) return "a window that does not fit";
  if (context.HasOutput(1) && form->counts_by_columns) return "indices of columns";
  return WhyNotWindows(form->window);
}

struct Pooling {
  Kind kind;
  bool counts_padding;
  std::vector<Taps> rows, columns;
  size_t height, width;  // of the input: rows of an image, and elements of a row

  float Start() const { return kind == Kind::kMax ? -std::numeric_limits<float>::infinity() : 0; }
  // Returns the divisor of a window's sum.
  float Count(const Taps& row, const Taps& column) const {
    return counts_padding ? row.padded_count * column.padded_count
                          : static_cast<float>(row.places.size()) * static_cast<float>(column.places.size());
  }
};

// ---- row-major ------------------------------------------------------------------------------------------------------

// A row with its padding, cut into as many phases as the stride is long: tap k of all outputs is a part of one of them.
//
//   stride 2:  p 0 1 2 3 4 p   phase 0: p 1 3 p   phase 1: 0 2 4   tap 0: p 1 3   tap 1: 0 2 4   tap 2: 1 3 p
class Phases {
 public:
  Phases(const Loops& loops, const WindowAxis& axis, size_t width, float start)
      : loops_(loops),
        stride_(static_cast<size_t>(axis.stride)),
        dilation_(static_cast<size_t>(axis.dilation)),
        pad_(static_cast<size_t>(axis.pad_begin)) {
    const auto output = static_cast<size_t>(axis.output), extent = static_cast<size_t>(axis.Extent());
    length_ = output + extent / stride_ + 1;
    num_phases_ = stride_ == 2 ? 2 : std::min(stride_, extent);  // those that taps are in
    const size_t read = (output - 1) * stride_ + extent;
    padded_.assign(std::max({read, pad_ + width, stride_ == 2 ? 2 * length_ : 0}), start);
    if (stride_ > 1) phases_.assign(num_phases_ * length_, start);
  }

  // Where the row goes, before Split.
  float* row() { return padded_.data() + pad_; }
  void Split() {
    if (stride_ == 2) return loops_.rows.split_pairs(padded_.data(), phases_.data(), phases_.data() + length_, length_);
    for (size_t phase = 0; phase < num_phases_ && stride_ > 1; ++phase) {
      const float* from = padded_.data() + phase;
      float* const to = phases_.data() + phase * length_;
      const size_t count = std::min(length_, (padded_.size() - phase + stride_ - 1) / stride_);
      for (size_t i = 0; i < count; ++i) to[i] = from[i * stride_];
    }
  }
  const float* OfTap(size_t tap) const {
    const size_t at = tap * dilation_;
    return stride_ == 1 ? padded_.data() + at : phases_.data() + at % stride_ * length_ + at / stride_;
  }

 private:
  const Loops& loops_;
  size_t stride_, dilation_, pad_;
  size_t length_ = 0, num_phases_ = 0;
  std::vector<float> padded_, phases_;
};

// Pools one image after another, row by row of the result.
class ImagePooling {
 public:
  ImagePooling(const Loops& loops, const Pooling& pooling, const WindowAxis& axis)
      : loops_(loops),
        pooling_(pooling),
        join_(pooling.kind == Kind::kMax ? loops.rows.largest_of_taps : loops.rows.sum_of_taps),
        phases_(loops, axis, pooling.width, pooling.Start()) {
    for (size_t tap = 0; tap < static_cast<size_t>(axis.kernel); ++tap) taps_.push_back(phases_.OfTap(tap));
  }

  void PoolRow(const Taps& row, const float* image, float* out) {
    const size_t columns = pooling_.columns.size();
    lines_.clear();
    for (const size_t place : row.places) lines_.push_back(image + place * pooling_.width);
    if (lines_.empty()) {
      std::fill_n(phases_.row(), pooling_.width, pooling_.Start());
    } else {
      join_(lines_.data(), lines_.size(), 0, phases_.row(), pooling_.width, 1);
    }
    phases_.Split();
    join_(taps_.data(), taps_.size(), 0, out, columns, 1);
    if (pooling_.kind == Kind::kMax) return;
    loops_.binary.divide.of_both(out, CountsOf(row), out, columns);
  }

 private:
  // The divisors of a row; most rows have those of the row before.
  const float* CountsOf(const Taps& row) {
    const bool is_like_before = row_of_counts_ != nullptr && row_of_counts_->padded_count == row.padded_count &&
                                row_of_counts_->places.size() == row.places.size();
    if (!is_like_before) {
      counts_.clear();
      for (const Taps& column : pooling_.columns) counts_.push_back(pooling_.Count(row, column));
    }
    row_of_counts_ = &row;
    return counts_.data();
  }

  const Loops& loops_;
  const Pooling& pooling_;
  RowLoops::JoinTaps join_;
  Phases phases_;
  std::vector<const float*> taps_, lines_;
  std::vector<float> counts_;
  const Taps* row_of_counts_ = nullptr;
};

void PoolImages(const Loops& loops, const Pooling& pooling, const WindowAxis& axis, const Tensor& x, Tensor& y) {
  const size_t pixels = pooling.height * pooling.width, columns = pooling.columns.size();
  const size_t images = static_cast<size_t>(x.num_elements()) / pixels;
  const FloatSource in(loops, x);
  const FloatSink out(loops, y);
  ParallelFor(images, pixels, [&](const Share& share) {
    std::vector<float> buffer(pixels), result(columns);
    ImagePooling image_pooling(loops, pooling, axis);
    for (size_t i = share.first, at = i * pooling.rows.size() * columns; i < share.end; ++i) {
      const float* const image = in.Read(i * pixels, pixels, buffer.data());
      for (const Taps& row : pooling.rows) {
        image_pooling.PoolRow(row, image, out.Begin(at, result.data()));
        out.End(at, columns, result.data());
        at += columns;
      }
    }
  });
}

// ---- channels-last --------------------------------------------------------------------------------------------------

// Columns of the result whose windows have as many places, each one `stride` further than the one before.
struct ColumnRun {
  size_t first, count, stride;
};

bool Continues(const Taps& before, const Taps& next, size_t stride) {
  if (before.places.size() != next.places.size() || before.padded_count != next.padded_count) return false;
  return std::equal(before.places.begin(), before.places.end(), next.places.begin(),
                    [stride](size_t a, size_t b) { return a + stride == b; });
}

std::vector<ColumnRun> RunsOf(const std::vector<Taps>& columns, size_t stride) {
  std::vector<ColumnRun> runs;
  for (size_t c = 0; c < columns.size(); ++c) {
    if (c > 0 && Continues(columns[c - 1], columns[c], stride)) {
      ++runs.back().count;
    } else {
      runs.push_back({c, 1, stride});
    }
  }
  return runs;
}

// Pools rows of images whose pixels have all channels.
class PixelPooling {
 public:
  PixelPooling(const Loops& loops, const Pooling& pooling, const WindowAxis& axis, const std::vector<ColumnRun>& runs,
               const Tensor& x)
      : loops_(loops),
        pooling_(pooling),
        axis_(axis),
        runs_(runs),
        in_(loops, x),
        channels_(static_cast<size_t>(x.dim(1))),
        length_(pooling.width * channels_) {}

  // Row `row` of the result of image n.
  void PoolRow(size_t n, const Taps& row, float* out) {
    ReadLines(n, row);
    if (JoinsLinesFirst(row)) JoinLines();
    for (const ColumnRun& run : runs_) PoolRun(row, run, out + run.first * channels_);
  }

 private:
  void ReadLines(size_t n, const Taps& row) {
    buffer_.resize(row.places.size() * length_);
    lines_.clear();
    for (const size_t place : row.places) {
      lines_.push_back(
          in_.Read((n * pooling_.height + place) * length_, length_, buffer_.data() + lines_.size() * length_));
    }
  }

  // Whether windows are large, so that they share most of their elements with the next ones.
  bool JoinsLinesFirst(const Taps& row) const {
    const auto lines = static_cast<int64_t>(row.places.size());
    return lines * axis_.kernel > 2 * (lines * axis_.stride + axis_.kernel);
  }
  void JoinLines() {
    joined_.resize(length_);
    JoinTaps()(lines_.data(), lines_.size(), 0, joined_.data(), length_, 1);
    lines_.assign(1, joined_.data());
  }
  RowLoops::JoinTaps JoinTaps() const {
    return pooling_.kind == Kind::kMax ? loops_.rows.largest_of_taps : loops_.rows.sum_of_taps;
  }

  void PoolRun(const Taps& row, const ColumnRun& run, float* out) {
    const Taps& column = pooling_.columns[run.first];
    const size_t size = run.count * channels_;
    taps_.clear();
    for (const float* const line : lines_) {
      for (const size_t place : column.places) taps_.push_back(line + place * channels_);
    }
    if (taps_.empty()) {
      std::fill_n(out, size, pooling_.Start());
    } else {
      JoinTaps()(taps_.data(), taps_.size(), run.stride * channels_, out, channels_, run.count);
    }
    if (pooling_.kind == Kind::kMax) return;
    const float count = pooling_.Count(row, column);
    loops_.binary.divide.of_one_b(out, &count, out, size);
  }

  const Loops& loops_;
  const Pooling& pooling_;
  const WindowAxis& axis_;
  const std::vector<ColumnRun>& runs_;
  FloatSource in_;
  size_t channels_, length_;
  std::vector<float> buffer_, joined_;
  std::vector<const float*> lines_, taps_;
};

void PoolPixels(const Loops& loops, const Pooling& pooling, const WindowAxis& axis, const Tensor& x, Tensor& y) {
  const size_t rows = pooling.rows.size(), result = pooling.columns.size() * static_cast<size_t>(x.dim(1));
  const std::vector<ColumnRun> runs = RunsOf(pooling.columns, static_cast<size_t>(axis.stride));
  const FloatSink out(loops, y);
  ParallelFor(static_cast<size_t>(x.dim(0)) * rows, result * static_cast<size_t>(axis.kernel), [&](const Share& share) {
    PixelPooling pixels(loops, pooling, axis, runs, x);
    std::vector<float> buffer(result);
    for (size_t row = share.first; row < share.end; ++row) {
      pixels.PoolRow(row / rows, pooling.rows[row % rows], out.Begin(row * result, buffer.data()));
      out.End(row * result, result, buffer.data());
    }
  });
}

// ---- with indices ---------------------------------------------------------------------------------------------------

void PoolImagesWithPlaces(const Loops& loops, const Pooling& pooling, const WindowAxis& axis, const Tensor& x,
                          Tensor& y, absl::Span<int64_t> indices) {
  const size_t pixels = pooling.height * pooling.width, columns = pooling.columns.size();
  const size_t images = static_cast<size_t>(x.num_elements()) / pixels;
  const FloatSource in(loops, x);
  const FloatSink out(loops, y);
  ParallelFor(images, pixels, [&](const Share& share) {
    std::vector<float> buffer(pixels);
    LargestOfRow largest(columns);
    for (size_t i = share.first, at = i * pooling.rows.size() * columns; i < share.end; ++i) {
      const float* const image = in.Read(i * pixels, pixels, buffer.data());
      for (const Taps& row : pooling.rows) {
        FindLargest(loops, row, axis, image, largest);
        std::copy_n(largest.values.data(), columns, out.Begin(at, largest.values.data()));
        out.End(at, columns, largest.values.data());
        for (size_t column = 0; column < columns; ++column) {
          indices[at + column] = static_cast<int64_t>(i * pixels) + std::max(largest.places[column], 0);
        }
        at += columns;
      }
    }
  });
}

// Pools elements in any layout; the result is row-major.
absl::Status MaxPoolWithPlaces(KernelContext& context, const Pooling& pooling, const Window& window) {
  AMP_ASSIGN_OR_RETURN(const Tensor x, InLayout(context.Input(0), Layout::kRowMajor, context.memory()));
  const Dims dims = OutputDims(window, x.dim(0), x.dim(1));
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutput(0, x.dtype(), dims));
  AMP_ASSIGN_OR_RETURN(Tensor * indices, context.MakeOutput(1, DType::kInt64, dims));
  PoolImagesWithPlaces(BestLoops(), pooling, window.back(), x, *y, indices->mutable_elements<int64_t>());
  return absl::OkStatus();
}

template <Kind kKind>
absl::Status Pool(KernelContext& context) {
  const Loops& loops = BestLoops();
  context.Report(loops.name, DType::kFloat32);
  const Tensor& x = context.Input(0);
  AMP_ASSIGN_OR_RETURN(const PoolForm form, ReadForm(context));
  const Window& window = form.window;
  const Pooling pooling = {.kind = kKind,
                           .counts_padding = form.counts_padding,
                           .rows = RowsOf(window),
                           .columns = TapsOf(window.back()),
                           .height = static_cast<size_t>(ElementsBetween(x.dims(), 2, x.rank() - 1)),
                           .width = static_cast<size_t>(x.dim(x.rank() - 1))};
  if (context.HasOutput(1)) return MaxPoolWithPlaces(context, pooling, window);
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutput(0, x.dtype(), OutputDims(window, x.dim(0), x.dim(1))));
  y->set_layout(x.layout());
  if (x.layout() == Layout::kChannelsLast) {
    PoolPixels(loops, pooling, window.back(), x, *y);
  } else {
    PoolImages(loops, pooling, window.back(), x, *y);
  }
  return absl::OkStatus();
}

constexpr KernelRow Row(absl::string_view op_type, KernelFunction function) {
  return {.op_type = op_type, .function = function, .refusal = WhyNot, .family = "loops", .takes_channels_last = true};
}

constexpr KernelRow kRows[] = {Row("AveragePool", Pool<Kind::kAverage>), Row("MaxPool", Pool<Kind::kMax>)};

}  // namespace

absl::Span<const KernelRow> PoolLoopKernels() { return kRows; }

}  // namespace amp
