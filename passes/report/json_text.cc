#include "passes/report/json_text.h"

#include <cmath>

namespace amp {

void JsonText::NewLine() {
  text_ += '\n';
  text_.append(depth_, ' ');
}

void JsonText::BeginItem() {
  if (is_behind_key_) {
    is_behind_key_ = false;
    return;
  }
  if (!is_first_) text_ += ',';
  if (depth_ > 0) NewLine();
  is_first_ = false;
}

void JsonText::Open(char bracket) {
  BeginItem();
  text_ += bracket;
  ++depth_;
  is_first_ = true;
}

void JsonText::Close(char bracket) {
  --depth_;
  if (!is_first_) NewLine();
  text_ += bracket;
  is_first_ = false;
}

void JsonText::Key(absl::string_view key) {
  BeginItem();
  text_ += Scalar(std::string(key)) + ": ";
  is_behind_key_ = true;
}

std::string JsonText::Scalar(const nlohmann::ordered_json& scalar) {
  return scalar.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

void AddNumber(JsonText& json, absl::string_view key, double value) {
  if (std::isfinite(value)) return json.Value(key, value);
  json.Value(key, std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf");
}

}  // namespace amp
