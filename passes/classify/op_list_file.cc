#include "passes/classify/op_list_file.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "ir/base/status.h"
#include "ir/operators/attribute_choices.h"
#include "ir/operators/node_facts.h"
#include "ir/schema/operator_label.h"
#include "ir/schema/schema.h"
#include "re2/re2.h"

namespace amp {
namespace {

constexpr absl::string_view kBlanks = " \t";
constexpr absl::string_view kUnknownOperator = "amp/unknown-operator";

// Takes the text before the first blank off the front of `line`, and the blanks after it.
absl::string_view TakeWord(absl::string_view& line) {
  const absl::string_view word = line.substr(0, line.find_first_of(kBlanks));
  line = absl::StripLeadingAsciiWhitespace(line.substr(word.size()));
  return word;
}

// Takes an operator off the line; its brackets may hold blanks: "Op[a=1, b=2]".
absl::string_view TakeOperator(absl::string_view& line) {
  const size_t bracket = line.find_first_of(" \t[");
  if (bracket == absl::string_view::npos || line[bracket] != '[') return TakeWord(line);
  const size_t close = line.find(']', bracket);
  const size_t end = close == absl::string_view::npos ? line.size() : line.find_first_of(kBlanks, close);
  const absl::string_view item = line.substr(0, end);
  line = absl::StripLeadingAsciiWhitespace(line.substr(item.size()));
  return item;
}

// The line without its comment. A "#" inside quotes or inside a word is no comment.
absl::string_view WithoutComment(absl::string_view line) {
  bool quoted = false;
  for (size_t i = 0; i < line.size(); ++i) {
    const bool at_word = i == 0 || absl::StrContains(kBlanks, line[i - 1]);
    if (line[i] == '"' && (quoted || at_word)) quoted = !quoted;
    if (line[i] == '#' && !quoted && at_word) return line.substr(0, i);
  }
  return line;
}

// Valid UTF-8 without control characters other than the tab.
bool IsPlainText(absl::string_view line) {
  static const auto* const kPlain = new re2::RE2("[^\\x00-\\x08\\x0a-\\x1f\\x7f]*");
  return re2::RE2::FullMatch(re2::StringPiece(line.data(), line.size()), *kPlain);
}

// A value that no node can have is a slip: the row would never hold.
absl::Status CheckValue(const OpRow& row, const OpCondition& condition) {
  const std::vector<std::string> choices = AttributeChoices(row.op, condition.key);
  if (condition.value.empty() || choices.empty()) return absl::OkStatus();
  if (std::find(choices.begin(), choices.end(), condition.value) != choices.end()) return absl::OkStatus();
  return UsageError("'", Escaped(row.Label()), "': expected ", absl::StrJoin(choices, ", "), " for '",
                    Escaped(condition.key), "', found '", Escaped(condition.value), "'",
                    DidYouMean(condition.value, choices));
}

// Conditions on operators that ONNX does not define name attributes that only their runtime knows.
absl::Status CheckConditions(const OpRow& row) {
  std::vector<std::string> keys = ConditionFacts(row.domain, row.op);
  for (absl::string_view property : TargetPropertyNames()) keys.emplace_back(property);
  for (const OpCondition& condition : row.conditions) {
    if (std::find(keys.begin(), keys.end(), condition.key) != keys.end()) {
      if (row.domain.empty()) AMP_RETURN_IF_ERROR(CheckValue(row, condition));
      continue;
    }
    return UsageError("'", row.op, "' has no attribute '", Escaped(condition.key), "' that a condition can name",
                      DidYouMean(condition.key, keys), " (known: ", absl::StrJoin(keys, ", "), ")");
  }
  return absl::OkStatus();
}

absl::Status CheckOperator(const OpRow& row, const OpSignatures& signatures) {
  if (!signatures.Find(row.domain, row.op).empty()) return absl::OkStatus();
  const std::vector<std::string>& onnx = RegisteredOperators(row.domain);
  if (std::binary_search(onnx.begin(), onnx.end(), row.op)) return CheckConditions(row);
  if (onnx.empty()) return absl::OkStatus();
  absl::Status unknown = UsageError("unknown operator '", Escaped(row.Label()), "'",
                                    DidYouMeanOperator(row.domain, row.op, KnownOperators(signatures)));
  unknown.SetPayload(kUnknownOperator, absl::Cord(row.op));
  return unknown;
}

absl::Status ParseConditions(absl::string_view text, OpRow& row) {
  for (absl::string_view part : absl::StrSplit(text, ',')) {
    const std::pair<absl::string_view, absl::string_view> sides = absl::StrSplit(part, absl::MaxSplits('=', 1));
    const absl::string_view key = absl::StripAsciiWhitespace(sides.first);
    const absl::string_view value = absl::StripAsciiWhitespace(sides.second);
    if (key.empty() || (value.empty() && absl::StrContains(part, '='))) {
      return UsageError("condition '[", Escaped(text), "]': expected key=value or a flag");
    }
    row.conditions.push_back({std::string(key), std::string(value), FindTargetProperty(key)});
  }
  const auto by_key = [](const OpCondition& a, const OpCondition& b) { return a.key < b.key; };
  std::sort(row.conditions.begin(), row.conditions.end(), by_key);
  const auto same_key = [](const OpCondition& a, const OpCondition& b) { return a.key == b.key; };
  if (std::adjacent_find(row.conditions.begin(), row.conditions.end(), same_key) != row.conditions.end()) {
    return UsageError("condition '[", Escaped(text), "]' names a key twice");
  }
  return absl::OkStatus();
}

// Reads one file line by line; its state is what later lines have to agree with.
class FileParser {
 public:
  FileParser(absl::string_view name, const OpSignatures& signatures) : name_(Escaped(name)), signatures_(signatures) {}

