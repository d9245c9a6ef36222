// The rows of the tables of flags: every value that a flag's help names is read and written alike.
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "tests/catch2.h"
#include "tools/library/rewrite_flags.h"
#include "tools/library/train_flags.h"

namespace amp {
namespace {

// Texts that a flag of this form and type takes. Words in capitals stand for names.
template <typename Options>
std::vector<std::string> Samples(const Flag<Options>& row) {
  static const std::map<std::string, std::vector<std::string>> kOfFlags = {
      {"--verify", {"", "off", "fix", "sample.npz"}},
      {"--scale-weights", {"", "always", "never"}},
      {"--sensitivity", {"", "parts.csv"}},
      {"--explain", {"", "float32"}},
      {"--dim", {"batch=8", "x:0=batch"}},
      {"--keep-io", {"all", "none", "x,y"}},
      {"--opset", {"keep", "21"}}};
  if (const auto found = kOfFlags.find(row.name); found != kOfFlags.end()) return found->second;
  if (row.access.form == FlagForm::kSwitch) return {""};
  if (row.type == "X") return {"0.5", "1e-07"};
  if (row.type == "N") return {"7"};
  std::vector<std::string> samples;
  for (const absl::string_view word : absl::StrSplit(row.type, '|')) {
    if (!absl::StrContains(word, '[')) samples.emplace_back(word);
  }
  if (samples.empty()) samples.emplace_back("name");
  return samples;
}

template <typename Options>
void CheckTable(const FlagTable<Options>& table) {
  std::set<std::string> names;
  for (const Flag<Options>& row : table) {
    INFO(row.name);
    CHECK(names.insert(row.name).second);
    CHECK(row.access.values(Options()).empty());
    CHECK((row.access.form == FlagForm::kSwitch) <= row.type.empty());
    bool was_set = false;
    for (const std::string& text : Samples(row)) {
      INFO(text);
      Options options;
      REQUIRE(row.access.read({row.name, row.type, text}, options).ok());
      const std::vector<std::string> values = row.access.values(options);
      if (values.empty()) continue;  // the default, by its name
      was_set = true;
      REQUIRE(values.size() == 1);
      Options again;
      REQUIRE(row.access.read({row.name, row.type, values.front()}, again).ok());
      CHECK(row.access.values(again) == values);
      const bool is_short_for_another = row.name == "--scale-weights" && text.empty();
      if (!is_short_for_another) CHECK(values.front() == text);
    }
    CHECK(was_set);
  }
}

TEST_CASE("each row of the tables of flags reads what it writes") {
  CheckTable(RewriteFlags());
  CheckTable(TrainFlags());
}

TEST_CASE("a flag that needs another one names a row of the table") {
  for (const Flag<RewriteOptions>& row : RewriteFlags()) {
    INFO(row.name);
    CHECK((row.traits.needs.empty() || IsRewriteFlag(row.traits.needs)));
  }
  for (const Flag<TrainOptions>& row : TrainFlags()) {
    INFO(row.name);
    CHECK((row.traits.needs.empty() || row.traits.needs == kTrainFlag || row.traits.needs == kDynamicScale));
  }
}

TEST_CASE("a row whose help shows a file declares it, or says that it is none") {
  for (const Flag<RewriteOptions>& row : RewriteFlags()) {
    INFO(row.name);
    const bool shows_file = absl::StrContains(row.type, "FILE") || absl::StrContains(row.help, "=FILE.");
    CHECK(shows_file == (row.traits.files != nullptr));
  }
}

TEST_CASE("numbers are written with as few digits as tell them apart") {
  RewriteOptions options;
  options.tolerance = 0.1;
  options.max_weight_error = 0.123456789;
  options.holdout = 1.0 / 3;
  options.train.learning_rate = 1e-5;
  CHECK(ChangedFlags(options) == std::vector<std::string>{"--max-weight-error=0.123456789",
                                                          "--holdout=0.3333333333333333", "--tolerance=0.1",
                                                          "--learning-rate=1e-05"});
}

}  // namespace
}  // namespace amp
