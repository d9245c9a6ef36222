// IDX and gzip, as they should be and as they should not.
#include "tools/data/read_idx.h"

#include <zlib.h>

#include "tests/catch2.h"
#include "tests/runtime/run_text.h"

namespace amp {
namespace {

using Catch::Matchers::Contains;

std::string Bytes(std::initializer_list<int> values) {
  std::string bytes;
  for (const int value : values) bytes += static_cast<char>(value);
  return bytes;
}

std::string Gzipped(const std::string& bytes) {
  z_stream stream = {};
  REQUIRE(deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK);
  std::string result(deflateBound(&stream, bytes.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(result.data());
  stream.avail_out = static_cast<uInt>(result.size());
  REQUIRE(deflate(&stream, Z_FINISH) == Z_STREAM_END);
  result.resize(stream.total_out);
  deflateEnd(&stream);
  return result;
}

std::string Parsed(const std::string& bytes) {
  const absl::StatusOr<Tensor> tensor = ParseIdx(bytes);
  return tensor.ok() ? TensorText(*tensor) : "error: " + std::string(tensor.status().message());
}

const std::string kImages = Bytes({0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 2, 0, 255, 7, 128});

TEST_CASE("IDX of every type is read") {
  CHECK(Parsed(kImages) == "uint8[2,1,2]: 0 255 7 128");
  CHECK(Parsed(Bytes({0, 0, 9, 1, 0, 0, 0, 2, 1, 255})) == "int8[2]: 1 -1");
  CHECK(Parsed(Bytes({0, 0, 0x0B, 1, 0, 0, 0, 2, 1, 2, 255, 254})) == "int16[2]: 258 -2");
  CHECK(Parsed(Bytes({0, 0, 0x0C, 1, 0, 0, 0, 1, 0, 1, 0, 2})) == "int32[1]: 65538");
  CHECK(Parsed(Bytes({0, 0, 0x0D, 1, 0, 0, 0, 1, 0x3F, 0xC0, 0, 0})) == "float32[1]: 1.5");
  CHECK(Parsed(Bytes({0, 0, 0x0E, 1, 0, 0, 0, 1, 0xBF, 0xF8, 0, 0, 0, 0, 0, 0})) == "float64[1]: -1.5");
  CHECK(Parsed(Bytes({0, 0, 8, 1, 0, 0, 0, 0})) == "uint8[0]:");
}

TEST_CASE("IDX that is cut off or says what is not so is an error, and takes no memory") {
  for (size_t size = 0; size < kImages.size(); ++size) CHECK_THAT(Parsed(kImages.substr(0, size)), Contains("error: "));
  CHECK(Parsed(kImages + "x") == "error: expected 4 bytes of elements, found 5");
  CHECK(Parsed(Bytes({0, 0, 7, 1, 0, 0, 0, 0})) == "error: expected an IDX file, found other bytes");
  CHECK(Parsed(Bytes({0, 0, 8, 2, 255, 255, 255, 255, 255, 255, 255, 255})) ==
        "error: expected far more bytes of elements, found 0");
  CHECK_THAT(Parsed(Bytes({0, 0, 14, 255})), Contains("expected a header of 1024 bytes, found 4"));
}

TEST_CASE("gzip is undone, several members one after another too") {
  std::string large;
  for (int i = 0; i < 3'000'000; ++i) large += static_cast<char>(i * 7 % 251);
  CHECK(*Gunzip(Gzipped(large)) == large);
  CHECK(*Gunzip(Gzipped("ab") + Gzipped("cd")) == "abcd");
  CHECK(*Gunzip(Gzipped("")) == "");
}

TEST_CASE("gzip that is damaged, cut off or followed by something else is an error") {
  const std::string whole = Gzipped(kImages);
  for (size_t size = 2; size < whole.size(); ++size) CHECK_FALSE(Gunzip(whole.substr(0, size)).ok());
  CHECK(Gunzip(whole + "x").status().message() == "gzip: expected the end, found other bytes behind it");
  CHECK(Gunzip(whole.substr(0, whole.size() - 1)).status().message() ==
        "gzip: expected more bytes, found the end of the file");
  std::string damaged = whole;
  damaged[damaged.size() - 6] = static_cast<char>(damaged[damaged.size() - 6] ^ 1);  // of the checksum
  CHECK_THAT(std::string(Gunzip(damaged).status().message()), Contains("gzip: damaged"));
}

}  // namespace
}  // namespace amp
