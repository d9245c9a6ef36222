// The text format of operator lists: one file in, rows out. How files combine is passes/classify/op_lists.h.
//
//   include tf-1.15-float16                   # start from another list; tf-1.15: the profile's for the low type
//   type float16                              # refused where the low type is another; printed lists say theirs
//   follow on                                 # the follow pass of the painter; without a line "placement": paint
//   placement cut                             # who decides on infer and clear: paint, cut or fewest-casts
//   Softmax            deny   why in words
//   Resize[mode=nearest]  clear  moves values # a condition on an attribute or a property of the target
//   my.domain::Fast    allow  # a runtime's operator, or a model-local function: all nodes inlined from it
//   node "/encoder/*"  deny   why             # one model's nodes, by name
//   tensor "logits"    deny   why             # ... or by the name of an output
//
// The class is allow, infer, deny or clear (White, Gray, Black, Clear in older documentation; any case), or unlisted,
// which takes the operator off all lists. "#" starts a comment at the start of a line or after a blank. Line ends may
// be CRLF, and a byte order mark may come first. Every name is checked against ONNX's registry and the signatures: a
// typo is an error, not a row that never applies; names in domains that ONNX does not define are the model's to know
// (passes/record/check_operator_names.h).
#ifndef AMP_PASSES_CLASSIFY_OP_LIST_FILE_H_
#define AMP_PASSES_CLASSIFY_OP_LIST_FILE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ir/base/choices.h"
#include "ir/base/dtype.h"
#include "ir/schema/op_signatures.h"
#include "passes/classify/glob.h"
#include "passes/classify/suggest.h"
#include "passes/classify/target_properties.h"

namespace amp {

// kUnlisted is a barrier: the operator stays as it is and stops every propagation.
enum class OpClass : uint8_t { kUnlisted, kAllow, kInfer, kDeny, kClear };

absl::string_view OpClassName(OpClass op_class);
std::optional<OpClass> ParseOpClass(absl::string_view name);

absl::string_view PlacementName(PlacementMode placement);
std::optional<PlacementMode> ParsePlacement(absl::string_view name);

struct OpCondition {
  std::string key;
  std::string value;                       // "" for a flag: Conv[depthwise]
  std::optional<TargetProperty> property;  // that the key names
  bool operator==(const OpCondition&) const = default;
};

struct OpRow {
  std::string domain;  // "" for ai.onnx
  std::string op;
  std::vector<OpCondition> conditions;  // sorted by key; all have to hold
  OpClass op_class = OpClass::kUnlisted;
  std::string why;
  std::string origin;   // "tf-1.15-float16.list:12" or "--deny"
  int source_rank = 0;  // of the source among all that were loaded: the higher is the stronger
  bool is_built_in = false;

  // "com.microsoft::Gelu", "Resize[mode=nearest]".
  std::string Label() const;
};

// Addresses nodes of one model by name, or by the name of one of their outputs.
struct NameRule {
  enum class Subject : uint8_t { kNode, kTensor };
  Subject subject;
  Glob glob;
  OpClass op_class;
  std::string why;
  std::string origin;
  int source_rank = 0;
};

// An operator that a row names, of a domain that ONNX does not define and without a signature.
struct ForeignOperator {
  std::string domain, op;
  OpClass op_class = OpClass::kUnlisted;
  std::string origin;
};

struct OpListFile {
  struct Include {
    std::string name;
    std::string origin;
  };
  std::vector<Include> includes;
  std::vector<OpRow> rows;
  std::vector<NameRule> name_rules;
  std::optional<bool> follow;
  std::string follow_origin;
  std::optional<PlacementMode> placement;
  std::string placement_origin;
  std::optional<DType> type;  // the low type that it was made for
  std::string type_origin;
  std::vector<ForeignOperator> foreign_operators;
  std::vector<ForeignOperator> flagged_operators;  // known ones, of flags alone, that are put on a list
};

inline constexpr size_t kMaxListBytes = 1 << 20;
inline constexpr int kMaxListLines = 100'000;

// `name` is what messages and origins call the file. Errors name it and the line: kInvalidArgument for anything
// malformed, duplicate or unknown, kResourceExhausted beyond the limits above.
absl::StatusOr<OpListFile> ParseOpListFile(absl::string_view name, absl::string_view text,
                                           const OpSignatures& signatures = *OpSignatures::BuiltIn());

// One operator with its conditions, as in the first column of a file or an item of --deny; class and reason stay empty.
absl::StatusOr<OpRow> ParseOpItem(absl::string_view item, const OpSignatures& signatures);

// `status` with the place in front of its message.
absl::Status AtPlace(absl::string_view place, const absl::Status& status);
// The operator that no domain of ONNX has, if that is what `status` is about: a model may tell what was meant.
std::optional<std::string> UnknownOperator(const absl::Status& status);

// Whether the operator of a row is known here: to ONNX or by its signature.
bool IsKnownOperator(const OpRow& row, const OpSignatures& signatures);
// All that are.
OperatorNames KnownOperators(const OpSignatures& signatures);

}  // namespace amp

#endif  // AMP_PASSES_CLASSIFY_OP_LIST_FILE_H_
