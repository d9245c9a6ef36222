// JSON that this program keeps in a model's metadata. Users edit files, so the text is not to be trusted.
#ifndef AMP_PASSES_RECORD_METADATA_JSON_H_
#define AMP_PASSES_RECORD_METADATA_JSON_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "ir/base/status.h"
#include "nlohmann/json.hpp"

namespace amp {

// kDataLoss for what is no JSON or nested deeper than records are: nothing that walks the result recurses as deep as a
// file likes. The message says where. As good as linear in the text: objects are ordered by key.
absl::StatusOr<nlohmann::json> ParseMetadataJson(absl::string_view text);

// Reads of such JSON by type. What is first found to be other than expected is the error; from then on reads give empty
// values, so that a reader asks once, at the end.
class MetadataReader {
 public:
  using Json = nlohmann::json;

  // kDataLoss, unescaped.
  const absl::Status& status() const { return status_; }
  template <typename... Parts>
  void Fail(const Parts&... parts) {
    if (status_.ok()) status_ = ModelError(parts...);
  }

  // Taken fields are gone, so that what is left over at the end is known to be none of a record's.
  Json Take(Json& from, const char* key);
  Json::array_t TakeList(Json& from, const char* key);  // empty where it is absent
  Json::object_t TakeObject(Json& from, const char* key);
  void ExpectNothingIn(const Json& json);

  int Integer(const Json& json, int least = 0);
  std::string Text(const Json& json);  // may be empty
  std::string Name(const Json& json);  // is not
  bool Boolean(const Json& json);
  std::vector<std::string> Names(const Json& json);
  const Json::array_t& Tuple(const Json& json, size_t size);  // of 4 at most

 private:
  absl::Status status_;
};

// JSON's strings are UTF-8, names in models are bytes: those that are not UTF-8 become "base64:...", as do those that
// begin like that. Exact in both directions; what BytesOfText takes from a file may be anything.
std::string TextOfBytes(const std::string& bytes);
std::string BytesOfText(const std::string& text);

}  // namespace amp

#endif  // AMP_PASSES_RECORD_METADATA_JSON_H_
