#include "passes/classify/glob.h"

#include <cstdint>
#include <utility>

#include "absl/strings/ascii.h"
#include "ir/base/status.h"
#include "re2/re2.h"

namespace amp {
namespace {

// Takes one character, several bytes long if it is UTF-8, off the front of `text`.
absl::string_view TakeCharacter(absl::string_view& text) {
  size_t length = 1;
  while (length < text.size() && (static_cast<unsigned char>(text[length]) & 0xc0) == 0x80) ++length;
  const absl::string_view character = text.substr(0, length);
  text.remove_prefix(length);
  return character;
}

void AppendLiteral(absl::string_view character, std::string& regex) {
  if (character.size() == 1 && absl::ascii_ispunct(static_cast<unsigned char>(character[0]))) regex += '\\';
  regex.append(character.data(), character.size());
}

// Translates the set whose "[" was taken already, up to and with its "]".
absl::Status AppendSet(absl::string_view& pattern, std::string& regex) {
  regex += '[';
  if (!pattern.empty() && (pattern[0] == '!' || pattern[0] == '^')) {
    regex += '^';
    pattern.remove_prefix(1);
  }
  for (bool first = true; !pattern.empty(); first = false) {
    const absl::string_view low = TakeCharacter(pattern);
    if (low == "]" && !first) {
      regex += ']';
      return absl::OkStatus();
    }
    AppendLiteral(low, regex);
    if (pattern.size() < 2 || pattern[0] != '-' || pattern[1] == ']') continue;
    pattern.remove_prefix(1);
    const absl::string_view high = TakeCharacter(pattern);
    if (high < low) return UsageError("reversed range '", Escaped(low), "-", Escaped(high), "'");
    regex += '-';
    AppendLiteral(high, regex);
  }
  return UsageError("'[' without ']'; one that is meant as it stands is written '[[]'");
}

absl::StatusOr<std::string> ToRegex(absl::string_view pattern) {
  std::string regex;
  bool after_star = false;
  while (!pattern.empty()) {
    const absl::string_view character = TakeCharacter(pattern);
    const bool star = character == "*";
    if (star) {
      if (!after_star) regex += "\\C*";  // any bytes, so that names that are not UTF-8 match too
    } else if (character == "?") {
      regex += '.';
    } else if (character == "[") {
      AMP_RETURN_IF_ERROR(AppendSet(pattern, regex));
    } else {
      AppendLiteral(character, regex);
    }
    after_star = star;
  }
  return regex;
}

}  // namespace

absl::StatusOr<Glob> Glob::Parse(absl::string_view pattern) {
  if (pattern.empty()) return UsageError("empty pattern");
  if (pattern.size() > kMaxPatternBytes) {
    return LimitError("pattern of ", pattern.size(), " bytes; at most ", kMaxPatternBytes, " are allowed");
  }
  std::string owned(pattern);
  if (pattern.find_first_of("*?[") == absl::string_view::npos) return Glob(std::move(owned), true, nullptr);
  const absl::StatusOr<std::string> regex = ToRegex(pattern);
  if (!regex.ok()) return UsageError("pattern '", Escaped(pattern), "': ", regex.status().message());
  re2::RE2::Options options;
  options.set_log_errors(false);
  options.set_dot_nl(true);
  auto compiled = std::make_shared<const re2::RE2>(*regex, options);
  if (!compiled->ok()) return UsageError("pattern '", Escaped(pattern), "': ", compiled->error());
  return Glob(std::move(owned), false, std::move(compiled));
}

bool Glob::Matches(absl::string_view name) const {
  if (is_literal_) return name == pattern_;
  return re2::RE2::FullMatch(re2::StringPiece(name.data(), name.size()), *regex_);
}

}  // namespace amp
