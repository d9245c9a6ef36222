#include "tools/data/data_column.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "absl/strings/str_join.h"
#include "ir/base/status.h"
#include "ir/file/tensor_view.h"
#include "runtime/device_run/device_rows.h"
#include "runtime/device_run/use_device.h"
#include "runtime/kernel/doubles.h"
#include "runtime/kernel/element.h"
#include "runtime/reference/elementwise.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace amp {
namespace {

std::string BatchText(DType dtype, const Dims& sample) {
  std::string text = absl::StrCat(DTypeName(dtype), "[n");
  for (const int64_t dim : sample) absl::StrAppend(&text, ",", dim < 0 ? "?" : absl::StrCat(dim));
  return text + "]";
}

bool IsFloatType(DType dtype) {
  return VisitFloats(dtype, [](auto) {});
}

bool Fits(absl::Span<const int64_t> found, absl::Span<const int64_t> wanted) {
  return std::equal(found.begin(), found.end(), wanted.begin(), wanted.end(),
                    [](int64_t a, int64_t b) { return b < 0 || a == b; });
}

bool AreKnown(absl::Span<const int64_t> dims) {
  return std::all_of(dims.begin(), dims.end(), [](int64_t dim) { return dim >= 0; });
}

// The range of an integer type as float64, the type that data have on their way.
struct WholeRange {
  double lowest = 0, highest = 0;
};

std::optional<WholeRange> WholeRangeOf(DType type) {
  constexpr double kExact = (1LL << std::numeric_limits<double>::digits) - 1;  // the next one may be rounded
  if (type == DType::kBool) return WholeRange{0, 1};
  WholeRange range;
  const bool is_integer = VisitIntegers(type, [&]<typename T>(TypeTag<T>) {
    range.lowest = std::max(-kExact, static_cast<double>(std::numeric_limits<T>::lowest()));
    range.highest = std::min(kExact, static_cast<double>(std::numeric_limits<T>::max()));
  });
  return is_integer ? std::make_optional(range) : std::nullopt;
}

std::string NumberText(double x) {
  const bool is_whole = x == std::trunc(x) && std::fabs(x) < 1e18;
  return is_whole ? absl::StrCat(static_cast<int64_t>(x)) : absl::StrCat(x);
}

// Integers would cut what lies between them, and hold at their largest what lies beyond.
absl::Status CheckWhole(const InputType& input, const WholeRange& range, const Tensor& data, double scale) {
  std::vector<double> sample(static_cast<size_t>(data.num_elements() / std::max<int64_t>(data.dim(0), 1)));
  for (int64_t row = 0; row < data.dim(0); ++row) {
    LoadDoubles(data, static_cast<size_t>(row) * sample.size(), absl::MakeSpan(sample));
    for (const double x : sample) {
      const double scaled = x * scale;
      if (scaled == std::trunc(scaled) && scaled >= range.lowest && scaled <= range.highest) continue;
      return UsageError("input '", Escaped(input.name), "': row ", row, ": expected whole numbers from ",
                        NumberText(range.lowest), " to ", NumberText(range.highest), " for ", DTypeName(input.dtype),
                        ", found ", NumberText(x), scale == 1 ? "" : absl::StrCat(" multiplied by ", scale));
    }
  }
  return absl::OkStatus();
}

// ", of which 3 numbers are not finite": steps that meet one are skipped.
std::string NotFiniteText(const Tensor& data) {
  int64_t count = 0;
  VisitFloats(data.dtype(), [&]<typename T>(TypeTag<T>) {
    for (const T element : data.elements<T>()) count += std::isfinite(ToDouble(element)) ? 0 : 1;
  });
  return count == 0 ? ""
                    : absl::StrCat(", of which ", count, count == 1 ? " number is" : " numbers are", " not finite");
}

absl::Status CheckBatchIsFree(const InputType& input) {
  if (input.dims.empty())
    return UsageError("input '", Escaped(input.name), "': expected a batch of samples, found a scalar");
  return absl::OkStatus();
}

// Where an output pixel lies between those of the source, as cameras see it: pixels are squares, not points.
struct Tap {
  int64_t first = 0, second = 0;
  double weight = 0;  // of the second
};

Tap TapOf(int64_t at, int64_t to, int64_t from, ResizeMode mode) {
  const double place = (static_cast<double>(at) + 0.5) * static_cast<double>(from) / static_cast<double>(to);
  if (mode == ResizeMode::kNearest) {
    const int64_t nearest = std::clamp<int64_t>(static_cast<int64_t>(place), 0, from - 1);
    return {nearest, nearest, 0};
  }
  const double centre = std::clamp(place - 0.5, 0.0, static_cast<double>(from - 1));
  const auto first = static_cast<int64_t>(centre);
  return {first, std::min(first + 1, from - 1), centre - static_cast<double>(first)};
}

}  // namespace

