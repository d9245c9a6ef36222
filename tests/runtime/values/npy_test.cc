// .npy and .npz: what NumPy writes, and what somebody else may.
#include "runtime/values/npy.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/catch2.h"
#include "tests/damaged_archive.h"
#include "tests/scratch_folder.h"

namespace amp {
namespace {

// A file of version 1 with this header and payload.
std::string File(const std::string& header, const std::string& payload) {
  std::string bytes("\x93NUMPY\x01\x00", 8);
  bytes += {static_cast<char>(header.size() & 0xff), static_cast<char>(header.size() >> 8)};
  return bytes + header + payload;
}
std::string Header(const std::string& descr, const std::string& shape, const std::string& fortran = "False") {
  return absl::StrCat("{'descr': '", descr, "', 'fortran_order': ", fortran, ", 'shape': ", shape, ", }\n");
}
std::string Complaint(const std::string& bytes) {
  const absl::StatusOr<Tensor> tensor = ParseNpy(bytes);
  REQUIRE(!tensor.ok());
  return std::string(tensor.status().message());
}

TEST_CASE("what is written is read again") {
  for (const Dims& dims : {Dims{}, Dims{3}, Dims{1, 3}, Dims{3, 1, 1}}) {
    const size_t count = dims.empty() ? 1 : 3;
    const std::vector<int64_t> elements = {-1, 0, int64_t{1} << 40};
    const Tensor tensor = Tensor::Of<int64_t>(DType::kInt64, dims, absl::MakeConstSpan(elements).first(count));
    const absl::StatusOr<std::string> bytes = NpyBytes(tensor);
    REQUIRE(bytes.ok());
    CHECK(bytes->find('\n') % 64 == 63);  // the data are aligned, as NumPy has them
    const absl::StatusOr<Tensor> read = ParseNpy(*bytes);
    REQUIRE(read.ok());
    CHECK(read->dims() == dims);
    CHECK(read->elements<int64_t>() == tensor.elements<int64_t>());
  }
}

TEST_CASE("columns become rows") {
  const absl::StatusOr<Tensor> tensor = ParseNpy(File(Header("|u1", "(2, 3)", "True"), "adbecf"));
  REQUIRE(tensor.ok());
  CHECK(absl::string_view(reinterpret_cast<const char*>(tensor->bytes().data()), 6) == "abcdef");
}

TEST_CASE("bfloat16 is read from two bytes of no type, and written as float32") {
  const absl::StatusOr<Tensor> tensor = ParseNpy(File(Header("<V2", "(1,)"), std::string("\x80\x3f", 2)));
  REQUIRE(tensor.ok());
  CHECK(tensor->dtype() == DType::kBfloat16);
  const absl::StatusOr<Tensor> written = ParseNpy(*NpyBytes(*tensor));
  REQUIRE(written.ok());
  CHECK(written->elements<float>()[0] == 1.0f);
}

TEST_CASE("strings are written as NumPy has them, characters of four bytes") {
  const std::vector<std::string> texts = {"a\xc3\xa9", "", "b"};
  const absl::StatusOr<std::string> bytes = NpyBytes(Tensor::Of<std::string>(DType::kString, {3}, texts));
  REQUIRE(bytes.ok());
  CHECK(absl::StrContains(*bytes, "{'descr': '<U2', 'fortran_order': False, 'shape': (3,), }"));
  const std::string zeros(12, '\0');
  CHECK(absl::EndsWith(*bytes,
                       absl::StrCat("\na", zeros.substr(0, 3), "\xe9", zeros.substr(0, 11), "b", zeros.substr(0, 7))));

  const std::vector<std::string> latin1 = {"\xe9"};
  const absl::StatusOr<std::string> refused = NpyBytes(Tensor::Of<std::string>(DType::kString, {1}, latin1));
  REQUIRE(!refused.ok());
  CHECK(absl::StrContains(refused.status().message(), "expected strings of UTF-8, found '\\xe9'"));
  // Each takes the room of the longest: 40 GB in all.
  Tensor uneven = *Tensor::Create(DType::kString, {100000});
  uneven.mutable_elements<std::string>()[7] = std::string(100000, 'x');
  CHECK(absl::IsResourceExhausted(NpyBytes(uneven).status()));
}

TEST_CASE("strings that are written are read again, zeros at their ends apart") {
  const std::vector<std::string> texts = {"a\xc3\xa9",
                                          "",
                                          std::string("x\0y", 3),
                                          "\xe2\x82\xac\xf0\x9f\x8d\x8e",
                                          "\x7f\xdf\xbf\xef\xbf\xbf\xf4\x8f\xbf\xbf",
                                          "\xe0\xa0\x80"};
  const absl::StatusOr<Tensor> read = ParseNpy(*NpyBytes(Tensor::Of<std::string>(DType::kString, {2, 3}, texts)));
  REQUIRE(read.ok());
  CHECK(read->TypeText() == "string[2,3]");
  CHECK(read->elements<std::string>() == absl::MakeConstSpan(texts));
  const absl::StatusOr<Tensor> none = ParseNpy(*NpyBytes(*Tensor::Create(DType::kString, {0, 3})));
  REQUIRE(none.ok());
  CHECK(none->TypeText() == "string[0,3]");
}

TEST_CASE("headers that lie are refused") {
  CHECK(absl::StrContains(Complaint("PK"), "expected a .npy file"));
  CHECK(absl::StrContains(Complaint(File("", "").substr(0, 8) + "\xff\xff  "), "header of 65535 bytes"));
  CHECK(absl::StrContains(Complaint(File(Header("<f4", "(2,)"), "1234")), "expected 8 bytes"));
  CHECK(absl::StrContains(Complaint(File(Header("<f4", "(-1,)"), "")), "expected a shape"));
  CHECK(absl::StrContains(Complaint(File(Header("<f4", "(4611686018427387904, 4)"), "")), "expected a shape"));
  CHECK(absl::StrContains(Complaint(File(Header("<f4", "2"), "")), "expected a shape"));
  CHECK(absl::StrContains(Complaint(File(Header(">f4", "(1,)"), "1234")), "little-endian"));
  CHECK(absl::StrContains(Complaint(File(Header("<U3", "(1,)"), "")), "expected 1 strings of 12 bytes each"));
  CHECK(absl::StrContains(Complaint(File(Header("<U0", "(1,)"), "")), "'<U0'"));
  CHECK(absl::StrContains(Complaint(File(Header(">U1", "(1,)"), "1234")), "'>U1'"));
  CHECK(absl::StrContains(Complaint(File(Header("<U99999999999999999999", "(1,)"), "")), "'<U99999999999999999999'"));
  CHECK(absl::StrContains(Complaint(File(Header("<U1", "(1,)"), std::string("\x00\xd8\x00\x00", 4))), "found 55296"));
  CHECK(absl::StrContains(Complaint(File(Header("<U1", "(1,)"), std::string("\x00\x00\x11\x00", 4))), "found 1114112"));
  CHECK(absl::StrContains(Complaint(File("{}", "")), "little-endian"));
}

TEST_CASE("an archive keeps names, types and order") {
  const ScratchFolder folder;
  const NamedTensors tensors = {{"z/1", Tensor::Scalar(2.5f)}, {"a", Tensor::OfInts({1, 2})}};
  const absl::StatusOr<std::string> bytes = NpzBytes(tensors);
  REQUIRE(bytes.ok());
  const absl::StatusOr<NamedTensors> read = ReadNpz(folder.Write("a.npz", *bytes));
  REQUIRE(read.ok());
  REQUIRE(read->size() == 2);
  CHECK((*read)[0].first == "z/1");
  CHECK((*read)[0].second.elements<float>()[0] == 2.5f);
  CHECK((*read)[1].second.elements<int64_t>()[1] == 2);
}

TEST_CASE("arrays of an archive are chosen by their names, before any is unpacked") {
  const ScratchFolder folder;
  const std::string path = folder.Write("a.npz", ArchiveWithADamagedArray("bad", {{"good", Tensor::OfInts({1})}}));
  CHECK(absl::StrContains(ReadNpz(path).status().message(), "array 'bad'"));
  std::vector<std::string> seen;
  const absl::StatusOr<NamedTensors> read = ReadNpz(path, [&](const std::vector<std::string>& names) {
    seen = names;
    return std::vector<bool>{false, true};
  });
  INFO(read.status());
  REQUIRE(read.ok());
  CHECK(seen == std::vector<std::string>{"bad", "good"});
  REQUIRE(read->size() == 1);
  CHECK((*read)[0].first == "good");
  const auto refuses = [](const std::vector<std::string>&) -> absl::StatusOr<std::vector<bool>> {
    return absl::InvalidArgumentError("no");
  };
  CHECK(ReadNpz(path, refuses).status().message() == "no");
}

TEST_CASE("an archive may have no arrays: outputs that are empty sequences") {
  const ScratchFolder folder;
  const absl::StatusOr<std::string> bytes = NpzBytes({});
  REQUIRE(bytes.ok());
  const absl::StatusOr<NamedTensors> read = ReadNpz(folder.Write("a.npz", *bytes));
  REQUIRE(read.ok());
  CHECK(read->empty());
}

TEST_CASE("what is no archive is refused") {
  const ScratchFolder folder;
  CHECK(ReadNpz(folder.File("none.npz")).status().code() == absl::StatusCode::kUnavailable);
  CHECK(ReadNpz(folder.Write("text.npz", "no archive")).status().code() == absl::StatusCode::kInvalidArgument);
  const std::string cut = NpzBytes({{"a", Tensor::OfInts({1, 2})}})->substr(0, 60);
  CHECK(ReadNpz(folder.Write("cut.npz", cut)).status().code() == absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace amp
