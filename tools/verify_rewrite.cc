#include "tools/verify_rewrite.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "ir/base/status.h"
#include "ir/graph/node_paths.h"
#include "runtime/compare_values.h"

namespace amp {
namespace {

// How many nodes are denied to see whether that mends the model: each costs a rewrite and a run.
constexpr size_t kMostTried = 8;

bool IsWithin(const ValueDifference& difference, double tolerance) {
  return difference.misfit.empty() && difference.new_non_finite == 0 && difference.relative_error <= tolerance;
}

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
  int64_t unequal = 0, integers = 0;  // of integer outputs, over all samples
};

double Badness(const ValueDifference& difference) {
  constexpr double kWorst = 1e300;
  return !difference.misfit.empty() || difference.new_non_finite > 0 ? kWorst : difference.relative_error;
}

// A value of the rewritten model that is not what the original has under that name.
struct Divergence {
  std::string value, node;  // the node as --deny-node takes it
  double growth = 0;        // of the error from the node's inputs to this value
  ValueDifference difference;
};

class Verifier {
 public:
  explicit Verifier(const Verification& task) : task_(task) {}

  absl::StatusOr<std::string> Run() {
    AMP_RETURN_IF_ERROR(Report("verify", 0, 2));
    AMP_RETURN_IF_ERROR(RunOriginal());
    AMP_RETURN_IF_ERROR(Report("verify", 1, 2));
    AMP_ASSIGN_OR_RETURN(const OutputVerdict verdict, Judge(task_.rewritten));
    if (IsWithin(verdict.worst, task_.tolerance)) return Passed(verdict);
    AMP_ASSIGN_OR_RETURN(const std::string divergence, DivergenceText());
    const std::string output = task_.original.model().value(task_.original.outputs()[verdict.output]).name;
    return absl::FailedPreconditionError(absl::StrCat("--verify: output '", Escaped(output),
                                                      "': ", DifferenceText(verdict.worst), ", expected at most ",
                                                      task_.tolerance, divergence));
  }

 private:
  absl::Status Report(const char* step, size_t done, size_t total) const {
    if (!task_.on_progress) return absl::OkStatus();
    return task_.on_progress({step, static_cast<int64_t>(done), static_cast<int64_t>(total)});
  }

  absl::Status RunOriginal() {
    for (const NamedDatums& sample : task_.samples) {
      AMP_ASSIGN_OR_RETURN(expected_.emplace_back(), task_.original.Run(sample));
    }
    return absl::OkStatus();
  }

  // The worst float output, over all samples.
  absl::StatusOr<OutputVerdict> Judge(const Session& session) const {
    OutputVerdict verdict;
    for (size_t i = 0; i < task_.samples.size(); ++i) {
      AMP_ASSIGN_OR_RETURN(const std::vector<Datum> found, session.Run(task_.samples[i]));
      for (size_t output = 0; output < found.size(); ++output) {
        const ValueDifference difference = CompareValues(expected_[i][output], found[output]);
        verdict.unequal += difference.unequal;
        if (difference.unequal > 0) verdict.integers += difference.elements;
        if (Badness(difference) <= Badness(verdict.worst)) continue;
        verdict.output = output;
        verdict.worst = difference;
      }
    }
    return verdict;
  }

  std::string Passed(const OutputVerdict& verdict) const {
    std::string text = absl::StrFormat(
        "verified: largest relative error %.3g, expected at most %g, over %d output%s of %d sample%s",
        verdict.worst.relative_error, task_.tolerance, task_.original.outputs().size(),
        task_.original.outputs().size() == 1 ? "" : "s", task_.samples.size(), task_.samples.size() == 1 ? "" : "s");
    if (verdict.unequal > 0) {
      absl::StrAppendFormat(&text, "; %d of %d integers differ", verdict.unequal, verdict.integers);
    }
    return text;
  }

  absl::StatusOr<std::string> DivergenceText() const {
    const std::vector<Divergence> divergences = FindDivergences();
    if (divergences.empty()) return "; no value in between differs by more";
    const Divergence& first = divergences.front();
    AMP_ASSIGN_OR_RETURN(const std::string outcome, TryDenying(divergences));
    return absl::StrCat("; the first value that differs by more is '", Escaped(first.value), "' of node '",
                        Escaped(first.node), "' (", DifferenceText(first.difference), "); ", outcome);
  }

  // In the order of the rewritten model, on the first sample where there are any.
  std::vector<Divergence> FindDivergences() const {
    for (const NamedDatums& sample : task_.samples) {
      std::vector<Divergence> found = FindDivergencesOn(sample);
      if (!found.empty()) return found;
    }
    return {};
  }

