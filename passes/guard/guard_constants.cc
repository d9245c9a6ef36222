#include "passes/guard/guard_constants.h"

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/node_hash_map.h"
#include "absl/strings/str_format.h"
#include "ir/base/percent.h"
#include "ir/base/status.h"
#include "ir/graph/attributes.h"
#include "ir/operators/operator_facts.h"
#include "ir/patterns/saturating_constant.h"
#include "passes/guard/hidden_constants.h"
#include "passes/guard/judge_addends.h"

namespace amp {
namespace {

constexpr int64_t kMostDoubles = int64_t{1} << 16;

// Returns the fault of a constant in the low type; empty if there is none.
struct Verdict {
  std::string overflow;  // waived where the constant is a saturating bound
  std::string other;
};

std::string OverflowText(absl::string_view name, const NarrowingStats& stats, DType low) {
  return absl::StrFormat("constant '%s' reaches a magnitude of %g, beyond %s's largest %g (%d of %d elements overflow)",
                         Escaped(name), stats.largest, std::string(DTypeName(low)), LargestFinite(low), stats.overflow,
                         stats.count);
}

// The operand that an attribute of the node holds, as a constant of one element.
std::optional<ConstantFacts> AttributeFacts(const Node& node, DType low) {
  const std::optional<float> operand = GetAttributeOperand(node);
  if (!operand.has_value()) return std::nullopt;
  return SurveyElements(absl::MakeConstSpan(&*operand, 1), low);
}

// The factors by which a matrix product scales its result and its addend.
std::vector<std::pair<std::string, float>> FactorsOf(const Node& node) {
  std::vector<std::pair<std::string, float>> factors;
  if (!node.Has(Role::kHeavy)) return factors;
  for (const char* const name : {"alpha", "beta"}) {
    if (const std::optional<float> factor = GetFloat(node, name)) factors.emplace_back(name, *factor);
  }
  return factors;
}

// Whether the factor scales all of the result: what is small beside an addend does no harm.
bool IsWholeResult(const Node& node, absl::string_view factor) {
  constexpr size_t kAddend = 2;
  return factor == "alpha" && (node.inputs.size() <= kAddend || node.Input(kAddend) == kNone);
}

bool IsSmall(const ConstantFacts& facts, const ConstantGuardOptions& options) {
  return facts.stats.count <= options.max_scalar_elements;
}

double Limit(const ConstantFacts& facts, const ConstantGuardOptions& options) {
  return IsSmall(facts, options) ? options.max_scalar_change : options.max_weight_error;
}

Verdict Judge(absl::string_view name, const ConstantFacts& facts, DType low, const ConstantGuardOptions& options) {
  Verdict verdict;
  const NarrowingStats& stats = facts.stats;
  if (stats.overflow > 0) verdict.overflow = OverflowText(name, stats, low);
  if (IsSmall(facts, options)) {
    for (float value : facts.first_elements) {
      if (!std::isfinite(value) || value == 0.0f) continue;
      const float narrowed = WidenOne(NarrowOne(value, low), low);
      if (!std::isfinite(narrowed)) continue;  // overflow says it
      const double change = std::abs((static_cast<double>(narrowed) - value) / value);
      if (change <= options.max_scalar_change) continue;
      verdict.other = absl::StrFormat("constant '%s' holds %g, which becomes %g in %s (%s %% off, limit %s %%)",
                                      Escaped(name), value, narrowed, std::string(DTypeName(low)),
                                      PercentText(change, 3), PercentText(options.max_scalar_change, 6));
      break;
    }
  } else if (stats.RelativeError() > options.max_weight_error) {
    verdict.other = absl::StrFormat(
        "weight '%s' has a relative rounding error of %s %% in %s (limit %s %%; %d of %d elements vanish)",
        Escaped(name), PercentText(stats.RelativeError(), 3), std::string(DTypeName(low)),
        PercentText(options.max_weight_error, 6), stats.underflow, stats.count);
  }
  return verdict;
}

}  // namespace

std::string JudgeElements(absl::string_view name, absl::Span<const float> elements, DType low,
                          const ConstantGuardOptions& options) {
  const Verdict verdict = Judge(name, SurveyElements(elements, low), low, options);
  return verdict.overflow.empty() ? verdict.other : verdict.overflow;
}

absl::StatusOr<std::vector<Veto>> GuardConstants(const Model& model, const VertexGraph& graph,
                                                 const IdVector<NodeId, NodeTraits>& traits, ConstantSurvey& survey,
                                                 const ConstantGuardOptions& options) {
  const DType low = graph.low();
  absl::node_hash_map<ValueId, Verdict> verdicts;
  absl::node_hash_map<ValueId, ConstantFacts> doubles;
  // Null for those of 64 bits that cannot be read, or are many.
  const auto facts_of = [&](ValueId value) -> absl::StatusOr<const ConstantFacts*> {
    if (model.value(value).dtype == DType::kFloat32) return survey.Facts(value);
    const auto [it, is_new] = doubles.try_emplace(value);
    if (is_new) {
      const auto elements = StoredElements(model, value, kMostDoubles).value_or(std::vector<double>());
      it->second = SurveyElements(std::vector<float>(elements.begin(), elements.end()), low);
    }
    return it->second.stats.count == 0 ? nullptr : &it->second;
  };
  AddendJudge addends(model, traits, survey);
  const auto may_saturate = [&](const Use& use) {
    return options.are_cast ? IsClipBound(model, use) : MaySaturate(model, use);
  };
  std::vector<Veto> vetoes;
  for (NodeId id : graph.order()) {
    const Node& node = model.node(id);
    // Excluded nodes too: a veto denies what is ahead as well, and an exclusion must not take that back.
    const OpClass op_class = traits[id].op_class;
    if (op_class == OpClass::kUnlisted || op_class == OpClass::kDeny) continue;
    const auto first_veto = vetoes.size();
    const auto veto = [&](VertexId v, std::string why) {
      for (size_t i = first_veto; i < vetoes.size(); ++i) {
        if (vetoes[i].vertex == v) return;  // one reason is enough
      }
      vetoes.push_back({v, std::move(why)});
    };
    for (size_t port = 0; port < node.inputs.size(); ++port) {
      const ValueId value = node.inputs[port];
      const VertexId v = graph.OfInput(id, port);
      if (value == kNone || v == kNone || !graph[v].is_high || !graph[v].can_be_low) continue;
      if (model.value(value).dtype != DType::kFloat32) continue;
      const bool is_constant = model.IsConstant(value);
      for (const ValueId source : is_constant ? std::vector<ValueId>{value} : HiddenConstants(model, value)) {
        AMP_ASSIGN_OR_RETURN(const ConstantFacts* facts, facts_of(source));
        if (facts == nullptr) continue;
        const auto [it, is_new] = verdicts.try_emplace(source);
        if (is_new) it->second = Judge(model.value(source).name, *facts, low, options);
        const Verdict& verdict = it->second;
        const Use use = {.node = id, .port = port};
        const bool saturates = is_constant ? may_saturate(use) : IsClipBound(model, use);
        if (!verdict.overflow.empty() && !saturates) veto(v, verdict.overflow);
        if (verdict.other.empty()) continue;
        AMP_ASSIGN_OR_RETURN(const bool is_harmless,
                             addends.IsHarmless(id, port, facts->stats, Limit(*facts, options)));
        if (!is_harmless) veto(v, verdict.other);
      }
    }
    const VertexId v = node.outputs.empty() ? kNone : graph.OfOutput(id, 0);
    if (v == kNone || !graph[v].is_high || !graph[v].can_be_low) continue;
    const auto judge = [&](absl::string_view name, const ConstantFacts& facts) {
      const Verdict verdict = Judge(name, facts, low, options);
      if (!verdict.overflow.empty()) veto(v, verdict.overflow);
      if (!verdict.other.empty()) veto(v, verdict.other);
    };
    const std::string& result = model.value(node.Output(0)).name;
    if (const std::optional<ConstantFacts> operand = AttributeFacts(node, low)) judge(result, *operand);
    for (const auto& [name, factor] : FactorsOf(node)) {
      const ConstantFacts facts = SurveyElements(absl::MakeConstSpan(&factor, 1), low);
      if (facts.stats.overflow > 0 || IsWholeResult(node, name)) judge(absl::StrCat(name, " of ", result), facts);
    }
  }
  return vetoes;
}

absl::StatusOr<std::vector<std::string>> DescribeOverflows(const Model& model, const VertexGraph& graph,
                                                           const Paint& paint, ConstantSurvey& survey) {
  struct Overflow {
    std::string text;
    std::vector<std::string> readers;
  };
  std::vector<Overflow> overflows;
  absl::flat_hash_map<ValueId, size_t> index_of;
  const auto is_low = [&](VertexId v) { return v != kNone && paint[v].low; };
  const auto note = [&](ValueId value, const NarrowingStats& stats, NodeId reader) {
    if (stats.overflow == 0) return;
    const auto [it, is_new] = index_of.try_emplace(value, overflows.size());
    if (is_new) overflows.push_back({OverflowText(model.value(value).name, stats, graph.low()), {}});
    const Node& node = model.node(reader);
    overflows[it->second].readers.push_back(
        absl::StrCat(Escaped(model.NodeLabel(reader)), " (", Escaped(node.op_type()), ")"));
  };
  for (NodeId id : graph.order()) {
    const Node& node = model.node(id);
    for (size_t port = 0; port < node.inputs.size(); ++port) {
      const ValueId value = node.inputs[port];
      if (value == kNone || !is_low(graph.OfInput(id, port))) continue;
      if (model.value(value).dtype != DType::kFloat32 || !model.IsConstant(value)) continue;
      if (MaySaturate(model, {.node = id, .port = port})) continue;
      AMP_ASSIGN_OR_RETURN(const ConstantFacts* facts, survey.Facts(value));
      note(value, facts->stats, id);
    }
    if (node.outputs.empty() || !is_low(graph.OfOutput(id, 0))) continue;
    if (const auto operand = AttributeFacts(node, graph.low())) note(node.Output(0), operand->stats, id);
  }
  std::vector<std::string> sentences;
  sentences.reserve(overflows.size());
  for (const Overflow& overflow : overflows) {
    sentences.push_back(absl::StrCat(overflow.text, ": infinite for ", FirstOf(overflow.readers)));
  }
  return sentences;
}

}  // namespace amp
