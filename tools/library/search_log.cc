#include "tools/library/search_log.h"

#include <sys/stat.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <string_view>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "ir/base/atomic_file.h"
#include "ir/base/content_hash.h"
#include "ir/base/status.h"
#include "ir/file/external_data.h"
#include "passes/record/metadata_json.h"
#include "passes/report/search_report.h"
#include "tools/library/rewrite_flags.h"
#include "tools/library/version.h"

namespace amp {
namespace {

using Json = nlohmann::json;
constexpr int kSchema = 1;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Flags that change no choice that is run: how many are, which is taken, and what is said of it.
bool ChangesChoices(const Flag<RewriteOptions>& row) {
  static const absl::flat_hash_set<std::string> kOthers = {
      "--in-place", "--force",     "--external-data", "--calibration", "--verify",         "--tolerance",
      "--search",   "--max-error", "--max-drop",      "--budget-runs", "--metric-timeout", "--sensitivity",
      "--measure",  "--annotate",  "--dry-run",       "--strict",      "--lists"};
  return row.traits.use != FlagUse::kPrints && !kOthers.contains(row.name);
}

// A text with its length ahead, so that no two lists of texts are alike.
void AddText(absl::string_view text, ContentHash& hash) {
  hash.Add(absl::StrCat(text.size(), ":"));
  hash.Add(text);
}

void AddDatum(const Datum& datum, ContentHash& hash) {
  AddText(datum.TypeText(), hash);
  if (const Tensor* const tensor = datum.tensor()) {
    if (tensor->dtype() == DType::kString) {
      for (const std::string& text : tensor->elements<std::string>()) AddText(text, hash);
    } else {
      hash.Add({reinterpret_cast<const char*>(tensor->bytes().data()), tensor->size_bytes()});
    }
  }
  if (const Sequence* const sequence = datum.sequence()) {
    for (const Datum& element : sequence->elements) AddDatum(element, hash);
  }
}

// Data files are told apart by size and time: they may be large.
absl::Status AddModel(const LoadedFile& original, ContentHash& hash) {
  if (original.original == nullptr) {
    AddText(original.model->SerializeAsString(), hash);
    return absl::OkStatus();
  }
  AMP_RETURN_IF_ERROR(original.CopyOriginal([&](absl::string_view bytes) {
    hash.Add(bytes);
    return absl::OkStatus();
  }));
  for (const auto& [location, file] : original.external->files()) {
    struct stat info = {};
    if (file->fs->Stat(file->file.get(), &info) != 0) continue;
    AddText(absl::StrCat(location, " ", info.st_size, " ", info.st_mtim.tv_sec, ".", info.st_mtim.tv_nsec), hash);
  }
  return absl::OkStatus();
}

std::string ReadAll(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

absl::StatusOr<std::string> Fingerprint(const RewriteOptions& options, const LoadedFile& original,
                                        const SampleRuns& samples) {
  ContentHash hash;
  AddText(kVersion, hash);
  AMP_RETURN_IF_ERROR(AddModel(original, hash));
  for (const SetFlag& flag : SetFlags(RewriteFlags(), options, ChangesChoices)) AddText(flag.Text(), hash);
  AddText(options.metric_function == nullptr ? "" : kOwnMetric, hash);
  for (const std::string& list : options.lists) AddText(ReadAll(list), hash);
  for (size_t i = 0; i < samples.size(); ++i) {
    const NamedDatums& sample = samples.sample(i);
    std::map<std::string, const Datum*> in_order;
    for (const auto& [name, datum] : sample) in_order[name] = &datum;
    for (const auto& [name, datum] : in_order) {
      AddText(name, hash);
      AddDatum(*datum, hash);
    }
  }
  return hash.Text();
}

// A number that JSON has no word for is infinite.
Json JsonOf(double number) { return std::isfinite(number) ? Json(number) : Json(); }
double NumberOf(const Json& json) { return json.is_null() ? kInfinity : json.get<double>(); }
bool IsNumber(const Json& json) { return json.is_null() || json.is_number(); }

absl::Status NoLog() { return UsageError("expected a file that --search-log wrote, of schema ", kSchema); }

std::string BitsOf(const LowParts& low) {
  std::string bits;
  for (const bool is_low : low) bits += is_low ? '1' : '0';
  return bits;
}

}  // namespace

absl::StatusOr<SearchLog> SearchLog::Open(const RewriteOptions& options, const LoadedFile& original,
                                          const SampleRuns& samples) {
  if (options.search_log.empty()) return SearchLog(options, "");
  AMP_ASSIGN_OR_RETURN(std::string search, Fingerprint(options, original, samples));
  SearchLog log(options, std::move(search));
  AMP_RETURN_IF_ERROR(log.ReadFile());
  return log;
}

absl::Status SearchLog::ReadFile() {
  const absl::Status status = Read();
  return status.ok() ? status : InFile(absl::StrCat("--search-log: ", Escaped(options_->search_log)), status);
}

absl::Status SearchLog::Read() {
  std::error_code error;
  if (!std::filesystem::exists(options_->search_log, error)) return absl::OkStatus();
  const absl::StatusOr<Json> json = ParseMetadataJson(ReadAll(options_->search_log));
  const bool is_log = json.ok() && json->is_object() && json->value("schema", Json()) == kSchema &&
                      json->contains("search") && json->contains("choices") && (*json)["choices"].is_array();
  if (!is_log) return options_->force ? absl::OkStatus() : NoLog();
  if ((*json)["search"] != search_) {
    return UsageError("it is of another search: the model, the samples, the metric or other flags were not these; ",
                      "name another file, or remove this one");
  }
  if (json->contains("baseline")) {
    if (!(*json)["baseline"].is_number()) return NoLog();
    if (!baseline_.has_value()) baseline_ = (*json)["baseline"].get<double>();
  }
  for (const Json& row : (*json)["choices"]) {
    const Json low = row.is_object() ? row.value("low_parts", Json()) : Json();
    const bool is_choice = low.is_string() && row.contains("error") && IsNumber(row["error"]) &&
                           row.value("saved_bytes", Json()).is_number() && row.value("converted", Json()).is_boolean();
    if (!is_choice || (row.contains("held_out_error") && !IsNumber(row["held_out_error"]))) return NoLog();
    LowParts parts;
    for (const char bit : low.get<std::string>()) parts.push_back(bit == '1');
    LoggedChoice choice = {NumberOf(row["error"]), std::nullopt, row["saved_bytes"].get<double>(),
                           row["converted"].get<bool>()};
    if (row.contains("held_out_error")) choice.held_out = NumberOf(row["held_out_error"]);
    choices_.emplace(std::move(parts), choice);
  }
  return absl::OkStatus();
}

absl::Status SearchLog::Write() {
  if (options_->search_log.empty()) return absl::OkStatus();
  AMP_RETURN_IF_ERROR(ReadFile());  // another process may be at the same search
  Json rows = Json::array();
  for (const auto& [low, choice] : choices_) {
    Json& row = rows.emplace_back(Json{{"low_parts", BitsOf(low)},
                                       {"error", JsonOf(choice.error)},
                                       {"saved_bytes", choice.saved_bytes},
                                       {"converted", choice.is_converted}});
    if (choice.held_out.has_value()) row["held_out_error"] = JsonOf(*choice.held_out);
  }
  Json json = {{"schema", kSchema}, {"search", search_}, {"choices", std::move(rows)}};
  if (baseline_.has_value()) json["baseline"] = *baseline_;
  const absl::Status written = WriteFileAtomically(options_->search_log, {FileKind::kJson, options_->force},
                                                   [&](AtomicFile& file) { return file.Append(json.dump(1) + "\n"); });
  return written.ok() ? written : InFile("--search-log", written);
}

const LoggedChoice* SearchLog::Find(const LowParts& low) const {
  const auto found = choices_.find(low);
  return found == choices_.end() ? nullptr : &found->second;
}

absl::Status SearchLog::Keep(const LowParts& low, const LoggedChoice& choice) {
  choices_[low] = choice;
  return Write();
}

absl::Status SearchLog::KeepBaseline(double baseline) {
  if (baseline_.has_value() && *baseline_ != baseline) {
    return InFile(absl::StrCat("--search-log: ", Escaped(options_->search_log)),
                  UsageError("the number of the original model was ", *baseline_, ", and is ", baseline,
                             " now; name another file, or remove this one"));
  }
  baseline_ = baseline;
  return Write();
}

}  // namespace amp
