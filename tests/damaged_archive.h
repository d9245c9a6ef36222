// An archive of arrays, one of which cannot be unpacked: what reads the others shows that it is left alone.
#ifndef AMP_TESTS_DAMAGED_ARCHIVE_H_
#define AMP_TESTS_DAMAGED_ARCHIVE_H_

#include <string>

#include "runtime/values/npy.h"
#include "tests/catch2.h"

namespace amp {

// `damaged` comes first.
inline std::string ArchiveWithADamagedArray(const std::string& damaged, NamedTensors others) {
  NamedTensors arrays = {{damaged, Tensor::OfInts({0x1122334455667788})}};
  arrays.insert(arrays.end(), others.begin(), others.end());
  std::string bytes = *NpzBytes(arrays, NpzForm::kStore);
  const size_t at = bytes.find("\x88\x77\x66\x55");
  REQUIRE(at != std::string::npos);
  bytes[at] = 0;
  return bytes;
}

}  // namespace amp

#endif  // AMP_TESTS_DAMAGED_ARCHIVE_H_
