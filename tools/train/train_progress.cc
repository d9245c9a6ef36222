#include "tools/train/train_progress.h"

#include <cmath>
#include <limits>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "ir/base/status.h"
#include "nlohmann/json.hpp"
#include "passes/record/metadata_json.h"

namespace amp {
namespace {

using Json = nlohmann::json;

// Exact both ways, NaN and infinities included, which JSON's numbers are not.
std::string ExactText(double x) { return absl::StrFormat("%.17g", x); }

Json Optional(const std::optional<double>& x) { return x.has_value() ? Json(ExactText(*x)) : Json(); }

Json TotalsJson(const EpochTotals& t) {
  return {{"steps", t.steps},
          {"skipped", t.skipped},
          {"samples", t.samples},
          {"loss", ExactText(t.loss)},
          {"judged", t.judged},
          {"right", t.right},
          {"seconds", ExactText(t.seconds)},
          {"measured", t.measured},
          {"absolute_error", ExactText(t.absolute_error)}};
}

Json RecordJson(const EpochRecord& r) {
  return {{"epoch", r.epoch},
          {"totals", TotalsJson(r.totals)},
          {"learning_rate", ExactText(r.learning_rate)},
          {"loss_scale", ExactText(r.loss_scale)},
          {"test_loss", Optional(r.test_loss)},
          {"test_accuracy", Optional(r.test_accuracy)},
          {"test_absolute_error", Optional(r.test_absolute_error)}};
}

// Takes fields of JSON that may be anything; the first that does not fit is the error.
class Fields {
 public:
  absl::Status status;

  int64_t Count(const Json& from, const char* key) {
    const Json& value = At(from, key);
    if (!value.is_number_integer() ||
        (value.is_number_unsigned() ? value.get<uint64_t>() > kMost : value.get<int64_t>() < 0)) {
      return Complain<int64_t>(key);
    }
    return value.get<int64_t>();
  }
  double Number(const Json& from, const char* key) {
    double number = 0;
    const Json& value = At(from, key);
    if (!value.is_string() || !absl::SimpleAtod(value.get<std::string>(), &number)) return Complain<double>(key);
    return number;
  }
  std::optional<double> OptionalNumber(const Json& from, const char* key) {
    if (At(from, key).is_null()) return std::nullopt;
    return Number(from, key);
  }
  bool Truth(const Json& from, const char* key) {
    const Json& value = At(from, key);
    return value.is_boolean() ? value.get<bool>() : Complain<bool>(key);
  }
  const Json& List(const Json& from, const char* key) {
    static const Json empty = Json::array();
    const Json& value = At(from, key);
    if (value.is_array()) return value;
    Complain<int>(key);
    return empty;
  }
  std::map<std::string, std::string> Texts(const Json& from, const char* key) {
    std::map<std::string, std::string> texts;
    const Json& value = At(from, key);
    if (!value.is_object()) return Complain<std::map<std::string, std::string>>(key);
    for (const auto& [name, text] : value.items()) {
      texts[name] = text.is_string() ? text.get<std::string>() : Complain<std::string>(key);
    }
    return texts;
  }
  const Json& At(const Json& from, const char* key) {
    static const Json absent;
    return from.is_object() && from.contains(key) ? from.at(key) : absent;
  }

 private:
  static constexpr uint64_t kMost = std::numeric_limits<int64_t>::max();

