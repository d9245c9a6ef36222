// Describes devices for amp-run --devices and --verbose.
#ifndef AMP_TOOLS_PROGRAM_DESCRIBE_DEVICES_H_
#define AMP_TOOLS_PROGRAM_DESCRIBE_DEVICES_H_

#include <string>

#include "runtime/hardware/hardware.h"

namespace amp {

// Lists what the machine offers, a line each, how fast either low type is, and the versions of `program`'s parts.
std::string DescribeDevices(const Hardware& hardware, const std::string& program);
// "oneDNN 3.2.0 and avx512 loops, 2 threads": what models run on.
std::string DescribeKernels();

}  // namespace amp

#endif  // AMP_TOOLS_PROGRAM_DESCRIBE_DEVICES_H_
