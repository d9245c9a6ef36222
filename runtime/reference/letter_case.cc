#include "runtime/reference/letter_case.h"

#include <clocale>
#include <cwctype>

#include "absl/strings/ascii.h"
#include "ir/base/status.h"
#include "ir/base/utf8.h"

namespace amp {
namespace {

void AppendUtf8(uint32_t code, std::string& text) {
  const auto append = [&](uint32_t byte) { text.push_back(static_cast<char>(byte)); };
  if (code < 0x80) return append(code);
  if (code < 0x800) {
    append(0xC0 | code >> 6);
  } else {
    if (code < 0x10000) {
      append(0xE0 | code >> 12);
    } else {
      append(0xF0 | code >> 18);
      append(0x80 | (code >> 12 & 0x3F));
    }
    append(0x80 | (code >> 6 & 0x3F));
  }
  append(0x80 | (code & 0x3F));
}

// Unicode's own, whatever the process has set; the C library brings it along.
locale_t UnicodeLocale() {
  static const locale_t locale = newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
  return locale;
}

}  // namespace

absl::StatusOr<std::string> ToCase(absl::string_view text, LetterCase letter_case) {
  if (letter_case == LetterCase::kAsIs) return std::string(text);
  const bool is_upper = letter_case == LetterCase::kUpper;
  std::string result;
  while (!text.empty()) {
    const Utf8Character character = FirstCharacter(text);
    if (character.length <= 1) {
      const auto byte = static_cast<unsigned char>(text[0]);
      result.push_back(is_upper ? absl::ascii_toupper(byte) : absl::ascii_tolower(byte));
      text.remove_prefix(1);
      continue;
    }
    const locale_t locale = UnicodeLocale();
    if (locale == nullptr) return LimitError("expected a system with the locale C.UTF-8, found none");
    const auto code = static_cast<wint_t>(character.code);
    AppendUtf8(static_cast<uint32_t>(is_upper ? towupper_l(code, locale) : towlower_l(code, locale)), result);
    text.remove_prefix(character.length);
  }
  return result;
}

}  // namespace amp
