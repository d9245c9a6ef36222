#include "passes/decide/scale_weights.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "ir/base/convert.h"
#include "ir/base/status.h"
#include "ir/graph/attributes.h"
#include "ir/graph/node_paths.h"
#include "ir/operators/integer_bounds.h"
#include "ir/operators/operator_roles.h"
#include "ir/operators/value_ranges.h"
#include "ir/patterns/scaled_product.h"
#include "passes/guard/guard_constants.h"
#include "passes/record/rewrite_record.h"

namespace amp {
namespace {

bool MayScaleAny(const Model& model, const RewriteSettings& settings) {
  if (settings.scale_weights == WeightScaling::kNever || !settings.target.can_run_low) return false;
  return settings.MayComputeConstants() && !HasRecord(model);
}

// Tells data that 16 bits hold from data that nobody knows anything of: where weights are tiny, these may be huge.
class DataJudge {
 public:
  DataJudge(const Model& model, const Decision& decision, const RewriteSettings& settings)
      : model_(model), decision_(decision), settings_(settings) {}

  // Computed in 16 bits whatever becomes of what reads it, known to fit by its range, or seen to fit on a user's data:
  // what did not would have a guard of its own.
  bool Fits(ValueId data) {
    return IsLowAnyhow(data) || IsBounded(data) ||
           (settings_.observed != nullptr && settings_.observed->contains(model_.value(data).name));
  }

 private:
  // Or what moves every element of such a value, and no others.
  bool IsLowAnyhow(ValueId data) const {
    for (int moves = 0; moves < kMostMoves && data != kNone; ++moves) {
      const VertexId producer = decision_.graph.OfValue(data);
      if (producer != kNone && decision_.paint[producer].low) return true;
      const NodeId id = model_.value(data).producer;
      if (id == kNone || !RolesOf(model_, id).Has(Role::kRearranges)) return false;
      data = model_.node(id).Input(0);
    }
    return false;
  }

  bool IsBounded(ValueId data) {
    if (!integers_.has_value()) {
      integers_.emplace(model_, decision_.graph.order());
      ranges_.emplace(model_, decision_.graph.order(), *integers_);
    }
    const Interval range = ranges_->Of(data);
    const double largest = LargestFinite(settings_.low);
    return range.low >= -largest && range.high <= largest;
  }

  static constexpr int kMostMoves = 16;

  const Model& model_;
  const Decision& decision_;
  const RewriteSettings& settings_;
  std::optional<IntegerBounds> integers_;
  std::optional<ValueRanges> ranges_;
};

struct Scaling {
  ScalableProduct product;
  int exponent = 0;
  FloatTensor weights;
  std::optional<FloatTensor> bias;
  bool is_by_alpha = false;
};

class ScalingPlanner {
 public:
  ScalingPlanner(const Model& model, const Decision& decision, const DecisionInputs& inputs)
      : model_(model),
        data_(model, decision, inputs.settings),
        held_(NodesHeldByOneGuard(model, decision)),
        survey_(inputs.survey),
        settings_(inputs.settings) {}

  absl::StatusOr<std::optional<Scaling>> Plan(NodeId node) {
    std::optional<Scaling> none;
    if (!held_.contains(node)) return none;
    const auto product = FindScalableProduct(model_, node);
    if (!product.has_value() || !MayScale(*product)) return none;
    AMP_ASSIGN_OR_RETURN(const ConstantFacts* facts, survey_.Facts(product->weights));
    const int exponent = ExponentFor(*product, facts->stats.largest);
    if (exponent < 0 && settings_.scale_weights != WeightScaling::kAlways) return none;  // data may be tiny
    if (exponent == 0 || std::abs(exponent) > kLargestExponent) return none;
    AMP_ASSIGN_OR_RETURN(const std::optional<FloatTensor> before, ScaleConstant(model_, product->weights, 0));
    if (!before.has_value() || Fits(*before)) return none;  // the guard is about another constant
    AMP_ASSIGN_OR_RETURN(std::optional<Scaling> by_alpha, PlanAlpha(*product, exponent, *before));
    if (by_alpha.has_value()) return by_alpha;
    return PlanMul(*product, exponent);
  }

