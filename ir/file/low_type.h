// Which 16-bit type a model file is made for, without building a graph of it.
#ifndef AMP_IR_FILE_LOW_TYPE_H_
#define AMP_IR_FILE_LOW_TYPE_H_

#include <optional>
#include <string>

#include "ir/base/dtype.h"
#include "ir/base/limits.h"

namespace amp {

// The one that more of its tensors, described values and casts have; nothing where none has one, or the file cannot be
// read, of which whoever loads it will hear.
std::optional<DType> LowTypeOfFile(const std::string& path, const Limits& limits);

}  // namespace amp

#endif  // AMP_IR_FILE_LOW_TYPE_H_