std::optional<DataColumn::Image> DataColumn::ImageOf(absl::Span<const int64_t> sample) {
  if (sample.size() == 2) return Image{1, sample[0], sample[1]};
  if (sample.size() == 3) return Image{sample[0], sample[1], sample[2]};
  return std::nullopt;
}

absl::StatusOr<DataColumn> DataColumn::OfData(const InputType& input, Tensor data, const FitOptions& options) {
  AMP_RETURN_IF_ERROR(CheckBatchIsFree(input));
  if (!VisitNumbersAndBool(data.dtype(), [](auto) {}) || !VisitNumbersAndBool(input.dtype, [](auto) {})) {
    return UsageError("input '", Escaped(input.name), "': expected numbers, found ", data.TypeText(), " for ",
                      DTypeName(input.dtype));
  }
  DataColumn column;
  column.name_ = input.name;
  column.dtype_ = input.dtype;
  const Dims sample(data.dims().begin() + 1, data.dims().end()), wanted(input.dims.begin() + 1, input.dims.end());
  const std::optional<Image> from = ImageOf(sample), to = ImageOf(wanted);
  if (Fits(sample, wanted)) {
    column.sample_dims_ = sample;
  } else if (AreKnown(wanted) && ElementCount(wanted) == ElementCount(sample)) {
    column.sample_dims_ = wanted;
  } else if (options.resize != ResizeMode::kNone && from && to && AreKnown(wanted) && from->height > 0 &&
             from->width > 0 && (from->channels == to->channels || from->channels == 1)) {
    column.sample_dims_ = wanted;
    column.resize_ = options.resize;
    column.from_ = *from;
    column.to_ = *to;
  } else {
    const char* const hint =
        from && to && options.resize == ResizeMode::kNone ? "; --resize changes the size of images" : "";
    return UsageError("input '", Escaped(input.name), "': expected samples for ", BatchText(input.dtype, wanted),
                      ", found ", data.TypeText(), hint);
  }
  const bool is_usually_scaled = data.dtype() == DType::kUint8 && IsFloatType(input.dtype);
  column.scale_ = options.scale.value_or(is_usually_scaled ? 1.0 / 255 : 1.0);
  const bool is_copied = data.dtype() == input.dtype && column.scale_ == 1 && column.resize_ == ResizeMode::kNone;
  if (const std::optional<WholeRange> range = WholeRangeOf(input.dtype); range.has_value() && !is_copied) {
    AMP_RETURN_IF_ERROR(CheckWhole(input, *range, data, column.scale_));
    column.rounds_resized_ = true;
  }
  column.description_ =
      absl::StrCat(Escaped(input.name), ": ", data.TypeText(), " as ", BatchText(input.dtype, column.sample_dims_),
                   column.resize_ == ResizeMode::kNone ? "" : ", resized",
                   column.scale_ == 1 ? "" : absl::StrCat(", multiplied by ", column.scale_), NotFiniteText(data));
  column.data_ = std::move(data);
  return column;
}

