#include "passes/record/metadata_json.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/strip.h"
#include "ir/base/utf8.h"

namespace amp {
namespace {

constexpr int64_t kDeepestNesting = 16;  // of lists and objects in each other; records stay far below
constexpr absl::string_view kBase64 = "base64:";

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

// "from line 3, column 5 on", of the byte that is number `byte`, counted from 1; what ends too early does so behind it.
std::string PlaceOf(absl::string_view text, size_t byte) {
  if (text.empty()) return "but an empty text";
  if (byte > text.size()) return "to the end: it breaks off there";
  const absl::string_view before = text.substr(0, byte == 0 ? 0 : byte - 1);
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const size_t newline = before.rfind('\n');
  const size_t column = newline == absl::string_view::npos ? before.size() + 1 : before.size() - newline;
  return absl::StrCat("from line ", line, ", column ", column, " on");
}

}  // namespace

absl::StatusOr<nlohmann::json> ParseMetadataJson(absl::string_view text) {
  if (DeepestNesting(text) > kDeepestNesting) return ModelError("nested deeper than ", kDeepestNesting);
  try {
    return nlohmann::json::parse(text.begin(), text.end());
  } catch (const nlohmann::json::parse_error& error) {
    return ModelError("no JSON ", PlaceOf(text, error.byte));
  } catch (const nlohmann::json::exception&) {
    return ModelError("no JSON: a number is too large");
  }
}

MetadataReader::Json MetadataReader::Take(Json& from, const char* key) {
  if (!from.is_object()) {
    Fail("expected an object with the field '", key, "'");
    return nullptr;
  }
  const auto it = from.find(key);
  if (it == from.end()) {
    Fail("expected a field '", key, "'");
    return nullptr;
  }
  Json taken = std::move(*it);
  from.erase(it);
  return taken;
}

MetadataReader::Json::array_t MetadataReader::TakeList(Json& from, const char* key) {
  if (!from.contains(key)) return {};
  Json taken = Take(from, key);
  if (taken.is_array()) return std::move(taken.get_ref<Json::array_t&>());
  Fail("'", key, "': expected a list, found ", taken.type_name());
  return {};
}

MetadataReader::Json::object_t MetadataReader::TakeObject(Json& from, const char* key) {
  Json taken = Take(from, key);
  if (taken.is_object()) return std::move(taken.get_ref<Json::object_t&>());
  Fail("'", key, "': expected an object, found ", taken.type_name());
  return {};
}

void MetadataReader::ExpectNothingIn(const Json& json) {
  if (json.is_object() && !json.empty()) Fail("unknown field '", json.begin().key(), "'");
}

int MetadataReader::Integer(const Json& json, int least) {
  constexpr auto kMost = static_cast<uint64_t>(std::numeric_limits<int>::max());
  if (json.is_number_unsigned() && json.get<uint64_t>() <= kMost) return json.get<int>();
  const bool is_negative = json.is_number_integer() && !json.is_number_unsigned();
  if (is_negative && json.get<int64_t>() >= least) return json.get<int>();
  Fail("expected an integer of ", least, " to ", kMost, ", found ", json.is_number() ? json.dump() : json.type_name());
  return 0;
}

bool MetadataReader::Boolean(const Json& json) {
  if (!json.is_boolean()) Fail("expected true or false, found ", json.type_name());
  return json.is_boolean() && json.get<bool>();
}

std::string MetadataReader::Text(const Json& json) {
  if (json.is_string()) return json.get<std::string>();
  Fail("expected a string, found ", json.type_name());
  return "";
}

std::string MetadataReader::Name(const Json& json) {
  std::string name = Text(json);
  if (name.empty()) Fail("expected a name, found an empty one");
  return name;
}

std::vector<std::string> MetadataReader::Names(const Json& json) {
  if (!json.is_array()) {
    Fail("expected a list of names, found ", json.type_name());
    return {};
  }
  std::vector<std::string> names;
  for (const Json& name : json) names.push_back(Name(name));
  return names;
}

const MetadataReader::Json::array_t& MetadataReader::Tuple(const Json& json, size_t size) {
  static const auto* const nothing = new Json::array_t(4);
  if (json.is_array() && json.size() == size) return json.get_ref<const Json::array_t&>();
  if (!json.is_array()) {
    Fail("expected a list of ", size, ", found ", json.type_name());
  } else {
    Fail("expected a list of ", size, ", found one of ", json.size());
  }
  return *nothing;
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
