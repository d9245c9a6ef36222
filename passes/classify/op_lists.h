// The class of every operator: the profile, the user's list files and the flags, combined.
//
//   profile (with what it includes)  <  --lists first  <  --lists second  <  --allow, --deny, ...
//
// A higher source decides alone for every operator that it has an unconditional row for: --deny Resize denies nearest
// ones too, whatever rows with conditions lie below. Inside one source the row with most conditions wins that hold, the
// later of equals. An included file lies below the file that includes it.
//
// An OpLists does not change once it is loaded, and may be read from several threads.
#ifndef AMP_PASSES_CLASSIFY_OP_LISTS_H_
#define AMP_PASSES_CLASSIFY_OP_LISTS_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "ir/base/dtype.h"
#include "passes/classify/op_list_file.h"

namespace amp {

// The names that --profile takes ("default", "tf-latest"), sorted, and those of the lists behind them
// ("default-float16").
std::vector<std::string> ProfileNames();
std::vector<std::string> EmbeddedListNames();

// A profile: its description in one line, as its first list begins, and the low types that it has lists for.
struct Profile {
  std::string summary;
  std::vector<std::string> types;
};
// REQUIRES: `profile` is one of ProfileNames().
Profile DescribeProfile(absl::string_view profile);

// Returns the list of a profile: "tf-1.15", float16 -> "tf-1.15-float16". The full name is taken as well, and so is the
// older name "seed". Errors: kInvalidArgument, with a suggestion, if there is no such profile, or none for the type.
// REQUIRES: `low` is kFloat16 or kBfloat16.
absl::StatusOr<std::string> ProfileList(absl::string_view profile, DType low);

struct OpListOptions {
  // One use of --allow, --infer, --deny or --clear: "Softmax,com.microsoft::BiasGelu"; "-Softmax" takes it off all
  // lists.
  struct Edit {
    OpClass op_class;
    std::string items;
  };
  std::string profile = "default-float16";  // an embedded list
  std::vector<std::string> files = {};      // later ones win
  std::vector<Edit> edits = {};
  std::vector<std::string> allow_nodes = {}, deny_nodes = {}, deny_tensors = {};  // globs
  std::optional<bool> follow = {};                                                // over what the lists say
  std::optional<PlacementMode> placement = {};                                    // the same
  std::shared_ptr<const OpSignatures> signatures = OpSignatures::BuiltIn();       // operators that ONNX does not define
  DType low = DType::kFloat16;  // what "include default" means, and what a list's "type" has to be
};

// Returns the value that a node or its target has for a condition's key; nothing if the key does not apply.
using ConditionLookup = absl::FunctionRef<std::optional<std::string>(const OpCondition& condition)>;

class OpLists {
 public:
  using Row = OpRow;

  // Errors: kInvalidArgument (file:line and what is wrong, or the flag), kUnavailable for a file that cannot be read,
  // kResourceExhausted beyond the limits of op_list_file.h or more than 64 files.
  static absl::StatusOr<OpLists> Load(const OpListOptions& options);

  // The row that decides, or null where there is none. A row of class kUnlisted says who took the operator off the
  // lists. Valid for the life of this object. A condition without a value holds unless the answer is nothing or "0";
  // numbers compare by value.
  const Row* Find(absl::string_view domain, absl::string_view op, ConditionLookup lookup) const;
  // Finds the row for a model-local function whose calls were inlined. The lists of this program are left out, as they
  // know operators and no model's functions. So are all lists if the function has the name of an operator of ai.onnx.
  const Row* FindForFunction(absl::string_view domain, absl::string_view function, ConditionLookup lookup) const;

  // The rules for nodes and tensors by name, strongest first: flags before files, later files before earlier ones;
  // inside a source names without wildcards first, then later lines; of the flags, --deny-tensor and --deny-node come
  // before --allow-node. A rule decides over a row of the same or a weaker source (source_rank).
  const std::vector<NameRule>& name_rules() const { return name_rules_; }

  // Whether the follow pass runs, where the painter does. A source that has a say on it and none on the placement wants
  // the painter.
  bool follow() const { return follow_; }
  PlacementMode placement() const { return placement_; }
  // Operators of rows that neither ONNX nor a signature knows; the strongest source first.
  const std::vector<ForeignOperator>& foreign_operators() const { return foreign_operators_; }
  // The known operators that flags put on a list; list files may name what one model of many has.
  const std::vector<ForeignOperator>& flagged_operators() const { return flagged_operators_; }

  // The effective table, readable as a list file for the same low type, with each row's origin as a comment. Shadowed
  // rows are left out.
  std::string Print() const;

 private:
  OpLists() = default;
  void AddSource(OpListFile source, int rank);

  absl::flat_hash_map<std::string, std::vector<Row>> rows_;  // by "domain::op"; the first row that holds decides
  std::vector<NameRule> name_rules_;
  std::string profile_;  // an embedded list
  DType low_ = DType::kFloat16;
  bool follow_ = false;
  std::string follow_origin_;
  PlacementMode placement_ = PlacementMode::kPaint;
  std::string placement_origin_;
  std::vector<ForeignOperator> foreign_operators_;
  std::vector<ForeignOperator> flagged_operators_;
};

}  // namespace amp

#endif  // AMP_PASSES_CLASSIFY_OP_LISTS_H_