  absl::StatusOr<OpListFile> Parse(absl::string_view text) {
    absl::ConsumePrefix(&text, "\xef\xbb\xbf");
    if (text.size() > kMaxListBytes) {
      return LimitError(name_, ": more than ", kMaxListBytes, " bytes, the limit for a list file");
    }
    while (!text.empty()) {
      const size_t length = std::min(text.find('\n'), text.size());
      absl::string_view line = text.substr(0, length);
      text.remove_prefix(std::min(length + 1, text.size()));
      if (++line_number_ > kMaxListLines) {
        return LimitError(name_, ": more than ", kMaxListLines, " lines, the limit for a list file");
      }
      absl::ConsumeSuffix(&line, "\r");
      if (absl::Status status = ParseLine(line); !status.ok()) {
        return AtPlace(Here(), status);
      }
    }
    return std::move(file_);
  }

 private:
  std::string Here() const { return absl::StrCat(name_, ":", line_number_); }

  absl::Status ParseLine(absl::string_view line) {
    if (!IsPlainText(line)) return UsageError("expected UTF-8 text without control characters");
    line = absl::StripAsciiWhitespace(WithoutComment(line));
    if (line.empty()) return absl::OkStatus();
    absl::string_view rest = line;
    const absl::string_view word = TakeWord(rest);
    if (word == "include") return ParseInclude(rest);
    if (word == "follow") return ParseFollow(rest);
    if (word == "placement") return ParsePlacement(rest);
    if (word == "type") return ParseType(rest);
    if (word == "node") return ParseNameRule(NameRule::Subject::kNode, rest);
    if (word == "tensor") return ParseNameRule(NameRule::Subject::kTensor, rest);
    return ParseRow(line);
  }

  absl::Status ParseInclude(absl::string_view rest) {
    if (rest.size() >= 2 && rest.front() == '"' && rest.back() == '"') rest = rest.substr(1, rest.size() - 2);
    if (rest.empty()) return UsageError("expected: include NAME");
    file_.includes.push_back({std::string(rest), Here()});
    return absl::OkStatus();
  }

  absl::Status ParseFollow(absl::string_view rest) {
    if (rest != "on" && rest != "off") return UsageError("expected: follow on|off; found '", Escaped(rest), "'");
    if (file_.follow) return UsageError("'follow' again; it is set at ", file_.follow_origin, " already");
    file_.follow = rest == "on";
    file_.follow_origin = Here();
    return absl::OkStatus();
  }