  std::vector<Divergence> FindDivergencesOn(const NamedDatums& sample) const {
    const Model& original = task_.original.model();
    const Model& rewritten = task_.rewritten.model();
    absl::flat_hash_map<std::string, std::pair<NodeId, Datum>> expected;  // with the producer
    const ValueObserver remember = [&](ValueId value, const Datum& datum) {
      expected[original.value(value).name] = {original.value(value).producer, datum};
    };
    if (!task_.original.Run(sample, &remember).ok()) return {};
    const NodePaths paths = FindNodePaths(original);
    absl::flat_hash_map<std::string, double> errors;
    std::vector<Divergence> divergences;
    const ValueObserver compare = [&](ValueId id, const Datum& datum) {
      const Value& value = rewritten.value(id);
      const auto it = expected.find(value.name);
      if (it == expected.end() || it->second.first == kNone || value.producer == kNone) return;
      const auto& [producer, right] = it->second;
      const ValueDifference difference = CompareValues(right, datum);
      if (!difference.misfit.empty()) return;  // of another round of a loop
      errors[value.name] = Badness(difference);
      if (IsWithin(difference, task_.tolerance)) return;
      double of_inputs = 0;
      for (const ValueId input : rewritten.node(value.producer).PresentInputs()) {
        const auto error = errors.find(rewritten.value(input).name);
        if (error != errors.end()) of_inputs = std::max(of_inputs, error->second);
      }
      divergences.push_back({value.name, paths.nodes[producer], Badness(difference) - of_inputs, difference});
    };
    // A failure has been met before, by whoever judged the outputs.
    (void)task_.rewritten.Run(sample, &compare).status();
    return divergences;
  }

  static std::vector<std::string> FirstNodes(const std::vector<Divergence>& divergences) {
    std::vector<std::string> nodes;
    absl::flat_hash_set<std::string> seen;
    for (const Divergence& divergence : divergences) {
      if (nodes.size() < kMostTried && seen.insert(divergence.node).second) nodes.push_back(divergence.node);
    }
    return nodes;
  }

  // The first node, and those where the error grows most.
  static std::vector<std::string> Candidates(std::vector<Divergence> divergences) {
    std::stable_sort(divergences.begin() + 1, divergences.end(),
                     [](const Divergence& a, const Divergence& b) { return a.growth > b.growth; });
    return FirstNodes(divergences);
  }

  // What is left of the error with these nodes denied; nothing where the model cannot be rewritten or run then.
  std::optional<ValueDifference> Denying(const std::vector<std::string>& nodes) const {
    const absl::StatusOr<std::unique_ptr<Session>> session = task_.deny(nodes);
    if (!session.ok()) return std::nullopt;
    const absl::StatusOr<OutputVerdict> verdict = Judge(**session);
    return verdict.ok() ? std::optional(verdict->worst) : std::nullopt;
  }

  absl::StatusOr<std::string> TryDenying(const std::vector<Divergence>& divergences) const {
    const std::vector<std::string> nodes = Candidates(divergences);
    const std::vector<std::string> first = FirstNodes(divergences);
    size_t attempts = 0;
    const auto report = [&] { return Report("mend", attempts++, nodes.size() + first.size() - 1); };
    const auto mends = [&](const std::optional<ValueDifference>& left) {
      return left.has_value() && IsWithin(*left, task_.tolerance);
    };
    for (const std::string& node : nodes) {
      AMP_RETURN_IF_ERROR(report());
      const std::optional<ValueDifference> left = Denying({node});
      if (mends(left)) {
        return absl::StrFormat("--deny-node '%s' mends it (tried: %s)", Escaped(node), DifferenceText(*left));
      }
    }
    // What keeps a value float32 is of no use where its reader narrows it: the first nodes together, in the model's order.
    for (size_t count = 2; count <= first.size(); ++count) {
      AMP_RETURN_IF_ERROR(report());
      const std::vector<std::string> some(first.begin(), first.begin() + static_cast<std::ptrdiff_t>(count));
      const std::optional<ValueDifference> left = Denying(some);
      if (!mends(left)) continue;
      const std::string flags = absl::StrJoin(some, " ", [](std::string* out, const std::string& node) {
        absl::StrAppend(out, "--deny-node '", Escaped(node), "'");
      });
      return absl::StrCat(flags, " mend it together (tried: ", DifferenceText(*left), ")");
    }
    return absl::StrFormat(
        "denying any of the %d nodes where the error grows most does not mend it, nor do the first %d (tried)",
        nodes.size(), first.size());
  }

  const Verification& task_;
  std::vector<std::vector<Datum>> expected_;
};

}  // namespace

absl::StatusOr<std::string> Verify(const Verification& verification) { return Verifier(verification).Run(); }

}  // namespace amp
