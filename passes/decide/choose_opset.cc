#include "passes/decide/choose_opset.h"

#include <algorithm>

#include "absl/algorithm/container.h"
#include "ir/base/status.h"
#include "ir/operators/operator_facts.h"
#include "ir/opset/opset_adapters.h"
#include "ir/schema/schema.h"
#include "passes/classify/classify_nodes.h"
#include "passes/decide/survey_batch_norms.h"

namespace amp {
namespace {

constexpr OpClass kAllowed[] = {OpClass::kAllow};
constexpr OpClass kPaintable[] = {OpClass::kAllow, OpClass::kInfer, OpClass::kClear};

// The newest opset that a model is lifted to unasked: convolutions, pools, recurrent operators and many activations
// take bfloat16 from it on. Runtimes know old versions of operators longer than new ones.
constexpr int kNewestUnasked = 22;

class OpsetChooser {
 public:
  OpsetChooser(const Model& model, const OpLists& lists, const RewriteSettings& settings)
      : model_(model), lists_(lists), settings_(settings) {}

  absl::StatusOr<OpsetPlan> Choose() const {
    if (settings_.opset.kind == OpsetChoice::Kind::kFixed) return PlanFixed(settings_.opset.version);
    const int wanted = std::max(ForLowTypes(kNewestUnasked), ForCasts());
    if (wanted == 0) return OpsetPlan();
    if (model_.opset("") == 0) return OpsetPlan{.import = wanted};
    return PlanTowards(wanted);
  }

  OpsetPlan PlanTowards(int wanted) const {
    OpsetPlan plan;
    const OpsetReach reach = ReachableOpset(model_, wanted);
    plan.lift_to = reach.opset;
    if (plan.lift_to >= wanted) return plan;
    plan.obstacle = absl::StrCat("opset ", wanted, " cannot be reached: ", reach.blocking.sentence());
    const int for_casts = ForCasts() <= plan.lift_to ? ForCasts() : 0;
    if (LowestForAll(plan.lift_to, kAllowed) == 0 && for_casts == 0) {
      plan.lift_to = 0;
    } else {
      plan.lift_to = ReachableOpset(model_, std::max(LowestForAll(plan.lift_to, kPaintable), for_casts)).opset;
    }
    return plan;
  }

 private:
  absl::StatusOr<OpsetPlan> PlanFixed(int wanted) const {
    if (wanted < model_.opset("")) {
      return UsageError("--opset ", wanted, ": the model has opset ", model_.opset(""), "; it can only be raised");
    }
    const auto [reachable, blocking] = ReachableOpset(model_, wanted);
    if (reachable < wanted) {
      const std::string remedy =
          absl::StrCat("; --opset ", reachable == model_.opset("") ? "keep" : absl::StrCat(reachable), " works");
      return UsageError("--opset ", wanted, ": only ", reachable, " can be reached: ", blocking.sentence(), remedy);
    }
    return OpsetPlan{.lift_to = wanted};
  }

  // The lowest opset <= `limit` at which nodes of these classes take the low type wherever one <= `limit` lets them; 0
  // when none of them gains.
  int LowestForAll(int limit, absl::Span<const OpClass> of) const {
    const NodeClasses classes = ClassifyNodes(model_, lists_, settings_.target.promises);
    const BatchNorms norms = SurveyBatchNorms(model_, settings_);  // something else takes their place
    OpsetsThatOpen opsets(model_, settings_.low, limit);
    int lowest = 0;
    for (const NodeId id : model_.AllNodes()) {
      if (!absl::c_linear_search(of, classes.nodes[id].op_class)) continue;
      if (!norms.Has(id)) lowest = std::max(lowest, opsets.For(id));
    }
    return lowest;
  }

  // float16 is known by almost every version of an operator; bfloat16 is not.
  int ForLowTypes(int limit) const {
    const bool is_wanted = settings_.opset.kind == OpsetChoice::Kind::kAuto && settings_.low == DType::kBfloat16;
    if (!is_wanted || model_.opset("") == 0 || model_.opset("") >= limit) return 0;
    return LowestForAll(limit, kPaintable);
  }

  // Operators of other domains take the low type at opsets whose casts do not; 0 when none does, or casts do. Without
  // an import of ai.onnx none of its nodes is there, and any version does.
  int ForCasts() const {
    const bool is_wanted = settings_.opset.kind == OpsetChoice::Kind::kAuto;
    if (!is_wanted || !ObstacleToCasts(model_, settings_.low)) return 0;
    const bool has_import = model_.opset("") > 0;
    if (!has_import && !MayImportOnnx(model_)) return 0;
    const int first = FirstOpsetWithCasts(has_import ? settings_.low : DType::kBfloat16);
    return model_.opset("") < first && AnyForeignTakesLow() ? first : 0;
  }

  bool AnyForeignTakesLow() const {
    const NodeClasses classes = ClassifyNodes(model_, lists_, settings_.target.promises);
    for (const NodeId id : model_.AllNodes()) {
      const Node& node = model_.node(id);
      if (node.schema == nullptr || node.domain().empty()) continue;
      if (!absl::c_linear_search(kPaintable, classes.nodes[id].op_class)) continue;
      for (size_t port = 0; port < node.inputs.size(); ++port) {
        if (node.inputs[port] == kNone) continue;
        const bool takes_low = node.schema->Allows(node.schema->InputVariable(port), settings_.low);
        if (takes_low && model_.value(node.inputs[port]).dtype == DType::kFloat32) return true;
      }
    }
    return false;
  }

  const Model& model_;
  const OpLists& lists_;
  const RewriteSettings& settings_;
};

}  // namespace

absl::StatusOr<OpsetPlan> ChooseOpset(const Model& model, const OpLists& lists, const RewriteSettings& settings) {
  return OpsetChooser(model, lists, settings).Choose();
}

OpsetPlan PlanLift(const Model& model, const OpLists& lists, const RewriteSettings& settings, int wanted) {
  return OpsetChooser(model, lists, settings).PlanTowards(wanted);
}

}  // namespace amp