 private:
  bool MayScale(const ScalableProduct& product) {
    return settings_.scale_weights == WeightScaling::kAlways || data_.Fits(product.data);
  }

  // Such that no result is larger than the largest datum, or half of it beside a bias: weights are tiny where data are
  // large. Of more terms than kMostTerms hardly all are of one sign, and weights would become small again.
  int ExponentFor(const ScalableProduct& product, float largest) const {
    constexpr int64_t kMostTerms = 4096;
    const double alpha = product.takes_alpha ? std::abs(AlphaBehind(model_, product, 0)) : 1;
    if (largest == 0 || !std::isfinite(alpha)) return 0;
    int of_largest = 0, of_terms = 0;
    std::frexp(largest * std::max(alpha, 1.0), &of_largest);
    std::frexp(static_cast<double>(std::min(product.num_terms, kMostTerms)) - 0.5, &of_terms);
    return -of_largest - of_terms - (product.bias == kNone ? 0 : 1);
  }

  bool Fits(const FloatTensor& tensor) const {
    return JudgeElements("", tensor.elements, settings_.low, {.max_weight_error = settings_.max_weight_error}).empty();
  }

  // With half of the range left to the product.
  bool FitsBesideProduct(const ScalableProduct& product, const FloatTensor& bias) const {
    const double beta = product.takes_alpha ? std::abs(GetFloat(model_.node(product.node), "beta", 1)) : 1;
    double largest = 0;
    for (const float element : bias.elements) largest = std::max(largest, std::abs(static_cast<double>(element)));
    return Fits(bias) && largest * std::max(beta, 1.0) <= LargestFinite(settings_.low) / 2;
  }

  bool IsNormal(double magnitude) const {
    const auto rounded = static_cast<float>(magnitude);
    const NarrowingStats stats = SurveyElements(absl::MakeConstSpan(&rounded, 1), settings_.low).stats;
    return rounded > 0 && stats.overflow + stats.underflow + stats.subnormal == 0;
  }

  static double RootMeanSquare(const FloatTensor& tensor) {
    double sum = 0;
    for (const float element : tensor.elements) sum += static_cast<double>(element) * element;
    return std::sqrt(sum / static_cast<double>(std::max<size_t>(tensor.elements.size(), 1)));
  }

  // Nothing where the low type cannot hold the multiplied weights.
  absl::StatusOr<std::optional<Scaling>> PlanWeights(const ScalableProduct& product, int exponent) const {
    std::optional<Scaling> none;
    AMP_ASSIGN_OR_RETURN(std::optional<FloatTensor> weights, ScaleConstant(model_, product.weights, exponent));
    if (!weights.has_value() || !Fits(*weights)) return none;
    const NarrowingStats stats = SurveyElements(weights->elements, settings_.low).stats;
    // Beside elements beyond the range ordinary ones become small, which others than them may depend on.
    if (exponent < 0 && stats.underflow + stats.subnormal > 0) return none;
    Scaling scaling;
    scaling.product = product;
    scaling.exponent = exponent;
    scaling.weights = *std::move(weights);
    return std::optional(std::move(scaling));
  }

  absl::StatusOr<std::optional<Scaling>> PlanMul(const ScalableProduct& product, int exponent) const {
    std::optional<Scaling> none;
    if (!product.takes_mul) return none;
    AMP_ASSIGN_OR_RETURN(std::optional<Scaling> scaling, PlanWeights(product, exponent));
    if (!scaling.has_value() || product.bias == kNone) return scaling;
    AMP_ASSIGN_OR_RETURN(scaling->bias, ScaleConstant(model_, product.bias, exponent));
    return scaling->bias.has_value() && FitsBesideProduct(product, *scaling->bias) ? std::move(scaling) : none;
  }

