// One input of a step graph over a whole data set, batch by batch in the input's type and shape.
//
//   uint8[60000,28,28]   -> float32[n,784] / 255, or float32[n,1,28,28] / 255      as many elements: another shape
//                        -> float32[n,3,224,224] / 255                             resized, gray three times
//   uint8[60000] labels  -> int64[n], or float32[n,10] one-hot
//
// The data stay as they are in the file; a batch is converted when it is made.
#ifndef AMP_TOOLS_DATA_DATA_COLUMN_H_
#define AMP_TOOLS_DATA_DATA_COLUMN_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "passes/train/step_metadata.h"
#include "runtime/kernel/tensor.h"

namespace amp {

class Accelerator;
class DeviceRows;

enum class ResizeMode { kNone, kNearest, kBilinear };

struct FitOptions {
  std::optional<double> scale;  // of data; nothing: 1/255 for uint8 that become floats, else 1
  ResizeMode resize = ResizeMode::kNone;
};

// The requirements of a model's input.
struct InputType {
  std::string name;
  DType dtype = DType::kUndefined;
  std::vector<int64_t> dims;  // the batch first; -1: any
  bool is_read = true;        // by a node: else it needs no data
};

class DataColumn {
 public:
  // `data`: a sample per row. Errors: kInvalidArgument, samples that do not fit, a batch of fixed size, or a number
  // that an input of whole numbers does not hold.
  static absl::StatusOr<DataColumn> OfData(const InputType& input, Tensor data, const FitOptions& options);
  // `num_classes`: -1 where nobody knows. Errors: as above; a label below 0 or from num_classes on, with its row.
  static absl::StatusOr<DataColumn> OfLabels(const InputType& input, LabelKind kind, const Tensor& data,
                                             int64_t num_classes);

  const std::string& name() const { return name_; }
  int64_t num_samples() const { return data_.dim(0); }
  // "x: uint8[60000,28,28] as float32[n,784], scaled by 0.00392157"
  const std::string& description() const { return description_; }
  // Returns a hash of the elements as the file has them, or of the classes.
  uint64_t Hash() const;
  // From now on batches that are rows of the file, or bytes times the scale, are made on the device, if there is room
  // for the data: see DeviceRows; `description` says so. REQUIRES: the device outlives the column.
  absl::Status MoveTo(Accelerator& device);
  // The samples of these rows, in this order; on a device, good until the next batch. REQUIRES: they are there.
  absl::StatusOr<Tensor> Batch(absl::Span<const int64_t> rows) const;

 private:
  struct Image {
    int64_t channels = 1, height = 0, width = 0;
  };
  static std::optional<Image> ImageOf(absl::Span<const int64_t> sample);
  bool KeepsRows() const { return resize_ == ResizeMode::kNone && data_.dtype() == dtype_ && scale_ == 1; }
  bool ScalesBytes() const {
    return resize_ == ResizeMode::kNone && data_.dtype() == DType::kUint8 && dtype_ == DType::kFloat32;
  }
  void FillResized(absl::Span<const double> from, absl::Span<double> to) const;
  void CopyRows(absl::Span<const int64_t> rows, size_t row_bytes, Tensor& batch) const;
  void ScaleRows(absl::Span<const int64_t> rows, size_t sample_size, Tensor& batch) const;
  void ConvertRows(absl::Span<const int64_t> rows, size_t sample_size, Tensor& batch) const;
  absl::Status FillOneHot(absl::Span<const int64_t> rows, Tensor& batch) const;

  std::string name_, description_;
  Tensor data_;
  DType dtype_ = DType::kFloat32;
  Dims sample_dims_;  // of a batch without its first
  double scale_ = 1;
  ResizeMode resize_ = ResizeMode::kNone;
  Image from_, to_;
  bool rounds_resized_ = false;  // pixels of whole numbers
  bool is_one_hot_ = false;      // data_ holds class numbers
  std::shared_ptr<DeviceRows> on_device_;
};

}  // namespace amp

#endif  // AMP_TOOLS_DATA_DATA_COLUMN_H_
