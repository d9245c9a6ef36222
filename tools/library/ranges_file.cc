#include "tools/library/ranges_file.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>

#include "ir/base/status.h"
#include "passes/record/metadata_json.h"

namespace amp {
namespace {

using Json = nlohmann::json;
constexpr int kSchema = 2, kSchemaWithoutEnds = 1;

Json JsonOf(const ObservedNarrowing& narrowing) {
  return {{"overflow", narrowing.overflow}, {"underflow", narrowing.underflow}, {"error", narrowing.relative_error}};
}

struct NamedEnd {
  const char* name;
  double ObservedEnds::*number;
};
constexpr NamedEnd kEnds[] = {{"lowest", &ObservedEnds::lowest},
                              {"highest", &ObservedEnds::highest},
                              {"from_zero", &ObservedEnds::from_zero},
                              {"below_one", &ObservedEnds::below_one},
                              {"above_minus_one", &ObservedEnds::above_minus_one}};

class RangesReader {
 public:
  absl::StatusOr<ObservedValues> Read(const Json& json) {
    ObservedValues observed;
    const Json schema = json.is_object() ? json.value("schema", Json()) : Json();
    has_ends_ = schema == kSchema;
    if ((!has_ends_ && schema != kSchemaWithoutEnds) || !json.contains("values") || !json["values"].is_object()) {
      return UsageError("expected ranges of schema ", kSchemaWithoutEnds, " or ", kSchema, " with an object 'values'");
    }
    for (const auto& [name, value] : json["values"].items()) observed[BytesOfText(name)] = ReadValue(name, value);
    if (!status_.ok()) return status_;
    return observed;
  }

 private:
  ObservedValue ReadValue(const std::string& name, const Json& json) {
    ObservedValue value;
    value.elements = Count(name, json, "elements");
    value.largest = Number(name, json, "largest");
    value.float16 = ReadNarrowing(name, json, "float16");
    value.bfloat16 = ReadNarrowing(name, json, "bfloat16");
    if (has_ends_) value.ends = ReadEnds(name, json);
    return value;
  }
  ObservedEnds ReadEnds(const std::string& name, const Json& json) {
    constexpr double kLargest = 1e39;
    ObservedEnds ends;
    for (const NamedEnd& end : kEnds) {
      const Json number = json.is_object() && json.contains(end.name) ? json[end.name] : Json("absent");
      if (number.is_null()) continue;
      if (number.is_number() && std::abs(number.get<double>()) <= kLargest) {
        ends.*end.number = number.get<double>();
      } else if (status_.ok()) {
        status_ = UsageError("value '", Escaped(name), "': expected a number '", end.name, "', or null");
      }
    }
    return ends;
  }
  ObservedNarrowing ReadNarrowing(const std::string& name, const Json& json, const char* key) {
    const Json part = json.is_object() && json.contains(key) ? json[key] : Json();
    return {Count(name, part, "overflow"), Count(name, part, "underflow"), Number(name, part, "error")};
  }
  int64_t Count(const std::string& name, const Json& json, const char* key) {
    constexpr double kLargest = 1e18;
    return static_cast<int64_t>(std::min(Number(name, json, key), kLargest));
  }
  // Not negative, and no more than any count or float32 is.
  double Number(const std::string& name, const Json& json, const char* key) {
    constexpr double kLargest = 1e39;
    const bool is_number = json.is_object() && json.contains(key) && json[key].is_number();
    const double number = is_number ? json[key].get<double>() : -1;
    if (number >= 0 && number <= kLargest) return number;
    if (status_.ok()) status_ = UsageError("value '", Escaped(name), "': expected a number '", key, "' of at least 0");
    return 0;
  }

  bool has_ends_ = false;
  absl::Status status_;
};

}  // namespace

std::string RangesJson(const ObservedValues& observed) {
  Json values = Json::object();
  for (const auto& [name, value] : observed) {
    Json& json = values[TextOfBytes(name)];
    json = {{"elements", value.elements},
            {"largest", value.largest},
            {"float16", JsonOf(value.float16)},
            {"bfloat16", JsonOf(value.bfloat16)}};
    const ObservedEnds ends = value.ends.value_or(ObservedEnds());
    for (const NamedEnd& end : kEnds) {
      const double number = ends.*end.number;
      json[end.name] = std::isfinite(number) ? Json(number) : Json();
    }
  }
  return Json({{"schema", kSchema}, {"values", std::move(values)}}).dump(1) + "\n";
}

absl::StatusOr<ObservedValues> ReadRanges(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return InFile(Escaped(path), IoError("expected a file of ranges that can be read, found none"));
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const absl::StatusOr<Json> json = ParseMetadataJson(text);
  if (!json.ok())
    return InFile(Escaped(path), UsageError("expected ranges that --ranges wrote, found ", json.status().message()));
  absl::StatusOr<ObservedValues> observed = RangesReader().Read(*json);
  if (!observed.ok()) return InFile(Escaped(path), observed.status());
  return observed;
}

}  // namespace amp
