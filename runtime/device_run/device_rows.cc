#include "runtime/device_run/device_rows.h"

#include <utility>

#include "ir/base/status.h"
#include "runtime/device/accelerator.h"
#include "runtime/device/raw/elementwise.h"
#include "runtime/device/raw/move.h"

namespace amp {

absl::StatusOr<std::shared_ptr<DeviceRows>> DeviceRows::Create(Accelerator& device, const Tensor& data,
                                                               Dims sample_dims, std::optional<float> scale) {
  const absl::ReaderMutexLock turn(&device.order());
  AMP_ASSIGN_OR_RETURN(Tensor there, device.CopyIn(data, nullptr));
  return std::shared_ptr<DeviceRows>(new DeviceRows(device, std::move(there), std::move(sample_dims), scale));
}

DeviceRows::DeviceRows(Accelerator& device, Tensor data, Dims sample_dims, std::optional<float> scale)
    : device_(device),
      data_(std::move(data)),
      sample_dims_(std::move(sample_dims)),
      scale_(scale),
      sample_size_(data_.num_elements() / data_.dim(0)) {}

absl::StatusOr<DeviceRows::Buffers> DeviceRows::MakeBuffers(int64_t count) const {
  Dims dims = {count};
  dims.insert(dims.end(), sample_dims_.begin(), sample_dims_.end());
  Buffers made;
  AMP_ASSIGN_OR_RETURN(made.firsts, Tensor::Create(DType::kInt64, {count}, &device_));
  AMP_ASSIGN_OR_RETURN(made.gathered, Tensor::Create(data_.dtype(), dims, &device_));
  made.batch = made.gathered;
  if (scale_.has_value()) {
    AMP_ASSIGN_OR_RETURN(made.batch, Tensor::Create(DType::kFloat32, dims, &device_));
  }
  return made;
}

void DeviceRows::Scale(const Tensor& bytes, Tensor& floats) const {
  const auto count = static_cast<uint32_t>(floats.num_elements());
  device_.Start(device::ConvertArguments{.x = bytes.data(),
                                         .y = floats.mutable_data(),
                                         .count = count,
                                         .from = device::Storage::kUint8,
                                         .to = device::Storage::kFloat32});
  device_.Start(device::MapArguments{.x = floats.data(),
                                     .y = floats.mutable_data(),
                                     .count = count,
                                     .storage = device::Storage::kFloat32,
                                     .function = device::UnaryFunction::kLinear,
                                     .a = *scale_,
                                     .b = 0});
}

absl::StatusOr<Tensor> DeviceRows::Batch(absl::Span<const int64_t> rows) {
  const absl::ReaderMutexLock turn(&device_.order());
  const auto count = static_cast<int64_t>(rows.size());
  auto known = buffers_.find(count);
  if (known == buffers_.end()) {
    AMP_ASSIGN_OR_RETURN(Buffers made, MakeBuffers(count));
    known = buffers_.emplace(count, std::move(made)).first;
  }
  Buffers& buffers = known->second;
  if (count == 0 || sample_size_ == 0) return buffers.batch;
  std::vector<int64_t> firsts;
  firsts.reserve(rows.size());
  for (const int64_t row : rows) firsts.push_back(row * sample_size_);
  AMP_RETURN_IF_ERROR(device_.CopyInto(Tensor::OfInts(firsts), buffers.firsts));
  device_.Start(device::CopyRunsArguments{.from = data_.data(),
                                          .to = buffers.gathered.mutable_data(),
                                          .count = static_cast<uint32_t>(buffers.gathered.num_elements()),
                                          .element_bytes = ElementBytes(data_.dtype()),
                                          .run = static_cast<uint32_t>(sample_size_),
                                          .firsts = static_cast<const int64_t*>(buffers.firsts.data())});
  if (scale_.has_value()) Scale(buffers.gathered, buffers.batch);
  AMP_RETURN_IF_ERROR(device_.Status());
  return buffers.batch;
}

}  // namespace amp
