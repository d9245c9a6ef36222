#include "ir/base/status.h"

#include "absl/strings/match.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "ir/base/fenced.h"
#include "ir/base/utf8.h"

namespace amp {
namespace {

// Length of the printable UTF-8 character that `text` begins with, 0 if there is none.
size_t PrintableLength(absl::string_view text) {
  const auto [length, code] = FirstCharacter(text);
  const bool is_escaped = code < 0x20 || code == 0x7f || code == '\\';
  const bool is_control = (code >= 0x80 && code < 0xa0) || (code >= 0x200b && code <= 0x200f) ||
                          (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069) || code == 0xfeff;
  return is_escaped || is_control ? 0 : length;
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
    case absl::StatusCode::kUnimplemented:
    case absl::StatusCode::kAborted:
      return 8;
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
  if (status.ok() || NamesAFile(status)) return status;
  const std::string prefix = absl::StrCat(Escaped(file), ": ");
  const bool has_prefix = absl::StartsWith(status.message(), prefix);  // from a call that marks nothing
  absl::Status named(status.code(),
                     has_prefix ? std::string(status.message()) : prefix + std::string(status.message()));
  named.SetPayload(kNamesAFile, absl::Cord());
  return named;
}

bool NamesAFile(const absl::Status& status) { return status.GetPayload(kNamesAFile).has_value(); }

std::string FirstOf(absl::Span<const std::string> names) {
  constexpr size_t kShown = 3;
  const size_t more = names.size() > kShown ? names.size() - kShown : 0;
  const std::string shown = absl::StrJoin(names.first(names.size() - more), ", ");
  return more == 0 ? shown : absl::StrCat(shown, " and ", more, " more");
}

std::string QuotedFirstOf(absl::Span<const std::string> names) {
  std::vector<std::string> quoted;
  for (const std::string& name : names) quoted.push_back(absl::StrCat("'", Escaped(name), "'"));
  return quoted.empty() ? "none" : FirstOf(quoted);
}

}  // namespace amp
