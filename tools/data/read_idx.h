// Arrays in the IDX format, in which MNIST comes, and gzip around it.
//
//   00 00 08 03  00 00 EA 60  00 00 00 1C  00 00 00 1C  ...      uint8[60000,28,28]
//   two zeros, type, rank; a dimension in four bytes each; elements, all of it big-endian
//
// Files come from anywhere: memory grows with the bytes that are there, not with what they say. Source of the format:
// http://yann.lecun.com/exdb/mnist/, "The IDX file format".
#ifndef AMP_TOOLS_DATA_READ_IDX_H_
#define AMP_TOOLS_DATA_READ_IDX_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "runtime/kernel/tensor.h"

namespace amp {

bool IsGzip(absl::string_view bytes);
// All members one after another. Errors: kInvalidArgument (damaged, cut off, or followed by something else),
// kResourceExhausted (more than a tensor holds).
absl::StatusOr<std::string> Gunzip(absl::string_view bytes);

bool IsIdx(absl::string_view bytes);
// uint8, int8, int16, int32, float32 and float64. Errors: kInvalidArgument, kResourceExhausted.
absl::StatusOr<Tensor> ParseIdx(absl::string_view bytes);

}  // namespace amp

#endif  // AMP_TOOLS_DATA_READ_IDX_H_