absl::StatusOr<DataColumn> DataColumn::OfLabels(const InputType& input, LabelKind kind, const Tensor& data,
                                                int64_t num_classes) {
  const auto complain = [&](const auto&... what) {
    return UsageError("labels '", Escaped(input.name), "': ", what...);
  };
  const bool is_column = data.rank() == 2 && data.dim(1) == 1;
  if (kind == LabelKind::kOneHot && data.rank() == 2 && !is_column) {
    return OfData(input, data, {.scale = 1.0, .resize = ResizeMode::kNone});
  }
  if (data.rank() != 1 && !is_column) {
    const bool is_one_hot = data.rank() == 2 && (num_classes < 0 || data.dim(1) == num_classes);
    return complain("expected a class number per sample, found ", data.TypeText(),
                    is_one_hot ? absl::StrCat("; for one-hot rows make the step with amp-rewrite --labels ",
                                              Escaped(input.name), ":onehot")
                               : "");
  }
  AMP_ASSIGN_OR_RETURN(Tensor classes, Tensor::Create(DType::kInt64, {data.dim(0)}));
  const bool is_integer = VisitIntegers(data.dtype(), [&]<typename T>(TypeTag<T>) {
    std::transform(data.elements<T>().begin(), data.elements<T>().end(), classes.mutable_elements<int64_t>().begin(),
                   [](T label) { return static_cast<int64_t>(label); });
  });
  if (!is_integer) {
    return complain("expected whole numbers, found ", data.TypeText(),
                    "; in NumPy, labels.astype(numpy.int64) makes them that");
  }
  const auto labels = classes.elements<int64_t>();
  for (size_t row = 0; row < labels.size(); ++row) {
    if (labels[row] >= 0 && (num_classes < 0 || labels[row] < num_classes)) continue;
    return complain("row ", row, ": expected a class from 0 to ", num_classes < 0 ? "n" : absl::StrCat(num_classes - 1),
                    ", found ", labels[row]);
  }
  DataColumn column;
  column.name_ = input.name;
  column.dtype_ = input.dtype;
  column.is_one_hot_ = kind == LabelKind::kOneHot;
  if (column.is_one_hot_) {
    if (num_classes < 0)
      return complain("expected one-hot rows, as the number of classes is unknown; found ", data.TypeText());
    column.sample_dims_ = {num_classes};
  }
  column.description_ =
      absl::StrCat(Escaped(input.name), ": ", data.TypeText(), " as ", BatchText(input.dtype, column.sample_dims_));
  column.data_ = std::move(classes);
  return column;
}

void DataColumn::FillResized(absl::Span<const double> from, absl::Span<double> to) const {
  size_t next = 0;
  for (int64_t c = 0; c < to_.channels; ++c) {
    const double* const plane = from.data() + (from_.channels == 1 ? 0 : c) * from_.height * from_.width;
    for (int64_t y = 0; y < to_.height; ++y) {
      const Tap row = TapOf(y, to_.height, from_.height, resize_);
      for (int64_t x = 0; x < to_.width; ++x) {
        const Tap column = TapOf(x, to_.width, from_.width, resize_);
        const auto across = [&](int64_t line) {
          const double* const pixels = plane + line * from_.width;
          return pixels[column.first] * (1 - column.weight) + pixels[column.second] * column.weight;
        };
        const double pixel = across(row.first) * (1 - row.weight) + across(row.second) * row.weight;
        to[next++] = rounds_resized_ ? std::nearbyint(pixel) : pixel;
      }
    }
  }
}

absl::Status DataColumn::FillOneHot(absl::Span<const int64_t> rows, Tensor& batch) const {
  std::vector<double> ones(static_cast<size_t>(batch.num_elements()), 0);
  const auto labels = data_.elements<int64_t>();
  for (size_t i = 0; i < rows.size(); ++i) {
    const auto label = static_cast<size_t>(labels[static_cast<size_t>(rows[i])]);
    ones[i * static_cast<size_t>(sample_dims_[0]) + label] = 1;
  }
  return WriteDoubles(ones, batch);
}

