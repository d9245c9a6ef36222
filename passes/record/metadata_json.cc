#include "passes/record/metadata_json.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "ir/base/status.h"

namespace amp {
namespace {

constexpr int64_t kDeepestNesting = 16;  // of lists and objects in each other; records stay far below
constexpr absl::string_view kBase64 = "base64:";

bool IsUtf8(const std::string& bytes) {
  try {
    nlohmann::json(bytes).dump();
    return true;
  } catch (const nlohmann::json::type_error&) {
    return false;
  }
}

// How deep a parser would get, which stops where the text is no JSON.
int64_t DeepestNesting(absl::string_view text) {
  int64_t depth = 0, deepest = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"') in_string = !in_string;
    if (in_string) {
      if (c == '\\') ++i;  // whatever follows does not end the string
    } else if (c == '[' || c == '{') {
      deepest = std::max(deepest, ++depth);
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return deepest;
}

}  // namespace

absl::StatusOr<nlohmann::json> ParseMetadataJson(absl::string_view text) {
  if (DeepestNesting(text) > kDeepestNesting) return ModelError("nested deeper than ", kDeepestNesting);
  try {
    return nlohmann::json::parse(text.begin(), text.end());
  } catch (const nlohmann::json::exception& error) {
    return ModelError(error.what());
  }
}

std::string TextOfBytes(const std::string& bytes) {
  if (!absl::StartsWith(bytes, kBase64) && IsUtf8(bytes)) return bytes;
  return absl::StrCat(kBase64, absl::Base64Escape(bytes));
}

std::string BytesOfText(const std::string& text) {
  std::string bytes;
  absl::string_view coded = text;
  return absl::ConsumePrefix(&coded, kBase64) && absl::Base64Unescape(coded, &bytes) ? bytes : text;
}

}  // namespace amp
