// Archives of .npy files: see runtime/values/npy.h.
#include <zip.h>
#include <zlib.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <memory>

#include "absl/strings/strip.h"
#include "ir/base/fenced.h"
#include "ir/base/status.h"
#include "runtime/values/npy.h"

namespace amp {
namespace {

constexpr uint64_t kMostEntries = 100'000;
constexpr uint64_t kMostBytes = uint64_t{1} << 36;  // of one array; zip files can claim anything

struct Discard {
  void operator()(zip_t* archive) const { zip_discard(archive); }
  void operator()(zip_file_t* file) const { zip_fclose(file); }
  void operator()(zip_source_t* source) const { zip_source_free(source); }
};
template <typename T>
using Owned = std::unique_ptr<T, Discard>;

// The reason why an entry cannot be read, as the end of a message.
const char* FaultOf(const zip_error_t& error) {
  switch (error.zip_err) {
    case ZIP_ER_COMPNOTSUPP:
      return "one that is compressed in a way that is not supported";
    case ZIP_ER_ENCRNOTSUPP:
    case ZIP_ER_NOPASSWD:
    case ZIP_ER_WRONGPASSWD:
      return "one that is encrypted";
    default:
      return "one that is damaged";
  }
}

// A failure of the library is about memory, input or output; else about what the archive holds, which is `otherwise`.
absl::Status ZipFailure(zip_error_t* error, absl::StatusCode otherwise) {
  switch (zip_error_code_zip(error)) {
    case ZIP_ER_OK:  // a failure without words is one of its own allocations
    case ZIP_ER_MEMORY:
      return OutOfMemory();
    case ZIP_ER_ZLIB:
      if (zip_error_code_system(error) == Z_MEM_ERROR) return OutOfMemory();
      return {otherwise, zip_error_strerror(error)};
    case ZIP_ER_OPEN:
    case ZIP_ER_READ:
    case ZIP_ER_WRITE:
    case ZIP_ER_CLOSE:
    case ZIP_ER_TMPOPEN:
    case ZIP_ER_RENAME:
    case ZIP_ER_REMOVE:
      return IoError(zip_error_strerror(error));
    default:
      return {otherwise, zip_error_strerror(error)};
  }
}

absl::Status CannotRead(zip_error_t* error) {
  absl::Status failure = ZipFailure(error, absl::StatusCode::kInvalidArgument);
  if (!absl::IsInvalidArgument(failure)) return failure;
  return UsageError("expected an array that can be read, found ", FaultOf(*error));
}

absl::StatusOr<std::string> ReadEntry(zip_t* archive, zip_uint64_t index, const zip_stat_t& stat) {
  constexpr size_t kChunk = size_t{1} << 20;
  const Owned<zip_file_t> file(zip_fopen_index(archive, index, 0));
  if (file == nullptr) return CannotRead(zip_get_error(archive));
  std::string bytes;
  // Grows with what is there, not with what the directory says.
  for (;;) {
    const size_t size = bytes.size();
    if (size > stat.size) return UsageError("expected ", stat.size, " bytes, found more");
    bytes.resize(size + kChunk);
    const zip_int64_t found = zip_fread(file.get(), bytes.data() + size, kChunk);
    if (found < 0) return CannotRead(zip_file_get_error(file.get()));
    bytes.resize(size + static_cast<size_t>(found));
    if (found == 0) return bytes;
  }
}

absl::StatusOr<zip_stat_t> StatOf(zip_t* archive, zip_uint64_t index) {
  zip_stat_t stat;
  zip_stat_init(&stat);
  if (zip_stat_index(archive, index, 0, &stat) != 0 || (stat.valid & ZIP_STAT_NAME) == 0) {
    return UsageError("expected an archive of arrays (.npz), found an entry without a name");
  }
  return stat;
}

absl::StatusOr<Tensor> ReadArray(zip_t* archive, zip_uint64_t index) {
  AMP_ASSIGN_OR_RETURN(const zip_stat_t stat, StatOf(archive, index));
  if ((stat.valid & ZIP_STAT_SIZE) == 0 || stat.size > kMostBytes) {
    return LimitError("expected an array of at most ", kMostBytes, " bytes");
  }
  AMP_ASSIGN_OR_RETURN(const std::string bytes, ReadEntry(archive, index, stat));
  return ParseNpy(bytes);
}

absl::StatusOr<std::vector<std::string>> NamesOfArrays(zip_t* archive) {
  const zip_int64_t count = zip_get_num_entries(archive, 0);
  if (count < 0 || static_cast<uint64_t>(count) > kMostEntries) {
    return LimitError("expected at most ", kMostEntries, " arrays, found ", count);
  }
  std::vector<std::string> names;
  for (zip_uint64_t i = 0; i < static_cast<zip_uint64_t>(count); ++i) {
    AMP_ASSIGN_OR_RETURN(const zip_stat_t stat, StatOf(archive, i));
    names.emplace_back(absl::StripSuffix(stat.name, ".npy"));
  }
  return names;
}

absl::Status NoFile() { return IoError("expected a file that can be read, found none"); }
absl::Status NoArchive() { return UsageError("expected an archive of arrays (.npz), found something else"); }

absl::StatusOr<Owned<zip_t>> OpenFile(const std::string& path) {
  int error = 0;
  errno = 0;
  Owned<zip_t> archive(zip_open(path.c_str(), ZIP_RDONLY, &error));
  if (archive != nullptr) return archive;
  if (error == ZIP_ER_MEMORY || errno == ENOMEM) return OutOfMemory();  // opening a file takes memory, too
  return error == ZIP_ER_NOENT || error == ZIP_ER_OPEN || error == ZIP_ER_READ ? NoFile() : NoArchive();
}

// Reads a pipe to its end, where an archive has its directory, and opens the archive. REQUIRES: `bytes` stays as it is
// while the archive is read.
absl::StatusOr<Owned<zip_t>> OpenPipe(const std::string& path, std::string& bytes) {
  std::ifstream in(path, std::ios::binary);
  bytes.assign(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
  if (!in.is_open() || in.bad()) return NoFile();
  if (bytes.empty()) return NoArchive();  // libzip takes it for an archive without entries
  zip_error_t error;
  zip_error_init(&error);
  Owned<zip_source_t> source(zip_source_buffer_create(bytes.data(), bytes.size(), 0, &error));
  if (source == nullptr) return ZipFailure(&error, absl::StatusCode::kInternal);
  Owned<zip_t> archive(zip_open_from_source(source.get(), ZIP_RDONLY, &error));
  if (archive != nullptr) {
    (void)source.release();  // is the archive's
    return archive;
  }
  const absl::Status failure = ZipFailure(&error, absl::StatusCode::kInvalidArgument);
  return absl::IsInvalidArgument(failure) ? NoArchive() : failure;
}

}  // namespace

bool IsPipe(const std::string& path) {
  std::error_code error;
  const std::filesystem::file_type type = std::filesystem::status(path, error).type();
  return type == std::filesystem::file_type::fifo || type == std::filesystem::file_type::character;
}

absl::StatusOr<NamedTensors> ReadNpz(const std::string& path) {
  return ReadNpz(path, [](const std::vector<std::string>& names) { return std::vector<bool>(names.size(), true); });
}

absl::StatusOr<NamedTensors> ReadNpz(const std::string& path, ChooseArrays choose) {
  std::string piped;
  AMP_ASSIGN_OR_RETURN(const Owned<zip_t> archive, IsPipe(path) ? OpenPipe(path, piped) : OpenFile(path));
  AMP_ASSIGN_OR_RETURN(const std::vector<std::string> names, NamesOfArrays(archive.get()));
  AMP_ASSIGN_OR_RETURN(const std::vector<bool> is_wanted, choose(names));
  NamedTensors tensors;
  for (size_t i = 0; i < names.size(); ++i) {
    if (!is_wanted[i]) continue;
    absl::StatusOr<Tensor> tensor = ReadArray(archive.get(), i);
    if (!tensor.ok()) {
      return absl::Status(tensor.status().code(),
                          absl::StrCat("array '", Escaped(names[i]), "': ", tensor.status().message()));
    }
    tensors.emplace_back(names[i], *std::move(tensor));
  }
  return tensors;
}

// libzip leaves out an archive without entries: the record that ends a directory is all of it.
std::string EmptyArchive() {
  constexpr size_t kRest = 18;
  return absl::StrCat("PK\x05\x06", std::string(kRest, '\0'));
}

absl::StatusOr<std::string> NpzBytes(const NamedTensors& tensors, NpzForm form) {
  if (tensors.empty()) return EmptyArchive();
  zip_error_t error;
  zip_error_init(&error);
  zip_source_t* source = zip_source_buffer_create(nullptr, 0, 0, &error);
  if (source == nullptr) return ZipFailure(&error, absl::StatusCode::kInternal);
  const Owned<zip_source_t> kept(source);
  zip_source_keep(source);
  Owned<zip_t> archive(zip_open_from_source(source, ZIP_TRUNCATE, &error));
  if (archive == nullptr) return ZipFailure(&error, absl::StatusCode::kInternal);
  std::vector<std::string> arrays;
  arrays.reserve(tensors.size());  // libzip reads them when it closes the archive
  for (const auto& [name, tensor] : tensors) {
    AMP_ASSIGN_OR_RETURN(std::string bytes, NpyBytes(tensor));
    arrays.push_back(std::move(bytes));
    zip_source_t* array = zip_source_buffer(archive.get(), arrays.back().data(), arrays.back().size(), 0);
    const zip_int64_t index =
        array == nullptr ? -1 : zip_file_add(archive.get(), absl::StrCat(name, ".npy").c_str(), array, 0);
    const zip_int32_t method = form == NpzForm::kStore ? ZIP_CM_STORE : ZIP_CM_DEFAULT;
    if (index < 0 || zip_set_file_compression(archive.get(), static_cast<zip_uint64_t>(index), method, 0) != 0) {
      const absl::Status failure = ZipFailure(zip_get_error(archive.get()), absl::StatusCode::kInvalidArgument);
      return absl::Status(failure.code(), absl::StrCat("array '", Escaped(name), "': ", failure.message()));
    }
  }
  if (zip_close(archive.get()) != 0) return ZipFailure(zip_get_error(archive.get()), absl::StatusCode::kInternal);
  (void)archive.release();
  zip_stat_t stat;
  zip_stat_init(&stat);
  if (zip_source_stat(source, &stat) != 0 || zip_source_open(source) != 0) {
    return ZipFailure(zip_source_error(source), absl::StatusCode::kInternal);
  }
  std::string bytes(stat.size, '\0');
  const zip_int64_t found = zip_source_read(source, bytes.data(), bytes.size());
  zip_source_close(source);
  if (found < 0) return ZipFailure(zip_source_error(source), absl::StatusCode::kInternal);
  if (found != static_cast<zip_int64_t>(bytes.size())) return absl::InternalError("the archive cannot be read back");
  return bytes;
}

}  // namespace amp