void DataColumn::CopyRows(absl::Span<const int64_t> rows, size_t row_bytes, Tensor& batch) const {
  const absl::Span<const std::byte> all = data_.bytes();
  auto out = batch.mutable_bytes().begin();
  for (const int64_t row : rows) {
    const auto sample = all.subspan(static_cast<size_t>(row) * row_bytes, row_bytes);
    out = std::copy(sample.begin(), sample.end(), out);
  }
}

// The usual case: bytes of images.
void DataColumn::ScaleRows(absl::Span<const int64_t> rows, size_t sample_size, Tensor& batch) const {
  const absl::Span<const uint8_t> all = data_.elements<uint8_t>();
  const auto scale = static_cast<float>(scale_);
  auto out = batch.mutable_elements<float>().begin();
  for (const int64_t row : rows) {
    const auto sample = all.subspan(static_cast<size_t>(row) * sample_size, sample_size);
    out = std::transform(sample.begin(), sample.end(), out, [&](uint8_t x) { return static_cast<float>(x) * scale; });
  }
}

void DataColumn::ConvertRows(absl::Span<const int64_t> rows, size_t sample_size, Tensor& batch) const {
  const size_t made_size = static_cast<size_t>(batch.num_elements()) / rows.size();
  std::vector<double> sample(sample_size), resized(resize_ == ResizeMode::kNone ? 0 : made_size);
  for (size_t i = 0; i < rows.size(); ++i) {
    LoadDoubles(data_, static_cast<size_t>(rows[i]) * sample_size, absl::MakeSpan(sample));
    for (double& x : sample) x *= scale_;
    if (resize_ != ResizeMode::kNone) FillResized(sample, absl::MakeSpan(resized));
    StoreDoubles(resize_ == ResizeMode::kNone ? sample : resized, batch, i * made_size);
  }
}

uint64_t DataColumn::Hash() const { return XXH3_64bits(data_.bytes().data(), data_.size_bytes()); }

absl::Status DataColumn::MoveTo(Accelerator& device) {
  const bool can_move = !is_one_hot_ && (KeepsRows() || ScalesBytes()) && data_.dtype() != DType::kString;
  if (!can_move || data_.size_bytes() > DeviceRows::kMostBytes) return absl::OkStatus();
  const auto scale = KeepsRows() ? std::nullopt : std::optional(static_cast<float>(scale_));
  absl::StatusOr<std::shared_ptr<DeviceRows>> rows = DeviceRows::Create(device, data_, sample_dims_, scale);
  if (absl::IsResourceExhausted(rows.status())) return absl::OkStatus();
  if (!rows.ok()) return rows.status();
  on_device_ = *std::move(rows);
  absl::StrAppend(&description_, ", on ", DeviceName(device));
  return absl::OkStatus();
}

absl::StatusOr<Tensor> DataColumn::Batch(absl::Span<const int64_t> rows) const {
  if (on_device_ != nullptr) return on_device_->Batch(rows);
  Dims dims = {static_cast<int64_t>(rows.size())};
  dims.insert(dims.end(), sample_dims_.begin(), sample_dims_.end());
  AMP_ASSIGN_OR_RETURN(Tensor batch, Tensor::Create(dtype_, std::move(dims)));
  if (rows.empty()) return batch;
  if (is_one_hot_) {
    AMP_RETURN_IF_ERROR(FillOneHot(rows, batch));
    return batch;
  }
  const auto sample_size = static_cast<size_t>(data_.num_elements() / data_.dim(0));
  if (KeepsRows()) {
    CopyRows(rows, sample_size * ElementBytes(dtype_), batch);
  } else if (ScalesBytes()) {
    ScaleRows(rows, sample_size, batch);
  } else {
    ConvertRows(rows, sample_size, batch);
  }
  return batch;
}

}  // namespace amp
