#include "tools/run/compare_runs.h"

#include <cmath>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "ir/base/status.h"
#include "ir/graph/graph.h"
#include "passes/record/metadata_json.h"
#include "runtime/hardware/usable_memory.h"
#include "runtime/plan/program.h"
#include "tools/library/verify_rewrite.h"
#include "tools/library/version.h"
#include "tools/report/run_page.h"
#include "tools/run/run_inputs.h"

namespace amp {
namespace {

// A run, and the first value in it that has an infinity or a NaN.
struct WatchedRun {
  std::vector<Datum> outputs;
  std::optional<ValueId> not_finite;
};

using FloatObserver = std::function<void(ValueId value, const Datum& datum)>;

absl::StatusOr<WatchedRun> Run(const Session& session, const NamedDatums& inputs, const NodeGate* may_go_on,
                               const FloatObserver& observe) {
  WatchedRun run;
  const ValueObserver watch = [&](ValueId value, const Datum& datum) {
    if (datum.tensor() == nullptr || !VisitFloats(datum.tensor()->dtype(), [](auto) {})) return;
    observe(value, datum);
    if (run.not_finite.has_value()) return;
    const bool is_finite =
        absl::c_all_of(AsDoubles(*datum.tensor()), [](double element) { return std::isfinite(element); });
    if (!is_finite) run.not_finite = value;
  };
  AMP_ASSIGN_OR_RETURN(run.outputs, session.Run(inputs, {.observer = &watch, .may_go_on = may_go_on}));
  return run;
}

// Compares the values of two runs, one after the other.
class ValueComparer {
 public:
  explicit ValueComparer(bool is_on) : most_bytes_(is_on ? UsableMemory() / 2 : 0) {}

  void Keep(const Session& session, ValueId id, const Datum& datum) {
    const auto bytes = static_cast<int64_t>(datum.tensor()->size_bytes());
    const Model& model = session.model();
    const Value& value = model.value(id);
    const bool is_given = value.producer == kNone || !session.program().constants[id].IsEmpty();
    if (most_bytes_ == 0 || is_given) return;
    const auto known = places_.find(value.name);
    if (known != places_.end()) {  // of an earlier round of a body
      kept_bytes_ -= static_cast<int64_t>(kept_[known->second].tensor()->size_bytes());
      kept_[known->second] = Datum();
    }
    if (kept_bytes_ + bytes > most_bytes_) {
      places_.erase(value.name);
      return;
    }
    const auto [it, is_new] = places_.try_emplace(value.name, compared_.size());
    if (is_new) {
      compared_.push_back({.name = value.name,
                           .node = model.NodeLabel(value.producer),
                           .op = std::string(model.node(value.producer).op_type()),
                           .difference = {}});
      kept_.emplace_back();
    }
    kept_bytes_ += bytes;
    kept_[it->second] = datum;
  }
  void Compare(const Session& other, ValueId id, const Datum& datum) {
    const auto it = places_.find(other.model().value(id).name);
    if (it == places_.end()) return;
    ValueComparison& comparison = compared_[it->second];
    comparison.others_type = datum.tensor()->dtype();
    comparison.difference = CompareValues(kept_[it->second], datum);
  }
  std::vector<ValueComparison> Take() {
    std::erase_if(compared_, [](const ValueComparison& value) { return value.others_type == DType::kUndefined; });
    return std::move(compared_);
  }

