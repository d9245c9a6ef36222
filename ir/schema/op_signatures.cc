#include "ir/schema/op_signatures.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "ir/base/check.h"
#include "ir/base/status.h"
#include "ir/schema/contrib_signatures.h"
#include "ir/schema/operator_label.h"
#include "ir/schema/opset_imports.h"

namespace amp {
namespace {

using Types = std::bitset<kNumDTypes>;

Types TypesOf(std::initializer_list<DType> types) {
  Types set;
  for (DType type : types) set.set(static_cast<size_t>(type));
  return set;
}

std::optional<DType> ElementType(absl::string_view word) {
  if (word == "double") return DType::kFloat64;
  return ParseDType(word);
}

// Nothing for a word that is no type of a limit.
std::optional<Types> LimitOf(absl::string_view word) {
  if (word == "integers") {
    return TypesOf({DType::kInt8, DType::kInt16, DType::kInt32, DType::kInt64, DType::kUint8, DType::kUint16,
                    DType::kUint32, DType::kUint64});
  }
  if (word == "complex") return TypesOf({DType::kComplex64, DType::kComplex128});
  if (const std::optional<DType> type = ElementType(word)) return TypesOf({*type});
  return std::nullopt;
}

Types EveryType() {
  Types all;
  all.set();
  all.reset(static_cast<size_t>(DType::kUndefined));
  return all;
}

bool IsWordByte(char c) { return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_'; }
bool IsOperatorByte(char c) { return IsWordByte(c) || c == '.' || c == '-' || c == ':'; }

// Recursive descent over one signature; `at_` is the next byte.
class Parser {
 public:
  explicit Parser(absl::string_view text) : text_(text) {}

  absl::StatusOr<OpSchema> Parse() {
    std::vector<OpSchema::Port> inputs, outputs;
    AMP_RETURN_IF_ERROR(ParseOperator());
    AMP_RETURN_IF_ERROR(ParseList("input", inputs));
    at_outputs_ = true;
    AMP_RETURN_IF_ERROR(Expect("->", "'->' before the outputs"));
    SkipBlanks();
    if (at_ < text_.size() && text_[at_] == '(') {
      AMP_RETURN_IF_ERROR(ParseList("output", outputs));
    } else {
      AMP_RETURN_IF_ERROR(ParsePort("output", outputs));
    }
    if (outputs.empty()) return Error(at_, "expected at least one output");
    if (!AtEnd()) AMP_RETURN_IF_ERROR(ParseLimits());
    return OpSchema(std::move(domain_), std::move(operator_), std::move(variables_), std::move(inputs),
                    std::move(outputs));
  }

 private:
  static absl::Status Error(size_t at, absl::string_view what) { return UsageError("column ", at + 1, ": ", what); }
  absl::Status ErrorHere(absl::string_view expected) const {
    const bool is_end = at_ >= text_.size();
    return Error(at_, absl::StrCat("expected ", expected, ", found ",
                                   is_end ? "the end" : absl::StrCat("'", Escaped(text_.substr(at_, 16)), "'")));
  }
  void SkipBlanks() {
    while (at_ < text_.size() && absl::ascii_isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
  }
  bool AtEnd() {
    SkipBlanks();
    return at_ == text_.size();
  }
  bool Take(absl::string_view token) {
    SkipBlanks();
    if (!absl::StartsWith(text_.substr(at_), token)) return false;
    at_ += token.size();
    return true;
  }
  absl::Status Expect(absl::string_view token, absl::string_view expected) {
    return Take(token) ? absl::OkStatus() : ErrorHere(expected);
  }
  absl::string_view TakeWhile(bool (*belongs)(char)) {
    SkipBlanks();
    const size_t begin = at_;
    while (at_ < text_.size() && belongs(text_[at_])) ++at_;
    return text_.substr(begin, at_ - begin);
  }

  // The next word, if it is `keyword`.
  bool TakeKeyword(absl::string_view keyword) {
    SkipBlanks();
    const size_t begin = at_;
    if (TakeWhile(IsWordByte) == keyword) return true;
    at_ = begin;
    return false;
  }

  absl::Status ParseOperator() {
    SkipBlanks();
    const size_t begin = at_;
    const auto [has_domain, domain, name] = SplitOperatorLabel(TakeWhile(IsOperatorByte));
    if (has_domain && domain.empty()) return Error(begin, "expected a domain before '::'");
    domain_ = std::string(CanonicalDomain(domain));
    if (absl::StrContains(name, ':')) return Error(begin, "expected DOMAIN::OPERATOR");
    if (name.empty()) return ErrorHere("the name of an operator");
    operator_ = std::string(name);
    const std::vector<std::string>& onnx = RegisteredOperators(domain_);
    if (!std::binary_search(onnx.begin(), onnx.end(), operator_)) return absl::OkStatus();
    return Error(
        begin, absl::StrCat("'", operator_, "' is ONNX's own operator ", OperatorLabel(ShownDomain(domain_), operator_),
                            ", whose types no signature can change"));
  }

  absl::Status ParseList(absl::string_view side, std::vector<OpSchema::Port>& ports) {
    AMP_RETURN_IF_ERROR(Expect("(", absl::StrCat("'(' before the ", side, "s")));
    if (Take(")")) return absl::OkStatus();
    do {
      AMP_RETURN_IF_ERROR(ParsePort(side, ports));
    } while (Take(","));
    return Expect(")", absl::StrCat("',' or ')' after an ", side));
  }

  absl::Status ParsePort(absl::string_view side, std::vector<OpSchema::Port>& ports) {
    SkipBlanks();
    size_t begin = at_;
    if (!ports.empty() && ports.back().presence == OpSchema::Presence::kVariadic) {
      return Error(begin, absl::StrCat("no ", side, " can follow one with '...'"));
    }
    absl::string_view word = TakeWhile(IsWordByte);
    OpSchema::Port port;
    if (!word.empty() && Take(":")) {
      const auto same_name = [&](const OpSchema::Port& other) { return other.name == word; };
      if (std::any_of(ports.begin(), ports.end(), same_name)) {
        return Error(begin, absl::StrCat("a second ", side, " '", word, "'"));
      }
      port.name = std::string(word);
      SkipBlanks();
      begin = at_;
      word = TakeWhile(IsWordByte);
    }
    if (word.empty()) return ErrorHere("a type");
    AMP_ASSIGN_OR_RETURN(port.variable, VariableOf(word, begin));
    if (Take("...")) port.presence = OpSchema::Presence::kVariadic;
    if (port.presence == OpSchema::Presence::kRequired && Take("?")) port.presence = OpSchema::Presence::kOptional;
    ports.push_back(std::move(port));
    return absl::OkStatus();
  }

  // Index of the variable called `word`, or of the one that holds the fixed type of that name.
  absl::StatusOr<int> VariableOf(absl::string_view word, size_t at) {
    OpSchema::Variable variable{std::string(word), EveryType()};
    if (const std::optional<DType> type = ElementType(word)) {
      variable = {absl::StrCat("tensor(", DTypeName(*type), ")"), TypesOf({*type})};
    } else if (!absl::ascii_isupper(static_cast<unsigned char>(word.front()))) {
      return Error(at, absl::StrCat("'", word, "' is no element type; a type variable begins with a capital"));
    }
    const auto same_name = [&](const OpSchema::Variable& other) { return other.name == variable.name; };
    const auto it = std::find_if(variables_.begin(), variables_.end(), same_name);
    const auto index = static_cast<int>(it - variables_.begin());
    if (it != variables_.end()) return index;
    if (at_outputs_ && variable.name == word) {
      return Error(at, absl::StrCat("type variable '", word,
                                    "' is at no input, so nothing tells which type it is; "
                                    "expected a variable of the inputs or a type, such as float"));
    }
    variables_.push_back(std::move(variable));
    return index;
  }

  absl::Status ParseLimits() {
    if (!TakeKeyword("where")) return ErrorHere("'where' or the end");
    std::set<std::string> limited;
    do {
      SkipBlanks();
      const size_t begin = at_;
      const std::string name(TakeWhile(IsWordByte));
      const auto same_name = [&](const OpSchema::Variable& other) { return other.name == name; };
      const auto it = std::find_if(variables_.begin(), variables_.end(), same_name);
      if (name.empty()) return ErrorHere("a type variable");
      if (it == variables_.end()) return Error(begin, absl::StrCat("no port has the type variable '", name, "'"));
      if (!limited.insert(name).second) return Error(begin, absl::StrCat("a second limit of '", name, "'"));
      if (!TakeKeyword("in")) return ErrorHere("'in {TYPES}'");
      AMP_ASSIGN_OR_RETURN(it->tensor_types, ParseTypes());
    } while (Take(","));
    return AtEnd() ? absl::OkStatus() : ErrorHere("',' or the end");
  }

  absl::StatusOr<Types> ParseTypes() {
    AMP_RETURN_IF_ERROR(Expect("{", "'{' before the types"));
    Types types;
    do {
      SkipBlanks();
      const size_t begin = at_;
      const absl::string_view word = TakeWhile(IsWordByte);
      const std::optional<Types> limit = LimitOf(word);
      if (word.empty()) return ErrorHere("an element type");
      if (!limit) return Error(begin, absl::StrCat("'", word, "' is no element type"));
      types |= *limit;
    } while (Take(","));
    AMP_RETURN_IF_ERROR(Expect("}", "',' or '}' after a type"));
    return types;
  }

  const absl::string_view text_;
  size_t at_ = 0;
  bool at_outputs_ = false;
  std::string domain_, operator_;
  std::vector<OpSchema::Variable> variables_;
};

}  // namespace

absl::StatusOr<OpSchema> ParseOpSignature(absl::string_view text) { return Parser(text).Parse(); }

std::shared_ptr<const OpSchema> OpSignatures::Add(OpSchema schema) {
  std::vector<std::shared_ptr<const OpSchema>>& schemas = by_operator_[OperatorKey(schema.domain(), schema.name())];
  return schemas.emplace_back(std::make_shared<const OpSchema>(std::move(schema)));
}

std::shared_ptr<const OpSignatures> OpSignatures::BuiltIn() {
  static const auto* const kBuiltIn = [] {
    auto signatures = std::make_shared<OpSignatures>();
    for (const absl::string_view text : ContribSignatures()) {
      absl::StatusOr<OpSchema> schema = ParseOpSignature(text);
      AMP_CHECK(schema.ok());
      signatures->Add(*std::move(schema));
    }
    return new std::shared_ptr<const OpSignatures>(std::move(signatures));
  }();
  return *kBuiltIn;
}

absl::StatusOr<std::shared_ptr<const OpSignatures>> OpSignatures::WithBuiltIn(absl::Span<const std::string> texts) {
  if (texts.empty()) return BuiltIn();
  auto signatures = std::make_shared<OpSignatures>();
  std::set<absl::string_view> seen;
  for (const std::string& text : texts) {
    if (!seen.insert(text).second) return UsageError("'", Escaped(text), "' is given twice");
    absl::StatusOr<OpSchema> schema = ParseOpSignature(text);
    if (!schema.ok()) return UsageError("'", Escaped(text), "': ", schema.status().message());
    signatures->given_.push_back(signatures->Add(*std::move(schema)));
  }
  for (const auto& [key, schemas] : BuiltIn()->by_operator_) signatures->by_operator_.try_emplace(key, schemas);
  return signatures;
}

absl::Span<const std::shared_ptr<const OpSchema>> OpSignatures::Find(absl::string_view domain,
                                                                     absl::string_view op_type) const {
  const auto it = by_operator_.find(OperatorKey(domain, op_type));
  if (it == by_operator_.end() || it->second.front()->name() != op_type) return {};  // "a::b" of "c", not "b::c" of "a"
  return it->second;
}

std::set<std::string> OpSignatures::Domains() const {
  std::set<std::string> domains;
  for (const auto& [key, schemas] : by_operator_) domains.emplace(schemas.front()->domain());
  return domains;
}

std::vector<std::string> OpSignatures::Operators(absl::string_view domain) const {
  std::vector<std::string> operators;
  for (const auto& [key, schemas] : by_operator_) {
    if (schemas.front()->domain() == CanonicalDomain(domain)) operators.emplace_back(schemas.front()->name());
  }
  std::sort(operators.begin(), operators.end());
  return operators;
}

}  // namespace amp
