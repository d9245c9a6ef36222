#include "passes/classify/op_lists.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "ir/base/status.h"
#include "ir/schema/operator_label.h"
#include "lists/embedded_lists.h"
#include "passes/classify/suggest.h"

namespace amp {
namespace {

constexpr absl::string_view kSuffix = ".list";

const EmbeddedList* FindEmbedded(absl::string_view name) {
  absl::ConsumeSuffix(&name, kSuffix);
  for (const EmbeddedList& list : EmbeddedLists()) {
    if (list.name == name) return &list;
  }
  return nullptr;
}

// The profile that was called "seed" goes by what it is.
std::string CurrentName(absl::string_view name) {
  absl::string_view rest = name;
  const bool is_old = absl::ConsumePrefix(&rest, "seed") && (rest.empty() || rest[0] == '-');
  return is_old ? absl::StrCat("tf-1.15", rest) : std::string(name);
}

// "tf-latest.list" -> "tf-latest"; "" for what --profile does not take.
std::string ProfileCalled(absl::string_view name) {
  absl::ConsumeSuffix(&name, kSuffix);
  const std::vector<std::string> profiles = ProfileNames();
  const bool is_profile = std::binary_search(profiles.begin(), profiles.end(), name);
  return is_profile || FindEmbedded(name) != nullptr ? std::string(name) : "";
}

absl::StatusOr<std::string> ReadListFile(const std::string& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) return IoError(Escaped(path), ": is a directory, not a list file");
  if (std::filesystem::is_fifo(path, error)) return IoError(Escaped(path), ": is a pipe, not a list file");
  std::ifstream stream(path, std::ios::binary);
  if (!stream) return IoError(Escaped(path), ": cannot be opened");
  std::string text(kMaxListBytes + 4, '\0');  // a byte order mark does not count, and one byte more shows the excess
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (stream.bad()) return IoError(Escaped(path), ": cannot be read");
  text.resize(static_cast<size_t>(stream.gcount()));
  return text;
}

// Loads files with what they include, weakest first.
class SourceLoader {
 public:
  SourceLoader(const OpSignatures& signatures, DType low) : signatures_(signatures), low_(low) {}

  absl::Status LoadEmbedded(const EmbeddedList& list) {
    return LoadText(absl::StrCat(list.name, kSuffix), "", std::string(list.text));
  }

  absl::Status LoadFile(const std::string& path) {
    std::error_code error;
    if (const std::string profile = ProfileCalled(path); !profile.empty() && !std::filesystem::exists(path, error)) {
      return IoError(path, ": no such file; a profile: --profile ", profile);
    }
    AMP_ASSIGN_OR_RETURN(const std::string text, ReadListFile(path));
    return LoadText(path, path, text);
  }

  std::vector<OpListFile> Take() { return std::move(sources_); }

 private:
  static constexpr int kMaxFiles = 64;

  // `path` is "" for an embedded list.
  absl::Status LoadText(const std::string& name, const std::string& path, const std::string& text) {
    if (++num_files_ > kMaxFiles) return LimitError(Escaped(name), ": more than ", kMaxFiles, " list files");
    AMP_ASSIGN_OR_RETURN(OpListFile file, ParseOpListFile(name, text, signatures_));
    if (file.type && *file.type != low_) {
      return UsageError(file.type_origin, ": the list is for ", DTypeName(*file.type), ", but the low type is ",
                        DTypeName(low_), "; expected --dtype ", DTypeName(*file.type), ", or a list without that line");
    }
    open_.emplace_back(name, path);
    for (OpRow& row : file.rows) row.is_built_in = path.empty();
    for (const OpListFile::Include& include : file.includes) AMP_RETURN_IF_ERROR(LoadInclude(include, path));
    open_.pop_back();
    sources_.push_back(std::move(file));
    return absl::OkStatus();
  }

