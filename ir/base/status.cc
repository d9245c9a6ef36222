#include "ir/base/status.h"

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

namespace amp {
namespace {

// Length of the well-formed UTF-8 sequence of printable text at `text[0]`, 0 if there is none.
size_t PrintableLength(absl::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  if (byte(0) < 0x80) return byte(0) >= 0x20 && byte(0) != 0x7f && byte(0) != '\\' ? 1 : 0;
  const size_t length = byte(0) >= 0xf0 ? 4 : byte(0) >= 0xe0 ? 3 : 2;
  if (byte(0) < 0xc2 || byte(0) > 0xf4 || text.size() < length) return 0;
  uint32_t code = byte(0) & (0xffu >> (length + 1));
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
    code = (code << 6) | (byte(i) & 0x3fu);
  }
  const bool overlong = (length == 3 && code < 0x800) || (length == 4 && code < 0x10000);
  const bool control = code < 0xa0 || (code >= 0x200b && code <= 0x200f) || (code >= 0x2028 && code <= 0x202e) ||
                       (code >= 0x2066 && code <= 0x2069) || code == 0xfeff;
  const bool invalid = (code >= 0xd800 && code <= 0xdfff) || code > 0x10ffff;
  return overlong || control || invalid ? 0 : length;
}

}  // namespace

int ExitCode(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kOk:
      return 0;
    case absl::StatusCode::kInvalidArgument:
      return 2;
    case absl::StatusCode::kDataLoss:
      return 3;
    case absl::StatusCode::kPermissionDenied:
      return 4;
    case absl::StatusCode::kResourceExhausted:
      return 5;
    case absl::StatusCode::kUnavailable:
      return 6;
    case absl::StatusCode::kFailedPrecondition:
      return 7;
    default:
      return 70;
  }
}

std::string Escaped(absl::string_view name) {
  constexpr size_t kMaxShown = 200;
  std::string out;
  while (!name.empty()) {
    if (out.size() >= kMaxShown) return out + "...";
    const size_t length = PrintableLength(name);
    if (length == 0) {
      absl::StrAppendFormat(&out, "\\x%02x", static_cast<unsigned char>(name[0]));
      name.remove_prefix(1);
    } else {
      absl::StrAppend(&out, name.substr(0, length));
      name.remove_prefix(length);
    }
  }
  return out;
}

absl::Status InFile(absl::string_view file, absl::Status status) {
  constexpr absl::string_view kNamed = "amp/names-a-file";
  if (status.ok() || status.GetPayload(kNamed).has_value()) return status;
  absl::Status named(status.code(), absl::StrCat(Escaped(file), ": ", status.message()));
  named.SetPayload(kNamed, absl::Cord());
  return named;
}

std::string FirstOf(absl::Span<const std::string> names) {
  constexpr size_t kShown = 3;
  const size_t more = names.size() > kShown ? names.size() - kShown : 0;
  const std::string shown = absl::StrJoin(names.first(names.size() - more), ", ");
  return more == 0 ? shown : absl::StrCat(shown, " and ", more, " more");
}

}  // namespace amp