 private:
  const int64_t most_bytes_;
  int64_t kept_bytes_ = 0;
  std::vector<ValueComparison> compared_;
  std::vector<Datum> kept_;
  absl::flat_hash_map<std::string, size_t> places_;
};

std::string DifferenceText(const ValueDifference& difference) {
  if (!difference.misfit.empty()) return difference.misfit;
  if (difference.compared == 0 && difference.new_non_finite == 0) {
    return difference.elements == 0
               ? "nothing to compare: it has no elements"
               : absl::StrFormat("nothing to compare: none of %d elements is finite", difference.elements);
  }
  if (difference.compared == 0) {
    return absl::StrFormat("%d of %d elements newly not finite", difference.new_non_finite, difference.elements);
  }
  if (difference.unequal > 0 && difference.relative_error == 0 && difference.new_non_finite == 0) {
    return absl::StrFormat("%d unequal of %d elements", difference.unequal, difference.elements);
  }
  std::string text = absl::StrFormat("relative L2 error %.3g, largest error %.3g, cosine %.9g",
                                     difference.relative_error, difference.largest_error, difference.cosine);
  if (difference.new_non_finite > 0) absl::StrAppendFormat(&text, ", %d newly not finite", difference.new_non_finite);
  if (difference.unequal > 0) absl::StrAppendFormat(&text, ", %d unequal", difference.unequal);
  absl::StrAppendFormat(&text, " of %d elements", difference.elements);
  if (difference.compared < difference.elements) {
    absl::StrAppendFormat(&text, ", %d of them finite in both", difference.compared);
  }
  return text;
}

// Returns the expectation that an output misses, as text.
std::string ExpectedText(const ValueDifference& difference, double tolerance) {
  const bool is_inexact = difference.relative_error > tolerance || difference.new_non_finite > 0;
  if (difference.unequal > 0 && !is_inexact) return "equal elements";
  return absl::StrCat("a relative error of at most ", tolerance);
}

bool IsWithin(const ValueDifference& difference, double tolerance) {
  return difference.misfit.empty() && difference.new_non_finite == 0 && difference.unequal == 0 &&
         difference.relative_error <= tolerance;
}

std::string NotFiniteName(const Session& session, const WatchedRun& run) {
  return run.not_finite.has_value() ? session.model().value(*run.not_finite).name : "";
}

std::string NotFiniteText(const std::string& name, absl::string_view which) {
  if (name.empty()) return "";
  return absl::StrCat("first tensor of ", which, " that is not finite: ", Escaped(name), "\n");
}

nlohmann::ordered_json AsJson(const OutputComparison& output) {
  const ValueDifference& difference = output.difference;
  nlohmann::ordered_json json = {
      {"name", TextOfBytes(output.name)}, {"elements", difference.elements}, {"compared", difference.compared}};
  if (!difference.misfit.empty()) {
    json["misfit"] = difference.misfit;
    return json;
  }
  json["relative_error"] = difference.relative_error;
  json["largest_error"] = difference.largest_error;
  json["cosine"] = difference.cosine;
  json["new_non_finite"] = difference.new_non_finite;
  json["unequal"] = difference.unequal;
  if (output.ulps.unit == DType::kUndefined) return json;
  nlohmann::ordered_json& ulps = json["ulps"];
  ulps["unit"] = DTypeName(output.ulps.unit);
  for (size_t row = 0; row < UlpHistogram::kRows; ++row) ulps[UlpHistogram::RowText(row)] = output.ulps.counts[row];
  return json;
}

nlohmann::ordered_json AsJson(const RunCosts& costs) {
  return {{"median_ms", costs.median_ms},
          {"min_ms", costs.min_ms},
          {"activation_bytes", costs.activation_bytes},
          {"weight_bytes", costs.weight_bytes}};
}

// Returns the narrowest type that outputs in float32 came through: bfloat16 or float16 if a value of either model has
// it, bfloat16 if both occur.
DType LowestType(const Model& a, const Model& b) {
  DType lowest = DType::kUndefined;
  for (const Model* model : {&a, &b}) {
    for (const ValueId id : model->AllValues()) {
      const DType dtype = model->value(id).dtype;
      if (IsLowFloat(dtype) && lowest != DType::kBfloat16) lowest = dtype;
    }
  }
  return lowest;
}

absl::StatusOr<size_t> FindOutput(const Session& session, const std::string& name) {
  for (size_t i = 0; i < session.outputs().size(); ++i) {
    if (session.model().value(session.outputs()[i]).name == name) return i;
  }
  return UsageError("expected an output '", Escaped(name), "', found ", QuotedFirstOf(session.OutputNames()));
}

}  // namespace

absl::StatusOr<RunComparison> CompareRuns(const Session& session, const Session& other, const std::string& path,
                                          const NamedDatums& inputs, const CompareOptions& options) {
  ValueComparer values(options.with_values);
  AMP_ASSIGN_OR_RETURN(const WatchedRun expected,
                       Run(session, inputs, options.may_go_on,
                           [&](ValueId id, const Datum& datum) { values.Keep(session, id, datum); }));
  AMP_ASSIGN_OR_RETURN(const NamedDatums declared, InputsAsDeclared(inputs, other));
  const absl::StatusOr<WatchedRun> found = Run(
      other, declared, options.may_go_on, [&](ValueId id, const Datum& datum) { values.Compare(other, id, datum); });
  if (!found.ok()) return InFile(path, found.status());
  RunComparison comparison;
  comparison.values = values.Take();
  const DType lowest = LowestType(session.model(), other.model());
  const double tolerance =
      options.tolerance.value_or(lowest == DType::kBfloat16 ? kBfloat16Tolerance : kFloat16Tolerance);
  comparison.tolerance = tolerance;
  ValueDifference all;
  for (size_t i = 0; i < expected.outputs.size(); ++i) {
    const std::string& name = session.model().value(session.outputs()[i]).name;
    const absl::StatusOr<size_t> output = FindOutput(other, name);
    if (!output.ok()) return InFile(path, output.status());
    const Datum& of_other = found->outputs[*output];
    const ValueDifference difference = CompareValues(expected.outputs[i], of_other);
    comparison.outputs.push_back({name, difference, CountUlps(expected.outputs[i], of_other, lowest)});
    all.Add(difference);
    if (IsWithin(difference, tolerance) || !comparison.verdict.ok()) continue;
    comparison.verdict = absl::FailedPreconditionError(absl::StrCat("output '", Escaped(name), "': expected ",
                                                                    ExpectedText(difference, tolerance), ", found ",
                                                                    DifferenceText(difference)));
  }
  if (comparison.verdict.ok() && all.compared == 0) {
    comparison.verdict =
        UsageError("--compare: expected inputs on which outputs have finite elements, found none among ", all.elements,
                   " elements");
  }
  comparison.first_not_finite = NotFiniteName(session, expected);
  comparison.others_first_not_finite = NotFiniteName(other, *found);
  return comparison;
}

std::string RunComparison::Text(bool with_ulps) const {
  std::string text;
  for (const OutputComparison& output : outputs) {
    absl::StrAppend(&text, Escaped(output.name), "  ", DifferenceText(output.difference), "\n");
    if (with_ulps && output.ulps.unit != DType::kUndefined && output.difference.compared > 0)
      absl::StrAppend(&text, "  ", output.ulps.Text(), "\n");
  }
  const auto is_finite = [](const OutputComparison& output) {
    return output.difference.compared == output.difference.elements;
  };
  if (!verdict.ok() || !absl::c_all_of(outputs, is_finite)) {  // masks of infinities in between are nobody's fault
    absl::StrAppend(&text, NotFiniteText(first_not_finite, "MODEL"), NotFiniteText(others_first_not_finite, "OTHER"));
  }
  return absl::StrCat(text, costs.has_value() ? costs->Text() : "");
}

std::string RunComparison::Json(const std::string& model, const std::string& other) const {
  nlohmann::ordered_json json = {{"model", TextOfBytes(model)},
                                 {"other", TextOfBytes(other)},
                                 {"tolerance", tolerance},
                                 {"agree", verdict.ok()},
                                 {"outputs", nlohmann::ordered_json::array()}};
  for (const OutputComparison& output : outputs) json["outputs"].push_back(AsJson(output));
  if (!first_not_finite.empty()) json["first_not_finite"] = TextOfBytes(first_not_finite);
  if (!others_first_not_finite.empty()) json["others_first_not_finite"] = TextOfBytes(others_first_not_finite);
  if (costs.has_value()) {
    json["iterations"] = costs->iterations;
    json["costs"] = {{"model", AsJson(costs->model)}, {"other", AsJson(costs->other)}};
  }
  return json.dump(1) + "\n";
}

std::string RunComparison::Page(const std::string& model, const std::string& other) const {
  using Json = nlohmann::ordered_json;
  Json of_outputs = Json::array(), of_values = Json::array();
  for (const OutputComparison& output : outputs) {
    const ValueDifference& difference = output.difference;
    of_outputs.push_back({TextOfBytes(output.name), difference.misfit, difference.relative_error,
                          difference.largest_error, difference.cosine, difference.new_non_finite, difference.unequal,
                          difference.elements});
  }
  for (const ValueComparison& value : values) {
    const ValueDifference& difference = value.difference;
    of_values.push_back({TextOfBytes(value.name), TextOfBytes(value.node), TextOfBytes(value.op),
                         DTypeName(value.others_type), difference.relative_error, difference.largest_error,
                         difference.new_non_finite, difference.elements, difference.misfit});
  }
  return RunPage({{"kind", "comparison"},
                  {"model", TextOfBytes(model)},
                  {"version", kVersion},
                  {"other", TextOfBytes(other)},
                  {"tolerance", tolerance},
                  {"verdict", TextOfBytes(std::string(verdict.message()))},
                  {"outputs", std::move(of_outputs)},
                  {"values", std::move(of_values)}});
}

}  // namespace amp
