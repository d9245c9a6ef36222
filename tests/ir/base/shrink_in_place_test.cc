// Strings that become shorter where they are, and give their pages back.
#include "ir/base/shrink_in_place.h"

#include <unistd.h>

#include <cstdint>
#include <fstream>

#include "tests/catch2.h"

namespace amp {
namespace {

std::string Patterned(size_t size) {
  std::string bytes(size, '\0');
  for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>(i * 31 % 251);
  return bytes;
}

int64_t ResidentBytes() {
  int64_t total = 0, resident = 0;  // in pages
  std::ifstream("/proc/self/statm") >> total >> resident;
  return resident * ::sysconf(_SC_PAGESIZE);
}

TEST_CASE("what stays of a string is as it was, and it can grow again") {
  for (const size_t before : {size_t{0}, size_t{10}, size_t{5000}, size_t{200000}, size_t{3000001}}) {
    for (const size_t after : {size_t{0}, before / 3, before / 2, before}) {
      CAPTURE(before, after);
      const std::string expected = Patterned(before);
      std::string bytes = expected;
      ShrinkInPlace(bytes, after);
      CHECK(bytes.size() == after);
      CHECK(bytes == expected.substr(0, after));
      CHECK(bytes.c_str()[after] == '\0');
      bytes.append(expected, after, std::string::npos);
      CHECK(bytes == expected);
    }
  }
}

TEST_CASE("pages that a large string no longer covers go back, and it stays in its place") {
  constexpr size_t kSize = size_t{64} << 20;
  std::string bytes(kSize, 'x');
  const char* const place = bytes.data();
  const int64_t before = ResidentBytes();
  ShrinkInPlace(bytes, kSize / 2);
  CHECK(bytes.data() == place);
  CHECK(before - ResidentBytes() > int64_t{kSize} / 2 / 8 * 7);
}

}  // namespace
}  // namespace amp
