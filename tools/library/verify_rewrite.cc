#include "tools/library/verify_rewrite.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "ir/base/status.h"
#include "ir/graph/node_paths.h"
#include "runtime/plan/program.h"
#include "runtime/values/compare_values.h"
#include "tools/library/find_mend.h"
#include "tools/library/output_error.h"
#include "tools/library/sample_inputs.h"

namespace amp {
namespace {

// How often nodes are denied to see whether that mends the model: each time costs a rewrite and a run.
constexpr size_t kMostTries = 60;
// With more nodes than these in float32 there is little left to gain: they are counted, not listed.
constexpr size_t kMostNamed = 16;

// The original's values are kept, up to so many bytes, until the rewritten model's are there to be compared.
constexpr size_t kMostKeptBytes = size_t{256} << 20;

bool IsWithin(const ValueDifference& difference, double tolerance) { return VerifiedError(difference) <= tolerance; }

std::string DifferenceText(const ValueDifference& difference) {
  if (!difference.misfit.empty()) return difference.misfit;
  if (difference.new_non_finite > 0) {
    return absl::StrFormat("%d of %d elements are newly not finite", difference.new_non_finite, difference.elements);
  }
  return absl::StrFormat("relative error %.3g", difference.relative_error);
}

struct OutputVerdict {
  size_t output = 0;
  ValueDifference worst;
  // Over all samples: of integer outputs, and of all.
  int64_t unequal = 0, integers = 0, compared = 0, elements = 0;
};

// A value of the rewritten model that is not quite what the original has under that name.
struct Divergence {
  std::string value;
  std::vector<std::string> nodes;  // as --deny-node takes them: the producer, and what has been folded into it
  double growth = 0;               // of the error from the node's inputs to this value
  ValueDifference difference;
  bool is_beyond = false;  // the tolerance
};

class Verifier {
 public:
  explicit Verifier(const Verification& task) : task_(task) {}

  absl::StatusOr<Verified> Run() {
    AMP_RETURN_IF_ERROR(Report("verify", 0, 2));
    AMP_RETURN_IF_ERROR(RunOriginal());
    AMP_RETURN_IF_ERROR(Report("verify", 1, 2));
    AMP_ASSIGN_OR_RETURN(const OutputVerdict verdict, Judge(task_.rewritten));
    if (IsWithin(verdict.worst, task_.tolerance)) {
      if (verdict.compared == 0) return NothingCompared(verdict);
      return Passed(verdict);
    }
    const std::string output = task_.original.model().value(task_.original.outputs()[verdict.output]).name;
    Verified differs = {.difference = absl::StrCat("output '", Escaped(output), "': ", DifferenceText(verdict.worst),
                                                   ", expected at most ", task_.tolerance)};
    AMP_RETURN_IF_ERROR(AddDivergence(differs));
    return differs;
  }

 private:
  absl::Status Report(const char* step, size_t done, size_t total) const {
    if (!task_.on_progress) return absl::OkStatus();
    return task_.on_progress({step, static_cast<int64_t>(done), static_cast<int64_t>(total)});
  }

  bool HasEnded() const { return task_.in_time && !task_.in_time(); }

  absl::Status RunOriginal() {
    expected_ = task_.expected;
    while (expected_.size() < task_.samples.size()) {
      const NamedDatums& sample = task_.samples[expected_.size()];
      AMP_ASSIGN_OR_RETURN(std::vector<Datum> outputs, task_.original.Run(sample, task_.how));
      expected_.push_back(std::move(outputs));
    }
    return absl::OkStatus();
  }

  // The worst float output, over all samples.
  absl::StatusOr<OutputVerdict> Judge(const Session& session) const {
    OutputVerdict verdict;
    for (size_t i = 0; i < task_.samples.size(); ++i) {
      AMP_ASSIGN_OR_RETURN(const std::vector<Datum> found,
                           session.Run(InputsFor(session, task_.samples[i]), task_.how));
      for (size_t output = 0; output < found.size(); ++output) {
        const ValueDifference difference = VerifiedDifference(expected_[i][output], found[output]);
        verdict.compared += difference.compared;
        verdict.elements += difference.elements;
        verdict.unequal += difference.unequal;
        if (difference.unequal > 0) verdict.integers += difference.elements;
        if (VerifiedError(difference) <= VerifiedError(verdict.worst)) continue;
        verdict.output = output;
        verdict.worst = difference;
      }
    }
    return verdict;
  }

  // Two models that give no number agree on nothing.
  absl::Status NothingCompared(const OutputVerdict& verdict) const {
    return UsageError(
        "--verify: expected inputs on which the outputs have finite elements to compare, found none among ",
        verdict.elements, " elements", NanWeightClause());
  }