  // Large results have to be float32 as the large weights were. An alpha that is too small for 16 bits: a smaller power
  // may do as well.
  absl::StatusOr<std::optional<Scaling>> PlanAlpha(const ScalableProduct& product, int exponent,
                                                   const FloatTensor& before) const {
    std::optional<Scaling> none;
    if (!product.takes_alpha || exponent < 0) return none;
    AMP_ASSIGN_OR_RETURN(const bool is_ordinary, GivesOrdinary(product, before));
    if (!is_ordinary) return none;
    while (exponent > 0 && !IsExact(AlphaBehind(model_, product, exponent))) --exponent;
    if (exponent == 0) return none;
    AMP_ASSIGN_OR_RETURN(std::optional<Scaling> scaling, PlanWeights(product, exponent));
    if (scaling.has_value()) scaling->is_by_alpha = true;
    return scaling;
  }

  bool IsExact(float value) const { return WidenOne(NarrowOne(value, settings_.low), settings_.low) == value; }

  // Whether a Gemm's result is a normal number of the low type, for data of ordinary size.
  absl::StatusOr<bool> GivesOrdinary(const ScalableProduct& product, const FloatTensor& before) const {
    const double of_product = std::abs(AlphaBehind(model_, product, 0)) * RootMeanSquare(before) *
                              std::sqrt(static_cast<double>(product.num_terms));
    if (product.bias == kNone || !model_.IsConstant(product.bias)) return IsNormal(of_product);
    if (model_.value(product.bias).dtype != DType::kFloat32) return false;
    AMP_ASSIGN_OR_RETURN(const std::optional<FloatTensor> bias, ScaleConstant(model_, product.bias, 0));
    return bias.has_value() && Fits(*bias) && IsNormal(std::max(of_product, RootMeanSquare(*bias)));
  }

  const Model& model_;
  DataJudge data_;
  const NodeSet held_;
  ConstantSurvey& survey_;
  const RewriteSettings& settings_;
};

std::string NameScaled(const Model& model, const ScaledProduct& scaled) {
  const std::string& weight = model.value(scaled.weights).name;
  return absl::StrCat("weight '", Escaped(weight), "' is times 2^", scaled.exponent);
}

std::string Describe(const Model& model, const ScaledProduct& scaled) {
  const std::string by =
      scaled.mul == kNone ? "its alpha" : absl::StrCat("'", Escaped(model.NodeLabel(scaled.mul)), "'");
  return absl::StrCat(NameScaled(model, scaled), ", taken off by ", by);
}

}  // namespace

absl::StatusOr<std::vector<ScaledWeight>> ScaleWeights(Model& model, const Decision& decision,
                                                       const DecisionInputs& inputs) {
  std::vector<ScaledWeight> scaled;
  if (decision.vetoes.empty() || !MayScaleAny(model, inputs.settings)) return scaled;
  std::vector<Scaling> scalings;
  ScalingPlanner planner(model, decision, inputs);
  for (const NodeId id : decision.graph.order()) {
    AMP_ASSIGN_OR_RETURN(std::optional<Scaling> scaling, planner.Plan(id));
    if (scaling.has_value()) scalings.push_back(*std::move(scaling));
  }
  if (scalings.empty()) return scaled;
  const NodePaths paths = FindNodePaths(model);
  for (const Scaling& scaling : scalings) {
    const ScalableProduct& product = scaling.product;
    ScaledWeight& weight = scaled.emplace_back();
    weight.path = paths.nodes[product.node];
    weight.product = scaling.is_by_alpha
                         ? ScaleAndSetAlpha(model, product, scaling.exponent, scaling.weights)
                         : ScaleAndMultiply(model, product, scaling.exponent, scaling.weights, scaling.bias);
    weight.how = Describe(model, weight.product);
    for (const ValueId constant : {product.weights, product.bias}) {
      if (constant != kNone) inputs.survey.Forget(constant);
    }
  }
  return scaled;
}

std::vector<HeldNode> HoldMuls(const Model& model, const std::vector<ScaledProduct>& scaled) {
  std::vector<HeldNode> held;
  for (const ScaledProduct& product : scaled) {
    if (product.mul == kNone || model.node(product.mul).erased) continue;
    held.push_back({product.mul, absl::StrCat(NameScaled(model, product),
                                              " to fit into 16 bits; what takes that off again may not fit")});
  }
  return held;
}

}  // namespace amp
