#include "tools/program/read_whole_file.h"

#include <fstream>
#include <iterator>

#include "ir/base/status.h"

namespace amp {

absl::StatusOr<std::string> ReadWholeFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  if (!in.is_open() || in.bad()) return IoError("expected a file that can be read, found none");
  return bytes;
}

}  // namespace amp