  // "; weight 'w' has NaN in 2 of 8 elements", of the original's first constant that has.
  std::string NanWeightClause() const {
    const Model& model = task_.original.model();
    for (const ValueId id : model.AllValues()) {
      const Tensor* const tensor = task_.original.program().constants[id].tensor();
      if (tensor == nullptr) continue;
      const auto num_nan = absl::c_count_if(AsDoubles(*tensor), [](double element) { return std::isnan(element); });
      if (num_nan == 0) continue;
      return absl::StrFormat("; weight '%s' has NaN in %d of %d elements", Escaped(model.value(id).name), num_nan,
                             tensor->num_elements());
    }
    return "";
  }

  Verified Passed(const OutputVerdict& verdict) const {
    std::string brief =
        absl::StrFormat("%s: largest relative error %.3g", VerifiedWhat(verdict), verdict.worst.relative_error);
    std::string text =
        absl::StrFormat("%s, expected at most %g, over %d output%s of %d sample%s", brief, task_.tolerance,
                        task_.original.outputs().size(), task_.original.outputs().size() == 1 ? "" : "s",
                        task_.samples.size(), task_.samples.size() == 1 ? "" : "s");
    if (verdict.unequal > 0) {
      const std::string unequal = absl::StrFormat("%d of %d integers differ", verdict.unequal, verdict.integers);
      absl::StrAppend(&text, "; ", unequal);
      absl::StrAppend(&brief, ", ", unequal);
    }
    if (verdict.compared < verdict.elements) text += NanWeightClause();
    return {.line = text, .brief = brief};
  }

  // Elements that are NaN or infinite in both models agree on nothing that was asked.
  static std::string VerifiedWhat(const OutputVerdict& verdict) {
    if (verdict.compared == verdict.elements) return "verified";
    return absl::StrFormat("verified in part, as %d of %d elements are NaN or infinite in both models",
                           verdict.elements - verdict.compared, verdict.elements);
  }

  absl::Status AddDivergence(Verified& differs) const {
    bool is_whole = true;
    const std::vector<Divergence> divergences = FindDivergences(is_whole);
    const auto first = absl::c_find_if(divergences, [](const Divergence& one) { return one.is_beyond; });
    std::string& text = differs.difference;
    if (first != divergences.end()) {
      absl::StrAppend(&text, "; the first value that differs by more is '", Escaped(first->value), "' of node '",
                      Escaped(first->nodes.front()), "' (", DifferenceText(first->difference), ")");
    } else if (is_whole && !HasEnded()) {
      absl::StrAppend(&text, "; no value in between differs by more");
    }
    const bool is_sought_here = task_.deny != nullptr && !divergences.empty();
    return is_sought_here ? TryDenying(Candidates(divergences), differs) : absl::OkStatus();
  }

  // The original's node `producer`, and those ahead of it whose values the rewritten model has no more: a convolution
  // into which the batch norm behind it has been folded.
  std::vector<std::string> NodesOf(const absl::flat_hash_set<std::string>& rewritten_names, NodeId producer,
                                   const NodePaths& paths) const {
    const Model& original = task_.original.model();
    std::vector<std::string> nodes;
    while (producer != kNone) {
      nodes.push_back(paths.nodes[producer]);
      const Node& node = original.node(producer);
      if (node.inputs.empty() || node.inputs[0] == kNone) break;
      const Value& input = original.value(node.inputs[0]);
      if (rewritten_names.contains(input.name)) break;
      producer = input.producer;
    }
    return nodes;
  }

  // In the order of the rewritten model, on the first sample where there are any.
  // `is_whole`: false if not all values were looked at.
  std::vector<Divergence> FindDivergences(bool& is_whole) const {
    for (const NamedDatums& sample : task_.samples) {
      std::vector<Divergence> found = FindDivergencesOn(sample, is_whole);
      if (!found.empty()) return found;
    }
    return {};
  }

  std::vector<Divergence> FindDivergencesOn(const NamedDatums& sample, bool& is_whole) const {
    const Model& original = task_.original.model();
    const Model& rewritten = task_.rewritten.model();
    absl::flat_hash_map<std::string, std::pair<NodeId, Datum>> expected;  // with the producer
    size_t kept_bytes = 0;
    const ValueObserver remember = [&](ValueId value, const Datum& datum) {
      kept_bytes += datum.tensor() == nullptr ? 0 : datum.tensor()->size_bytes();
      if (kept_bytes > kMostKeptBytes) {
        is_whole = false;
        return;
      }
      expected[original.value(value).name] = {original.value(value).producer, datum};
    };
    RunOptions how = task_.how;
    how.observer = &remember;
    is_whole &= task_.original.Run(sample, how).ok();
    const NodePaths paths = FindNodePaths(original);
    absl::flat_hash_set<std::string> names;
    for (const ValueId id : rewritten.AllValues()) names.insert(rewritten.value(id).name);
    absl::flat_hash_map<std::string, double> errors;
    std::vector<Divergence> divergences;
    const ValueObserver compare = [&](ValueId id, const Datum& datum) {
      const Value& value = rewritten.value(id);
      const auto it = expected.find(value.name);
      if (it == expected.end() || it->second.first == kNone || value.producer == kNone) return;
      const auto& [producer, right] = it->second;
      const ValueDifference difference = VerifiedDifference(right, datum);
      if (!difference.misfit.empty()) return;  // of another round of a loop
      errors[value.name] = VerifiedError(difference);
      double of_inputs = 0;
      for (const ValueId input : rewritten.node(value.producer).PresentInputs()) {
        const auto error = errors.find(rewritten.value(input).name);
        if (error != errors.end()) of_inputs = std::max(of_inputs, error->second);
      }
      const double growth = std::isinf(of_inputs) ? 0 : VerifiedError(difference) - of_inputs;
      const bool is_beyond = !IsWithin(difference, task_.tolerance);
      if (VerifiedError(difference) > 0) {
        divergences.push_back({value.name, NodesOf(names, producer, paths), growth, difference, is_beyond});
      }
    };
    how.observer = &compare;
    is_whole &= task_.rewritten.Run(InputsFor(task_.rewritten, sample), how).ok();
    return divergences;
  }