  template <typename T>
  T Complain(const char* key) {
    if (status.ok()) status = UsageError("expected the progress of a training run, found a wrong '", key, "'");
    return T();
  }
};

EpochTotals ReadTotals(Fields& fields, const Json& json) {
  EpochTotals t;
  t.steps = fields.Count(json, "steps");
  t.skipped = fields.Count(json, "skipped");
  t.samples = fields.Count(json, "samples");
  t.loss = fields.Number(json, "loss");
  t.judged = fields.Count(json, "judged");
  t.right = fields.Count(json, "right");
  t.seconds = fields.Number(json, "seconds");
  if (fields.At(json, "measured").is_null()) return t;  // a checkpoint from before there were such
  t.measured = fields.Count(json, "measured");
  t.absolute_error = fields.Number(json, "absolute_error");
  return t;
}

EpochRecord ReadRecord(Fields& fields, const Json& json) {
  EpochRecord r;
  r.epoch = fields.Count(json, "epoch");
  r.totals = ReadTotals(fields, fields.At(json, "totals"));
  r.learning_rate = fields.Number(json, "learning_rate");
  r.loss_scale = fields.Number(json, "loss_scale");
  r.test_loss = fields.OptionalNumber(json, "test_loss");
  r.test_accuracy = fields.OptionalNumber(json, "test_accuracy");
  r.test_absolute_error = fields.OptionalNumber(json, "test_absolute_error");
  return r;
}

// As printed: of NaN the sign means nothing.
double WithoutNanSign(double x) { return std::isnan(x) ? std::numeric_limits<double>::quiet_NaN() : x; }

std::string OptionalCsv(const std::optional<double>& x) {
  return x.has_value() ? absl::StrFormat("%.6g", WithoutNanSign(*x)) : "";
}

double MillisecondsPerStep(const EpochTotals& t) {
  return t.steps == 0 ? 0 : 1000 * t.seconds / static_cast<double>(t.steps);
}

}  // namespace

double EpochTotals::MeanLoss() const {
  return samples == 0 ? std::numeric_limits<double>::quiet_NaN() : WithoutNanSign(loss / static_cast<double>(samples));
}

std::optional<double> EpochTotals::Accuracy() const {
  if (judged == 0) return std::nullopt;
  return static_cast<double>(right) / static_cast<double>(judged);
}

std::optional<double> EpochTotals::MeanAbsoluteError() const {
  if (measured == 0) return std::nullopt;
  return absolute_error / static_cast<double>(measured);
}

std::string ProgressJson(const TrainProgress& p) {
  Json history = Json::array(), means = Json::array();
  for (const EpochRecord& record : p.history) history.push_back(RecordJson(record));
  for (const double mean : p.curve.means) means.push_back(ExactText(mean));
  const Json json = {{"batch", p.batch},
                     {"num_samples", p.num_samples},
                     {"drop_last", p.drop_last},
                     {"shuffle", p.shuffle.has_value() ? Json(*p.shuffle) : Json()},
                     {"base_rate", ExactText(p.base_rate)},
                     {"flags", p.flags},
                     {"epoch", p.epoch},
                     {"next_batch", p.next_batch},
                     {"totals", TotalsJson(p.totals)},
                     {"skips_in_a_row", p.skips_in_a_row},
                     {"skips_at_floor", p.skips_at_floor},
                     {"loss_scale", ExactText(p.loss_scale)},
                     {"history", std::move(history)},
                     {"curve", std::move(means)},
                     {"curve_steps", p.curve.steps_per_mean},
                     {"curve_open", ExactText(p.curve.open_sum)},
                     {"curve_open_steps", p.curve.open_steps}};
  return json.dump();
}

absl::StatusOr<TrainProgress> ParseProgress(absl::string_view text) {
  absl::StatusOr<Json> parsed = ParseMetadataJson(text);
  if (!parsed.ok()) return UsageError("expected the progress of a training run: ", Escaped(parsed.status().message()));
  const Json& json = *parsed;
  Fields fields;
  TrainProgress p;
  p.batch = fields.Count(json, "batch");
  p.num_samples = fields.Count(json, "num_samples");
  p.drop_last = fields.Truth(json, "drop_last");
  const Json& shuffle = fields.At(json, "shuffle");
  if (shuffle.is_number_unsigned()) p.shuffle = shuffle.get<uint64_t>();
  p.base_rate = fields.Number(json, "base_rate");
  p.flags = fields.Texts(json, "flags");
  p.epoch = fields.Count(json, "epoch");
  p.next_batch = fields.Count(json, "next_batch");
  p.totals = ReadTotals(fields, fields.At(json, "totals"));
  p.skips_in_a_row = fields.Count(json, "skips_in_a_row");
  p.skips_at_floor = fields.Count(json, "skips_at_floor");
  p.loss_scale = fields.Number(json, "loss_scale");
  for (const Json& record : fields.List(json, "history")) p.history.push_back(ReadRecord(fields, record));
  const Json& means = fields.List(json, "curve");
  for (const Json& mean : means) p.curve.means.push_back(fields.Number(Json{{"mean", mean}}, "mean"));
  p.curve.steps_per_mean = fields.Count(json, "curve_steps");
  p.curve.open_sum = fields.Number(json, "curve_open");
  p.curve.open_steps = fields.Count(json, "curve_open_steps");
  AMP_RETURN_IF_ERROR(fields.status);
  return p;
}

std::string ChangesSince(const std::map<std::string, std::string>& before,
                         const std::map<std::string, std::string>& now) {
  std::vector<std::string> changes;
  for (const auto& [flag, value] : now) {
    const auto was = before.find(flag);
    if (was == before.end() || was->second == value) continue;
    changes.push_back(absl::StrCat(flag, " ", Escaped(value), " (was ", Escaped(was->second), ")"));
  }
  return absl::StrJoin(changes, ", ");
}

std::string EpochLine(const EpochRecord& r, int64_t num_epochs, StepChecks checks) {
  std::string line = absl::StrFormat("epoch %d/%d  loss %.4f", r.epoch, num_epochs, r.totals.MeanLoss());
  if (const auto accuracy = r.totals.Accuracy()) absl::StrAppend(&line, absl::StrFormat("  accuracy %.4f", *accuracy));
  if (const auto error = r.totals.MeanAbsoluteError()) {
    absl::StrAppend(&line, absl::StrFormat("  mean absolute error %.4f", *error));
  }
  if (checks.has_scale) absl::StrAppend(&line, "  loss scale ", r.loss_scale);
  if (checks.has_scale || checks.may_skip) absl::StrAppend(&line, "  skipped ", r.totals.skipped);
  absl::StrAppend(&line, absl::StrFormat("  %.3f ms/step", MillisecondsPerStep(r.totals)));
  if (r.test_loss) absl::StrAppend(&line, absl::StrFormat("  test loss %.4f", WithoutNanSign(*r.test_loss)));
  if (r.test_accuracy) absl::StrAppend(&line, absl::StrFormat("  test accuracy %.4f", *r.test_accuracy));
  if (r.test_absolute_error) {
    absl::StrAppend(&line, absl::StrFormat("  test mean absolute error %.4f", *r.test_absolute_error));
  }
  return line + "\n";
}

int64_t BestEpoch(const std::vector<EpochRecord>& history) {
  const EpochRecord* best = nullptr;
  for (const EpochRecord& r : history) {
    if (!r.test_loss.has_value() || std::isnan(*r.test_loss)) continue;
    if (best == nullptr || *r.test_loss < *best->test_loss) best = &r;
  }
  return best == nullptr ? 0 : best->epoch;
}

int64_t EpochsSinceBest(const std::vector<EpochRecord>& history) {
  if (history.empty()) return 0;
  return history.back().epoch - BestEpoch(history);
}

std::string HistoryCsv(const std::vector<EpochRecord>& history) {
  std::string text = "epoch,loss,accuracy,loss_scale,skipped,steps,ms_per_step,learning_rate,test_loss,test_accuracy";
  const bool has_errors =
      absl::c_any_of(history, [](const EpochRecord& r) { return r.totals.MeanAbsoluteError().has_value(); });
  absl::StrAppend(&text, has_errors ? ",mean_absolute_error,test_mean_absolute_error\n" : "\n");
  for (const EpochRecord& r : history) {
    absl::StrAppend(&text, r.epoch, ",", absl::StrFormat("%.6g", r.totals.MeanLoss()), ",",
                    OptionalCsv(r.totals.Accuracy()), ",", r.loss_scale, ",");
    absl::StrAppend(&text, r.totals.skipped, ",", r.totals.steps, ",",
                    absl::StrFormat("%.4f", MillisecondsPerStep(r.totals)), ",", r.learning_rate, ",");
    absl::StrAppend(&text, OptionalCsv(r.test_loss), ",", OptionalCsv(r.test_accuracy));
    if (has_errors) {
      absl::StrAppend(&text, ",", OptionalCsv(r.totals.MeanAbsoluteError()), ",", OptionalCsv(r.test_absolute_error));
    }
    text += '\n';
  }
  return text;
}

}  // namespace amp
