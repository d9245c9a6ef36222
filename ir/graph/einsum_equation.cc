#include "ir/graph/einsum_equation.h"

#include <algorithm>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"

namespace amp {

bool IsEquation(absl::string_view text) {
  const std::string plain = absl::StrReplaceAll(text, {{" ", ""}});
  const absl::string_view left = absl::string_view(plain).substr(0, plain.find("->"));
  for (absl::string_view term : absl::StrSplit(left, ',')) {
    std::string labels(term);
    if (const size_t at = labels.find("..."); at != std::string::npos) labels.erase(at, 3);
    const auto is_letter = [](char c) { return absl::ascii_isalpha(static_cast<unsigned char>(c)); };
    if (!std::all_of(labels.begin(), labels.end(), is_letter)) return false;
  }
  return true;
}

}  // namespace amp