  absl::Status LoadInclude(const OpListFile::Include& include, const std::string& includer) {
    const std::string name = CurrentName(include.name);
    if (absl::StrContains(name, '/') || absl::StrContains(name, '\\')) {
      return UsageError(include.origin, ": include '", Escaped(name),
                        "': expected the name of a file beside this one, no path");
    }
    if (!includer.empty()) {
      const std::filesystem::path folder = std::filesystem::path(includer).parent_path();
      for (const std::string& candidate : {name, absl::StrCat(name, kSuffix)}) {
        const std::string path = (folder / candidate).string();
        std::error_code error;
        if (!std::filesystem::is_regular_file(path, error)) continue;
        // A file called as an embedded list may build upon that list.
        if (std::filesystem::equivalent(path, includer, error) && !ProfileCalled(name).empty()) continue;
        AMP_RETURN_IF_ERROR(CheckNotOpen(include, path));
        return LoadFile(path);
      }
    }
    const EmbeddedList* list = FindEmbedded(name);
    if (const std::string profile = ProfileCalled(name); list == nullptr && !profile.empty()) {
      const absl::StatusOr<std::string> of_type = ProfileList(profile, low_);
      if (!of_type.ok()) return UsageError(include.origin, ": ", of_type.status().message());
      list = FindEmbedded(*of_type);
    }
    if (list == nullptr) {
      return UsageError(include.origin, ": no list '", Escaped(name), "' beside this file or built in",
                        DidYouMean(name, EmbeddedListNames()));
    }
    return LoadEmbedded(*list);
  }

  absl::Status CheckNotOpen(const OpListFile::Include& include, const std::string& path) {
    for (const auto& [open_name, open_path] : open_) {
      std::error_code error;
      if (open_path.empty() || !std::filesystem::equivalent(path, open_path, error)) continue;
      return UsageError(include.origin, ": '", Escaped(include.name), "' includes itself");
    }
    return absl::OkStatus();
  }

  const OpSignatures& signatures_;
  const DType low_;
  int num_files_ = 0;
  std::vector<std::pair<std::string, std::string>> open_;  // (name, path) of the files whose includes are being loaded
  std::vector<OpListFile> sources_;
};

// Splits at commas outside of brackets.
std::vector<absl::string_view> SplitItems(absl::string_view items) {
  std::vector<absl::string_view> parts;
  size_t begin = 0;
  bool in_brackets = false;
  for (size_t i = 0; i <= items.size(); ++i) {
    if (i < items.size() && items[i] == '[') in_brackets = true;
    if (i < items.size() && items[i] == ']') in_brackets = false;
    if (i < items.size() && (items[i] != ',' || in_brackets)) continue;
    parts.push_back(absl::StripAsciiWhitespace(items.substr(begin, i - begin)));
    begin = i + 1;
  }
  return parts;
}

absl::Status AddEdit(const OpListOptions::Edit& edit, const OpSignatures& signatures, OpListFile& flags) {
  const std::string flag = absl::StrCat("--", OpClassName(edit.op_class));
  for (absl::string_view item : SplitItems(edit.items)) {
    const bool remove = absl::ConsumePrefix(&item, "-");
    if (item.empty()) return UsageError(flag, ": empty item in '", Escaped(edit.items), "'");
    absl::StatusOr<OpRow> row = ParseOpItem(item, signatures);
    if (!row.ok()) return AtPlace(flag, row.status());
    row->op_class = remove ? OpClass::kUnlisted : edit.op_class;
    row->why = "given on the command line";
    row->origin = flag;
    if (!IsKnownOperator(*row, signatures)) {
      flags.foreign_operators.push_back({row->domain, row->op, row->op_class, flag});
    } else if (!remove) {
      flags.flagged_operators.push_back({row->domain, row->op, row->op_class, flag});
    }
    const auto same = [&](const OpRow& other) { return other.Label() == row->Label(); };
    const auto other = std::find_if(flags.rows.begin(), flags.rows.end(), same);
    if (other == flags.rows.end()) {
      flags.rows.push_back(*std::move(row));
    } else if (other->op_class != row->op_class) {
      const std::string label = row->Label();
      if (other->origin == flag) {
        return UsageError(flag, ": '", label, "' is given both as '", label, "' and as '-", label, "'");
      }
      return UsageError("'", label, "' is given to both ", other->origin, " and ", flag);
    }
  }
  return absl::OkStatus();
}

absl::Status AddNameRules(const std::string& flag, const std::vector<std::string>& patterns, NameRule::Subject subject,
                          OpClass op_class, OpListFile& flags) {
  for (const std::string& pattern : patterns) {
    absl::StatusOr<Glob> glob = Glob::Parse(pattern);
    if (!glob.ok()) return absl::Status(glob.status().code(), absl::StrCat(flag, ": ", glob.status().message()));
    flags.name_rules.push_back({subject, *std::move(glob), op_class, "given on the command line", flag, 0});
  }
  return absl::OkStatus();
}

absl::StatusOr<OpListFile> SourceOfFlags(const OpListOptions& options) {
  OpListFile flags;
  for (const OpListOptions::Edit& edit : options.edits) AMP_RETURN_IF_ERROR(AddEdit(edit, *options.signatures, flags));
  AMP_RETURN_IF_ERROR(
      AddNameRules("--allow-node", options.allow_nodes, NameRule::Subject::kNode, OpClass::kAllow, flags));
  AMP_RETURN_IF_ERROR(AddNameRules("--deny-node", options.deny_nodes, NameRule::Subject::kNode, OpClass::kDeny, flags));
  AMP_RETURN_IF_ERROR(
      AddNameRules("--deny-tensor", options.deny_tensors, NameRule::Subject::kTensor, OpClass::kDeny, flags));
  flags.follow = options.follow;
  flags.follow_origin = "--follow";
  flags.placement = options.placement;
  flags.placement_origin = "--placement";
  return flags;
}

bool Holds(const OpCondition& condition, ConditionLookup lookup) {
  const std::optional<std::string> value = lookup(condition);
  if (!value) return false;
  if (condition.value.empty()) return *value != "0";
  if (*value == condition.value) return true;
  float left = 0, right = 0;
  return absl::SimpleAtof(*value, &left) && absl::SimpleAtof(condition.value, &right) && left == right;
}

bool HoldsFor(const OpRow& row, ConditionLookup lookup) {
  return std::all_of(row.conditions.begin(), row.conditions.end(),
                     [&](const OpCondition& condition) { return Holds(condition, lookup); });
}

}  // namespace

