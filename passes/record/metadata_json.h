// JSON that this program keeps in a model's metadata. Files are edited: its text is as little to be trusted as they
// are.
#ifndef AMP_PASSES_RECORD_METADATA_JSON_H_
#define AMP_PASSES_RECORD_METADATA_JSON_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "nlohmann/json.hpp"

namespace amp {

// kDataLoss for what is no JSON or nested deeper than records are: nothing that walks the result recurses as deep as a
// file likes. The message quotes the text unescaped. As good as linear in the text: objects are ordered by key.
absl::StatusOr<nlohmann::json> ParseMetadataJson(absl::string_view text);

// JSON's strings are UTF-8, names in models are bytes: those that are not UTF-8 become "base64:...", as do those that
// begin like that. Exact in both directions; what BytesOfText takes from a file may be anything.
std::string TextOfBytes(const std::string& bytes);
std::string BytesOfText(const std::string& text);

}  // namespace amp

#endif  // AMP_PASSES_RECORD_METADATA_JSON_H_
