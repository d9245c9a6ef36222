#include "runtime/device/storage.h"

namespace amp {

device::Storage StorageOf(DType type) {
  switch (type) {
    case DType::kFloat32:
      return device::Storage::kFloat32;
    case DType::kFloat16:
      return device::Storage::kFloat16;
    case DType::kBfloat16:
      return device::Storage::kBfloat16;
    case DType::kBool:
      return device::Storage::kBool;
    case DType::kInt8:
      return device::Storage::kInt8;
    case DType::kUint8:
      return device::Storage::kUint8;
    case DType::kInt32:
      return device::Storage::kInt32;
    case DType::kInt64:
      return device::Storage::kInt64;
    default:
      return device::Storage::kOther;
  }
}

}  // namespace amp