std::vector<std::string> EmbeddedListNames() {
  std::vector<std::string> names;
  for (const EmbeddedList& list : EmbeddedLists()) names.emplace_back(list.name);
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<std::string> ProfileNames() {
  std::set<std::string> names;
  for (const EmbeddedList& list : EmbeddedLists()) names.emplace(list.name.substr(0, list.name.rfind('-')));
  return {names.begin(), names.end()};
}

Profile DescribeProfile(absl::string_view profile) {
  Profile described;
  for (const EmbeddedList& list : EmbeddedLists()) {
    absl::string_view type = list.name;
    if (!absl::ConsumePrefix(&type, absl::StrCat(profile, "-")) || absl::StrContains(type, "-")) continue;
    described.types.emplace_back(type);
    absl::string_view line = list.text.substr(0, list.text.find('\n'));
    absl::ConsumePrefix(&line, absl::StrCat("# ", list.name, ": "));
    absl::ConsumeSuffix(&line, ".");
    if (described.summary.empty()) described.summary = std::string(line);
  }
  return described;
}

absl::StatusOr<std::string> ProfileList(absl::string_view called, DType low) {
  const std::string profile = CurrentName(called);
  const std::string ending = absl::StrCat("-", DTypeName(low));
  std::string name = absl::EndsWith(profile, ending) ? profile : absl::StrCat(profile, ending);
  const std::vector<std::string> lists = EmbeddedListNames();
  if (std::binary_search(lists.begin(), lists.end(), name)) return name;
  const std::vector<std::string> profiles = ProfileNames();
  if (std::binary_search(profiles.begin(), profiles.end(), profile) ||
      std::binary_search(lists.begin(), lists.end(), profile)) {
    return UsageError("profile '", profile, "' has no list for ", DTypeName(low),
                      "; lists: ", absl::StrJoin(lists, ", "));
  }
  return UsageError("unknown profile '", Escaped(profile), "'", DidYouMean(profile, profiles),
                    " (known: ", absl::StrJoin(profiles, ", "), ")");
}

absl::StatusOr<OpLists> OpLists::Load(const OpListOptions& options) {
  const EmbeddedList* profile = FindEmbedded(options.profile);
  if (profile == nullptr) {
    return UsageError("unknown list '", Escaped(options.profile), "'",
                      DidYouMean(options.profile, EmbeddedListNames()));
  }
  SourceLoader loader(*options.signatures, options.low);
  AMP_RETURN_IF_ERROR(loader.LoadEmbedded(*profile));
  for (const std::string& path : options.files) AMP_RETURN_IF_ERROR(loader.LoadFile(path));
  std::vector<OpListFile> sources = loader.Take();
  AMP_ASSIGN_OR_RETURN(OpListFile flags, SourceOfFlags(options));
  sources.push_back(std::move(flags));
  OpLists lists;
  lists.profile_ = options.profile;
  lists.low_ = options.low;
  for (size_t rank = sources.size(); rank-- > 0;) lists.AddSource(std::move(sources[rank]), static_cast<int>(rank));
  return lists;
}

// Called for the strongest source first: what is there already stays in front.
void OpLists::AddSource(OpListFile source, int rank) {
  for (Row& row : source.rows) row.source_rank = rank;
  for (NameRule& rule : source.name_rules) rule.source_rank = rank;
  absl::flat_hash_map<std::string, std::vector<Row>> added;
  for (auto row = source.rows.rbegin(); row != source.rows.rend(); ++row) {
    added[OperatorKey(row->domain, row->op)].push_back(std::move(*row));
  }
  for (auto& [key, rows] : added) {
    std::vector<Row>& table = rows_[key];
    if (!table.empty() && table.back().conditions.empty()) continue;  // decided above
    std::stable_sort(rows.begin(), rows.end(),
                     [](const Row& a, const Row& b) { return a.conditions.size() > b.conditions.size(); });
    for (Row& row : rows) {
      const auto same = [&](const Row& other) { return other.conditions == row.conditions; };
      if (std::none_of(table.begin(), table.end(), same)) table.push_back(std::move(row));
    }
  }
  std::reverse(source.name_rules.begin(), source.name_rules.end());
  std::stable_sort(source.name_rules.begin(), source.name_rules.end(),
                   [](const NameRule& a, const NameRule& b) { return a.glob.is_literal() && !b.glob.is_literal(); });
  std::move(source.name_rules.begin(), source.name_rules.end(), std::back_inserter(name_rules_));
  std::move(source.foreign_operators.begin(), source.foreign_operators.end(), std::back_inserter(foreign_operators_));
  std::move(source.flagged_operators.begin(), source.flagged_operators.end(), std::back_inserter(flagged_operators_));
  if (follow_origin_.empty() && source.follow) {
    follow_ = *source.follow;
    follow_origin_ = source.follow_origin;
  }
  if (placement_origin_.empty() && (source.placement || source.follow)) {  // the follow pass is the painter's
    placement_ = source.placement.value_or(PlacementMode::kPaint);
    placement_origin_ = source.placement ? source.placement_origin : source.follow_origin;
  }
}

const OpLists::Row* OpLists::Find(absl::string_view domain, absl::string_view op, ConditionLookup lookup) const {
  const auto it = rows_.find(OperatorKey(domain, op));
  if (it == rows_.end()) return nullptr;
  for (const Row& row : it->second) {
    if (HoldsFor(row, lookup)) return &row;
  }
  return nullptr;
}

const OpLists::Row* OpLists::FindForFunction(absl::string_view domain, absl::string_view function,
                                             ConditionLookup lookup) const {
  if (domain.empty()) return nullptr;
  const Row* row = Find(domain, function, lookup);
  return row == nullptr || row->is_built_in ? nullptr : row;
}

std::string OpLists::Print() const {
  const absl::string_view type = DTypeName(low_);
  const absl::string_view profile = absl::StripSuffix(profile_, absl::StrCat("-", type));
  std::string out = absl::StrFormat("# effective lists of profile %s for %s\ntype %s\n", profile, type, type);
  absl::StrAppendFormat(&out, "follow %s  # %s\n", follow_ ? "on" : "off", follow_origin_);
  absl::StrAppendFormat(&out, "placement %s  # %s\n", PlacementName(placement_), placement_origin_);
  for (const NameRule& rule : name_rules_) {
    absl::StrAppendFormat(&out, "%s \"%s\"  %s  %s  # %s\n",
                          rule.subject == NameRule::Subject::kNode ? "node" : "tensor", rule.glob.pattern(),
                          OpClassName(rule.op_class), rule.why, rule.origin);
  }
  const std::map<std::string, std::vector<Row>> sorted(rows_.begin(), rows_.end());
  int label_width = 0, why_width = 0;
  for (const auto& [key, rows] : sorted) {
    for (const Row& row : rows) {
      label_width = std::max(label_width, static_cast<int>(row.Label().size()));
      why_width = std::max(why_width, static_cast<int>(row.why.size()));
    }
  }
  for (const auto& [key, rows] : sorted) {
    for (const Row& row : rows) {
      absl::StrAppendFormat(&out, "%-*s  %-8s  %-*s  # %s\n", label_width, row.Label(), OpClassName(row.op_class),
                            why_width, row.why, row.origin);
    }
  }
  return out;
}

}  // namespace amp
