// Samples in the memory of a device. Batches are gathered there, so that a step neither waits for them nor copies them:
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
  // What data may take there: larger ones are left to the processor, as steps need memory, too.
  static constexpr size_t kMostBytes = size_t{1} << 30;

  // `data`: a sample per row; `scale`: by which uint8 are multiplied that become float32; nothing: samples stay as they
  // are. Errors: kResourceExhausted, no memory. REQUIRES: the device outlives this.
  static absl::StatusOr<std::shared_ptr<DeviceRows>> Create(Accelerator& device, const Tensor& data, Dims sample_dims,
                                                            std::optional<float> scale);

  // The samples of these rows, in this order, until the next batch of as many is asked for. REQUIRES: the rows are there.
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
  absl::flat_hash_map<int64_t, Buffers> buffers_;  // by number of rows: few in a run
};

}  // namespace amp

#endif  // AMP_RUNTIME_DEVICE_RUN_DEVICE_ROWS_H_
