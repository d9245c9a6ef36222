// Operators on strings, element by element: joining, splitting, matching, normalizing.
#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "re2/re2.h"
#include "runtime/kernel/shape_math.h"
#include "runtime/reference/families.h"
#include "runtime/reference/letter_case.h"

namespace amp {
namespace {

absl::StatusOr<absl::Span<const std::string>> ReadStrings(const KernelContext& context, size_t port) {
  const Tensor& tensor = context.Input(port);
  if (tensor.dtype() != DType::kString) return context.TypeError(tensor.dtype());
  return tensor.elements<std::string>();
}

absl::Status StringConcat(KernelContext& context) {
  AMP_ASSIGN_OR_RETURN(const auto x, ReadStrings(context, 0));
  AMP_ASSIGN_OR_RETURN(const auto y, ReadStrings(context, 1));
  const Dims &x_dims = context.Input(0).dims(), &y_dims = context.Input(1).dims();
  AMP_ASSIGN_OR_RETURN(const Dims dims, BroadcastDims(x_dims, y_dims));
  AMP_ASSIGN_OR_RETURN(Tensor * z, context.MakeOutput(0, DType::kString, dims));
  if (z->num_elements() == 0) return absl::OkStatus();
  auto out = z->mutable_elements<std::string>().begin();
  StridedWalk walk(dims, {BroadcastStrides(x_dims, dims), BroadcastStrides(y_dims, dims)});
  for (; !walk.AtEnd(); walk.Next()) *out++ = absl::StrCat(x[walk[0]], y[walk[1]]);
  return absl::OkStatus();
}

// Splits a string at most `max_splits` times, at every delimiter or, if that is empty, at every run of white space;
// white space at either end does not count.
class Splitter {
 public:
  Splitter(std::string delimiter, int64_t max_splits) : delimiter_(std::move(delimiter)), max_splits_(max_splits) {}

  std::vector<std::string> Split(absl::string_view text) const {
    std::vector<std::string> parts;
    if (delimiter_.empty()) text = absl::StripLeadingAsciiWhitespace(text);
    if (delimiter_.empty() && text.empty()) return parts;
    while (static_cast<int64_t>(parts.size()) < max_splits_) {
      const size_t end = Find(text);
      if (end == absl::string_view::npos) break;
      parts.emplace_back(text.substr(0, end));
      text = delimiter_.empty() ? absl::StripLeadingAsciiWhitespace(text.substr(end))
                                : text.substr(end + delimiter_.size());
      if (delimiter_.empty() && text.empty()) return parts;
    }
    parts.emplace_back(text);
    return parts;
  }

 private:
  size_t Find(absl::string_view text) const {
    if (!delimiter_.empty()) return text.find(delimiter_);
    const auto* const space = std::find_if(text.begin(), text.end(),
                                           [](char c) { return absl::ascii_isspace(static_cast<unsigned char>(c)); });
    return space == text.end() ? absl::string_view::npos : static_cast<size_t>(space - text.begin());
  }

  std::string delimiter_;
  int64_t max_splits_;
};

absl::Status StringSplit(KernelContext& context) {
  AMP_ASSIGN_OR_RETURN(const auto in, ReadStrings(context, 0));
  const std::optional<int64_t> max_splits = GetInt(context.node(), "maxsplit");
  const bool is_bounded = max_splits.has_value() && *max_splits >= 0;
  const Splitter splitter(GetString(context.node(), "delimiter", ""),
                          is_bounded ? *max_splits : std::numeric_limits<int64_t>::max());
  std::vector<std::vector<std::string>> parts;
  size_t longest = 0;
  for (const std::string& text : in) longest = std::max(longest, parts.emplace_back(splitter.Split(text)).size());
  Dims dims = context.Input(0).dims();
  AMP_ASSIGN_OR_RETURN(Tensor * counts, context.MakeOutput(1, DType::kInt64, dims));
  dims.push_back(static_cast<int64_t>(longest));
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutput(0, DType::kString, std::move(dims)));
  const auto out = y->mutable_elements<std::string>();
  for (size_t i = 0; i < parts.size(); ++i) {
    counts->mutable_elements<int64_t>()[i] = static_cast<int64_t>(parts[i].size());
    std::move(parts[i].begin(), parts[i].end(), out.subspan(i * longest).begin());
  }
  return absl::OkStatus();
}

absl::Status RegexFullMatch(KernelContext& context) {
  AMP_ASSIGN_OR_RETURN(const auto in, ReadStrings(context, 0));
  const std::string pattern = GetString(context.node(), "pattern", "");
  const RE2 regex(pattern, RE2::Quiet);
  if (!regex.ok()) return ModelError("pattern '", Escaped(pattern), "': ", Escaped(regex.error()));
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutput(0, DType::kBool, context.Input(0).dims()));
  std::transform(in.begin(), in.end(), y->mutable_elements<bool>().begin(),
                 [&](const std::string& text) { return RE2::FullMatch(text, regex); });
  return absl::OkStatus();
}