  absl::Status ParsePlacement(absl::string_view rest) {
    const std::optional<PlacementMode> placement = amp::ParsePlacement(rest);
    if (!placement) return UsageError("expected: placement paint|cut|fewest-casts; found '", Escaped(rest), "'");
    if (file_.placement) return UsageError("'placement' again; it is set at ", file_.placement_origin, " already");
    file_.placement = placement;
    file_.placement_origin = Here();
    return absl::OkStatus();
  }

  absl::Status ParseType(absl::string_view rest) {
    std::optional<DType> type;
    for (DType low : {DType::kFloat16, DType::kBfloat16}) {
      if (rest == DTypeName(low)) type = low;
    }
    if (!type) return UsageError("expected: type float16|bfloat16; found '", Escaped(rest), "'");
    if (file_.type) return UsageError("'type' again; it is set at ", file_.type_origin, " already");
    file_.type = type;
    file_.type_origin = Here();
    return absl::OkStatus();
  }

  absl::StatusOr<OpClass> TakeClass(absl::string_view& rest) {
    const absl::string_view word = TakeWord(rest);
    const std::optional<OpClass> op_class = ParseOpClass(word);
    if (op_class) return *op_class;
    return UsageError("expected a class (allow, infer, deny, clear, unlisted), found '", Escaped(word),
                      "'; a row is: operator class why");
  }

  absl::Status CheckFirst(const std::string& key, absl::string_view shown) {
    const auto [it, inserted] = first_lines_.emplace(key, line_number_);
    if (inserted) return absl::OkStatus();
    return UsageError("'", Escaped(shown), "' has a class already, from ", name_, ":", it->second);
  }

  absl::Status ParseNameRule(NameRule::Subject subject, absl::string_view rest) {
    absl::string_view pattern;
    if (absl::ConsumePrefix(&rest, "\"")) {
      const size_t end = rest.find('"');
      if (end == absl::string_view::npos) return UsageError("pattern without closing quote");
      pattern = rest.substr(0, end);
      rest = absl::StripLeadingAsciiWhitespace(rest.substr(end + 1));
    } else {
      pattern = TakeWord(rest);
    }
    AMP_ASSIGN_OR_RETURN(Glob glob, Glob::Parse(pattern));
    AMP_ASSIGN_OR_RETURN(const OpClass op_class, TakeClass(rest));
    const bool is_tensor = subject == NameRule::Subject::kTensor;
    if (is_tensor && op_class != OpClass::kDeny) return UsageError("a tensor can only be denied");
    AMP_RETURN_IF_ERROR(CheckFirst(absl::StrCat(is_tensor ? "tensor " : "node ", pattern), pattern));
    file_.name_rules.push_back({subject, std::move(glob), op_class, std::string(rest), Here(), 0});
    return absl::OkStatus();
  }

  absl::Status ParseRow(absl::string_view line) {
    AMP_ASSIGN_OR_RETURN(OpRow row, ParseOpItem(TakeOperator(line), signatures_));
    AMP_ASSIGN_OR_RETURN(row.op_class, TakeClass(line));
    if (!IsKnownOperator(row, signatures_)) {
      file_.foreign_operators.push_back({row.domain, row.op, row.op_class, Here()});
    }
    row.why = std::string(line);
    row.origin = Here();
    const std::string label = row.Label();
    AMP_RETURN_IF_ERROR(CheckFirst(label, label));
    file_.rows.push_back(std::move(row));
    return absl::OkStatus();
  }

