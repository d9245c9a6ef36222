// Keeps a data set's samples in a device's memory and gathers batches there, so that a step neither waits for nor
// copies them:
//
//   uint8[60000,28,28] on the device, rows {7, 2, 9}   ->   float32[3,784] / 255 on the device
#ifndef AMP_RUNTIME_DEVICE_RUN_DEVICE_ROWS_H_
#define AMP_RUNTIME_DEVICE_RUN_DEVICE_ROWS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/kernel/tensor.h"

namespace amp {

class Accelerator;

class DeviceRows {
 public:
  // The most bytes that data may take on the device. Larger data stay with the processor, as training steps need
  // memory, too.
  static constexpr size_t kMostBytes = size_t{1} << 30;

  // `data`: one sample per row. `scale`: the factor by which uint8 samples are multiplied to become float32; nothing:
  // samples keep their type. Errors: kResourceExhausted if there is no memory. REQUIRES: the device outlives this.
  static absl::StatusOr<std::shared_ptr<DeviceRows>> Create(Accelerator& device, const Tensor& data, Dims sample_dims,
                                                            std::optional<float> scale);

  // Returns the samples of these rows, in this order. The tensor is valid until the next call with the same number of
  // rows. REQUIRES: the rows exist.
  absl::StatusOr<Tensor> Batch(absl::Span<const int64_t> rows);

 private:
  struct Buffers {
    Tensor firsts, gathered, batch;
  };
  DeviceRows(Accelerator& device, Tensor data, Dims sample_dims, std::optional<float> scale);
  absl::StatusOr<Buffers> MakeBuffers(int64_t count) const;
  void Scale(const Tensor& bytes, Tensor& floats) const;

  Accelerator& device_;
  const Tensor data_;
  const Dims sample_dims_;
  const std::optional<float> scale_;
  const int64_t sample_size_;
  absl::flat_hash_map<int64_t, Buffers> buffers_;  // by number of rows; a run uses few
};

}  // namespace amp

#endif  // AMP_RUNTIME_DEVICE_RUN_DEVICE_ROWS_H_