  // Returns the nodes, the likeliest first: that of the first value beyond the tolerance, then the others beyond it,
  // then those within it; those whose error grows more come earlier.
  static std::vector<std::string> Candidates(std::vector<Divergence> divergences) {
    const auto first = absl::c_find_if(divergences, [](const Divergence& one) { return one.is_beyond; });
    if (first != divergences.end()) std::rotate(divergences.begin(), first, std::next(first));
    std::stable_sort(first == divergences.end() ? divergences.begin() : std::next(divergences.begin()),
                     divergences.end(), [](const Divergence& a, const Divergence& b) {
                       return std::pair(a.is_beyond, a.growth) > std::pair(b.is_beyond, b.growth);
                     });
    std::vector<std::string> nodes;
    absl::flat_hash_set<std::string> seen;
    for (const Divergence& divergence : divergences) {
      for (const std::string& node : divergence.nodes) {
        if (seen.insert(node).second) nodes.push_back(node);
      }
    }
    return nodes;
  }

  // Returns the error with these nodes denied; nothing if the model cannot be rewritten or run then.
  std::optional<ValueDifference> Denying(const std::vector<std::string>& nodes) const {
    const absl::StatusOr<std::unique_ptr<Session>> session = task_.deny(nodes);
    if (!session.ok()) return std::nullopt;
    const absl::StatusOr<OutputVerdict> verdict = Judge(**session);
    return verdict.ok() ? std::optional(verdict->worst) : std::nullopt;
  }

  absl::Status TryDenying(const std::vector<std::string>& candidates, Verified& differs) const {
    size_t tries = 0;
    std::map<std::set<std::string>, ValueDifference> left_after;
    const auto mends = [&](const std::vector<std::string>& nodes) -> absl::StatusOr<bool> {
      AMP_RETURN_IF_ERROR(Report("mend", tries++, kMostTries));
      if (HasEnded()) return false;
      const std::optional<ValueDifference> left = Denying(nodes);
      if (!left.has_value() || !IsWithin(*left, task_.tolerance)) return false;
      left_after[{nodes.begin(), nodes.end()}] = *left;
      return true;
    };
    AMP_ASSIGN_OR_RETURN(const Mend mend, FindMend(candidates, kMostTries, mends));
    std::string& text = differs.difference;
    if (mend.nodes.empty()) {
      if (HasEnded()) return absl::OkStatus();
      absl::StrAppendFormat(&text, "; denying all of the %d nodes that have an error does not mend it (tried)",
                            candidates.size());
      return absl::OkStatus();
    }
    const bool is_minimal = mend.is_minimal && !HasEnded();
    const std::string left = DifferenceText(left_after[{mend.nodes.begin(), mend.nodes.end()}]);
    if (mend.nodes.size() > kMostNamed) {
      absl::StrAppendFormat(
          &text,
          "; %s%d of the %d nodes that have an error have to stay float32 to mend it, '%s' first, which alone does not "
          "(tried, all of them: %s)",
          is_minimal ? "" : "up to ", mend.nodes.size(), candidates.size(), Escaped(mend.nodes.front()), left);
      return absl::OkStatus();
    }
    const std::string flags = absl::StrJoin(mend.nodes, " ", [](std::string* out, const std::string& node) {
      absl::StrAppend(out, "--deny-node '", Escaped(node), "'");
    });
    absl::StrAppend(&text, "; ", flags, mend.nodes.size() == 1 ? " mends it" : " mend it together",
                    is_minimal ? "" : ", fewer may do", " (tried: ", left, ")");
    return absl::OkStatus();
  }

  const Verification& task_;
  std::vector<std::vector<Datum>> expected_;
};

}  // namespace

absl::StatusOr<Verified> Verify(const Verification& verification) { return Verifier(verification).Run(); }

}  // namespace amp