  const std::string name_;
  const OpSignatures& signatures_;
  int line_number_ = 0;
  OpListFile file_;
  absl::flat_hash_map<std::string, int> first_lines_;  // of an operator with its conditions, or a pattern
};

}  // namespace

absl::string_view OpClassName(OpClass op_class) {
  switch (op_class) {
    case OpClass::kUnlisted:
      return "unlisted";
    case OpClass::kAllow:
      return "allow";
    case OpClass::kInfer:
      return "infer";
    case OpClass::kDeny:
      return "deny";
    case OpClass::kClear:
      return "clear";
  }
  return "";
}

absl::string_view PlacementName(PlacementMode placement) {
  switch (placement) {
    case PlacementMode::kPaint:
      return "paint";
    case PlacementMode::kCut:
      return "cut";
    case PlacementMode::kFewestCasts:
      return "fewest-casts";
  }
  return "";
}

std::optional<PlacementMode> ParsePlacement(absl::string_view name) {
  for (const PlacementMode mode : {PlacementMode::kPaint, PlacementMode::kCut, PlacementMode::kFewestCasts}) {
    if (PlacementName(mode) == name) return mode;
  }
  return std::nullopt;
}

std::optional<OpClass> ParseOpClass(absl::string_view name) {
  const std::string lower = absl::AsciiStrToLower(name);
  if (lower == "allow" || lower == "white") return OpClass::kAllow;
  if (lower == "infer" || lower == "gray" || lower == "grey") return OpClass::kInfer;
  if (lower == "deny" || lower == "black") return OpClass::kDeny;
  if (lower == "clear") return OpClass::kClear;
  if (lower == "unlisted") return OpClass::kUnlisted;
  return std::nullopt;
}

std::string OpRow::Label() const {
  std::string label = OperatorLabel(domain, op);
  if (conditions.empty()) return label;
  const auto format = [](std::string* out, const OpCondition& condition) {
    absl::StrAppend(out, condition.key, condition.value.empty() ? "" : "=", condition.value);
  };
  return absl::StrCat(label, "[", absl::StrJoin(conditions, ",", format), "]");
}

absl::StatusOr<OpListFile> ParseOpListFile(absl::string_view name, absl::string_view text,
                                           const OpSignatures& signatures) {
  return FileParser(name, signatures).Parse(text);
}

absl::StatusOr<OpRow> ParseOpItem(absl::string_view item, const OpSignatures& signatures) {
  OpRow row;
  absl::string_view name = item.substr(0, item.find('['));
  if (name.size() < item.size()) {
    absl::string_view conditions = item.substr(name.size() + 1);
    if (!absl::ConsumeSuffix(&conditions, "]")) return UsageError("'", Escaped(item), "': expected ']' at the end");
    AMP_RETURN_IF_ERROR(ParseConditions(conditions, row));
  }
  if (name.find_first_of(kBlanks) != absl::string_view::npos) {
    const std::vector<std::string> names = absl::StrSplit(name, absl::ByAnyChar(kBlanks), absl::SkipEmpty());
    return UsageError("'", Escaped(name), "': expected one operator, found blanks; write ",
                      Escaped(absl::StrJoin(names, ",")));
  }
  const OperatorParts parts = SplitOperatorLabel(name);
  if (parts.has_domain && parts.domain.empty()) {
    return UsageError("'", Escaped(item), "': expected a domain before '::'");
  }
  if (parts.op.empty()) return UsageError("'", Escaped(item), "': expected the name of an operator");
  row.domain = std::string(CanonicalDomain(parts.domain));
  row.op = std::string(parts.op);
  AMP_RETURN_IF_ERROR(CheckOperator(row, signatures));
  return row;
}

absl::Status AtPlace(absl::string_view place, const absl::Status& status) {
  absl::Status placed(status.code(), absl::StrCat(place, ": ", status.message()));
  status.ForEachPayload([&](absl::string_view key, const absl::Cord& payload) { placed.SetPayload(key, payload); });
  return placed;
}

std::optional<std::string> UnknownOperator(const absl::Status& status) {
  const auto op = status.GetPayload(kUnknownOperator);
  if (!op) return std::nullopt;
  return std::string(*op);
}

bool IsKnownOperator(const OpRow& row, const OpSignatures& signatures) {
  const std::vector<std::string>& onnx = RegisteredOperators(row.domain);
  return std::binary_search(onnx.begin(), onnx.end(), row.op) || !signatures.Find(row.domain, row.op).empty();
}

OperatorNames KnownOperators(const OpSignatures& signatures) {
  OperatorNames known;
  for (const std::string& domain : RegisteredDomains()) known[domain] = RegisteredOperators(domain);
  for (const std::string& domain : signatures.Domains()) {
    for (std::string& op : signatures.Operators(domain)) known[domain].push_back(std::move(op));
  }
  return known;
}

}  // namespace amp
