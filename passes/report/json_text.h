// JSON as text, one item after the other, in lines that are indented by one blank.
//
//   json.Open('{');                    {
//   json.ListOf("nodes", numbers);      "nodes": [
//   json.Close('}');                     3
//                                       ]
//                                      }
//
// A tree of values would do, but its destructor allocates: where memory has run out, that ends the process.
#ifndef AMP_PASSES_REPORT_JSON_TEXT_H_
#define AMP_PASSES_REPORT_JSON_TEXT_H_

#include <string>
#include <utility>

#include "absl/strings/string_view.h"
#include "nlohmann/json.hpp"

namespace amp {

class JsonText {
 public:
  // A list or an object begins, with '[' or '{', and ends.
  void Open(char bracket);
  void Close(char bracket);
  // Begins a member with this key; the next value belongs to it.
  void Key(absl::string_view key);

  // A number, a truth value, a string, which need not be UTF-8, or null.
  template <typename T>
  void Value(const T& scalar) {
    BeginItem();
    text_ += Scalar(scalar);
  }
  template <typename T>
  void Value(absl::string_view key, const T& scalar) {
    Key(key);
    Value(scalar);
  }
  template <typename List>
  void ListOf(absl::string_view key, const List& scalars) {
    Key(key);
    Open('[');
    for (const auto& scalar : scalars) Value(scalar);
    Close(']');
  }

  std::string Take() { return std::move(text_); }

 private:
  // The library's form of one scalar; such values allocate nothing when they go.
  static std::string Scalar(const nlohmann::ordered_json& scalar);
  void BeginItem();
  void NewLine();

  std::string text_;
  size_t depth_ = 0;
  bool is_first_ = true;  // of the list or object
  bool is_behind_key_ = false;
};

// Adds a number that may be infinite or NaN: such numbers become text.
void AddNumber(JsonText& json, absl::string_view key, double value);

}  // namespace amp

#endif  // AMP_PASSES_REPORT_JSON_TEXT_H_