absl::StatusOr<LetterCase> CaseChange(const KernelContext& context) {
  const std::string action = GetString(context.node(), "case_change_action", "NONE");
  for (const absl::string_view language : {"tr", "az", "lt"}) {
    const std::string locale = GetString(context.node(), "locale", "en_US");
    if (absl::StartsWith(locale, language)) {
      return ModelError("locale: expected one whose letters have the usual cases, found ", Escaped(locale));
    }
  }
  if (action == "NONE") return LetterCase::kAsIs;
  if (action == "LOWER") return LetterCase::kLower;
  if (action == "UPPER") return LetterCase::kUpper;
  return ModelError("case_change_action: expected NONE, LOWER or UPPER, found ", Escaped(action));
}

// Leaves words out; their case counts if the node says so.
class StopWords {
 public:
  static absl::StatusOr<StopWords> Of(const Node& node) {
    StopWords result;
    if (GetInt(node, "is_case_sensitive", 0) != 0) result.compared_ = LetterCase::kAsIs;
    for (const std::string& word : GetStrings(node, "stopwords").value_or(std::vector<std::string>())) {
      AMP_ASSIGN_OR_RETURN(std::string key, ToCase(word, result.compared_));
      result.words_.insert(std::move(key));
    }
    return result;
  }

  absl::StatusOr<bool> Has(absl::string_view word) const {
    AMP_ASSIGN_OR_RETURN(const std::string key, ToCase(word, compared_));
    return words_.contains(key);
  }

 private:
  LetterCase compared_ = LetterCase::kLower;
  absl::flat_hash_set<std::string> words_;
};

// Normalises [C] or [1, C] and removes the stop words; gives one empty string if none is left.
absl::Status StringNormalizer(KernelContext& context) {
  const Tensor& x = context.Input(0);
  AMP_ASSIGN_OR_RETURN(const auto in, ReadStrings(context, 0));
  if (x.rank() < 1 || x.rank() > 2 || (x.rank() == 2 && x.dim(0) != 1)) {
    return ModelError("expected shape [C] or [1,C], found ", x.TypeText());
  }
  AMP_ASSIGN_OR_RETURN(const LetterCase letter_case, CaseChange(context));
  AMP_ASSIGN_OR_RETURN(const StopWords stop_words, StopWords::Of(context.node()));
  std::vector<std::string> kept;
  for (const std::string& word : in) {
    AMP_ASSIGN_OR_RETURN(const bool is_stop_word, stop_words.Has(word));
    if (is_stop_word) continue;
    AMP_ASSIGN_OR_RETURN(kept.emplace_back(), ToCase(word, letter_case));
  }
  if (kept.empty()) kept.emplace_back();
  Dims dims = x.dims();
  dims.back() = static_cast<int64_t>(kept.size());
  AMP_ASSIGN_OR_RETURN(Tensor * y, context.MakeOutput(0, DType::kString, std::move(dims)));
  std::move(kept.begin(), kept.end(), y->mutable_elements<std::string>().begin());
  return absl::OkStatus();
}

constexpr KernelRow kRows[] = {
    {"StringConcat", StringConcat},
    {"StringSplit", StringSplit},
    {"RegexFullMatch", RegexFullMatch},
    {"StringNormalizer", StringNormalizer},
};

}  // namespace

absl::Span<const KernelRow> TextKernels() { return kRows; }

}  // namespace amp
